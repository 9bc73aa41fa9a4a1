//! Tests of programs that are run as a model: shell scripts stand for them and note how they were called.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heirloom_engine::model::{Answer, Failure, Model as _};
use heirloom_model::{Choice, Folders, Kind};
use heirloom_testkit::TestHome;

use crate::{ask, folders, schema};

/// A folder with a script that stands for a program.
struct Fake {
    home: TestHome,
    path: PathBuf,
}

impl Fake {
    /// Makes the script. `version`: its output for `--version`; `body`: its commands for any other call.
    fn new(name: &str, version: &str, body: &str) -> Fake {
        let home = TestHome::new();
        let bin = home.folder("bin");
        let path = bin.join(name);
        let noted = bin.display();
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{version}'; exit 0; fi\n\
             printf '%s\\n' \"$@\" >'{noted}/arguments'\ncat >'{noted}/input'\npwd >'{noted}/cwd'\nls -A >'{noted}/listing'\n\
             env >'{noted}/env'\n{body}\n"
        );
        // The script is written under another name first: a file that is open for writing cannot be run.
        std::fs::write(bin.join("new"), script).unwrap();
        std::fs::set_permissions(bin.join("new"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(bin.join("new"), &path).unwrap();
        Fake { home, path }
    }

    fn folders(&self) -> Folders {
        folders(&self.home)
    }

    fn noted(&self, what: &str) -> String {
        std::fs::read_to_string(self.path.with_file_name(what)).unwrap()
    }

    fn choice(&self, kind: Kind) -> Choice {
        Choice { command: vec![self.path.display().to_string()], ..Choice::new(kind) }
    }

    fn ask(&self, choice: &Choice) -> Result<Answer, Failure> {
        choice.open(self.folders()).unwrap().answer(&ask(&schema()))
    }

    /// Asserts that the script ran in the empty folder, which is still empty, with our variable in its environment, and
    /// that no file of ours is left.
    fn left_no_trace(&self) {
        let folders = self.folders();
        assert_eq!(Path::new(self.noted("cwd").trim()), folders.empty.canonicalize().unwrap());
        assert_eq!(self.noted("listing"), "");
        assert!(self.noted("env").lines().any(|l| l == "HEIRLOOM_INSIDE=1"));
        assert!(std::fs::read_dir(&folders.empty).unwrap().next().is_none());
        assert!(std::fs::read_dir(&folders.scratch).unwrap().next().is_none());
    }
}

#[test]
fn claude_is_called_without_hooks_tools_or_session() {
    let report = r#"{"type":"result","is_error":false,"result":"","structured_output":{"says":"done","why":null},"total_cost_usd":0.0021,"usage":{"input_tokens":10,"cache_creation_input_tokens":900,"cache_read_input_tokens":30,"output_tokens":8}}"#;
    let fake = Fake::new("claude", "2.1.330 (Claude Code)", &format!("echo '{report}'"));
    let said = fake.ask(&fake.choice(Kind::Claude)).unwrap();
    assert_eq!(
        said,
        Answer { text: r#"{"says":"done"}"#.into(), tokens_in: Some(940), tokens_out: Some(8), cost: Some(2_100) }
    );
    let arguments = fake.noted("arguments");
    let (before, after) = arguments.split_once("--json-schema\n").unwrap();
    assert_eq!(
        before,
        "-p\n--no-session-persistence\n--tools\n\n--safe-mode\n--strict-mcp-config\n--disable-slash-commands\n\
         --permission-prompts\nnone\n--model\nhaiku\n--system-prompt\nSay it.\n"
    );
    assert!(after.starts_with("{\"additionalProperties\":false,") && after.ends_with("\n--output-format\njson\n"));
    assert_eq!(fake.noted("input"), "my diary");
    for quiet in [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
    ] {
        assert!(fake.noted("env").lines().any(|l| l == format!("{quiet}=1")), "{quiet}");
    }
    fake.left_no_trace();
}

#[test]
fn codex_is_called_without_hooks_settings_or_session() {
    let body = "while [ $# -gt 0 ]; do case $1 in -o) echo '{\"says\":\"done\",\"why\":null}' >\"$2\" ;; \
                --output-schema) cat \"$2\" >\"$(dirname \"$0\")/schema\" ;; model_instructions_file=*) \
                eval \"cat ${1#*=}\" >\"$(dirname \"$0\")/instructions\" ;; esac; shift; done";
    let fake = Fake::new("codex", "codex-cli 0.169.0", body);
    let said = fake.ask(&Choice { model: Some("gpt-mini".into()), ..fake.choice(Kind::Codex) }).unwrap();
    assert_eq!((said.text.as_str(), said.tokens_in), (r#"{"says":"done"}"#, None));
    let folders = fake.folders();
    let scratch = folders.scratch.display().to_string();
    let arguments: Vec<String> = fake
        .noted("arguments")
        .lines()
        .map(|l| if l.contains(&scratch) { "(a file)".into() } else { l.into() })
        .collect();
    let expected = format!(
        "exec --ephemeral --ignore-user-config --ignore-rules --disable hooks --disable shell_tool --disable plugins \
         --disable apps --disable multi_agent --disable goals -c web_search=\"disabled\" -c \
         skills.include_instructions=false -c (a_file) -c analytics.enabled=false -c otel.metrics_exporter=\"none\" \
         -c check_for_update_on_startup=false -s read-only --skip-git-repo-check -C {} --output-schema (a_file) \
         -o (a_file) -m gpt-mini -",
        folders.empty.display()
    );
    assert_eq!(arguments.join(" "), expected.replace("(a_file)", "(a file)"));
    assert_eq!((fake.noted("input"), fake.noted("instructions")), ("my diary".into(), "Say it.".into()));
    assert!(fake.noted("schema").contains("\"required\":[\"says\",\"why\"]"));
    fake.left_no_trace();
}

#[test]
fn openclaw_is_called_for_one_completion() {
    let report =
        r#"{"ok":true,"capability":"model.run","transport":"local","outputs":[{"text":"{\"says\":\"done\"}"}]}"#;
    let fake = Fake::new("openclaw", "OpenClaw 2026.9.6 (abc)", &format!("echo starting\ncat <<'E'\n{report}\nE"));
    let said = fake.ask(&Choice { model: Some("openai/small".into()), ..fake.choice(Kind::OpenClaw) }).unwrap();
    assert_eq!(said.text, r#"{"says":"done"}"#);
    let arguments = fake.noted("arguments");
    let prompt =
        arguments.strip_prefix("infer\nmodel\nrun\n--local\n--json\n--model\nopenai/small\n--prompt\n").unwrap();
    assert!(prompt.starts_with("Say it.\n\nmy diary\n\nAnswer with one JSON object"), "{prompt}");
    assert_eq!(fake.noted("input"), "");
    for quiet in ["OPENCLAW_NO_AUTO_UPDATE=1", "DO_NOT_TRACK=1"] {
        assert!(fake.noted("env").lines().any(|l| l == quiet), "{quiet}");
    }
    fake.left_no_trace();
}

#[test]
fn any_command_gets_the_question_and_gives_json() {
    let fake = Fake::new("mine", "never asked", "echo '```json'; echo '{\"says\":\"done\"}'; echo '```'");
    let mut choice = fake.choice(Kind::Command);
    choice.command.push("--fast".into());
    assert_eq!(fake.ask(&choice).unwrap().text, r#"{"says":"done"}"#);
    assert_eq!((choice.name().as_str(), fake.noted("arguments").as_str()), ("command/mine", "--fast\n"));
    assert!(fake.noted("input").starts_with("Say it.\n\nmy diary\n\nAnswer with one JSON object"));
    fake.left_no_trace();
}

#[test]
fn a_version_nobody_tried_is_refused_by_name_and_not_asked() {
    for (kind, version) in
        [(Kind::Claude, "3.0.0 (Claude Code)"), (Kind::Codex, "codex-cli 0.200.0"), (Kind::OpenClaw, "?")]
    {
        let fake = Fake::new(kind.name(), version, "exit 0");
        let failure = fake.ask(&fake.choice(kind)).unwrap_err();
        assert!(
            matches!(&failure, Failure::Refused(why) if why.starts_with(kind.name()) && why.contains("was tried with"))
        );
        assert!(!fake.path.with_file_name("arguments").exists(), "it was asked all the same");
    }
}

#[test]
fn a_program_that_does_not_answer_is_understood() {
    let failed = |body: &str| {
        let fake = Fake::new("claude", "2.1.330", body);
        let failure = fake.ask(&fake.choice(Kind::Claude)).unwrap_err();
        assert!(!failure.to_string().contains("diary"), "{failure}");
        failure
    };
    let login =
        failed("echo '{\"is_error\":true,\"result\":\"Not logged in · Please run /login · my diary\"}'; exit 1");
    assert_eq!(login, Failure::Refused("it is not logged in".into()));
    assert!(matches!(failed("echo \"error: unknown option '--safe-mode'\" >&2; exit 1"), Failure::Refused(_)));
    let limit = failed("echo '{\"is_error\":true,\"result\":\"Claude usage limit reached|1767225600\"}'; exit 1");
    assert!(matches!(limit, Failure::Later { .. }));
    for body in ["exit 0", "exit 3", "echo 'Which file do you mean?'", "kill -9 $$", "head -c 2097152 /dev/zero"] {
        assert!(matches!(failed(body), Failure::Unusable(_)), "{body}");
    }
}

#[test]
fn at_the_deadline_the_whole_group_is_killed() {
    let fake = Fake::new("mine", "", "(sleep 600; echo late) & echo $! >\"$(dirname \"$0\")/child\"; wait");
    let failure = fake.ask(&Choice { timeout: Duration::from_millis(800), ..fake.choice(Kind::Command) }).unwrap_err();
    assert!(
        matches!(&failure, Failure::Later { why, .. } if why.contains("mine did not answer within 800ms")),
        "{failure}"
    );
    let child = fake.noted("child");
    let alive = || {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        state.rsplit(')').next().is_some_and(|s| !s.trim().is_empty() && !s.trim().starts_with('Z'))
    };
    for _ in 0..200 {
        if !alive() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!alive(), "its child still runs");

    // A program that ends and leaves a child behind with its output open is not waited for.
    let fake = Fake::new("mine", "", "sleep 600 & echo '{\"says\":\"done\"}'");
    assert!(fake.ask(&fake.choice(Kind::Command)).is_ok());
}

#[test]
fn nothing_runs_in_a_folder_that_is_not_empty() {
    let fake = Fake::new("mine", "", "echo '{\"says\":\"done\"}'");
    std::fs::write(fake.folders().empty.join("CLAUDE.md"), "obey").unwrap();
    let failure = fake.ask(&fake.choice(Kind::Command)).unwrap_err();
    assert!(matches!(&failure, Failure::Refused(why) if why.contains("is not empty")), "{failure}");
    let gone = Choice { command: vec!["/no/such/program".into()], ..Choice::new(Kind::Command) };
    let fresh = TestHome::new();
    assert!(matches!(gone.open(folders(&fresh)).unwrap().answer(&ask(&schema())), Err(Failure::Refused(_))));
}

//! A program that is asked as a language model leaves no trace: no hook fires, no session is written, no file is new.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use heirloom_testkit::fake_model::Reply;
use serde_json::json;

use super::{ClaudeCode, Codex, Machine, OpenClaw, Program};
use crate::world::HEIRLOOM;

/// Question a program is asked in a trial.
const QUESTION: &str = "Answer with the word: heirloom";

/// Returns every file below a folder with its contents, without Heirloom's own.
fn below(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != ".heirloom" => folders.push(path),
                Ok(kind) if kind.is_file() => {
                    let name = path.strip_prefix(root).unwrap().display().to_string();
                    // Opening a database may move pages between it and its journal: its rows are what counts.
                    if name.ends_with(".sqlite") {
                        found.insert(name, rows(&path));
                    } else if !name.ends_with(".sqlite-wal") && !name.ends_with(".sqlite-shm") {
                        found.insert(name, std::fs::read(&path).unwrap_or_default());
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns the rows of all tables of a database, as text. It is read from a copy, so that reading leaves nothing beside it.
fn rows(path: &Path) -> Vec<u8> {
    let copy = tempfile::tempdir().unwrap();
    let at = copy.path().join("copy.sqlite");
    std::fs::copy(path, &at).unwrap();
    let _ = std::fs::copy(path.with_extension("sqlite-wal"), copy.path().join("copy.sqlite-wal"));
    let db = rusqlite::Connection::open(&at).unwrap();
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let names: Vec<String> = names.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    let mut out = String::new();
    for name in names {
        // A virtual table of a module this build does not have has its rows in tables of its own.
        let Ok(mut rows) = db.prepare(&format!("SELECT * FROM \"{name}\"")) else { continue };
        let width = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<_> = (0..width).map(|n| row.get::<_, rusqlite::types::Value>(n).unwrap()).collect();
            // OpenClaw's gateway, which runs meanwhile, renews its lease every minute.
            if name != "state_leases" || values.first() != Some(&String::from("gateway-owner").into()) {
                out += &format!("{name} {values:?}\n");
            }
        }
    }
    out.into_bytes()
}

/// Returns a command of Heirloom on this machine, with the variables that lead to the fake model and none that silences a
/// program: Heirloom itself sets those.
fn heirloom(machine: &Machine, args: &[&str]) -> Command {
    let mut command = machine.command("claude");
    let envs: Vec<_> = command.get_envs().map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned))).collect();
    command = Command::new(HEIRLOOM);
    command.env_clear().args(args).current_dir(machine.home());
    for (name, value) in envs {
        if let Some(value) = value.filter(|_| name != "DO_NOT_TRACK") {
            command.env(name, value);
        }
    }
    command.env("ANTHROPIC_BASE_URL", machine.model.url()).env("ANTHROPIC_API_KEY", "none");
    command.env("OPENAI_API_KEY", "none");
    command
}

#[test]
#[ignore = "needs the real programs (scripts/real-programs)"]
fn claude_code_asked_as_a_model_leaves_no_trace() {
    let machine = Machine::new();
    machine.connect("claude-code");
    let mut claude = ClaudeCode::on(&machine);
    // The first start writes files of its own; it happens here, so that the comparison below does not count them.
    claude.turn(&machine.project("shop"), "good morning", None);
    machine.world.says(0, &["import"]);
    let (sessions, files) = (machine.world.sessions(), claude.files());
    machine.run("model-use", heirloom(&machine, &["model", "use", "claude", "--yes"]));
    let before = below(&machine.home());
    let mark = machine.model.mark();
    machine.model.answers(Box::new(|asked| {
        let form = asked.tools.iter().find(|tool| tool.name.contains("StructuredOutput"))?;
        Some(Reply::call(form.name.clone(), json!({"word": "heirloom"})))
    }));
    machine.run("model-test", heirloom(&machine, &["model", "test"]));
    let asked = machine.model.asked_since(mark);
    assert!(!asked.is_empty(), "it was not asked");
    // The program may announce that tools can be looked up; that entry does nothing.
    let is_harmless = |name: &str| name.contains("StructuredOutput") || name == "DeferredToolPlaceholder";
    assert!(asked.iter().all(|a| a.tools.iter().all(|tool| is_harmless(&tool.name))), "{asked:?}");
    let after = below(&machine.home());
    // The program rewrites its list of plugins at every start, through a temporary file that it sometimes leaves behind.
    let is_of_the_list = |name: &str| name.contains("plugins/") && name.contains(".tmp.");
    let new: Vec<&String> = after.keys().filter(|name| !before.contains_key(*name) && !is_of_the_list(name)).collect();
    assert!(new.is_empty(), "new files: {new:?}");
    let changed = after.iter().filter(|(name, bytes)| before.get(*name).is_some_and(|b| b != *bytes));
    let changed: Vec<&String> = changed.map(|(name, _)| name).filter(|name| !name.contains("plugins/")).collect();
    assert!(changed.is_empty(), "changed files: {changed:?}");
    machine.world.says(0, &["import"]);
    assert_eq!((machine.world.sessions(), claude.files()), (sessions, files));
}

/// Returns the files that a program which was asked as a model added or changed, except those it writes at every start.
/// `asks` runs Heirloom so that it finds the program.
fn traces(
    machine: &Machine,
    program: &mut dyn Program,
    kind: &str,
    at_every_start: &[&str],
    asks: &dyn Fn(&[&str]) -> Command,
) -> Vec<String> {
    machine.connect(program.name());
    program.turn(&machine.project("shop"), "good morning", None);
    machine.world.says(0, &["import"]);
    let (sessions, files) = (machine.world.sessions(), program.files());
    machine.run("model-use", asks(&["model", "use", kind, "--yes"]));
    // A first call has already written its files before the comparison.
    machine.model.answers(Box::new(|_| Some(Reply::text(r#"{"word":"heirloom"}"#))));
    machine.run("model-test", asks(&["model", "test"]));
    let before = below(&machine.home());
    let mark = machine.model.mark();
    machine.run("model-test", asks(&["model", "test"]));
    let asked = machine.model.asked_since(mark);
    assert!(asked.iter().any(|a| a.heard.contains(QUESTION)), "it was not asked: {asked:?}");
    let after = below(&machine.home());
    let kept = after.iter().filter(|(_, bytes)| bytes.windows(QUESTION.len()).any(|w| w == QUESTION.as_bytes()));
    let kept: Vec<&String> = kept.map(|(name, _)| name).collect();
    assert!(kept.is_empty(), "the question is kept in {kept:?}");
    let is_new = |(name, bytes): &(&String, &Vec<u8>)| before.get(*name) != Some(bytes);
    for (name, bytes) in after.iter().filter(|file| file.0.ends_with(".sqlite") && is_new(file)) {
        let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<BTreeSet<_>>();
        let (old, new) = (lines(before.get(name).map_or(&[][..], Vec::as_slice)), lines(bytes));
        println!("{name}: rows that changed: {:#?}", old.symmetric_difference(&new).collect::<Vec<_>>());
    }
    let changed = after.iter().filter(is_new).map(|(name, _)| name.clone());
    let left: Vec<String> = changed.filter(|name| !at_every_start.iter().any(|part| name.contains(part))).collect();
    machine.world.says(0, &["import"]);
    assert_eq!((machine.world.sessions(), program.files()), (sessions, files), "a session was written");
    left
}

#[test]
#[ignore = "needs the real programs (scripts/real-programs)"]
fn codex_asked_as_a_model_leaves_no_trace() {
    let machine = Machine::new();
    let mut codex = Codex::on(&machine);
    // Codex does not read its own settings here, so a provider set there would be missing. A script with its name,
    // which comes first in PATH, adds one that leads to the fake model.
    let bin = machine.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let real = machine.command("codex").get_program().display().to_string();
    let provider: String = [
        ("name", "\"fake\"".to_owned()),
        ("base_url", format!("\"{}/v1\"", machine.model.url())),
        ("wire_api", "\"responses\"".to_owned()),
        ("supports_websockets", "false".to_owned()),
    ]
    .map(|(key, value)| format!(" -c 'model_providers.fake.{key}={value}'"))
    .concat();
    let script = format!(
        "#!/bin/sh\ncase $1 in exec) exec {real} \"$@\" -c 'model_provider=\"fake\"'{provider} ;; esac\nexec {real} \"$@\"\n"
    );
    std::fs::write(bin.join("codex"), script).unwrap();
    std::fs::set_permissions(bin.join("codex"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let asks = |args: &[&str]| {
        let mut command = heirloom(&machine, args);
        let path =
            command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path.map(ToOwned::to_owned));
        command.env("PATH", format!("{}:{}", bin.display(), path.unwrap_or_default().display()));
        command
    };
    let left = traces(&machine, &mut codex, "codex", &["models_cache", "log/", ".tmp", "tmp/", "version.json"], &asks);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
#[ignore = "needs the real programs (scripts/real-programs)"]
fn openclaw_asked_as_a_model_leaves_no_trace() {
    let machine = Machine::new();
    let mut openclaw = OpenClaw::on(&machine);
    let left = traces(&machine, &mut openclaw, "openclaw", &["cache", "logs/"], &|args| heirloom(&machine, args));
    assert!(left.is_empty(), "{left:?}");
}

/// Returns an answer about a conversation in the form that is asked for, with every field: what it says is taken from the
/// turn at the end of the question.
fn summary_of(heard: &str) -> Option<serde_json::Value> {
    let last = heard.lines().rfind(|line| line.trim().starts_with("[t"))?;
    let (turn, _) = last.trim().strip_prefix('[')?.split_once(']')?;
    let mut distillate = json!({"goal": null, "done": [{"text": "14 seconds now", "turns": [turn]}]});
    for list in
        ["constraints", "requirements", "in_progress", "blocked", "fixed", "decisions", "open_loops", "next_steps"]
    {
        distillate[list] = json!([]);
    }
    for list in ["context", "files", "proposals"] {
        distillate[list] = json!([]);
    }
    Some(json!({"summary": "The import lacked an index; zebrafinch.", "distillate": distillate}))
}

#[test]
#[ignore = "needs the real programs (scripts/real-programs)"]
fn a_summary_that_claude_code_was_asked_for_stands_beside_the_one_without_it() {
    let machine = Machine::new();
    machine.connect("claude-code");
    let mut claude = ClaudeCode::on(&machine);
    let shop = machine.project("shop");
    let talk = "The nightly import reads the orders and looks each customer up by name, without an index. ".repeat(8);
    machine.model.answers(Box::new(move |_| Some(Reply::text(format!("It takes 14 seconds instead of 300. {talk}")))));
    let why = "The nightly import of the orders got slow last week, and nobody has changed its code. ".repeat(8);
    claude.turn(&shop, &format!("Why is the import slow? {why}"), None);
    machine.world.says(0, &["import"]);
    machine.world.says(0, &["work", "--drain"]);
    machine.run("model-use", heirloom(&machine, &["model", "use", "claude", "--yes"]));
    let sessions = machine.world.sessions();
    let mark = machine.model.mark();
    machine.model.answers(Box::new(|asked| {
        let form = asked.tools.iter().find(|tool| tool.name.contains("StructuredOutput"))?;
        Some(Reply::call(form.name.clone(), summary_of(&asked.heard)?))
    }));
    machine.run("work", heirloom(&machine, &["work", "--drain"]));
    let asked = machine.model.asked_since(mark);
    assert!(asked.iter().any(|a| a.heard.contains("Why is the import slow?")), "{asked:?}");
    let state = machine.world.json(&["model", "status"])["language_model"].clone();
    assert!(state["summaries"].as_u64() >= Some(1), "{state}");
    let found = machine.world.says(0, &["recall", "zebrafinch"]);
    assert!(found.contains("zebrafinch"), "{found}");
    machine.world.says(0, &["import"]);
    assert_eq!(machine.world.sessions(), sessions, "the question became no session");
    machine.world.verified();
}

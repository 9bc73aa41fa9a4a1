//! `heirloom connect` and `disconnect`: what they write into the settings of other programs, that disconnecting
//! restores those files to the byte, and what they leave alone.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use heirloom_testkit::{recordings, run};
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, listing, names};

pub const PROGRAMS: &[(&str, &str, &str)] = &[
    ("claude-code", ".claude", "settings.json"),
    ("codex", ".codex", "hooks.json"),
    ("opencode", ".config/opencode", "plugin/heirloom.js"),
    ("openclaw", ".openclaw", "openclaw.json"),
];

/// Makes a user with a program's settings file.
pub fn with(folder: &str, name: &str, text: &str) -> (World, PathBuf) {
    let world = World::new();
    let path = world.test.user().join(folder).join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    (world, path)
}

/// Returns every file of the user outside Heirloom's home; of a link, its target.
pub fn machine(world: &World) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut folders = vec![world.test.user()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            if path == world.test.home() {
                continue;
            } else if meta.is_symlink() {
                let to = fs::read_link(&path).unwrap();
                found.push((path, Some(to.to_string_lossy().into_owned().into_bytes())));
            } else if meta.is_dir() {
                folders.push(path.clone());
                found.push((path, None));
            } else {
                found.push((path.clone(), Some(fs::read(path).unwrap())));
            }
        }
    }
    found.sort();
    found
}

/// Connects, connects again, runs doctor, disconnects, and checks that every file is as before.
fn there_and_back(world: &World, program: &str) {
    let before = machine(world);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode();
    let modes: Vec<_> = before.iter().map(|(path, _)| (path.clone(), mode(path))).collect();
    let json = world.json(&["connect", program, "--yes"]);
    assert_eq!(json["programs"][0]["state"], "connected", "{json}");
    let connected = machine(world);
    assert_ne!(connected, before);
    let times: Vec<_> = connected.iter().map(|(p, _)| fs::metadata(p).unwrap().modified().unwrap()).collect();
    let json = world.json(&["connect", program, "--yes"]);
    assert_eq!(json["programs"][0]["state"], "already connected", "{json}");
    assert_eq!(machine(world), connected);
    let again: Vec<_> = connected.iter().map(|(p, _)| fs::metadata(p).unwrap().modified().unwrap()).collect();
    assert_eq!(again, times, "not even touched");
    for (path, mode_before) in &modes {
        assert_eq!(mode(path), *mode_before, "{}", path.display());
    }
    let json = world.json(&["disconnect", program]);
    assert_eq!(json["programs"][0]["state"], "disconnected", "{json}");
    assert_eq!(machine(world), before);
    let json = world.json(&["disconnect", program]);
    assert_eq!(json["programs"][0]["state"], "not connected", "{json}");
}

#[test]
fn settings_in_every_form_are_again_what_they_were() {
    let hooks = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#;
    let strict = [
        "{}",
        "{}\n",
        "",
        "\n",
        "\u{feff}{\r\n\t\"a\": 1\r\n}",
        "{ \"hooks\": {} }",
        "{\n  \"hooks\": {\n    \"Stop\": [\n    ]\n  }\n}\n",
        "{\n    \"hooks\": {\n        \"Stop\": [],\n        \"Other\": [{\"x\": 1}]\n    },\n    \"z\": [1, 2]\n}",
        hooks,
    ];
    let loose = [
        "// mine\n{\n  // here, too\n  \"a\": 1, // one\n  \"hooks\": { /* none */ }, // two\n}\n",
        "{\n  plugins: {\n    load: { paths: [ '/a b', ], },\n    entries: {}, // none\n  },\n}\n",
        "{plugins:{allow:['x']}}",
        "{\n  'plugins': {\n    // later\n  },\n}",
        "\u{feff}{\r\n  // first\r\n  a: 0x1F, // hex\r\n\r\n  // between\r\n  'b': [[1, ], ], /* last */\r\n}",
        "{\n  hooks: {\n    Stop: [\n      {hooks: [{command: 'mine'}, ], }, // one\n      // end\n    ],\n  },\n}",
    ];
    for (program, folder, name) in PROGRAMS {
        if name.ends_with(".js") {
            continue;
        }
        for text in strict.iter().chain(&loose) {
            let (world, _) = with(folder, name, text);
            there_and_back(&world, program);
        }
    }
}

#[test]
fn what_was_not_there_is_gone_again() {
    for (program, folder, _) in PROGRAMS {
        let world = World::new();
        there_and_back(&world, program);
        fs::create_dir_all(world.test.user().join(folder)).unwrap();
        there_and_back(&world, program);
    }
    // Folders with files of others stay.
    let (world, other) = with(".config/opencode/plugin", "other.js", "mine");
    there_and_back(&world, "opencode");
    assert!(other.exists());
}

fn texts(folder: &Path) -> Vec<String> {
    let files = listing(folder).into_iter().filter(|(path, _)| {
        path.extension().is_some_and(|e| e == "json" || e == "toml") && !path.starts_with(folder.join("plugins-local"))
    });
    files.filter_map(|(_, bytes)| String::from_utf8(bytes?).ok()).collect()
}

fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn hooks_call_this_binary_at_the_events_of_the_program() {
    let world = World::new();
    world.json(&["connect", "claude-code", "codex", "--yes"]);
    for (folder, file, program) in [(".claude", "settings.json", "claude-code"), (".codex", "hooks.json", "codex")] {
        let text = fs::read_to_string(world.test.user().join(folder).join(file)).unwrap();
        let settings: Value = serde_json::from_str(&text).unwrap();
        let events = "SessionStart UserPromptSubmit Stop SubagentStop PreCompact PostCompact SessionEnd";
        names(&settings["hooks"], events);
        for event in events.split(' ') {
            let hook = &settings["hooks"][event][0]["hooks"][0];
            assert_eq!(hook["command"], format!("{HEIRLOOM} hook {program} {event}"));
            let most = if event == "SessionEnd" { 3 } else { 30 };
            let timeout = hook["timeout"].as_u64().unwrap();
            assert!((2..=most.max(5)).contains(&timeout), "seconds, not milliseconds: {timeout}");
        }
    }
    let codex: Value = serde_json::from_slice(&fs::read(world.test.user().join(".codex/hooks.json")).unwrap()).unwrap();
    assert!(codex["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"].as_u64().unwrap() <= 3);
}

/// The path written into settings is the link in PATH that leads to the binary, because it survives an upgrade.
#[test]
fn programs_are_told_the_name_that_stays_and_the_home_that_is_meant() {
    let world = World::new();
    let bin = world.test.folder("b i'n");
    symlink(HEIRLOOM, bin.join("heirloom")).unwrap();
    let other = world.test.folder("else \"where\"");
    let mut command = world.test.command(HEIRLOOM);
    command.env("PATH", format!("relative:{}", bin.display())).args(["connect", "claude-code", "--yes"]);
    command.env("HEIRLOOM_HOME", &other).env("HEIRLOOM_AGENT", "ada");
    let out = run(command, b"");
    assert_eq!(out.status, Some(0), "{}{}", out.stdout, out.stderr);
    let text = fs::read_to_string(world.test.user().join(".claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let told = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    // A shell splits the quoted command into the intended words.
    let words = std::process::Command::new("/bin/sh").args(["-c", &format!("printf '%s\\n' {told}")]).output().unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    let words: Vec<&str> = words.lines().collect();
    let expected = [
        bin.join("heirloom").display().to_string(),
        "--home".into(),
        other.display().to_string(),
        "--agent".into(),
        "ada".into(),
        "hook".into(),
        "claude-code".into(),
        "Stop".into(),
    ];
    assert_eq!(words, expected);
    // It is connected for that home; connecting for another home would replace the entries.
    let json = world.json(&["connect", "claude-code", "--dry-run"]);
    assert_eq!(json["programs"][0]["state"], "would be connected");
    world.json(&["connect", "claude-code", "--yes"]);
    let now: Value =
        serde_json::from_slice(&fs::read(world.test.user().join(".claude/settings.json")).unwrap()).unwrap();
    assert_eq!(now["hooks"]["Stop"].as_array().unwrap().len(), 1);
    assert_eq!(now["hooks"]["Stop"][0]["hooks"][0]["command"], format!("{HEIRLOOM} hook claude-code Stop"));
}

#[test]
fn nothing_is_written_unless_it_is_said() {
    let (world, settings) = with(
        ".claude",
        "settings.json",
        "{\n  \"apiKey\": \"sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ\"\n}\n",
    );
    let before = machine(&world);
    let said = world.says(0, &["connect", "--dry-run"]);
    assert!(said.contains("+++") && said.contains("+  \"hooks\": {"), "{said}");
    assert!(said.contains("Claude Code tells Heirloom"), "{said}");
    assert!(!said.contains("abcdefghijklmnop"), "credentials around the change are not shown: {said}");
    let said = world.says(3, &["connect"]);
    assert!(said.contains("+  \"hooks\": {") && said.contains("heirloom connect --yes"), "{said}");
    assert!(world.says(3, &["connect", "claude-code"]).contains("heirloom connect claude-code --yes"));
    let json = world.json_of(3, &["connect"]);
    assert_eq!(json["programs"][0]["state"], "not connected");
    names(&json["programs"][0], "program state files permits trust then refused");
    names(&json["programs"][0]["files"][0], "path change meaning diff");
    assert_eq!(machine(&world), before);
    assert!(!world.test.home().exists());
    world.says(0, &["connect", "--yes"]);
    let said = world.says(0, &["disconnect", "--dry-run"]);
    assert!(said.contains("-  \"hooks\": {") || said.contains("-  \"hooks\""), "{said}");
    assert_ne!(machine(&world), before);
    // As with connect, a preview stays a preview.
    assert!(world.says(0, &["disconnect", "--yes", "--dry-run"]).contains("would be disconnected"));
    assert!(world.says(0, &["disconnect", "--yes"]).contains("disconnected"));
    assert_eq!(machine(&world), before);
    assert!(settings.exists());
    assert!(world.says(0, &["disconnect"]).contains("No program is connected"));
}

#[test]
fn programs_are_named_or_found() {
    let world = World::new();
    let said = world.says(4, &["connect"]);
    assert!(said.contains("no agent program was found"), "{said}");
    let said = world.says(2, &["connect", "windsurf"]);
    assert!(said.contains("claude-code, codex, opencode, openclaw"), "{said}");
    assert_eq!(world.json_of(2, &["disconnect", "turns"])["error"]["kind"], "usage");
    fs::create_dir_all(world.test.user().join(".codex")).unwrap();
    // OpenCode keeps sessions and settings in different folders; its sessions alone make it count as installed.
    fs::create_dir_all(world.test.user().join(".local/share/opencode")).unwrap();
    let found = world.json(&["connect", "--dry-run"]);
    let programs: Vec<&str> =
        found["programs"].as_array().unwrap().iter().map(|p| p["program"].as_str().unwrap()).collect();
    assert_eq!(programs, ["codex", "opencode"]);
}

/// A refusal says why and what to do, and changes no file of that program.
#[test]
fn what_is_odd_is_left_alone() {
    type Make = fn(&Path);
    let odd: &[(&str, Make)] = &[
        ("line 2: a comma", |p| fs::write(p, "{\n\"a\": 1 2}").unwrap()),
        ("is not UTF-8", |p| fs::write(p, b"{\"a\": \"\xff\"}").unwrap()),
        ("hooks is not an object", |p| fs::write(p, "{\"hooks\": 1, \"plugins\": 1}").unwrap()),
        ("hooks twice", |p| fs::write(p, "{\"hooks\": {}, \"hooks\": {}, \"plugins\": {}, \"plugins\": {}}").unwrap()),
        ("the file is not an object", |p| fs::write(p, "[]").unwrap()),
        ("is read-only", |p| {
            fs::write(p, "{}").unwrap();
            fs::set_permissions(p, fs::Permissions::from_mode(0o444)).unwrap();
        }),
        ("hard links", |p| {
            fs::write(p, "{}").unwrap();
            fs::hard_link(p, p.with_extension("other")).unwrap();
        }),
        ("is a directory", |p| fs::create_dir(p).unwrap()),
        ("is a symlink; the settings are really", |p| {
            let real = p.with_extension("real");
            fs::write(&real, "{}").unwrap();
            symlink(real, p).unwrap();
        }),
        ("is a symlink that points to nothing", |p| symlink("/nowhere/at/all", p).unwrap()),
        ("is a symlink; the settings are really", |p| {
            // The whole folder is a link into another place, as dotfile managers make it.
            let folder = p.parent().unwrap();
            let real = folder.parent().unwrap().join("dotfiles");
            fs::rename(folder, &real).unwrap();
            fs::write(real.join(p.file_name().unwrap()), "{}").unwrap();
            symlink(&real, folder).unwrap();
        }),
    ];
    for (program, folder, name) in PROGRAMS.iter().filter(|(_, _, name)| name.ends_with(".json")) {
        for (why, make) in odd {
            let world = World::new();
            let path = world.test.user().join(folder).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            make(&path);
            let before = machine(&world);
            let out = world.run(&["connect", program, "--yes"]);
            let said = format!("{}{}", out.stdout, out.stderr);
            assert_eq!(out.status, Some(3), "{program}: {why}\n{said}");
            let why = if *program == "openclaw" {
                why.replace("hooks", "plugins").replace("hard plugins", "hard links")
            } else {
                (*why).to_owned()
            };
            assert!(said.contains(&why), "{program}: {why}\n{said}");
            assert!(said.contains("nothing was changed"), "{said}");
            assert_eq!(machine(&world), before, "{program}: {why}");
            if why.contains("symlink") && !why.contains("nothing") {
                assert!(said.contains("By hand, into ") && said.contains("heirloom"), "{said}");
                let real = fs::canonicalize(&path).unwrap();
                assert!(said.contains(&real.display().to_string()), "the real file is named: {said}");
                let json = world.json_of(3, &["connect", program, "--yes"]);
                let by_hand = json["programs"][0]["refused"]["by_hand"][0]["text"].as_str().unwrap();
                // An entry that a person added by hand counts as connected.
                let mut text: Value = serde_json::from_str(by_hand).unwrap();
                text["mine"] = json!(true);
                fs::write(&real, text.to_string()).unwrap();
                if *program == "claude-code" {
                    let json = world.json(&["connect", program, "--yes"]);
                    assert_eq!(json["programs"][0]["state"], "already connected", "{json}");
                    // Such an entry must also be removed by hand.
                    let before = machine(&world);
                    let said = world.says(3, &["disconnect", program]);
                    assert!(
                        said.contains("take the lines with heirloom in them out") && !said.contains("below"),
                        "{said}"
                    );
                    assert_eq!(machine(&world), before);
                }
            }
        }
    }
}

#[test]
fn a_file_of_ours_that_somebody_changed_is_theirs() {
    for text in ["export const Mine = 1\n", "// heirloom\n"] {
        let (world, path) = with(".config/opencode/plugin", "heirloom.js", text);
        let said = world.says(3, &["connect", "opencode", "--yes"]);
        assert!(said.contains("was not written by Heirloom, or was changed since"), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let world = World::new();
    world.json(&["connect", "opencode", "--yes"]);
    let path = world.test.user().join(".config/opencode/plugin/heirloom.js");
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("// mine\n");
    fs::write(&path, &text).unwrap();
    world.says(3, &["disconnect", "opencode"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let said = world.says(1, &["doctor"]);
    assert!(said.contains("or was changed since"), "{said}");
}

/// If one of several files cannot be changed, none is.
#[test]
fn a_program_is_connected_whole_or_not_at_all() {
    let (world, config) = with(".openclaw", "openclaw.json", "{plugins: {load: {paths: 'one'}}}");
    let before = machine(&world);
    let said = world.says(3, &["connect", "openclaw", "--yes"]);
    assert!(said.contains("plugins.load.paths is not a list"), "{said}");
    assert_eq!(machine(&world), before);
    // After a kill in the middle every file is whole, the next command finishes the change, and disconnecting still
    // restores the original.
    fs::write(&config, "{}").unwrap();
    fs::create_dir_all(world.test.user().join(".codex")).unwrap();
    let codex = world.test.user().join(".codex");
    fs::write(codex.join("config.toml"), format!("model = 1\n# {}\n", "x".repeat(20_000))).unwrap();
    let before = machine(&world);
    let mut shell = world.test.command("/bin/sh");
    shell.args(["-c", &format!("ulimit -f 16; exec '{HEIRLOOM}' connect codex --yes --trust")]);
    assert_eq!(run(shell, b"").status, None, "a signal ended it");
    assert!(serde_json::from_slice::<Value>(&fs::read(codex.join("hooks.json")).unwrap()).is_ok());
    world.json(&["connect", "codex", "--yes", "--trust"]);
    world.json(&["disconnect", "codex"]);
    let left: Vec<_> = machine(&world).into_iter().filter(|(p, _)| !p.to_string_lossy().ends_with(".tmp")).collect();
    assert_eq!(left, before);
    fs::remove_dir_all(&codex).unwrap();
    // The change fails in the middle: files written before are restored.
    fs::write(&config, "{}").unwrap();
    let codex = world.test.user().join(".codex");
    fs::create_dir_all(&codex).unwrap();
    fs::write(codex.join("config.toml"), format!("model = 1\n# {}\n", "x".repeat(20_000))).unwrap();
    let before = machine(&world);
    // The second file is larger than the process may write, the first one is not.
    let limited = format!("trap '' XFSZ; ulimit -f 16; exec '{HEIRLOOM}' connect codex --yes --trust");
    let mut shell = world.test.command("/bin/sh");
    shell.args(["-c", &limited]);
    let out = run(shell, b"");
    assert_eq!(out.status, Some(1), "{}{}", out.stdout, out.stderr);
    assert_eq!(machine(&world), before, "{}{}", out.stdout, out.stderr);
    world.json(&["connect", "codex", "--yes", "--trust"]);
    world.json(&["disconnect", "codex"]);
    assert_eq!(machine(&world), before);
}

#[test]
fn what_was_changed_since_stays_and_only_ours_goes() {
    let (world, settings) = with(".claude", "settings.json", "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n");
    world.json(&["connect", "claude-code", "--yes"]);
    let text = fs::read_to_string(&settings).unwrap();
    // The program saves a setting of its own, and a person adds a hook behind ours.
    let mut changed =
        text.replace("\"opus\"", "\"haiku\"").replace("\"SessionEnd\": [", "\"Mine\": [],\n    \"SessionEnd\": [");
    changed = changed.replacen("}\n        ]\n      }\n    ]", "}\n        ]\n      },\n      {\"mine\": 1}\n    ]", 1);
    assert_ne!(changed, text);
    fs::write(&settings, &changed).unwrap();
    assert_eq!(world.json(&["connect", "claude-code", "--yes"])["programs"][0]["state"], "already connected");
    world.json(&["disconnect", "claude-code"]);
    let left: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    assert_eq!(left["model"], "haiku");
    assert_eq!(left["hooks"]["Mine"], json!([]));
    assert_eq!(left["hooks"].as_object().unwrap().len(), 2, "{left}");
    // In Codex the trust of a hook is tied to its position.
    let (world, hooks) = with(".codex", "hooks.json", "{}");
    world.json(&["connect", "codex", "--yes"]);
    let text = fs::read_to_string(&hooks).unwrap();
    fs::write(
        &hooks,
        text.replacen("}\n        ]\n      }\n    ]", "}\n        ]\n      },\n      {\"hooks\": []}\n    ]", 1),
    )
    .unwrap();
    assert!(world.says(0, &["disconnect"]).contains("trust them again"));
    // A program rewrites its file without comments and in another form.
    let (world, settings) = with(".openclaw", "openclaw.json", "// mine\n{gateway: {port: 1}}\n");
    world.json(&["connect", "openclaw", "--yes"]);
    let rewritten = json!({
        "gateway": {"port": 2},
        "plugins": {
            "entries": {"heirloom": {"enabled": true, "hooks": {"allowConversationAccess": true, "allowPromptInjection": true}}},
            "load": {"paths": [world.test.user().join(".openclaw/plugins-local/heirloom")]},
        },
        "meta": {"touched": true},
    });
    fs::write(&settings, format!("{rewritten:#}")).unwrap();
    assert_eq!(world.json(&["connect", "openclaw", "--yes"])["programs"][0]["state"], "already connected");
    world.json(&["disconnect", "openclaw"]);
    let left: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    assert_eq!(left, json!({"gateway": {"port": 2}, "meta": {"touched": true}}));
    assert!(!world.test.user().join(".openclaw/plugins-local").exists());
    // Without the record in the home, our entries are recognised by their own marks.
    let (world, settings) = with(".codex", "hooks.json", "{\n \"a\": 1,\n \"hooks\": {\n  \"Other\": []\n }\n}");
    let before = fs::read(&settings).unwrap();
    world.json(&["connect", "codex", "--yes", "--trust"]);
    fs::remove_file(world.test.home().join("state/connected.json")).unwrap();
    world.json(&["disconnect", "codex"]);
    assert_eq!(fs::read(&settings).unwrap(), before);
    assert_eq!(fs::read(world.test.user().join(".codex/config.toml")).unwrap(), b"");
}

#[test]
fn trust_is_the_users_to_give() {
    let (world, config) = with(".codex", "config.toml", "model = \"x\" # mine\r\n[features]\r\nhooks = true");
    let before = fs::read_to_string(&config).unwrap();
    let said = world.says(0, &["connect", "codex", "--yes", "--no-mcp"]);
    assert!(said.contains("/hooks") && said.contains("heirloom connect codex --trust"), "{said}");
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    let doctor = |world: &World, code: i32| {
        let json = world.json_of(code, &["doctor"]);
        let checks = json["checks"].as_array().unwrap().clone();
        let mine = checks.into_iter().filter(|c| c["subject"] == "Codex");
        mine.map(|c| c["what"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
    };
    world.json(&["agent", "add", "main"]);
    // Right after connecting doctor reports no fault, and says what is left to do.
    assert!(doctor(&world, 0).contains("not trusted yet"));
    let json = world.json(&["connect", "codex", "--yes", "--trust"]);
    assert_eq!(json["programs"][0]["trust"], "trusted", "{json}");
    let trusted = fs::read_to_string(&config).unwrap();
    assert!(trusted.starts_with(&before));
    let hooks = world.test.user().join(".codex/hooks.json");
    assert!(trusted.contains(&format!("[hooks.state.\"{}:session_start:0:0\"]", hooks.display())), "{trusted}");
    assert!(doctor(&world, 0).contains("its hooks are trusted"));
    fs::write(&config, trusted.replacen("sha256:", "sha256:00", 1)).unwrap();
    assert!(doctor(&world, 1).contains("changed since you trusted them"));
    fs::write(&config, &trusted).unwrap();
    world.json(&["disconnect", "codex"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    // `CODEX_HOME` names a link: Codex stores trust under the resolved path.
    let elsewhere = world.test.folder("elsewhere");
    fs::create_dir(elsewhere.join("codex")).unwrap();
    symlink(elsewhere.join("codex"), elsewhere.join("link")).unwrap();
    let mut command = world.test.command(HEIRLOOM);
    command.env("CODEX_HOME", elsewhere.join("link")).args(["connect", "codex", "--yes", "--trust"]);
    assert_eq!(run(command, b"").status, Some(0));
    let real = fs::canonicalize(elsewhere.join("codex")).unwrap();
    let text = fs::read_to_string(real.join("config.toml")).unwrap();
    assert!(text.contains(&format!("\"{}:stop:0:0\"", real.join("hooks.json").display())), "{text}");
    // Both of Codex's files have hooks: Codex warns about that, and we explain it.
    let both =
        format!("{before}\r\n[[hooks.Stop]]\r\n[[hooks.Stop.hooks]]\r\ntype = \"command\"\r\ncommand = \"mine\"\r\n");
    fs::write(&config, &both).unwrap();
    let said = world.says(0, &["connect", "codex", "--yes", "--no-mcp"]);
    assert!(said.contains("config.toml has hooks, too"), "{said}");
    assert!(doctor(&world, 0).contains("config.toml has hooks, too"));
    world.json(&["disconnect", "codex"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), both);
    // Settings in a form that cannot be added to: neither file is changed.
    fs::write(&config, "hooks = {}\n").unwrap();
    world.says(3, &["connect", "codex", "--yes", "--trust"]);
    assert!(!hooks.exists());
    fs::write(&config, "hooks = {\n").unwrap();
    let said = world.says(3, &["connect", "codex", "--yes", "--trust"]);
    assert!(said.contains("config.toml cannot be read: line"), "{said}");
}

#[test]
fn a_permission_is_named_before_it_is_given() {
    let (world, config) = with(".openclaw", "openclaw.json", "{}");
    let said = world.says(3, &["connect"]);
    assert!(said.contains("allowConversationAccess") && said.contains("allowPromptInjection"), "{said}");
    world.says(0, &["connect", "--yes"]);
    world.json(&["agent", "add", "main"]);
    assert!(world.says(0, &["doctor"]).contains("connected"));
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replacen("\"allowConversationAccess\": true", "\"allowConversationAccess\": false", 1))
        .unwrap();
    let said = world.says(1, &["doctor"]);
    assert!(said.contains("hooks.allowConversationAccess") && said.contains("heirloom connect openclaw"), "{said}");
    world.json(&["connect", "--yes"]);
    world.says(0, &["doctor"]);
    world.json(&["disconnect"]);
    // The user may list which plugins a program loads; we are in that list while we are connected.
    fs::write(&config, "{plugins: {allow: ['x'], enabled: false}}").unwrap();
    let said = world.says(0, &["connect", "--yes"]);
    assert!(said.contains("plugins.enabled"), "{said}");
    assert!(fs::read_to_string(&config).unwrap().contains("['x', \"heirloom\"]"));
    assert!(world.says(1, &["doctor"]).contains("switch plugins off"));
}

/// No line is repeated while a program is connected.
#[test]
fn connecting_says_nothing_twice() {
    for (program, folder, _) in PROGRAMS {
        let world = World::new();
        fs::create_dir_all(world.test.user().join(folder)).unwrap();
        let said = world.says(0, &["connect", program, "--yes"]);
        assert_eq!(said.matches("takes effect").count(), 1, "{said}");
        assert!(said.contains("  can ask by itself, too\n"), "{said}");
        // By itself, it is said with what it needs.
        world.says(0, &["disconnect", program]);
        let said = world.says(0, &["connect", program, "--yes", "--mcp"]);
        assert!(said.contains("can ask by itself; takes effect"), "{said}");
    }
}

#[test]
fn the_first_minute_offers_to_connect() {
    let world = World::new();
    fs::create_dir_all(world.test.user().join(".claude")).unwrap();
    let before = machine(&world);
    assert!(world.says(0, &["up"]).contains("heirloom connect"));
    assert_eq!(world.json(&["up"])["connect"], json!([{"program": "claude-code", "state": "not connected"}]));
    assert_eq!(machine(&world), before);
    let projects = world.test.user().join(".claude/projects/-p");
    fs::create_dir_all(&projects).unwrap();
    fs::write(projects.join("s.jsonl"), crate::world::claude_line("s", 1, "user", "hello there")).unwrap();
    assert!(world.says(0, &["up"]).contains("heirloom connect"));
    assert!(!world.test.user().join(".claude/settings.json").exists());
    assert_eq!(world.json(&["up", "--yes"])["connect"], json!([{"program": "claude-code", "state": "connected"}]));
    assert!(world.test.user().join(".claude/settings.json").exists());
    assert!(!world.says(0, &["up"]).contains("heirloom connect"));
    // A program that cannot be connected does not prevent its import.
    fs::write(world.test.user().join(".claude/settings.json"), "{").unwrap();
    let json = world.json_of(1, &["up", "--yes"]);
    assert_eq!(json["connect"][0]["state"], "refused");
    assert_eq!(json["stored"]["sessions"], 1);
}

/// At a terminal each program is asked about separately, and any answer but yes counts as no.
#[test]
fn a_person_is_asked() {
    if !Path::new("/usr/bin/script").exists() {
        println!("skipped: there is no script(1) to be a terminal");
        return;
    }
    for (answer, connected) in [("y\n", true), ("n\n", false), ("\n", false)] {
        let world = World::new();
        fs::create_dir_all(world.test.user().join(".claude")).unwrap();
        let mut command = world.test.command("/usr/bin/script");
        command.args(["-qec", &format!("'{HEIRLOOM}' connect"), "/dev/null"]);
        let out = run(command, answer.as_bytes());
        assert_eq!(out.status, Some(0), "{}", out.stdout);
        assert!(out.stdout.contains("Connect Claude Code? [y/N]"), "{}", out.stdout);
        assert_eq!(world.test.user().join(".claude/settings.json").exists(), connected, "{}", out.stdout);
    }
}

#[test]
fn claude_code_takes_the_same_hooks_as_a_plugin() {
    let world = World::new();
    let folder = world.test.user().join("plugin folder");
    let at = folder.to_str().unwrap();
    world.says(0, &["connect", "claude-code", "--plugin", at, "--dry-run"]);
    assert!(!folder.exists());
    let json = world.json(&["connect", "--plugin", at]);
    names(&json, "plugin written then");
    assert_eq!(json["written"].as_array().unwrap().len(), 3);
    let read = |name: &str| -> Value { serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap() };
    let market = read(".claude-plugin/marketplace.json");
    let source = market["plugins"][0]["source"].as_str().unwrap();
    assert_eq!(read(&format!("{source}/.claude-plugin/plugin.json"))["name"], market["plugins"][0]["name"]);
    world.json(&["connect", "claude-code", "--yes"]);
    let settings: Value =
        serde_json::from_slice(&fs::read(world.test.user().join(".claude/settings.json")).unwrap()).unwrap();
    assert_eq!(read(&format!("{source}/hooks/hooks.json"))["hooks"], settings["hooks"]);
    assert_eq!(world.json(&["connect", "--plugin", at])["written"], json!([]));
    world.says(2, &["connect", "codex", "--plugin", at]);
    fs::write(folder.join("heirloom/hooks/hooks.json"), "mine").unwrap();
    world.says(3, &["connect", "--plugin", at]);
    assert_eq!(fs::read(folder.join("heirloom/hooks/hooks.json")).unwrap(), b"mine");
    // The program's note that the plugin is installed prevents a second set of hooks.
    world.json(&["disconnect", "claude-code"]);
    fs::create_dir_all(world.test.user().join(".claude")).unwrap();
    let text = "{\"enabledPlugins\": {\"heirloom@heirloom\": true}}";
    fs::write(world.test.user().join(".claude/settings.json"), text).unwrap();
    let said = world.says(0, &["connect", "claude-code", "--yes"]);
    assert!(said.contains("connected as a plugin"), "{said}");
}

#[test]
fn the_note_in_the_home_holds_nothing_of_others() {
    let (world, _) =
        with(".openclaw", "openclaw.json", "{\"gateway\": {\"auth\": {\"token\": \"very-secret-token\"}}}");
    world.json(&["connect", "--yes"]);
    let note = fs::read_to_string(world.test.home().join("state/connected.json")).unwrap();
    assert!(
        note.contains("openclaw.json") && !note.contains("very-secret-token") && !note.contains("gateway"),
        "{note}"
    );
    assert_eq!(fs::metadata(world.test.home().join("state/connected.json")).unwrap().mode() & 0o777, 0o600);
}

/// Tests with sessions recorded from the real programs, which are too private and too large for the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn real_settings_are_again_what_they_were() {
        let samples = recordings().join("harness/samples");
        for (program, sample, folder) in [
            ("claude-code", "claude", ".claude"),
            ("codex", "codex", ".codex"),
            ("opencode", "opencode", ".config/opencode"),
            ("openclaw", "openclaw", ".openclaw"),
        ] {
            let from = samples.join(sample).join("config");
            let world = World::new();
            let settings = world.test.user().join(folder);
            crate::world::copy_tree(&from, &settings);
            for (path, _) in listing(&settings) {
                let mode = if path.is_dir() { 0o700 } else { 0o644 };
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
            there_and_back(&world, program);
            // While ours are connected, the text of others is unchanged.
            let before: Vec<String> = texts(&settings).iter().map(|t| without_space(t)).collect();
            world.json(&["connect", program, "--yes", "--trust"]);
            for (before, after) in before.iter().zip(texts(&settings).iter().map(|t| without_space(t))) {
                let mut rest = after.chars();
                assert!(before.chars().filter(|c| *c != ',').all(|c| rest.any(|r| r == c)), "{program}: {after}");
            }
            world.json(&["disconnect", program]);
            let after: Vec<String> = texts(&settings).iter().map(|t| without_space(t)).collect();
            assert_eq!(before, after);
        }
    }
}

/// A settings file that a program could not read is reported before anything is written, and the next program is still
/// connected.
#[test]
fn a_malformed_settings_file_stops_its_program_and_no_other() {
    let world = World::new();
    let user = world.test.user();
    for folder in [".codex", ".claude"] {
        fs::create_dir_all(user.join(folder)).unwrap();
    }
    fs::write(user.join(".codex/config.toml"), "model = [\n").unwrap();
    let done = world.run(&["connect", "codex", "claude", "--yes", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["programs"][0]["state"], "refused", "{report}");
    assert!(report["programs"][0]["refused"]["what"].as_str().unwrap().contains("config.toml"), "{report}");
    assert_eq!(report["programs"][1]["state"], "connected", "{report}");
    assert_eq!(done.status, Some(3), "{report}");
    assert!(!user.join(".codex/hooks.json").exists());
    assert!(user.join(".claude/settings.json").exists());
}

/// If a dotfile manager keeps a program's folder elsewhere, connect prints all lines and the real files they belong into;
/// after a person has added them, the program is connected.
#[test]
fn what_is_put_in_by_hand_connects_the_program() {
    for (program, folder, _) in PROGRAMS {
        let world = World::new();
        let user = world.test.user();
        let (link, kept) = (user.join(folder), user.join("dotfiles"));
        fs::create_dir_all(&kept).unwrap();
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&kept, &link).unwrap();
        let said = world.says(3, &["connect", program, "--yes"]);
        assert!(said.contains("nothing was changed") && listing(&kept).is_empty(), "{program}: {said}");
        let asked: &[&str] = match *program {
            "codex" => &["connect", "codex", "--yes", "--trust"],
            other => &["connect", other, "--yes"],
        };
        // Codex trusts digests of existing hooks, so connect is asked again for the lines that are left.
        for _ in 0..2 {
            let out = world.run(&[asked, &["--json"][..]].concat());
            let report: Value = serde_json::from_str(&out.stdout).unwrap();
            let refused = &report["programs"][0]["refused"];
            for file in refused["by_hand"].as_array().into_iter().flatten() {
                let path = PathBuf::from(file["path"].as_str().unwrap());
                assert!(path.starts_with(&kept), "{program}: {}", path.display());
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, file["text"].as_str().unwrap()).unwrap();
            }
            assert!(refused.is_null() || refused["by_hand"][0].is_object(), "{program}: {report}");
        }
        let done = world.json(asked);
        assert_eq!(done["programs"][0]["state"], "already connected", "{program}: {done}");
        if *program == "codex" {
            assert_eq!(done["programs"][0]["trust"], "trusted", "{done}");
            let said = world.says(0, asked);
            assert!(said.contains("not offered MCP") && said.contains("[mcp_servers.heirloom]"), "{said}");
        }
        let said = world.says(0, &["doctor"]);
        assert!(said.contains("  connected"), "{program}: {said}");
    }
}

/// `claude` is Claude Code, wherever a program is named.
#[test]
fn claude_is_a_name_of_claude_code() {
    let world = World::new();
    let folder = world.test.user().join("plugin");
    world.says(0, &["connect", "claude", "--plugin", folder.to_str().unwrap()]);
    assert!(folder.exists());
    fs::create_dir_all(world.test.user().join(".claude")).unwrap();
    assert_eq!(world.json(&["connect", "claude", "--yes"])["programs"][0]["program"], "claude-code");
    assert_eq!(world.json(&["disconnect", "claude"])["programs"][0]["state"], "disconnected");
}

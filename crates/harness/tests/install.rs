//! Tests of connecting: Heirloom's entries are added once and removed again, and everything others wrote stays
//! unchanged to the byte, however odd its form.

use std::path::PathBuf;

use heirloom_harness::install::draft::{Draft, undo};
use heirloom_harness::install::insert::Merge;
use heirloom_harness::install::json::{self, Kind, SettingsError};
use heirloom_harness::install::trust::{self, Trusted};
use heirloom_harness::install::{
    Change, Declined, InstallPlan, Installed, Past, Standing, command_is_ours, is_our_script, script,
};
use heirloom_harness::{ALL, HostPaths, by_name};
use proptest::prelude::*;
use serde_json::{Value, json};

fn how(binary: &str) -> Installed {
    Installed { command: vec![binary.into()] }
}

fn host() -> HostPaths {
    HostPaths { home: PathBuf::from("/home/ada"), ..HostPaths::default() }
}

fn plan(name: &str, binary: &str) -> InstallPlan {
    by_name(name).unwrap().install_plan(&host(), &how(binary)).unwrap()
}

/// Returns the part of a plan that is merged into JSON.
fn merge(name: &str, binary: &str) -> Merge {
    let changes = plan(name, binary).edits.into_iter().map(|e| e.change);
    changes.filter_map(|c| if let Change::Json(merge) = c { Some(merge) } else { None }).next().unwrap()
}

fn change(name: &str, binary: &str) -> Change {
    Change::Json(merge(name, binary))
}

/// A JSON value that can be written in many forms.
#[derive(Clone, Debug)]
enum Doc {
    Plain(String),
    Object(Vec<(String, Doc)>),
    Array(Vec<Doc>),
}

/// The formatting habits of the file's author.
#[derive(Clone, Debug)]
struct Taste {
    /// Indentation; `None`: all in one line.
    indent: Option<&'static str>,
    line_end: &'static str,
    trailing_comma: bool,
    comments: u8,
    mark: bool,
    last_line: bool,
}

fn doc() -> impl Strategy<Value = Doc> {
    let plain = prop_oneof![
        Just("true".to_owned()),
        Just("null".to_owned()),
        (-9_999i64..9_999).prop_map(|n| n.to_string()),
        "[ -~é日]{0,12}".prop_map(|s| Value::from(s).to_string()),
        Just("\"// no comment, }] here\"".to_owned()),
    ];
    let key = prop_oneof![
        Just("hooks".to_owned()),
        Just("Stop".to_owned()),
        Just("plugins".to_owned()),
        Just("load".to_owned()),
        Just("paths".to_owned()),
        Just("entries".to_owned()),
        "[a-z]{1,6}".prop_map(String::from),
        "[ -~]{0,6}".prop_map(String::from),
    ];
    plain.prop_map(Doc::Plain).prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec((key.clone(), inner.clone()), 0..4).prop_map(Doc::Object),
            prop::collection::vec(inner, 0..4).prop_map(Doc::Array),
        ]
    })
}

fn root() -> impl Strategy<Value = Doc> {
    let group = json!({"hooks": [{"type": "command", "command": "python3 dump.py Stop", "timeout": 20}]}).to_string();
    let hooks = prop::collection::vec(
        ("(Stop|SessionStart|PreToolUse)", prop::collection::vec(Just(Doc::Plain(group)), 0..3)),
        0..3,
    );
    let hooks = hooks.prop_map(|events| {
        Doc::Object(events.into_iter().map(|(event, groups)| (event, Doc::Array(groups))).collect())
    });
    let members = prop::collection::vec(("[a-z]{1,6}", doc()), 0..4);
    (members, prop::option::of(hooks), any::<prop::sample::Index>()).prop_map(|(mut members, hooks, at)| {
        if let Some(hooks) = hooks {
            let at = at.index(members.len() + 1);
            members.insert(at, ("hooks".into(), hooks));
        }
        Doc::Object(members)
    })
}

fn taste() -> impl Strategy<Value = Taste> {
    let indent = prop_oneof![Just(None), Just(Some(" ")), Just(Some("  ")), Just(Some("    ")), Just(Some("\t"))];
    (indent, any::<bool>(), any::<bool>(), 0u8..5, any::<bool>(), any::<bool>()).prop_map(
        |(indent, crlf, trailing_comma, comments, mark, last_line)| Taste {
            indent,
            line_end: if crlf && indent.is_some() { "\r\n" } else { "\n" },
            trailing_comma,
            comments,
            mark: mark && comments == 4,
            last_line,
        },
    )
}

/// Writes each key once; files with double keys are another test's subject.
fn write(doc: &Doc, taste: &Taste, depth: usize, n: &mut usize, out: &mut String) {
    let (open, close, children): (_, _, Vec<(Option<&String>, &Doc)>) = match doc {
        Doc::Plain(text) => return out.push_str(text),
        Doc::Array(items) => ('[', ']', items.iter().map(|d| (None, d)).collect()),
        Doc::Object(members) => {
            let mut known: Vec<&String> = Vec::new();
            let mut once: Vec<(Option<&String>, &Doc)> = Vec::new();
            for (key, value) in members {
                if !known.contains(&key) {
                    known.push(key);
                    once.push((Some(key), value));
                }
            }
            ('{', '}', once)
        }
    };
    let line = |out: &mut String, depth: usize| {
        if let Some(indent) = taste.indent {
            out.push_str(taste.line_end);
            out.push_str(&indent.repeat(depth));
        }
    };
    let comment = |out: &mut String, n: &mut usize, depth: usize| {
        *n += 1;
        match (taste.comments, *n % 3, taste.indent) {
            (1, 0, Some(_)) => out.push_str(" // a, \"comment\" {"),
            (2, 0, _) => out.push_str(" /* one, } */"),
            (3, 0, Some(indent)) => {
                out.push_str(taste.line_end);
                out.push_str(&indent.repeat(depth));
                out.push_str("// on a line of its own");
            }
            _ => {}
        }
    };
    out.push(open);
    comment(out, n, depth + 1);
    let last = children.len();
    for (i, (key, value)) in children.into_iter().enumerate() {
        line(out, depth + 1);
        if let Some(key) = key {
            let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase());
            match taste.comments {
                4 if plain => out.push_str(key),
                3 if plain => out.push_str(&format!("'{key}'")),
                _ => out.push_str(&Value::from(key.as_str()).to_string()),
            }
            out.push_str(": ");
        }
        write(value, taste, depth + 1, n, out);
        if i + 1 < last || taste.trailing_comma {
            out.push(',');
        }
        comment(out, n, depth + 1);
    }
    if last > 0 || out.ends_with('{') || !out.ends_with(open) {
        line(out, depth);
    }
    out.push(close);
}

fn text(doc: &Doc, taste: &Taste) -> String {
    let mut out = String::new();
    if taste.mark {
        out.push('\u{feff}');
    }
    write(doc, taste, 0, &mut 0, &mut out);
    if taste.last_line {
        out.push_str(taste.line_end);
    }
    out
}

/// Returns a text without its formatting, to compare only the content.
fn words(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn settings_of_others_stay_as_they_are(
        doc in root(),
        taste in taste(),
        program in prop_oneof![Just("claude-code"), Just("openclaw")],
    ) {
        let before = text(&doc, &taste);
        let value = json::parse(&before).unwrap_or_else(|e| panic!("{e:?}\n{before}")).json();
        let change = change(program, "/opt/heirloom");
        let edited = match change.put(Some(&before), None, "") {
            Ok(edited) => edited,
            // A random document may have a list where the program expects an object.
            Err(Declined::Settings(SettingsError::WrongType(..))) => return Ok(()),
            Err(e) => panic!("{e:?}\n{before}"),
        };
        let after = edited.text.clone();
        let now = json::parse(&after).unwrap_or_else(|e| panic!("{e:?}\n{before}\n→\n{after}")).json();
        prop_assert_eq!(change.standing(Some(&after), ""), Ok(Standing::Current), "{}", after);
        if serde_json::from_str::<Value>(&before).is_ok() {
            prop_assert!(serde_json::from_str::<Value>(&after).is_ok(), "plain JSON stays plain\n{before}\n→\n{after}");
        }
        // No value of the earlier settings is lost.
        prop_assert!(holds(&now, &value), "{}\n→\n{}", before, after);
        // Undoing is exact, and the steps contain no text that stayed in the file.
        prop_assert_eq!(undo(&after, &edited.steps), Some(before.clone()));
        prop_assert!(edited.steps.iter().all(|s| s.text.is_empty()));
        // A second edit changes nothing.
        let past = Past { exact: true, was_absent: false, steps: edited.steps, made: edited.made };
        prop_assert_eq!(change.put(Some(&after), Some(&past), "").unwrap().text, after.clone());
        prop_assert_eq!(change.put(Some(&after), None, "").unwrap().text, after.clone());
        prop_assert_eq!(change.take(&after, Some(&past), ""), Ok(Some(before.clone())));
        // The binary moves to another path, and undoing still leads back to the original file.
        let moved = self::change(program, "/usr/local/bin/heirloom").put(Some(&after), Some(&past), "").unwrap();
        prop_assert!(moved.exact);
        prop_assert_eq!(undo(&moved.text, &moved.steps), Some(before.clone()), "{}", moved.text);
        // In a file that was changed since, only Heirloom's entries are removed.
        let changed = Past { exact: false, ..past };
        let taken = change.take(&after, Some(&changed), "").unwrap().unwrap();
        prop_assert_eq!(json::parse(&taken).map(|n| n.json()), Ok(value.clone()), "{}\n→\n{}\n→\n{}", before, after, taken);
        prop_assert_eq!(words(&taken), words(&before));
        let taken = change.take(&after, None, "").unwrap().unwrap();
        prop_assert!(json::parse(&taken).is_ok());
        prop_assert_eq!(change.standing(Some(&taken), ""), Ok(Standing::Absent));
    }

    #[test]
    fn no_text_is_too_odd_to_be_read(text in "[\\[\\]{}:,\"'/*a-z0-9+.\\\\\n \u{feff}-]{0,40}") {
        if let Ok(node) = json::parse(&text) {
            prop_assert!(text.get(node.span.clone()).is_some());
            if let Ok(value) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
                // Floats are not compared: the two parsers may round them differently.
                if !text.contains(['.', 'e']) {
                    prop_assert_eq!(node.json(), value);
                }
            }
        } else {
            prop_assert!(serde_json::from_str::<Value>(&text).is_err(), "{}", text);
        }
    }

    #[test]
    fn any_path_makes_a_command_that_is_known_again(
        folder in "[ -~é]{0,20}",
        home in prop::option::of("/[ -~é]{0,20}"),
    ) {
        let mut command = vec![format!("/{folder}/heirloom")];
        command.extend(home.into_iter().flat_map(|h| ["--home".to_owned(), h]));
        let hook = Installed { command }.hook("codex", "Stop");
        prop_assert!(command_is_ours(&hook, "codex"), "{}", hook);
        prop_assert!(!command_is_ours(&hook, "claude-code"));
    }

    #[test]
    fn trust_leaves_the_rest_of_the_settings_alone(
        lines in prop::collection::vec(prop_oneof![
            Just("model = \"gpt-5\"  # the good one"), Just("# [hooks.state]"), Just(""), Just("  "),
            Just("text = \"\"\"\n[hooks.state.x]\ntrusted_hash = \"no\"\n\"\"\""),
        ], 0..3),
        tables in prop::sample::subsequence(vec![
            "[projects.\"/home/user/project\"]\ntrust_level = \"trusted\"",
            "[hooks.state.\"/home/ada/.codex/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:00\"\n",
            "[[profiles]] # list\nname = 'x'", "[features]\nhooks = true",
        ], 0..4),
        crlf in any::<bool>(),
        last_line in any::<bool>(),
        mark in any::<bool>(),
    ) {
        let mut before = lines.into_iter().take(1).chain(tables).collect::<Vec<_>>().join("\n");
        if last_line {
            before.push('\n');
        }
        if crlf {
            before = before.replace('\n', "\r\n");
        }
        if mark && !before.is_empty() {
            before.insert(0, '\u{feff}');
        }
        let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "other"}]}]}}).to_string();
        let plan = plan("codex", "/opt/heirloom");
        let hooks = plan.edits[0].change.put(Some(&hooks), None, "").unwrap().text;
        let change = &plan.edits[1].change;
        let edited = change.put(Some(&before), None, &hooks).unwrap();
        prop_assert!(edited.text.starts_with(&before), "{}", edited.text);
        prop_assert_eq!(change.standing(Some(&edited.text), &hooks), Ok(Standing::Current));
        prop_assert_eq!(undo(&edited.text, &edited.steps), Some(before.clone()));
        // If others added a line after ours, only ours is removed.
        let added = format!("{}[tui]\nx = 1\n", edited.text);
        let taken = change.take(&added, None, &hooks).unwrap().unwrap();
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else if before.contains("\r\n") { "\r\n" } else { "\n" };
        prop_assert_eq!(taken, format!("{before}{gap}[tui]\nx = 1\n"));
    }
}

/// Whether `whole` contains everything in `part`; lists are compared from their beginning.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(k, v)| whole.get(k).is_some_and(|w| holds(w, v)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() >= part.len() && part.iter().zip(whole).all(|(p, w)| holds(w, p))
        }
        (whole, part) => whole == part,
    }
}

/// Returns a change with one hook, to check the form of a short text.
fn one_hook() -> Change {
    let mut merge = merge("claude-code", "/opt/heirloom");
    merge.hooks.retain(|h| h.event == "Stop");
    Change::Json(merge)
}

#[test]
fn ours_is_written_in_the_form_of_the_file() {
    let ours = r#"{"hooks": [{"type": "command", "command": "/opt/heirloom hook claude-code Stop", "timeout": 2}]}"#;
    let table: &[(&str, String)] = &[
        ("{\"a\":1}", "{\"a\":1,\"hooks\":{\"Stop\":[OURS]}}".replace("OURS", &ours.replace(' ', "")).replace(
            "/opt/heirloomhookclaude-codeStop", "/opt/heirloom hook claude-code Stop")),
        ("{ \"a\": 1 }", format!("{{ \"a\": 1, \"hooks\": {{\"Stop\": [{ours}]}} }}")),
        (
            "{\n\t\"hooks\": {\n\t\t\"Stop\": [{\"x\": 1}, ] // mine\n\t}\n}\n",
            format!("{{\n\t\"hooks\": {{\n\t\t\"Stop\": [{{\"x\": 1}}, {ours}, ] // mine\n\t}}\n}}\n"),
        ),
        (
            "{\r\n    \"hooks\": {} // none yet\r\n}",
            "{\r\n    \"hooks\": {\r\n        \"Stop\": [\r\n            {\r\n                \"hooks\": [\r\n                    {\r\n                        \"type\": \"command\",\r\n                        \"command\": \"/opt/heirloom hook claude-code Stop\",\r\n                        \"timeout\": 2\r\n                    }\r\n                ]\r\n            }\r\n        ]\r\n    } // none yet\r\n}".to_owned(),
        ),
    ];
    for (before, expected) in table {
        let edited = one_hook().put(Some(before), None, "").unwrap();
        assert_eq!(&edited.text, expected, "{before}");
    }
    let new = one_hook().put(None, None, "").unwrap();
    assert!(
        new.was_absent && new.text.starts_with("{\n  \"hooks\": {\n    \"Stop\": [\n") && new.text.ends_with("}\n")
    );
    assert_eq!(one_hook().put(Some(" \n"), None, "").map(|e| undo(&e.text, &e.steps)), Ok(Some(" \n".into())));
}

/// Settings files in the forms that people and programs write.
const FORMS: &[&str] = &[
    "",
    "\n\n",
    "{}",
    "{ }\n",
    "{\n  // nothing yet\n}\n",
    "{\n  /* several\n     lines */\n}",
    "{\n  \"model\": \"opus\"\n}",
    "\u{feff}{\r\n  \"model\": \"opus\",\r\n}\r\n",
    "{\n  // mine\n  \"a\": 1, // one\n\n  // between\n  /* two */ \"b\": [1, [2, 3,], ], /* three */\n  // last\n}\n",
    "{a: 0x1F, 'b': +.5, $c_d: -Infinity, e: 'it\\'s \\x41\\\nmore', f: 5., \"g\": NaN, true: null}",
    "\t{\n\t\t'a'\n\t\t:\n\t\t1 // one\n\t\t, b: { } }\n\n// behind the end",
    r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#,
    "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"a\",\n        \"hooks\": [\n          {\"command\": \"mine\"},\n          {\"command\": \"also mine\"}, // two\n        ],\n      }, // group\n      // end of Stop\n    ],\n  },\n}",
    "\u{feff}{\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{\"hooks\": [[{\"command\": \"odd\"}], []]},\r\n\t\t\t[]\r\n\t\t]\r\n\t}\r\n}",
    "{ hooks: { Stop: [ {hooks: [{command: 'mine'}]}, /* x */ ] } }",
    "{hooks:{Stop:[{hooks:[]} // last\n]}}",
];

#[test]
fn every_form_is_again_what_it_was() {
    for before in FORMS {
        for change in [one_hook(), change("claude-code", "/opt/heirloom"), change("openclaw", "/opt/heirloom")] {
            let edited = change.put(Some(before), None, "").unwrap_or_else(|e| panic!("{e:?}\n{before}"));
            let after = &edited.text;
            assert!(json::parse(after).is_ok(), "{before}\n→\n{after}");
            assert_eq!(change.standing(Some(after), ""), Ok(Standing::Current), "{after}");
            let past = Past { exact: edited.exact, was_absent: false, steps: edited.steps, made: edited.made };
            assert_eq!(change.take(after, Some(&past), ""), Ok(Some((*before).to_owned())), "{after}");
            // The entries are also removed when the record is lost; a file with nothing else in it may then keep an
            // empty object.
            let expected = if words(before.trim().trim_matches(['{', '}'])).is_empty() { "{}" } else { before.trim() };
            let taken = change.take(after, None, "").unwrap().unwrap();
            assert_eq!(taken.trim(), expected, "{after}");
        }
    }
}

/// Texts the parser accepts and JSON5 does not allow: the program reads such a file in another way, or not at all.
#[test]
fn what_is_no_json5_is_refused() {
    for (text, line) in [
        ("{\n  a: 1\n  b: 2\n}", 2),
        ("{\n  a-b: 1\n}", 2),
        ("{1: 2}", 1),
        ("{a: 1, -Infinity /* key */: 2}", 1),
        ("{a: 'one\ntwo'}", 1),
        ("{\n'a\\\\\nb': 1}", 2),
        ("{ // a line\u{2028} b: 1\n}", 1),
        ("// nothing\n", 1),
    ] {
        let found = json::parse(text).map_err(|wrong| wrong.line);
        assert_eq!(found, Err(line), "{text}");
    }
    assert!(json::parse("{'a\\\\\\\nb\\\r\nc': '\u{2028}'}").is_ok());
    let too_deep = "[".repeat(2_000) + &"]".repeat(2_000);
    assert!(json::parse(&too_deep).is_err());
}

#[test]
fn what_cannot_be_told_for_sure_is_left_alone() {
    let refused = |text: &str| match change("claude-code", "/opt/heirloom").put(Some(text), None, "") {
        Err(Declined::Settings(refused)) => refused,
        other => panic!("{text}: {other:?}"),
    };
    assert!(matches!(refused("{\"a\": 1"), SettingsError::Malformed(m) if m.line == 1));
    assert!(matches!(refused("{\n\"a\": 1,\n\"b\" 2}"), SettingsError::Malformed(m) if m.line == 3));
    assert!(matches!(refused("{} {}"), SettingsError::Malformed(_)));
    assert!(matches!(refused("{\"a\": \"\n\"}"), SettingsError::Malformed(_)));
    assert!(matches!(refused(&"[".repeat(100_000)), SettingsError::Malformed(_)));
    assert_eq!(refused("[]"), SettingsError::WrongType("an object", "the file".into()));
    assert_eq!(refused("{\"hooks\": []}"), SettingsError::WrongType("an object", "hooks".into()));
    assert_eq!(refused("{\"hooks\": {\"Stop\": {}}}"), SettingsError::WrongType("a list", "hooks.Stop".into()));
    assert_eq!(refused("{\"hooks\": {}, hooks: {}}"), SettingsError::DuplicateKey("hooks".into()));
    assert_eq!(refused("{\"hooks\": {\"Stop\": [], 'Stop': []}}"), SettingsError::DuplicateKey("hooks.Stop".into()));
    let included = "{plugins: {\"$include\": './plugins.json5'}}";
    let openclaw = change("openclaw", "/opt/heirloom").put(Some(included), None, "");
    assert_eq!(openclaw, Err(Declined::Settings(SettingsError::Included("plugins".into()))));
}

#[test]
fn hooks_of_ours_are_known_and_nothing_else_is() {
    for (command, ours) in [
        ("/opt/heirloom hook claude-code Stop", true),
        ("'/o p t/heir'\\''s/heirloom' --home '/x y' hook claude-code Stop", true),
        ("heirloom-nightly hook claude-code Stop", true),
        ("/opt/heirloom hook codex Stop", false),
        ("/opt/heirloom search 'hook claude-code Stop'", false),
        ("python3 /opt/heirloom hook claude-code Stop", false),
        ("/opt/heirloom hook claude-code Stop; rm x", false),
        ("/opt/other hook claude-code Stop", false),
        ("'", false),
        ("", false),
    ] {
        assert_eq!(command_is_ours(command, "claude-code"), ours, "{command}");
    }
}

#[test]
fn an_older_hook_gives_way_in_its_place_and_one_among_others_is_taken_out() {
    let old = |event: &str| format!("/old/heirloom --x hook claude-code {event}");
    let theirs = json!({"type": "command", "command": "mine"});
    let before = json!({"hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": old("Stop")}]}, {"hooks": [theirs]}],
        "PreCompact": [{"matcher": "auto", "hooks": [theirs, {"type": "command", "command": old("PreCompact")}]}],
        "PreToolUse": [{"hooks": [{"type": "command", "command": old("PreToolUse")}]}],
        "SessionEnd": [{"hooks": [{"command": old("SessionEnd")}]}, {"hooks": [{"command": old("SessionEnd")}]}],
    }});
    let text = format!("{before:#}");
    let change = change("claude-code", "/opt/heirloom");
    assert_eq!(change.standing(Some(&text), ""), Ok(Standing::Partly));
    let edited = change.put(Some(&text), None, "").unwrap();
    assert!(!edited.exact, "nobody knows what was there before the old one");
    let now = json::parse(&edited.text).unwrap().json();
    let hook = |event: &str| json!({"hooks": [{"type": "command", "command": format!("/opt/heirloom hook claude-code {event}"), "timeout": 2}]});
    assert_eq!(now["hooks"]["Stop"], json!([hook("Stop"), {"hooks": [theirs]}]));
    assert_eq!(now["hooks"]["PreCompact"], json!([{"matcher": "auto", "hooks": [theirs]}, hook("PreCompact")]));
    assert_eq!(now["hooks"]["PreToolUse"], json!([]), "an event we are no longer called on");
    assert_eq!(now["hooks"]["SessionEnd"], json!([hook("SessionEnd")]));
    let taken = change.take(&edited.text, None, "").unwrap().unwrap();
    let left = json::parse(&taken).unwrap().json();
    assert_eq!(left["hooks"]["Stop"], json!([{"hooks": [theirs]}]));
    assert_eq!(left["hooks"]["PreCompact"], json!([{"matcher": "auto", "hooks": [theirs]}]));
    assert_eq!(left["hooks"].as_object().unwrap().len(), 3, "{left}");
}

/// Digests equal those Codex makes: verified against `hooks/list` of Codex 0.169.0.
#[test]
fn digests_of_trust_are_the_programs() {
    let hooks = json!({"hooks": {
        "SessionEnd": [
            {"hooks": [{"type": "command", "command": "other"}]},
            {"hooks": [{"type": "command", "command": "/opt/heirloom hook codex SessionEnd", "timeout": 20}]},
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "'/o p/heirloom' hook codex Stop"}]}],
    }});
    let found = trust::of_hooks(&hooks.to_string(), "/home/ada/.codex/hooks.json", "codex").unwrap();
    let keys: Vec<&str> = found.iter().map(|t| t.key.as_str()).collect();
    assert_eq!(keys, ["/home/ada/.codex/hooks.json:session_end:1:0", "/home/ada/.codex/hooks.json:stop:0:0"]);
    assert_eq!(found[0].digest, "sha256:4e7a4ed987471d94ed4828ba537d901259adfa691deaa9921dac5c998c3d04b8");
    assert_eq!(found[1].digest, "sha256:797c8fe554ac3ae002aa3c4dd0db5b630ff6f02cf86b568ce4bb6f8e8eb83b20");
    let mut draft = Draft::new("model = 'x'\n");
    trust::put(&mut draft, &found).unwrap();
    let standing = |text: &str| trust::standing(text, &found).unwrap();
    assert_eq!(standing(draft.text()), [Trusted::Yes, Trusted::Yes]);
    assert_eq!(
        standing(&draft.text().replace("4e7a4ed987471d94ed4828ba537d901259adfa691deaa9921dac5c998c3d04b8", "00")),
        [Trusted::Modified, Trusted::Yes]
    );
    assert_eq!(
        standing(&draft.text().replacen("trusted_hash", "enabled = false\ntrusted_hash", 1)),
        [Trusted::Off, Trusted::Yes]
    );
    assert_eq!(standing(""), [Trusted::No, Trusted::No]);
    assert!(trust::standing("x = [", &found).is_err());
    // A table to which nothing can be added is left alone.
    let closed = "hooks = { state = {} }\n";
    assert!(trust::put(&mut Draft::new(closed), &found).is_err());
}

/// Heirloom's entries are added and removed again, or the file is left alone, in any form the text of others has; the
/// settings of others keep their values.
#[test]
fn trust_is_written_beside_every_form_of_others_or_not_at_all() {
    let hooks =
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/opt/heirloom hook codex Stop"}]}]}});
    let wanted = trust::of_hooks(&hooks.to_string(), "/home/ada/.codex/hooks.json", "codex").unwrap();
    let other = "\"/o/hooks.json:stop:0:0\"";
    for (config, fits) in [
        (format!("[hooks.state.{other}]\ntrusted_hash = 'sha256:1'\nenabled = false\n"), true),
        ("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = 'command'\ncommand = 'mine' # of mine\n".to_owned(), true),
        ("[hooks]\n[[hooks.Stop]]\nmatcher = '.*'\n\n[tui]\nlines = [\n  1, # one\n  2,\n]\n".to_owned(), true),
        ("features.hooks = true\n[profiles]\n'a b'.model = 'x'".to_owned(), true),
        ("[hooks.state]\n".to_owned(), true),
        (format!("hooks.state.{other}.trusted_hash = 'sha256:1'\n"), true),
        (format!("[hooks]\nstate = {{ {other} = {{ trusted_hash = 'sha256:1' }} }}\n"), false),
        (format!("[hooks]\nstate.{other}.trusted_hash = 'sha256:1'\n"), true),
        ("[[hooks]]\nname = 'x'\n".to_owned(), false),
        ("hooks = []\n".to_owned(), false),
    ] {
        for config in [config.clone(), config.replace('\n', "\r\n"), config.trim_end().to_owned()] {
            let mut draft = Draft::new(&config);
            let put = trust::put(&mut draft, &wanted);
            assert_eq!(put.is_ok(), fits, "{config:?}: {put:?}");
            if !fits {
                continue;
            }
            assert!(draft.text().starts_with(&config), "{}", draft.text());
            assert_eq!(trust::standing(draft.text(), &wanted).unwrap(), [Trusted::Yes], "{}", draft.text());
            assert_eq!(undo(draft.text(), &draft.steps()).as_deref(), Some(config.as_str()));
            let with_ours = draft.text().to_owned();
            trust::put(&mut draft, &wanted).unwrap();
            assert_eq!(draft.text(), with_ours, "once");
            let mut taken = Draft::new(&with_ours);
            assert_eq!(trust::take(&mut taken, &wanted), Ok(0));
            assert_eq!(taken.text().trim_end(), config.trim_end());
        }
    }
}

#[test]
fn a_script_knows_how_to_call_us_and_whether_it_was_changed() {
    for (name, source) in [("opencode", "plugin/heirloom.js"), ("openclaw", "plugins-local/heirloom/index.js")] {
        let how = Installed { command: vec!["/o \"p\"/heirloom".into(), "--home".into(), "/x y".into()] };
        let plan = by_name(name).unwrap().install_plan(&host(), &how).unwrap();
        let edit = plan.edits.iter().find(|e| e.path == source).unwrap();
        let Change::Own(own) = &edit.change else { panic!("{name}") };
        assert!(
            own.text.contains("const HEIRLOOM = [\"/o \\\"p\\\"/heirloom\",\"--home\",\"/x y\"]\n"),
            "{}",
            own.text
        );
        assert!(is_our_script(&own.text) && (own.is_ours)(&own.text));
        assert!(!is_our_script(&format!("{}// mine\n", own.text)));
        let changed = own.text.replace("TIME = 2000", "TIME = 9000");
        assert_eq!(edit.change.take(&changed, None, ""), Err(Declined::NotOurs));
        assert_eq!(edit.change.put(Some(&changed), None, ""), Err(Declined::NotOurs));
        assert_eq!(edit.change.take(&own.text, None, ""), Ok(None));
        assert!(is_our_script(&script("x", &how)));
    }
}

#[test]
fn every_program_can_be_connected_and_plans_only_in_its_own_folder() {
    for harness in ALL {
        let Some(plan) = harness.install_plan(&host(), &how("/opt/heirloom")) else {
            assert_eq!(harness.spec().name, "turns");
            continue;
        };
        assert!(plan.folder.starts_with("/home/ada"));
        for edit in &plan.edits {
            assert!(edit.folder.starts_with(&plan.folder), "{}", edit.path);
            assert!(!edit.path.starts_with('/') && !edit.meaning.is_empty());
        }
        // The text for adding entries by hand has the entries Heirloom would add.
        for change in plan.edits.iter().map(|e| &e.change) {
            if let Some(text) = change.by_hand() {
                assert_eq!(change.standing(Some(&text), ""), Ok(Standing::Current));
                assert!(serde_json::from_str::<Value>(&text).is_ok());
            }
        }
    }
}

#[test]
fn settings_that_keep_a_program_from_calling_us_are_seen() {
    let claude = plan("claude-code", "/opt/heirloom");
    assert!((claude.forbids)("{\"allowManagedHooksOnly\": true}").is_some());
    assert!((claude.forbids)("{\"allowManagedHooksOnly\": false, \"hooks\": {}}").is_none());
    assert!((claude.obstacle)(&[Some("{\"disableAllHooks\": true}")]).is_some());
    assert!((claude.otherwise)(&[Some("{enabledPlugins: {'heirloom@heirloom': true}}")]).is_some());
    assert!((claude.otherwise)(&[Some("{enabledPlugins: {'heirloom@heirloom': false}}")]).is_none());
    let codex = plan("codex", "/opt/heirloom");
    assert!((codex.obstacle)(&[None, Some("[features]\nhooks = false\n")]).is_some());
    assert!((codex.obstacle)(&[None, Some("[features]\nother = false\n")]).is_none());
    let openclaw = plan("openclaw", "/opt/heirloom");
    let obstacle = |text: &'static str| (openclaw.obstacle)(&[None, None, None, Some(text)]);
    assert!(obstacle("{plugins: {enabled: false}}").is_some());
    assert!(obstacle("{plugins: {deny: ['heirloom']}}").is_some());
    assert!(obstacle("{plugins: {deny: ['other']}}").is_none());
    // An existing list of allowed plugins is added to; a missing list is not created.
    let allowed = change("openclaw", "/opt/heirloom").put(Some("{plugins: {allow: ['a']}}"), None, "").unwrap();
    assert!(allowed.text.contains("['a', \"heirloom\"]"), "{}", allowed.text);
    let free = change("openclaw", "/opt/heirloom").put(Some("{}"), None, "").unwrap();
    assert!(!free.text.contains("\"allow\""), "{}", free.text);
    let Kind::Object(_) = json::parse(&free.text).unwrap().kind else { panic!() };
}

//! Tests with OpenClaw's events, as lines and as rows, from a fixture in the shape of version 2026.9.6 and from a real
//! session where it is at hand.

use std::fs;
use std::path::{Path, PathBuf};

use heirloom_engine::event::{Cell, Fact, NewTurn, Placement, Role, Row, TurnKind};
use heirloom_harness::openclaw::OpenClaw;
use heirloom_harness::{Form, Harness, HostPaths};
use proptest::prelude::*;

use crate::opencode::{build, check_decoded, check_snapshot, mutated, plan_of, samples, testdata, told, turns_of};

#[test]
fn a_session_in_lines() {
    let mut decoder = OpenClaw.decoder(&Placement::default(), &[]);
    let told: String =
        fixture().lines().enumerate().map(|(i, l)| told(&format!("{}", i + 1), &decoder.line(l.as_bytes()))).collect();
    check_snapshot("openclaw/2026.9.6/session.txt", &told);
}

#[test]
fn rows_say_what_lines_say() {
    let placement = Placement { native: "0a000000-0000-4000-8000-000000000001".into(), ..Placement::default() };
    let mut lines = OpenClaw.decoder(&placement, &[]);
    let mut rows = OpenClaw.decoder(&placement, &[]);
    rows.row(&head("session_windows", &[("session_id", &placement.native), ("session_key", "agent:main:main")]));
    for line in fixture().lines() {
        assert_eq!(rows.row(&event(line)), lines.line(line.as_bytes()), "{line}");
    }
    let unopened =
        Row { table: "transcript_events".into(), key: String::new(), columns: vec![("event_json".into(), Cell::Null)] };
    check_decoded(&rows.row(&unopened));
}

#[test]
fn a_later_sitting_goes_on_where_the_first_stopped() {
    let mut whole = OpenClaw.decoder(&Placement::default(), &[]);
    let mut state = Vec::new();
    for line in fixture().lines() {
        let mut part = OpenClaw.decoder(&Placement::default(), &state);
        assert_eq!(part.line(line.as_bytes()), whole.line(line.as_bytes()), "{line}");
        state = part.state();
    }
    assert!(state.len() < 8000);
}

#[test]
fn names_forks_and_unattended_sessions_come_from_the_heads() {
    let mut decoder = OpenClaw.decoder(&Placement::default(), &[]);
    let window = head(
        "session_windows",
        &[("session_id", "s2"), ("session_key", "agent:main:subagent:7"), ("display_name", "chat")],
    );
    assert_eq!(
        decoder.row(&window).facts,
        [Fact::Session { native: "s2".into(), lane: String::new(), parent_call: None }, Fact::Title("chat".into())]
    );
    let node = head(
        "session_nodes",
        &[("current_session_id", "s2"), ("fork_source_session_id", "s1"), ("label", "Oil"), ("display_name", "x")],
    );
    assert_eq!(decoder.row(&node).facts, [Fact::ForkOf { native: "s1".into() }, Fact::Title("Oil".into())]);
    let prompt =
        decoder.row(&event(r#"{"type":"message","id":"a","message":{"role":"user","content":"oil the cogs"}}"#));
    assert_eq!((prompt.turns[0].role, prompt.turns[0].kind), (Role::System, TurnKind::MachinePrompt));
}

#[test]
fn finds_its_stores() {
    let host = HostPaths { home: "/home/ada".into(), ..HostPaths::default() };
    assert_eq!(OpenClaw.roots(&host), [PathBuf::from("/home/ada/.openclaw/agents")]);
    let host = HostPaths { openclaw_state_dir: Some("/claw".into()), ..host };
    assert_eq!(OpenClaw.roots(&host), [PathBuf::from("/claw/agents")]);
    let claims = |path: &str| OpenClaw.claims(Path::new(path));
    assert_eq!(claims("/claw/agents/ops/agent/openclaw-agent.sqlite"), Some(Form::Foreign));
    assert_eq!(claims("/claw/agents/ops/agent/openclaw-agent.sqlite-wal"), None);
    assert_eq!(claims("/claw/agents/ops/sessions/1f.jsonl"), Some(Form::Lines));
    let archive = "/claw/agents/ops/sessions/1f.jsonl.deleted.2026-11-21T23-48-47.753Z.c03c34d0.zst";
    assert_eq!(claims(archive), Some(Form::Lines), "what was put away when a session was deleted");
    assert_eq!(OpenClaw.place(Path::new(archive)).native, "1f");
    assert!(OpenClaw.recognises(Path::new(archive), &[0x28, 0xb5, 0x2f, 0xfd, 0]));
    assert!(!OpenClaw.recognises(Path::new("/x/data.zst"), &[0x28, 0xb5, 0x2f, 0xfd, 0]));
    for by_product in ["1f.jsonl.other.17.ab.zst", "1f.jsonl.lock", "1f.trajectory.jsonl", "sessions.json"] {
        assert_eq!(claims(&format!("/claw/agents/ops/sessions/{by_product}")), None);
    }
    let place = |path: &str| OpenClaw.place(Path::new(path));
    let ops = Placement { agent: Some("ops".into()), ..Placement::default() };
    assert_eq!(place("/claw/agents/ops/agent/openclaw-agent.sqlite"), ops);
    assert_eq!(place("/claw/agents/ops/sessions/1f.jsonl"), Placement { native: "1f".into(), ..ops });
    assert_eq!(place("/backup/1f.jsonl"), Placement { native: "1f".into(), ..Placement::default() });
    assert!(OpenClaw.recognises(Path::new("/x/1f.jsonl"), fixture().as_bytes()));
    assert!(!OpenClaw.recognises(Path::new("/x/1f.jsonl"), b"{\"type\":\"message\"}\n"));
    assert!(OpenClaw.recognises(Path::new("/x/my-openclaw.db"), b"SQLite format 3\0"));
    assert_eq!(OpenClaw.resume("0a-1").as_deref(), Some("openclaw agent --session-id 0a-1 --message"));
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    for deep in
        ["[".repeat(500_000), "{\"state\":".repeat(200_000), format!("{}1{}", "[".repeat(300_000), "]".repeat(300_000))]
    {
        for field in ["message", "content", "id", "summary"] {
            let line =
                format!(r#"{{"type":"message","message":{{"role":"user","content":[{deep}]}},"{field}":{deep}}}"#);
            check_decoded(&OpenClaw.decoder(&Placement::default(), &[]).line(line.as_bytes()));
        }
        let call = format!(
            r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"toolCall","arguments":{{"a":{deep}}}}}]}}}}"#
        );
        check_decoded(&OpenClaw.decoder(&Placement::default(), &[]).line(call.as_bytes()));
    }
}

proptest! {
    #[test]
    fn mutated_lines_never_panic(which in 0usize..60, at in any::<prop::sample::Index>(), with in r#"[\[\]{}":,0-9a-z\\]{0,4}"#, drop in 0usize..9) {
        let mut decoder = OpenClaw.decoder(&Placement::default(), with.as_bytes());
        let fixture = fixture();
        let which = which % fixture.lines().count();
        for (i, line) in fixture.lines().enumerate() {
            let line = if i == which { mutated(line, at, &with, drop) } else { line.into() };
            check_decoded(&decoder.line(line.as_bytes()));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
        check_decoded(&OpenClaw.decoder(&Placement::default(), &bytes).line(&bytes));
        OpenClaw.recognises(Path::new("x.jsonl"), &bytes);
    }
}

fn fixture() -> String {
    fs::read_to_string(testdata("openclaw/2026.9.6/session.jsonl")).unwrap()
}

fn head(table: &str, columns: &[(&str, &str)]) -> Row {
    let columns = columns.iter().map(|(name, text)| (name.to_string(), Cell::Text(text.to_string()))).collect();
    Row { table: table.into(), key: String::new(), columns }
}

fn event(json: &str) -> Row {
    head("transcript_events", &[("event_json", json)])
}

/// Tests with sessions recorded from the real programs, which are too private and too large to be in the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_word_of_a_real_session_is_one_turn() {
        let samples = samples("openclaw/transcripts");
        let lines = fs::read_to_string(samples.join("session.jsonl")).unwrap();
        let mut decoder = OpenClaw.decoder(&Placement::default(), &[]);
        let mut turns = Vec::new();
        for line in lines.lines() {
            let decoded = decoder.line(line.as_bytes());
            check_decoded(&decoded);
            assert_eq!(decoded.reason, None);
            turns.extend(decoded.turns);
        }
        let said =
            |role, kind| -> Vec<&NewTurn> { turns.iter().filter(|t| t.role == role && t.kind == kind).collect() };
        let prompts: Vec<&str> = said(Role::User, TurnKind::Message).iter().map(|t| t.text.as_str()).collect();
        assert_eq!(
            prompts,
            [
                "local turn one @tool",
                "local turn two",
                "gw turn one @tool",
                "gw turn two plain",
                "gw turn three after compact",
                "gw big @big",
                "gw after big",
                "gw after new"
            ]
        );
        let replies = said(Role::Assistant, TurnKind::Message);
        assert_eq!(replies.len(), lines.matches("\"text\":\"FAKE-REPLY").count());
        assert_eq!(said(Role::System, TurnKind::CompactSummary).len(), 2);
        assert_eq!(said(Role::Assistant, TurnKind::ToolCall).len(), said(Role::Tool, TurnKind::ToolResult).len());
        // Every parent is a turn, and no two turns have the same parent: the real session has no branches.
        for pair in turns.windows(2) {
            assert_eq!(pair[1].parent, pair[0].entry);
        }

        // The session is read again from a database; shortened rows are quarantined, and all others have the same
        // turns.
        let samples = samples.join("sqlite");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("openclaw-agent.sqlite");
        let writer = build(&path, &samples, &["session_nodes", "session_windows", "transcript_events"]);
        let found = turns_of(&OpenClaw, &path, folder.path());
        let (aside, from_rows) = &found["3f8c01b3-34b3-4dc8-a6c3-c9456c7ed26f"];
        assert_eq!(*aside, 12);
        for turn in from_rows {
            assert!(
                turns.iter().any(|t| t.entry == turn.entry && t.text == turn.text && t.role == turn.role),
                "{turn:?}"
            );
        }
        let plan = plan_of(&writer, OpenClaw.foreign().unwrap().item_rows[0].sql);
        assert!(plan.contains("SEARCH"), "{plan}");
    }
}

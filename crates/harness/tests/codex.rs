//! Tests of the adapter for Codex rollouts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoded, Fact, NewTurn, Placement, RecordClass, Role, TurnKind};
use heirloom_harness::codex::Codex;
use heirloom_harness::{Form, Harness, HostPaths};
use serde_json::Value;

use crate::lines::{
    assert_never_panics, assert_reads, assert_splits_agree, decode, decode_file, fixture, lines, print_throughput,
    recorded,
};

const MAIN: &str = "codex/rollout-2026-11-20T11-00-00-0199aaaa-0000-7000-8000-000000000001.jsonl";
const LANE: &str = "codex/rollout-2026-11-20T11-00-05-0199aaaa-0000-7000-8000-000000000002.jsonl";
const OLDEST: &str = "codex/rollout-2025-05-07T17-24-21-0199aaaa-0000-7000-8000-000000000003.jsonl";

fn recordings() -> Vec<PathBuf> {
    recorded("harness/samples/codex/transcripts")
}

#[test]
fn reads_a_session() {
    assert_reads(&Codex, MAIN);
}

#[test]
fn reads_a_sub_agent_as_a_lane() {
    assert_reads(&Codex, LANE);
}

#[test]
fn reads_lines_without_an_envelope() {
    assert_reads(&Codex, OLDEST);
}

#[test]
fn reads_the_same_in_any_number_of_sittings() {
    for path in [MAIN, LANE, OLDEST].map(fixture) {
        assert_splits_agree(&Codex, &path);
    }
}

#[test]
fn never_panics() {
    for path in [MAIN, OLDEST].map(fixture) {
        assert_never_panics(&Codex, &path);
    }
}

#[test]
fn knows_its_places() {
    let host = HostPaths { home: "/home/ann".into(), ..HostPaths::default() };
    let roots = ["/home/ann/.codex/sessions", "/home/ann/.codex/archived_sessions"].map(PathBuf::from);
    assert_eq!(Codex.roots(&host), roots);
    let host = HostPaths { codex_home: Some("/x".into()), ..host };
    assert_eq!(Codex.roots(&host)[0], Path::new("/x/sessions"));
    assert_eq!(Codex.place(&fixture(LANE)).native, "0199aaaa-0000-7000-8000-000000000002");
    assert_eq!(Codex.place(Path::new("rollout-é.jsonl")).native, "rollout-é");
    assert_eq!(Codex.claims(&fixture(MAIN)), Some(Form::Lines));
    assert_eq!(Codex.claims(Path::new("/x/sessions/history.jsonl")), None);
    assert_eq!(Codex.resume("a b"), None);
    assert_eq!(Codex.resume("0199"), Some("codex resume 0199".into()));
}

#[test]
fn recognises_its_own_files_only() {
    for path in [MAIN, LANE, OLDEST].map(fixture) {
        recognises(&path);
    }
    assert!(Codex.recognises(Path::new("x"), b"{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{\"id"));
    assert!(!Codex.recognises(Path::new("x"), b"{\"session\":\"a\",\"text\":\"b\"}\n"));
    assert!(!Codex.recognises(Path::new("x"), b"{\"id\":\"a\",\"timestamp\":\"b\"}\n"));
}

/// Asserts that a file is recognised by its first 64 KiB.
fn recognises(path: &Path) {
    let head = std::fs::read(path).expect("a readable file");
    assert!(Codex.recognises(path, &head[..head.len().min(64 * 1024)]), "{}", path.display());
}

/// Returns the prompts and answers the program wrote, read without the decoder: those for the model, or those for its
/// user interface.
fn said(path: &Path, event: bool) -> HashMap<(String, String), usize> {
    let mut said = HashMap::new();
    for line in lines(path) {
        let record: Value = serde_json::from_slice(&line).expect("recorded sessions are JSON");
        let payload = &record["payload"];
        let (who, content) = if event {
            match payload["item"]["type"].as_str() {
                Some("UserMessage") => ("user", &payload["item"]["content"]),
                Some("AgentMessage") => ("assistant", &payload["item"]["content"]),
                _ => continue,
            }
        } else {
            if record["metadata"]["compaction_output"] == true {
                continue;
            }
            let Some(who @ ("user" | "assistant")) = payload["role"].as_str() else { continue };
            (who, &payload["content"])
        };
        for text in content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()) {
            *said.entry((who.to_owned(), text.to_owned())).or_default() += 1;
        }
    }
    said
}

fn one(line: &str) -> Decoded {
    decode(&Codex, &Placement::default(), &[line.as_bytes().to_vec()], |_| false).remove(0)
}

#[test]
fn a_picture_stays_with_its_prompt() {
    let line = r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[
        {"type":"input_image","image_url":"data:image/png;base64,AAAA"},{"type":"input_text","text":"what is this?"}]}}"#;
    let decoded = one(&line.replace('\n', ""));
    assert_eq!(decoded.turns.len(), 1);
    assert_eq!(decoded.turns[0].text, "what is this?\n[image]");
}

#[test]
fn pictures_and_mentions_do_not_part_a_prompt_from_its_echo() {
    let item = r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[
        {"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_image","image_url":"data:"},
        {"type":"input_text","text":"</image>"},{"type":"input_text","text":"use $sow"}]}}"#;
    let event = r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[
        {"type":"local_image","path":"/a.png"},{"type":"text","text":"use $sow"},{"type":"skill","name":"sow"}]}}}"#;
    for line in [item, event] {
        let texts: Vec<String> = one(&line.replace('\n', "")).turns.into_iter().map(|turn| turn.text).collect();
        assert_eq!(texts, ["use $sow\n[image]"]);
    }
}

#[test]
fn an_event_before_its_message_says_the_same_turn() {
    let lines = [
        r#"{"type":"session_meta","payload":{"id":"0199aaaa-0000-7000-8000-000000000009"}}"#,
        r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"r1"}}"#,
        r#"{"type":"event_msg","payload":{"type":"agent_message","message":"I look at the tests first."}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"I look at the tests first."}],"internal_chat_message_metadata_passthrough":{"turn_id":"r1"}}}"#,
    ];
    let lines: Vec<Vec<u8>> = lines.map(|line| line.as_bytes().to_vec()).into();
    let decoded = decode(&Codex, &Placement::default(), &lines, |_| false);
    let said: Vec<String> = decoded
        .iter()
        .flat_map(|d| &d.turns)
        .map(|t| {
            let entry = t.entry.as_deref().unwrap_or("-");
            format!("{:?} {entry} {:?} echo {} {}", t.role, t.run.as_deref(), t.echo, t.text)
        })
        .collect();
    assert_eq!(
        said,
        [
            "Assistant - Some(\"r1\") echo true I look at the tests first.",
            "Assistant r1/msg_1 Some(\"r1\") echo false I look at the tests first.",
        ]
    );
}

#[test]
fn what_cannot_be_read_is_set_aside_with_a_reason() {
    let reason = |line: &str| one(line).reason.expect("a reason");
    assert_eq!(reason(r#"{"type":"event_msg","payload":"x"}"#), "payload has an unexpected shape");
    assert_eq!(
        reason(r#"{"type":"response_item","payload":{"type":"message","role":"user","content":{}}}"#),
        "payload.content has an unexpected shape"
    );
    assert_eq!(one(r#"{"type":"hologram","payload":{}}"#).class, RecordClass::Unknown);
    assert_eq!(one("{}").class, RecordClass::Unknown);
}

#[test]
#[ignore = "measures; run with --release --nocapture"]
fn throughput() {
    print_throughput(&Codex, &recordings());
}

#[test]
fn ids_of_a_server_that_counts_from_one_do_not_meet() {
    // Assistant ids come from the model's server; a local server may give the same ids in every session.
    let answer = |run: &str| {
        let line = format!(
            r#"{{"timestamp":"2026-11-18T09:00:00Z","type":"response_item","payload":{{"type":"message","id":"msg_1","role":"assistant","content":[{{"type":"output_text","text":"Done."}}],"internal_chat_message_metadata_passthrough":{{"turn_id":"{run}"}}}}}}"#
        );
        Codex.decoder(&Placement::default(), &[]).line(line.as_bytes()).turns[0].entry.clone()
    };
    assert_eq!(answer("run-a"), answer("run-a"), "a copy keeps the turn it stands in");
    assert_ne!(answer("run-a"), answer("run-b"));
}

/// Tests with sessions recorded from the real programs, which are too private and too large to be in the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_file_is_recognised_never_panics_and_reads_the_same_in_any_number_of_sittings() {
        for path in recordings() {
            recognises(&path);
            assert_never_panics(&Codex, &path);
            assert_splits_agree(&Codex, &path);
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_prompt_and_answer_is_one_turn_and_one_echo() {
        for path in recordings() {
            for echo in [false, true] {
                let mut heard: HashMap<(String, String), usize> = HashMap::new();
                for turn in decode_file(&Codex, &path).into_iter().flat_map(|decoded| decoded.turns) {
                    if turn.echo == echo && matches!(turn.kind, TurnKind::Message | TurnKind::MachinePrompt) {
                        let who = if turn.role == Role::Assistant { "assistant" } else { "user" };
                        *heard.entry((who.to_owned(), turn.text)).or_default() += 1;
                    }
                }
                assert_eq!(heard, said(&path, echo), "{} echo={echo}", path.display());
            }
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn an_echo_can_be_matched_with_its_turn() {
        for path in recordings() {
            let turns: Vec<_> = decode_file(&Codex, &path).into_iter().flat_map(|decoded| decoded.turns).collect();
            for echo in turns.iter().filter(|turn| turn.echo) {
                let key = |turn: &NewTurn| (turn.role, turn.kind, turn.text.clone(), turn.run.clone());
                let same = |turn: &&NewTurn| !turn.echo && key(turn) == key(echo);
                assert_eq!(turns.iter().filter(same).count(), 1, "{}: {}", path.display(), echo.text);
            }
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn only_people_prompt() {
        for path in recordings() {
            let decoded = decode_file(&Codex, &path);
            let lane = decoded
                .iter()
                .flat_map(|d| &d.facts)
                .any(|f| matches!(f, Fact::Session { lane, .. } if !lane.is_empty()));
            let prompts = decoded.iter().flat_map(|d| &d.turns).filter(|turn| turn.role == Role::User && !turn.echo);
            let prompts: Vec<&str> = prompts.map(|turn| turn.text.as_str()).collect();
            assert_eq!(prompts.is_empty(), lane, "{}", path.display());
            assert!(prompts.iter().all(|text| !text.starts_with(['<', '#'])), "{prompts:?}");
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn records_fall_into_the_expected_classes() {
        let mut counts: HashMap<RecordClass, usize> = HashMap::new();
        let recordings = recordings();
        for decoded in recordings.iter().flat_map(|path| decode_file(&Codex, path)) {
            *counts.entry(decoded.class).or_default() += 1;
        }
        for absent in [RecordClass::Unknown, RecordClass::Quarantined, RecordClass::Blank] {
            assert_eq!(counts.get(&absent), None, "{absent:?}");
        }
        // The sessions have two compactions, each with the model's answer, the line itself, and the event.
        assert_eq!(counts[&RecordClass::Compaction], 6);
        assert_eq!(counts[&RecordClass::Attachment], 32);
        assert_eq!(counts[&RecordClass::Progress], 4);
    }
}

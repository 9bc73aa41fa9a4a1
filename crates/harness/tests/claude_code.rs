//! Tests of the adapter for Claude Code transcripts.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoded, Fact, Placement, RecordClass, Role, RunStatus, TurnKind};
use heirloom_harness::claude_code::ClaudeCode;
use heirloom_harness::{Form, Harness, HostPaths};
use serde_json::Value;

use crate::lines::{
    assert_never_panics, assert_reads, assert_splits_agree, decode, decode_file, fixture, lines, print_throughput,
    recorded,
};

const SESSION: &str = "6f1d2c3b-0a4e-4d5f-8b6a-1c2d3e4f5a6b";
const QUEUED: &str = "0b5c7d1e-2f3a-4b4c-8d5e-6f7a8b9c0d1e";

fn recordings() -> Vec<PathBuf> {
    [recorded("harness/samples/claude/transcripts"), recorded("transcripts/claude-code")].concat()
}

#[test]
fn reads_a_session() {
    assert_reads(&ClaudeCode, &format!("claude-code/{SESSION}.jsonl"));
}

#[test]
fn reads_prompts_typed_while_the_model_works() {
    assert_reads(&ClaudeCode, &format!("claude-code/{QUEUED}.jsonl"));
}

#[test]
fn reads_a_sub_agent_as_a_lane() {
    assert_reads(&ClaudeCode, &format!("claude-code/{SESSION}/subagents/agent-a1b2.jsonl"));
}

#[test]
fn reads_the_same_in_any_number_of_sittings() {
    for session in [SESSION, QUEUED] {
        assert_splits_agree(&ClaudeCode, &fixture(&format!("claude-code/{session}.jsonl")));
    }
}

#[test]
fn never_panics() {
    for session in [SESSION, QUEUED] {
        assert_never_panics(&ClaudeCode, &fixture(&format!("claude-code/{session}.jsonl")));
    }
}

#[test]
fn knows_its_places() {
    let host = HostPaths { home: "/home/ann".into(), ..HostPaths::default() };
    assert_eq!(ClaudeCode.roots(&host), [PathBuf::from("/home/ann/.claude/projects")]);
    let host = HostPaths { claude_config_dir: Some("/etc/claude".into()), ..host };
    assert_eq!(ClaudeCode.roots(&host), [PathBuf::from("/etc/claude/projects")]);
    let place = |path: &str| {
        let Placement { native, lane, .. } = ClaudeCode.place(Path::new(path));
        (native, lane)
    };
    assert_eq!(place("/p/abc.jsonl"), ("abc".into(), String::new()));
    assert_eq!(place("/p/abc/subagents/agent-x.jsonl"), ("abc".into(), "agent-x".into()));
    assert_eq!(place("/p/abc/subagents/workflows/w1/agent-x.jsonl"), ("abc".into(), "agent-x".into()));
    assert_eq!(place("/p/agent-x.jsonl"), ("agent-x".into(), "agent-x".into()));
    assert_eq!(ClaudeCode.claims(Path::new("/p/abc.jsonl")), Some(Form::Lines));
    assert_eq!(ClaudeCode.claims(Path::new("/p/abc/subagents/agent-x.meta.json")), None);
    assert_eq!(ClaudeCode.claims(Path::new("/p/abc/tool-results/b1.jsonl")), None);
    assert_eq!(ClaudeCode.resume(SESSION), Some(format!("claude --resume {SESSION}")));
    assert_eq!(ClaudeCode.resume("a; rm -rf /"), None);
}

#[test]
fn recognises_its_own_files_only() {
    for session in [SESSION, QUEUED] {
        recognises(&fixture(&format!("claude-code/{session}.jsonl")));
    }
    assert!(!ClaudeCode.recognises(Path::new("x"), b"{\"session\":\"a\",\"text\":\"b\"}\n"));
    assert!(!ClaudeCode.recognises(Path::new("x"), b"\xff\xfe{{{\n"));
}

/// Returns the prompts and answers the program wrote, read without the decoder.
fn said(path: &Path) -> HashMap<(Role, String), usize> {
    let mut said = HashMap::new();
    let lane = path.parent().is_some_and(|folder| folder.ends_with("subagents"));
    let mut queued = Value::Null;
    for line in lines(path) {
        let record: Value = serde_json::from_slice(&line).expect("recorded sessions are JSON");
        let (role, content) = match record["type"].as_str() {
            // In all recordings a waiting prompt is handed over before the next one is typed; if the record contains
            // its text, an attachment contains it as well.
            Some("queue-operation") if record["operation"] == "enqueue" => {
                queued = record["content"].clone();
                continue;
            }
            Some("queue-operation") if record["operation"] == "remove" && record["content"].is_null() => {
                (Role::User, &queued)
            }
            Some("user") => (Role::User, &record["message"]["content"]),
            Some("assistant") => (Role::Assistant, &record["message"]["content"]),
            Some("attachment") if record["attachment"]["type"] == "queued_command" => {
                (Role::User, &record["attachment"]["prompt"])
            }
            _ => continue,
        };
        let texts: Vec<&str> = match content {
            Value::String(text) => vec![text],
            Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect(),
            _ => vec![],
        };
        for text in texts.into_iter().filter(|text| !text.trim().is_empty()) {
            // In all recordings a prompt that begins with `<` or `[` was written by the program.
            let machine = record["isMeta"] == true || lane || text.starts_with(['<', '[']);
            let role =
                if role == Role::User && (machine || record["isCompactSummary"] == true) { Role::System } else { role };
            *said.entry((role, text.to_owned())).or_default() += 1;
        }
    }
    said
}

fn one(line: &str) -> Decoded {
    decode(&ClaudeCode, &Placement::default(), &[line.as_bytes().to_vec()], |_| false).remove(0)
}

/// Makes a record of the queue, `second` seconds after noon.
fn queue(operation: &str, second: usize, rest: &str) -> Vec<u8> {
    let time = format!("2026-11-20T12:00:{second:02}.000Z");
    format!(r#"{{"type":"queue-operation","operation":"{operation}","sessionId":"s","timestamp":"{time}"{rest}}}"#)
        .into_bytes()
}

fn enqueue(second: usize, text: &str) -> Vec<u8> {
    queue("enqueue", second, &format!(r#","content":{}"#, Value::from(text)))
}

fn line(text: &str) -> Vec<u8> {
    format!(r#"{{"type":"user","message":{{"content":{}}}}}"#, Value::from(text)).into_bytes()
}

/// Returns the prompts in a stream, with `=` before each that repeats another.
fn prompts(lines: &[Vec<u8>]) -> Vec<String> {
    let decoded = decode(&ClaudeCode, &ClaudeCode.place(Path::new("s.jsonl")), lines, |_| true);
    let turns = decoded.into_iter().flat_map(|decoded| decoded.turns).filter(|turn| turn.role == Role::User);
    turns.map(|turn| format!("{}{}", if turn.echo { "=" } else { "" }, turn.text)).collect()
}

#[test]
fn equal_prompts_handed_over_have_ids_of_their_own_and_keep_them() {
    let lines = [
        enqueue(1, "go on"),
        enqueue(1, "go on"),
        queue("remove", 2, ""),
        queue("remove", 2, ""),
        enqueue(3, "go on"),
        queue("remove", 4, ""),
    ];
    let ids = |lines: &[Vec<u8>]| -> Vec<String> {
        let decoded = decode(&ClaudeCode, &ClaudeCode.place(Path::new("s.jsonl")), lines, |_| false);
        decoded.into_iter().flat_map(|decoded| decoded.turns).filter_map(|turn| turn.entry).collect()
    };
    let whole = ids(&lines);
    assert_eq!(whole.iter().collect::<HashSet<_>>().len(), 3, "{whole:?}");
    assert_eq!(ids(&lines), whole);
    // If the record has the text, earlier records do not change the id.
    let told = queue("remove", 4, r#","content":"go on""#);
    assert_eq!(ids(&[told]), whole[2..]);
}

#[test]
fn what_left_the_queue_otherwise_is_not_handed_over() {
    let remove = || queue("remove", 9, "");
    // The line shows which prompt left the queue, whatever the order.
    assert_eq!(prompts(&[enqueue(1, "a"), enqueue(2, "b"), queue("dequeue", 3, ""), line("b"), remove()]), ["b", "a"]);
    // The announced line is none of the waiting prompts: the oldest was meant.
    assert_eq!(
        prompts(&[enqueue(1, "a"), enqueue(2, "b"), queue("dequeue", 3, ""), line("A, put well"), remove()]),
        ["A, put well", "b"]
    );
    assert_eq!(prompts(&[enqueue(1, "a"), queue("dequeue", 2, ""), remove(), line("a")]), ["a"]);
    assert_eq!(prompts(&[enqueue(1, "a"), queue("dequeue", 2, r#","content":"a""#), remove()]), [""; 0]);
    assert_eq!(prompts(&[enqueue(1, "a"), enqueue(2, "b"), queue("popAll", 3, ""), remove()]), [""; 0]);
    // A notification of the program left the queue, not a prompt.
    let note = "<task-notification>done</task-notification>";
    assert_eq!(prompts(&[enqueue(1, note), queue("dequeue", 2, ""), enqueue(3, "a"), line(note), remove()]), ["a"]);
    assert_eq!(prompts(&[enqueue(1, "a"), enqueue(2, note), queue("dequeue", 3, ""), line(note), remove()]), ["a"]);
    assert_eq!(prompts(&[queue("remove", 1, &format!(r#","content":"{note}""#))]), [""; 0]);
    let absorbed = r#","content":"b","reason":"absorbed_mid_turn""#;
    assert_eq!(prompts(&[enqueue(1, "a"), enqueue(2, "b"), queue("remove", 3, absorbed), remove()]), ["b", "a"]);
    let given_up = r#","content":"a","reason":"agent_stopped""#;
    assert_eq!(prompts(&[enqueue(1, "a"), queue("remove", 2, given_up), remove()]), [""; 0]);
}

#[test]
fn a_queue_of_other_shapes_loses_no_other_prompt() {
    let odd = [
        queue("remove", 1, ""),
        queue("dequeue", 1, ""),
        queue("popAll", 1, r#","content":[{}]"#),
        queue("enqueue", 1, r#","content":7"#),
        queue("enqueue", 1, r#","content":"\ud800""#),
        queue("shuffle", 1, r#","content":"no""#),
        br#"{"type":"queue-operation","operation":null}"#.to_vec(),
        br#"{"type":"queue-operation"}"#.to_vec(),
        queue("popAll", 2, ""),
        queue(
            "enqueue",
            3,
            r#","content":[{"type":"text","text":"in"},{"type":"image"},{"type":"text","text":"blocks"}]"#,
        ),
        br#"{"type":"queue-operation","operation":"remove","timestamp":8}"#.to_vec(),
    ];
    let decoded = decode(&ClaudeCode, &Placement::default(), &odd, |_| true);
    assert!(decoded[..10].iter().all(|decoded| decoded.class == RecordClass::Meta), "{decoded:?}");
    let turn = &decoded[10].turns[0];
    // Without a time the engine names the turn by its place.
    assert_eq!((turn.text.as_str(), turn.entry.as_deref()), ("in\nblocks", None));
    // No person types into a sub-agent.
    let lane = ClaudeCode.place(Path::new("s/subagents/agent-a.jsonl"));
    let decoded = decode(&ClaudeCode, &lane, &[enqueue(1, "a"), queue("remove", 2, "")], |_| true);
    assert!(decoded.iter().all(|decoded| decoded.turns.is_empty()), "{decoded:?}");
}

#[test]
fn what_waits_stays_small() {
    let long = |c: &str, length: usize| format!("do this first {} and this last", c.repeat(length / c.len()));
    for text in [long("x", 5_000_000), long("ä", 60_000), long("\u{1}\"", 60_000), long("\n", 60_000)] {
        let mut decoder = ClaudeCode.decoder(&Placement::default(), b"");
        for i in 0..5 {
            decoder.line(&enqueue(i, &text));
        }
        let state = decoder.state();
        assert!(state.len() < 48 * 1024, "{} bytes", state.len());
        let mut left: Vec<_> = (0..60).flat_map(|i| decoder.line(&queue("remove", i, "")).turns).collect();
        let newest = left.pop().expect("the newest kept its text");
        assert!(newest.text.starts_with("do this first ") && newest.text.ends_with(" and this last"), "cut elsewhere");
        assert!(newest.text.contains("bytes …]") && newest.text.len() <= 16 * 1024, "{}", newest.text.len());
        // If the record has the whole text, the turn has it, too.
        let told = queue("remove", 59, &format!(r#","content":{}"#, Value::from(text.as_str())));
        let turns = prompts(&[enqueue(1, &text), told]);
        assert!(turns == [text], "{} turns", turns.len());
    }
    // Of many short prompts the oldest are dropped.
    let mut lines: Vec<_> = (0..40).map(|i| enqueue(i, &format!("n{i}"))).collect();
    lines.extend((0..60).map(|i| queue("remove", i, "")));
    let told = prompts(&lines);
    assert_eq!((told.len(), told[0].as_str(), told[31].as_str()), (32, "n8", "n39"));
}

#[test]
fn goes_on_from_a_state_that_knew_no_queue() {
    let state = br#"{"settled":true,"cwd_told":true,"fork_told":false,"title_by_person":false,"version":"2.1.39","calls":[["c","Bash"]],"lanes":[],"passed_over":[]}"#;
    let mut decoder = ClaudeCode.decoder(&Placement::default(), state);
    assert!(decoder.line(&queue("remove", 1, "")).turns.is_empty(), "its text stood before the cursor");
    assert_eq!(decoder.line(&queue("remove", 2, r#","content":"and this""#)).turns[0].text, "and this");
    let result = br#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"ok"}]}}"#;
    assert_eq!(decoder.line(result).turns[0].tool.as_deref(), Some("Bash"), "the rest of the state counts");
    decoder.line(&enqueue(3, "now"));
    decoder.line(&enqueue(3, "then"));
    // A text that was emptied in the state makes no turn.
    let state = String::from_utf8(decoder.state()).expect("JSON").replace("now", "");
    let mut decoder = ClaudeCode.decoder(&Placement::default(), state.as_bytes());
    assert!(decoder.line(&queue("remove", 4, "")).turns.is_empty());
    assert_eq!(decoder.line(&queue("remove", 5, "")).turns[0].text, "then");
}

#[test]
fn an_interruption_ends_the_run() {
    let line = r#"{"type":"user","uuid":"u","message":{"content":"[Request interrupted by user for tool use]"}}"#;
    let decoded = one(line);
    assert_eq!((decoded.turns[0].role, decoded.turns[0].kind), (Role::System, TurnKind::MachinePrompt));
    assert!(matches!(decoded.facts[..], [Fact::RunEnd { status: RunStatus::Interrupted, .. }]), "{:?}", decoded.facts);
}

#[test]
fn an_unmarked_summary_is_no_prompt() {
    let text = "This session is being continued from a previous conversation that ran out of context. Beans.";
    let decoded = one(&format!(r#"{{"type":"user","message":{{"content":"{text}"}}}}"#));
    assert_eq!((decoded.class, decoded.turns[0].kind), (RecordClass::Compaction, TurnKind::CompactSummary));
}

/// Asserts that a file is recognised by all of its bytes and by its first 64 KiB.
fn recognises(path: &Path) {
    let head = std::fs::read(path).expect("a readable file");
    for len in [head.len(), head.len().min(64 * 1024)] {
        assert!(ClaudeCode.recognises(Path::new("x"), &head[..len]), "{} at {len}", path.display());
    }
}

#[test]
fn a_stream_without_a_uuid_takes_the_session_of_its_records() {
    let line = |session: &str| format!(r#"{{"type":"mode","sessionId":"{session}"}}"#).into_bytes();
    let place = ClaudeCode.place(Path::new("short.jsonl"));
    let decoded = decode(&ClaudeCode, &place, &[b"{}".to_vec(), line("one"), line("two")], |_| true);
    let facts: Vec<&Fact> = decoded.iter().flat_map(|decoded| &decoded.facts).collect();
    assert_eq!(facts, [&Fact::Session { native: "one".into(), lane: String::new(), parent_call: None }]);
}

#[test]
fn fields_of_other_types_lose_no_turn() {
    let line = "\u{feff}{\"type\":\"user\",\"uuid\":7,\"isMeta\":\"no\",\"timestamp\":{},\"cwd\":[1],\"toolUseResult\":\
                [\"\\ud800\"],\"message\":{\"id\":null,\"usage\":\"none\",\"content\":[3,{\"type\":\"text\",\"text\":\"hi\"}]}}\r";
    let turn = &one(line).turns[0];
    assert_eq!((turn.role, turn.text.as_str(), turn.entry.as_deref()), (Role::User, "hi", None));
}

#[test]
fn what_cannot_be_read_is_set_aside_with_a_reason() {
    let reason = |line: &str| one(line).reason.expect("a reason");
    assert_eq!(reason("{\"type\": }"), "not JSON: expected value at column 10");
    assert_eq!(reason(r#"{"type":"user"}"#), "message is missing");
    assert_eq!(reason(r#"{"type":"user","message":[]}"#), "message has an unexpected shape");
    assert_eq!(reason(r#"{"type":"user","message":{"content":1}}"#), "message.content has an unexpected shape");
    assert!(
        reason(r#"{"type":"user","message":{"content":"\ud800"}}"#).starts_with("message.content cannot be read: ")
    );
    let deep = format!(r#"{{"type":"user","message":{{"content":[{}1{}]}}}}"#, "[".repeat(900), "]".repeat(900));
    assert_eq!(reason(&deep), "a block of the message has no type");
    assert_eq!(reason(r#"{"type":"user","message":{"content":null}}"#), "message.content is missing");
    assert_eq!(
        reason(r#"{"type":"assistant","message":{"content":[{"type":"text","text":1.5}]}}"#),
        "a block of the message has no readable text"
    );
    assert_eq!(one(r#"{"kind":"user"}"#).class, RecordClass::Unknown);
}

#[test]
#[ignore = "measures; run with --release --nocapture"]
fn throughput() {
    print_throughput(&ClaudeCode, &recordings());
}

/// Tests with sessions recorded from the real programs, which are too private and too large to be in the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_file_is_recognised_never_panics_and_reads_the_same_in_any_number_of_sittings() {
        for path in recordings() {
            recognises(&path);
            assert_never_panics(&ClaudeCode, &path);
            assert_splits_agree(&ClaudeCode, &path);
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn a_session_is_named_before_its_first_turn() {
        for path in recordings() {
            let decoded = decode_file(&ClaudeCode, &path);
            let first_turn = decoded.iter().position(|d| !d.turns.is_empty()).unwrap_or(decoded.len());
            let named: Vec<usize> = (0..decoded.len())
                .filter(|i| decoded[*i].facts.iter().any(|fact| matches!(fact, Fact::Session { .. })))
                .collect();
            assert!(named.len() == 1 && named[0] <= first_turn, "{}: {named:?}", path.display());
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_prompt_and_answer_is_one_turn() {
        for path in recordings() {
            let mut heard: HashMap<(Role, String), usize> = HashMap::new();
            for turn in decode_file(&ClaudeCode, &path).into_iter().flat_map(|decoded| decoded.turns) {
                let spoken =
                    matches!(turn.kind, TurnKind::Message | TurnKind::MachinePrompt | TurnKind::CompactSummary);
                if spoken && !turn.echo {
                    *heard.entry((turn.role, turn.text)).or_default() += 1;
                }
            }
            assert_eq!(heard, said(&path), "{}", path.display());
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_call_meets_its_result() {
        for path in recordings() {
            let turns: Vec<_> = decode_file(&ClaudeCode, &path).into_iter().flat_map(|decoded| decoded.turns).collect();
            for result in turns.iter().filter(|turn| turn.kind == TurnKind::ToolResult) {
                let call = turns.iter().find(|turn| turn.kind == TurnKind::ToolCall && turn.call == result.call);
                let call = call.expect("a call for every result");
                assert_eq!(call.tool, result.tool, "{}", path.display());
            }
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_parent_is_a_turn() {
        for path in recordings() {
            let (mut records, mut turns) = (HashSet::new(), HashSet::new());
            for (line, decoded) in lines(&path).iter().zip(decode_file(&ClaudeCode, &path)) {
                for turn in decoded.turns {
                    // A fork, and the lane of a compaction, begin after a turn that only another file has; and a fork
                    // of a compacted session names a parent that comes after the record.
                    if let Some(parent) = turn.parent.filter(|parent| records.contains(parent)) {
                        assert!(turns.contains(&parent), "{}: {parent}", path.display());
                    }
                    turns.extend(turn.entry);
                }
                let record: Value = serde_json::from_slice(line).expect("recorded sessions are JSON");
                records.extend(record["uuid"].as_str().map(str::to_owned));
            }
        }
    }

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn records_fall_into_the_expected_classes() {
        let mut counts: HashMap<RecordClass, usize> = HashMap::new();
        let recordings = recordings();
        for decoded in recordings.iter().flat_map(|path| decode_file(&ClaudeCode, path)) {
            *counts.entry(decoded.class).or_default() += 1;
        }
        for absent in [RecordClass::Unknown, RecordClass::Quarantined, RecordClass::Blank] {
            assert_eq!(counts.get(&absent), None, "{absent:?}");
        }
        assert_eq!(counts[&RecordClass::Compaction], 10);
        assert_eq!(counts[&RecordClass::Progress], 1_348);
        assert_eq!(counts[&RecordClass::Blob], 50);
    }
}

//! Tests of the plain line format.

use std::path::Path;

use heirloom_engine::event::{Placement, RecordClass};
use heirloom_harness::turns::Turns;
use heirloom_harness::{Harness, HostPaths};

use crate::lines::{assert_never_panics, assert_reads, assert_splits_agree, decode, fixture};

#[test]
fn reads_conversations_of_any_kind() {
    assert_reads(&Turns, "turns/mixed.jsonl");
}

#[test]
fn reads_the_same_in_any_number_of_sittings() {
    assert_splits_agree(&Turns, &fixture("turns/mixed.jsonl"));
}

#[test]
fn never_panics() {
    assert_never_panics(&Turns, &fixture("turns/mixed.jsonl"));
}

#[test]
fn recognises_its_own_lines_only() {
    let path = Path::new("notes.jsonl");
    assert!(Turns.recognises(path, b"{\"session\":\"a\",\"text\":\"\"}\n{\"sess"));
    assert!(!Turns.recognises(path, b"{\"session\":7,\"text\":\"b\"}\n"));
    assert!(!Turns.recognises(path, b"{\"type\":\"session_meta\",\"payload\":{}}\n"));
    assert!(!Turns.recognises(path, b""));
    assert!(Turns.roots(&HostPaths::default()).is_empty());
    assert_eq!(Turns.claims(path), None);
    assert_eq!(Turns.resume("a"), None);
    assert_eq!(Turns.place(path), Placement { native: "notes".into(), ..Placement::default() });
}

#[test]
fn says_why_a_line_is_set_aside() {
    let reasons = |line: &[u8]| {
        let decoded = decode(&Turns, &Placement::default(), &[line.to_vec()], |_| false).remove(0);
        assert_eq!(decoded.class, RecordClass::Quarantined);
        decoded.reason.expect("a reason")
    };
    assert_eq!(reasons(b"hello"), "not JSON: expected value at column 1");
    assert_eq!(reasons(b"{\"session\":\"a\xff\"}"), "not valid UTF-8 at byte 13");
    assert_eq!(reasons(b"[]"), "not a JSON object");
    assert_eq!(reasons(b"{\"text\":\"a\"}"), "session is missing");
    assert!(reasons(b"{\"session\":\"a\",\"text\":\"\\ud800\"}").starts_with("not JSON: "));
    assert!(reasons(format!("{{\"session\":{}", "[".repeat(100_000)).as_bytes()).starts_with("not JSON: "));
}

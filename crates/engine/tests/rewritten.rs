//! A rewritten file: it begins a new generation, the old one is kept, and no turn is stored twice.

use heirloom_engine::transcript::prepare::digest;

use crate::world::{World, said};

fn three() -> String {
    said("a", "user", "one") + &said("b", "assistant", "two") + &said("c", "user", "three")
}

/// Imports a file, replaces it by another one and imports it again: both generations can be exported.
fn check(before: &str, after: &str, expect: &str) {
    let world = World::new();
    world.write("s.jsonl", before);
    world.import(&["s.jsonl"]);
    std::fs::remove_file(world.path("s.jsonl")).unwrap();
    world.write("s.jsonl", after);
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!(totals.rewritten, 1);
    world.assert_kept("s.jsonl");
    assert_eq!(String::from_utf8(world.export_generation("s.jsonl", 0)).unwrap(), before);
    let turns: Vec<String> = world
        .dump()
        .lines()
        .filter(|l| l.starts_with("  ") && !l.starts_with("  run"))
        .map(|l| l.trim().to_owned() + "\n")
        .collect();
    assert_eq!(turns.concat() + &world.quarantine(), expect);
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.sources_unchanged, totals.records), (1, 0));
}

#[test]
fn an_earlier_line_rewritten_in_place_is_a_revision() {
    check(
        &three(),
        &three().replace("one", "ONE"),
        "a user message run 0 \"one\"\n\
         b witnesses 1 assistant message run 0 \"two\"\n\
         c witnesses 1 user message run 1 \"three\"\n\
         a revision 1 user message run 2 \"ONE\"\n",
    );
}

#[test]
fn an_earlier_line_rewritten_longer_is_a_revision() {
    check(
        &three(),
        &three().replace("two", "quite another answer"),
        "a witnesses 1 user message run 0 \"one\"\n\
         b assistant message run 0 \"two\"\n\
         c witnesses 1 user message run 1 \"three\"\n\
         b revision 1 assistant message run 1 \"quite another answer\"\n",
    );
}

#[test]
fn a_truncated_file_keeps_what_was_cut_off() {
    check(
        &three(),
        &said("a", "user", "one"),
        "a witnesses 1 user message run 0 \"one\"\n\
         b assistant message run 0 \"two\"\n\
         c user message run 1 \"three\"\n",
    );
    check(&said("a", "user", "one"), "", "a user message run 0 \"one\"\n");
}

#[test]
fn a_file_replaced_by_another_one_keeps_both() {
    check(
        &three(),
        &said("x", "user", "something else"),
        "a user message run 0 \"one\"\n\
         b assistant message run 0 \"two\"\n\
         c user message run 1 \"three\"\n\
         x user message run 2 \"something else\"\n",
    );
}

#[test]
fn the_unterminated_end_of_the_old_file_becomes_its_last_record() {
    check(
        &(said("a", "user", "one") + "{\"id\":\"b\",\"role\":\"as"),
        &(said("a", "user", "one") + &said("c", "assistant", "another end")),
        "a witnesses 1 user message run 0 \"one\"\n\
         c assistant message run 0 \"another end\"\n\
         quarantine s.jsonl line 2 byte 38: unterminated when the file was rewritten\n",
    );
}

#[test]
fn a_file_of_nothing_but_an_unterminated_end_is_kept_too() {
    check(
        "{\"id\":\"b\",\"role\":\"as",
        &said("a", "user", "one"),
        "a user message run 0 \"one\"\n\
         quarantine s.jsonl line 1 byte 0: unterminated when the file was rewritten\n",
    );
}

#[test]
fn a_file_copied_away_cut_to_nothing_and_regrown_past_its_old_length_is_noticed() {
    let world = World::new();
    world.write("s.jsonl", three());
    world.import(&["s.jsonl"]);
    // The same inode is truncated and grows again before the next import.
    let second: String = (0..20).map(|i| said(&format!("n{i}"), "user", "new words")).collect();
    world.write("s.jsonl", &second);
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(String::from_utf8(world.export_generation("s.jsonl", 0)).unwrap(), three());
    assert_eq!(world.texts("s").len(), 23);
    // The same again, with an import while the file is empty.
    world.write("s.jsonl", "");
    world.import(&["s.jsonl"]);
    world.add("s.jsonl", three());
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(world.stream("s.jsonl").generation, 2);
    assert_eq!(world.texts("s").len(), 23);
}

#[test]
fn a_deleted_file_stays_in_the_ledger_and_its_return_is_known() {
    let world = World::new();
    world.write("s.jsonl", three());
    world.import(&["s.jsonl"]);
    std::fs::remove_file(world.path("s.jsonl")).unwrap();
    let (totals, problems) = world.import(&["s.jsonl"]);
    assert_eq!((totals.sources_failed, problems.len()), (1, 1));
    assert_eq!(world.texts("s"), ["one", "two", "three"]);
    world.write("s.jsonl", three() + &said("d", "assistant", "four"));
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.records, totals.rewritten), (1, 0));
    world.assert_kept("s.jsonl");
}

#[test]
fn echoes_of_a_rewritten_file_still_find_their_turns() {
    let lines = |first: &str| {
        format!(
            "{}{}{}{}{}",
            said("p", "user", first),
            r#"{"id":"a","role":"assistant","run":"r","text":"ok"}"#.to_owned() + "\n",
            r#"{"role":"assistant","run":"r","text":"ok","echo":true}"#.to_owned() + "\n",
            r#"{"id":"b","role":"assistant","run":"r","text":"ok"}"#.to_owned() + "\n",
            r#"{"role":"assistant","run":"r","text":"ok","echo":true}"#.to_owned() + "\n",
        )
    };
    check(
        &lines("one"),
        &lines("another one"),
        "p user message run 0 \"one\"\n\
         a witnesses 3 assistant message run 1 \"ok\"\n\
         b witnesses 3 assistant message run 1 \"ok\"\n\
         p revision 1 user message run 2 \"another one\"\n",
    );
}

/// A private span that is open where the old file and the new one part belongs to the old one: the new file is masked
/// from its own beginning.
#[test]
fn an_open_span_does_not_reach_into_the_new_file() {
    let part = |id: &str, text: &str| {
        serde_json::json!({"id": id, "role": "assistant", "message": "m", "text": text}).to_string() + "\n"
    };
    let world = World::new();
    world.write("s.jsonl", part("a", "shown <private>hidden") + &part("b", "hidden, too"));
    world.import(&["s.jsonl"]);
    std::fs::remove_file(world.path("s.jsonl")).unwrap();
    world.write("s.jsonl", part("a", "shown <private>hidden") + &part("b", "hidden, and longer than before"));
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!(totals.rewritten, 1);
    // The first part is the same as before; of the second there are two versions.
    assert_eq!(world.count("SELECT count(*) FROM turns"), 3, "{:?}", world.texts("s"));
    assert_eq!(world.texts("s").iter().filter(|text| text.starts_with("shown <private>")).count(), 1);
    assert_eq!(world.findings(), Vec::<String>::new());
}

/// A record that an earlier build stored with its private span is still the same as in the file.
#[test]
fn a_record_from_before_spans_were_masked_is_no_rewrite() {
    let world = World::new();
    let line = said("a", "user", "shown <private>hidden</private>");
    world.write("s.jsonl", &line);
    world.import(&["s.jsonl"]);
    let db = world.sql();
    let key: Vec<u8> = db.query_row("SELECT key FROM records", [], |r| r.get(0)).unwrap();
    let stored = digest(&key, line.as_bytes());
    assert_eq!(db.execute("UPDATE records SET digest = ?1", [stored]).unwrap(), 1);
    world.add("s.jsonl", said("b", "assistant", "more"));
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.rewritten, totals.records), (0, 1));
}

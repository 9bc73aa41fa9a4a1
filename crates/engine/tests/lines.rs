//! A file of lines with any content: every byte is kept, damaged lines are set aside with their place, and the next
//! good line is always stored.

use heirloom_testkit::{MUTATIONS, Rng, mutate_with};

use crate::world::{LATER, RACY, World, said};

const AFTER: &str = "{\"id\":\"z\",\"role\":\"user\",\"text\":\"the line after\"}\n";

/// Imports a line followed by a good one; the export equals the file, and the good line is a turn.
fn check(line: &[u8], quarantine: &str) {
    let world = World::new();
    let mut bytes = said("a", "user", "the line before").into_bytes();
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
    bytes.extend_from_slice(AFTER.as_bytes());
    world.write("s.jsonl", &bytes);
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(world.texts("s").last().map(String::as_str), Some("the line after"));
    assert_eq!(world.quarantine(), quarantine, "{}", String::from_utf8_lossy(&line[..line.len().min(80)]));
}

#[test]
fn broken_lines_are_set_aside_and_the_rest_comes_in() {
    check(b"{\"id\":", "quarantine s.jsonl line 2 byte 50: not JSON\n");
    check(b"\xff\xfe{}", "quarantine s.jsonl line 2 byte 50: not JSON\n");
    check(b"{\"text\":\"\xff\"}", "quarantine s.jsonl line 2 byte 50: not JSON\n");
    check(b"{}\0", "quarantine s.jsonl line 2 byte 50: not JSON\n");
    check(b"\0\0\0\0", "quarantine s.jsonl line 2 byte 50: not JSON\n");
    check(b"\xef\xbb\xbf{}", "quarantine s.jsonl line 2 byte 50: not JSON\n");
    check(b"{\"n\":1e400}", "quarantine s.jsonl line 2 byte 50: not JSON\n");
    check("[".repeat(100_000).as_bytes(), "quarantine s.jsonl line 2 byte 50: not JSON\n");
    check(
        format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes(),
        "quarantine s.jsonl line 2 byte 50: not JSON\n",
    );
    check(b"[]", "quarantine s.jsonl line 2 byte 50: not an object\n");
}

#[test]
fn blank_and_foreign_lines_are_kept_and_make_no_turn() {
    check(b"", "");
    check(b" \t ", "");
    check(b"\r", "");
    check(b"{\"unknown\":true}\r", "");
    check(b"{}", "");
}

#[test]
fn every_mutation_of_a_line_comes_out_as_it_went_in() {
    let mut rng = Rng::new(4711);
    let (world, mut all) = (World::new(), Vec::new());
    for round in 0..20 {
        for which in 0..MUTATIONS.len() {
            let line = said(&format!("{round}-{which}"), "user", "some words to be broken in several ways");
            all.extend(mutate_with(which, line.trim_end().as_bytes(), &mut rng));
            all.push(b'\n');
            all.extend(said(&format!("after {round}-{which}"), "assistant", "kept").as_bytes());
        }
    }
    world.write("s.jsonl", &all);
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    let kept = world.texts("s").into_iter().filter(|t| t == "kept").count();
    assert_eq!(kept, 20 * MUTATIONS.len());
}

#[test]
fn a_line_longer_than_the_limit_is_kept_in_pieces_and_the_next_one_comes_in() {
    let world = World::new();
    let mut bytes = said("a", "user", "before").into_bytes();
    bytes.resize(bytes.len() + (33 << 20), b'x');
    world.write("s.jsonl", &bytes);
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    world.add("s.jsonl", format!("yz\n{AFTER}nonsense\n"));
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(world.texts("s"), ["before", "the line after"]);
    assert_eq!(
        world.quarantine(),
        "quarantine s.jsonl line 2 byte 41: the line is longer than 32 MiB; its bytes are kept, it is not decoded\n\
         quarantine s.jsonl line 2 byte 33554473: continues a line that is longer than 32 MiB, or whose beginning was forgotten; it is not decoded\n\
         quarantine s.jsonl line 4 byte 34603101: not JSON\n"
    );
}

#[test]
fn an_unterminated_line_counts_once_it_parses_whole() {
    let world = World::new();
    let (line, next) = (said("a", "user", "one"), said("b", "assistant", "two"));
    world.write("s.jsonl", &line[..20]);
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(world.streams(), "stream s.jsonl generation 0 next 0 line 0 pending\n");
    world.write("s.jsonl", line.trim_end());
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(world.texts("s"), ["one"]);
    world.write("s.jsonl", format!("{line}{next}"));
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(world.texts("s"), ["one", "two"]);
    assert_eq!(world.streams(), "stream s.jsonl generation 0 next 81 line 2\n");
}

/// Returns a file with all kinds of lines.
fn motley() -> Vec<u8> {
    let mut rng = Rng::new(7);
    let mut out = b"{\"fact\":\"title\",\"value\":\"A title\"}\n".to_vec();
    for i in 0..14 {
        let role = ["user", "assistant"][i % 2];
        let extra = match i % 5 {
            1 => r#","usage":[10,3],"message":"m1""#,
            2 => r#","more":["é second part","third 日本"]"#,
            3 => r#","kind":"tool-call","tool":"bash","call":"c9""#,
            _ => "",
        };
        let at = crate::world::NOON + i as i64 * 1000;
        out.extend(
            format!(r#"{{"id":"e{i}","role":"{role}","text":"words of number {i} ü","at":{at}{extra}}}"#).bytes(),
        );
        out.extend_from_slice(rng.pick::<&[u8]>(&[b"\n", b"\r\n", b"\n\n", b"\n  \n"]));
        match i % 4 {
            0 => out.extend_from_slice(b"{\"broken\": \n"),
            1 => out.extend_from_slice(b"\xff\xfe\0\n"),
            2 => out.extend_from_slice(b"{\"fact\":\"model\",\"value\":\"m\"}\n"),
            _ => {}
        }
        // A turn without an id of its own.
        out.extend(format!("{{\"role\":\"{role}\",\"text\":\"ok\"}}\n").bytes());
    }
    out
}

#[test]
fn a_file_cut_at_any_byte_and_completed_is_the_same_as_one_reading() {
    let whole = motley();
    assert!((1500..3500).contains(&whole.len()), "{}", whole.len());
    let expected = {
        let world = World::new();
        world.write("s.jsonl", &whole);
        world.import(&["s.jsonl"]);
        world.assert_kept("s.jsonl");
        world.dump()
    };
    // All cuts share one ledger: each is a file and a session of its own.
    let world = World::new();
    let names: Vec<String> = (1..whole.len()).map(|cut| format!("s{cut}.jsonl")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (i, name) in names.iter().enumerate() {
        world.write(name, &whole[..i + 1]);
    }
    world.import(&names);
    for (i, name) in names.iter().enumerate() {
        assert!(i % 7 > 0 || world.export(name) == whole[..i + 1], "cut at {}", i + 1);
        world.add(name, &whole[i + 1..]);
    }
    world.import(&names);
    for (i, name) in names.iter().enumerate() {
        assert!(i % 7 > 0 || world.export(name) == whole, "cut at {}", i + 1);
    }
    let mut stories: Vec<String> = vec![String::new(); whole.len()];
    let dump = world.dump();
    let mut of = 0;
    for line in dump.lines() {
        let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        if let Some(rest) = line.strip_prefix("session little:s").or(line.strip_prefix("quarantine s")) {
            of = number(rest).parse().unwrap();
        }
        let (session, file) = (format!("little:s{of} "), format!("quarantine s{of}."));
        stories[of] += &(line.replace(&session, "little:s ").replace(&file, "quarantine s.") + "\n");
    }
    for (cut, story) in stories.iter().enumerate().skip(1) {
        let (was, should): (Vec<_>, Vec<_>) = (story.lines().collect(), expected.lines().collect());
        let differs = was.iter().zip(&should).find(|(a, b)| a != b);
        assert!(differs.is_none() && was.len() == should.len(), "cut at {cut}: {differs:?}");
    }
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn a_second_reading_of_an_unchanged_file_writes_nothing() {
    let world = World::new();
    world.write("s.jsonl", said("a", "user", "one") + "{\"half");
    world.import(&["s.jsonl"]);
    let rows = world.audit_rows();
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.sources_unchanged, world.audit_rows()), (1, rows));
    world.assert_kept("s.jsonl");
}

#[test]
fn a_stat_that_proves_nothing_leads_to_no_duplicate_and_no_write() {
    let world = World::at(RACY);
    world.write("s.jsonl", said("a", "user", "one") + "{\"half");
    world.import(&["s.jsonl"]);
    let (rows, dump) = (world.audit_rows(), world.dump());
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.sources_unchanged, totals.records, world.audit_rows()), (1, 0, rows));
    assert_eq!(world.dump(), dump);
    let world = world.reopened(LATER);
    world.import(&["s.jsonl"]);
    assert_eq!((world.audit_rows(), world.dump()), (rows + 1, dump), "now the stat is a proof and is remembered");
    world.import(&["s.jsonl"]);
    assert_eq!(world.audit_rows(), rows + 1);
}

#[test]
fn an_appended_file_gives_only_its_new_records() {
    let world = World::new();
    world.write("s.jsonl", said("a", "user", "one"));
    world.import(&["s.jsonl"]);
    world.add("s.jsonl", said("b", "assistant", "two"));
    let (totals, _) = world.import(&["s.jsonl"]);
    assert_eq!((totals.records, totals.turns, totals.witnesses, totals.rewritten), (1, 1, 0, 0));
    world.assert_kept("s.jsonl");
}

#[test]
fn an_empty_file_and_a_missing_one_leave_no_trace() {
    let world = World::new();
    world.write("s.jsonl", "");
    let (totals, problems) = world.import(&["s.jsonl", "gone.jsonl"]);
    assert_eq!((totals.sources_unchanged, totals.sources_failed, problems.len()), (1, 1, 1));
    assert_eq!(world.audit_rows(), 0);
}

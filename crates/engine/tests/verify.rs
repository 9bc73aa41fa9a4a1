//! Verify names damage, and reports nothing else.

use rusqlite::Connection;

use crate::world::{Little, World, said};

fn healthy() -> World {
    let world = World::new();
    for file in 0..3 {
        let lines: String = (0..5).map(|i| said(&format!("e{i}"), "user", &format!("words {file} {i}"))).collect();
        world.write(&format!("s{file}.jsonl"), lines + "broken\n{\"half");
        world.import(&[&format!("s{file}.jsonl")]);
    }
    assert_eq!(world.findings(), Vec::<String>::new());
    world
}

/// Damages a sound ledger and checks for these findings.
fn check(breaking: &str, expect: &[&str]) {
    let world = healthy();
    let conn = Connection::open(world.ledger.path()).unwrap();
    conn.execute_batch(&format!("PRAGMA foreign_keys = OFF; {breaking}")).unwrap();
    let findings = world.findings();
    for part in expect {
        assert!(findings.iter().any(|f| f.contains(part)), "{breaking}: {part:?} is not in {findings:#?}");
    }
}

#[test]
fn damage_is_named() {
    check(
        "UPDATE blocks SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB) WHERE block_no = 2",
        &["block 2"],
    );
    check("UPDATE blocks SET raw_length = raw_length - 1 WHERE block_no = 1", &["block 1"]);
    check("UPDATE blocks SET raw_length = raw_length + 1 WHERE block_no = 1", &["block 1"]);
    // A length nobody has the memory for is refused before any is reserved.
    check("UPDATE blocks SET raw_length = 1 << 50 WHERE block_no = 1", &["block 1"]);
    check(
        "DELETE FROM blocks WHERE block_no = 3",
        &["block 3: block 3 is missing", "s2.jsonl, byte 0): its bytes cannot be read"],
    );
    check(
        "UPDATE records SET digest = zeroblob(16) WHERE record_no = 2",
        &[
            "s0.jsonl, byte 45): its bytes are not what was stored",
            "audit row 1: records 1 to 6 are not those it recorded",
        ],
    );
    check(
        "UPDATE records SET forgotten = 1, key = x'' WHERE record_no = 2; UPDATE turns SET forgotten = 1 WHERE turn_no = 4",
        &[
            "s0.jsonl, byte 45): it was forgotten and something of it is left",
            "turn t4: it was forgotten and something of it is left",
        ],
    );
    check("DELETE FROM records WHERE record_no = 3", &["belong to no record", "audit row 1: records 1 to 6"]);
    check(
        "DELETE FROM records WHERE stream_no = 2",
        &["s1.jsonl: the cursor stands at", "records 7 to 12 are not those"],
    );
    check("UPDATE streams SET next = next - 1 WHERE stream_no = 2", &["s1.jsonl: the cursor stands at"]);
    check("UPDATE streams SET pending = x'00' WHERE stream_no = 2", &["s1.jsonl: pending bytes"]);
    check(
        "UPDATE turns SET session_no = 99 WHERE turn_no = 1",
        &["turns: 1 rows refer to rows of sessions that do not exist"],
    );
    check(
        "UPDATE turns SET session_no = 2, entry = 'moved' WHERE turn_no = 1",
        &["1 turns stand in a lane of another session"],
    );
    check("UPDATE turns SET record_no = 999 WHERE turn_no = 2", &["turns: 1 rows refer to rows of records"]);
    check("UPDATE turns SET text_length = 1 << 40 WHERE turn_no = 2", &["turn t2: its text cannot be read"]);
    check(
        "DROP TRIGGER audit_is_append_only_delete; DELETE FROM audit WHERE audit_no = 3",
        &["6 records are in no audit row", "they are not those audit row 2 noted"],
    );
    check("UPDATE seals SET sum = zeroblob(16) WHERE name = '' AND part = 1", &["they do not add up"]);
    check("DELETE FROM seals", &["they are gone"]);
    check(
        "DROP TRIGGER audit_is_append_only_update; UPDATE audit SET at = at + 1 WHERE audit_no = 1",
        &["audit row 1 was changed"],
    );
    check(
        "INSERT INTO records SELECT 99, stream_no, generation, 9999, length, class, block_no, block_offset, key, digest, NULL FROM records WHERE record_no = 1",
        &["1 records are in no audit row"],
    );
}

#[test]
fn a_flipped_byte_in_any_record_is_found() {
    let world = healthy();
    let conn = world.sql();
    let (no, data): (i64, Vec<u8>) =
        conn.query_row("SELECT block_no, data FROM blocks LIMIT 1", [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
    let raw: i64 = conn.query_row("SELECT raw_length FROM blocks WHERE block_no = ?1", [no], |r| r.get(0)).unwrap();
    for at in 0..data.len() {
        let mut broken = data.clone();
        broken[at] ^= 0x10;
        // A flip that does not change the decompressed bytes has no effect and need not be found.
        let harmless = zstd::bulk::decompress(&broken, raw as usize)
            .is_ok_and(|now| zstd::bulk::decompress(&data, raw as usize).is_ok_and(|then| now == then));
        conn.execute("UPDATE blocks SET data = ?2 WHERE block_no = ?1", rusqlite::params![no, broken]).unwrap();
        assert_ne!(world.findings().is_empty(), !harmless, "byte {at}");
    }
}

#[test]
fn an_index_that_does_not_fit_is_stale_and_no_damage() {
    let world = healthy();
    let index = world.caught_up();
    assert_eq!(world.findings_with(Some(&index)), Vec::<String>::new());
    let conn = Connection::open(world.path("index.db")).unwrap();
    conn.execute("UPDATE meta SET value = '99' WHERE key = 'rows'", []).unwrap();
    conn.execute("UPDATE meta SET value = '999' WHERE key = 'watermark'", []).unwrap();
    assert_eq!(
        world.findings_with(Some(&index)),
        [
            "Stale index: the index counts 99 rows and has 15; heirloom reindex makes it anew",
            "Stale index: the index is ahead of the ledger; heirloom reindex makes it anew"
        ]
    );
}

#[test]
fn an_index_without_its_count_hides_no_damage_of_the_ledger() {
    let world = healthy();
    let index = world.caught_up();
    let conn = Connection::open(world.path("index.db")).unwrap();
    conn.execute("DELETE FROM meta WHERE key = 'watermark'", []).unwrap();
    let stale = "Stale index: the index has lost count; heirloom reindex makes it anew";
    assert_eq!(world.findings_with(Some(&index)), [stale]);
    let rows = "UPDATE turns SET session_no = 2, entry = 'moved' WHERE turn_no = 1";
    world.sql().execute_batch(&format!("PRAGMA foreign_keys = OFF; {rows}")).unwrap();
    let findings = world.findings_with(Some(&index));
    assert!(findings.iter().any(|f| f.contains("1 turns stand in a lane of another session")), "{findings:?}");
    assert!(findings.iter().any(|f| f == stale), "{findings:?}");
    conn.execute("DELETE FROM meta", []).unwrap();
    assert!(world.findings_with(Some(&index)).iter().any(|f| f == stale));
}

/// Texts and rows are well formed and yet differ from what was stored: the record they came from shows it.
#[test]
fn what_is_said_is_compared_with_its_record() {
    const SWAPPED: &str = "UPDATE turns SET text_offset = other.text_offset FROM
        (SELECT a.turn_no AS n, b.text_offset FROM turns a JOIN turns b ON a.turn_no + b.turn_no = 5
         WHERE a.turn_no IN (2, 3)) other WHERE turn_no = other.n";
    let told = "turn t2: its words are not those of its record (record 2)";
    check(SWAPPED, &["Damaged", told, "turn t3: its words are not those"]);
    check(
        "UPDATE turns SET role = 1 WHERE turn_no = 2",
        &["turn t2: it is of the role assistant, its record says user"],
    );
    check("UPDATE turns SET kind = 1 WHERE turn_no = 2", &["turn t2: it is a thinking, its record says message"]);
    check("UPDATE turns SET failed = 1 WHERE turn_no = 2", &["turn t2: it counts as failed, its record says nothing"]);
    check("UPDATE turns SET entry = 'other' WHERE turn_no = 2", &["turn t2: its record says no such thing"]);
    check("UPDATE turns SET call = 'c' WHERE turn_no = 2", &["turn t2: its call is not that of its record"]);
    check(
        "INSERT INTO names (name) VALUES ('Eve'); UPDATE turns SET speaker_no = last_insert_rowid() WHERE turn_no = 2",
        &["turn t2: its speaker is not that of its record"],
    );
    check(
        "DELETE FROM provisional_turns; DELETE FROM turns WHERE turn_no = 2",
        &["record 2: what it says is in no turn"],
    );
    check("DELETE FROM quarantine", &["records were set aside and nothing says why"]);
}

/// A difference is not damage if another version of the decoder stored the record.
#[test]
fn what_another_build_decoded_is_stale_at_most() {
    struct Newer(Little);
    impl heirloom_engine::program::Program for Newer {
        fn name(&self) -> &'static str {
            self.0.name()
        }
        fn title(&self) -> &'static str {
            self.0.title()
        }
        fn global_ids(&self) -> bool {
            self.0.global_ids()
        }
        fn roots(&self) -> Vec<std::path::PathBuf> {
            Vec::new()
        }
        fn form(&self, path: &std::path::Path) -> Option<heirloom_engine::program::Form> {
            self.0.form(path)
        }
        fn place(&self, path: &std::path::Path) -> heirloom_engine::event::Placement {
            self.0.place(path)
        }
        fn decoder(
            &self,
            placement: &heirloom_engine::event::Placement,
            state: &[u8],
        ) -> Box<dyn heirloom_engine::event::Decoder> {
            self.0.decoder(placement, state)
        }
        fn decoding(&self) -> u32 {
            2
        }
    }
    let world = healthy();
    world.sql().execute("UPDATE turns SET role = 1 WHERE turn_no = 2", []).unwrap();
    let mut report = heirloom_engine::verify::Report::default();
    let newer = Newer(Little { global_ids: false });
    heirloom_engine::verify::said(&world.ledger, &[std::sync::Arc::new(newer)], &mut report).unwrap();
    let found: Vec<_> = report.findings.iter().map(|f| format!("{:?} {}: {}", f.severity, f.subject, f.what)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("Stale turn t2: it is of the role assistant"), "{found:?}");
    assert!(found[0].contains("decodes The little program otherwise"), "{found:?}");
}

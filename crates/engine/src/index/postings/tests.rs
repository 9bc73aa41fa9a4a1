//! Compares the reader with FTS5 itself, on random tables.

use proptest::prelude::*;

use super::check::{TRIED, add, fits, reads, reported, small_table_reads_alike, table};

/// One transaction on a table.
#[derive(Clone, Debug)]
enum Step {
    /// Adds rows: the distance to the row before, the text, the scope.
    Add(Vec<(i64, String, String)>),
    /// Deletes some of the existing rows.
    Delete(Vec<prop::sample::Index>),
    Merge,
    Optimize,
}

fn step() -> impl Strategy<Value = Step> {
    let word = prop_oneof![4 => "[ab]", 3 => "w[0-9]{1,2}", 1 => "[a-zäß日]{1,12}", 1 => "pre[a-d]{0,30}"];
    let text = prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "));
    let repeated = (text.clone(), 1usize..12).prop_map(|(text, times)| vec![text; times].join(" "));
    let distance = prop_oneof![4 => 1..4i64, 1 => 1..5_000_000i64, 1 => 1i64 << 33..1 << 36];
    let row = (distance, prop_oneof![4 => text, 1 => repeated], "(xq[st][0-4] ){0,3}");
    prop_oneof![
        6 => prop::collection::vec(row, 1..50).prop_map(Step::Add),
        1 => prop::collection::vec(any::<prop::sample::Index>(), 1..10).prop_map(Step::Delete),
        1 => Just(Step::Merge),
        1 => Just(Step::Optimize),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_reader_reads_what_fts5_tells(
        page_bytes in prop_oneof![Just(32u32), 33..400u32, Just(4050)],
        first in prop_oneof![Just(0i64), Just(-5_000), Just(1i64 << 40)],
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let conn = table("full", page_bytes).unwrap();
        let (mut row, mut rows, mut deleted) = (first, Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Add(added) => {
                    let added: Vec<_> = added.into_iter().map(|(distance, text, scope)| {
                        row += distance;
                        (row, text, scope)
                    }).collect();
                    rows.extend(added.iter().map(|(row, ..)| *row));
                    add(&conn, added).unwrap();
                }
                Step::Delete(which) => for index in which.iter().take(rows.len()) {
                    let gone = *index.get(&rows);
                    rows.retain(|row| *row != gone);
                    conn.execute("DELETE FROM fts WHERE rowid = ?1", [gone]).unwrap();
                    deleted.push(gone);
                },
                Step::Merge => drop(conn.execute("INSERT INTO fts (fts, rank) VALUES ('merge', 4)", []).unwrap()),
                Step::Optimize => drop(conn.execute("INSERT INTO fts (fts) VALUES ('optimize')", []).unwrap()),
            }
        }
        prop_assert!(reads(&conn, &reported(&conn).unwrap(), &deleted).unwrap());
    }
}

#[test]
fn the_bundled_sqlite_was_tried() {
    assert!(
        TRIED.contains(&rusqlite::version_number()),
        "SQLite {} is new: if the other tests of this room pass, add {} to TRIED in check.rs",
        rusqlite::version(),
        rusqlite::version_number(),
    );
    assert!(small_table_reads_alike().unwrap());
}

#[test]
fn an_unknown_version_is_trusted_only_if_it_passes() {
    assert!(fits(TRIED[0], || unreachable!("a version that was tried costs nothing")));
    assert!(fits(9_999_999, || true));
    assert!(!fits(9_999_999, || false));
}

/// Tables with other options have lists in another format; they stand for those of another version.
#[test]
fn another_form_does_not_pass() {
    let filled = |detail: &str| {
        let conn = table(detail, 64).unwrap();
        add(&conn, (0..40).map(|n| (n, format!("a b w{n} a"), "scope".to_owned()))).unwrap();
        conn
    };
    let full = filled("full");
    let reported = reported(&full).unwrap();
    assert!(reads(&full, &reported, &[]).unwrap());
    for detail in ["column", "none"] {
        assert!(!reads(&filled(detail), &reported, &[]).unwrap_or(false), "{detail}");
    }
    // Changes each byte after the first two, which matter only on pages that a list continues on.
    let (id, page): (i64, Vec<u8>) = full
        .query_row("SELECT min(id), block FROM fts_data WHERE id > 10", [], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap();
    let put = |page: &[u8]| full.execute("UPDATE fts_data SET block = ?2 WHERE id = ?1", (id, page)).unwrap();
    for at in 2..page.len() {
        let mut other = page.clone();
        other[at] ^= 2;
        put(&other);
        assert!(!reads(&full, &reported, &[]).unwrap_or(false), "byte {at} of {page:x?}");
    }
    put(&page);
    assert!(reads(&full, &reported, &[]).unwrap());
}

//! Tests of reading other programs' stores, which the tests create.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const SPEC: ForeignSpec = ForeignSpec {
    groups: "SELECT id, changed || '/' || (SELECT count(*) FROM note WHERE book = book.id) FROM book ORDER BY id",
    heads: &[RowQuery { table: "book", key: &["id"], sql: "SELECT * FROM book WHERE id = ?1" }],
    items: "SELECT n FROM note WHERE book = ?1 ORDER BY n",
    item_rows: &[RowQuery { table: "note", key: &["book", "n"], sql: "SELECT * FROM note WHERE book = ?1 AND n = ?2" }],
    zstd: &[("packed", "body")],
};

const SCHEMA: &str = "
        CREATE TABLE book (id TEXT PRIMARY KEY, changed INTEGER);
        CREATE TABLE note (book TEXT, n INTEGER, weight REAL, body TEXT, packed BLOB, PRIMARY KEY (book, n));
        INSERT INTO book VALUES ('a', 1), ('b', 2);
        INSERT INTO note VALUES ('a', 1, 0.1, 'one', NULL), ('a', 2, -1e300, 'two', x'00ff');";

struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// Makes a folder with a store in it, and the writing connection, as the program would hold it open.
    fn new(mode: &str) -> (World, Connection) {
        let world = World { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(world.folder.path().join("store")).unwrap();
        let writer = Connection::open(world.store()).unwrap();
        writer.pragma_update(None, "journal_mode", mode).unwrap();
        writer.execute_batch(SCHEMA).unwrap();
        (world, writer)
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store").join("a store?#%.db")
    }

    fn scratch(&self) -> PathBuf {
        self.folder.path().join("home").join("scratch")
    }

    fn open(&self) -> Result<ForeignStore> {
        ForeignStore::open(&self.store(), &self.scratch())
    }

    /// Returns every file of the store's folder: its bytes and when it was written.
    fn state(&self) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64)> {
        let entries = fs::read_dir(self.store().parent().unwrap()).unwrap();
        let state = |path: PathBuf| {
            let of = fs::metadata(&path).unwrap();
            (path.clone(), (fs::read(&path).unwrap(), of.mtime(), of.mtime_nsec()))
        };
        entries.map(|e| state(e.unwrap().path())).collect()
    }
}

fn lines(store: &ForeignStore, key: &str) -> String {
    let mut out = String::new();
    store
        .read_group(&SPEC, key, |row, bytes| {
            out += &format!("{} {} {}\n", row.table, row.key, String::from_utf8(whole(bytes)).unwrap());
            Ok(())
        })
        .unwrap();
    out
}

fn whole(bytes: RowBytes) -> Vec<u8> {
    match bytes {
        RowBytes::Whole(bytes) => bytes,
        RowBytes::Long(long) => panic!("a long row of {} bytes", long.length()),
    }
}

fn keys(store: &ForeignStore) -> String {
    let groups = store.groups(&SPEC).unwrap();
    groups.into_iter().map(|g| format!("{}={}", g.key, g.fingerprint)).collect::<Vec<_>>().join(" ")
}

const OF_A: &str = r#"book a {"$table":"book","id":"a","changed":1}
note a/1 {"$table":"note","book":"a","n":1,"weight":0.1,"body":"one","packed":null}
note a/2 {"$table":"note","book":"a","n":2,"weight":-1e300,"body":"two","packed":{"$blob":"AP8="}}
"#;

#[test]
fn reads_beside_a_writer_in_the_middle_of_its_transaction() {
    let (world, writer) = World::new("wal");
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO note VALUES ('a', 3, 0, 'not yet', NULL)").unwrap();
    let store = world.open().unwrap();
    assert!(!store.was_copied());
    assert_eq!(keys(&store), "a=1/2 b=2/0");
    assert_eq!(lines(&store, "a"), OF_A);
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(keys(&store), "a=1/3 b=2/0");
    assert_eq!(lines(&store, "a").lines().count(), 4);
    assert_eq!(lines(&store, "nobody"), "");
}

#[test]
fn reading_holds_nothing_up_and_changes_nothing() {
    let (world, writer) = World::new("wal");
    let before = world.state();
    let store = world.open().unwrap();
    keys(&store);
    let mut seen = 0;
    store
        .read_group(&SPEC, "a", |row, _| {
            // During a read the program can write, and empty its log.
            writer.execute("UPDATE book SET changed = changed + 1 WHERE id = 'b'", []).unwrap();
            let busy: i64 = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0)).unwrap();
            assert_eq!(busy, 0, "at {}", row.key);
            seen += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, 3);
    drop(store);
    drop(writer);

    let (quiet, _writer) = World::new("wal");
    let store = quiet.open().unwrap();
    let main = |world: &World| world.state().remove(&world.store()).unwrap();
    let before_quiet = main(&quiet);
    lines(&store, "a");
    drop(store);
    assert!(before_quiet == main(&quiet), "a read changed the store");
    assert_eq!(before.len(), 3);
}

#[test]
fn a_store_at_rest_is_left_as_it_was() {
    for mode in ["wal", "delete"] {
        let (world, writer) = World::new(mode);
        drop(writer);
        let before = world.state();
        assert_eq!(before.len(), 1);
        let store = world.open().unwrap();
        assert_eq!(lines(&store, "a"), OF_A);
        drop(store);
        let after = world.state();
        assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{mode}");
        assert!(after == before, "{mode}");
    }
}

#[test]
fn rows_that_vanish_meanwhile_are_left_out() {
    let (world, writer) = World::new("wal");
    for n in 3..=200 {
        writer.execute("INSERT INTO note VALUES ('a', ?1, 0, '', NULL)", [n]).unwrap();
    }
    let store = world.open().unwrap();
    let mut seen = Vec::new();
    store
        .read_group(&SPEC, "a", |row, _| {
            writer.execute("DELETE FROM note WHERE n > 100", []).unwrap();
            seen.extend(row.integer("n"));
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, (1..=100).collect::<Vec<_>>());
}

#[test]
fn a_store_locked_as_a_whole_is_copied() {
    for mode in ["wal", "delete"] {
        let (world, writer) = World::new(mode);
        writer
            .execute_batch(
                "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE book SET changed = changed; COMMIT; \
                     BEGIN EXCLUSIVE; INSERT INTO note VALUES ('a', 3, 0, 'not yet', NULL)",
            )
            .unwrap();
        let store = world.open().unwrap();
        assert!(store.was_copied(), "{mode}");
        assert_eq!(lines(&store, "a"), OF_A, "{mode}");
        let copies: Vec<_> = fs::read_dir(world.scratch()).unwrap().map(|e| e.unwrap()).collect();
        assert!(!copies.is_empty());
        for copy in &copies {
            let shared = copy.metadata().unwrap().mode() & 0o077;
            assert_eq!(shared, 0, "{:?}", copy.path());
        }
        assert_eq!(fs::metadata(world.scratch()).unwrap().mode() & 0o777, 0o700);
        drop(store);
        assert_eq!(fs::read_dir(world.scratch()).unwrap().count(), 0, "{mode}");
    }
}

#[test]
fn a_store_in_a_read_only_folder_is_copied() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: permissions do not bind root");
        return;
    }
    // A backup taken beside a running program: a log, but no `-shm` file to read it with.
    let (world, writer) = World::new("wal");
    let log = fs::read(beside(&world.store(), "-wal")).unwrap();
    drop(writer);
    fs::write(beside(&world.store(), "-wal"), log).unwrap();
    let folder = world.store().parent().unwrap().to_owned();
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o500)).unwrap();
    let store = world.open();
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let store = store.unwrap();
    assert!(store.was_copied());
    assert_eq!(lines(&store, "a"), OF_A);
}

#[test]
fn what_is_no_store_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("scratch");
    let told = |name: &str| {
        let error = ForeignStore::open(&folder.path().join(name), &scratch).unwrap_err();
        (error.kind(), error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    };
    fs::create_dir(folder.path().join("folder")).unwrap();
    assert_eq!(told("folder"), (ErrorKind::Usage, "folder is a folder, not a database file".into()));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert_eq!(told("pipe"), (ErrorKind::Usage, "pipe is a pipe, not a database file".into()));
    assert_eq!(told("missing").0, ErrorKind::NotFound);
    fs::write(folder.path().join("garbage"), [7; 5000]).unwrap();
    let (kind, said) = told("garbage");
    assert_eq!(kind, ErrorKind::Damaged);
    assert!(said.starts_with("garbage is not an SQLite database"), "{said}");
}

#[test]
fn a_damaged_store_is_called_damaged() {
    let (world, writer) = World::new("delete");
    for n in 3..=2000 {
        writer.execute("INSERT INTO note VALUES ('a', ?1, 0, 'some words to fill a page', NULL)", [n]).unwrap();
    }
    drop(writer);
    let mut bytes = fs::read(world.store()).unwrap();
    bytes[8192..].fill(0xaa);
    fs::write(world.store(), bytes).unwrap();
    let store = world.open().unwrap();
    let error = store.read_group(&SPEC, "a", |_, _| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains("a store?#%.db is damaged"), "{error}");
}

#[test]
fn another_schema_is_said_by_table_or_column() {
    let (world, writer) = World::new("wal");
    let store = world.open().unwrap();
    let said = |sql: &str| {
        writer.execute_batch(sql).unwrap();
        let error = store.read_group(&SPEC, "a", |_, _| Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        error.to_string()
    };
    let column = said("ALTER TABLE note RENAME COLUMN book TO volume");
    assert!(column.contains(" has no column book; this version of the program's store is not known"), "{column}");
    let table = said("DROP TABLE note");
    assert!(table.contains("a store?#%.db has no table note; this version"), "{table}");
}

#[test]
fn an_error_of_the_caller_ends_the_reading() {
    let (world, _writer) = World::new("wal");
    let store = world.open().unwrap();
    let mut calls = 0;
    let error = store.read_group(&SPEC, "a", |_, _| {
        calls += 1;
        Err(Error::usage("enough"))
    });
    assert_eq!((calls, error.unwrap_err().to_string()), (1, "enough".to_string()));
}

#[test]
fn compressed_bodies_are_opened_for_reading_and_kept_as_stored() {
    let (world, writer) = World::new("wal");
    let packed = zstd::encode_all("the words".as_bytes(), 3).unwrap();
    let bomb = zstd::encode_all(vec![b'x'; OPENED_LIMIT as usize + 1].as_slice(), 1).unwrap();
    writer.execute("UPDATE note SET body = NULL, packed = ?1 WHERE n = 1", [&packed]).unwrap();
    writer.execute("UPDATE note SET body = NULL WHERE n = 2", []).unwrap();
    writer.execute("INSERT INTO note VALUES ('a', 3, 0, NULL, ?1)", [&bomb]).unwrap();
    let store = world.open().unwrap();
    let mut bodies = Vec::new();
    store
        .read_group(&SPEC, "a", |row, bytes| {
            let bytes = whole(bytes);
            assert_eq!(restore(&SPEC, &bytes).unwrap(), row);
            if row.table == "note" {
                bodies.push(row.text("body").map(String::from));
                assert!(String::from_utf8(bytes).unwrap().contains(r#""body":null"#));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(bodies, [Some("the words".to_string()), None, None]);
}

#[test]
fn canonical_bytes_of_odd_values() {
    let cells = [
        Cell::Real(f64::INFINITY),
        Cell::Real(f64::NEG_INFINITY),
        Cell::Real(-0.0),
        Cell::Real(3.0),
        Cell::Integer(i64::MIN),
        Cell::Text("a\n\u{0}\"é".into()),
        Cell::RawText(vec![0xff]),
    ];
    let columns: Vec<_> = cells.into_iter().enumerate().map(|(i, cell)| (format!("c{i}"), cell)).collect();
    let row = Row { table: "book".into(), key: String::new(), columns };
    let text = String::from_utf8(canonical(&row)).unwrap();
    assert_eq!(
        text,
        r#"{"$table":"book","c0":{"$real":"inf"},"c1":{"$real":"-inf"},"c2":-0.0,"c3":3.0,"c4":-9223372036854775808,"c5":"a\n\u0000\"é","c6":{"$text":"/w=="}}"#
    );
    assert_eq!(canonical(&restore(&SPEC, text.as_bytes()).unwrap()), text.as_bytes());
    let nan = canonical(&Row { columns: vec![("x".into(), Cell::Real(f64::NAN))], ..row });
    assert_eq!(nan, br#"{"$table":"book","x":{"$real":"nan"}}"#);
    for broken in ["", "{}", "[1]", r#"{"id":1}"#, r#"{"$table":"book","x":[1]}"#, r#"{"$table":"other"}"#] {
        assert_eq!(restore(&SPEC, broken.as_bytes()).unwrap_err().kind(), ErrorKind::Damaged, "{broken}");
    }
}

fn any_cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        Just(Cell::Null),
        any::<i64>().prop_map(Cell::Integer),
        // Reals are made from random bits, so that every form of float comes up; SQLite itself stores no NaN.
        any::<u64>().prop_map(f64::from_bits).prop_filter("a number", |x| !x.is_nan()).prop_map(Cell::Real),
        any::<String>().prop_map(Cell::Text),
        any::<Vec<u8>>().prop_map(|mut bytes| {
            bytes.push(0xff);
            Cell::RawText(bytes)
        }),
        any::<Vec<u8>>().prop_map(Cell::Blob),
    ]
}

proptest! {
    #[test]
    fn canonical_bytes_read_back_to_the_same_row(id in any_cell(), cells in prop::collection::vec((any::<String>(), any_cell()), 0..8)) {
        let mut columns = vec![("id".to_string(), id)];
        columns.extend(cells);
        let mut row = Row { table: "book".into(), key: key_of(&SPEC.heads[0], &columns), columns };
        let bytes = canonical(&row);
        prop_assert!(!bytes.contains(&b'\n'));
        open_zstd(&SPEC, &mut row);
        let back = restore(&SPEC, &bytes).unwrap();
        prop_assert_eq!(canonical(&back), canonical(&row));
        prop_assert_eq!(back, row);
    }

    #[test]
    fn restoring_never_panics(bytes in any::<Vec<u8>>(), text in r#"\{"\$table":"book"(,"[a-z$]{0,3}":[-0-9.eE"{}$a-z:]{0,8})*\}"#) {
        let _ = restore(&SPEC, &bytes);
        let _ = restore(&SPEC, text.as_bytes());
    }
}

#[test]
fn a_row_of_any_length_is_read_in_pieces_and_means_the_same() {
    let (world, writer) = World::new("wal");
    // Values longer than are loaded: escapes, characters of several bytes across chunks, invalid UTF-8, bytes.
    let text = "a\u{e9}\"\u{1}\u{1f600}".repeat((LONGEST / 9) + 1);
    writer.execute("UPDATE note SET body = ?1 WHERE n = 1", [&text]).unwrap();
    writer
        .execute("UPDATE note SET packed = zeroblob(?1), body = CAST(x'ff' AS TEXT) WHERE n = 2", [LONGEST as i64 + 1])
        .unwrap();
    writer
        .execute("INSERT INTO note VALUES ('a', 3, NULL, CAST(zeroblob(?1) || x'ff' AS TEXT), NULL)", [LONGEST as i64])
        .unwrap();
    let expected: Vec<Vec<u8>> = {
        let mut statement = writer.prepare("SELECT * FROM note WHERE book = 'a' ORDER BY n").unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut all = Vec::new();
        while let Some(r) = rows.next().unwrap() {
            let columns = ["book", "n", "weight", "body", "packed"].iter().enumerate();
            let columns = columns.map(|(i, name)| (name.to_string(), cell_from(r.get_ref(i).unwrap()))).collect();
            all.push(canonical(&Row { table: "note".into(), key: String::new(), columns }));
        }
        all
    };
    drop(writer);
    let mut seen = Vec::new();
    let store = world.open().unwrap();
    store
        .read_group(&SPEC, "a", |row, bytes| {
            if let RowBytes::Long(mut long) = bytes {
                let mut bytes = Vec::new();
                long.pieces(1 << 20, |piece| {
                    bytes.extend_from_slice(piece);
                    Ok(())
                })?;
                assert_eq!(bytes.len() as u64, long.length());
                seen.push((row.key, bytes));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(seen.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["a/1", "a/2", "a/3"]);
    for ((key, bytes), expected) in seen.iter().zip(&expected) {
        assert!(bytes == expected, "{key}: {} bytes are not those of {} bytes", bytes.len(), expected.len());
    }
    assert_eq!(fs::read_dir(world.scratch()).unwrap().count(), 0, "nothing is left of them");
}

const LONGEST: usize = long_row::LONGEST_VALUE as usize;

#[test]
fn a_view_in_place_of_a_table_is_refused_and_named() {
    let (world, writer) = World::new("wal");
    writer
        .execute_batch(
            "DROP TABLE note; CREATE VIEW unused AS SELECT 1;
             CREATE VIEW note AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
             SELECT 'a' AS book, i AS n FROM n",
        )
        .unwrap();
    let error = world.open().unwrap().groups(&SPEC).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("note is a view where a table is expected"), "{error}");
}

#[test]
fn a_statement_that_never_ends_is_cut_off() {
    let (world, _writer) = World::new("wal");
    let store = world.open().unwrap();
    store.watch.within(Duration::ZERO);
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let cause = store.connection.query_row(endless, [], |_| Ok(())).unwrap_err();
    let error = failed(&world.store(), cause);
    assert!(error.to_string().contains("takes too long"), "{error}");
    assert_eq!(keys(&store), "a=1/2 b=2/0", "the next read has its own time");
}

#[test]
fn what_is_private_is_masked_in_rows_compressed_ones_too() {
    let (world, writer) = World::new("wal");
    let packed = zstd::encode_all(&br#"{"text":"a <private>secret</private> b"}"#[..], 3).unwrap();
    writer.execute("INSERT INTO note VALUES ('b', 1, 0, NULL, ?1)", [packed]).unwrap();
    writer.execute("INSERT INTO note VALUES ('b', 2, 0, 'from <PRIVATE>secret to the end', NULL)", []).unwrap();
    writer.execute("INSERT INTO note VALUES ('b', 3, 0, 'as it is', x'00ff')", []).unwrap();
    let store = world.open().unwrap();
    let said = lines(&store, "b");
    assert_eq!(
        said,
        r#"book b {"$table":"book","id":"b","changed":2}
note b/1 {"$table":"note","book":"b","n":1,"weight":0.0,"body":"{\"text\":\"a <private>******</private> b\"}","packed":null}
note b/2 {"$table":"note","book":"b","n":2,"weight":0.0,"body":"from <PRIVATE>*****************","packed":null}
note b/3 {"$table":"note","book":"b","n":3,"weight":0.0,"body":"as it is","packed":{"$blob":"AP8="}}
"#
    );
    let row = said.lines().nth(1).unwrap();
    let row = restore(&SPEC, &row.as_bytes()[row.find('{').unwrap()..]).unwrap();
    assert_eq!(row.text("body"), Some(r#"{"text":"a <private>******</private> b"}"#));
}

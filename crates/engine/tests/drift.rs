//! After hundreds of acts of people and programs, with crashes among them, files, file table, index and pages agree
//! with each other, and with ones made anew.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::time::Duration;

use heirloom_engine::continuity::artifact::{self, NewArtifact, Text};
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::continuity::proposal::{self, NewProposal};
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::forget;
use heirloom_engine::home::digest;
use heirloom_engine::index::{Index, RowId};
use heirloom_engine::memory::{Class, NewLeaf, Scope, add, change};
use heirloom_engine::render;
use heirloom_engine::review;
use heirloom_engine::tree::file_table::{self, Entry, Kind, State};
use heirloom_engine::tree::provenance::Provenance;
use heirloom_engine::tree::{AssistantHome, TreeLock, scan};
use heirloom_engine::verify;
use heirloom_testkit::Rng;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::tree::{Tree, rest};

const WORDS: &[&str] = &["heron", "otter", "badger", "lynx", "größe", "東京", "deploy", "index", "the", "stoat"];

const HAND: &[&str] = &[
    "continuity/open-loops/by-hand-",
    "memory/preference/by-hand-",
    "memory/workspace/api--0123456789abcdef/knowledge/facts/by-hand-",
    "memory/notes/by-hand-",
    "continuity/daily/2026/10/2026-10-0",
];

fn index(tree: &Tree, name: &str) -> Index {
    Index::open(&tree.folder.path().join(name), tree.ledger.id(), Duration::from_secs(5)).unwrap().0
}

fn words(rng: &mut Rng) -> String {
    (0..3 + rng.below(4)).map(|_| *rng.pick(WORDS)).collect::<Vec<_>>().join(" ")
}

fn title(rng: &mut Rng) -> String {
    format!("{} {}", rng.pick(WORDS), rng.below(12))
}

/// Returns every Markdown file of the tree, by its path in it.
fn files(tree: &Tree) -> BTreeMap<String, Vec<u8>> {
    let root = tree.path("");
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(found.insert(shown(&root, &path), fs::read(&path).unwrap())),
            }
        }
    }
    found
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()
}

/// Returns a random file that a person might edit.
fn some_file(tree: &Tree, rng: &mut Rng) -> Option<String> {
    let all: Vec<String> = files(tree)
        .into_keys()
        .filter(|p| p.contains('/') && !p.ends_with("MEMORY.md") && !p.ends_with("ACTIVE.md"))
        .collect();
    (!all.is_empty()).then(|| rng.pick(&all).clone())
}

fn some(lock: &TreeLock, rng: &mut Rng, kind: Kind, state: State) -> Option<Entry> {
    let all = lock.at.read(|tx| file_table::list(tx, lock.at.agent_no, kind, state)).unwrap();
    (!all.is_empty()).then(|| rng.pick(&all).clone())
}

/// Runs a random act of a program.
fn act(lock: &TreeLock, rng: &mut Rng) -> Result<()> {
    let id = |e: Entry| e.item.unwrap_or_default();
    let nothing = || Error::not_found("nothing to do that to");
    let leaf = |rng: &mut Rng| some(lock, rng, Kind::Leaf, State::Active).ok_or_else(nothing);
    let project = Scope::Workspace("api--0123456789abcdef".into());
    match rng.below(16) {
        0..=2 => {
            let new = NewLoop { title: title(rng), text: Some(words(rng)), ..NewLoop::default() };
            open_loop::add(lock, &new).map(drop)
        }
        3 => {
            let open = some(lock, rng, Kind::OpenLoop, State::Active).ok_or_else(nothing)?;
            open_loop::resolve(lock, &[id(open)], Some("done")).map(drop)
        }
        4 => {
            let done = some(lock, rng, Kind::OpenLoop, State::Archived).ok_or_else(nothing)?;
            open_loop::reopen(lock, &[id(done)]).map(drop)
        }
        5 | 6 => {
            let entries = (0..1 + rng.below(3)).map(|_| words(rng)).collect();
            let (class, scope) = ("preference".to_owned(), "agent".to_owned());
            let new = NewProposal { title: title(rng), entries, class, scope, ..NewProposal::default() };
            proposal::add(lock, &new).map(drop)
        }
        7 | 8 => {
            let waiting = id(some(lock, rng, Kind::Proposal, State::Active).ok_or_else(nothing)?);
            match rng.below(2) {
                0 => review::merge(lock, &[waiting], None).map(drop),
                _ => review::reject(lock, &[waiting], None).map(drop),
            }
        }
        9 => {
            let decided = id(some(lock, rng, Kind::Proposal, State::Archived).ok_or_else(nothing)?);
            review::undo(lock, &decided, None).map(drop)
        }
        10 | 11 => {
            let (class, scope) = match rng.below(2) {
                0 => (Class::Fact, project),
                _ => (Class::Preference, Scope::Agent),
            };
            add(lock, &NewLeaf { title: Some(title(rng)), ..NewLeaf::new(class, scope, words(rng)) }).map(drop)
        }
        12 => {
            let text = Some(words(rng));
            change::edit(lock, &leaf(rng)?, &change::Edit { text, ..change::Edit::default() }).map(drop)
        }
        13 => change::pin(lock, &[leaf(rng)?], rng.below(2) == 0),
        14 => match rng.below(2) {
            0 => change::supersede(lock, &leaf(rng)?, &leaf(rng)?).map(drop),
            _ => forget::leaves(lock, &[leaf(rng)?]).map(drop),
        },
        _ => {
            let text = Text::Markdown(words(rng));
            let (title, source) = (title(rng), Provenance::default());
            let created = lock.at.ledger.now();
            let new = NewArtifact { title, text, source, kind: None, created, fields: Default::default() };
            artifact::add(lock, &new).map(drop)
        }
    }
}

/// Runs a random hand edit.
fn hand(tree: &Tree, rng: &mut Rng) {
    match rng.below(6) {
        0 | 1 => {
            let path = format!("{}{}.md", rng.pick(HAND), 1 + rng.below(9));
            tree.hand(&path, &format!("# {}\n\n{}\n", title(rng), words(rng)));
        }
        2 => {
            if let Some(path) = some_file(tree, rng) {
                let text = tree.text(&path);
                tree.hand(&path, &format!("{text}\n{}\n", words(rng)));
            }
        }
        3 => {
            if let Some(path) = some_file(tree, rng) {
                fs::remove_file(tree.path(&path)).unwrap();
            }
        }
        4 => {
            if let Some(path) = some_file(tree, rng) {
                let to = tree.path(&format!("{}{}.md", rng.pick(HAND), 1 + rng.below(9)));
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::rename(tree.path(&path), &to).unwrap();
                rest(&to);
            }
        }
        // Adds a line to a rendered page, or removes one.
        _ => {
            let page = *rng.pick(&["MEMORY.md", "continuity/ACTIVE.md", "memory/MEMORY.md"]);
            let Ok(text) = fs::read_to_string(tree.path(page)) else { return };
            let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("- ")).collect();
            if lines.is_empty() {
                return;
            }
            let line = *rng.pick(&lines);
            let by = if rng.below(2) == 0 { String::new() } else { format!("{line}\n- {}\n", words(rng)) };
            tree.hand(page, &text.replacen(&format!("{line}\n"), &by, 1));
        }
    }
}

/// Runs an act that is cut off before or after its files are written.
fn cut(tree: &Tree, rng: &mut Rng) {
    drop(tree.at().lock().unwrap());
    let before = files(tree);
    let sql = tree.sql();
    sql.execute_batch(
        "CREATE TRIGGER cut BEFORE INSERT ON audit WHEN NEW.action = 'flush.done'
         BEGIN SELECT RAISE(ABORT, 'cut'); END",
    )
    .unwrap();
    {
        let at = tree.at();
        let lock = at.lock().unwrap();
        let _ = act(&lock, rng);
    }
    sql.execute_batch("DROP TRIGGER cut").unwrap();
    if rng.below(2) == 0 {
        return;
    }
    let now = files(tree);
    for path in now.keys().filter(|p| !before.contains_key(*p)) {
        fs::remove_file(tree.path(path)).unwrap();
    }
    for (path, bytes) in before.iter().filter(|(path, bytes)| now.get(*path) != Some(*bytes)) {
        fs::write(tree.path(path), bytes).unwrap();
        rest(&tree.path(path));
    }
}

/// Checks that rendering all pages anew from the same state changes none of them.
fn pages_are_fresh(tree: &Tree, after: &str) {
    let before = files(tree);
    // Through the ledger, so that the rows are sealed.
    let why = heirloom_engine::ledger::Audit::new("test", "set.up");
    let older = "UPDATE heads SET dirty = dirty + 1 WHERE head != 'days'";
    tree.ledger.write(why, |tx| Ok(tx.execute_batch(older)?)).unwrap();
    render::mark_all(&tree.at()).unwrap();
    let refreshed = tree.refresh();
    assert!(refreshed.failed.is_empty(), "{refreshed:?}");
    let now = files(tree);
    for path in before.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
        let text = |all: &BTreeMap<String, Vec<u8>>| {
            all.get(path).map(|b| String::from_utf8_lossy(b).into_owned()).unwrap_or_default()
        };
        assert_eq!(text(&before), text(&now), "{path} is rendered otherwise {after}");
    }
}

fn rows(conn: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = conn.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |r| (0..columns).map(|i| r.get(i)).collect()).unwrap();
    rows.map(Result::unwrap).collect::<Vec<_>>()
}

/// Returns the rows of the file table about the files themselves, without times.
fn said(tree: &Tree) -> Vec<Vec<Value>> {
    rows(
        &tree.sql(),
        "SELECT path, kind, state, digest, size, item, title, class, scope, status, fields, problem
         FROM catalogue WHERE state != 'gone' ORDER BY path",
    )
}

/// Returns all words and rows of an index, by path.
fn dump(tree: &Tree, index: &Index) -> BTreeSet<String> {
    let names: HashMap<i64, Value> = rows(&tree.sql(), "SELECT file_no, path FROM catalogue")
        .into_iter()
        .map(|r| match r.as_slice() {
            [Value::Integer(no), path] => (*no, path.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    let conn = Connection::open(index.path()).unwrap();
    conn.execute_batch("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, files_fts, instance)").unwrap();
    let mut out = BTreeSet::new();
    for sql in [
        "SELECT doc, 'word', term, col, offset FROM words",
        "SELECT id, 'size', sz FROM files_fts_docsize",
        "SELECT file, 'made', digest, parts, due FROM files",
    ] {
        for row in rows(&conn, sql) {
            let Value::Integer(no) = row[0] else { panic!("{row:?}") };
            let id = RowId::unpack(no);
            out.insert(format!("{:?} {} {:?}", names[&id.turn_no], id.part, &row[1..]));
        }
    }
    out
}

fn all_is_one(tree: &Tree, index: &mut Index, seed: u64) {
    let at = tree.at();
    let follow = |at: &AssistantHome, index: &mut Index| {
        drop(at.lock().unwrap());
        assert_eq!(index.catch_up_files(at, None).unwrap(), 0);
    };
    follow(&at, index);
    tree.refresh();
    pages_are_fresh(tree, &format!("at the end of {seed}"));
    follow(&at, index);

    // Files and file table.
    let on_disk: Vec<(String, Vec<u8>)> = files(tree).into_iter().map(|(p, b)| (p, digest(&b).to_vec())).collect();
    let listed: Vec<(String, Vec<u8>)> =
        rows(&tree.sql(), "SELECT path, digest FROM catalogue WHERE state != 'gone' ORDER BY path")
            .into_iter()
            .map(|r| match r.as_slice() {
                [Value::Text(path), Value::Blob(digest)] => (path.clone(), digest.clone()),
                other => panic!("{other:?}"),
            })
            .collect();
    let mut on_disk: Vec<_> = on_disk.into_iter().filter(|(p, _)| !p.contains("/.")).collect();
    on_disk.sort();
    assert_eq!(listed, on_disk, "seed {seed}");
    assert_eq!(tree.count("SELECT count(*) FROM flushes WHERE state = 'planned'"), 0);

    // Index.
    let mut fresh = self::index(tree, "fresh.db");
    follow(&at, &mut fresh);
    let (one, other) = (dump(tree, index), dump(tree, &fresh));
    let differ: Vec<_> = one.symmetric_difference(&other).take(8).collect();
    assert!(differ.is_empty(), "seed {seed}: {differ:#?}");
    assert!(one.len() > 300, "{}", one.len());

    // Verify finds nothing.
    let mut report = verify::verify(&tree.ledger, Some(index), &mut |_| {}).unwrap();
    verify::files::files(&at, Some(index), true, &mut report).unwrap();
    let findings: Vec<String> = report.findings.iter().map(|f| format!("{}: {}", f.subject, f.what)).collect();
    assert_eq!(findings, Vec::<String>::new(), "seed {seed}");

    // The file table is derived: one made anew has the same rows.
    let before = said(tree);
    tree.sql().execute_batch("DELETE FROM catalogue").unwrap();
    scan::scan(&at).unwrap();
    assert_eq!(said(tree), before, "seed {seed}");
}

#[test]
fn catalogue_index_files_and_pages_are_one_after_500_acts() {
    let full = std::env::var_os("HEIRLOOM_TEST_FULL").is_some();
    for seed in 1..=if full { 40 } else { 2 } {
        let mut rng = Rng::new(seed);
        let tree = Tree::new();
        let mut index = index(&tree, "index.db");
        let (mut done, mut cuts, mut by_hand) = (0, 0, 0);
        for n in 0..if full { 500 } else { 250 } {
            match rng.below(20) {
                0..=3 => {
                    hand(&tree, &mut rng);
                    by_hand += 1;
                }
                4 => {
                    cut(&tree, &mut rng);
                    cuts += 1;
                }
                _ => {
                    let at = tree.at();
                    let lock = at.lock().unwrap();
                    match act(&lock, &mut rng) {
                        Ok(()) => done += 1,
                        Err(e) => assert!(
                            matches!(e.kind(), ErrorKind::NotFound | ErrorKind::Refused | ErrorKind::Usage),
                            "{seed} {n}: {e:?}"
                        ),
                    }
                }
            }
            if rng.below(3) == 0 {
                tree.refresh();
            }
            if n % 50 == 25 {
                drop(tree.at().lock().unwrap());
                tree.refresh();
                pages_are_fresh(&tree, &format!("after act {n} of {seed}"));
            }
            if rng.below(8) == 0 {
                index.catch_up_files(&tree.at(), None).unwrap();
            }
        }
        eprintln!("seed {seed}: {done} acts, {by_hand} by hand, {cuts} cut off");
        assert!(done > 80 && by_hand > 20 && cuts > 4);
        all_is_one(&tree, &mut index, seed);
    }
}

//! Visible files are found by their present text; the index follows them, and hostile names lead nowhere.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use heirloom_engine::clock::Clock;
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::error::ErrorKind;
use heirloom_engine::home::{Home, HomeOptions, layout};
use heirloom_engine::index::{Index, RowId};
use heirloom_engine::ledger::{Audit, Ledger, Open};
use heirloom_engine::recall::snippet::{MATCH_END, MATCH_START};
use heirloom_engine::recall::{FileFilter, FileHit, FilesFound, Query, search_files, understand};
use heirloom_engine::scope::{AgentId, AgentNo};
use heirloom_engine::transcript::read;
use heirloom_engine::tree::file_table::{Kind, State};
use heirloom_engine::tree::{AssistantHome, address, scan};
use heirloom_engine::verify;
use heirloom_testkit::{Rng, named_pipe};
use rusqlite::Connection;

/// A home with several trees in it.
struct Grove {
    folder: tempfile::TempDir,
    home: Home,
    ledger: Ledger,
}

impl Grove {
    fn new() -> Grove {
        let memory = std::path::Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let options = HomeOptions { allow_network_fs: true };
        let home = Home::create_with(&folder.path().join("home"), &options).unwrap();
        let path = home.file_path(&layout::RUNTIME_DB).unwrap();
        let ledger = Ledger::open(&path, &folder.path().join("backups"), Clock::System, Open::Full).unwrap();
        Grove { folder, home, ledger }
    }

    fn tree(&self, agent: &str) -> AssistantHome<'_> {
        let agent = AgentId::parse(agent).unwrap();
        let no = self.ledger.write(Audit::new("test", "agent.add"), |tx| read::ensure_agent(tx, &agent)).unwrap();
        AssistantHome::create(&self.home, &self.ledger, &agent, no, "test", jiff::tz::TimeZone::UTC).unwrap()
    }

    fn index_at(&self, name: &str) -> Index {
        let path = self.folder.path().join(name);
        Index::open(&path, self.ledger.id(), Duration::from_secs(5)).unwrap().0
    }

    fn index(&self) -> Index {
        self.index_at("index.db")
    }
}

fn place(at: &AssistantHome, path: &str) -> PathBuf {
    at.files.shown().join(path)
}

fn write(at: &AssistantHome, path: &str, text: &str) {
    let place = place(at, path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

fn follow(at: &AssistantHome, index: &mut Index) {
    scan::scan(at).unwrap();
    assert_eq!(index.catch_up_files(at, None).unwrap(), 0);
}

/// Parses a query in the time zone of the tree.
fn ask(at: &AssistantHome, query: &str) -> Query {
    understand(at.ledger, &at.agent, query, &at.zone).unwrap()
}

fn search(at: &AssistantHome, index: &mut Index, query: &str, filter: FileFilter) -> FilesFound {
    let limit = if filter.limit == 0 { 10 } else { filter.limit };
    search_files(at, index, &ask(at, query), &FileFilter { limit, ..filter }).unwrap()
}

fn found(at: &AssistantHome, index: &mut Index, query: &str) -> Vec<String> {
    let found = search(at, index, query, FileFilter::default());
    found.hits.into_iter().map(|h| format!("{}:{}", h.entry.path, h.line)).collect()
}

fn plain(hit: &FileHit) -> String {
    hit.passage.replace([MATCH_START, MATCH_END], "")
}

fn findings(grove: &Grove, at: &AssistantHome, index: Option<&Index>) -> Vec<String> {
    let mut report = verify::verify(&grove.ledger, index, &mut |_| {}).unwrap();
    verify::files::files(at, index, true, &mut report).unwrap();
    assert!(report.files > 0);
    report.findings.into_iter().map(|f| format!("{:?} {}: {}", f.severity, f.subject, f.what)).collect()
}

#[test]
fn what_a_file_says_is_found_with_its_line() {
    let grove = Grove::new();
    let at = grove.tree("main");
    let mut index = grove.index();
    write(
        &at,
        "memory/preference/tea.md",
        "---\nclass: preference\n---\n# Drinks\n\nCoffee at dawn.\n\nOolong tea in the afternoon,\nnever milk.\n",
    );
    write(&at, "memory/notes/okapi.md", "# Animals\nThe okapi lives in the forest.\r\nDas Tier ist größer.\n");
    write(
        &at,
        "continuity/open-loops/quote--ab12.md",
        "---\ntitle: Send the quote\ndue: 2026-11-30\n---\n# Send the quote\nTo the chimney sweep.\n",
    );
    write(
        &at,
        "continuity/daily/2026/11/2026-11-20.md",
        "# Friday\n<!-- heirloom:daily · x -->\n- 10:00 talked about zebras\n<!-- /heirloom:daily -->\n",
    );
    follow(&at, &mut index);
    assert_eq!(found(&at, &mut index, "oolong milk"), ["memory/preference/tea.md:8"]);
    assert_eq!(found(&at, &mut index, "okapi"), ["memory/notes/okapi.md:2"]);
    assert_eq!(found(&at, &mut index, "GROSSER größer"), ["memory/notes/okapi.md:3"]);
    assert_eq!(found(&at, &mut index, "\"chimney sweep\""), ["continuity/open-loops/quote--ab12.md:6"]);
    assert_eq!(found(&at, &mut index, "30 November")[0], "continuity/open-loops/quote--ab12.md:3");
    assert_eq!(found(&at, &mut index, "zebra"), ["continuity/daily/2026/11/2026-11-20.md:3"]);
    assert_eq!(found(&at, &mut index, "preference")[0], "memory/preference/tea.md:2");
    let hit = &search(&at, &mut index, "afternoon tea", FileFilter::default()).hits[0];
    assert!(plain(hit).starts_with("Oolong tea") && hit.passage.contains(MATCH_START), "{hit:?}");
    assert_eq!((hit.matched, hit.of, hit.score), (2, 2, 1.0));
    // The hit shows the file as it is now, not as it was when it was indexed.
    write(&at, "memory/preference/tea.md", "# Drinks\n\n\n\n\n\n\n\n\n\nThe oolong moved.\n");
    let hit = &search(&at, &mut index, "oolong", FileFilter::default()).hits[0];
    assert_eq!((hit.line, plain(hit).as_str()), (11, "The oolong moved."));
    fs::remove_file(place(&at, "memory/preference/tea.md")).unwrap();
    assert_eq!(found(&at, &mut index, "oolong"), Vec::<String>::new());
    follow(&at, &mut index);
    assert_eq!(findings(&grove, &at, Some(&index)), Vec::<String>::new());
    for odd in ["AND OR NOT", "NEAR(a b)", "title:x", "{title text} : a", "scope : xqaactive", "xqfloop", "\"", "a*"] {
        match search_files(&at, &mut index, &ask(&at, odd), &FileFilter { limit: 3, ..FileFilter::default() }) {
            Ok(_) => {}
            Err(e) => assert_eq!(e.kind(), ErrorKind::Usage, "{odd}"),
        }
    }
    assert_eq!(found(&at, &mut index, "xqfloop"), Vec::<String>::new(), "what limits a search is no word");
}

#[test]
fn rendered_blocks_are_not_found_twice_and_titles_come_first() {
    let grove = Grove::new();
    let at = grove.tree("main");
    let mut index = grove.index();
    write(
        &at,
        "MEMORY.md",
        "# Memory\nmine about heron\n<!-- heirloom:head · x -->\n- about quokka\n<!-- /heirloom:head -->\n",
    );
    write(
        &at,
        "memory/MEMORY.md",
        "# Index\n<!-- heirloom:index -->\n- quokka\n<!-- /heirloom:index -->\nbelow heron\n",
    );
    write(&at, "memory/preference/quokka.md", "# Quokka\nA small animal.\n");
    write(&at, "memory/notes/long.md", &format!("# Other\nquokka {}\n", "and more words of many kinds ".repeat(20)));
    write(&at, "memory/workspace/w-1/runtime/latest-turn.md", "# quokka\n");
    follow(&at, &mut index);
    assert_eq!(found(&at, &mut index, "quokka"), ["memory/preference/quokka.md:1", "memory/notes/long.md:2"]);
    let mut heads = found(&at, &mut index, "heron");
    heads.sort();
    assert_eq!(heads, ["MEMORY.md:2", "memory/MEMORY.md:5"]);
}

#[test]
fn pages_made_from_other_files_come_behind_them() {
    let grove = Grove::new();
    let at = grove.tree("main");
    let mut index = grove.index();
    let page = "# quokka\n<!-- heirloom:daily · x -->\n- the quokka eats leaves\n<!-- /heirloom:daily -->\nquokka\n";
    write(&at, "continuity/daily/2026/01/2026-01-05.md", page);
    let long = format!("# Other\n{} leaves\n", "and more words of many kinds ".repeat(20));
    write(&at, "memory/notes/long.md", &long);
    write(&at, "memory/preference/quokka.md", "# Animals\nA quokka is small.\n");
    follow(&at, &mut index);
    // The page contains all of it in fewer words, but its sources come first.
    let names: Vec<String> =
        found(&at, &mut index, "quokka leaves").iter().map(|f| f.split(':').next().unwrap().into()).collect();
    assert_eq!(names.last().map(String::as_str), Some("continuity/daily/2026/01/2026-01-05.md"), "{names:?}");
    assert_eq!(names.len(), 3);
}

#[test]
fn filters_limit_what_is_found() {
    let grove = Grove::new();
    let (at, other) = (grove.tree("main"), grove.tree("other"));
    let mut index = grove.index();
    let leaf = |path: &str, front: &str| write(&at, path, &format!("---\n{front}\n---\n# Zebra\ntext\n"));
    leaf("memory/preference/a--1.md", "observed: 2026-01-05T10:00:00Z");
    leaf("memory/workspace/w-abc/knowledge/facts/b--2.md", "observed: 2026-02-05T10:00:00Z");
    leaf("memory/workspace/w-abd/knowledge/facts/c--3.md", "observed: 2026-02-05T10:00:00Z");
    leaf("continuity/open-loops/d--4.md", "opened: 2026-03-05\nscope: workspace/w-abc");
    leaf("continuity/open-loops/archive/e--5--20260101T000000Z.md", "opened: 2026-03-06");
    leaf("memory/identity/f--6.md", "observed: 2026-01-05\nsuperseded_by: forgotten");
    write(&other, "memory/preference/g--7.md", "# Zebra\nof another agent\n");
    follow(&at, &mut index);
    follow(&other, &mut index);
    let mut names = |filter: FileFilter| {
        let mut names: Vec<String> = search(&at, &mut index, "zebra", filter)
            .hits
            .iter()
            .map(|h| h.entry.path.name().chars().take(1).collect())
            .collect();
        let order = names.concat();
        names.sort();
        (names.concat(), order)
    };
    let (all, order) = names(FileFilter::default());
    assert_eq!(all, "abcdf");
    assert!(order.ends_with('f'), "superseded last: {order}");
    let (all, order) = names(FileFilter { archived: true, ..FileFilter::default() });
    assert_eq!(all, "abcdef");
    assert!(order.ends_with("ef"), "history after what counts: {order}");
    let of = |kinds: &[Kind]| FileFilter { kinds: kinds.to_vec(), ..FileFilter::default() };
    assert_eq!(names(of(&[Kind::Leaf])).0, "abcf");
    assert_eq!(names(of(&[Kind::OpenLoop, Kind::Artifact])).0, "d");
    assert_eq!(names(of(&[Kind::Rollup])).0, "");
    assert_eq!(names(FileFilter { class: Some("Fact".into()), ..FileFilter::default() }).0, "bc");
    let within = |ids: &[&str]| FileFilter {
        workspaces: Some(ids.iter().map(|i| (*i).to_owned()).collect()),
        ..FileFilter::default()
    };
    assert_eq!(names(within(&["w-abc"])).0, "bd");
    assert_eq!(names(within(&["w-abc", "w-abd"])).0, "bcd");
    assert_eq!(names(within(&[])).0, "");
    let time = |text: &str| Some(heirloom_engine::clock::parse_rfc3339(text).unwrap());
    let since = FileFilter { since: time("2026-02-05T10:00:00Z"), ..FileFilter::default() };
    assert_eq!(names(since.clone()).0, "bcd");
    assert_eq!(names(FileFilter { until: time("2026-03-05T00:00:01Z"), ..since }).0, "bcd");
    let before = FileFilter { until: time("2026-01-05T09:00:00Z"), ..FileFilter::default() };
    assert_eq!(names(before).0, "f", "a day is in time from its beginning to its end");
    assert_eq!(found(&other, &mut index, "zebra"), ["memory/preference/g--7.md:1"]);
}

#[test]
fn credentials_stay_in_the_file() {
    let grove = Grove::new();
    let at = grove.tree("main");
    let mut index = grove.index();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    write(&at, "memory/notes/key.md", &format!("# Keys\n\nThe walrus token is {secret} for now.\n"));
    follow(&at, &mut index);
    for query in ["walrus token", secret, "0123456789abcdefghijABCDEFGHIJ012345*"] {
        for hit in search(&at, &mut index, query, FileFilter::default()).hits {
            assert!(!hit.passage.contains("0123456789ab"), "{query}: {}", hit.passage);
        }
    }
    assert_eq!(found(&at, &mut index, "walrus"), ["memory/notes/key.md:3"]);
}

/// Returns everything the index has of files, by path instead of number.
fn dump(grove: &Grove, index: &Index) -> String {
    let names: std::collections::HashMap<(AgentNo, i64), String> = Connection::open(grove.ledger.path())
        .unwrap()
        .prepare("SELECT agent_no, file_no, path FROM catalogue")
        .unwrap()
        .query_map([], |r| Ok(((r.get(0)?, r.get(1)?), r.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let name = |row: i64| {
        let id = RowId::unpack(row);
        format!("{} {} {}", id.agent_no, names.get(&(id.agent_no, id.turn_no)).map_or("?", |n| n), id.part)
    };
    let conn = Connection::open(index.path()).unwrap();
    conn.execute_batch("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, files_fts, instance)").unwrap();
    let mut lines = Vec::new();
    let mut take = |sql: &str, what: &str| {
        let mut statement = conn.prepare(sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(r) = rows.next().unwrap() {
            let mut line = format!("{what} {}", name(r.get(0).unwrap()));
            for i in 1..columns {
                write!(line, " {:?}", r.get_ref(i).unwrap()).unwrap();
            }
            lines.push(line);
        }
    };
    take("SELECT doc, term, col, offset FROM words", "word");
    take("SELECT id, sz FROM files_fts_docsize", "size");
    take("SELECT file, change_no, digest, parts, due FROM files", "made");
    lines.sort();
    let totals: Vec<u8> = conn.query_row("SELECT block FROM files_fts_data WHERE id = 1", [], |r| r.get(0)).unwrap();
    format!("{}\ntotals {totals:?}", lines.join("\n"))
}

const WORDS: &[&str] =
    &["heron", "otter", "badger", "lynx", "marten", "stoat", "größe", "東京", "deploy", "index", "the"];

fn text(rng: &mut Rng) -> String {
    let mut text = String::new();
    if rng.below(2) == 0 {
        writeln!(text, "---\ntitle: {} {}\ndue: 2026-11-{:02}\n---", rng.pick(WORDS), rng.below(99), 1 + rng.below(28))
            .unwrap();
    }
    writeln!(text, "# {} {}", rng.pick(WORDS), rng.below(1000)).unwrap();
    let lines = if rng.below(60) == 0 { 1200 } else { rng.below(12) };
    for _ in 0..lines {
        let words: Vec<&str> = (0..rng.below(9)).map(|_| *rng.pick(WORDS)).collect();
        writeln!(text, "{}", words.join(" ")).unwrap();
    }
    text
}

fn some_file(at: &AssistantHome, rng: &mut Rng) -> Option<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![at.files.shown().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { all.push(path) }
        }
    }
    all.sort();
    (!all.is_empty()).then(|| rng.pick(&all).clone())
}

const FOLDERS: &[&str] = &[
    "memory/preference",
    "memory/workspace/w-1/knowledge/facts",
    "continuity/open-loops",
    "continuity/open-loops/archive",
    "continuity/daily/2026/11",
    "memory/workspace/w-1/runtime",
    "memory/notes/deep/er",
];

/// Runs a random act of a person or program on files.
fn act(at: &AssistantHome, rng: &mut Rng, n: usize) {
    let new = |rng: &mut Rng| place(at, &format!("{}/f{n}--{}.md", rng.pick(FOLDERS), rng.below(50)));
    match rng.below(10) {
        0..=3 => {
            let path = new(rng);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text(rng)).unwrap();
        }
        4 | 5 => {
            if let Some(path) = some_file(at, rng) {
                fs::write(path, text(rng)).unwrap();
            }
        }
        6 => {
            if let Some(path) = some_file(at, rng) {
                fs::remove_file(path).unwrap();
            }
        }
        7 => {
            if let Some(path) = some_file(at, rng) {
                let to = new(rng);
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::rename(path, to).unwrap();
            }
        }
        8 => {
            let title = format!("{} {}", rng.pick(WORDS), rng.below(8));
            let new = NewLoop { title, text: Some(text(rng)), ..NewLoop::default() };
            // A file made by hand may be in the way of the new one.
            let _ = open_loop::add(&at.lock().unwrap(), &new);
        }
        _ => {
            let title = format!("{} {}", rng.pick(WORDS), rng.below(8));
            let _ = open_loop::resolve(&at.lock().unwrap(), &[title], None);
        }
    }
}

#[test]
fn following_the_files_is_the_same_as_beginning_anew() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let grove = Grove::new();
        let trees = [grove.tree("main"), grove.tree("ada")];
        let mut index = grove.index();
        for n in 0..100 {
            let at = rng.pick(&trees);
            act(at, &mut rng, n);
            match rng.below(6) {
                0 => follow(at, &mut index),
                // The index catches up with little time, or without a scan of the files.
                1 => {
                    scan::scan(at).unwrap();
                    index.catch_up_files(at, Some(Instant::now() + Duration::from_micros(300))).unwrap();
                }
                2 => drop(index.catch_up_files(at, None).unwrap()),
                // Another process takes over.
                3 => index = grove.index(),
                _ => {}
            }
        }
        let mut fresh = grove.index_at("fresh.db");
        for at in &trees {
            follow(at, &mut index);
            follow(at, &mut fresh);
        }
        let (one, other) = (dump(&grove, &index), dump(&grove, &fresh));
        if one != other {
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
            let differ: Vec<_> = lines(&one).difference(&lines(&other)).take(8).cloned().collect();
            let lack: Vec<_> = lines(&other).difference(&lines(&one)).take(8).cloned().collect();
            panic!("seed {seed}: {differ:#?} {lack:#?}");
        }
        for n in 0..20 {
            let query = format!("{} {} {}", WORDS[n % WORDS.len()], rng.pick(WORDS), rng.below(1000));
            for at in &trees {
                let of = |index: &mut Index| {
                    let filter = FileFilter { archived: n % 2 == 0, ..FileFilter::default() };
                    let hits = search(at, index, &query, filter).hits;
                    hits.into_iter()
                        .map(|h| format!("{}:{} {:.9} {}", h.entry.path, h.line, h.score, h.passage))
                        .collect::<Vec<_>>()
                };
                assert_eq!(of(&mut index), of(&mut fresh), "seed {seed}: {query}");
            }
        }
        for at in &trees {
            assert_eq!(findings(&grove, at, Some(&index)), Vec::<String>::new(), "seed {seed}");
        }
    }
}

#[test]
fn a_file_that_comes_back_as_it_was_is_found_again() {
    let grove = Grove::new();
    let at = grove.tree("main");
    let mut index = grove.index();
    write(&at, "memory/notes/a.md", "# First zebra\n");
    scan::scan(&at).unwrap();
    // The file is saved between scan and indexing and then restored: the file table sees no change at all.
    write(&at, "memory/notes/a.md", "# Second okapi\n");
    index.catch_up_files(&at, None).unwrap();
    assert_eq!(found(&at, &mut index, "okapi").len(), 1);
    write(&at, "memory/notes/a.md", "# First zebra\n");
    follow(&at, &mut index);
    assert_eq!(found(&at, &mut index, "zebra"), ["memory/notes/a.md:1"]);
    assert_eq!(found(&at, &mut index, "okapi"), Vec::<String>::new());
    // The file is missing for a moment.
    let (path, aside) = (place(&at, "memory/notes/a.md"), grove.folder.path().join("aside"));
    let mut fresh = grove.index_at("fresh.db");
    fs::rename(&path, &aside).unwrap();
    fresh.catch_up_files(&at, None).unwrap();
    assert_eq!(found(&at, &mut fresh, "zebra"), Vec::<String>::new());
    fs::rename(&aside, &path).unwrap();
    follow(&at, &mut fresh);
    assert_eq!(found(&at, &mut fresh, "zebra"), ["memory/notes/a.md:1"]);
    assert_eq!(dump(&grove, &index), dump(&grove, &fresh));
}

#[test]
fn rows_of_another_history_are_made_again() {
    let breaks: &[&str] = &[
        "UPDATE meta SET value = '999 1 aa 1 bb' WHERE key LIKE 'files:%'",
        "UPDATE meta SET value = replace(value, ' ', ' 9') WHERE key LIKE 'files:%'",
        "UPDATE meta SET value = 'lost' WHERE key LIKE 'files:%'",
        "DELETE FROM meta WHERE key LIKE 'files:%'",
    ];
    for sql in breaks {
        let grove = Grove::new();
        let at = grove.tree("main");
        let mut index = grove.index();
        write(&at, "memory/notes/a.md", "# First zebra\n");
        follow(&at, &mut index);
        let before = dump(&grove, &index);
        Connection::open(index.path()).unwrap().execute_batch(sql).unwrap();
        follow(&at, &mut index);
        assert_eq!(dump(&grove, &index), before, "{sql}");
        assert_eq!(found(&at, &mut index, "zebra").len(), 1, "{sql}");
        assert_eq!(findings(&grove, &at, Some(&index)), Vec::<String>::new(), "{sql}");
    }
    // A file table that was lost gives its files new numbers.
    let grove = Grove::new();
    let at = grove.tree("main");
    let mut index = grove.index();
    write(&at, "memory/notes/a.md", "# First zebra\n");
    follow(&at, &mut index);
    Connection::open(grove.ledger.path()).unwrap().execute_batch("DELETE FROM catalogue").unwrap();
    follow(&at, &mut index);
    let mut fresh = grove.index_at("fresh.db");
    follow(&at, &mut fresh);
    assert_eq!(dump(&grove, &index), dump(&grove, &fresh));
}

#[test]
fn verify_names_what_does_not_fit() {
    let grove = Grove::new();
    let at = grove.tree("main");
    let mut index = grove.index();
    write(&at, "memory/notes/a.md", "# First zebra\n");
    write(&at, "memory/notes/b.md", "# Second zebra\n");
    follow(&at, &mut index);
    let expect = |index: &Index, parts: &[&str]| {
        let found = findings(&grove, &at, Some(index));
        for part in parts {
            assert!(found.iter().any(|f| f.contains(part)), "{part:?} is not in {found:#?}");
        }
        assert!(found.iter().all(|f| f.starts_with("Stale")), "{found:#?}");
        assert_eq!(found.len(), parts.len(), "{found:#?}");
    };
    expect(&index, &[]);
    write(&at, "memory/notes/a.md", "# Changed\n");
    fs::remove_file(place(&at, "memory/notes/b.md")).unwrap();
    write(&at, "memory/notes/c.md", "# New\n");
    named_pipe(&place(&at, "memory/notes/pipe.md"));
    expect(
        &index,
        &[
            "a.md: has changed since",
            "b.md: is gone, and no copy of it is kept",
            "c.md: is not in the catalogue",
            "pipe.md: is no regular file",
        ],
    );
    fs::remove_file(place(&at, "memory/notes/pipe.md")).unwrap();
    follow(&at, &mut index);
    expect(&index, &[]);
    let sql = |text: &str| Connection::open(index.path()).unwrap().execute_batch(text).unwrap();
    let of_a = "(SELECT max(file) - 0 FROM files)";
    sql(&format!("UPDATE files SET change_no = change_no - 1 WHERE file = {of_a}"));
    expect(&index, &["has rows of an earlier state"]);
    sql(&format!(
        "UPDATE files SET change_no = change_no + 1 WHERE file = {of_a}; UPDATE files SET file = file + 6400 WHERE file = {of_a}"
    ));
    expect(&index, &["has no rows in the search index", "is gone and has rows"]);
    sql(&format!(
        "UPDATE files SET file = file - 6400 WHERE file = {of_a}; DELETE FROM files_fts WHERE rowid = {of_a}"
    ));
    expect(&index, &["has rows missing", "file rows and has", "file rows of all agents together and has"]);
    Connection::open(grove.ledger.path())
        .unwrap()
        .execute(
            "INSERT INTO flushes (flush_id, agent_no, action, plan, state, created_at) VALUES ('f1', ?1, 'loop.add', '{}', 'planned', 1)",
            [at.agent_no],
        )
        .unwrap();
    let found = findings(&grove, &at, None);
    assert!(found.len() == 1 && found[0].contains("loop.add was begun and not finished"), "{found:?}");
}

#[test]
fn files_that_come_and_go_disturb_nobody() {
    let grove = Grove::new();
    let at = grove.tree("main");
    let mut index = grove.index();
    write(&at, "memory/notes/still.md", "# A still zebra\n");
    fs::create_dir_all(place(&at, "memory/notes/folder.md")).unwrap();
    named_pipe(&place(&at, "memory/notes/pipe.md"));
    let folder = place(&at, "memory/notes");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (mut rounds, mut told) = (0, std::collections::BTreeSet::new());
    std::thread::scope(|scope| {
        let churn = scope.spawn(|| {
            let mut rng = Rng::new(7);
            let mut acts = 0u32;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let deep = folder.join(format!("d{}", rng.below(5)));
                let path = deep.join(format!("f{}.md", rng.below(40)));
                match rng.below(3) {
                    0 => drop(fs::remove_file(&path)),
                    1 => drop(fs::remove_dir_all(&deep)),
                    _ => {
                        let _ = fs::create_dir_all(&deep);
                        let _ = fs::write(&path, format!("# Churned {acts}\nheron words\n"));
                    }
                }
                acts += 1;
                std::thread::sleep(Duration::from_millis(3));
            }
            acts
        });
        // The flag is set even if this thread panics, so that the other thread ends.
        let end = Instant::now() + Duration::from_secs(3);
        struct Stop<'a>(&'a std::sync::atomic::AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        let stopper = Stop(&stop);
        while Instant::now() < end {
            for problem in scan::scan(&at).unwrap().problems {
                told.insert(problem.place.rsplit('/').next().unwrap().to_owned());
            }
            index.catch_up_files(&at, Some(Instant::now() + Duration::from_millis(50))).unwrap();
            assert_eq!(found(&at, &mut index, "still zebra")[0], "memory/notes/still.md:1");
            search(&at, &mut index, "heron", FileFilter::default());
            rounds += 1;
        }
        drop(stopper);
        let acts = churn.join().unwrap();
        assert!(acts > 100 && rounds > 10, "{acts} acts, {rounds} rounds");
    });
    assert_eq!(
        told.into_iter().collect::<Vec<_>>(),
        ["folder.md", "pipe.md"],
        "what is really in the way, and no more"
    );
    follow(&at, &mut index);
    let mut fresh = grove.index_at("fresh.db");
    follow(&at, &mut fresh);
    assert_eq!(dump(&grove, &index), dump(&grove, &fresh));
}

#[test]
fn hostile_names_lead_nowhere() {
    let grove = Grove::new();
    let at = grove.tree("main");
    fs::write(grove.folder.path().join("canary.md"), "CANARY").unwrap();
    fs::write(at.files.shown().parent().unwrap().join("canary.md"), "CANARY").unwrap();
    write(&at, "memory/notes/tea.md", "# Tea\n");
    write(&at, ".hidden/secret.md", "CANARY");
    write(&at, "memory/notes/data.txt", "CANARY");
    std::os::unix::fs::symlink(grove.folder.path().join("canary.md"), place(&at, "memory/notes/link.md")).unwrap();
    std::os::unix::fs::symlink(grove.folder.path(), place(&at, "out")).unwrap();
    let item = open_loop::add(&at.lock().unwrap(), &NewLoop { title: "Ask Ada".into(), ..NewLoop::default() }).unwrap();
    scan::scan(&at).unwrap();
    let path = |text: &str| address::find(&at, text).map(|a| (a.entry.path.as_str().to_owned(), a.line));
    let tea = |line| ("memory/notes/tea.md".to_owned(), line);
    assert_eq!(path("memory/notes/tea.md").unwrap(), tea(None));
    assert_eq!(path("memory/notes/tea.md:12").unwrap(), tea(Some(12)));
    let root = at.files.shown().display().to_string();
    assert_eq!(path(&format!("{root}/memory/notes/tea.md:3")).unwrap(), tea(Some(3)));
    assert_eq!(path(&item.id).unwrap().0, item.path.as_str());
    let long = item.id.clone();
    assert_eq!(path(&long[..6]).unwrap().0, item.path.as_str(), "the beginning of an id");
    open_loop::resolve(&at.lock().unwrap(), &["Ask Ada".into()], None).unwrap();
    let archived = address::find(&at, &item.id).unwrap().entry;
    assert_eq!(archived.state, State::Archived);

    let pieces = [
        "..",
        ".",
        "",
        "/",
        "//",
        "memory/notes",
        "tea.md",
        "canary.md",
        "link.md",
        "out",
        ".hidden",
        "secret.md",
        "data.txt",
        "state",
        "runtime.db",
        "\0",
        "\n",
        "\u{202e}",
        "%2e%2e",
        "..%2f",
        "\\",
        "~",
        "$HOME",
        "memory/notes/../..",
        ":1",
        ":0",
        ":-1",
        ":99999999999999999999",
        "l:",
        "p:",
        "m:",
        "a:",
        "l:..",
        "l:'; DROP TABLE catalogue; --",
        "*",
        "é",
        "𝕏",
        "tea.MD",
        "TEA.md",
        " ",
        "etc/passwd",
        "/etc/passwd",
        "/proc/self/environ",
        "main",
        "ada",
        "workspaces",
    ];
    let mut rng = Rng::new(11);
    let mut refused = [0; 3];
    for n in 0..2000 {
        let mut text = match rng.below(5) {
            0 => format!("{root}/"),
            1 => "/".into(),
            _ => String::new(),
        };
        for _ in 0..1 + rng.below(6) {
            text.push_str(rng.pick::<&str>(&pieces));
            if rng.below(2) == 0 {
                text.push('/');
            }
        }
        if n % 50 == 0 {
            text.push_str(&"x/".repeat(rng.below(5000)));
        }
        match address::find(&at, &text) {
            Ok(found) => {
                let name = found.entry.path.as_str();
                assert!(name == "memory/notes/tea.md" || found.entry.kind == Kind::OpenLoop, "{text:?} gave {name}");
            }
            Err(e) => {
                assert!(!e.to_string().contains("CANARY"), "{e}");
                assert!(e.next_step().is_some(), "{text:?}: {e}");
                refused[match e.kind() {
                    ErrorKind::Usage => 0,
                    ErrorKind::NotFound => 1,
                    ErrorKind::Refused => 2,
                    other => panic!("{text:?}: {other:?} {e}"),
                }] += 1;
            }
        }
    }
    assert!(refused.iter().all(|n| *n > 20) && refused.iter().sum::<i32>() > 1800, "{refused:?}");
}

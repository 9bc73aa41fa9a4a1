//! Forgotten text is gone everywhere, stays gone whatever is imported again, and nothing else is lost with it (R14.2).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heirloom_engine::capture::{Capture, LineAck, Totals};
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::error::{ErrorKind, Result};
use heirloom_engine::forget::{self, Preview, Request, Wish};
use heirloom_engine::index::Index;
use heirloom_engine::ledger::Audit;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::lineage::{self, Kind, NewNode, Source};
use heirloom_engine::memory::{self, Class, NewLeaf, Scope};
use heirloom_engine::pages::{self, Happened};
use heirloom_engine::render::{self, Occasion};
use heirloom_engine::scope::{AgentId, AgentNo, LaneNo, NodeId, RecordNo, RunNo, TurnId};
use heirloom_engine::thread;
use heirloom_engine::transcript::{export, read};
use heirloom_engine::tree::provenance::{Origin, Provenance};
use heirloom_engine::verify::{files, verify};
use rusqlite::{Connection, params};

use crate::tree::{Tree, rest};
use crate::world::{GLOBAL, LITTLE, Little, STORE_SCHEMA, form_of, said};

/// A word no other text contains, in the form the index stores.
const WORD: &str = "quuxfrobnitz";

pub struct Story {
    pub tree: Tree,
    little: &'static Little,
}

impl Story {
    pub fn new(little: &'static Little) -> Story {
        Story { tree: Tree::new(), little }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.tree.folder.path().join(name)
    }

    fn index(&self) -> Index {
        let path = self.tree.home.root().join("state/index.db");
        Index::open(&path, self.tree.ledger.id(), Duration::from_secs(5)).unwrap().0
    }

    /// Writes a file and imports it.
    pub fn tell(&self, name: &str, text: &str) -> Totals {
        std::fs::write(self.path(name), text).unwrap();
        self.import(name)
    }

    pub fn import(&self, name: &str) -> Totals {
        self.import_for(&AgentId::main(), name)
    }

    fn import_for(&self, agent: &AgentId, name: &str) -> Totals {
        let scratch = self.tree.home.root().join("state/scratch");
        let mut index = self.index();
        let mut capture = Capture::new(&self.tree.ledger, Some(&mut index), "test", &scratch, None).unwrap();
        let path = self.path(name);
        capture.store(self.little, agent, &path, form_of(name)).unwrap();
        let totals = capture.finish().unwrap().0;
        index.catch_up(&self.tree.ledger, None, &mut |_| {}).unwrap();
        totals
    }

    pub fn line(&self, line: &str) -> LineAck {
        let scratch = self.tree.home.root().join("state/scratch");
        let mut capture = Capture::new(&self.tree.ledger, None, "test", &scratch, None).unwrap();
        capture.line(self.little, &AgentId::main(), line.as_bytes()).unwrap()
    }

    pub fn plan(&self, wish: Wish) -> Result<Preview> {
        let global_ids = |_: &str| self.little.global_ids;
        forget::plan(&self.tree.at(), &Request { wish, global_ids: &global_ids }, &mut |_| {}).map(|p| p.preview)
    }

    /// Forgets, and finishes the act.
    pub fn forget(&self, wish: Wish) -> Preview {
        let preview = self.begin(wish);
        let anew = forget::names_are_in_index(&self.tree.ledger).unwrap();
        if anew {
            let path = self.tree.home.root().join("state/index.db");
            for log in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{log}", path.display()));
            }
        }
        let mut index = self.index();
        forget::finish(&self.tree.at(), Some(&mut index), true).unwrap();
        assert!(forget::unfinished(&self.tree.ledger).unwrap().is_empty());
        if anew {
            index.catch_up(&self.tree.ledger, None, &mut |_| {}).unwrap();
        }
        preview
    }

    /// Runs only the first part of forgetting, as if the process was killed then.
    fn begin(&self, wish: Wish) -> Preview {
        let (at, global_ids) = (self.tree.at(), |_: &str| self.little.global_ids);
        let plan = forget::plan(&at, &Request { wish, global_ids: &global_ids }, &mut |_| {}).unwrap();
        assert_eq!(forget::carry_out(&at.lock().unwrap(), &plan).unwrap(), Vec::<String>::new());
        plan.preview
    }

    /// Returns the turn with this text.
    fn turn(&self, text: &str) -> TurnId {
        let all = self.tree.count("SELECT coalesce(max(turn_no), 0) FROM turns");
        let find = |no| {
            let turn =
                self.tree.ledger.read(|tx| read::find_turn(tx, &Opener::default(), self.tree.agent_no, TurnId(no)));
            turn.unwrap().filter(|t| t.text == text).map(|t| t.id)
        };
        (1..=all).find_map(find).unwrap_or_else(|| panic!("nobody said {text}"))
    }

    /// Returns the texts of a session; `-` for a forgotten turn.
    pub fn texts(&self, session: &str) -> Vec<String> {
        let mut out = Vec::new();
        self.tree
            .ledger
            .read(|tx| {
                let row = read::session_named(tx, self.tree.agent_no, session)?;
                read::session_turns(tx, &Opener::default(), &row, None, |turn| {
                    out.push(if turn.forgotten.is_some() { "-".into() } else { turn.text });
                    Ok(())
                })
            })
            .unwrap();
        out
    }

    fn export(&self, name: &str) -> (String, u64) {
        let path = self.path(name).canonicalize().unwrap();
        let mut out = Vec::new();
        let written = self
            .tree
            .ledger
            .read(|tx| {
                let stream = export::stream_of_file(tx, self.tree.agent_no, &path)?.expect("the stream is known");
                export::write_stream(tx, &Opener::default(), &stream, stream.generation, &mut out, &mut |_| {})
            })
            .unwrap();
        assert_eq!(written.bytes, out.len() as u64);
        (String::from_utf8(out).unwrap(), written.forgotten)
    }

    pub fn verified(&self) {
        let index = self.index();
        let mut report = verify(&self.tree.ledger, Some(&index), &mut |_| {}).unwrap();
        files::files(&self.tree.at(), Some(&index), true, &mut report).unwrap();
        assert_eq!(report.findings, Vec::new());
    }

    /// Puts every run into its thread.
    pub fn threads(&self) {
        let runs: Vec<i64> = {
            let db = self.tree.sql();
            let mut statement = db.prepare("SELECT run_no FROM turn_results").unwrap();
            statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let joined = self.tree.ledger.write(Audit::new("test", "thread.test"), |tx| {
            for run in runs.into_iter().map(RunNo) {
                let to = thread::membership(tx, run)?;
                thread::join(tx, self.tree.agent_no, run, &to)?;
            }
            Ok(())
        });
        joined.unwrap();
    }

    /// Returns the texts of a column.
    pub fn names(&self, sql: &str) -> Vec<String> {
        let db = self.tree.sql();
        let mut statement = db.prepare(sql).unwrap();
        statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Checks that the word is nowhere in the home, and that the home verifies.
    pub fn gone(&self, word: &str) {
        assert_eq!(self.traces(word), BTreeSet::new());
        self.verified();
    }

    /// Returns the files of the home that contain the word, and the columns that do, compressed or not.
    pub fn traces(&self, word: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut folders = vec![self.tree.home.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.tree.home.root()).unwrap().display().to_string();
                if has(&std::fs::read(&path).unwrap(), word) || has(name.as_bytes(), word) {
                    found.insert(name.clone());
                }
                if name.ends_with(".db") {
                    found.extend(columns(&path, word));
                }
            }
        }
        found
    }
}

fn has(bytes: &[u8], word: &str) -> bool {
    String::from_utf8_lossy(bytes).to_lowercase().contains(word)
}

fn columns(path: &Path, word: &str) -> Vec<String> {
    let db = Connection::open(path).unwrap();
    let names = |sql: &str| -> Vec<String> {
        db.prepare(sql).unwrap().query_map([], |r| r.get(0)).unwrap().map(|r| r.unwrap()).collect()
    };
    let mut found = Vec::new();
    for table in names("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'") {
        for column in names(&format!("SELECT name FROM pragma_table_info('{table}')")) {
            let mut statement = db.prepare(&format!("SELECT CAST({column} AS BLOB) FROM \"{table}\"")).unwrap();
            let values = statement.query_map([], |r| r.get::<_, Option<Vec<u8>>>(0)).unwrap();
            for value in values.flatten().flatten() {
                let opened = zstd::stream::decode_all(value.as_slice()).unwrap_or_default();
                if has(&value, word) || has(&opened, word) {
                    found.push(format!("{table}.{column}"));
                }
            }
        }
    }
    found
}

fn word() -> Wish {
    Wish::Match { text: "Quuxfrobnitz".into(), ignore_case: false, since: None, until: None }
}

fn distilled(turn: TurnId) -> Provenance {
    Provenance { origin: Origin::Distilled, turns: vec![turn], ..Provenance::default() }
}

/// Makes a chunk over turns and a session node over it, with an item of one of the turns.
fn nodes(story: &Story, session: &str, (first, last): (TurnId, TurnId), item: &str, from: TurnId) -> [NodeId; 2] {
    let agent_no = story.tree.agent_no;
    story
        .tree
        .ledger
        .write(Audit::new("test", "node.add"), |tx| {
            let session = read::session_named(tx, agent_no, session)?.no;
            let (lane, run): (LaneNo, RunNo) =
                tx.query_row("SELECT lane_no, run_no FROM turns WHERE turn_no = ?1", [first.0], |r| {
                    Ok((r.get(0)?, r.get(1)?))
                })?;
            let thread_no = thread::join(tx, agent_no, run, &thread::membership(tx, run)?)?;
            let distillate = Distillate { done: vec![Item::new(item, from)], ..Distillate::default() };
            let new = NewNode {
                agent_no,
                kind: Kind::Chunk,
                depth: 0,
                thread_no,
                session_no: Some(session),
                lane_no: Some(lane),
                turns: (first, last),
                times: (None, None),
                count: (last.0 - first.0 + 1) as u64,
                summary: item.to_owned(),
                distillate,
                source: Source::Deterministic,
                source_tokens: 1000,
                summary_turn: None,
                abandoned: false,
                late: Vec::new(),
                replaces: None,
                flush: None,
                children: Vec::new(),
            };
            let chunk = lineage::insert(tx, &new)?;
            let over = NewNode { kind: Kind::Session, lane_no: None, children: vec![chunk], ..new };
            Ok([chunk, lineage::insert(tx, &over)?])
        })
        .unwrap()
}

/// Escapes every letter of a word, as some programs do in JSON.
fn escaped(word: &str) -> String {
    word.chars().map(|c| format!("\\u{:04x}", c as u32)).collect()
}

#[test]
fn what_is_planted_everywhere_is_gone_everywhere() {
    let story = Story::new(&LITTLE);
    let neighbour: String =
        (0..40).map(|n| said(&format!("n{n}"), "assistant", &format!("neighbour {n} stays"))).collect();
    let tool = "out: {\"code\":\"Quuxfrobnitz\"}";
    let tool = serde_json::json!({"id": "b", "role": "tool", "kind": "tool-result", "text": tool}).to_string();
    let planted = [
        said("a", "user", "The code is Quuxfrobnitz, keep it."),
        neighbour.clone(),
        tool,
        format!("\n{{\"id\":\"c\",\"role\":\"assistant\",\"text\":\"I wrote {} down\"}}\n", escaped("Quuxfrobnitz")),
        "{\"fact\":\"title\",\"value\":\"About Quuxfrobnitz\"}\n".to_owned(),
        "{\"fact\":\"version\",\"value\":\"1\",\"seen\":\"Quuxfrobnitz\"}\n".to_owned(),
        "broken Quuxfrobnitz line\n{\"id\":\"d\",\"role\":\"user\",\"text\":\"half Quuxfrobnitz".to_owned(),
    ]
    .concat();
    story.tell("s.jsonl", &planted);
    story.tell("t.jsonl", &said("a", "user", "Another session says nothing of it."));
    let turn = story.turn("The code is Quuxfrobnitz, keep it.");
    let last = story.turn("I wrote Quuxfrobnitz down");
    let made = nodes(&story, "s", (turn, last), "Learnt Quuxfrobnitz", turn);

    let at = story.tree.at();
    {
        let lock = at.lock().unwrap();
        for (title, source) in [("Rotate Quuxfrobnitz", distilled(turn)), ("Say it to Bob", distilled(turn))] {
            open_loop::add(&lock, &NewLoop { title: title.into(), source, ..NewLoop::default() }).unwrap();
        }
        open_loop::add(&lock, &NewLoop { title: "Water the plants".into(), ..NewLoop::default() }).unwrap();
        let leaf = NewLeaf::new(Class::Preference, Scope::Agent, "Calls it Quuxfrobnitz".to_owned());
        memory::add(&lock, &leaf).unwrap();
    }
    render::refresh(&at, Occasion::Act).unwrap();
    // A person edits inside a page: the previous text is kept as a revision.
    let page = story.tree.path("MEMORY.md");
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, text.replace("Quuxfrobnitz", "the Quuxfrobnitz")).unwrap();
    rest(&page);
    story
        .tree
        .ledger
        .write(Audit::new("test", "head.mark"), |tx| pages::mark(tx, story.tree.agent_no, &Happened::LoopChanged))
        .unwrap();
    render::refresh(&at, Occasion::Act).unwrap();
    {
        let sql = story.tree.sql();
        let agent = story.tree.agent_no;
        sql.execute_batch(&format!(
            "INSERT OR IGNORE INTO heads (agent_no, head, dirty, rendered) VALUES ({agent}, 'thread/x', 0, 0);
             UPDATE heads SET revision = 1 WHERE agent_no = {agent} AND head = 'thread/x';
             INSERT INTO head_revisions VALUES ({agent}, 'thread/x', 1, 1, 'me', 0, x'00', CAST('Quuxfrobnitz' AS BLOB), '{{}}');
             INSERT INTO head_sections VALUES ({agent}, 'thread/x', 'now', 'me', 'Quuxfrobnitz', 0);
             INSERT INTO head_deferred VALUES ({agent}, 'thread/x', 'now', 'me', 'Quuxfrobnitz', 0);
             INSERT INTO profile VALUES ({agent}, 'company', 'Quuxfrobnitz Ltd', 'user', 0);
             INSERT INTO channel_events (agent_no, channel, peer, name, state, at) VALUES ({agent}, 'mail', 'b', 'Quuxfrobnitz', 'denied', 0);
             INSERT INTO scheduled_runs (agent_no, name, command, started_at, error) VALUES ({agent}, 'x', 'echo', 0, 'no Quuxfrobnitz');
             INSERT INTO jobs (kind, payload, idempotency_key, state, not_before, created_at, last_error)
               VALUES ('index', '{{}}', 'x', 'dead', 0, 0, 'at Quuxfrobnitz');"
        ))
        .unwrap();
    }
    // A backup from before a migration, and a copy left by a killed command.
    let state = story.tree.home.root().join("state");
    let backup = state.join("backups/runtime-schema2-2026.db");
    story.tree.sql().execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
    std::fs::write(state.join("scratch/copy"), "Quuxfrobnitz").unwrap();
    let before = story.traces(WORD);
    for place in [
        "state/runtime.db-wal",
        "state/index.db",
        "state/backups/runtime-schema2-2026.db",
        "blocks.data",
        "nodes.distillate",
        "file_revisions.data",
        "streams.pending",
        "sessions.title",
        "MEMORY.md",
    ] {
        assert!(before.iter().any(|p| p.ends_with(place)), "{place} is not in {before:#?}");
    }

    let preview = story.plan(word()).unwrap();
    assert_eq!((preview.turns, preview.ends, preview.titles), (3, 1, 1));
    assert_eq!(preview.records, 6, "three with turns, a title, something else, a broken line");
    assert_eq!(preview.nodes, made);
    // The commitment that was reworded is there twice: closed in the old words, open in the new ones.
    assert_eq!(preview.items.len(), 5, "{:?}", preview.items);
    assert_eq!(preview.backups, std::slice::from_ref(&backup));
    assert_eq!(preview.not_ours, [story.path("s.jsonl").canonicalize().unwrap()]);
    assert_eq!(story.traces(WORD), before, "looking changes nothing");

    let done = story.forget(word());
    assert_eq!(done, preview, "the preview is what happens");
    story.gone(WORD);
    assert!(!backup.exists());
    assert_eq!(story.texts("t"), ["Another session says nothing of it."]);
    assert_eq!(story.export("s.jsonl"), (neighbour, 7));
    let loops = story.tree.files("continuity/open-loops");
    let left: Vec<&String> = loops.iter().filter(|name| *name != "archive").collect();
    assert!(left.len() == 1 && left[0].starts_with("water-the-plants--"), "{loops:?}");
    assert_eq!(story.tree.files("continuity/open-loops/archive"), [""; 0]);

    // Every node is still in its place, without words, and leads to its tombstone.
    let agent = story.tree.agent_no;
    story
        .tree
        .ledger
        .read(|tx| {
            for old in made {
                let tombstone = lineage::node(tx, agent, old)?;
                assert!(tombstone.forgotten && tombstone.summary.is_empty() && tombstone.distillate.is_empty());
            }
            let chunk = lineage::chunk_of(tx, lineage::node(tx, agent, made[0])?.lane_no.unwrap(), turn)?.unwrap();
            let new = lineage::node(tx, agent, chunk)?;
            assert_eq!((new.replaces, new.turns, new.count), (Some(made[0]), (turn, last), 43));
            let parents = lineage::walk::parents(tx, agent, chunk)?;
            assert_eq!(parents.iter().map(|n| n.replaces).collect::<Vec<_>>(), [Some(made[1])]);
            assert_eq!(lineage::walk::children(tx, agent, made[1])?[0].id, made[0], "a tombstone keeps its edges");
            Ok(())
        })
        .unwrap();
    // A second time nothing is left to do. A file a person wrote is named and never changed.
    assert_eq!(story.plan(word()).unwrap(), Preview::default());
    story.tree.hand("notes.md", "# Mine\nI know of Quuxfrobnitz.\n");
    drop(at.lock().unwrap());
    let by_hand = vec![story.tree.path("notes.md").canonicalize().unwrap().display().to_string()];
    assert_eq!(story.plan(word()).unwrap(), Preview { by_hand, ..Preview::default() });
}

#[test]
fn nothing_brings_it_back() {
    for little in [&LITTLE, &GLOBAL] {
        let story = Story::new(little);
        let lines = [
            said("a", "user", "first words of all"),
            said("b", "assistant", "the secret Quuxfrobnitz itself"),
            "{\"role\":\"user\",\"at\":77,\"text\":\"no id, but Quuxfrobnitz\"}\n".to_owned(),
            "{\"fact\":\"version\",\"value\":\"1\",\"seen\":\"Quuxfrobnitz\"}\n".to_owned(),
            said("c", "user", "and the end"),
        ];
        story.tell("s.jsonl", &lines.concat());
        story.forget(word());
        story.gone(WORD);
        let rest = [lines[0].as_str(), &lines[4]].concat();
        assert_eq!(story.export("s.jsonl"), (rest.clone(), 3));

        // The file is imported again unchanged.
        let records = story.tree.count("SELECT count(*) FROM records");
        story.import("s.jsonl");
        assert_eq!(story.tree.count("SELECT count(*) FROM records"), records);
        // The file is continued.
        let longer = lines.concat() + &said("d", "user", "more to say");
        let totals = story.tell("s.jsonl", &longer);
        assert_eq!((totals.rewritten, totals.turns), (0, 1));
        story.gone(WORD);
        // The file is rewritten, with the same turns at other places.
        let rewritten = said("z", "user", "now in front") + &longer.replace("words of all", "words at all");
        assert_eq!(story.tell("s.jsonl", &rewritten).rewritten, 1);
        // Only the line without an id that makes no turn is at another place now, and cannot be recognised any more.
        let (exported, forgotten) = story.export("s.jsonl");
        assert_eq!(forgotten, 2);
        assert_eq!(exported.matches("Quuxfrobnitz").count(), 1);
        story.forget(word());
        story.gone(WORD);
        // A copy of the same session at another path.
        std::fs::create_dir(story.path("moved")).unwrap();
        let without_version = longer.replace(&lines[3], "");
        story.tell("moved/s.jsonl", &without_version);
        story.gone(WORD);
        // A fork of the session.
        let fork = format!("{}{without_version}", "{\"fact\":\"fork-of\",\"value\":\"s\"}\n");
        story.tell("fork.jsonl", &fork);
        story.gone(WORD);
        assert!(!story.texts("s").contains(&"the secret Quuxfrobnitz itself".to_owned()));
        assert!(story.texts("fork").contains(&"more to say".to_owned()), "{:?}", story.texts("fork"));
        story.verified();
    }
}

/// A decoder's state, and a program's reason for the end of a run, may repeat words of the turns.
#[test]
fn the_words_go_from_decoders_and_ends_of_runs() {
    let model = "{\"fact\":\"model\",\"value\":\"Quuxfrobnitz\"}\n";
    let end = "UPDATE turn_results SET stop_reason = 'cut at Quuxfrobnitz', request_fingerprint = 'f7'";
    for wish in [word(), Wish::Session("little:s".into())] {
        let story = Story::new(&LITTLE);
        story.tell("s.jsonl", &(said("a", "user", "it is Quuxfrobnitz") + model));
        let set = story.tree.ledger.write(Audit::new("test", "run.end"), |tx| Ok(tx.execute(end, [])?));
        assert_eq!(set.unwrap(), 1);
        story.forget(wish);
        story.gone(WORD);
        assert_eq!(story.tree.count("SELECT count(*) FROM turn_results WHERE request_fingerprint IS NOT NULL"), 0);
    }
}

#[test]
fn a_turn_in_the_middle_of_a_block_goes_alone() {
    let story = Story::new(&LITTLE);
    let line = |n: usize| said(&format!("e{n}"), "user", &format!("number {n} says something of its own"));
    let all: Vec<String> = (0..50).map(line).collect();
    story.tell("s.jsonl", &all.concat());
    let id = story.turn("number 20 says something of its own");
    let preview = story.forget(Wish::Turns(vec![id]));
    assert_eq!((preview.turns, preview.records, preview.others.len()), (1, 1, 0));
    story.gone("number 20 says");
    let left = [&all[..20], &all[21..]].concat().concat();
    assert_eq!(story.export("s.jsonl"), (left, 1));
    let mut texts: Vec<String> = (0..50).map(|n| format!("number {n} says something of its own")).collect();
    texts[20] = "-".into();
    assert_eq!(story.texts("s"), texts);
    let error = story.tree.ledger.read(|tx| read::record_bytes(tx, &Opener::default(), RecordNo(21))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    // Forgetting again changes nothing.
    assert_eq!(story.plan(Wish::Turns(vec![id])).unwrap().turns, 0);
    assert_eq!(story.plan(Wish::Turns(vec![TurnId(999)])).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_session_goes_whole_and_its_neighbours_stay() {
    let story = Story::new(&GLOBAL);
    for n in 0..5 {
        let lines: String =
            (0..20).map(|i| said(&format!("{n}-{i}"), "user", &format!("file {n} line {i} Q{n}Q"))).collect();
        story.tell(
            &format!("s{n}.jsonl"),
            &(lines
                + "{\"fact\":\"title\",\"value\":\"Title q2q\"}\n{\"half q2q".replace("2", &n.to_string()).as_str()),
        );
    }
    // A fork has copies of its turns, and turns of its own.
    let copied: String = (0..20).map(|i| said(&format!("2-{i}"), "user", &format!("file 2 line {i} Q2Q"))).collect();
    story.tell("fork.jsonl", &(copied + &said("own", "user", "said in the fork")));
    story.line(&serde_json::json!({"id": "l", "session": "s2", "role": "user", "text": "live q2q"}).to_string());
    let other = AgentId::parse("other").unwrap();
    story.import_for(&other, "s2.jsonl");
    let theirs =
        story.tree.count("SELECT count(*) FROM turns t JOIN sessions s USING (session_no) WHERE s.agent_no = 2");
    assert_eq!(theirs, 20);

    let preview = story.forget(Wish::Session("little:s2".into()));
    assert_eq!(preview.turns, 21);
    assert_eq!(preview.sessions.len(), 1);
    let own = |sql: &str| story.tree.count(sql);
    assert_eq!(
        own("SELECT count(*) FROM turns t JOIN sessions s USING (session_no) WHERE s.agent_no = 1 AND t.forgotten"),
        21
    );
    assert_eq!(
        own("SELECT count(*) FROM turns t JOIN sessions s USING (session_no) WHERE s.agent_no = 2 AND t.forgotten"),
        0
    );
    for n in [0, 1, 3, 4] {
        let name = format!("s{n}.jsonl");
        assert_eq!(story.export(&name), (std::fs::read_to_string(story.path(&name)).unwrap(), 0));
    }
    assert_eq!(story.export("s2.jsonl"), (String::new(), 22));
    assert_eq!(story.export("fork.jsonl").0, said("own", "user", "said in the fork"));
    story.verified();

    // The file is imported again, rewritten and continued: only unknown lines are stored.
    let file = std::fs::read_to_string(story.path("s2.jsonl")).unwrap();
    let more = said("new", "user", "something new");
    story.tell("s2.jsonl", &format!("{}{file}\n{more}", said("0", "user", "in front")));
    assert!(!story.export("s2.jsonl").0.contains("2Q"), "{}", story.export("s2.jsonl").0);
    let texts = story.texts("s2");
    assert_eq!(texts.iter().filter(|t| *t != "-").collect::<Vec<_>>(), ["in front", "something new"]);
    assert!(matches!(
        story.line(&serde_json::json!({"id": "l", "session": "s2", "role": "user", "text": "live q2q"}).to_string()),
        LineAck::Known { .. }
    ));
    story.verified();
    assert_eq!(story.plan(Wish::Session("nobody".into())).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_row_of_a_database_stays_forgotten_when_it_changes() {
    let story = Story::new(&GLOBAL);
    let db = Connection::open(story.path("store.db")).unwrap();
    db.execute_batch(STORE_SCHEMA).unwrap();
    let say = |message: &str, text: &str| {
        db.execute("INSERT INTO message VALUES (?1, 's1', 'user', 1)", [message]).unwrap();
        let data = serde_json::json!({"text": text}).to_string();
        db.execute("INSERT INTO part VALUES (?1, 's1', ?2, ?3)", params![format!("p-{message}"), message, data])
            .unwrap();
        db.execute("UPDATE session SET changed = changed + 1", []).unwrap();
    };
    db.execute("INSERT INTO session VALUES ('s1', 'Plain', 1)", []).unwrap();
    say("m1", "it is Quuxfrobnitz");
    say("m2", "it is nothing");
    story.import("store.db");
    story.forget(word());
    story.gone(WORD);
    say("m3", "and more");
    let records = story.tree.count("SELECT count(*) FROM records");
    story.import("store.db");
    assert_eq!(story.tree.count("SELECT count(*) FROM records"), records + 3, "the session row and the new message");
    story.gone(WORD);
    db.execute("UPDATE part SET data = '{\"text\":\"it was Quuxfrobnitz, really\"}' WHERE id = 'p-m1'", []).unwrap();
    say("m4", "the end");
    story.import("store.db");
    story.gone(WORD);
    assert_eq!(story.texts("s1"), ["-", "it is nothing", "and more", "the end"]);
}

#[test]
fn what_was_cut_off_is_finished_and_a_plan_that_does_not_hold_is_refused() {
    let story = Story::new(&LITTLE);
    story.tell("s.jsonl", &(said("a", "user", "the Quuxfrobnitz") + &said("b", "user", "something else")));
    // The plan is out of date: another turn with the word was stored meanwhile.
    let (at, global_ids) = (story.tree.at(), |_: &str| false);
    let plan = forget::plan(&at, &Request { wish: word(), global_ids: &global_ids }, &mut |_| {}).unwrap();
    story.tell("t.jsonl", &said("a", "user", "more of Quuxfrobnitz"));
    let error = forget::carry_out(&at.lock().unwrap(), &plan).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert_eq!(story.tree.count("SELECT count(*) FROM turns WHERE forgotten IS NOT NULL"), 0);

    story.begin(word());
    assert_eq!(forget::unfinished(&story.tree.ledger).unwrap(), [story.tree.agent_no]);
    assert!(!story.traces(WORD).is_empty());
    // Another process finishes the act.
    let mut index = story.index();
    forget::finish(&story.tree.at(), Some(&mut index), true).unwrap();
    drop(index);
    story.gone(WORD);
    // The act failed for one process: it is retried after a while, and not lost.
    story.tell("u.jsonl", &said("a", "user", "again Quuxfrobnitz"));
    story.begin(word());
    let reader = story.tree.sql();
    reader.execute_batch("BEGIN; SELECT count(*) FROM turns").unwrap();
    let mut index = story.index();
    assert!(forget::finish(&story.tree.at(), Some(&mut index), true).is_err());
    assert_eq!(forget::unfinished(&story.tree.ledger).unwrap(), Vec::<AgentNo>::new());
    assert_eq!(story.tree.count("SELECT count(*) FROM meta WHERE key LIKE 'forgetting/%'"), 1);
    reader.execute_batch("COMMIT").unwrap();
    forget::finish(&story.tree.at(), Some(&mut index), true).unwrap();
    drop(index);
    story.gone(WORD);
}

#[test]
fn an_unterminated_end_stays_forgotten_when_its_line_goes_on() {
    let story = Story::new(&LITTLE);
    let whole = said("a", "user", "before it");
    let half = "{\"id\":\"d\",\"role\":\"user\",\"text\":\"half Quuxfrobnitz";
    story.tell("s.jsonl", &format!("{whole}{half}"));
    assert_eq!(story.forget(word()).ends, 1);
    story.gone(WORD);
    story.import("s.jsonl");
    story.gone(WORD);
    let rest = " and the rest\"}\n";
    let totals = story.tell("s.jsonl", &format!("{whole}{half}{rest}{}", said("e", "user", "behind it")));
    assert_eq!((totals.rewritten, totals.turns), (0, 1));
    story.gone(WORD);
    assert_eq!(story.texts("s"), ["before it", "behind it"]);
    assert_eq!(story.export("s.jsonl"), (format!("{whole}{rest}{}", said("e", "user", "behind it")), 1));
}

/// Returns the blocks of the ledger, decompressed, each with the stretches that records and turns point to.
fn blocks(story: &Story) -> Vec<(i64, Vec<u8>, Vec<std::ops::Range<usize>>)> {
    let db = story.tree.sql();
    let mut statement = db.prepare("SELECT block_no, data FROM blocks").unwrap();
    let all: Vec<(i64, Vec<u8>)> =
        statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap().map(Result::unwrap).collect();
    let mut places = db
        .prepare(
            "SELECT block_offset, length FROM records WHERE block_no = ?1
             UNION ALL SELECT text_offset, text_length FROM turns WHERE block_no = ?1",
        )
        .unwrap();
    let mut of = |no: i64| {
        let rows = places.query_map([no], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?))).unwrap();
        rows.map(|r| r.map(|(at, length)| at as usize..(at + length) as usize).unwrap()).collect()
    };
    all.into_iter().map(|(no, data)| (no, zstd::stream::decode_all(data.as_slice()).unwrap(), of(no))).collect()
}

/// Returns what stands in the blocks at places that no row points to.
fn unpointed(story: &Story) -> String {
    let mut out = Vec::new();
    for (_, raw, places) in blocks(story) {
        let free = |at: &usize| !places.iter().any(|place| place.contains(at));
        out.extend((0..raw.len()).filter(free).map(|at| raw[at]).filter(|b| *b != 0));
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A session with echoes before and after their records, a repeated line, and a resumed copy of it in another file.
fn repeated(story: &Story) {
    let turn = |id: &str, role: &str, text: &str, echo: bool| {
        let mut line = serde_json::json!({"role": role, "run": "r", "text": text, "echo": echo});
        if !id.is_empty() {
            line["id"] = id.into();
        }
        format!("{line}\n")
    };
    let told = [
        turn("a", "user", "Is it Quuxfrobnitz or something else?", false),
        turn("", "user", "Is it Quuxfrobnitz or something else?", true),
        turn("", "assistant", "It is Quuxfrobnitz, I am sure of it.", true),
        turn("b", "assistant", "It is Quuxfrobnitz, I am sure of it.", false),
        turn("c", "user", "Then all is well, thank you.", false),
        turn("c", "user", "Then all is well, thank you.", false),
    ]
    .concat();
    story.tell("s.jsonl", &told);
    story.tell("resumed.jsonl", &(told + &turn("d", "user", "What did I call it yesterday?", false)));
    assert_eq!(story.tree.count("SELECT count(*) FROM turns"), 4);
    assert!(story.tree.count("SELECT count(*) FROM witnesses") >= 3);
    assert!(story.tree.count("SELECT count(*) FROM turn_references") >= 3);
}

#[test]
fn a_text_that_is_known_is_not_kept_a_second_time() {
    let story = Story::new(&GLOBAL);
    repeated(&story);
    assert_eq!(unpointed(&story), "");
    for name in ["s.jsonl", "resumed.jsonl"] {
        assert_eq!(story.export(name), (std::fs::read_to_string(story.path(name)).unwrap(), 0));
    }
    story.verified();
}

/// Earlier builds kept the text of a known turn behind its record, where no row points to it.
fn as_earlier_builds_left_it(story: &Story) {
    let db = story.tree.sql();
    for (no, mut raw, _) in blocks(story) {
        raw.extend_from_slice(b"It is Quuxfrobnitz, I am sure of it.");
        let data = zstd::stream::encode_all(raw.as_slice(), 3).unwrap();
        db.execute(
            "UPDATE blocks SET data = ?2, raw_length = ?3 WHERE block_no = ?1",
            params![no, data, raw.len() as i64],
        )
        .unwrap();
    }
}

#[test]
fn nothing_is_left_where_no_row_points_to() {
    let wishes: [fn(&Story) -> Wish; 4] = [
        |_| word(),
        |_| Wish::Session("little:s".into()),
        |story| Wish::Turns(vec![story.turn("It is Quuxfrobnitz, I am sure of it.")]),
        |_| Wish::Person("quuxfrobnitz".into()),
    ];
    for (n, wish) in wishes.iter().enumerate() {
        for earlier in [false, true] {
            let story = Story::new(&GLOBAL);
            repeated(&story);
            if earlier {
                as_earlier_builds_left_it(&story);
                assert!(unpointed(&story).contains("Quuxfrobnitz"));
            }
            let preview = story.forget(wish(&story));
            assert_eq!(preview.strays, if earlier { 2 } else { 0 }, "wish {n}");
            assert_eq!(unpointed(&story), "", "wish {n}");
            if n == 2 {
                // The question stays, with the records that have it.
                assert_eq!(story.texts("s")[1], "-");
                story.gone("i am sure of it");
            } else {
                story.gone(WORD);
            }
            let texts = story.texts("resumed");
            assert!(texts.contains(&"What did I call it yesterday?".to_owned()), "wish {n}: {texts:?}");
        }
    }
}

/// Texts that an earlier forget left in the blocks are found and erased by the next one.
#[test]
fn what_an_earlier_forget_left_goes_with_the_next() {
    for wish in [word(), Wish::Session("little:s".into())] {
        let story = Story::new(&GLOBAL);
        repeated(&story);
        story.forget(word());
        as_earlier_builds_left_it(&story);
        let preview = story.forget(wish.clone());
        assert_eq!(preview.strays, 2);
        story.gone(WORD);
        let again = story.plan(wish).unwrap();
        assert_eq!((again.strays, again.records), (0, 0), "nothing is left to do");
    }
    let story = Story::new(&GLOBAL);
    repeated(&story);
    as_earlier_builds_left_it(&story);
    let other = Wish::Match { text: "not in here".into(), ignore_case: false, since: None, until: None };
    assert_eq!(story.plan(other).unwrap(), Preview::default());
}

//! Goes from every root of the lineage and every line of every head down to the bytes of the source (R6.8): nothing is
//! cut off, nothing is repeated, and the bytes equal those in the program's own file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use heirloom_engine::clock::Clock;
use heirloom_engine::error::Result;
use heirloom_engine::home::Home;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::{Ledger, Open, Read};
use heirloom_engine::recall::expand::{Branch, Expansion, Reach, Reference, Subject, expand};
use heirloom_engine::redact::redact;
use heirloom_engine::scope::{AgentId, AgentNo, NodeId, RecordNo, TurnId};
use heirloom_engine::transcript::read;
use heirloom_engine::tree::AssistantHome;
use heirloom_testkit::{recordings, run};
use serde_json::Value;

use crate::roundtrip::rows;
use crate::world::{HEIRLOOM, World, copy_tree, files, let_it_settle, openclaw, opencode};

/// A memory in which every imported session is over and distilled.
struct Memory {
    world: World,
    home: Home,
    ledger: Ledger,
    agent_no: AgentNo,
}

/// Result of going down.
#[derive(Default, Debug)]
struct Found {
    roots: usize,
    /// Turns below a root; `records` are the records they are in.
    turns: BTreeSet<TurnId>,
    records: BTreeSet<RecordNo>,
    references: usize,
    most_calls: usize,
}

impl Memory {
    fn of(world: World, sources: &[&Path]) -> Memory {
        let imported = world.import(0, sources);
        assert!(imported["turns"]["new"].as_u64() > Some(0), "{imported}");
        // The worker runs with a clock one year later, when every conversation is over.
        let later = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
            + 365 * 86_400_000;
        let mut command = world.test.command(HEIRLOOM);
        command.args(["work", "--drain", "--json"]).env("HEIRLOOM_NOW", later.to_string());
        let out = run(command, b"");
        assert_eq!(out.status, Some(0), "{out:?}");
        let backups = world.test.home().join("state/backups");
        let ledger = Ledger::open(&world.ledger(), &backups, Clock::Fixed(later), Open::Full).unwrap();
        let home = Home::create(&world.test.home()).unwrap();
        let agent_no = ledger.read(|tx| read::agent_no(tx, &AgentId::main())).unwrap().unwrap();
        Memory { world, home, ledger, agent_no }
    }

    fn at(&self) -> AssistantHome<'_> {
        let zone = jiff::tz::TimeZone::UTC;
        AssistantHome::create(&self.home, &self.ledger, &AgentId::main(), self.agent_no, "test", zone).unwrap()
    }

    fn expand(&self, reference: &Reference, reach: &Reach) -> Expansion {
        expand(&self.ledger, self.agent_no, Some(&self.at()), reference, reach)
            .unwrap_or_else(|e| panic!("{reference}: {e}"))
    }

    fn ids(&self, sql: &str) -> Vec<i64> {
        let db = rusqlite::Connection::open(self.world.ledger()).unwrap();
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |r| r.get(0)).unwrap();
        rows.map(Result::<_, rusqlite::Error>::unwrap).collect()
    }

    /// Returns the words of a node, read page by page.
    fn words(&self, id: NodeId) -> BTreeMap<TurnId, String> {
        let mut out: BTreeMap<TurnId, String> = BTreeMap::new();
        let mut reach = Reach { transcript: true, limit: 300, ..Reach::default() };
        loop {
            let page = self.expand(&Reference::Node(id), &reach).transcript.unwrap();
            for passage in page.turns {
                let from = passage.part.map_or(0, |(from, ..)| from);
                let said = out.entry(passage.turn.id).or_default();
                assert_eq!(said.len(), from, "{id}: {} comes twice, or a part of it is left out", passage.turn.id);
                said.push_str(&passage.turn.text);
            }
            match page.next {
                Some(next) => reach.cursor = Some(next),
                None => return out,
            }
        }
    }

    /// Goes down from every root and every line.
    fn drill(&self) -> Found {
        let (mut found, mut sources) = (Found::default(), Sources::default());
        let opener = Opener::default();
        for root in self.ids(
            "SELECT node_no FROM nodes n WHERE NOT EXISTS (SELECT 1 FROM node_edges e WHERE e.child_no = n.node_no)",
        ) {
            found.roots += 1;
            let said = self.words(NodeId(root));
            assert!(!said.is_empty());
            self.ledger
                .read(|tx| {
                    for (id, text) in &said {
                        let turn = read::turn(tx, &opener, self.agent_no, *id)?;
                        assert!(redact(&turn.text) == text.as_str(), "{id} is shown as it was said");
                        if found.records.insert(turn.record) {
                            sources.compare(tx, &opener, turn.record)?;
                        }
                    }
                    Ok(())
                })
                .unwrap();
            found.turns.extend(said.into_keys());
        }
        for path in files(&self.world.test.home().join("workspaces/main"), ".md") {
            let text = fs::read_to_string(&path).unwrap();
            let Some((_, block)) = text.split_once("<!-- heirloom:") else { continue };
            for reference in Reference::all_in(block) {
                found.references += 1;
                let calls = self.calls(&reference, &found.turns);
                assert!(calls <= 3, "{}: {reference} takes {calls} calls", path.display());
                found.most_calls = found.most_calls.max(calls);
            }
        }
        found
    }

    /// Returns the number of calls from a reference to a turn that was compared with its source.
    fn calls(&self, reference: &Reference, turns: &BTreeSet<TurnId>) -> usize {
        let mut level = BTreeSet::from([reference.to_string()]);
        for call in 1..=4 {
            let mut next = BTreeSet::new();
            for name in &level {
                let reach = Reach { transcript: true, ..Reach::default() };
                let found = self.expand(&Reference::parse(name).unwrap(), &reach);
                if found.transcript.as_ref().is_some_and(|t| t.turns.iter().any(|p| turns.contains(&p.turn.id))) {
                    return call;
                }
                next.extend(onward(&found).iter().map(Reference::to_string));
            }
            level = next;
        }
        panic!("{reference} leads to no words");
    }
}

fn onward(found: &Expansion) -> Vec<Reference> {
    let node = |n: NodeId| Reference::Node(n);
    match &found.subject {
        Subject::Node(view) => view.children.iter().map(|b: &Branch| node(b.node.id)).collect(),
        Subject::File(view) => view.references.clone(),
        Subject::Session(view) => view.nodes.iter().map(|n| node(n.id)).collect(),
        Subject::Thread(view) => view.nodes.iter().map(|n| node(n.id)).collect(),
        Subject::Pending(pending) => pending.turn.map(Reference::Turn).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The programs' own files, each read once.
#[derive(Default)]
struct Sources {
    files: BTreeMap<PathBuf, Vec<u8>>,
    rows: BTreeMap<(PathBuf, String), BTreeSet<String>>,
}

impl Sources {
    /// Compares a record with the bytes at its place in the source; a row is compared with its table.
    fn compare(&mut self, tx: &Read, opener: &Opener, record: RecordNo) -> Result<()> {
        let bytes = read::record_bytes(tx, opener, record)?;
        let (path, position): (Vec<u8>, i64) = tx.query_row(
            "SELECT c.path, r.position FROM records r JOIN streams s USING (stream_no) JOIN sources c USING (source_no)
             WHERE r.record_no = ?1",
            [record],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )?;
        let path = PathBuf::from(String::from_utf8(path).unwrap());
        let is_rows = path.extension().is_some_and(|e| e == "db" || e == "sqlite");
        if !is_rows {
            let file = self.files.entry(path.clone()).or_insert_with(|| fs::read(&path).unwrap());
            let from = position as usize;
            let stands = file.get(from..from + bytes.len());
            assert!(stands == Some(&bytes[..]), "{} at byte {position} is not record {record}", path.display());
            return Ok(());
        }
        let row: Value = serde_json::from_slice(&bytes).unwrap();
        let table = row["$table"].as_str().unwrap().to_owned();
        let all = self
            .rows
            .entry((path.clone(), table.clone()))
            .or_insert_with(|| rows(&path, &table).iter().map(Value::to_string).collect());
        assert!(all.contains(&row.to_string()), "{}: {table} has no row {row}", path.display());
        Ok(())
    }
}

/// Checks that every turn is below a root.
fn check(memory: &Memory, found: &Found) {
    let all: BTreeSet<TurnId> = memory.ids("SELECT turn_no FROM turns").into_iter().map(TurnId).collect();
    let lost: Vec<&TurnId> = all.difference(&found.turns).take(5).collect();
    assert!(lost.is_empty(), "below no root: {lost:?} of {}", all.len());
    assert_eq!(all, found.turns);
    memory.world.verified();
    println!(
        "{} roots lead to {} turns in {} records, each as it stands in its source; {} references of pages, at most {} calls",
        found.roots,
        found.turns.len(),
        found.records.len(),
        found.references,
        found.most_calls
    );
}

#[test]
fn the_samples_lead_down_to_the_bytes() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let world = World::new();
    let machine = world.test.folder("machine");
    copy_tree(&samples, &machine);
    let_it_settle();
    let memory = Memory::of(world, &[&machine]);
    let found = memory.drill();
    assert!(found.roots >= 4 && found.references >= 20, "{} roots, {} references", found.roots, found.references);
    check(&memory, &found);
}

/// Tests with sessions recorded from the real programs, which are too private and too large for the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn every_captured_session_leads_down_to_the_bytes() {
        let shared = recordings();
        let world = World::new();
        let machine = world.test.folder("machine");
        copy_tree(&shared.join("transcripts"), &machine.join("transcripts"));
        for program in ["claude", "codex", "openclaw"] {
            copy_tree(&shared.join("harness/samples").join(program).join("transcripts"), &machine.join(program));
        }
        fs::remove_dir_all(machine.join("openclaw/sqlite")).unwrap();
        let stores = world.test.folder("stores");
        let (of_opencode, of_openclaw) =
            (stores.join("opencode.db"), stores.join("agents/main/agent/openclaw-agent.sqlite"));
        opencode(&of_opencode, &shared);
        openclaw(&of_openclaw, &shared);
        let_it_settle();
        let memory = Memory::of(world, &[&machine, &of_opencode, &of_openclaw]);
        let found = memory.drill();
        assert!(found.roots >= 5 && found.turns.len() > 500, "{} roots, {} turns", found.roots, found.turns.len());
        check(&memory, &found);
    }
}

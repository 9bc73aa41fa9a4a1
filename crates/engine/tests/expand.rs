//! From any line of a page down to the words: the view of each reference, the number of steps, completeness to the last
//! byte, and separation of agents.

use std::collections::BTreeSet;

use heirloom_engine::capture::Capture;
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::continuity::proposal::{self, NewProposal};
use heirloom_engine::continuity::{channel, scheduled};
use heirloom_engine::error::ErrorKind;
use heirloom_engine::ledger::Audit;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::lineage::{self, Node};
use heirloom_engine::memory::pending::{self, Notice, NoticeKind};
use heirloom_engine::memory::{self, Class, NewLeaf, Scope};
use heirloom_engine::recall::expand::{Expansion, NodeView, Reach, Reference, Subject, expand};
use heirloom_engine::scope::{AgentId, NodeId, SessionNo, TurnId};
use heirloom_engine::thread;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::provenance::{Origin, Provenance};
use heirloom_engine::tree::scan;
use serde_json::json;

use crate::tree::{Tree, at};
use crate::weave;
use crate::world::{LITTLE, NOON};

/// Nine ended sessions of six turns in one project, and one elsewhere that goes on.
struct Memory {
    tree: Tree,
}

impl Memory {
    fn new() -> Memory {
        let memory = Memory { tree: Tree::new() };
        std::fs::create_dir_all(memory.tree.folder.path().join("api/.git")).unwrap();
        for session in 0..9 {
            let mut lines = memory.turns(session, 6, Some("api"));
            lines.push(json!({"fact": "session-end", "at": NOON + session * 100_000 + 90_000}).to_string());
            memory.import(&format!("s{session}"), &lines, &AgentId::main());
        }
        memory.import("alone", &memory.turns(20, 5, None), &AgentId::main());
        weave::advance(&memory.tree.ledger, memory.tree.agent_no);
        memory
    }

    fn turns(&self, session: i64, turns: i64, project: Option<&str>) -> Vec<String> {
        let cwd = project.map(|p| self.tree.folder.path().join(p));
        (0..turns)
            .map(|n| {
                let role = if n % 2 == 0 { "user" } else { "assistant" };
                let text = format!("session {session} turn {n}: the queue is called zephyr and the table is moved\n");
                let at = NOON + session * 100_000 + n * 1_000;
                json!({"id": format!("s{session}e{n}"), "role": role, "text": text, "at": at, "cwd": cwd}).to_string()
            })
            .collect()
    }

    fn import(&self, name: &str, lines: &[String], agent: &AgentId) {
        let folder = self.tree.folder.path();
        let path = folder.join(format!("{name}.jsonl"));
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let mut capture = Capture::new(&self.tree.ledger, None, "test", &folder.join("scratch"), None).unwrap();
        capture.file(&LITTLE, agent, &path).unwrap();
        capture.finish().unwrap();
    }

    fn expand(&self, reference: &str) -> Expansion {
        self.reach(reference, &Reach::default())
    }

    fn reach(&self, reference: &str, reach: &Reach) -> Expansion {
        let at = self.tree.at();
        let reference = Reference::parse(reference).unwrap();
        expand(&self.tree.ledger, self.tree.agent_no, Some(&at), &reference, reach)
            .unwrap_or_else(|e| panic!("{reference}: {e}"))
    }

    fn node(&self, reference: &str) -> NodeView {
        match self.expand(reference).subject {
            Subject::Node(view) => *view,
            other => panic!("{reference}: {other:?}"),
        }
    }

    fn no(&self, sql: &str) -> String {
        NodeId(self.tree.count(sql)).to_string()
    }

    fn condensed(&self) -> String {
        self.no("SELECT node_no FROM nodes WHERE kind = 3")
    }

    /// Returns every word below a reference, read page by page.
    fn words(&self, reference: &str, limit: usize) -> Vec<(TurnId, String)> {
        let mut reach = Reach { transcript: true, limit, ..Reach::default() };
        let mut all: Vec<(TurnId, String)> = Vec::new();
        loop {
            let page = self.reach(reference, &reach).transcript.unwrap();
            assert!(page.turns.len() <= limit);
            for passage in page.turns {
                match passage.part {
                    Some((from, ..)) if from > 0 => all.last_mut().unwrap().1.push_str(&passage.turn.text),
                    _ => all.push((passage.turn.id, passage.turn.text)),
                }
            }
            match page.next {
                Some(next) => reach.cursor = Some(next),
                None => return all,
            }
        }
    }
}

fn ids(nodes: &[Node]) -> Vec<String> {
    nodes.iter().map(|n| n.id.to_string()).collect()
}

#[test]
fn a_node_shows_what_is_above_below_and_around_it() {
    let memory = Memory::new();
    let top = memory.node(&memory.condensed());
    assert_eq!((top.node.depth, top.node.count, top.children.len()), (1, 48, 8));
    assert!(top.parents.is_empty() && top.ancestors.is_empty() && top.siblings.is_empty());
    assert!(
        top.children.iter().all(|c| c.children.is_empty() && c.node.agent == "main"),
        "one level, if nobody asks for more"
    );

    let third = &top.children[2].node;
    let view = memory.node(&third.id.to_string());
    assert_eq!(ids(&view.parents), [top.node.id.to_string()]);
    assert_eq!(view.siblings.len(), 7);
    let around: Vec<String> = [&top.children[0], &top.children[1], &top.children[3], &top.children[4]]
        .iter()
        .map(|c| c.node.id.to_string())
        .collect();
    assert_eq!([ids(&view.before), ids(&view.after)].concat(), around);

    let chunk = view.children[1].node.clone();
    let view = memory.node(&chunk.id.to_string());
    assert_eq!((ids(&view.parents), view.ancestors.len()), (vec![third.id.to_string()], 1));
    assert_eq!((view.ancestors[0].0, view.ancestors[0].1.id), (2, top.node.id));
    assert_eq!((view.children.len(), view.siblings.len()), (0, 1));
    assert_eq!((view.before.len(), view.after.len()), (2, 2), "the thread goes on in other sessions");
    assert!(view.before.iter().all(|n| n.turns.1 < chunk.turns.0));

    let deep = memory.reach(&memory.condensed(), &Reach { depth: 9, ..Reach::default() });
    let Subject::Node(deep) = deep.subject else { panic!() };
    assert!(deep.children.iter().all(|c| c.children.len() == 2) && !deep.more_below);
    let none = memory.reach(&memory.condensed(), &Reach { depth: 0, ..Reach::default() });
    assert!(matches!(none.subject, Subject::Node(view) if view.children.is_empty()));
}

#[test]
fn every_word_below_a_node_comes_once_in_order_and_as_it_was_written() {
    let memory = Memory::new();
    let top = memory.condensed();
    for limit in [1, 5, 20, 1_000] {
        let words = memory.words(&top, limit);
        assert_eq!(words.len(), 48);
        assert!(words.windows(2).all(|w| w[0].0 < w[1].0));
        for (n, (_, text)) in words.iter().enumerate() {
            assert!(text.starts_with(&format!("session {} turn {}: ", n / 6, n % 6)) && text.ends_with('\n'), "{text}");
        }
    }
    // From a turn the record leads to the line of the file, byte for byte.
    let (agent, opener) = (memory.tree.agent_no, Opener::default());
    for (id, _) in memory.words(&top, 20) {
        let (turn, bytes) = memory
            .tree
            .ledger
            .read(|tx| {
                let turn = read::turn(tx, &opener, agent, id)?;
                let bytes = read::record_bytes(tx, &opener, turn.record)?;
                Ok((turn, bytes))
            })
            .unwrap();
        let file = memory.tree.folder.path().join(format!("{}.jsonl", turn.session.native()));
        let lines = std::fs::read_to_string(file).unwrap();
        assert!(lines.split_inclusive('\n').any(|line| line.as_bytes() == bytes), "{id}");
    }
    assert_eq!(memory.words("s3", 4).len(), 6, "a session by its bare id");
    let chunks = memory.words("api", 7);
    assert_eq!(chunks.len(), 54, "a thread gives all of it");
}

#[test]
fn a_long_turn_comes_in_parts_and_no_credential_is_cut_in_two() {
    let memory = Memory::new();
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    // The key would span the end of the first page.
    let filler = "ä".repeat(4_090);
    let text = format!("{filler} {key} {}", "日本語 and more ".repeat(2_000));
    memory.import("long", &[json!({"id": "x", "role": "user", "text": text}).to_string()], &AgentId::main());
    weave::advance(&memory.tree.ledger, memory.tree.agent_no);
    let turn = memory.no("SELECT max(turn_no) FROM turns").replace('n', "t");
    let chunk = memory.no("SELECT max(node_no) FROM nodes WHERE kind = 0");
    for reference in [turn.as_str(), chunk.as_str(), "little:long"] {
        let words = memory.words(reference, 20);
        assert_eq!(words.len(), 1);
        assert!(words[0].1 == heirloom_engine::redact::redact(&text), "{reference}");
        assert!(!words[0].1.contains(&key[..8]));
    }
    let page = memory.expand(&turn).transcript.unwrap();
    let (from, to, all) = page.turns[0].part.unwrap();
    assert!(from == 0 && to <= 8 * 1024 && all > 20_000 && page.next.is_some());
}

#[test]
fn a_cursor_from_elsewhere_is_refused() {
    let memory = Memory::new();
    let top = memory.condensed();
    let reach = Reach { transcript: true, limit: 3, ..Reach::default() };
    let next = memory.reach(&top, &reach).transcript.unwrap().next.unwrap();
    let with = |cursor: &str| Reach { cursor: Some(cursor.to_owned()), ..reach.clone() };
    // A cursor alone asks for words.
    assert_eq!(memory.reach(&top, &Reach { transcript: false, ..with(&next) }).transcript.unwrap().turns.len(), 3);
    let at = memory.tree.at();
    for (reference, cursor) in [
        (top.as_str(), "w1.2"),
        (&top, "nonsense"),
        (&top, "w1.zzzz.0"),
        (&top, "wzz.1.0"),
        (&top, "w1.1.zzzz"),
        ("little:alone", &next),
        ("t1", &next),
    ] {
        let reference = Reference::parse(reference).unwrap();
        let error =
            expand(&memory.tree.ledger, memory.tree.agent_no, Some(&at), &reference, &with(cursor)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{reference} {cursor}");
        assert!(error.next_step().unwrap().contains("without --cursor"));
    }
}

/// Makes items on the pages, some with turns as their source and some without.
fn furnish(memory: &Memory) {
    let tree = &memory.tree;
    let at = tree.at();
    let source = |node: Option<&str>, turns: &[i64]| Provenance {
        origin: Origin::Distilled,
        session: Some("little:s2".into()),
        turns: turns.iter().map(|t| TurnId(*t)).collect(),
        node: node.map(str::to_owned),
        ..Provenance::default()
    };
    let node = memory.no("SELECT node_no FROM nodes WHERE kind = 1 AND session_no = 3");
    let lock = at.lock().unwrap();
    let add = |title: &str, source| {
        open_loop::add(&lock, &NewLoop { title: title.into(), source, ..NewLoop::default() }).unwrap();
    };
    add("Migrate table orders", source(None, &[13, 14]));
    add("Ask about the queue", source(Some(&node), &[]));
    add("Call the bank", Provenance::default());
    let new = NewProposal {
        title: "Habits".into(),
        entries: vec!["run the checks before a push".into()],
        class: "procedure".into(),
        scope: "agent".into(),
        confidence: None,
        source: source(None, &[15]),
    };
    proposal::add(&lock, &new).unwrap();
    let leaf = NewLeaf {
        confirmed: true,
        source: Provenance { origin: Origin::Prompt, ..source(None, &[16]) },
        ..NewLeaf::new(Class::Preference, Scope::Agent, "Answer TL;DR first.")
    };
    memory::add(&lock, &leaf).unwrap();
    drop(lock);
    tree.ledger
        .write(Audit::new("test", "test"), |tx| {
            let notice = Notice {
                kind: NoticeKind::Preference,
                title: "Likes tea".into(),
                text: "I like tea.".into(),
                confidence: 0.7,
            };
            pending::capture(tx, tree.agent_no, Some(TurnId(3)), Some(SessionNo(1)), &[notice])
        })
        .unwrap();
    channel::ask(&at, "telegram", "4711", Some("Bob"), None).unwrap();
    let name = scheduled::JobName::parse("backup").unwrap();
    let begun = scheduled::begin(&at, &name, "sh -c backup", NOON).unwrap();
    scheduled::finish(&at, begun, &scheduled::Outcome::Exit(1), None).unwrap();
    scan::scan(&at).unwrap();
    tree.refresh();
}

/// Returns an item's id without the suffix that distinguishes items with the same title.
fn short(item: &str) -> String {
    item.rsplit_once('-').map_or(item, |(name, _)| name).to_owned()
}

/// Returns the references a caller can follow from an answer.
fn onward(expansion: &Expansion) -> Vec<Reference> {
    let node = |n: &Node| Reference::Node(n.id);
    match &expansion.subject {
        Subject::Node(view) => view.children.iter().map(|c| node(&c.node)).collect(),
        Subject::File(view) => view.references.clone(),
        Subject::Session(view) => view.nodes.iter().map(node).collect(),
        Subject::Thread(view) => view.nodes.iter().map(node).collect(),
        Subject::Pending(pending) => pending.turn.map(Reference::Turn).into_iter().collect(),
        Subject::Matter(matter) => matter.turn.map(Reference::Turn).into_iter().collect(),
        Subject::Job(runs) => runs.iter().filter_map(|r| r.artifact.clone()).map(Reference::File).collect(),
        Subject::Context(given) => given.items().iter().filter_map(|(_, id)| Reference::parse(id).ok()).collect(),
        Subject::Turn(_) | Subject::Channel(_) | Subject::Quarantine(_) => Vec::new(),
    }
}

/// Returns the number of calls from a reference to a turn's words. An item a person made is its own origin.
fn calls(memory: &Memory, reference: &Reference) -> usize {
    let reach = Reach { transcript: true, ..Reach::default() };
    let mut level = BTreeSet::from([reference.to_string()]);
    for call in 1..=5 {
        let mut next = BTreeSet::new();
        for reference in &level {
            let found = memory.reach(reference, &reach);
            let said = found.transcript.as_ref().is_some_and(|t| t.turns.iter().any(|p| !p.turn.text.is_empty()));
            let own = match &found.subject {
                Subject::Channel(_) | Subject::Quarantine(_) | Subject::Job(_) => true,
                Subject::File(view) => view.source.origin == Origin::User && view.source.turns.is_empty(),
                _ => false,
            };
            if said || own {
                return call;
            }
            next.extend(onward(&found).iter().map(Reference::to_string));
        }
        level = next;
    }
    panic!("{reference} leads to no words");
}

#[test]
fn from_every_line_of_every_page_the_words_are_three_calls_away() {
    let memory = Memory::new();
    furnish(&memory);
    let tree = &memory.tree;
    // Pages of other rooms, with lines in the form those rooms print.
    let top = memory.condensed();
    let session = memory.no("SELECT max(node_no) FROM nodes WHERE kind = 1");
    let chunk = memory.no("SELECT max(node_no) FROM nodes WHERE kind = 0");
    tree.hand(
        "continuity/threads/api.md",
        &format!(
            "# api\n\n**Doing.** Half done. [{session}]\n- Codename zephyr. [t9 tc]\n- Open. [l:migrate-table-orders]\n\
             ## Lineage\n{top} [{top}] · [{chunk}] · `little:s4`\n[q:1] [u:1] [c:1] [j:backup] [m:answer-tl-dr-first]\n"
        ),
    );
    scan::scan(&tree.at()).unwrap();
    memory.import("broken", &["not JSON".into()], &AgentId::main());
    let mut seen = BTreeSet::new();
    for page in ["MEMORY.md", "continuity/ACTIVE.md", "memory/MEMORY.md", "continuity/threads/api.md"] {
        let text = tree.text(page);
        let references = Reference::all_in(&text);
        assert!(references.len() >= 2 || page == "memory/MEMORY.md", "{page}: {text}");
        for reference in references {
            let calls = calls(&memory, &reference);
            assert!(calls <= 2, "{page}: {reference} takes {calls}");
            let name = reference.to_string();
            seen.insert(if matches!(reference, Reference::File(_)) { short(&name) } else { name });
        }
        // A line of a page is a reference, too, and costs one call.
        for (n, line) in text.lines().enumerate().filter(|(_, l)| !Reference::all_in(l).is_empty()) {
            let calls = calls(&memory, &Reference::parse(&format!("{page}:{}", n + 1)).unwrap());
            assert!(calls <= 3, "{page}: {line} takes {calls}");
        }
    }
    for expected in
        ["l:migrate-table-orders", "l:call-the-bank", "u:1", "c:1", "j:backup", "q:1", &top, "t9", "little:s4"]
    {
        assert!(seen.contains(expected), "{expected} is on no page: {seen:?}");
    }
}

#[test]
fn files_that_came_from_a_node_are_linked_to_it() {
    let memory = Memory::new();
    furnish(&memory);
    let item = |entries: &[heirloom_engine::tree::file_table::Entry]| -> Vec<String> {
        entries.iter().map(|e| short(e.item.as_deref().unwrap())).collect()
    };
    let session = memory.no("SELECT node_no FROM nodes WHERE kind = 1 AND session_no = 3");
    for reference in [&session, &memory.condensed()] {
        let linked = memory.node(reference).linked;
        let loops = item(&linked.open_loops);
        assert!(loops.contains(&"l:migrate-table-orders".into()), "{reference}: {loops:?}");
        assert_eq!(loops.contains(&"l:ask-about-the-queue".into()), *reference == session, "by the node's own id");
        assert!(!loops.contains(&"l:call-the-bank".into()));
        assert_eq!(
            (item(&linked.memory), item(&linked.proposals)),
            (vec!["m:answer-tl-dr-first".into()], vec!["p:habits".into()])
        );
        assert!(!linked.more);
    }
    let other = memory.no("SELECT node_no FROM nodes WHERE kind = 1 AND session_no = 2");
    assert_eq!(memory.node(&other).linked, Default::default());
}

#[test]
fn a_turn_shows_its_run_its_nodes_and_its_neighbours() {
    let memory = Memory::new();
    let Subject::Turn(view) = memory.expand("te").subject else { panic!() };
    assert_eq!(view.nodes.iter().map(|n| n.kind.name()).collect::<Vec<_>>(), ["chunk", "session", "condensed"]);
    assert_eq!(view.before, [TurnId(13)]);
    assert_eq!(view.after, [TurnId(15), TurnId(16)]);
    assert_eq!(view.run.unwrap().prompt, Some(TurnId(13)));
    let passage = &memory.expand("te").transcript.unwrap().turns[0];
    assert!(passage.turn.text.starts_with("session 2 turn 1") && !passage.abandoned && passage.part.is_none());
}

#[test]
fn sessions_and_threads_are_found_by_key_and_by_name() {
    let memory = Memory::new();
    let Subject::Session(view) = memory.expand("little:alone").subject else { panic!() };
    assert_eq!((view.nodes.len(), view.session.turns), (2, 5), "chunks nothing covers yet");
    assert_eq!(view.thread.unwrap().key, "session/little:alone");
    let Subject::Session(view) = memory.expand("s4").subject else { panic!() };
    assert_eq!(view.nodes.iter().map(|n| n.kind.name()).collect::<Vec<_>>(), ["session"]);
    let agent = memory.tree.agent_no;
    let key = memory.tree.ledger.read(|tx| thread::named(tx, agent, "api")).unwrap().key;
    for name in ["api", &key] {
        let Subject::Thread(view) = memory.expand(name).subject else { panic!("{name}") };
        assert_eq!(view.nodes.iter().map(|n| n.kind.name()).collect::<Vec<_>>(), ["session", "condensed"]);
    }
    let at = memory.tree.at();
    let nowhere = Reference::parse("no such thing").unwrap();
    let error = expand(&memory.tree.ledger, agent, Some(&at), &nowhere, &Reach::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.next_step().unwrap().contains("n7f3a"));
}

#[test]
fn what_is_another_agents_is_as_unknown_as_what_is_not_there() {
    let memory = Memory::new();
    furnish(&memory);
    memory.import("broken", &["not JSON".into()], &AgentId::main());
    let tree = &memory.tree;
    let other = tree
        .ledger
        .write(Audit::new("test", "agent.add"), |tx| read::ensure_agent(tx, &AgentId::parse("other").unwrap()));
    let other = other.unwrap();
    let home = heirloom_engine::tree::AssistantHome::create(
        &tree.home,
        &tree.ledger,
        &AgentId::parse("other").unwrap(),
        other,
        "test",
        jiff::tz::TimeZone::UTC,
    )
    .unwrap();
    let top = memory.condensed();
    let Subject::File(leaf) = memory.expand("m:answer-tl-dr-first").subject else { panic!() };
    let leaf = leaf.entry.path.to_string();
    for (mine, nobodys) in [
        (top.as_str(), "n99999"),
        ("t1", "t99999"),
        ("l:call-the-bank", "l:no-such-loop"),
        ("m:answer-tl-dr-first", "m:no-such-memory"),
        (&leaf, "memory/preference/nothing.md"),
        ("u:1", "u:999"),
        ("c:1", "c:999"),
        ("j:backup", "j:nothing"),
        ("q:1", "q:999"),
        ("little:s1", "little:s99"),
        ("api", "ipa"),
        ("session/little:alone", "session/little:nobody"),
    ] {
        let ask = |agent, files, text: &str| {
            expand(&tree.ledger, agent, Some(files), &Reference::parse(text).unwrap(), &Reach::default())
        };
        let own = at(&tree.home, &tree.ledger, tree.agent_no);
        assert!(ask(tree.agent_no, &own, mine).is_ok(), "{mine}");
        let (theirs, none) = (ask(other, &home, mine).unwrap_err(), ask(other, &home, nobodys).unwrap_err());
        let said = |e: &heirloom_engine::error::Error, name: &str| e.to_string().replace(name, "X");
        assert_eq!(theirs.kind(), ErrorKind::NotFound, "{mine}");
        let bare = |name: &str| name.split_once(':').map_or(name.to_owned(), |(_, n)| n.to_owned());
        assert_eq!(
            said(&theirs, mine).replace(&bare(mine), "X"),
            said(&none, nobodys).replace(&bare(nobodys), "X"),
            "{mine}"
        );
        assert_eq!(theirs.next_step(), none.next_step(), "{mine}");
        // Files of one agent do not lead into another agent's tree.
        if matches!(Reference::parse(mine), Ok(Reference::File(_))) {
            assert_eq!(ask(other, &own, mine).unwrap_err().kind(), ErrorKind::NotFound);
        }
    }
}

#[test]
fn what_was_forgotten_is_shown_as_such_and_what_was_left_is_marked() {
    let memory = Memory::new();
    let tree = &memory.tree;
    let session = memory.no("SELECT node_no FROM nodes WHERE kind = 1 AND session_no = 2");
    let chunk = memory.node(&session).children[0].node.id;
    let made = tree.ledger.write(Audit::new("test", "test"), |tx| weave::forget(tx, tree.agent_no, chunk)).unwrap();
    tree.sql().execute_batch("UPDATE turns SET forgotten = 1 WHERE turn_no = 8; UPDATE turn_results SET left_by = 1 WHERE run_no = (SELECT run_no FROM turns WHERE turn_no = 9)").unwrap();
    let view = memory.node(&chunk.to_string());
    assert!(view.node.forgotten && view.node.summary.is_empty());
    assert_eq!(view.replaced_by.map(|n| n.id), Some(made));
    let reach = Reach { transcript: true, ..Reach::default() };
    for reference in [session, chunk.to_string(), made.to_string()] {
        let turns = memory.reach(&reference, &reach).transcript.unwrap().turns;
        let eight = turns.iter().filter(|p| p.turn.id == TurnId(8)).collect::<Vec<_>>();
        assert_eq!(eight.len(), 1, "{reference}: once, though two chunks stand over it");
        assert!(eight[0].forgotten && eight[0].turn.text.is_empty());
        assert!(turns.iter().find(|p| p.turn.id == TurnId(9)).unwrap().abandoned);
    }
    let found = tree.ledger.read(|tx| lineage::find(tx, tree.agent_no, made)).unwrap().unwrap();
    assert_eq!(found.replaces, Some(chunk));
}

#[test]
fn a_file_shows_its_text_where_it_came_from_and_no_credential() {
    let memory = Memory::new();
    furnish(&memory);
    let Subject::File(view) = memory.expand("l:migrate-table-orders").subject else { panic!() };
    assert_eq!(
        view.references,
        [Reference::Turn(TurnId(13)), Reference::Turn(TurnId(14)), Reference::Name("little:s2".into())]
    );
    assert!(view.text.contains("# Migrate table orders") && !view.cut && view.line.is_none());
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    memory.tree.hand("notes.md", &format!("one\ntwo {key}\nthree [n1]\nfour [t2]\nfive\nsix\nseven\neight [l:x]\n"));
    scan::scan(&memory.tree.at()).unwrap();
    let Subject::File(view) = memory.expand("notes.md:4").subject else { panic!() };
    assert_eq!(view.text.lines().count(), 7);
    assert!(view.cut && !view.text.contains(&key));
    assert_eq!(
        view.references,
        [Reference::Turn(TurnId(2)), Reference::Node(NodeId(1))],
        "the line that was named first"
    );
    let at = memory.tree.at();
    let beyond = Reference::parse("notes.md:99").unwrap();
    let error = expand(&memory.tree.ledger, memory.tree.agent_no, Some(&at), &beyond, &Reach::default()).unwrap_err();
    assert!(error.to_string().contains("has 8 lines"), "{error}");
}

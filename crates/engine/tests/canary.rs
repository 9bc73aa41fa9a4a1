//! Proof that threads do not leak into each other (R10.3): forty interleaved threads, each with a word of its own in
//! everything stored of it. Whatever is asked in one thread, and however similar the threads are, no block contains
//! another thread's word.

use std::collections::{BTreeMap, BTreeSet};

use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::index::Index;
use heirloom_engine::inject::{self, Ask, Capabilities, Event};
use heirloom_engine::ledger::Audit;
use heirloom_engine::lineage::Kind;
use heirloom_engine::lineage::distillate::Distillate;
use heirloom_engine::memory::{self, Class, NewLeaf, Scope};
use heirloom_engine::recall::{self, Hint, Question};
use heirloom_engine::scope::{SessionKey, ThreadNo};
use heirloom_engine::thread;
use heirloom_engine::tree::provenance::{Origin, Provenance};
use heirloom_testkit::Rng;
use serde_json::{Value, json};

use crate::recall::Kin;
use crate::story::{MINUTE, NOON, Story, answer, item, user, within};

const THREADS: usize = 40;

/// Number of threads that are projects; the others are topics.
const PROJECTS: usize = 20;

/// The two threads that are linked.
const LINKED: (usize, usize) = (0, PROJECTS);

/// Subjects shared by all threads: similarity alone must not be enough, so there is much of it.
const ABOUT: [&str; 8] = [
    "deployment of the invoice service",
    "database migration",
    "review of the contract",
    "backup of the mail server",
    "test that fails on Fridays",
    "offer for the new roof",
    "login page",
    "quarterly report",
];

/// Returns the word of a thread, which is unlike every other and not part of one.
fn canary(n: usize) -> String {
    let letter = |n: usize| char::from(b"bdfgklmnprst"[n % 12]);
    format!("quo{}{}ilva", letter(n / 12), letter(n))
}

/// Returns the name of a thread. It does not contain the thread's word, because a name may be shown elsewhere.
fn name(n: usize) -> String {
    let letter = |n: usize| char::from(b"abcdefghijklm"[n % 12]);
    format!("matter-{}{}", letter(n / 12), letter(n))
}

fn session(n: usize) -> String {
    format!("said-{n}")
}

/// Puts every run of a session into its thread; returns the threads in order.
pub fn joined(story: &Story, session: &str) -> Vec<ThreadNo> {
    let turns = story.turns(session);
    let audit = Audit::new("test", "thread.join").of_agent(story.agent_no);
    let joined = story.ledger.write(audit, |tx| {
        let mut threads = Vec::new();
        for turn in &turns {
            threads.push(thread::join(tx, story.agent_no, turn.run, &thread::membership(tx, turn.run)?)?);
        }
        threads.dedup();
        Ok(threads)
    });
    joined.unwrap()
}

struct Told {
    story: Story,
    index: Index,
    /// Numbers of the threads; `projects` are the projects' ids.
    threads: Vec<ThreadNo>,
    projects: Vec<String>,
}

/// Makes everything a thread can leave behind, with its word: turns, nodes and distillates, a page, memory, an open
/// loop, notices.
fn told() -> Told {
    let story = Story::new();
    let place =
        |n: usize| -> Vec<Value> { if n < PROJECTS { vec![within(&story.project(&name(n)))] } else { Vec::new() } };
    // The threads are interleaved: one round of each thread, then the next round.
    for round in 0..3 {
        for n in 0..THREADS {
            let (word, about) = (canary(n), ABOUT[(n + round) % ABOUT.len()]);
            let at = NOON - 10 * 60 * MINUTE + ((round * THREADS + n) as i64) * MINUTE;
            let asked = match round {
                0 => format!(
                    "Please get the {about} done before winter. The word is {word}. I always prefer {word} mails."
                ),
                1 => format!("Why did the {about} fail again, and who looks after {word}?"),
                _ => format!("What is still open of the {about}? Never restart {word} on Sundays."),
            };
            let said = format!(
                "We decided to move the {about} to the {word} queue because it is faster. TODO: sign the {word} papers."
            );
            let mut lines = if round == 0 { place(n) } else { Vec::new() };
            let mut prompt = user(&asked, at);
            if n >= PROJECTS {
                prompt["thread"] = json!(name(n));
            }
            lines.extend([prompt, answer(&said, at + 1_000)]);
            story.said(&session(n), &lines);
        }
    }
    let mut threads = Vec::new();
    let mut projects = Vec::new();
    for n in 0..THREADS {
        let (word, about, said) = (canary(n), ABOUT[n % ABOUT.len()], session(n));
        let turns = story.turns(&said);
        let (first, last) = (turns[0].id, turns[turns.len() - 1].id);
        let distillate = Distillate {
            goal: Some(item(&format!("Get the {about} done with {word}"), first)),
            constraints: vec![item(&format!("Never restart {word} on Sundays"), first)],
            decisions: vec![item(&format!("Move the {about} to the {word} queue because it is faster"), last)],
            in_progress: vec![item(&format!("The {about} waits for {word}"), last)],
            blocked: vec![item(&format!("The {about} hangs: {word} does not answer"), last)],
            open_loops: vec![item(&format!("Sign the {word} papers for the {about}"), last)],
            next_steps: vec![item(&format!("Call {word} about the {about}"), last)],
            ..Distillate::default()
        };
        let summary = format!("The {about} was moved to the {word} queue.");
        let joined = joined(&story, &said);
        assert_eq!(joined.len(), 1, "one thread each: {joined:?}");
        let nodes = story.summed_up(&said, &[Kind::Compaction, Kind::Session], &summary, &distillate);
        let row = story.ledger.read(|tx| thread::row(tx, story.agent_no, joined[0])).unwrap();
        if n < PROJECTS {
            projects.push(row.key.as_str().strip_prefix("project/").expect("a project's thread").to_owned());
        }
        if n % 4 == 0 {
            story.cut(&said, nodes[1], last, &[], NOON - MINUTE);
        }
        let at = story.at();
        let lock = at.lock().unwrap();
        let source = Provenance {
            origin: Origin::Distilled,
            session: Some(format!("little:{said}")),
            turns: vec![last],
            node: Some(nodes[0].to_string()),
            ..Provenance::default()
        };
        let owed = NewLoop {
            title: format!("Sign the {word} papers for the {about}"),
            text: Some(format!("{word} wants them by Friday.")),
            source: source.clone(),
            ..NewLoop::default()
        };
        open_loop::add(&lock, &owed).unwrap();
        if n < PROJECTS {
            for class in [Class::Fact, Class::Procedure, Class::Blocker, Class::Reference] {
                let text = format!("The {about} runs on {word}, as its {} says.", class.name());
                let leaf = NewLeaf {
                    source: source.clone(),
                    ..NewLeaf::new(class, Scope::Workspace(projects[n].clone()), &text)
                };
                memory::add(&lock, &leaf).unwrap();
            }
        }
        threads.push(row.no);
    }
    let audit = Audit::new("test", "thread.link").of_agent(story.agent_no);
    story
        .ledger
        .write(audit, |tx| thread::link(tx, story.agent_no, threads[LINKED.0], threads[LINKED.1], None))
        .unwrap();
    story.refresh();
    let (index, _) =
        Index::open(&story.folder.path().join("index.db"), story.ledger.id(), std::time::Duration::from_secs(5))
            .unwrap();
    // For this model texts with shared words are near, so that the threads are as similar as they can be.
    let mut index = index.with_embedder(Kin::new()).unwrap();
    index.catch_up(&story.ledger, None, &mut |_| {}).unwrap();
    index.catch_up_files(&story.at(), None).unwrap();
    Told { story, index, threads, projects }
}

impl Told {
    /// Returns the block a program would be given for a prompt at a place.
    fn block(&mut self, session: &str, event: Event, hint: Hint, prompt: &str, deep: bool) -> String {
        let at = self.story.at();
        let ask = Ask {
            session: SessionKey::from(session.to_owned()),
            event,
            hint,
            prompt: Some(prompt),
            // The budget is larger than any program takes, because text that would be cut off must be clean, too.
            budget: Some(20_000),
            can: Capabilities {
                program: "test".into(),
                channel: "stdout".into(),
                stores: false,
                keeps_tail: false,
                keeps_words: false,
                characters: usize::MAX,
            },
        };
        let place = recall::Audience::at(&at, &ask.session, &ask.hint).unwrap();
        let question = Question { text: prompt, most: 60, deep, prompt: false };
        let recalled = recall::recall(&at, &mut self.index, Some(&place), &question).unwrap();
        inject::assemble(&at, &ask, recalled).unwrap().block
    }
}

/// Returns the threads whose words are in a block.
fn words_in(block: &str) -> BTreeSet<usize> {
    let block = block.to_lowercase();
    (0..THREADS).filter(|n| block.contains(&canary(*n))).collect()
}

/// Asks `prompts` times from all threads, and looks for words that do not belong there.
fn asked(prompts: usize) {
    let mut told = told();
    let mut random = Rng::new(0x5eed);
    let mut own: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for n in 0..prompts {
        let here = n % THREADS;
        let other = (here + 1 + random.below(THREADS - 1)) % THREADS;
        let about = *random.pick(&ABOUT);
        // The strongest similarity: the other thread's own word, and almost its own sentences.
        let prompt = match n % 8 {
            0 => format!("who looks after {}, and what about the {about}?", canary(other)),
            1 => format!("Why did we move the {about} to the {} queue?", canary(other)),
            2 => format!("what is still open of the {about}, which papers do I have to sign?"),
            3 => format!("Sign the {} papers for the {about}", canary(other)),
            4 => format!("Was entschieden wir über {} {}?", canary(here), canary(other)),
            // Repeats a leaf word for word, and a summary of the other thread almost so.
            5 => format!("The {about} runs on {}, as its fact says.", canary(other)),
            6 => format!("on what does the {about} run, and which queue was it moved to because it is faster?"),
            _ => format!("the {about} on Sundays: {} or {}", canary(other), canary(here)),
        };
        let event = Event::ALL[(n / THREADS + n) % Event::ALL.len()];
        let new = format!("little:new-{n}");
        let known = format!("little:{}", session(here));
        let (session, hint) = match n % 3 {
            0 => (known.as_str(), Hint::default()),
            1 if here < PROJECTS => (new.as_str(), Hint { workspace: Some(told.projects[here].clone()), thread: None }),
            _ => (new.as_str(), Hint { workspace: None, thread: Some(told.threads[here]) }),
        };
        let block = told.block(session, event, hint, &prompt, n % 2 == 0);
        let mut allowed = BTreeSet::from([here]);
        if here == LINKED.0 || here == LINKED.1 {
            allowed.extend([LINKED.0, LINKED.1]);
        }
        let found = words_in(&block);
        let foreign: Vec<usize> = found.difference(&allowed).copied().collect();
        assert!(
            foreign.is_empty(),
            "from {} ({session}, {}) with {prompt:?}: words of {foreign:?}\n{block}",
            name(here),
            event.name()
        );
        let (heard, asks) = own.entry(event.name()).or_default();
        *heard += usize::from(found.contains(&here));
        *asks += 1;
    }
    // An empty block has no foreign word either, so each thread must also be given its own word.
    println!("blocks with their own thread's word, of all: {own:?}");
    assert_eq!(own.len(), Event::ALL.len());
    let (heard, asks) = own.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(heard * 10 > asks * 8, "{own:?}");

    // Outside of any thread only things that belong to no thread are given.
    let nowhere = told.block("little:elsewhere", Event::Start, Hint::default(), "sign the papers for the roof", true);
    assert_eq!(words_in(&nowhere), BTreeSet::new(), "{nowhere}");
    // A link between threads, and a thread's name in the prompt, do give its words.
    let hint = Hint { workspace: None, thread: Some(told.threads[LINKED.0]) };
    let prompt = format!("who looks after {}?", canary(LINKED.1));
    let linked = told.block("little:linked", Event::Prompt, hint.clone(), &prompt, true);
    assert!(words_in(&linked).contains(&LINKED.1), "{linked}");
    let prompt = format!("In the project {}: who looks after {}?", name(5), canary(5));
    let named = told.block("little:named", Event::Prompt, hint, &prompt, true);
    assert!(words_in(&named).contains(&5), "{named}");
    assert!(words_in(&named).is_subset(&BTreeSet::from([5, LINKED.0, LINKED.1])), "{named}");
}

/// `HEIRLOOM_TEST_FULL=1` asks two thousand times.
#[test]
fn no_thread_hears_another_ones_word() {
    let full = std::env::var_os("HEIRLOOM_TEST_FULL").is_some();
    asked(if full { 2_000 } else { 200 });
}

/// A conversation changes its thread half-way: another session of the second thread is given the second half only.
#[test]
fn a_session_of_two_threads_tells_each_its_own_half() {
    let story = Story::new();
    let mut first = user("Please get the roof done. The word is quobbilva.", NOON - 9 * MINUTE);
    let mut second = user("Now the tax return. The word is quoddilva.", NOON - 7 * MINUTE);
    first["thread"] = json!(name(1));
    second["thread"] = json!(name(2));
    let lines = [
        first,
        answer("The roof waits for quobbilva.", NOON - 8 * MINUTE),
        second,
        answer("The tax return waits for quoddilva.", NOON - 6 * MINUTE),
    ];
    story.said("both", &lines);
    let threads = joined(&story, "both");
    assert_eq!(threads.len(), 2);
    story.refresh();
    let (index, _) =
        Index::open(&story.folder.path().join("index.db"), story.ledger.id(), std::time::Duration::from_secs(5))
            .unwrap();
    let mut told = Told { story, index, threads: threads.clone(), projects: Vec::new() };
    told.index.catch_up(&told.story.ledger, None, &mut |_| {}).unwrap();
    told.index.catch_up_files(&told.story.at(), None).unwrap();
    for (thread, own, other) in [(threads[0], "quobbilva", "quoddilva"), (threads[1], "quoddilva", "quobbilva")] {
        for event in Event::ALL {
            let hint = Hint { workspace: None, thread: Some(thread) };
            let block = told.block("little:new", event, hint, "who waits for whom, the roof or the tax return?", true);
            assert!(!block.contains(other), "{} of {own}: {block}", event.name());
        }
        let hint = Hint { workspace: None, thread: Some(thread) };
        let block = told.block("little:new", Event::Start, hint, "what waits?", true);
        assert!(block.contains(own), "{block}");
    }
}

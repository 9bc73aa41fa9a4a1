//! A new session of a project, in whatever program, begins where the last one stopped (R10.4, R10.5): whatever was said
//! there, and however much, it is given the goal, the open items, the next steps and references to the turns within the
//! budget, and nothing of another project.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use heirloom_engine::distill::advance::Limits;
use heirloom_engine::inject::{self, Ask, Capabilities, Event, Given, Part};
use heirloom_engine::memory::{self, Class, NewLeaf, Scope};
use heirloom_engine::recall::expand::{Reach, Reference, expand};
use heirloom_engine::recall::{Hint, Recalled};
use heirloom_engine::scope::SessionKey;
use heirloom_engine::tokens::tokens;
use heirloom_engine::worker;
use heirloom_testkit::Rng;
use serde_json::{Value, json};

use crate::story::{HOUR, MINUTE, NOON, Story, answer, tool, user, within};

/// Largest number of tokens that any of the blocks had.
static WIDEST: AtomicUsize = AtomicUsize::new(0);

/// Number of characters that programs accept.
const CHARACTERS: usize = 9_000;

/// Shape of a session.
#[derive(Clone, Copy, Debug)]
struct Shape {
    goal: Goal,
    loops: usize,
    decisions: usize,
    files: usize,
    failures: usize,
    /// Number of whole files as tool output, after everything else.
    outputs: usize,
    leaves: usize,
    /// Number of sessions before this one.
    earlier: usize,
    /// True if the worker has distilled the session.
    distilled: bool,
    /// Time since the last turn, in milliseconds.
    ago: i64,
    /// Number of words of a hand-written page.
    page: usize,
}

#[derive(Clone, Copy, Debug)]
enum Goal {
    Short,
    /// Many paragraphs.
    Long,
    /// A single word without an end.
    Endless,
    Wide,
    WithCode,
}

const NOUNS: [&str; 12] = [
    "invoice",
    "ledger",
    "parser",
    "cache",
    "router",
    "scheduler",
    "mailer",
    "importer",
    "exporter",
    "renderer",
    "indexer",
    "archive",
];

fn noun(n: usize) -> String {
    format!("{} {}", NOUNS[n % NOUNS.len()], NOUNS[(n / NOUNS.len() + 5 * n + 1) % NOUNS.len()])
}

fn goal(kind: Goal, name: &str) -> String {
    let begin = format!("Port the {name} service to the new queue");
    match kind {
        Goal::Short => format!("{begin}."),
        Goal::Long => format!(
            "{begin}.\n\n{}",
            (0..60)
                .map(|n| format!("The {} talks to the {} over a socket that nobody documented. ", noun(n), noun(n + 3)))
                .collect::<String>()
        ),
        Goal::Endless => format!("{begin} named {}.", "x".repeat(4_000)),
        Goal::Wide => format!("{begin}。{}", "新しいキューに請求書サービスを移行する。".repeat(60)),
        Goal::WithCode => format!("{begin}:\n```rust\n{}```\n", "fn main() { let a = [1, 2, 3]; }\n".repeat(80)),
    }
}

/// Returns a call as adapters read it, and its result.
fn called(name: &str, input: &str, result: &str, failed: bool, at: i64) -> [Value; 2] {
    let [mut call, result] = tool(name, json!({}), result, failed, at);
    call["text"] = json!(input);
    [call, result]
}

/// Returns the lines of a session of a project, from its first turn to the last.
fn lines(story: &Story, name: &str, shape: &Shape) -> Vec<Value> {
    let end = NOON - shape.ago;
    let mut at = end - 3 * HOUR;
    let mut out = vec![within(&story.project(name)), user(&goal(shape.goal, name), at)];
    let mut next = |out: &mut Vec<Value>, line: fn(&str, i64) -> Value, text: &str| {
        at += 1_000;
        out.push(line(text, at));
        at
    };
    for n in 0..shape.files {
        let path = story.folder.path().join(name).join(format!("src/{}/part_{n}.rs", "deep/".repeat(n % 6)));
        let when = next(&mut out, answer, &format!("Now part {n}."));
        let input = format!("file_path: {}\nold_string: a\nnew_string: b", path.display());
        out.extend(called("Edit", &input, "done", false, when));
    }
    for n in 0..shape.failures {
        let when = next(&mut out, answer, "Let me see.");
        let input = format!("command: cargo test -p {} --test t{n}", noun(n).replace(' ', "-"));
        out.extend(called("Bash", &input, "error: it failed", true, when));
    }
    for n in 0..shape.decisions {
        next(&mut out, answer, &format!("We decided to keep the {} because the {} is slower.", noun(n), noun(n + 7)));
    }
    for n in 0..shape.loops {
        next(&mut out, answer, &format!("TODO: check the {} of tenant {n} against the {}.", noun(n), noun(n + 2)));
    }
    for n in 0..shape.outputs {
        let when = next(&mut out, answer, "Let me look at the log.");
        let input = format!("command: cat log-{n}");
        out.extend(called("Bash", &input, &format!("{n} ok nothing to see here\n").repeat(2_500), false, when));
    }
    next(&mut out, user, "Never restart the queue on Sundays.");
    next(&mut out, answer, "Understood.");
    out.push(answer(
        &format!(
            "I moved the consumer of {name} over; its tests pass.\n\nNext steps:\n- move the producer of {name}\n"
        ),
        end,
    ));
    out
}

fn told(story: &Story, project: &str, budget: Option<usize>, characters: usize) -> Given {
    inject::assemble(&story.at(), &ask(Some(project), budget, characters), Recalled::default()).unwrap()
}

/// Returns what a new session asks at its start.
fn ask(project: Option<&str>, budget: Option<usize>, characters: usize) -> Ask<'static> {
    Ask {
        session: SessionKey::from("codex:a-new-one".to_owned()),
        event: Event::Start,
        hint: Hint { workspace: project.map(str::to_owned), thread: None },
        prompt: None,
        budget,
        can: Capabilities {
            program: "codex".into(),
            channel: "additionalContext".into(),
            stores: true,
            keeps_tail: true,
            keeps_words: false,
            characters,
        },
    }
}

/// Returns the id of a session's project.
fn workspace_of(story: &Story, session: &str) -> String {
    let sql = "SELECT workspace_id FROM sessions JOIN workspaces USING (workspace_no) WHERE session_key = ?1";
    story.sql().query_row(sql, [session], |r| r.get(0)).unwrap()
}

/// Returns everything in brackets that has the form of a reference.
fn references(block: &str) -> BTreeSet<String> {
    let inside =
        block.split('[').skip(1).filter_map(|rest| rest.split_once(']')).flat_map(|(inside, _)| inside.split(' '));
    let named = block.split("heirloom expand ").skip(1).map(|rest| rest.split(['`', ' ']).next().unwrap_or_default());
    // The placeholder in the warning stands for any reference.
    let form = |word: &&str| {
        let kind = word.chars().next().is_some_and(|c| matches!(c, 't' | 'n')) || word.as_bytes().get(1) == Some(&b':');
        kind && word.len() > 1 && Reference::parse(word).is_ok()
    };
    inside.chain(named).filter(form).map(str::to_owned).collect()
}

fn headings(block: &str) -> BTreeSet<String> {
    let part = block.split_once("## Where the last session stopped").map_or("", |(_, rest)| rest);
    let here = part.split("\n## ").next().unwrap_or(part);
    here.lines().filter_map(|l| l.strip_prefix("### ")).map(str::to_owned).collect()
}

fn holds(n: usize, shape: Shape) {
    let story = Story::new();
    let about = format!("{n}: {shape:?}");
    // Another project is interleaved, with a word of its own.
    let foreign = Shape { loops: 5, ago: 20 * MINUTE, ..shape };
    let mut other = lines(&story, "outpost", &foreign);
    other.push(answer(
        "We decided to keep quobbilva because it is faster. TODO: sign the quobbilva papers.",
        NOON - 19 * MINUTE,
    ));
    story.said("foreign", &other);
    for earlier in 0..shape.earlier {
        let ago = shape.ago + (shape.earlier - earlier) as i64 * 5 * HOUR;
        let before = Shape { ago, goal: Goal::Short, files: 3, loops: 3, ..shape };
        story.said(&format!("earlier-{earlier}"), &lines(&story, "harbour", &before));
    }
    story.said("last", &lines(&story, "harbour", &shape));
    if shape.distilled {
        let made = worker::distil(&story.at(), Limits::default(), None, &mut |_| {}).unwrap();
        assert!(made.problems.is_empty(), "{about}: {:?}", made.problems);
    }
    let project: String = story
        .sql()
        .query_row(
            "SELECT workspace_id FROM sessions JOIN workspaces USING (workspace_no) WHERE session_key = 'little:last'",
            [],
            |r| r.get(0),
        )
        .unwrap();
    {
        let at = story.at();
        let lock = at.lock().unwrap();
        for leaf in 0..shape.leaves {
            let text = format!("The {} runs on host {leaf} and nobody restarts it by hand.", noun(leaf));
            memory::add(&lock, &NewLeaf::new(Class::Fact, Scope::Workspace(project.clone()), &text)).unwrap();
        }
    }
    if shape.page > 0 {
        let text = format!(
            "# Ours\n\n{}",
            (0..shape.page).map(|n| format!("## Rule {n}\n\nAsk about the {}.\n\n", noun(n))).collect::<String>()
        );
        std::fs::write(story.tree().join("AGENTS.md"), text).unwrap();
        let own: String =
            (0..shape.page).map(|n| format!("- Ask Ada of the {} before lunch\n", noun(n + 40))).collect();
        std::fs::write(story.tree().join("MEMORY.md"), format!("# Mine\n\n{own}")).unwrap();
    }
    story.refresh();

    let given = told(&story, &project, None, CHARACTERS);
    let block = &given.block;
    let (count, characters) = (tokens(block), block.chars().count());
    assert!(count < 2_000, "{about}: {count} tokens\n{block}");
    let handoff: usize = given.parts.iter().filter(|p| p.part == Part::Handoff).map(|p| p.tokens).sum();
    assert!((1..1_200).contains(&handoff), "{about}: {handoff} tokens of it tell where it stopped\n{block}");
    WIDEST.fetch_max(count, Ordering::Relaxed);
    assert!(characters < CHARACTERS, "{about}: {characters} characters\n{block}");

    // None of these parts is crowded out by the others.
    let must: &[(&str, &str)] = &[
        ("the goal", "Port the harbour service"),
        ("what comes next", "move the producer of harbour"),
        ("a directive", "restart the queue on Sundays"),
    ];
    for (what, words) in must {
        assert!(block.contains(words), "{about}: {what} is not told\n{block}");
    }
    assert!(shape.loops == 0 || block.contains("of tenant"), "{about}: no open loop is told\n{block}");
    // A session that is not distilled yet is read from its end; of its earlier part only the prompts are given.
    let near = shape.distilled || 3 * (shape.failures + shape.outputs) + shape.decisions + shape.loops < 120;
    assert!(shape.files == 0 || !near || block.contains("part_"), "{about}: no file is told\n{block}");
    let all = told(&story, &project, Some(100_000), usize::MAX);
    let lost: Vec<String> = headings(&all.block).difference(&headings(block)).cloned().collect();
    assert!(lost.is_empty(), "{about}: of these sections nothing is told: {lost:?}\n{block}");

    let mut lines = BTreeSet::new();
    let twice: Vec<&str> = block.lines().filter(|l| l.starts_with("- ") && !lines.insert(*l)).collect();
    assert!(twice.is_empty(), "{about}: told twice: {twice:?}\n{block}");

    // The references in the block can be expanded.
    let found = references(block);
    assert!(!found.is_empty(), "{about}: no way down\n{block}");
    let at = story.at();
    for reference in &found {
        let parsed = Reference::parse(reference).unwrap_or_else(|e| panic!("{about}: {reference}: {e}"));
        expand(&story.ledger, story.agent_no, Some(&at), &parsed, &Reach::default())
            .unwrap_or_else(|e| panic!("{about}: {reference}: {e}\n{block}"));
    }
    // The block names the program and time of the session, and says whether it may still be running.
    assert!(block.contains("stopped: little, 2026-11-"), "{about}\n{block}");
    assert_eq!(block.contains("may still be running"), shape.ago < 10 * MINUTE, "{about}\n{block}");
    assert!(!block.contains("quobbilva") && !block.contains("little:foreign"), "{about}\n{block}");
}

#[test]
fn a_session_that_only_asks_leaves_the_work_where_it_stopped() {
    let story = Story::new();
    let project = story.project("harbour");
    let said = |text, hours: i64| user(text, NOON - hours * HOUR);
    let replied = |text, hours: i64| answer(text, NOON - hours * HOUR + MINUTE);
    story.said(
        "last",
        &[
            within(&project),
            said("Number the invoices per calendar year, INV-2026-0001 and up.", 5),
            replied("Understood, they are numbered per year.", 5),
            said("Next we must add the VAT report for Austria.", 4),
            replied("Understood.", 4),
        ],
    );
    story.said(
        "asks",
        &[
            within(&project),
            said("What do you know about this project, and what is left to do?", 2),
            replied("I know little about it.", 2),
        ],
    );
    let made = worker::distil(&story.at(), Limits::default(), None, &mut |_| {}).unwrap();
    assert!(made.problems.is_empty(), "{:?}", made.problems);
    story.refresh();
    let block = told(&story, &workspace_of(&story, "little:last"), None, CHARACTERS).block;
    assert_eq!(block.matches("VAT report for Austria").count(), 1, "{block}");
    assert!(!block.contains("What do you know"), "{block}");
}

#[test]
fn sessions_at_work_side_by_side_are_told_apart() {
    let story = Story::new();
    let project = story.project("lantern");
    let at = |minutes: i64| NOON - minutes * MINUTE;
    let sessions = [
        ("first", "Port the importer to the new queue.", "The importer is ported.", "Good, move the retry table.", 6),
        (
            "second",
            "Write the release notes in German.",
            "The notes are written.",
            "Then write the part about fonts.",
            4,
        ),
    ];
    for (name, asked, answered, goes_on, ago) in sessions {
        let lines = [user(asked, at(ago)), answer(answered, at(ago - 1)), user(goes_on, at(ago - 2))];
        story.said(name, &[&[within(&project)], &lines[..]].concat());
    }
    story.refresh();
    let block = told(&story, &workspace_of(&story, "little:first"), None, CHARACTERS).block;
    let (last, beside) = block.split_once("## At the same time").unwrap_or_else(|| panic!("{block}"));
    assert!(last.contains("[little:second]") && last.contains("part about fonts"), "{block}");
    assert!(!last.contains("retry table") && beside.contains("[little:first]"), "{block}");
    for once in ["Port the importer", "move the retry table", "part about fonts", "release notes"] {
        assert_eq!(block.matches(once).count(), 1, "{once}: {block}");
    }
}

/// Some programs write the summary in the record that marks the cut, and quote the last turns in it.
#[test]
fn what_a_programs_summary_says_is_not_given_again() {
    let story = Story::new();
    let project = story.project("orchard");
    let decided = "We decided to use whip grafting for the old pear trees because the wax is there already.";
    let asked = "Which grafting method should we use? Remember that we only prune in February.";
    let summary = format!("## Recent turns\n- User: {asked}\n- Assistant: {decided}\nStep 1: graft tree 1.");
    let lines = |told: &str| {
        vec![
            within(&project),
            user(asked, NOON - 30 * MINUTE),
            answer(decided, NOON - 29 * MINUTE),
            json!({"fact": "compaction", "role": "system", "kind": "compact-summary", "text": told, "at": NOON - 20 * MINUTE}),
        ]
    };
    for (session, told, given) in [("quoted", summary.as_str(), 0), ("short", "There are pear trees.", 1)] {
        story.said(session, &lines(told));
        story.refresh();
        let session_key = SessionKey::new("little", session);
        let ask = Ask { session: session_key, event: Event::Compact, ..ask(None, None, CHARACTERS) };
        let block = inject::assemble(&story.at(), &ask, Recalled::default()).unwrap().block;
        assert_eq!(block.matches("whip grafting").count(), given, "{session}: {block}");
        assert_eq!(block.matches("only prune in February").count(), given, "{session}: {block}");
    }
}

#[test]
fn of_any_session_the_next_one_is_told_where_it_stopped() {
    let full = std::env::var_os("HEIRLOOM_TEST_FULL").is_some();
    let goals = [Goal::Short, Goal::Long, Goal::Endless, Goal::Wide, Goal::WithCode];
    let mut random = Rng::new(0x4a2d);
    for n in 0..if full { 200 } else { 10 } {
        let shape = Shape {
            goal: goals[n % goals.len()],
            loops: *random.pick(&[0, 1, 7, 40, 200]),
            decisions: *random.pick(&[0, 3, 40]),
            files: *random.pick(&[0, 2, 25, 90]),
            failures: *random.pick(&[0, 1, 20]),
            outputs: *random.pick(&[0, 0, 5]),
            leaves: *random.pick(&[0, 0, 5, 60]),
            earlier: *random.pick(&[0, 0, 1, 6]),
            distilled: random.below(3) > 0,
            ago: *random.pick(&[MINUTE, 9 * MINUTE, 11 * MINUTE, 26 * HOUR]),
            page: *random.pick(&[0, 0, 60]),
        };
        holds(n, shape);
    }
    println!("at most {} tokens", WIDEST.load(Ordering::Relaxed));
}

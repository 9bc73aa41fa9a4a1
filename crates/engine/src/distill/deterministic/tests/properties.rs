//! Properties that hold for any session.

use std::time::{Duration, Instant};

use heirloom_testkit::Rng;
use proptest::prelude::*;

use super::*;
use crate::lineage::distillate::{Distillate, LONGEST_ITEM};
use crate::scope::{RunNo, TurnId};

/// Difficult pieces of text: marks, cue words, unclosed constructs, other scripts.
const PIECES: &[&str] = &[
    "never push to main",
    "Don't touch x.rs",
    "\n",
    "\n\n",
    "```",
    "`",
    "\"",
    "“",
    "”",
    "> ",
    "- ",
    "- [ ] ",
    "1. ",
    "# Rules\n",
    "**Next steps**\n",
    "<tag>",
    "</tag>",
    "<a",
    ": ",
    ".",
    "?",
    "!",
    "…",
    "。",
    "please fix the parser",
    "I'll do it later",
    "All 3 tests pass.",
    "gqc.4",
    "#12",
    "we drop Redis",
    "let's go with Postgres instead of MySQL",
    "Should I use A or B?",
    "yes",
    "continue",
    "İ",
    "ß",
    "日本語",
    "🦀",
    "\u{202e}",
    "\u{200b}",
    "\u{301}",
    "\r\n",
    "\0",
    "\x1b[31m",
    "ERROR: x",
    "{",
    "}",
    "(",
    ")",
    "*",
    "_",
    "'",
    "’",
    "file_path: /p/a.rs",
    "command: rm -f x <<'EOF'\n",
    "*** Begin Patch\n*** Update File: ",
    "todos: [{\"content\":\"a b\",\"status\":\"pending\"}]",
    "todos: [",
    "[\"bash\",\"-lc\",\"",
    "\\",
    "$(",
    "error: boom",
    "2 failures",
    "[main 1a2b3c4] feat: x",
    "create mode 100644 a.rs",
    " sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-AAAAAAAA ",
    "remind me tomorrow",
    "blocked on access",
    "done",
    "The staging database is read-only on weekends.",
    " → ",
    "a very long word ",
    "Forget what I said about tabs",
    "--",
];
const TOOLS: &[&str] =
    &["Bash", "Edit", "Read", "Write", "apply_patch", "shell", "TodoWrite", "update_plan", "TaskUpdate", "", "x__y"];

fn said(rng: &mut Rng, id: i64) -> Said {
    let roles = [
        (Role::User, TurnKind::Message),
        (Role::User, TurnKind::Message),
        (Role::Assistant, TurnKind::Message),
        (Role::Assistant, TurnKind::Message),
        (Role::Assistant, TurnKind::ToolCall),
        (Role::Tool, TurnKind::ToolResult),
        (Role::Assistant, TurnKind::Thinking),
        (Role::System, TurnKind::MachinePrompt),
        (Role::System, TurnKind::CompactSummary),
    ];
    let (role, kind) = *rng.pick(&roles);
    let mut text = String::new();
    for _ in 0..rng.below(12) {
        let piece: &&str = rng.pick(PIECES);
        text.push_str(piece);
        if rng.below(2) == 0 {
            text.push(' ');
        }
    }
    let call = format!("c{}", rng.below(6));
    let tool = Some((*rng.pick(TOOLS)).to_owned());
    Said {
        id: TurnId(id),
        role,
        kind,
        run: RunNo(id / 7),
        main: rng.below(8) > 0,
        speaker: None,
        tool,
        call: (rng.below(5) > 0).then_some(call),
        failed: rng.below(6) == 0,
        at: None,
        text,
    }
}

pub fn stretch(seed: u64, from: i64) -> Vec<Said> {
    let mut rng = Rng::new(seed);
    let count = 1 + rng.below(40) as i64;
    (0..count).map(|i| said(&mut rng, from + i)).collect()
}

fn sound(d: &Distillate, ids: &[TurnId]) {
    let mut texts: Vec<(&str, &[TurnId])> =
        d.lists().iter().flat_map(|(_, l)| l.iter()).map(|i| (i.text.as_str(), &i.turns[..])).collect();
    texts.extend(d.proposals.iter().flat_map(|p| [(p.text.as_str(), &p.turns[..]), (p.title.as_str(), &p.turns[..])]));
    texts.extend(d.files.iter().map(|f| (f.path.as_str(), &f.turns[..])));
    for (text, turns) in texts {
        assert!(!text.is_empty() && text.len() <= LONGEST_ITEM, "{text:?}");
        assert!(!text.chars().any(char::is_control) && !text.contains(['\u{202e}', '\u{200b}']), "{text:?}");
        assert!(!text.contains(" sk-ant-api03-AAAA"), "{text:?}");
        assert!(!turns.is_empty() && turns.is_sorted() && turns.iter().all(|t| ids.contains(t)), "{text:?} {turns:?}");
    }
    for (name, list) in d.lists() {
        assert!(list.len() <= 20, "{name}");
    }
    assert!(d.files.len() <= 60 && d.proposals.len() <= 8);
}

fn ids(turns: &[Said]) -> Vec<TurnId> {
    turns.iter().map(|t| t.id).collect()
}

#[test]
fn any_session_gives_a_sound_distillate() {
    for seed in 0..300 {
        let one = stretch(seed, 1);
        let first = distil(&Request { turns: &one, before: None, root: Some("/p") });
        sound(&first, &ids(&one));
        let two = stretch(seed + 100_000, 1000);
        let second = distil(&Request { turns: &two, before: Some(&first), root: None });
        let mut all = first.turns();
        all.extend(ids(&two));
        sound(&second, &all);
        // Tool output and text injected by the program give no constraint and no proposal.
        let users: Vec<TurnId> = one.iter().filter(|t| t.role == Role::User && t.main).map(|t| t.id).collect();
        assert!(first.constraints.iter().all(|c| c.turns.iter().all(|t| users.contains(t))));
        assert!(first.goal.iter().all(|c| c.turns.iter().any(|t| users.contains(t))));
        assert!(first.proposals.iter().all(|p| p.turns.iter().any(|t| users.contains(t))));
    }
}

#[test]
fn what_is_carried_stays_as_it_is() {
    for seed in 0..300 {
        let one = stretch(seed, 1);
        let first = distil(&Request { turns: &one, before: None, root: None });
        let carried = distil(&Request { turns: &[], before: Some(&first), root: None });
        let again = distil(&Request { turns: &[], before: Some(&carried), root: None });
        assert_eq!(carried, again, "seed {seed}");
        assert_eq!(carried.goal, first.goal);
        assert_eq!(carried.constraints, first.constraints);
        assert_eq!(carried.open_loops, first.open_loops, "seed {seed}");
        assert_eq!(carried.decisions, first.decisions);
        assert!(carried.done.is_empty() && carried.files.is_empty());
    }
}

#[test]
fn nothing_comes_of_nothing() {
    assert!(distil(&Request { turns: &[], before: None, root: None }).is_empty());
}

#[test]
fn every_item_is_in_the_turns_it_names() {
    for seed in 0..400 {
        let mut turns = stretch(seed, 1);
        // Terminal controls and bidi marks are removed from items, which would break the comparison.
        turns.iter_mut().for_each(|t| t.text = t.text.replace(['\0', '\x1b', '\u{202e}', '\u{200b}'], " "));
        let d = distil(&Request { turns: &turns, before: None, root: None });
        let invented = super::invented::invented(&d, &turns);
        assert!(invented.is_empty(), "seed {seed}: {invented:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn no_text_panics(text in "\\PC{0,200}", more in any::<String>()) {
        for (role, kind) in [(Role::User, TurnKind::Message), (Role::Assistant, TurnKind::Message), (Role::Assistant, TurnKind::ToolCall)] {
            let turns: Vec<Said> = [&text, &more].iter().enumerate().map(|(i, t)| Said {
                id: TurnId(i as i64 + 1), role, kind, run: RunNo(1), main: true, speaker: None, tool: Some("Bash".into()), call: None,
                failed: false, at: None, text: format!("command: {t}"),
            }).collect();
            sound(&distil(&Request { turns: &turns, before: None, root: None }), &ids(&turns));
        }
    }
}

/// Time limit far above the usual time even on a busy machine, and far below the hours of any quadratic algorithm.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn long_turns_and_many_turns_are_fine() {
    let started = Instant::now();
    let turn = |id: i64, role, kind, text: String| Said {
        id: TurnId(id),
        role,
        kind,
        run: RunNo(id),
        main: true,
        speaker: None,
        tool: Some("Bash".into()),
        call: Some(format!("c{}", id / 2)),
        failed: false,
        at: None,
        text,
    };
    for piece in ["never ", "<a ", "(", "\"x ", "`", "a,", "- [ ] x\n", "\n\n", "command: rm a;", "1. ", "日"] {
        for (role, kind) in [
            (Role::User, TurnKind::Message),
            (Role::Assistant, TurnKind::Message),
            (Role::Assistant, TurnKind::ToolCall),
            (Role::Tool, TurnKind::ToolResult),
        ] {
            let turns = [turn(1, role, kind, format!("command: {}", piece.repeat(5_000_000 / piece.len())))];
            distil(&Request { turns: &turns, before: None, root: None });
        }
    }
    assert!(started.elapsed() < PATIENCE, "long turns took {:?}", started.elapsed());
    let started = Instant::now();
    // A debug build is twenty times slower, so it gets fewer turns.
    let many: Vec<Said> = (0..if cfg!(debug_assertions) { 10_000 } else { 50_000 })
        .map(|i| {
            let text = format!("Added feature f{i}.{} to the module. I'll update the docs of part {i} later. Never rename table t{i}. Let's go with option x{i} because of y{i}.", i % 100);
            match i % 4 {
                0 => turn(i + 1, Role::User, TurnKind::Message, text),
                1 => turn(i + 1, Role::Assistant, TurnKind::Message, text),
                2 => turn(i + 1, Role::Assistant, TurnKind::ToolCall, format!("command: cargo test p{i} > out{i}.txt")),
                _ => turn(i + 1, Role::Tool, TurnKind::ToolResult, text),
            }
        })
        .collect();
    distil(&Request { turns: &many, before: None, root: None });
    assert!(started.elapsed() < PATIENCE, "many turns took {:?}", started.elapsed());
}

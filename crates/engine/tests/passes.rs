//! Passes of distillation: the summariser one is given, answers that a summariser may not give, and scans of the tree.

use std::cell::RefCell;

use heirloom_engine::distill::advance::{Limits, Pass};
use heirloom_engine::distill::summarizer::{Summarizer, SummarizerError, Summary, SummaryRequest};
use heirloom_engine::lineage::Source;
use heirloom_engine::lineage::distillate::{Distillate, Item};
use heirloom_engine::scope::TurnId;
use heirloom_engine::tree::file_table::{self, Kind as FileKind, State};
use heirloom_engine::worker::distil_by;
use serde_json::json;

use crate::closing::{HOUR, MINUTE, Model, Story, WORDS, ending, owing, said};
use crate::world::NOON;

#[test]
fn a_pass_is_given_another_summariser_by_one_argument() {
    let story = Story::at(NOON + 5 * HOUR);
    owing(&story, "Migrate the orders table");
    ending(&story, &["Nothing more."]);
    for n in 0..8 {
        let session = format!("s{n}");
        let end = json!({"fact": "session-end", "at": NOON + 3 * HOUR});
        story.tells(&session, &[said(&format!("u{n}"), "user", 120 + n, &WORDS.repeat(2)), end]);
    }
    let model = Model { story: Some(&story), asked: RefCell::default() };
    assert_eq!(story.distilled(&model).problems, []);
    let nodes = story.nodes();
    for kind in ["chunk", "session", "condensed"] {
        let of: Vec<_> = nodes.iter().filter(|n| n.0 == kind).collect();
        assert!(!of.is_empty() && of.iter().all(|n| n.1 == "model" && n.2 == "Told by the model."), "{kind}: {of:?}");
    }
    // The words of a compaction are the sections of the handoff, with the model's items.
    let compaction = nodes.iter().find(|n| n.0 == "compaction").unwrap();
    assert_eq!(compaction.1, "model");
    assert!(compaction.2.starts_with("## Open loops\n- Migrate the orders table [t2]"), "{compaction:?}");
    assert_eq!(story.world.count("SELECT count(*) FROM audit WHERE detail ->> 'fell_back' > 0"), 0);
    assert_eq!(story.world.findings(), Vec::<String>::new());
}

type Answer = fn(&SummaryRequest) -> Result<Summary, SummarizerError>;

/// A model that gives an invalid answer.
struct Bad(Answer);

impl Summarizer for Bad {
    fn name(&self) -> &str {
        "bad"
    }

    fn summarize(&self, request: &SummaryRequest) -> Result<Summary, SummarizerError> {
        (self.0)(request)
    }
}

#[test]
fn what_a_summariser_may_not_answer_is_made_without_it() {
    let run = |by: Option<&dyn Summarizer>| {
        let story = Story::at(NOON + 5 * HOUR);
        owing(&story, "Migrate the orders table");
        ending(&story, &["We drop Redis."]);
        let at = story.assistant();
        let pass = Pass::new(&at, Limits::default());
        let pass = match by {
            Some(by) => pass.summarized_by(by),
            None => pass,
        };
        assert_eq!(distil_by(&pass, None, &mut |_| {}).unwrap().problems, []);
        let notes = story.world.count("SELECT coalesce(sum(detail ->> 'fell_back'), 0) FROM audit");
        assert_eq!(story.world.count("SELECT count(*) FROM audit WHERE detail LIKE '%conversation words%'"), 0);
        (story.nodes(), notes)
    };
    let (plain, none) = run(None);
    assert!(none == 0 && plain.len() >= 4 && plain.iter().all(|n| n.1 == "deterministic"), "{plain:?}");
    let bad: [Answer; 3] = [
        |_| Err(SummarizerError::Unavailable("no answer to: conversation words".into())),
        |_| Ok(Summary { text: "words ".repeat(900), distillate: Distillate::default() }),
        |_| {
            let goal = Some(Item::new("somebody else's goal", TurnId(0x9999)));
            Ok(Summary { text: "Short.".into(), distillate: Distillate { goal, ..Distillate::default() } })
        },
    ];
    for bad in bad {
        let (nodes, notes) = run(Some(&Bad(bad)));
        assert_eq!((nodes.as_slice(), notes), (plain.as_slice(), plain.len() as i64));
    }
    let good = Bad(|_| Ok(Summary { text: "Short.".into(), distillate: Distillate::default() }));
    assert!(run(Some(&good)).0.iter().all(|n| n.1 == Source::Model.name()));
}

/// A scan reads every file of the tree, so a pass over many sessions scans every two seconds and not for each session. A
/// person's edit during the pass is kept, and the next pass sees it.
#[test]
fn a_pass_over_many_sessions_scans_seldom_and_leaves_what_people_do_meanwhile() {
    const SESSIONS: u64 = 30;
    let story = Story::at(NOON + 5 * HOUR);
    for n in 0..SESSIONS {
        let minute = n as i64;
        story.tells(
            &format!("session-{n}"),
            &[
                said(&format!("a{n}"), "user", minute, WORDS),
                said(&format!("b{n}"), "assistant", minute, &format!("TODO Migrate table number {n}\n{WORDS}")),
                json!({"fact": "session-end", "at": NOON + (minute + 1) * MINUTE}),
            ],
        );
    }
    let model = Model::new();
    let at = story.assistant();
    let root = at.files.shown().to_owned();
    let scans = || {
        story.world.count("SELECT count(*) FROM audit WHERE action = 'catalogue.sweep' AND detail ->> 'changed' > 0")
    };
    std::fs::write(root.join("note-0.md"), "Mine.\n").unwrap();
    let (before, begun) = (scans(), std::time::Instant::now());
    let (mut done, mut resolved) = (0, None);
    let mut meanwhile = |_| {
        done += 1;
        // Each scan finds a new note, so audit rows count the scans.
        std::fs::write(root.join(format!("note-{done}.md")), "Mine.\n").unwrap();
        if resolved.is_none() {
            let folder = root.join("continuity/open-loops");
            let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
            let name = names.into_iter().find(|name| name.to_string_lossy().ends_with(".md")).unwrap();
            std::fs::create_dir_all(folder.join("archive")).unwrap();
            std::fs::rename(folder.join(&name), folder.join("archive").join(&name)).unwrap();
            resolved = Some(name.into_string().unwrap());
        }
    };
    let pass = Pass::new(&at, Limits::default()).summarized_by(&model);
    assert_eq!(distil_by(&pass, None, &mut meanwhile).unwrap().problems, []);
    let most = 2 + begun.elapsed().as_secs() as i64 / 2;
    let scanned = scans() - before;
    assert!((1..=most).contains(&scanned), "{scanned} scans for {SESSIONS} sessions, at most {most}");
    let resolved = resolved.unwrap();
    let open = root.join("continuity/open-loops").join(&resolved);
    assert!(!open.exists(), "it was written again");
    // The next pass begins with a scan.
    owing(&story, "Write to the printers");
    ending(&story, &["We drop Redis."]);
    story.distilled(&Model::new());
    let known = |state: State| -> Vec<String> {
        let rows = at.read(|tx| file_table::list(tx, at.agent_no, FileKind::OpenLoop, state)).unwrap();
        rows.into_iter().map(|entry| entry.path.name().to_owned()).collect()
    };
    assert!(known(State::Archived).contains(&resolved) && !known(State::Active).contains(&resolved));
    assert_eq!(known(State::Active).len() as u64, SESSIONS, "all others, and the new one");
    assert!(!open.exists(), "it was written again");
    assert_eq!(story.world.findings(), Vec::<String>::new());
}

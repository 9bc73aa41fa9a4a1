//! Planted worlds: sixty sessions of a made-up project whose facts are known. The results of evolve are scored, week by
//! week, with a person who accepts true proposals and rejects false ones (R9.4, R11.3, R14.3).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use heirloom_engine::budget::Budget;
use heirloom_engine::clock::Clock;
use heirloom_engine::engine::{Decision, Engine, How, LanguageModel, Options, Settings, Source};
use heirloom_engine::model::{Answer as Told, Ask, Failure, Model, Purpose};
use heirloom_engine::program::Form;
use heirloom_engine::review::inbox::Answer;
use heirloom_testkit::planted::told::{TOLD, told};
use heirloom_testkit::planted::{A_WEEK, SESSIONS, Said, Truth, World, world};
use serde_json::json;

use crate::place::{DAY, NOON, files};
use crate::world::Little;

/// Score of evolve in one world.
#[derive(Default)]
struct Score {
    right: usize,
    wrong: Vec<String>,
    found: BTreeSet<&'static str>,
    changes_caught: usize,
    /// Memories that still count in the end, although the world has moved on.
    stale: Vec<String>,
    /// Truths that were found and still hold, but that no current memory tells in the end.
    hidden: Vec<&'static str>,
}

pub fn open(home: &Path, now: i64) -> Engine {
    open_with(home, now, Settings::default)
}

pub fn open_with(home: &Path, now: i64, settings: impl Fn() -> Settings + Send + Sync + 'static) -> Engine {
    let little = Little { global_ids: false };
    let clock = Clock::Fixed(now);
    let options = Options {
        clock,
        programs: vec![Arc::new(little)],
        settings: Arc::new(move |_| Ok(settings())),
        ..Options::default()
    };
    Engine::open(home, How::Create, options).unwrap()
}

/// Writes a session as the little program would, and returns its path.
pub fn write_session(folder: &Path, name: &str, project: &Path, at: i64, said: &[Said]) -> PathBuf {
    let path = folder.join(format!("{name}.jsonl"));
    let mut lines = String::new();
    let mut run = 0;
    for (no, s) in said.iter().enumerate() {
        run += usize::from(s.role == "user");
        let line = json!({
            "id": format!("{name}-{no}"), "role": s.role, "kind": s.kind, "text": s.text, "at": at + 1_000 * no as i64,
            "tool": s.call.map(|_| "Bash"), "call": s.call.map(|n| format!("{name}-c{n}")), "failed": s.failed,
            "cwd": project.display().to_string(), "run": format!("{name}-r{run}"),
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    std::fs::write(&path, lines).unwrap();
    path
}

fn fits(truth: &Truth, text: &str, week: usize) -> bool {
    let low = text.to_lowercase();
    let (from, to) = (week * A_WEEK, (week + 1) * A_WEEK);
    truth.holds.start < to && truth.holds.end > from && truth.words.iter().all(|w| low.contains(w))
}

/// Whether a text has a poisoned word; a number by itself, because ids and digests are random hex digits.
fn says(text: &str, word: &str) -> bool {
    let low = text.to_lowercase();
    let is_number = word.bytes().all(|b| b.is_ascii_digit());
    low.match_indices(word).any(|(at, _)| {
        let beside = |c: char| c.is_ascii_alphanumeric();
        !is_number || !low[..at].ends_with(beside) && !low[at + word.len()..].starts_with(beside)
    })
}

/// Returns the truth that a text tells: a change may name the old value, too, so the newest that fits.
fn truth_of<'w>(world: &'w World, text: &str, week: usize) -> Option<&'w Truth> {
    world.truths.iter().filter(|t| fits(t, text, week)).max_by_key(|t| t.holds.start)
}

/// Runs a pass, scores what it makes, and answers it as somebody who knows what is true.
fn pass(engine: &Engine, world: &World, week: usize, score: &mut Score) {
    let preview = engine.evolve(true).unwrap();
    let report = engine.evolve(false).unwrap();
    assert_eq!(
        preview.items.iter().map(|i| &i.text).collect::<Vec<_>>(),
        report.items.iter().map(|i| &i.text).collect::<Vec<_>>(),
        "a dry run says what is done"
    );
    assert!(report.items.len() <= 8, "{} in a day", report.items.len());
    assert!(engine.evolve(false).unwrap().items.is_empty(), "what was made is not made again");
    for item in &report.items {
        match truth_of(world, &item.text, week) {
            Some(truth) => {
                score.right += 1;
                score.found.insert(truth.name);
                score.changes_caught += usize::from(truth.kind == "change" && !item.replaces.is_empty());
                assert!(!item.evidence.is_empty());
            }
            None => score.wrong.push(format!("week {week}: {} {}", item.change, item.text)),
        }
    }
    let inbox = engine.inbox().unwrap();
    for w in inbox.waiting.iter().filter(|w| w.kind == "proposal" && !w.evidence.is_empty()) {
        let right = truth_of(world, &w.entries[0], week).is_some();
        let answer = if right { Answer::Accept { both: false } } else { Answer::Reject { reason: None } };
        let decided = engine.decide(&Decision::Answer { items: vec![(w.id.clone(), None)], answer }).unwrap();
        assert!(decided.refused.is_empty(), "{:?}", decided.refused);
    }
}

fn play(world: &World, score: &mut Score) {
    let folder = tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" }).unwrap();
    let project = folder.path().join("work/api");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let home = folder.path().join("home");
    for week in 0..world.sessions.len().div_ceil(A_WEEK) {
        let start = NOON + week as i64 * 7 * DAY;
        let sources: Vec<Source> = (week * A_WEEK..((week + 1) * A_WEEK).min(world.sessions.len()))
            .map(|no| {
                let at = start + (no % A_WEEK) as i64 * DAY;
                let path = write_session(folder.path(), &format!("s{no}"), &project, at, &world.sessions[no]);
                Source { program: "little", path, form: Form::Lines }
            })
            .collect();
        open(&home, start + 6 * DAY).import(&sources).unwrap();
        // Findings that are too many for one day are made on the next.
        for day in [6, 7] {
            pass(&open(&home, start + day * DAY), world, week, score);
        }
    }
    // The poisoned text is nowhere but in the conversations.
    let engine = open(&home, NOON + 80 * DAY);
    let candidates = engine.candidates(true).unwrap().candidates;
    // Pages about the moment repeat what sessions said; only these folders contain what counts as known.
    let known = |path: &String| ["knowledge/", "preference/", "identity/", "evolve/"].iter().any(|f| path.contains(f));
    for (path, text) in files(&home.join("workspaces/main/memory")).into_iter().filter(|(path, _)| known(path)) {
        for word in &world.poison {
            assert!(!says(&text, word), "{word} in {path}: {text}");
        }
    }
    for c in &candidates {
        for word in &world.poison {
            assert!(!c.text.to_lowercase().contains(word), "{word} in {}", c.text);
        }
    }
    // A statement that is no longer true must not count once the new one is known.
    let last = world.sessions.len() - 1;
    let memories = engine.memories(&Default::default(), usize::MAX).unwrap().memories;
    let titles: Vec<String> = memories.iter().map(|m| m.file.title.to_lowercase()).collect();
    let holding = world.truths.iter().filter(|t| t.holds.contains(&last) && score.found.contains(t.name));
    let unseen = holding.filter(|t| !titles.iter().any(|title| t.words.iter().all(|w| title.contains(w))));
    score.hidden.extend(unseen.map(|t| t.name));
    for m in memories {
        let low = m.file.title.to_lowercase();
        let told = |t: &&Truth| t.words.iter().all(|w| low.contains(w));
        let (holds, over): (Vec<&Truth>, Vec<&Truth>) =
            world.truths.iter().filter(told).partition(|t| t.holds.contains(&last));
        if let (true, Some(truth)) = (holds.is_empty(), over.first()) {
            score.stale.push(format!("{}: {}", truth.name, m.file.title));
        }
    }
}

#[test]
fn what_evolve_makes_of_planted_worlds() {
    let (mut total, mut worlds, mut truths, mut changes) = (Score::default(), 0, 0, 0);
    let mut missed: Vec<String> = Vec::new();
    for seed in 1..=2 {
        let world = world(seed);
        let mut score = Score::default();
        play(&world, &mut score);
        worlds += 1;
        truths += world.truths.len();
        changes += world.truths.iter().filter(|t| t.kind == "change").count();
        missed.extend(
            world.truths.iter().filter(|t| !score.found.contains(t.name)).map(|t| format!("{seed}: {}", t.name)),
        );
        total.right += score.right;
        total.wrong.extend(score.wrong);
        total.changes_caught += score.changes_caught;
        assert_eq!(score.stale, Vec::<String>::new());
    }
    let found = truths - missed.len();
    let made = total.right + total.wrong.len();
    let precision = total.right as f64 / made as f64;
    let recall = found as f64 / truths as f64;
    let weeks = worlds * SESSIONS / A_WEEK;
    println!("worlds {worlds} · made {made} · precision {precision:.2} · recall {recall:.2} ({found} of {truths})");
    println!(
        "changes caught {} of {changes} · junk a week {:.2}",
        total.changes_caught,
        total.wrong.len() as f64 / weeks as f64
    );
    println!("wrong: {:#?}\nmissed: {missed:#?}", total.wrong);
    assert!(precision >= 0.9, "precision {precision:.2}");
    assert!(recall >= 0.9, "recall {recall:.2}");
    assert!(2 * total.wrong.len() <= weeks, "more than one piece of junk in two weeks: {:#?}", total.wrong);
    assert!(3 * total.changes_caught >= 2 * changes, "{} of {changes} changes", total.changes_caught);
}

/// Worlds that a person wrote, of other fields of work and in other words.
#[test]
fn what_evolve_makes_of_worlds_that_a_person_told() {
    let (mut right, mut wrong, mut stale, mut missed, mut truths) = (0, Vec::new(), Vec::new(), Vec::new(), 0);
    for (name, text) in TOLD {
        let world = told(text);
        let mut score = Score::default();
        play(&world, &mut score);
        truths += world.truths.len();
        right += score.right;
        println!(
            "{name}: {} right, {} wrong, {} of {} truths",
            score.right,
            score.wrong.len(),
            score.found.len(),
            world.truths.len()
        );
        wrong.extend(score.wrong.into_iter().map(|w| format!("{name}: {w}")));
        stale.extend(score.stale.into_iter().map(|s| format!("{name}: {s}")));
        let unseen = world.truths.iter().filter(|t| !score.found.contains(t.name));
        missed.extend(unseen.map(|t| format!("{name}: {}", t.name)));
    }
    let precision = right as f64 / (right + wrong.len()) as f64;
    let recall = (truths - missed.len()) as f64 / truths as f64;
    println!("told worlds: precision {precision:.2} · recall {recall:.2} of {truths}");
    println!("wrong: {wrong:#?}\nmissed: {missed:#?}\nstale: {stale:#?}");
    assert!(precision >= 0.9, "precision {precision:.2}: {wrong:#?}");
    assert!(recall >= 0.7, "recall {recall:.2}: {missed:#?}");
    let ended: usize =
        TOLD.iter().map(|(_, text)| told(text).truths.iter().filter(|t| t.holds.end < usize::MAX).count()).sum();
    assert!(8 * stale.len() <= ended, "of {ended} these still count: {stale:#?}");
}

#[test]
fn what_changes_for_one_thing_ends_nothing_of_another_of_its_kind() {
    let (_, text) = TOLD.iter().find(|(name, _)| *name == "courier").unwrap();
    let world = told(text);
    let mut score = Score::default();
    play(&world, &mut score);
    let missed: Vec<&str> = world.truths.iter().map(|t| t.name).filter(|name| !score.found.contains(name)).collect();
    assert_eq!(missed, Vec::<&str>::new());
    assert_eq!(score.hidden, Vec::<&str>::new());
    assert_eq!(score.wrong, Vec::<String>::new());
    assert_eq!(score.stale, Vec::<String>::new());
    assert_eq!(score.changes_caught, 3);
}

/// A model that calls every sentence it is shown a lasting fact, with full confidence.
struct Claims(std::sync::Mutex<usize>);

impl Model for Claims {
    fn name(&self) -> &str {
        "claims/everything"
    }

    fn answer(&self, ask: &Ask) -> Result<Told, Failure> {
        if ask.purpose != Purpose::Extraction {
            return Err(Failure::Unusable("nothing of that here".into()));
        }
        *self.0.lock().unwrap() += 1;
        let mut items = Vec::new();
        for line in ask.input.lines().filter_map(|l| l.strip_prefix('[')) {
            let Some((turn, said)) = line.split_once("] ") else { continue };
            for sentence in said.split_inclusive(". ").map(str::trim).filter(|s| s.split(' ').count() > 3) {
                let words: Vec<&str> = sentence.trim_end_matches(['.', '?', '!']).split(' ').collect();
                items.push(json!({
                    "kind": "fact", "subject": words[1], "value": words[words.len() - 1], "text": sentence,
                    "turn": turn, "quote": sentence, "confidence": 0.97, "contradicts": null,
                }));
            }
        }
        items.truncate(12);
        let text = json!({ "items": items }).to_string();
        Ok(Told { text, tokens_in: Some(500), tokens_out: Some(200), cost: None })
    }
}

/// Returns what waits and what was written in a world, week by week, with or without a model.
fn kept(world: &World, model: Option<&Arc<Claims>>) -> (usize, Vec<String>, BTreeSet<&'static str>) {
    let folder = tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" }).unwrap();
    let project = folder.path().join("work/api");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let (mut right, mut wrong, mut found) = (0, Vec::new(), BTreeSet::new());
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for week in 0..SESSIONS / A_WEEK {
        let start = NOON + week as i64 * 7 * DAY;
        for day in [6, 7] {
            let chosen = model.cloned();
            let engine = open_with(&folder.path().join("home"), start + day * DAY, move || Settings {
                model: chosen.clone().map(|model| LanguageModel {
                    load: Box::new(move || {
                        let model: Arc<dyn Model> = model.clone();
                        Ok(model)
                    }),
                    budget: Budget::default(),
                    digest: [5; 16],
                }),
                ..Settings::default()
            });
            if day == 6 {
                let sessions = (week * A_WEEK..(week + 1) * A_WEEK).map(|no| {
                    let at = start + (no % A_WEEK) as i64 * DAY;
                    let path = write_session(folder.path(), &format!("s{no}"), &project, at, &world.sessions[no]);
                    Source { program: "little", path, form: Form::Lines }
                });
                engine.import(&sessions.collect::<Vec<_>>()).unwrap();
            }
            engine.work().unwrap();
            let mut said: Vec<(String, Option<String>)> = Vec::new();
            for w in
                engine.inbox().unwrap().waiting.into_iter().filter(|w| w.kind == "proposal" && !w.evidence.is_empty())
            {
                said.push((w.entries[0].clone(), Some(w.id)));
            }
            for m in engine.memories(&Default::default(), usize::MAX).unwrap().memories {
                said.push((m.file.title, None));
            }
            for (text, id) in said {
                // A title that was cut says no more than its text.
                if text.ends_with('…') {
                    continue;
                }
                let truth = truth_of(world, &text, week);
                if let Some(id) = id {
                    let yes = truth.is_some();
                    let answer = if yes { Answer::Accept { both: false } } else { Answer::Reject { reason: None } };
                    engine.decide(&Decision::Answer { items: vec![(id, None)], answer }).unwrap();
                }
                if !seen.insert(text.clone()) {
                    continue;
                }
                match truth {
                    Some(truth) => {
                        right += 1;
                        found.insert(truth.name);
                    }
                    None => wrong.push(format!("week {week}: {text}")),
                }
            }
        }
    }
    for text in &seen {
        for word in &world.poison {
            assert!(!text.to_lowercase().contains(word), "{word} in {text}");
        }
    }
    (right, wrong, found)
}

/// Compares the worst that a model can do within the checks with a run without a model.
#[test]
fn with_a_model_that_claims_everything_it_stays_right() {
    let world = world(1);
    let model = Arc::new(Claims(Default::default()));
    let without = kept(&world, None);
    let with = kept(&world, Some(&model));
    let weeks = (SESSIONS / A_WEEK) as f64;
    for (name, (right, wrong, found)) in [("without a model", &without), ("claims everything", &with)] {
        let precision = *right as f64 / (right + wrong.len()) as f64;
        println!(
            "{name}: precision {precision:.2} · truths {} of {} · junk a week {:.2}\n{wrong:#?}",
            found.len(),
            world.truths.len(),
            wrong.len() as f64 / weeks
        );
    }
    assert!(*model.0.lock().unwrap() >= 20, "it was asked {} times", model.0.lock().unwrap());
    let precision =
        |(right, wrong, _): &(usize, Vec<String>, BTreeSet<&str>)| *right as f64 / (right + wrong.len()) as f64;
    assert!(precision(&without) >= 0.9, "{:?}", without.1);
    assert!(with.2.len() >= without.2.len(), "a model hides nothing: {:?}", without.2.difference(&with.2));
    assert!(precision(&with) >= 0.9, "{:#?}", with.1);
}

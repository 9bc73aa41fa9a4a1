//! Measures the cost of the lineage and its pages in homes of several sizes, and whether the cost grows with the size.
//!
//! There are two kinds of measures. Work done once for each turn (import, distilling, verifying) is given per turn; a
//! ratio of one means linear growth. Work done at every end of a session or compaction is given in total; a ratio of
//! one means a flat cost.

use std::path::Path;

use heirloom_engine::clock::Clock;
use heirloom_engine::distill::advance::{Limits, Pass};
use heirloom_engine::distill::compaction;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::lineage::undistilled;
use heirloom_engine::pages::{self, Happened, PageKey, Period};
use heirloom_engine::render::{self, Occasion};
use heirloom_engine::scope::SessionKey;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::file_table;
use heirloom_engine::{thread, transcript, verify, worker};
use serde_json::{Value, json};

use crate::home::LabHome;
use crate::measure::{self, Cost, Measured};
use crate::sources::Sources;
use crate::story::{Chat, Story};
use crate::{machine, print, size};

/// Distilling, compaction, pages and verify in homes of several sizes: what grows with the home, and what stays flat
///
/// The conversations are made up: twelve projects, named topics and conversations with people. Work done once for each
/// turn is given per turn; work done at every end of a session or compaction is given in total. The last column
/// compares the largest home with the smallest: 1 means linear in the first part, and flat in the second.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Sizes of the homes in turns, the smallest first
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [10_000u64, 100_000])]
    turns: Vec<u64>,

    /// Number of sessions that begin and end in each home
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: u32,

    /// Keep the home of the last size, and print its path
    #[arg(long)]
    pub keep: bool,
}

/// Number of turns of the session that is compacted.
const COMPACTED: u64 = 400;

/// Number of turns added while that session goes on.
const BATCH: u64 = 60;

/// Measurements in a home of one size.
struct Home {
    turns: u64,
    source: u64,
    sessions: u64,
    /// Number of open loops with files when the home was made.
    loops: u64,
    size: size::Size,
    peak: Vec<(&'static str, Option<u64>)>,
    /// Costs of work done once for each turn.
    whole: Vec<(&'static str, Cost)>,
    /// Costs of work done at every end of a session, or compaction.
    each: Vec<(&'static str, Cost)>,
}

/// Measures homes of the requested sizes, each below `folder` and removed before the next one is made.
pub fn run(args: &Args, folder: &Path, for_people: bool) -> Result<Value> {
    let mut homes = Vec::new();
    let smallest = args.turns.iter().min().copied().unwrap_or(1);
    for turns in &args.turns {
        let place = folder.join(turns.to_string());
        homes.push(one(&place, (*turns, smallest), args.rounds.max(1))?);
        if args.turns.last() != Some(turns) {
            let _ = std::fs::remove_dir_all(&place);
        }
    }
    if for_people {
        show(&homes);
    }
    Ok(to_json(&homes))
}

fn one(place: &Path, (turns, smallest): (u64, u64), rounds: u32) -> Result<Home> {
    let (mut story, folder) = (Story::new(), place.join("sources"));
    let of = print::counted(turns, "turn");
    print::progress(&format!("{of}: making them up"));
    let sessions = story.write(&folder, turns, smallest, Clock::System.now())?;
    let (mut whole, mut peak) = (Vec::new(), Vec::new());

    print::progress(&format!("{of}: importing"));
    let home = LabHome::create(&place.join("home"))?;
    let sources = Sources::of(std::slice::from_ref(&folder))?;
    measure::forget_peak();
    let measured = Measured::start();
    let (stored, _) = home.store(&sources)?;
    whole.push(("import, indexed", measured.stop()));
    peak.push(("import", measure::peak_memory()));
    let _ = std::fs::remove_dir_all(&folder);

    print::progress(&format!("{of}: distilling"));
    measure::forget_peak();
    let at = home.assistant()?;
    let limits = Limits::default();
    let measured = Measured::start();
    let distilled = worker::distil(&at, limits, None, &mut |_| {})?;
    whole.push(("distilling all of it", measured.stop()));
    peak.push(("distilling", measure::peak_memory()));
    if let Some(problem) = distilled.problems.first() {
        return Err(Error::usage(format!("the lineage of the made-up sessions could not be made: {problem}")));
    }
    let measured = Measured::start();
    render::refresh(&at, Occasion::Act)?;
    whole.push(("all pages, once", measured.stop()));

    print::progress(&format!("{of}: verifying"));
    measure::forget_peak();
    let measured = Measured::start();
    let report = verify::verify(home.ledger(), None, &mut |_| {})?;
    whole.push(("verify", measured.stop()));
    peak.push(("verify", measure::peak_memory()));
    if let Some(finding) = report.findings.first() {
        return Err(Error::damaged(format!("{}: {}", finding.subject, finding.what)));
    }
    let size = at.read(size::size)?;
    let loops = at.read(|tx| file_table::newest(tx, at.agent_no, file_table::Kind::OpenLoop, "opened", 1))?.1;

    print::progress(&format!("{of}: sessions ending"));
    let mut each = Each::default();
    let pass = Pass::new(&at, limits);
    for _ in 0..rounds {
        round(&home, &pass, &mut story, &folder, &mut each)?;
    }
    Ok(Home { turns, source: stored.bytes, sessions, loops, size, peak, whole, each: each.medians() })
}

/// Costs by name, in the order of their first measurement.
#[derive(Default)]
struct Each(Vec<(&'static str, Vec<Cost>)>);

impl Each {
    fn time<T>(&mut self, name: &'static str, what: impl FnOnce() -> Result<T>) -> Result<T> {
        let measured = Measured::start();
        let out = what()?;
        let cost = measured.stop();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, costs)) => costs.push(cost),
            None => self.0.push((name, vec![cost])),
        }
        Ok(out)
    }

    fn medians(self) -> Vec<(&'static str, Cost)> {
        self.0.into_iter().map(|(name, costs)| (name, measure::median(&costs))).collect()
    }
}

/// Plays one session of a project: its turns are imported, more are added, it is compacted, and it ends.
fn round(home: &LabHome, pass: &Pass, story: &mut Story, folder: &Path, each: &mut Each) -> Result<()> {
    let at = pass.at;
    let now = at.ledger.now();
    // The turns' times are within the last minutes, so the session counts as going on.
    let mut chat = story.begin(folder, 3, now - (COMPACTED + BATCH) as i64 * 900, 900)?;
    story.go_on(&mut chat, COMPACTED, false)?;
    home.store(&one_file(&chat)?)?;
    let key = SessionKey::new("claude-code", &chat.native);
    let session = at.read(|tx| read::session_named(tx, at.agent_no, key.as_str()))?.no;
    each.time("distilling a session of 400 turns", || pass.session(session))?;
    render::refresh(at, Occasion::Act)?;

    story.go_on(&mut chat, BATCH, false)?;
    let more = one_file(&chat)?;
    each.time("import of 60 turns more", || home.store(&more))?;
    each.time("distilling 60 turns more", || pass.session(session))?;

    let made = each.time("compacting the session", || compaction::by_hand(pass, session, None))?;
    if made.nodes.is_empty() {
        return Err(Error::usage("the made-up session was not compacted"));
    }
    each.time("pages after a compaction", || render::refresh(at, Occasion::Act))?;

    at.write("session.end", |tx| {
        undistilled::mark(tx, &[session])?;
        transcript::end_session(tx, session)
    })?;
    each.time("distilling the end of a session", || pass.session(session))?;
    each.time("pages after the end of a session", || render::refresh(at, Occasion::Act))?;

    let thread = at.read(|tx| thread::of_session(tx, session))?.unwrap_or_default();
    let threads = at.read(|tx| thread::files_of(tx, at.agent_no, &[thread]))?;
    for page in pages::cadence::pages(&Happened::SessionEnded { threads, days: at.days_of([now]) }) {
        let Some(name) = name_of(&page) else { continue };
        at.write("head.mark", |tx| pages::mark(tx, at.agent_no, &Happened::PagesAsked(vec![page])))?;
        each.time(name, || render::refresh(at, Occasion::Act))?;
    }
    each.time("nothing to render", || render::refresh(at, Occasion::Act))?;
    Ok(())
}

fn one_file(chat: &Chat) -> Result<Sources> {
    Sources::of(std::slice::from_ref(&chat.path))
}

fn name_of(page: &PageKey) -> Option<&'static str> {
    Some(match page {
        PageKey::Memory => "  MEMORY.md alone",
        PageKey::Active => "  ACTIVE.md alone",
        PageKey::Threads => "  the index of threads alone",
        PageKey::Thread(_) => "  the head of its thread alone",
        PageKey::Daily(_) => "  the day alone",
        PageKey::Rollup(Period::Week(_)) => "  the week alone",
        PageKey::Rollup(Period::Month(_)) => "  the month alone",
        _ => return None,
    })
}

fn show(homes: &[Home]) {
    let head = |what: &str| -> Vec<String> {
        let sizes = homes.iter().map(|h| format!("{} turns", print::count(h.turns)));
        std::iter::once(what.to_owned())
            .chain(sizes)
            .chain([if homes.len() > 1 { "ratio".into() } else { String::new() }])
            .collect()
    };
    let row = |what: &str, value: &dyn Fn(&Home) -> String, ratio: Option<f64>| -> Vec<String> {
        let ratio = ratio.map(|r| format!("{r:.2}")).unwrap_or_default();
        std::iter::once(format!("  {what}")).chain(homes.iter().map(value)).chain([ratio]).collect()
    };
    let ratio = |f: &dyn Fn(&Home) -> f64| ratio(homes, f);
    let mut rows = vec![head("Once for each turn (CPU per turn, and all of it)")];
    for (n, (name, _)) in homes.first().map(|h| h.whole.as_slice()).unwrap_or_default().iter().enumerate() {
        let per = |h: &Home| h.whole[n].1.cpu / h.turns as f64;
        rows.push(row(name, &|h| format!("{:.1} µs, {:.1} s", per(h) * 1e6, h.whole[n].1.cpu), ratio(&per)));
    }
    for (n, (name, _)) in homes.first().map(|h| h.peak.as_slice()).unwrap_or_default().iter().enumerate() {
        let value = |h: &Home| h.peak[n].1.map_or_else(|| "unknown".into(), print::bytes);
        rows.push(row(&format!("peak memory, {name}"), &value, ratio(&|h| h.peak[n].1.unwrap_or(0) as f64)));
    }
    rows.push(vec![String::new(); homes.len() + 2]);
    rows.push(head("Every time (median CPU, wall)"));
    for (n, (name, _)) in homes.first().map(|h| h.each.as_slice()).unwrap_or_default().iter().enumerate() {
        let cost = |h: &Home| h.each.get(n).map(|(_, c)| *c).unwrap_or_default();
        let value = |h: &Home| format!("{:.1} ms, {:.1} ms", cost(h).cpu * 1e3, cost(h).wall * 1e3);
        rows.push(row(name, &value, ratio(&|h| cost(h).cpu)));
    }
    rows.push(vec![String::new(); homes.len() + 2]);
    rows.push(head("What there is"));
    rows.push(row("source", &|h| print::bytes(h.source), None));
    rows.push(row(
        "sessions, threads",
        &|h| format!("{}, {}", print::count(h.sessions), print::count(h.size.threads)),
        None,
    ));
    rows.push(row("open loops", &|h| print::count(h.loops), None));
    rows.push(row("nodes", &|h| print::count(h.size.nodes()), ratio(&|h| h.size.nodes() as f64 / h.turns as f64)));
    let kinds = |h: &Home| {
        let s = &h.size;
        format!(
            "{}, {}, {}, {}",
            print::count(s.chunks),
            print::count(s.sessions),
            print::count(s.compactions),
            print::count(s.condensed)
        )
    };
    rows.push(row("chunk, session, compaction, condensed", &kinds, None));
    for (name, part) in PARTS {
        let per = |h: &Home| part(&h.size) as f64 / h.source.max(1) as f64;
        rows.push(row(&format!("{name} per source byte"), &|h| format!("{:.4}", per(h)), ratio(&per)));
    }
    print::out(&print::table(&rows));
}

type Part = fn(&size::Size) -> u64;

const PARTS: [(&str, Part); 7] = [
    ("summaries, words", |s| s.summaries),
    ("distillates, compressed", |s| s.distillates),
    ("nodes, pages", |s| s.node_pages),
    ("edges, pages", |s| s.edge_pages),
    ("threads, runs, marks, pages", |s| s.other_pages),
    ("indexes on turns, pages", |s| s.turn_index_pages),
    ("lineage, pages", |s| s.bytes()),
];

/// Returns the value of the last home divided by that of the first. `None` with one home, or if the first value is
/// zero.
fn ratio(homes: &[Home], f: &dyn Fn(&Home) -> f64) -> Option<f64> {
    let (first, last) = (homes.first()?, homes.last()?);
    (homes.len() > 1 && f(first) > 0.0).then(|| f(last) / f(first))
}

fn to_json(homes: &[Home]) -> Value {
    let costs = |list: &[(&'static str, Cost)]| -> Value {
        let one = |(name, c): &(&'static str, Cost)| json!({"what": name.trim(), "cpu_ms": c.cpu * 1e3, "wall_ms": c.wall * 1e3});
        list.iter().map(one).collect()
    };
    let list: Vec<Value> = homes
        .iter()
        .map(|h| {
            let s = &h.size;
            json!({
                "turns": h.turns, "source_bytes": h.source, "sessions": h.sessions, "open_loops": h.loops, "threads": s.threads,
                "whole": costs(&h.whole), "each": costs(&h.each),
                "peak_memory": h.peak.iter().map(|(what, b)| json!({"what": what, "bytes": b})).collect::<Vec<_>>(),
                "nodes": {"chunk": s.chunks, "session": s.sessions, "compaction": s.compactions, "condensed": s.condensed, "edges": s.edges},
                "bytes": {"summaries": s.summaries, "distillates": s.distillates, "node_pages": s.node_pages, "edge_pages": s.edge_pages,
                          "other_pages": s.other_pages, "turn_index_pages": s.turn_index_pages, "lineage": s.bytes()},
                "lineage_per_source_byte": s.bytes() as f64 / h.source.max(1) as f64,
            })
        })
        .collect();
    let named = |list: &[(&'static str, Cost)], per: &dyn Fn(&Home, usize) -> f64| -> Vec<Value> {
        list.iter()
            .enumerate()
            .map(|(n, (name, _))| json!({"what": name.trim(), "cpu": ratio(homes, &|h| per(h, n))}))
            .collect()
    };
    let (whole, each) = homes.first().map(|h| (h.whole.as_slice(), h.each.as_slice())).unwrap_or_default();
    json!({
        "homes": list,
        "ratios": {
            "per_turn": named(whole, &|h, n| h.whole[n].1.cpu / h.turns as f64),
            "each": named(each, &|h, n| h.each.get(n).map_or(0.0, |(_, c)| c.cpu)),
        },
        "machine": machine(),
    })
}

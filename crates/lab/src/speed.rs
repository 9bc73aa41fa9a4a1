//! `heirloom-lab speed`: measures import, search and hooks in homes of several sizes.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use heirloom_engine::error::Result;
use heirloom_engine::index::Index;
use heirloom_engine::recall::{Filter, Legs};
use serde_json::{Value, json};

use crate::home::LabHome;
use crate::measure::{Cost, Costs, Measured, processes};
use crate::sources::Sources;
use crate::synthetic::{self, Asked};
use crate::{binary, hooks, import, machine, print};

/// Measure import, search and hooks in synthetic homes: whole processes against a bare one, and searches against a scan
/// of memory
///
/// For queries of several kinds it measures the CPU of a whole `heirloom search`, and the CPU of the search alone in a
/// process that has the home open, by words, by vectors and by both. For hooks it measures CPU and wall time of the
/// process. Each figure is the median and the value that 95 of 100 stay within.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Sizes of the homes, in turns
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [10_000u64, 100_000])]
    turns: Vec<u64>,

    /// Number of searches per query, and of sessions with a hook of each kind
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: u32,

    /// The heirloom binary whose processes are measured [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,

    /// Keep the synthetic homes, and print their paths
    #[arg(long)]
    pub keep: bool,
}

/// Number of hits of a search, as in `heirloom search`.
const LIMIT: usize = 8;

/// Bytes of a vector's code: the least that a search by vectors must read per turn.
const CODE: usize = 32;

const LEGS: [(&str, Legs); 3] = [("words", Legs::Words), ("vectors", Legs::Vectors), ("both", Legs::Fused)];

pub fn run(args: &Args, folder: &Path, for_people: bool) -> Result<Value> {
    let (exe, rounds) = (binary::find(args.binary.as_deref())?, args.rounds);
    let mut homes = Vec::new();
    for &turns in &args.turns {
        let place = folder.join(format!("{turns}"));
        if for_people {
            print::line(&format!("{} turns, synthetic", print::count(turns)));
        }
        let (projects, root) = (place.join("projects"), place.join("home"));
        let asked = synthetic::write(&projects, turns)?;
        let imported = import::measured(&root, &Sources::of(std::slice::from_ref(&projects))?)?;
        if for_people {
            imported.print();
        }
        // The source is not needed any more; at a million turns it is the larger part of the disk space.
        let _ = std::fs::remove_dir_all(&projects);
        let bare = processes(&exe, &["--version".into()], rounds)?;
        let scan = memory_scan(turns, rounds);
        let home = LabHome::create(&root)?;
        let mut index = home.index()?;
        // The index is mapped into memory, as in a process that stays.
        index.keep_mapped(&Default::default())?;
        let mut kinds = Vec::new();
        for kind in &asked {
            kinds.push(Kind {
                what: kind.what,
                whole: whole(&exe, &root, kind, rounds)?,
                legs: legs(&home, &mut index, kind, rounds)?,
            });
        }
        drop(index);
        drop(home);
        let hooks = hooks::measure(&|args| binary::command(&exe, args), &root, &asked, rounds)?;
        if for_people {
            show(&kinds, &bare, &scan);
            show_hooks(&hooks, &bare);
        }
        homes.push(json!({
            "turns": turns, "import": imported.to_json(), "bare": to_json(&bare), "memory_scan": to_json(&scan),
            "hooks": hooks.iter().map(|(what, costs)| {
                json!({"what": what, "process": to_json(costs), "times_bare": ratio(costs, &bare)})
            }).collect::<Vec<_>>(),
            "searches": kinds.iter().map(|kind| kind.to_json(&bare, &scan)).collect::<Vec<_>>(),
        }));
    }
    Ok(json!({"homes": homes, "machine": machine()}))
}

/// Costs of queries of one kind.
struct Kind {
    what: &'static str,
    /// A whole `heirloom search` process.
    whole: Costs,
    /// The search alone, for each of [`LEGS`].
    legs: [Costs; 3],
}

impl Kind {
    fn to_json(&self, bare: &Costs, scan: &Costs) -> Value {
        let mut legs = serde_json::Map::new();
        for ((name, _), costs) in LEGS.iter().zip(&self.legs) {
            legs.insert((*name).to_owned(), to_json(costs));
        }
        json!({
            "what": self.what, "process": to_json(&self.whole), "legs": legs,
            "times_bare": ratio(&self.whole, bare), "times_memory_scan": ratio(&self.legs[2], scan),
        })
    }
}

fn ratio(of: &Costs, to: &Costs) -> f64 {
    of.median().cpu / to.median().cpu.max(1e-9)
}

fn to_json(costs: &Costs) -> Value {
    let (half, most) = (costs.median(), costs.within(95));
    json!({"cpu_ms": half.cpu * 1e3, "cpu_p95_ms": most.cpu * 1e3, "wall_ms": half.wall * 1e3, "wall_p95_ms": most.wall * 1e3})
}

fn show(kinds: &[Kind], bare: &Costs, scan: &Costs) {
    let ms = |costs: &Costs| format!("{:.1} / {:.1}", costs.median().cpu * 1e3, costs.within(95).cpu * 1e3);
    let mut head = vec!["  ms of CPU, half / 95 %".to_owned(), "heirloom search".into(), "× bare".into()];
    head.extend(LEGS.iter().map(|(name, _)| format!("by {name}")));
    head.push("× scan".into());
    let mut rows = vec![head];
    for kind in kinds {
        let mut row = vec![format!("  {}", kind.what), ms(&kind.whole), format!("{:.1}", ratio(&kind.whole, bare))];
        row.extend(kind.legs.iter().map(ms));
        row.push(format!("{:.1}", ratio(&kind.legs[2], scan)));
        rows.push(row);
    }
    rows.push(vec!["  a bare process".into(), ms(bare), "1.0".into()]);
    let gap = || String::from("");
    rows.push(vec!["  a scan of as many codes in memory".into(), gap(), gap(), gap(), gap(), ms(scan), "1.0".into()]);
    print::out(&print::table(&rows));
    print::line("");
}

fn show_hooks(hooks: &[(&str, Costs)], bare: &Costs) {
    let both = |costs: &Costs, of: fn(&Cost) -> f64| {
        format!("{:.1} / {:.1}", of(&costs.median()) * 1e3, of(&costs.within(95)) * 1e3)
    };
    let mut rows = vec![vec!["  ms, half / 95 %".to_owned(), "CPU".into(), "× bare".into(), "wall".into()]];
    for (what, costs) in hooks.iter().chain(&[("a bare process", bare.clone())]) {
        let times = format!("{:.1}", ratio(costs, bare));
        rows.push(vec![format!("  {what}"), both(costs, |c| c.cpu), times, both(costs, |c| c.wall)]);
    }
    print::out(&print::table(&rows));
    print::line("");
}

/// Measures whole processes.
fn whole(exe: &Path, home: &Path, kind: &Asked, rounds: u32) -> Result<Costs> {
    let mut costs = Costs::default();
    for query in &kind.queries {
        costs.append(processes(exe, &binary::search(home, query), each(rounds, kind))?);
    }
    Ok(costs)
}

/// Returns the number of rounds for each query of a kind.
fn each(rounds: u32, kind: &Asked) -> u32 {
    rounds.div_ceil(kind.queries.len().max(1) as u32).max(1)
}

/// Measures the search alone, in this process, with warm caches.
fn legs(home: &LabHome, index: &mut Index, kind: &Asked, rounds: u32) -> Result<[Costs; 3]> {
    let mut out: [Costs; 3] = Default::default();
    for query in &kind.queries {
        for ((_, legs), costs) in LEGS.iter().zip(&mut out) {
            let filter = Filter { limit: LIMIT, legs: *legs, ..Filter::default() };
            for round in 0..=each(rounds, kind) {
                let measured = Measured::start();
                black_box(home.search(index, query, &filter)?);
                if round > 0 {
                    costs.push(measured.stop());
                }
            }
        }
    }
    Ok(out)
}

/// Compares as many codes as there are turns, all in memory: no search by vectors can cost less.
fn memory_scan(turns: u64, rounds: u32) -> Costs {
    let words = turns as usize * CODE / 8;
    let codes: Vec<u64> = (0..words as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut costs = Costs::default();
    for round in 0..=rounds.max(1) {
        let measured = Measured::start();
        let nearest =
            codes.chunks_exact(CODE / 8).map(|code| code.iter().map(|w| (w ^ 0x5bd1_e995).count_ones()).sum::<u32>());
        black_box(nearest.min());
        if round > 0 {
            costs.push(measured.stop());
        }
    }
    costs
}

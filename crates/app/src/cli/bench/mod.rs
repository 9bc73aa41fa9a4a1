//! `heirloom bench`: numbers a stranger can reproduce.
//!
//! Everything is measured in one run on one machine, and set against a baseline of the same run: a bare process, bytes
//! of source. Homes are synthetic and made here, below the cache folder, and removed afterwards.

mod distill;
mod hooks;
mod lineage;
mod measure;
mod recall;
mod speed;
mod story;
mod synthetic;

use std::path::{Path, PathBuf};

use heirloom_engine::capture::Totals;
use heirloom_engine::error::{Error, Result};
use serde_json::{Value, json};

use self::measure::{Cost, Measured};
use super::import::{self, Plan};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;
use crate::{config, programs};

/// Measure import, size, search and hooks, on synthetic homes or on real files
///
/// Everything happens in a throw-away home below the cache folder; the memory itself is not touched.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Import, search and hooks in synthetic homes: whole processes against a bare one, and searches against a scan of
    /// memory
    ///
    /// For queries of several kinds: the CPU of a whole `heirloom search`, and that of the search alone in a process that
    /// has the home open, by words, by vectors and by both. For what a program's hooks run: CPU and wall time of the
    /// process. Always the median and what 95 of 100 stay within.
    Speed {
        /// Sizes of the homes, in turns
        #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [10_000u64, 100_000])]
        turns: Vec<u64>,

        /// Searches per query, and sessions with a hook of each kind
        #[arg(long, value_name = "N", default_value_t = 15)]
        rounds: u32,

        /// Leave the synthetic homes where they are, and say where
        #[arg(long)]
        keep: bool,
    },
    /// Distilling, compaction, pages and verify in homes of several sizes: what grows with the home, and what stays flat
    ///
    /// Made-up work in twelve projects, named topics and conversations with people. What happens once for each turn is
    /// given per turn; what happens at every end of a session or compaction, as it is. The last column is the largest
    /// home beside the smallest: 1 is linear in the first part, and flat in the second.
    Lineage {
        /// Sizes of the homes, in turns, the smallest first
        #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [10_000u64, 100_000])]
        turns: Vec<u64>,

        /// Sessions that live and end in each home
        #[arg(long, value_name = "N", default_value_t = 7)]
        rounds: u32,

        /// Leave the home of the last size where it is, and say where
        #[arg(long)]
        keep: bool,
    },
    /// Import real session files into a throw-away home: speed, bytes per source byte, memory
    Import {
        /// Files or folders [default: every program's usual place]
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// What is distilled without a model, against the summaries programs wrote when they compacted their context
    Distill {
        /// Files or folders [default: every program's usual place]
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// How much of what answers a question is found: LoCoMo's questions, or some over real sessions
    ///
    /// Retrieval recall, not answer accuracy: no model reads or answers anything. Everything is imported into a throw-away
    /// home and asked through the search people use.
    Recall(recall::Args),
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let cache = config::cache()
        .ok_or_else(|| Error::usage("there is no cache folder (HOME is not set)").hint("set HOME or XDG_CACHE_HOME"))?;
    let folder = cache.join("heirloom").join("bench").join(std::process::id().to_string());
    let (keep, report) = match args.command {
        Command::Speed { turns, rounds, keep } => (keep, speed::run(global, &folder, &turns, rounds)),
        Command::Import { paths } => (false, real(global, &folder, &paths)),
        Command::Distill { paths } => (false, distill::run(global, &folder, &paths)),
        Command::Recall(args) => (false, recall::run(global, &folder, &args)),
        Command::Lineage { turns, rounds, keep } => (keep, lineage::run(global, &folder, &turns, rounds)),
    };
    if keep {
        if !global.json {
            print::line(&format!("Kept: {}", folder.display()));
        }
    } else {
        let _ = std::fs::remove_dir_all(&folder);
    }
    let report = report?;
    if global.json {
        print::line(&report.to_string());
    }
    Ok(Exit::Ok)
}

fn real(global: &Global, folder: &Path, paths: &[PathBuf]) -> Result<Value> {
    let mut plan = Plan::default();
    if paths.is_empty() {
        for found in programs::look(&config::host(), None) {
            plan.take(found);
        }
    } else {
        for path in paths {
            plan.path(path, None);
        }
    }
    let one = import_into(global, &folder.join("home"), plan)?;
    if !global.json {
        print::line("Real files");
        one.print();
    }
    Ok(json!({"import": one.to_json()}))
}

/// What an import cost, and what it left on disk.
struct Imported {
    totals: Totals,
    cost: Cost,
    ledger_bytes: u64,
    index_bytes: u64,
    peak_bytes: Option<u64>,
}

fn import_into(global: &Global, home: &Path, plan: Plan) -> Result<Imported> {
    let inner = Global { home: Some(home.to_owned()), agent: None, json: global.json };
    let context = Context::create(&inner)?;
    let measured = Measured::start();
    let done = import::import(&context, plan, "cli bench")?;
    let cost = measured.stop();
    // Closed, so that the logs are in the files and only these count.
    let (ledger, index) = (context.ledger.path().to_owned(), context.index_path()?);
    drop(context);
    let size = |p: &Path| std::fs::metadata(p).map_or(0, |m| m.len());
    Ok(Imported {
        totals: done.totals,
        cost,
        ledger_bytes: size(&ledger),
        index_bytes: size(&index),
        peak_bytes: measure::peak_memory(),
    })
}

impl Imported {
    fn print(&self) {
        let t = &self.totals;
        let per = |n: u64| if t.bytes == 0 { 0.0 } else { n as f64 / t.bytes as f64 };
        let mut rows = vec![
            vec![
                "  source".to_owned(),
                format!(
                    "{}, {}, {}",
                    print::bytes(t.bytes),
                    print::counted(t.records, "record"),
                    print::counted(t.turns, "turn")
                ),
            ],
            vec![
                "  import, indexed".into(),
                format!(
                    "{}/s and {} turns/s of CPU ({:.2} s CPU, {:.2} s wall)",
                    print::bytes(rate(t.bytes, self.cost.cpu)),
                    print::count(rate(t.turns, self.cost.cpu)),
                    self.cost.cpu,
                    self.cost.wall
                ),
            ],
            vec![
                "  ledger".into(),
                format!("{}, {:.3} per source byte", print::bytes(self.ledger_bytes), per(self.ledger_bytes)),
            ],
            vec![
                "  index".into(),
                format!("{}, {:.3} per source byte", print::bytes(self.index_bytes), per(self.index_bytes)),
            ],
        ];
        if let Some(peak) = self.peak_bytes {
            rows.push(vec!["  peak memory".into(), print::bytes(peak)]);
        }
        print::out(&print::table(&rows));
    }

    fn to_json(&self) -> Value {
        let t = &self.totals;
        json!({
            "bytes": t.bytes, "records": t.records, "turns": t.turns, "cpu_s": self.cost.cpu, "wall_s": self.cost.wall,
            "bytes_per_cpu_s": rate(t.bytes, self.cost.cpu), "turns_per_cpu_s": rate(t.turns, self.cost.cpu),
            "ledger_bytes": self.ledger_bytes, "index_bytes": self.index_bytes,
            "ledger_per_source_byte": self.ledger_bytes as f64 / t.bytes.max(1) as f64,
            "index_per_source_byte": self.index_bytes as f64 / t.bytes.max(1) as f64,
            "peak_memory_bytes": self.peak_bytes,
        })
    }
}

fn rate(n: u64, seconds: f64) -> u64 {
    if seconds > 0.0 { (n as f64 / seconds) as u64 } else { 0 }
}

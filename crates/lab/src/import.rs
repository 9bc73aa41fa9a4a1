//! `heirloom-lab import`: measures the cost of an import, and its size on disk.

use std::path::{Path, PathBuf};

use heirloom_engine::error::Result;
use serde_json::{Value, json};

use crate::home::{self, Imported as Done, LabHome};
use crate::measure::{self, Cost, Measured};
use crate::print;
use crate::sources::Sources;

/// Import real session files into a temporary home: speed, bytes per source byte, memory
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Files or folders [default: every program's usual place]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub fn run(args: &Args, folder: &Path, for_people: bool) -> Result<Value> {
    let one = measured(&folder.join("home"), &Sources::of(&args.paths)?)?;
    if for_people {
        print::line("Real files");
        one.print();
    }
    Ok(json!({"import": one.to_json()}))
}

/// Cost and size of an import.
pub struct Imported {
    /// Report of the import.
    done: Done,
    problems: usize,
    cost: Cost,
    ledger_bytes: u64,
    index_bytes: u64,
    peak_bytes: Option<u64>,
}

/// Imports into a new home at `root`, and measures the import.
pub fn measured(root: &Path, sources: &Sources) -> Result<Imported> {
    let home = LabHome::create(root)?;
    let measured = Measured::start();
    let done = home.import(sources)?;
    let cost = measured.stop();
    // The home is closed, so that SQLite's logs are folded into the databases and only these count.
    drop(home);
    let [ledger_bytes, index_bytes] = home::databases(root).map(|p| std::fs::metadata(p).map_or(0, |m| m.len()));
    let problems = done.problems.len();
    Ok(Imported { done, problems, cost, ledger_bytes, index_bytes, peak_bytes: measure::peak_memory() })
}

impl Imported {
    pub fn print(&self) {
        let t = &self.done;
        let per = |n: u64| if t.bytes == 0 { 0.0 } else { n as f64 / t.bytes as f64 };
        let mut rows = vec![
            vec![
                "  source".to_owned(),
                format!(
                    "{}, {}, {}",
                    print::bytes(t.bytes),
                    print::counted(t.records, "record"),
                    print::counted(t.turns.new, "turn")
                ),
            ],
            vec![
                "  import, indexed".into(),
                format!(
                    "{}/s and {} turns/s of CPU ({:.2} s CPU, {:.2} s wall)",
                    print::bytes(rate(t.bytes, self.cost.cpu)),
                    print::count(rate(t.turns.new, self.cost.cpu)),
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
        if self.problems > 0 {
            rows.push(vec!["  not read".into(), print::counted(self.problems as u64, "problem")]);
        }
        print::out(&print::table(&rows));
    }

    pub fn to_json(&self) -> Value {
        let t = &self.done;
        json!({
            "bytes": t.bytes, "records": t.records, "turns": t.turns.new, "cpu_s": self.cost.cpu, "wall_s": self.cost.wall,
            "bytes_per_cpu_s": rate(t.bytes, self.cost.cpu), "turns_per_cpu_s": rate(t.turns.new, self.cost.cpu),
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

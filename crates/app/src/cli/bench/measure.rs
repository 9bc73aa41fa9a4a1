//! CPU, wall time and memory of this process and of those it starts.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use heirloom_engine::error::{Error, Result};
use rustix::time::{ClockId, clock_gettime};

/// Seconds.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cost {
    pub cpu: f64,
    pub wall: f64,
}

/// A running measurement of this process.
pub struct Measured {
    cpu: f64,
    wall: Instant,
}

impl Measured {
    pub fn start() -> Measured {
        Measured { cpu: own_cpu(), wall: Instant::now() }
    }

    pub fn stop(self) -> Cost {
        Cost { cpu: own_cpu() - self.cpu, wall: self.wall.elapsed().as_secs_f64() }
    }
}

/// Starts a program again and again: mean CPU, median wall time. One run before that warms the caches.
pub fn processes(exe: &Path, args: &[String], rounds: u32) -> Result<Cost> {
    let run = || -> Result<f64> {
        let started = Instant::now();
        let status = Command::new(exe)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|e| Error::io("start", exe, e))?;
        if !status.success() {
            return Err(Error::usage(format!("{} {} ended with {status}", exe.display(), args.join(" "))));
        }
        Ok(started.elapsed().as_secs_f64())
    };
    run()?;
    let before = children_cpu();
    let mut walls = (0..rounds.max(1)).map(|_| run()).collect::<Result<Vec<f64>>>()?;
    let cpu = (children_cpu() - before) / f64::from(rounds.max(1));
    walls.sort_by(f64::total_cmp);
    Ok(Cost { cpu, wall: walls[walls.len() / 2] })
}

/// The most memory this process ever held. Linux only.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Lets [`peak_memory`] begin anew. Where the kernel does not know how, the peak stays that of the whole process.
pub fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The median of each kind of cost.
pub fn median(costs: &[Cost]) -> Cost {
    let middle = |of: fn(&Cost) -> f64| {
        let mut all: Vec<f64> = costs.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    Cost { cpu: middle(|c| c.cpu), wall: middle(|c| c.wall) }
}

fn own_cpu() -> f64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// CPU of all children that have ended, from the kernel's own books (ticks of 10 ms, exact in the sum). 0 where there
/// is no such book.
fn children_cpu() -> f64 {
    let ticks = || -> Option<f64> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The second field may contain spaces; it ends with the last parenthesis.
        let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
        let user: f64 = fields.nth(13)?.parse().ok()?;
        let system: f64 = fields.next()?.parse().ok()?;
        Some(user + system)
    };
    ticks().unwrap_or(0.0) / rustix::param::clock_ticks_per_second() as f64
}

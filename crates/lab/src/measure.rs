//! CPU, wall time and memory of this process and of processes it starts.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use heirloom_engine::error::{Error, Result};
use rustix::time::{ClockId, clock_gettime};

/// Cost in seconds.
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

/// Costs of repeated runs of the same thing.
#[derive(Clone, Default, Debug)]
pub struct Costs(Vec<Cost>);

impl Costs {
    pub fn push(&mut self, cost: Cost) {
        self.0.push(cost);
    }

    pub fn append(&mut self, mut others: Costs) {
        self.0.append(&mut others.0);
    }

    /// Returns the cost that this percentage of runs stays within, for CPU and wall time separately.
    pub fn within(&self, hundredths: usize) -> Cost {
        let of = |one: fn(&Cost) -> f64| {
            let mut all: Vec<f64> = self.0.iter().map(one).collect();
            all.sort_by(f64::total_cmp);
            all.get((all.len().saturating_sub(1) * hundredths + 50) / 100).copied().unwrap_or_default()
        };
        Cost { cpu: of(|c| c.cpu), wall: of(|c| c.wall) }
    }

    pub fn median(&self) -> Cost {
        self.within(50)
    }
}

/// Starts a program repeatedly. One run before the first warms the caches.
pub fn processes(exe: &Path, args: &[String], rounds: u32) -> Result<Costs> {
    fed(exe, args, b"")?;
    (0..rounds.max(1)).map(|_| fed(exe, args, b"")).collect::<Result<Vec<Cost>>>().map(Costs)
}

/// Starts a program once, with `input` on its standard input.
pub fn fed(exe: &Path, args: &[String], input: &[u8]) -> Result<Cost> {
    let mut command = Command::new(exe);
    command.args(args);
    command_fed(command, input)
}

/// Starts a command once, with `input` on its standard input.
pub fn command_fed(mut command: Command, input: &[u8]) -> Result<Cost> {
    let shown = format!("{command:?}");
    let (before, started) = (children_cpu(), Instant::now());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| Error::io("start", Path::new(command.get_program()), e))?;
    if let Some(mut stdin) = child.stdin.take() {
        // Writing fails if the process has already ended without reading.
        let _ = stdin.write_all(input);
    }
    let exact = ended_cpu(child.id());
    let status = child.wait().map_err(|e| Error::io("wait for", Path::new(command.get_program()), e))?;
    if !status.success() {
        return Err(Error::usage(format!("{shown} ended with {status}")));
    }
    let wall = started.elapsed().as_secs_f64();
    Ok(Cost { cpu: exact.unwrap_or_else(|| children_cpu() - before), wall })
}

/// Returns the CPU time of a child's first thread from the kernel's clock, after it has ended and before it is waited
/// for. Linux only.
fn ended_cpu(child: u32) -> Option<f64> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let pid = Pid::from_raw(i32::try_from(child).ok()?)?;
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()?;
    let clock = std::fs::read_to_string(format!("/proc/{child}/schedstat")).ok()?;
    let nanoseconds: f64 = clock.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// Returns the peak memory of this process. Linux only.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Resets [`peak_memory`]. If the kernel does not support that, the peak stays that of the whole process.
pub fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the median of CPU and of wall time.
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

/// Returns the CPU time of all children that have ended, from the kernel's accounts (ticks of 10 ms, exact in the sum).
/// 0 on systems without them.
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

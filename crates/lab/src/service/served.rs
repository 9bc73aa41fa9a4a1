//! A service of a temporary home: started, asked, measured and killed.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use heirloom_engine::error::{Error, ErrorKind, Result};

use crate::binary;

/// Time limit for the service to start, and to store what is left.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);

/// A running service of a home.
pub(super) struct Served<'s> {
    pub exe: &'s Path,
    pub home: &'s Path,
    /// The user's home folder, where programs keep their sessions.
    pub user: &'s Path,
    child: Mutex<Child>,
    /// Highest memory use seen, in bytes.
    pub peak: AtomicU64,
}

impl<'s> Served<'s> {
    pub fn begin(exe: &'s Path, home: &'s Path, user: &'s Path) -> Result<Served<'s>> {
        let child = Mutex::new(spawn(exe, home, user)?);
        let served = Served { exe, home, user, child, peak: AtomicU64::new(0) };
        served.until_it_answers()?;
        Ok(served)
    }

    fn until_it_answers(&self) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while !matches!(self.ask("GET", "/v1/health", b""), Some((200, _))) {
            if Instant::now() > until {
                return Err(
                    Error::new(ErrorKind::Busy, "the service does not answer").hint("see logs/ in its home: --keep")
                );
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn pid(&self) -> u32 {
        self.child.lock().map_or(0, |child| child.id())
    }

    /// Kills the service with SIGKILL and starts a new one.
    pub fn kill(&self) -> Result<()> {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
            // For a moment hooks run without a service.
            std::thread::sleep(Duration::from_millis(400));
            *child = spawn(self.exe, self.home, self.user)?;
        }
        self.until_it_answers()
    }

    /// Returns the command of a hook, as the user's programs start it.
    pub fn hook(&self, event: &str) -> Command {
        binary::command_of(self.exe, self.user, &binary::hook(self.home, "claude-code", event))
    }

    /// Sends a request. Returns status and body; `None` if nobody answers.
    pub fn ask(&self, method: &str, path: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
        let mut stream = UnixStream::connect(self.home.join("run/heirloom.sock")).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let kind = if path == "/v1/append" { "application/x-ndjson" } else { "application/json" };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
        let mut got = Vec::new();
        stream.read_to_end(&mut got).ok()?;
        let status = std::str::from_utf8(got.get(9..12)?).ok()?.parse().ok()?;
        let end = got.windows(4).position(|four| four == b"\r\n\r\n")?;
        Some((status, got[end + 4..].to_vec()))
    }

    /// Returns the present resident memory in bytes. Linux only.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
        let bytes = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024;
        self.peak.fetch_max(bytes, Ordering::Relaxed);
        bytes
    }

    /// Returns the CPU time of the process so far, in seconds. Linux only.
    pub fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        let fields: Vec<f64> = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace()
            .map(|field| field.parse().unwrap_or(0.0))
            .collect();
        let ticks = fields.get(11).unwrap_or(&0.0) + fields.get(12).unwrap_or(&0.0);
        ticks / rustix::param::clock_ticks_per_second() as f64
    }

    /// Ends the service with SIGTERM and waits.
    pub fn end(self) {
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw);
        if let (Some(pid), Ok(mut child)) = (pid, self.child.lock()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let _ = child.wait();
        }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn spawn(exe: &Path, home: &Path, user: &Path) -> Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(home.with_extension("log"));
    let log = log.map_err(|e| Error::io("write", home, e))?;
    let args = ["--home", &home.to_string_lossy(), "serve", "--port", "0"].map(str::to_owned);
    binary::command_of(exe, user, &args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|e| Error::io("start", exe, e))
}

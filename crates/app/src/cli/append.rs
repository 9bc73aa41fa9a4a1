//! `heirloom append`: live lines in, acknowledgements out.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use heirloom_engine::capture::{Capture, LineAck};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::render::continuity::write_turn_continuity;
use heirloom_engine::scope::TurnId;
use heirloom_engine::transcript::recent;
use heirloom_engine::tree::AssistantHome;
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::{config, print, programs};

/// Store a live conversation: JSON lines in, each acknowledged after its commit
///
/// One object per line on standard input: {"session": …, "text": …, "id"?, "time"?, "speaker"?, "role"?, "workspace"?,
/// "thread"?, "participants"?}. Each is answered with one JSON line, {"ok":true,"state":"stored","turn":"t1f",…}; one
/// stored before with "known"; one that cannot be used with "ok":false and the reason.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// A longer line is refused; the reader must not be made to hold what it will not use.
const MAX_LINE: usize = 32 << 20;

pub fn run(global: &Global, _: Args) -> Result<Exit> {
    let context = Context::create(global)?;
    print::for_programs();
    let stats = take_lines(&context, "cli append", true)?;
    Ok(if stats.refused > 0 { Exit::Problems } else { Exit::Ok })
}

/// `heirloom import --format turns -`
pub fn import_stdin(context: &Context) -> Result<Exit> {
    let stats = take_lines(context, "cli import", false)?;
    if context.json {
        let json = json!({"turns": {"new": stats.stored, "known": stats.known}, "refused": stats.refused});
        print::line(&json.to_string());
    } else {
        print::line(&format!("{} new, {} already here", print::counted(stats.stored, "turn"), stats.known));
    }
    Ok(if stats.refused > 0 { Exit::Problems } else { Exit::Ok })
}

#[derive(Default)]
struct Stats {
    stored: u64,
    known: u64,
    refused: u64,
}

fn take_lines(context: &Context, actor: &str, acknowledge: bool) -> Result<Stats> {
    let harness = heirloom_harness::by_name("turns").ok_or_else(|| Error::usage("this build has no plain turns"))?;
    let host = config::host();
    let user_home = Some(host.home.as_path()).filter(|h| !h.as_os_str().is_empty());
    let (mut index, _) = context.index()?;
    let mut capture = Capture::new(&context.ledger, Some(&mut index), actor, &context.scratch()?, user_home)?;
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut stats = Stats::default();
    let mut line = Vec::new();
    let mut number = 0u64;
    let mut pages = Pages { context, actor, at: None, touched: BTreeSet::new(), is_due: false, written: None };
    loop {
        // Before waiting for more, and not for every line of many.
        if acknowledge && input.buffer().is_empty() {
            pages.write_if_due();
        }
        line.clear();
        let more = read_line(&mut input, &mut line)
            .map_err(|e| Error::io("read", std::path::Path::new("standard input"), e))?;
        if !more {
            break;
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let ack = if line.len() > MAX_LINE {
            LineAck::Refused { reason: "the line is longer than 32 MiB".into() }
        } else {
            programs::with_program(harness, |p| capture.line(p, context.agent(), &line))?
        };
        let answer = match &ack {
            LineAck::Stored { session, turn } => {
                stats.stored += 1;
                pages.touch(*turn)?;
                json!({"ok": true, "line": number, "state": "stored", "session": session.as_str(),
                       "turn": turn.map(|t| t.to_string())})
            }
            LineAck::Known { session, turn } => {
                stats.known += 1;
                json!({"ok": true, "line": number, "state": "known", "session": session.as_str(), "turn": turn.to_string()})
            }
            LineAck::Refused { reason } => {
                stats.refused += 1;
                json!({"ok": false, "line": number, "error": reason})
            }
        };
        if acknowledge {
            print::line(&answer.to_string());
        } else if let LineAck::Refused { reason } = ack {
            print::note(&format!("line {number}: {reason}; not stored"));
        }
    }
    capture.finish()?;
    // Every line has queued what may wait; with the index in step most of it is done already.
    let mut read = |payload: &str| crate::programs::read_store(context, payload, actor);
    heirloom_engine::worker::drain(&context.ledger, &mut index, &super::import::worker_name(actor), &mut read)?;
    // What else is waiting must not hold up whoever appends.
    context.distil(actor, Some(std::time::Duration::from_millis(200)))?;
    if acknowledge {
        pages.write();
    }
    context.settle_conversations(actor);
    Ok(stats)
}

/// Pages about the moment are written at most this often while a conversation goes on, and once at its end.
const PAUSE: Duration = Duration::from_millis(200);

/// The pages about the moment of what was said here (R5.2). What was stored stands whatever happens to them.
struct Pages<'c> {
    context: &'c Context,
    actor: &'c str,
    at: Option<AssistantHome<'c>>,
    touched: BTreeSet<i64>,
    /// A prompt came: the run before it is over, and a new one has begun.
    is_due: bool,
    written: Option<Instant>,
}

impl Pages<'_> {
    fn touch(&mut self, turn: Option<TurnId>) -> Result<()> {
        let Some(turn) = turn else { return Ok(()) };
        let agent_no = self.context.agent_no()?;
        if let Some((session, is_prompt)) = self.context.ledger.read(|tx| recent::place_of(tx, agent_no, turn))? {
            self.touched.insert(session);
            self.is_due |= is_prompt;
        }
        Ok(())
    }

    fn write_if_due(&mut self) {
        if self.is_due && self.written.is_none_or(|then| then.elapsed() >= PAUSE) {
            self.write();
        }
    }

    fn write(&mut self) {
        let sessions: Vec<i64> = std::mem::take(&mut self.touched).into_iter().collect();
        if sessions.is_empty() {
            return;
        }
        let written = match &self.at {
            Some(at) => write_turn_continuity(at, &sessions),
            None => self.context.assistant(self.actor).and_then(|at| {
                let written = write_turn_continuity(&at, &sessions);
                self.at = Some(at);
                written
            }),
        };
        if let Err(e) = written {
            print::note(&format!("the pages of this conversation could not be brought up to date: {e}"));
        }
        (self.is_due, self.written) = (false, Some(Instant::now()));
    }
}

/// One line, held up to one byte more than is allowed; the rest of a longer one is read and dropped.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if available.is_empty() {
            return Ok(!line.is_empty());
        }
        let (used, done) = match available.iter().position(|b| *b == b'\n') {
            Some(at) => (at + 1, true),
            None => (available.len(), false),
        };
        let room = (MAX_LINE + 1).saturating_sub(line.len());
        line.extend_from_slice(&available[..used.min(room)]);
        input.consume(used);
        if done {
            return Ok(true);
        }
    }
}

//! `heirloom append`: live lines in, acknowledgements out.

use std::io::{BufRead, BufReader};

use heirloom_engine::capture::LineAck;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::instance::LONGEST_LINE;
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Store a live conversation: JSON lines in, each acknowledged after its commit
///
/// One object per line on standard input: {"session": …, "text": …, "id"?, "time"?, "speaker"?, "role"?, "workspace"?,
/// "thread"?, "participants"?}. Each is answered with one JSON line, {"ok":true,"state":"stored","turn":"t1f",…}; one
/// stored before with "known"; one that cannot be used with "ok":false and the reason.
#[derive(clap::Args, Debug)]
pub struct Args {}

pub fn run(global: &Global, _: Args) -> Result<Exit> {
    let context = Context::create(global)?;
    print::set_json();
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
    let mut stats = Stats::default();
    context.acting_as(actor).append("turns", acknowledge, |appending| {
        let mut input = BufReader::new(std::io::stdin().lock());
        let mut line = Vec::new();
        let mut number = 0u64;
        loop {
            // Before waiting for more, and not for every line of many.
            if acknowledge && input.buffer().is_empty() {
                appending.pause();
            }
            line.clear();
            let more = read_line(&mut input, &mut line)
                .map_err(|e| Error::io("read", std::path::Path::new("standard input"), e))?;
            if !more {
                return Ok(());
            }
            number += 1;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let ack = appending.line(&line)?;
            stats.count(&ack);
            if acknowledge {
                print::line(&answer(number, &ack).to_string());
            } else if let LineAck::Refused { reason } = ack {
                print::note(&format!("line {number}: {reason}; not stored"));
            }
        }
    })?;
    Ok(stats)
}

impl Stats {
    fn count(&mut self, ack: &LineAck) {
        match ack {
            LineAck::Stored { .. } => self.stored += 1,
            LineAck::Known { .. } => self.known += 1,
            LineAck::Refused { .. } => self.refused += 1,
        }
    }
}

fn answer(number: u64, ack: &LineAck) -> serde_json::Value {
    match ack {
        LineAck::Stored { session, turn } => json!({"ok": true, "line": number, "state": "stored",
            "session": session.as_str(), "turn": turn.map(|t| t.to_string())}),
        LineAck::Known { session, turn } => json!({"ok": true, "line": number, "state": "known",
            "session": session.as_str(), "turn": turn.to_string()}),
        LineAck::Refused { reason } => json!({"ok": false, "line": number, "error": reason}),
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
        let room = (LONGEST_LINE + 1).saturating_sub(line.len());
        line.extend_from_slice(&available[..used.min(room)]);
        input.consume(used);
        if done {
            return Ok(true);
        }
    }
}

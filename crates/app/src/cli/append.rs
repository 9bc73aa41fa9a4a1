//! `heirloom append`: reads live lines and acknowledges each one.

use std::io::{BufRead, BufReader};

use heirloom_engine::capture::LineAck;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::instance::LONGEST_LINE;
use heirloom_engine::report::import::{LineReport, LinesReport};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Store a live conversation: JSON lines in, each acknowledged after its commit
///
/// One object per line on standard input: {"session": …, "text": …, "id"?, "time"?, "speaker"?, "role"?, "workspace"?,
/// "thread"?, "participants"?}. Each line is answered with one JSON line: {"ok":true,"state":"stored","turn":"t1f",…}
/// for a new turn, "state":"known" for a turn that was stored before, and "ok":false with the reason for a line that
/// cannot be used.
#[derive(clap::Args, Debug)]
pub struct Args {}

pub fn run(global: &Global, _: Args) -> Result<Exit> {
    let context = Context::create(global)?;
    print::set_json();
    Ok(exit(&take_lines(&context, "cli append", true)?))
}

/// Imports plain turns from standard input: `heirloom import --format turns -`.
pub fn import_stdin(global: &Global, context: &Context) -> Result<Exit> {
    let taken = take_lines(context, "cli import", false)?;
    if global.json {
        print::report(&taken);
    } else {
        print::line(&format!("{} new, {} already here", print::counted(taken.turns.new, "turn"), taken.turns.known));
    }
    Ok(exit(&taken))
}

fn exit(taken: &LinesReport) -> Exit {
    if taken.refused > 0 { Exit::Problems } else { Exit::Ok }
}

fn take_lines(context: &Context, actor: &str, acknowledge: bool) -> Result<LinesReport> {
    let mut taken = LinesReport::default();
    context.acting_as(actor).append("turns", acknowledge, |appending| {
        let mut input = BufReader::new(std::io::stdin().lock());
        let mut line = Vec::new();
        let mut number = 0u64;
        loop {
            // Acknowledgements are flushed before waiting for more input, not after every line.
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
            taken.count(&ack);
            if acknowledge {
                print::report(&LineReport::of(number, &ack));
            } else if let LineAck::Refused { reason } = ack {
                print::note(&format!("line {number}: {reason}; not stored"));
            }
        }
    })?;
    Ok(taken)
}

/// Reads one line, up to one byte more than is allowed; the rest of a longer line is read and dropped.
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

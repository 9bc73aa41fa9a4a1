//! Decodes the plain format: one line, one turn.

use heirloom_engine::clock::{Millis, parse_rfc3339};
use heirloom_engine::event::{Decoded, Decoder, NewTurn, RecordClass, Role, Row, TurnKind};

use super::wire::Line;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::lines::parse_line;

/// The decoder of the plain format. It has no state: every line is complete.
pub(super) struct PlainTurns;

impl Decoder for PlainTurns {
    fn line(&mut self, bytes: &[u8]) -> Decoded {
        match parse_line(bytes).and_then(|line| decode(&line)) {
            Ok(decoded) => decoded,
            Err(reason) => Decoded::quarantined(reason),
        }
    }

    fn row(&mut self, _row: &Row) -> Decoded {
        Decoded::quarantined("plain turns come in lines, not in tables")
    }

    fn state(&self) -> Vec<u8> {
        Vec::new()
    }
}

fn decode(line: &Line) -> Result<Decoded, String> {
    let session = line.session.filled().ok_or("session is missing")?;
    let text = line.text.get().ok_or("text is missing")?;
    // A misspelt role is quarantined rather than guessed, because a guess could attribute the text to another speaker.
    let (role, kind) = match line.role.get() {
        None | Some("user") => (Role::User, TurnKind::Message),
        Some("assistant") => (Role::Assistant, TurnKind::Message),
        Some("tool") => (Role::Tool, TurnKind::ToolResult),
        Some("system") => (Role::System, TurnKind::MachinePrompt),
        Some(_) => return Err("role is none of user, assistant, tool, system".into()),
    };
    let mut decoded = Decoded::of(RecordClass::Conversation);
    if text.trim().is_empty() {
        return Ok(decoded);
    }
    let at = match line.time.text() {
        Some(text) => Some(time(text).ok_or("time is neither RFC 3339 nor milliseconds since 1970")?),
        None => line.time.number(),
    };
    decoded.turns.push(NewTurn {
        entry: line.id.owned(),
        parent: line.parent.owned(),
        session: Some(session.to_owned()),
        speaker: line.speaker.filled().map(str::to_owned),
        tool: line.tool.filled().map(str::to_owned),
        call: line.call.filled().map(str::to_owned),
        at,
        model: line.model.filled().map(str::to_owned),
        run: line.run.owned(),
        cwd: line.workspace.filled().map(str::to_owned),
        participants: line.participants.0.iter().filter_map(|name| name.filled()).map(str::to_owned).collect(),
        thread: line.thread.filled().map(str::to_owned),
        ..NewTurn::new(role, kind, text)
    });
    Ok(decoded)
}

/// Parses RFC 3339; without an offset it is UTC.
fn time(text: &str) -> Option<Millis> {
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    parse_rfc3339(text).or_else(|| civil().map(|z| z.timestamp().as_millisecond()))
}

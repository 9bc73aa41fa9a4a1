//! Lines of a rendered page: bounded, one item each, with the id to go deeper.

use jiff::{Timestamp, ToSpan};

use crate::assistant::AssistantHome;
use crate::clock::{Millis, parse_rfc3339};

/// The longest line of an item.
const LONGEST: usize = 160;

/// One line of text made from somebody's words: no line breaks, no markers, bounded.
pub(super) fn line(text: &str) -> String {
    let flat = flat(text);
    if flat.chars().count() <= LONGEST {
        return flat;
    }
    let mut cut: String = flat.chars().take(LONGEST - 1).collect();
    cut.push('…');
    cut
}

/// [`line`] without the bound: for whoever bounds it by tokens.
pub(super) fn flat(text: &str) -> String {
    let flat: String = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|c| !c.is_control() && !matches!(*c as u32, 0x202a..=0x202e | 0x2066..=0x2069 | 0xe0000..=0xe007f))
        .collect();
    flat.replace("<!--", "<! --").replace("-->", "-- >")
}

/// A section with at most `most` lines and, where there are more, how to see them.
pub(super) fn section(title: &str, lines: &[String], all: u64, most: usize, see: &str) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = format!("## {title}\n");
    for line in lines.iter().take(most) {
        out.push_str("- ");
        out.push_str(line);
        out.push('\n');
    }
    let shown = lines.len().min(most) as u64;
    if all > shown {
        out.push_str(&format!("- … and {} more: `{see}`\n", all - shown));
    }
    out.push('\n');
    out
}

/// `2026-11-20`, or nothing.
pub(super) fn date_of(text: Option<&str>) -> Option<String> {
    let text = text?;
    parse_rfc3339(text).map(|_| text[..10].to_owned()).or_else(|| (text.len() == 10).then(|| text.to_owned()))
}

/// What a page takes for now: the end of the operator's day, so that the same state is the same page all day long.
pub(super) fn end_of_day(at: &AssistantHome) -> Millis {
    let now = at.ledger.now();
    let end = || at.day_of(now)?.checked_add(1.day()).ok()?.to_zoned(at.zone.clone()).ok();
    end().map_or(now, |z| z.timestamp().as_millisecond())
}

/// A moment where the operator is, to the minute.
pub(super) fn minute(at: &AssistantHome, moment: Millis) -> String {
    Timestamp::from_millisecond(moment)
        .map(|t| t.to_zoned(at.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_else(|_| "?".into())
}

/// Whole days from then to now, at least 0.
pub(super) fn age_days(then: Option<&str>, now: Millis) -> f64 {
    let then = then.and_then(parse_rfc3339).unwrap_or(0);
    (now.saturating_sub(then).max(0)) as f64 / 86_400_000.0
}

//! The lines of a rendered page: of bounded length, one item each, with a reference for more detail.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use crate::clock::{Millis, parse_rfc3339};
use crate::continuity::proposal;
use crate::distill::deterministic::JOIN;
use crate::next_step::See;
use crate::tree::AssistantHome;
use crate::tree::file_table::Entry;
use crate::tree::provenance::Provenance;

/// Largest length of an item's line, in characters.
const LONGEST: usize = 160;

/// Makes one line of a text: no line breaks, no markers, bounded length.
pub(crate) fn line(text: &str) -> String {
    let flat = flat(text);
    if flat.chars().count() <= LONGEST {
        return flat;
    }
    let mut cut: String = flat.chars().take(LONGEST - 1).collect();
    cut.push('…');
    cut
}

/// Returns the mark of a file that only a language model's word stands for: ` · by MODEL`; empty for all others.
pub(super) fn found_by(entry: &Entry) -> String {
    let source = Provenance::from_value(entry.fields.get("source")).model;
    let model = entry.field(proposal::MODEL).map(str::to_owned).or(source);
    model.map_or_else(String::new, |model| format!(" · by {}", line(&model)))
}

/// Does the same as [`line`] without the length limit, for callers that limit it by tokens.
pub(crate) fn flat(text: &str) -> String {
    let flat: String = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|c| !c.is_control() && !matches!(*c as u32, 0x202a..=0x202e | 0x2066..=0x2069 | 0xe0000..=0xe007f))
        .collect();
    flat.replace("<!--", "<! --").replace("-->", "-- >")
}

/// Returns a [`line`] of at most `most` characters, cut after a word, without a final full stop. A text "opening →
/// newest" keeps both parts, and the opening is shortened more.
pub(super) fn short(text: &str, most: usize) -> String {
    let flat = if text.contains(JOIN) { flat(text) } else { line(text) };
    let flat = flat.strip_suffix('.').filter(|f| !f.ends_with('.')).unwrap_or(&flat);
    let count = |text: &str| text.chars().count();
    let Some((opening, newest)) = flat.split_once(JOIN).filter(|_| most >= 40 && count(flat) > most) else {
        return shortened(flat, most);
    };
    let room = most - count(JOIN);
    let newest = shortened(newest, (room * 3 / 5).max(room.saturating_sub(count(opening))));
    format!("{}{JOIN}{newest}", shortened(opening, room - count(&newest)))
}

/// Cuts a line after a word to at most `most` characters.
fn shortened(flat: &str, most: usize) -> String {
    if flat.chars().count() <= most {
        return flat.to_owned();
    }
    let cut: String = flat.chars().take(most - 1).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| if head.len() > most / 2 { head } else { &cut });
    format!("{}…", cut.trim_end_matches([' ', ',', ';', ':', '.', '…']))
}

/// Returns a section of at most `most` lines; if there are more, a last line says how many and which command shows
/// them.
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
        out.push_str(&format!("- … and {} more: `{}`\n", all - shown, See::new(see)));
    }
    out.push('\n');
    out
}

/// Returns the day of a timestamp in the operator's time zone, or a date as it is: `2026-11-20`. `None` for anything
/// else.
pub(super) fn date_of(at: &AssistantHome, text: Option<&str>) -> Option<String> {
    let text = text?;
    match parse_rfc3339(text) {
        Some(moment) => at.day_of(moment).map(|day| day.to_string()),
        None => (text.len() == 10).then(|| text.to_owned()),
    }
}

/// Formats a date: `20 Nov`, or `20 Nov 2025` for another year.
pub(super) fn day(date: Date, today: Option<Date>) -> String {
    let same = today.is_some_and(|t| t.year() == date.year());
    date.strftime(if same { "%-d %b" } else { "%-d %b %Y" }).to_string()
}

/// Formats a deadline in words: `due 27 Nov`, `due today`, `overdue since 2 Nov`.
pub(super) fn due_words(due: Date, today: Option<Date>) -> String {
    match today {
        Some(today) if due < today => format!("overdue since {}", day(due, Some(today))),
        Some(today) if due == today => "due today".to_owned(),
        _ => format!("due {}", day(due, today)),
    }
}

/// Formats the deadline named in a file like [`due_words`]; a text that is no date is shown as it is.
pub(super) fn due_said(said: &str, today: Option<Date>) -> String {
    said.parse().map_or_else(|_| format!("due {}", short(said, 40)), |date| due_words(date, today))
}

/// Formats the day of a moment like [`day`].
pub(super) fn day_at(at: &AssistantHome, moment: Millis, today: Option<Date>) -> String {
    at.day_of(moment).map_or_else(|| "?".to_owned(), |date| day(date, today))
}

/// Returns the moment in a front matter field.
pub(super) fn moment(text: Option<&str>) -> Option<Millis> {
    let text = text?;
    parse_rfc3339(text).or_else(|| parse_rfc3339(&format!("{text}T00:00:00Z")))
}

/// Returns the moment that pages use as now: the end of the operator's day, so that the same state gives the same page
/// all day long.
pub(super) fn end_of_day(at: &AssistantHome) -> Millis {
    let now = at.ledger.now();
    let end = || at.day_of(now)?.checked_add(1.day()).ok()?.to_zoned(at.zone.clone()).ok();
    end().map_or(now, |z| z.timestamp().as_millisecond())
}

/// Formats a moment in the operator's time zone, to the minute.
pub(crate) fn minute(at: &AssistantHome, moment: Millis) -> String {
    Timestamp::from_millisecond(moment)
        .map(|t| t.to_zoned(at.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_else(|_| "?".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_parts_the_newest_is_seen() {
        let goal =
            "Two readers wrote that the feed shows only the first paragraph of each post. → Let the feed have it all.";
        assert_eq!(short(goal, 60), "Two readers wrote that the feed… → Let the feed have it all");
        assert_eq!(short("Fix the feed → Write down what it costs.", 60), "Fix the feed → Write down what it costs");
        let long = format!("Fix the feed → {}", "word ".repeat(60));
        let cut = short(&long, 60);
        assert!(cut.starts_with("Fix the feed → word") && cut.ends_with('…') && cut.chars().count() <= 60, "{cut}");
        assert!(short("日本語 → 英語", 60) == "日本語 → 英語" && short(&"あ".repeat(90), 60).chars().count() <= 60);
    }
}

//! Times in words: "last week", "in May 2025", "vor zwei Wochen" (R10.9). Pure: text, moment and zone in, times out.
//!
//! A time with explicit borders (`since`, `before`, `between`, or in a machine format) is a limit. Any other is a wish:
//! people remember only roughly when something was, so matches in it rank higher and nothing else is excluded. A time
//! that does not exist ("31 February") or is in the future ("next week") is treated as words.
//!
//! A time of day ("around 21:04") belongs to the day named beside it, or to any day ([`clock`]). Without a year the
//! latest time that has begun is meant: "in December", said in November, is last year's. Weeks begin on Monday; seasons
//! are those of the northern hemisphere. English and German are supported; the most usual forms also in French and
//! Spanish, and months with a day or a year also in Italian, Portuguese and Dutch.

mod calendar;
mod clock;
mod grammar;
mod tokens;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use clock::Clock;

use std::ops::Range;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::clock::Millis;
use crate::scope::named;
use crate::text::language::stop_words::{self, Language};

/// Largest number of times found in one text.
const MAX_TIMES: usize = 8;

/// A time mentioned in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct When {
    /// Byte range in the text.
    pub span: Range<usize>,
    /// A time of day on any day; `from` and `until` are then `None`.
    pub clock: Option<Clock>,
    /// First millisecond; `None`: from the beginning.
    pub from: Option<Millis>,
    /// First millisecond after it; `None`: without end. Always after `from`.
    pub until: Option<Millis>,
    /// The unit it is expressed in.
    pub precision: Precision,
    pub hold: Hold,
    /// Whether its words are also looked for, because they may occur in a text (`May 2025`), unlike those of `last
    /// week`.
    pub worded: bool,
}

named! {
    /// The unit a time is expressed in.
    pub enum Precision {
        Hour = "hour",
        Day = "day",
        Weekend = "weekend",
        Week = "week",
        Month = "month",
        Quarter = "quarter",
        Season = "season",
        Year = "year",
        Decade = "decade",
    }
}

/// How a time affects the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Results from other times are excluded.
    Limit,
    /// Results in it rank higher.
    Wish,
}

/// Largest length of a narrow time in milliseconds: all turns in it can be examined.
const NARROW: Millis = 26 * 3_600_000;

impl When {
    /// Whether the time is short enough to examine all turns in it.
    pub(super) fn is_narrow(&self) -> bool {
        self.hold == Hold::Wish && self.from.zip(self.until).is_some_and(|(from, until)| until - from <= NARROW)
    }

    /// Returns what a turn within the time gains, on a scale where the best turn by words has 1 (RETRIEVAL: .4, +.7
    /// R@10), or 1.5 if it is a person's message: a clock time outweighs words.
    pub(super) fn gain(&self) -> f64 {
        match (&self.clock, self.precision) {
            (Some(clock), _) if clock.is_wide() => 0.45,
            (Some(_), _) => 1.6,
            (None, Precision::Hour) => 1.8,
            (None, _) => 0.4,
        }
    }

    /// Whether a moment is within it.
    pub fn holds(&self, at: Millis) -> bool {
        self.from.is_none_or(|from| at >= from)
            && self.until.is_none_or(|until| at < until)
            && self.clock.as_ref().is_none_or(|clock| clock.holds(at))
    }
}

/// Returns the times mentioned in a text, in order, relative to a moment in a zone. Never fails: text that is not
/// understood is treated as words.
pub fn find(text: &str, now: Millis, zone: &TimeZone) -> Vec<When> {
    let Ok(now) = Timestamp::from_millisecond(now) else { return Vec::new() };
    let tokens = tokens::tokens(text);
    let french = stop_words::language(tokens.iter().map(|t| t.word.as_str())) == Language::French;
    let grammar = grammar::Grammar { tokens: &tokens, now: now.to_zoned(zone.clone()).datetime(), french };
    let mut mentions = Vec::new();
    let mut at = 0;
    while at < tokens.len() && mentions.len() < MAX_TIMES {
        let words = match grammar.mention(at) {
            Some(Ok(mention)) => {
                let span = tokens[at].from..tokens[(at + mention.words).min(tokens.len()) - 1].to;
                let words = mention.words;
                mentions.push((mention, span));
                words
            }
            Some(Err(words)) => words,
            None => 1,
        };
        at += words.max(1);
    }
    (0..mentions.len()).filter_map(|n| in_zone(&on_its_day(&mentions, n), mentions[n].1.clone(), zone)).collect()
}

/// Returns a mention; a time of day is placed on the nearest day of the text, if there is one.
fn on_its_day(mentions: &[(grammar::Mention, Range<usize>)], n: usize) -> grammar::Mention {
    let (mention, span) = &mentions[n];
    let Some(hours) = mention.hours else { return *mention };
    let days = mentions.iter().filter_map(|(other, place)| {
        let (midnight, part) = clock::minutes_of(other.from?, other.until?)?;
        Some((place.start.abs_diff(span.start), midnight, part))
    });
    let part = mentions.iter().filter_map(|(other, _)| other.hours).find(|other| other.part);
    let hours = part.filter(|part| *part != hours).map_or(hours, |part| hours.in_part((part.from, part.until)));
    let on = days.min_by_key(|(far, ..)| *far).and_then(|(_, midnight, part)| {
        let hours = if part == (0, 24 * 60) { hours } else { hours.in_part(part) };
        hours.on(midnight, part)
    });
    match on {
        Some((from, until)) => grammar::Mention { from: Some(from), until: Some(until), hours: None, ..*mention },
        None => grammar::Mention { hours: Some(hours), ..*mention },
    }
}

/// Returns the first day in a text that does not exist in the calendar: `31 February`, `2025-02-30`. The caller looks
/// for it as words and reports that.
pub(super) fn no_day(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric())).collect();
    for (at, word) in words.iter().enumerate() {
        let parts: Vec<&str> = word.split('-').collect();
        if let [year, month, day] = parts[..]
            && (year.len(), month.len(), day.len()) == (4, 2, 2)
            && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()))
            && ["19", "20", "21"].contains(&&year[..2])
            && word.parse::<jiff::civil::Date>().is_err()
        {
            return Some((*word).to_owned());
        }
        let Some((month, false)) = vocabulary::month(&word.to_lowercase()) else { continue };
        let most = jiff::civil::Date::new(2024, month, 1).map_or(31, |first| first.days_in_month());
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|n| words.get(n));
        for day in beside {
            if day.len() <= 2 && day.parse::<i8>().is_ok_and(|day| (most + 1..=39).contains(&day)) {
                return Some(format!("{day} {word}"));
            }
        }
    }
    None
}

fn in_zone(mention: &grammar::Mention, span: Range<usize>, zone: &TimeZone) -> Option<When> {
    let at = |t: jiff::civil::DateTime| Some(t.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond());
    // A limit too far away for milliseconds drops the whole time; it must not become "no limit".
    let from = mention.from.map(|t| at(t).ok_or(())).transpose().ok()?;
    let until = mention.until.map(|t| at(t).ok_or(())).transpose().ok()?;
    if from.zip(until).is_some_and(|(from, until)| from >= until) {
        return None;
    }
    let clock = mention.hours.map(|hours| Clock { from: hours.from, until: hours.until, zone: zone.clone() });
    let worded = mention.absolute && (mention.hold == Hold::Wish || mention.written);
    Some(When { span, clock, from, until, precision: mention.precision, hold: mention.hold, worded })
}

//! Times in words: "last week", "in May 2025", "vor zwei Wochen" (R10.9). Pure: text, moment and zone in, times out.
//!
//! A time with explicit borders (`since`, `before`, `between`, or in a machine format) is a limit. Any other is a wish:
//! people remember only roughly when something was, so matches in it rank higher and nothing else is excluded. A time
//! that does not exist ("31 February") or lies in the future ("next week") is treated as words.
//!
//! Without a year the latest one that has begun is meant: "in December", said in November, is last year's. Weeks begin
//! on Monday; seasons are those of the northern hemisphere. English and German are supported; months with a day or a
//! year also in French, Spanish, Italian, Portuguese and Dutch.

mod calendar;
mod grammar;
mod vocabulary;

#[cfg(test)]
mod tests;

use std::ops::Range;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::clock::Millis;
use crate::scope::named;

/// The most times in one text.
const MAX_TIMES: usize = 8;

/// A time mentioned in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct When {
    /// Byte range in the text.
    pub span: Range<usize>,
    /// First millisecond; `None`: from the beginning.
    pub from: Option<Millis>,
    /// First millisecond after it; `None`: without end. Always after `from`.
    pub until: Option<Millis>,
    /// The unit it is expressed in.
    pub precision: Precision,
    pub hold: Hold,
    /// Its words are also looked for, because they may occur in a text (`May 2025`), unlike those of `last week`.
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

impl When {
    /// Whether a moment lies in it.
    pub fn holds(&self, at: Millis) -> bool {
        self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at < until)
    }
}

/// The times mentioned in a text, in order, relative to a moment in a zone. Never fails: what is not understood is
/// words.
pub fn find(text: &str, now: Millis, zone: &TimeZone) -> Vec<When> {
    let Ok(now) = Timestamp::from_millisecond(now) else { return Vec::new() };
    let tokens = grammar::tokens(text);
    let grammar = grammar::Grammar { tokens: &tokens, now: now.to_zoned(zone.clone()).datetime() };
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() && found.len() < MAX_TIMES {
        let words = match grammar.mention(at) {
            Some(Ok(mention)) => {
                let span = tokens[at].from..tokens[(at + mention.words).min(tokens.len()) - 1].to;
                found.extend(in_zone(&mention, span, zone));
                mention.words
            }
            Some(Err(words)) => words,
            None => 1,
        };
        at += words.max(1);
    }
    found
}

/// The first day in a text that exists in no calendar: `31 February`, `2025-02-30`. It is looked for as words, and the
/// result mentions it.
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
    // An end that milliseconds cannot express is not the same as no end.
    let from = mention.from.map(|t| at(t).ok_or(())).transpose().ok()?;
    let until = mention.until.map(|t| at(t).ok_or(())).transpose().ok()?;
    if from.zip(until).is_some_and(|(from, until)| from >= until) {
        return None;
    }
    let worded = mention.absolute && (mention.hold == Hold::Wish || mention.written);
    Some(When { span, from, until, precision: mention.precision, hold: mention.hold, worded })
}

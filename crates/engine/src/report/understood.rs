//! How a query was understood.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{Millis, rfc3339};
use crate::recall::query::Term;
use crate::recall::when::Clock;
use crate::recall::{Hold, Precision, Query, When};

/// How a query was understood.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct Understood {
    pub times: Vec<TimeReport>,
    pub people: Vec<String>,
    /// Whether the query asks what a person said, asked, wanted or decided: turns of that person and the answers to
    /// them rank first.
    pub by_person: bool,
    /// Whether the search was repeated without time limits because nothing was found within them.
    pub widened: bool,
    #[serde(skip)]
    pub query: Query,
    #[serde(skip)]
    text: String,
    #[serde(skip)]
    zone: TimeZone,
}

/// A time that a query names.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct TimeReport {
    /// Words of the query that name the time.
    pub text: String,
    pub from: Option<String>,
    pub until: Option<String>,
    /// Time of day on any day, as `20:59 to 21:09`; `from` and `until` are then null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    pub precision: &'static str,
    /// Whether everything outside the time is left out; if not, turns within it only rank higher.
    pub limit: bool,
}

impl Understood {
    /// `text`: the query as it was typed. `zone`: the time zone of its days.
    pub fn of(text: &str, query: Query, zone: TimeZone) -> Understood {
        let times = query.times.iter().map(|time| TimeReport {
            text: text.get(time.span.clone()).unwrap_or_default().to_owned(),
            from: time.from.map(rfc3339),
            until: time.until.map(rfc3339),
            clock: time.clock.as_ref().map(Clock::shown),
            precision: time.precision.name(),
            limit: time.hold == Hold::Limit,
        });
        let people = query.people.iter().map(|p| p.name.clone());
        Understood {
            times: times.collect(),
            people: people.collect(),
            by_person: query.by_person,
            widened: false,
            text: text.to_owned(),
            query,
            zone,
        }
    }

    /// Returns the query without its time limits, for a second search after the first found nothing; `None` if it has
    /// no limits.
    pub fn widen(&mut self) -> Option<Query> {
        let wider = self.query.limit().is_some().then(|| self.query.unlimited()).filter(Query::has_words)?;
        self.widened = true;
        Some(wider)
    }

    /// Returns a term as it was typed, with its punctuation.
    pub fn typed(&self, term: &Term) -> String {
        let plain = |word: &str| {
            word.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let mut words = self.text.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
        let written = term.written();
        let typed = words.find(|word| plain(word) == written).unwrap_or(&written);
        format!("{typed}{}", if term.prefix { "*" } else { "" })
    }

    /// Returns a time with the words that named it: `above all 2026-11-09 to 2026-11-15 (last week)`.
    pub fn time_in_words(&self, time: &When) -> String {
        format!("{} ({})", self.time(time), self.text.get(time.span.clone()).unwrap_or_default())
    }

    fn time(&self, time: &When) -> String {
        if let Some(clock) = &time.clock {
            return format!("above all {} of any day", clock.shown());
        }
        let favoured = if time.hold == Hold::Wish { "above all " } else { "" };
        let moment = |at: Millis| {
            let at = Timestamp::from_millisecond(at).unwrap_or_default().to_zoned(self.zone.clone());
            at.strftime(if time.precision == Precision::Hour { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d" }).to_string()
        };
        match (time.from, time.until.map(|until| until - 1)) {
            (Some(from), Some(last)) if moment(from) == moment(last) => format!("{favoured}{}", moment(from)),
            (Some(from), Some(last)) => format!("{favoured}{} to {}", moment(from), moment(last)),
            (Some(from), None) => format!("{favoured}from {} on", moment(from)),
            (None, Some(last)) => format!("{favoured}until {}", moment(last)),
            (None, None) => favoured.to_owned(),
        }
    }
}

//! How a query was understood, for people and for programs.

use heirloom_engine::clock::{Millis, rfc3339};
use heirloom_engine::error::Result;
use heirloom_engine::recall::query::Term;
use heirloom_engine::recall::{self, Hold, Precision, Query, When};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::context::Context;
use crate::print;

/// A query of the context's agent, with the zone its days are in.
pub struct Understood {
    text: String,
    pub query: Query,
    zone: TimeZone,
    /// Nothing was found in its limits, so they were let go.
    pub widened: bool,
}

pub fn understand(context: &Context, text: &str) -> Result<Understood> {
    let zone = print::zone();
    let query = recall::understand(context.ledger(), context.agent(), text, &zone)?;
    Ok(Understood { text: text.to_owned(), query, zone, widened: false })
}

impl Understood {
    /// The query to go on with where nothing was found in its limits: the same at any time.
    pub fn widen(&mut self) -> Option<Query> {
        let wider = self.query.limit().is_some().then(|| self.query.unlimited()).filter(Query::has_words)?;
        self.widened = true;
        Some(wider)
    }

    pub fn to_json(&self) -> Value {
        let times: Vec<Value> = self
            .query
            .times
            .iter()
            .map(|t| {
                json!({
                    "text": self.words(t),
                    "from": t.from.map(rfc3339),
                    "until": t.until.map(rfc3339),
                    "precision": t.precision.name(),
                    "limit": t.hold == Hold::Limit,
                })
            })
            .collect();
        let people: Vec<&str> = self.query.people.iter().map(|p| p.name.as_str()).collect();
        json!({"times": times, "people": people, "widened": self.widened})
    }

    /// What people should know of it: nothing where only words were looked for.
    pub fn note(&self) -> Option<String> {
        if self.query.times.is_empty() {
            return None;
        }
        let mut parts = vec![self.query.shown()];
        parts.extend(self.query.times.iter().map(|t| self.told(t)));
        parts.retain(|p| !p.is_empty());
        let mut note = format!("looked for: {}", print::safe_line(&parts.join(", ")));
        if self.widened {
            note.push_str("; nothing that fits is from then, so this is from other times");
        }
        Some(note)
    }

    /// A term as it was typed, signs and all.
    pub fn typed(&self, term: &Term) -> String {
        let plain = |word: &str| {
            word.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let mut words = self.text.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
        let written = term.written();
        let typed = words.find(|word| plain(word) == written).unwrap_or(&written);
        format!("{typed}{}", if term.prefix { "*" } else { "" })
    }

    /// A time with the words it was told in: `above all 2026-11-09 to 2026-11-15 (last week)`.
    pub fn told(&self, time: &When) -> String {
        format!("{} ({})", self.time(time), self.words(time))
    }

    fn words(&self, time: &When) -> &str {
        self.text.get(time.span.clone()).unwrap_or_default()
    }

    fn time(&self, time: &When) -> String {
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

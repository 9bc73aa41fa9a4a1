//! Whether a memory has to be checked again. Computed when it is read; nothing is stored for it (R9.2).

use serde_json::Value;

use super::class::{Class, Policy, Verification};
use crate::clock::{Millis, parse_rfc3339};
use crate::tree::file_table::Entry;

const DAY_MS: Millis = 24 * 3_600_000;

/// The age of a memory, judged by its own front matter or the defaults of its class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Staleness {
    pub policy: Policy,
    pub verification: Verification,
    /// Milliseconds after `since` at which the memory becomes stale; `None`: never.
    pub after: Option<Millis>,
    /// When the memory was last verified; otherwise when it was observed; otherwise when its file was written.
    pub since: Millis,
    pub stale: bool,
}

/// Computes the staleness of a memory from its row in the file table.
pub fn staleness(entry: &Entry, now: Millis) -> Staleness {
    let class = entry.class.as_deref().and_then(|c| Class::parse(c).ok()).unwrap_or(Class::Fact);
    let said = entry.fields.get("staleness");
    let word = said.and_then(|s| s.as_str().or_else(|| s.get("policy")?.as_str()));
    let policy = word.and_then(Policy::parse).unwrap_or_else(|| class.policy());
    let default = || match policy {
        Policy::Stable => None,
        // A policy of another class uses that class's duration.
        other => Class::ALL.iter().find(|c| c.policy() == other).and_then(|c| c.stale_days()),
    };
    let default = if policy == class.policy() { class.stale_days() } else { default() };
    let after = match said.and_then(|s| s.get("after")).map(after) {
        Some(Some(said)) => said,
        _ => default.map(|days| Millis::from(days) * DAY_MS),
    };
    let time = |key: &str| entry.field(key).and_then(moment);
    let since = time("verified").or_else(|| time("observed")).unwrap_or(entry.stamp.modified_ns / 1_000_000);
    let verification = entry.field("verification").and_then(Verification::parse).unwrap_or(class.verification());
    Staleness { policy, verification, after, since, stale: after.is_some_and(|a| now.saturating_sub(since) > a) }
}

/// Whether a memory has not been verified for longer than its duration.
pub fn is_stale(entry: &Entry, now: Millis) -> bool {
    staleness(entry, now).stale
}

/// Parses `30d`, `2w`, `12h`, a number of days, or `never`. The outer `None`: not recognised.
fn after(value: &Value) -> Option<Option<Millis>> {
    if let Some(days) = value.as_f64() {
        return (days >= 0.0).then_some(Some((days * DAY_MS as f64) as Millis));
    }
    let text = value.as_str()?.trim();
    if text == "never" {
        return Some(None);
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit.trim() {
        "" | "d" | "day" | "days" => DAY_MS,
        "h" | "hours" => DAY_MS / 24,
        "w" | "weeks" => 7 * DAY_MS,
        _ => return None,
    };
    number.parse::<Millis>().ok().map(|n| Some(n.saturating_mul(unit)))
}

/// Parses a time written by a person: RFC 3339, or a date.
pub(super) fn moment(text: &str) -> Option<Millis> {
    let text = text.trim();
    parse_rfc3339(text).or_else(|| {
        let date: jiff::civil::Date = text.parse().ok()?;
        Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ages_are_read_as_people_write_them() {
        for (said, days) in [(json!("30d"), 30), (json!("2w"), 14), (json!(7), 7), (json!("7"), 7), (json!("48h"), 2)] {
            assert_eq!(after(&said), Some(Some(days * DAY_MS)), "{said}");
        }
        assert_eq!(after(&json!("never")), Some(None));
        for nonsense in [json!("soon"), json!("d"), json!(-1), json!([]), json!("99999999999999999999d")] {
            assert_eq!(after(&nonsense), None, "{nonsense}");
        }
        assert_eq!(moment("1970-01-02"), Some(DAY_MS));
        assert_eq!(moment("1970-01-02T00:00:00+01:00"), Some(DAY_MS - 3_600_000));
        assert_eq!(moment("yesterday"), None);
    }
}

//! Points in time as people write them in an argument: a day, a month, an hour ago.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use crate::clock::{Millis, parse_rfc3339};
use crate::error::{Error, Result};

/// Edge of a whole day that a day means as an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Since,
    Until,
}

/// Reads `2026-11-21T20:37:02Z`, `2026-11-21`, `2026-11`, `2026`, `today`, `yesterday`, `90m`, `24h`, `7d`, `2w` (ago).
/// Days are those of `zone`. `Usage` for anything else.
pub fn parse(text: &str, now: Millis, zone: &TimeZone, edge: Edge) -> Result<Millis> {
    let text = text.trim();
    if let Some(at) = parse_rfc3339(text) {
        return Ok(at);
    }
    let unknown = || {
        Error::usage(format!("{text:?} is not a time"))
            .hint("write 2026-11-21, 2026-11, 2026-11-21T20:37:02Z, today, yesterday, 24h, 7d or 2w")
    };
    let now_local = Timestamp::from_millisecond(now).map_err(|_| unknown())?.to_zoned(zone.clone());
    let edge_of = |first: Date, after: Option<Date>| -> Result<Millis> {
        let day = if edge == Edge::Since { Some(first) } else { after };
        let start: Zoned = day.and_then(|d| d.to_zoned(zone.clone()).ok()).ok_or_else(unknown)?;
        let ms = start.timestamp().as_millisecond();
        Ok(if edge == Edge::Since { ms } else { ms - 1 })
    };
    let one_day = |d: Date| edge_of(d, d.tomorrow().ok());
    match text {
        "now" => return Ok(now),
        "today" => return one_day(now_local.date()),
        "yesterday" => return one_day(now_local.date().yesterday().map_err(|_| unknown())?),
        _ => {}
    }
    if let Ok(date) = text.parse::<Date>() {
        return one_day(date);
    }
    if text.len() == 4
        && let Ok(first) = format!("{text}-01-01").parse::<Date>()
    {
        return edge_of(first, first.checked_add(1.year()).ok());
    }
    if let Ok(first) = format!("{text}-01").parse::<Date>() {
        return edge_of(first, first.checked_add(1.month()).ok());
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).ok_or_else(unknown)?);
    let n: i64 = number.parse().map_err(|_| unknown())?;
    let step: i64 = match unit {
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        _ => return Err(unknown()),
    };
    n.checked_mul(step).and_then(|ago| now.checked_sub(ago)).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_two_edges() {
        let now = parse_rfc3339("2026-11-21T12:00:00Z").unwrap();
        let since = parse("2026-11-20", now, &TimeZone::UTC, Edge::Since).unwrap();
        let until = parse("2026-11-20", now, &TimeZone::UTC, Edge::Until).unwrap();
        assert_eq!(until - since, 86_400_000 - 1);
        assert_eq!(parse("24h", now, &TimeZone::UTC, Edge::Since).unwrap(), now - 86_400_000);
        let month = parse("2026-02", now, &TimeZone::UTC, Edge::Until).unwrap()
            - parse("2026-02", now, &TimeZone::UTC, Edge::Since).unwrap();
        assert_eq!(month, 28 * 86_400_000 - 1);
        let year = parse("2026", now, &TimeZone::UTC, Edge::Until).unwrap()
            - parse("2026", now, &TimeZone::UTC, Edge::Since).unwrap();
        assert_eq!(year, 365 * 86_400_000 - 1);
        for bad in ["", "soon", "2026-13-01", "5x", "99999999999999999999d", "2026-02-30"] {
            assert!(parse(bad, now, &TimeZone::UTC, Edge::Since).is_err(), "{bad}");
        }
    }
}

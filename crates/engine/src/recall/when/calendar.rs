//! Periods of the calendar, relative to a day. Contains no vocabulary.

use jiff::civil::{Date, DateTime, ISOWeekDate, Time, Weekday};
use jiff::{Span, ToSpan};

use super::Precision;
use super::vocabulary::{Unit, Which};

/// A period in local time, without a zone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Period {
    pub from: DateTime,
    pub until: DateTime,
    pub precision: Precision,
    /// Whether the calendar gives the period and not its distance from now: a text may contain its words, too.
    pub absolute: bool,
    /// Whether the year was not given.
    pub yearless: bool,
    /// Whether it was written in a machine format.
    pub iso: bool,
}

impl Period {
    pub fn days(from: Date, until: Date, precision: Precision) -> Option<Period> {
        let (from, until) = (from.to_datetime(Time::midnight()), until.to_datetime(Time::midnight()));
        Period::between(from, until, precision)
    }

    pub fn between(from: DateTime, until: DateTime, precision: Precision) -> Option<Period> {
        (from < until).then_some(Period { from, until, precision, absolute: false, yearless: false, iso: false })
    }

    pub fn absolute(self) -> Period {
        Period { absolute: true, ..self }
    }

    pub fn yearless(self) -> Period {
        Period { yearless: true, ..self }
    }

    /// Returns the same period in another year.
    pub fn years_on(self, years: i64) -> Option<Period> {
        let move_on = |at: DateTime| at.checked_add(Span::new().try_years(years).ok()?).ok();
        Some(Period { from: move_on(self.from)?, until: move_on(self.until)?, ..self })
    }

    /// Returns one of its three thirds, in whole days.
    pub fn third(self, which: i64) -> Option<Period> {
        let days = i64::from(self.from.date().until(self.until.date()).ok()?.get_days());
        let at = |n: i64| self.from.checked_add(Span::new().try_days(days * n / 3).ok()?).ok();
        let cut = Period::between(at(which)?, if which == 2 { self.until } else { at(which + 1)? }, self.precision)?;
        Some(Period { from: cut.from, until: cut.until, ..self })
    }
}

pub(super) fn back(day: Date, days: i64) -> Option<Date> {
    day.checked_sub(Span::new().try_days(days).ok()?).ok()
}

fn on(day: Date, days: i64) -> Option<Date> {
    day.checked_add(Span::new().try_days(days).ok()?).ok()
}

pub(super) fn one_day(day: Date) -> Option<Period> {
    Period::days(day, on(day, 1)?, Precision::Day)
}

/// Returns an ISO week of a year.
pub(super) fn iso_week(year: i16, week: i8) -> Option<Period> {
    let monday = ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date();
    Period::days(monday, on(monday, 7)?, Precision::Week).map(Period::absolute)
}

/// Returns the latest week with this number that has begun.
pub(super) fn latest_iso_week(today: Date, week: i8) -> Option<Period> {
    let year = today.iso_week_date().year();
    (0..=8).filter_map(|back| iso_week(year - back, week)).find(|period| period.from.date() <= today)
}

pub(super) fn month(year: i16, month: i8) -> Option<Period> {
    months(year, month, 1, Precision::Month)
}

/// Returns a season; it belongs to the year it begins in.
pub(super) fn season(year: i16, first: i8) -> Option<Period> {
    months(year, first, 3, Precision::Season)
}

pub(super) fn quarter(year: i16, number: i8) -> Option<Period> {
    if !(1..=4).contains(&number) {
        return None;
    }
    months(year, number * 3 - 2, 3, Precision::Quarter)
}

fn months(year: i16, first: i8, count: i64, precision: Precision) -> Option<Period> {
    let from = Date::new(year, first, 1).ok()?;
    Period::days(from, from.checked_add(Span::new().try_months(count).ok()?).ok()?, precision).map(Period::absolute)
}

pub(super) fn years(from: i16, count: i16, precision: Precision) -> Option<Period> {
    let first = Date::new(from, 1, 1).ok()?;
    let after = Date::new(from.checked_add(count)?, 1, 1).ok()?;
    Period::days(first, after, precision).map(Period::absolute)
}

/// Returns the latest yearly period that has begun, today included.
pub(super) fn latest(today: Date, of_year: impl Fn(i16) -> Option<Period>) -> Option<Period> {
    // The last 29 February is up to eight years ago.
    (0..=8)
        .filter_map(|back| of_year(today.year() - back))
        .find(|period| period.from.date() <= today)
        .map(Period::yearless)
}

/// Returns the latest day with this number in its month, today included.
pub(super) fn day_of_month(today: Date, day: i8) -> Option<Period> {
    let first = Date::new(today.year(), today.month(), 1).ok()?;
    (0..=2)
        .filter_map(|back| {
            let of = first.checked_sub(Span::new().try_months(i64::from(back)).ok()?).ok()?;
            Date::new(of.year(), of.month(), day).ok()
        })
        .find(|date| *date <= today)
        .and_then(one_day)
        .map(Period::absolute)
}

fn monday(day: Date) -> Option<Date> {
    back(day, i64::from(day.weekday().to_monday_zero_offset()))
}

/// Returns the latest such day of the week. `before`: today does not count.
pub(super) fn weekday(today: Date, weekday: i8, before: bool) -> Option<Period> {
    let days = i64::from((today.weekday().to_monday_zero_offset() - weekday).rem_euclid(7));
    one_day(back(today, if days == 0 && before { 7 } else { days })?)
}

/// Returns the nearest such day of the week before a day, or on or after it.
pub(super) fn weekday_beside(day: Date, weekday: i8, before: bool) -> Option<Period> {
    let ahead = i64::from((weekday - day.weekday().to_monday_zero_offset()).rem_euclid(7));
    one_day(on(day, if before { ahead - 7 } else { ahead })?)
}

/// Returns the period a number of units before or after a moment; without a number, the adjacent unit.
pub(super) fn beside(base: DateTime, unit: Unit, count: Option<(f64, f64)>, before: bool) -> Option<Period> {
    let (near, far) = match count {
        Some((least, most)) => {
            let slack = if unit == Unit::Day { 0.0 } else { (least / 2.0).min(0.5) };
            // With a count of days, the range includes the day that begins there.
            let whole = if unit == Unit::Day { 1.0 } else { 0.0 };
            (least - slack - whole, most + slack)
        }
        None => (0.0, 1.0),
    };
    let (near, far) = ((near.max(0.0) * days_of(unit)) as i64, (far * days_of(unit)).round() as i64);
    let day = base.date();
    let (from, until) = if before { (back(day, far)?, back(day, near)?) } else { (on(day, near)?, on(day, far)?) };
    Period::days(from, until, precision_of(unit))
}

/// Returns a day of the week of this week or of an earlier one.
pub(super) fn weekday_of_week(today: Date, weekday: i8, weeks_back: i64) -> Option<Period> {
    one_day(on(back(monday(today)?, 7 * weeks_back)?, weekday.into())?)
}

/// Returns the unit of the calendar that contains this day, or an earlier one.
pub(super) fn calendar(now: DateTime, unit: Unit, which: Which) -> Option<Period> {
    let today = now.date();
    let steps = match which {
        Which::This => 0,
        Which::Last => 1,
        Which::BeforeLast => 2,
        Which::Past => return trailing(now, unit, 1.0),
    };
    let (from, until, precision) = match unit {
        Unit::Day => {
            let day = back(today, steps)?;
            (day, on(day, 1)?, Precision::Day)
        }
        Unit::Week => {
            let first = back(monday(today)?, 7 * steps)?;
            (first, on(first, 7)?, Precision::Week)
        }
        Unit::Weekend => {
            // On a working day "this weekend" may be the coming one, but only a weekend that has begun has turns.
            let begun = i64::from(today.weekday().to_monday_zero_offset() >= 5);
            let weeks = match which {
                Which::This => 1 - begun,
                _ => steps,
            };
            let first = on(back(monday(today)?, 7 * weeks)?, 5)?;
            (first, on(first, 2)?, Precision::Weekend)
        }
        Unit::Month => {
            let first = Date::new(today.year(), today.month(), 1)
                .ok()?
                .checked_sub(Span::new().try_months(steps).ok()?)
                .ok()?;
            (first, first.checked_add(1.month()).ok()?, Precision::Month)
        }
        Unit::Quarter => {
            let first = Date::new(today.year(), (today.month() - 1) / 3 * 3 + 1, 1).ok()?;
            let first = first.checked_sub(Span::new().try_months(3 * steps).ok()?).ok()?;
            (first, first.checked_add(3.months()).ok()?, Precision::Quarter)
        }
        Unit::Year => {
            let first = Date::new(today.year().checked_sub(steps as i16)?, 1, 1).ok()?;
            (first, first.checked_add(1.year()).ok()?, Precision::Year)
        }
        Unit::Decade => {
            let first = Date::new((today.year().div_euclid(10) - steps as i16) * 10, 1, 1).ok()?;
            (first, first.checked_add(10.years()).ok()?, Precision::Decade)
        }
        Unit::Hour | Unit::Minute => return trailing(now, unit, 1.0),
    };
    Period::days(from, until, precision)
}

/// Returns the period of `count` units up to now; days are whole.
pub(super) fn trailing(now: DateTime, unit: Unit, count: f64) -> Option<Period> {
    let soon = now.checked_add(1.minute()).ok()?;
    match unit {
        Unit::Minute | Unit::Hour => {
            let minutes = (count * minutes_of(unit)) as i64;
            let from = now.checked_sub(Span::new().try_minutes(minutes).ok()?).ok()?;
            Period::between(from, soon, Precision::Hour)
        }
        _ => {
            let from = back(now.date(), (count * days_of(unit)).round() as i64)?;
            Period::between(from.to_datetime(Time::midnight()), soon, precision_of(unit))
        }
    }
}

/// Returns the period `least` to `most` units ago. People do not count exactly, so half a unit is added on either side.
pub(super) fn ago(now: DateTime, unit: Unit, (least, most): (f64, f64)) -> Option<Period> {
    let today = now.date();
    match unit {
        Unit::Minute | Unit::Hour => {
            let slack = if unit == Unit::Hour { 60.0 } else { (most * 0.5).max(5.0) };
            let at = |n: f64| now.checked_sub(Span::new().try_minutes(n as i64).ok()?).ok();
            let (from, until) =
                (at(most * minutes_of(unit) + slack)?, at((least * minutes_of(unit) - slack).max(-1.0))?);
            Period::between(from, until, Precision::Hour)
        }
        Unit::Day => {
            // Up to a week people know the exact day, so no slack is added.
            let slack = if most <= 7.0 { 0 } else { 1 + most as i64 / 14 };
            let (from, until) = (back(today, most as i64 + slack)?, back(today, least as i64 - slack - 1)?);
            Period::days(from, until, Precision::Day)
        }
        _ => {
            let (days, slack) = (days_of(unit), (least / 2.0).min(0.5));
            let from = back(today, ((most + slack) * days) as i64)?;
            let until = back(today, ((least - slack) * days) as i64)?;
            Period::days(from, until, precision_of(unit))
        }
    }
}

fn minutes_of(unit: Unit) -> f64 {
    if unit == Unit::Hour { 60.0 } else { 1.0 }
}

fn days_of(unit: Unit) -> f64 {
    match unit {
        Unit::Minute | Unit::Hour | Unit::Day => 1.0,
        Unit::Week | Unit::Weekend => 7.0,
        Unit::Month => 30.44,
        Unit::Quarter => 91.31,
        Unit::Year => 365.25,
        Unit::Decade => 3652.5,
    }
}

fn precision_of(unit: Unit) -> Precision {
    match unit {
        Unit::Minute | Unit::Hour => Precision::Hour,
        Unit::Day => Precision::Day,
        Unit::Week | Unit::Weekend => Precision::Week,
        Unit::Month => Precision::Month,
        Unit::Quarter => Precision::Quarter,
        Unit::Year => Precision::Year,
        Unit::Decade => Precision::Decade,
    }
}

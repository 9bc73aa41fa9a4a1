//! Finds the day by which a promise is to be kept: "by Friday", "bis 27. November", "due 2026-11-27". Pure.
//!
//! A date counts only after a word that makes it a deadline, or, in a sentence that promises something, after "on" and
//! similar words. A day without a year is the next such day after the promise; a text without a date has no deadline.

use jiff::ToSpan as _;
use jiff::civil::{Date, Weekday};

use crate::text::patterns::phrases;

/// Words that make the date after them a deadline, in the languages that are read.
const BEFORE: &[&str] =
    &["by", "until", "till", "due", "before", "deadline", "bis", "vor", "fällig", "avant", "d'ici", "antes", "hasta"];

/// Words that make the date after them a deadline in a sentence that promises something: "I'll know on the 25th".
const BEFORE_PROMISED: &[&str] = &["on", "am", "le", "el"];

/// Phrases for the week of the promise, which ends on Sunday: "I'll answer this week".
const THIS_WEEK: [(&str, &str); 6] = [
    ("this", "week"),
    ("diese", "woche"),
    ("dieser", "woche"),
    ("cette", "semaine"),
    ("esta", "semana"),
    ("questa", "settimana"),
];

/// Words that may stand between a deadline's word and the date.
const BETWEEN: &[&str] = &[
    "the",
    "next",
    "this",
    "coming",
    "of",
    "on",
    "is",
    "zum",
    "am",
    "den",
    "dem",
    "nächsten",
    "le",
    "au",
    "el",
    "del",
    "de",
];

/// Maximum number of words between a deadline's word and its date.
const NEAR: usize = 3;

const MONTHS: [&[&str]; 12] = [
    &["january", "jan", "januar", "janvier", "enero"],
    &["february", "feb", "februar", "février", "febrero"],
    &["march", "mar", "märz", "mars", "marzo"],
    &["april", "apr", "avril", "abril"],
    &["may", "mai", "mayo"],
    &["june", "jun", "juni", "juin", "junio"],
    &["july", "jul", "juli", "juillet", "julio"],
    &["august", "aug", "août", "agosto"],
    &["september", "sep", "sept", "septembre", "septiembre"],
    &["october", "oct", "oktober", "okt", "octobre", "octubre"],
    &["november", "nov", "novembre", "noviembre"],
    &["december", "dec", "dezember", "dez", "décembre", "diciembre"],
];

const WEEKDAYS: [(&[&str], Weekday); 7] = [
    (&["monday", "montag", "lundi", "lunes"], Weekday::Monday),
    (&["tuesday", "dienstag", "mardi", "martes"], Weekday::Tuesday),
    (&["wednesday", "mittwoch", "mercredi", "miércoles"], Weekday::Wednesday),
    (&["thursday", "donnerstag", "jeudi", "jueves"], Weekday::Thursday),
    (&["friday", "freitag", "vendredi", "viernes"], Weekday::Friday),
    (&["saturday", "samstag", "samedi", "sábado"], Weekday::Saturday),
    (&["sunday", "sonntag", "dimanche", "domingo"], Weekday::Sunday),
];

const TOMORROW: &[&str] = &["tomorrow", "demain", "mañana"];

/// A date without a year is at most this many months ahead.
const NEXT_MONTHS: i32 = 6;

/// Maximum length of a text that is read, in bytes: items are never longer.
const LONGEST: usize = 2_000;

/// Returns the day that a text names as a deadline; `said`: the day it was said.
pub(crate) fn due(text: &str, said: Date) -> Option<Date> {
    let text = text.get(..LONGEST).unwrap_or(text);
    let words: Vec<String> = text
        .split_whitespace()
        .map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .filter(|w| !w.is_empty())
        .collect();
    day_after(&words, said, BEFORE).or_else(|| if promises(text) { day_promised(&words, said) } else { None })
}

/// Returns the first day after one of these words. A date ("27 November") is preferred to a weekday before it
/// ("Friday").
fn day_after(words: &[String], said: Date, before: &[&str]) -> Option<Date> {
    let mut weekday = None;
    for at in 0..words.len() {
        let is_deadline = follows(words, at, before);
        if (is_deadline || weekday.is_some())
            && let Some(date) = date_at(words, at, said)
            && date >= said
        {
            return Some(date);
        }
        if is_deadline && weekday.is_none() {
            weekday = day_at(&words[at], said);
        }
    }
    weekday
}

/// Returns the day of a promise: a day after "on", tomorrow, or the end of this week.
fn day_promised(words: &[String], said: Date) -> Option<Date> {
    let week = words.windows(2).any(|pair| THIS_WEEK.contains(&(pair[0].as_str(), pair[1].as_str())));
    day_after(words, said, BEFORE_PROMISED)
        .or_else(|| words.iter().any(|w| TOMORROW.contains(&w.as_str())).then(|| said.checked_add(1.day()).ok())?)
        .or_else(|| week.then(|| said.checked_add((7 - said.weekday().to_monday_one_offset()).days()).ok())?)
}

/// Whether a text contains a promise to do something.
fn promises(text: &str) -> bool {
    phrases!(
        "i'll|ill|we'll / i|we will|promised|promise|owe / remind me|us / ich|wir werde|werden|melde|melden|schicke|schicken|\
         antworte|antworten|weiß|wissen|erfahre|bringe|rufe|kläre|versprochen / erinnere|erinner mich|uns / je|nous vais|allons|\
         enverrai|répondrai|saurai|promis / rappelle-moi / voy|vamos a / prometí / recuérdame / responderé|enviaré|sabré"
    )
    .stand_in(text)
}

/// Whether a deadline's word stands shortly before this one.
fn follows(words: &[String], at: usize, before: &[&str]) -> bool {
    for word in words[at.saturating_sub(NEAR)..at].iter().rev() {
        if before.contains(&word.as_str()) {
            return true;
        }
        if !BETWEEN.contains(&word.as_str()) && !WEEKDAYS.iter().any(|(names, _)| names.contains(&word.as_str())) {
            return false;
        }
    }
    false
}

/// Returns the day of a weekday's name or "tomorrow".
fn day_at(word: &str, said: Date) -> Option<Date> {
    if TOMORROW.contains(&word) {
        return said.checked_add(1.day()).ok();
    }
    let (_, day) = WEEKDAYS.iter().find(|(names, _)| names.contains(&word))?;
    said.nth_weekday(1, *day).ok()
}

/// Returns the date that begins at a word.
fn date_at(words: &[String], at: usize, said: Date) -> Option<Date> {
    let word = words[at].as_str();
    if let Ok(date) = word.parse::<Date>() {
        return (word.len() == 10).then_some(date);
    }
    // The forms 27.11.2026 and 27.11
    let mut parts = word.split('.').map(str::parse::<i16>);
    if let (Some(Ok(day)), Some(Ok(month))) = (parts.next(), parts.next()) {
        return match parts.next() {
            Some(Ok(year)) => of(Some(year), month, day, said),
            Some(Err(_)) => None,
            None => of(None, month, day, said),
        };
    }
    let number = |word: Option<&String>| -> Option<i16> {
        let digits = word?.trim_end_matches(|c: char| c.is_alphabetic());
        digits.parse().ok()
    };
    let month = |word: Option<&String>| -> Option<i16> {
        let word = word?;
        let found = MONTHS.iter().position(|names| names.contains(&word.as_str()))?;
        i16::try_from(found + 1).ok()
    };
    let skip = usize::from(matches!(words.get(at + 1).map(String::as_str), Some("of" | "de")));
    if let (Some(day), Some(month)) = (number(words.get(at)), month(words.get(at + 1 + skip))) {
        return of(number(words.get(at + 2 + skip)).filter(|y| *y > 1000), month, day, said);
    }
    if let (Some(month), Some(day)) = (month(words.get(at)), number(words.get(at + 1))) {
        return of(number(words.get(at + 2)).filter(|y| *y > 1000), month, day, said);
    }
    // "on the 25th" is a day of this month, or of the next.
    let day: i8 = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end))?.parse().ok()?;
    let first = said.first_of_month();
    [first, first.checked_add(1.month()).ok()?]
        .into_iter()
        .filter_map(|month| Date::new(month.year(), month.month(), day).ok())
        .find(|date| *date >= said)
}

/// Makes a date; without a year, the next one from `said` on.
fn of(year: Option<i16>, month: i16, day: i16, said: Date) -> Option<Date> {
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    if let Some(year) = year {
        return Date::new(year, month, day).ok();
    }
    let date = Date::new(said.year(), month, day).ok()?;
    let date = if date < said { Date::new(said.year().checked_add(1)?, month, day).ok()? } else { date };
    // Without a year, a date in the recent past was meant, not one nearly a year ahead.
    (date <= said.checked_add(NEXT_MONTHS.months()).ok()?).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(text: &str) -> String {
        // 18 November 2026 is a Wednesday.
        due(text, Date::constant(2026, 11, 18)).map_or_else(|| "-".into(), |d| d.to_string())
    }

    #[test]
    fn a_promise_has_the_day_it_names() {
        assert_eq!(on("I promised Ada the numbers by Friday, 27 November"), "2026-11-27");
        assert_eq!(on("send the report by Friday"), "2026-11-20");
        assert_eq!(on("due 2026-12-01: renew the certificate"), "2026-12-01");
        assert_eq!(on("Angebot bis zum 3. Dezember schicken"), "2026-12-03");
        assert_eq!(on("Rechnung bis 05.01. bezahlen"), "2027-01-05");
        assert_eq!(on("envoyer le devis avant le 2 décembre"), "2026-12-02");
        assert_eq!(on("terminar antes del 30 de noviembre"), "2026-11-30");
        assert_eq!(on("entregar hasta el 30 de noviembre"), "2026-11-30");
        assert_eq!(on("finish it by tomorrow"), "2026-11-19");
        assert_eq!(on("ship it by March 3, 2027"), "2027-03-03");
        assert_eq!(on("send it by the 25th"), "2026-11-25");
        assert_eq!(on("send it by the 3rd"), "2026-12-03");
    }

    #[test]
    fn what_somebody_will_do_needs_no_by() {
        assert_eq!(on("I'll remove the secret on Monday, remind me."), "2026-11-23");
        assert_eq!(on("Wait with booking until my leave is approved, I'll know on the 25th."), "2026-11-25");
        assert_eq!(on("Let me think about the feed, I'll answer this week."), "2026-11-22");
        assert_eq!(on("We'll send the samples tomorrow"), "2026-11-19");
        assert_eq!(on("Ich melde mich am Montag bei ihr"), "2026-11-23");
        assert_eq!(on("je vais appeler le 2 décembre"), "2026-12-02");
        for text in ["it failed on Monday", "the backup of this week is broken", "deployed on the 25th"] {
            assert_eq!(on(text), "-", "{text}");
        }
    }

    #[test]
    fn other_numbers_and_names_are_no_days() {
        for text in [
            "",
            "update to 1.2.3 and run step 4",
            "the May release broke the parser",
            "Friday was a good day",
            "we met 12 November and agreed",
            "by the way, 40 of 41 tests pass",
            "by 99 November",
            "we had it ready by 12 November",
            "in 2025-01-02 it worked",
            "write dates as 6 December 2026",
        ] {
            assert_eq!(on(text), "-", "{text}");
        }
    }
}

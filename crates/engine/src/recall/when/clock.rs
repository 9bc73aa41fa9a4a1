//! Times of the day: `around 21:04`, `between 9 and 10`, `at half past nine`, `late in the evening`.
//!
//! A time of day belongs to a day named in the same text, the nearest one ("late in the evening of the 12th"); if no
//! day is named, any day is meant.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::grammar::Grammar;
use super::tokens::DASH;
use super::vocabulary as words;
use crate::clock::Millis;

/// Minutes of a day.
const DAY: i32 = 24 * 60;

/// Tolerance of a time given to the minute, and of one given roughly.
const NEAR: i32 = 5;
const ROUGHLY: i32 = 20;

/// A time of the day on any day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clock {
    /// Start and end in minutes from midnight; the end is exclusive and may be on the next day.
    pub from: i32,
    pub until: i32,
    pub(super) zone: TimeZone,
}

impl Clock {
    /// Whether a moment is within this time of its day.
    pub fn holds(&self, at: Millis) -> bool {
        let Ok(at) = Timestamp::from_millisecond(at) else { return false };
        let time = at.to_zoned(self.zone.clone()).time();
        let minute = i32::from(time.hour()) * 60 + i32::from(time.minute());
        [minute, minute + DAY].iter().any(|minute| (self.from..self.until).contains(minute))
    }

    /// `20:59 to 21:09`.
    pub fn shown(&self) -> String {
        let shown = |minute: i32| format!("{:02}:{:02}", minute.rem_euclid(DAY) / 60, minute.rem_euclid(60));
        format!("{} to {}", shown(self.from), shown(self.until - 1))
    }

    /// Whether it is only a part of the day, which says little.
    pub fn is_wide(&self) -> bool {
        self.until - self.from > 150
    }
}

/// A time of day as it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Hours {
    pub from: i32,
    pub until: i32,
    /// Whether it is clear if it is before or after noon.
    pub sure: bool,
    /// Whether it is a part of the day and not a time.
    pub part: bool,
}

impl Hours {
    fn of(from: i32, until: i32, sure: bool) -> Hours {
        Hours { from, until, sure, part: false }
    }

    /// Returns the time twelve hours later if only then it is in that part of the day; otherwise the time itself.
    pub fn in_part(self, part: (i32, i32)) -> Hours {
        let within = |from: i32| (part.0 - 60..part.1).contains(&from);
        if !self.sure && !within(self.from) && !within(self.from + DAY) && within(self.from + DAY / 2) {
            return Hours { from: self.from + DAY / 2, until: self.until + DAY / 2, ..self };
        }
        self
    }

    /// Returns the time on the day that begins at `midnight`. `part`: the hours of that day that are meant, which may
    /// reach into the next.
    pub fn on(self, midnight: DateTime, part: (i32, i32)) -> Option<(DateTime, DateTime)> {
        let next = i32::from(part.1 > DAY && self.until <= part.1 - DAY) * DAY;
        let at = |minute: i32| midnight.checked_add(Span::new().try_minutes(minute + next).ok()?).ok();
        Some((at(self.from)?, at(self.until)?))
    }
}

/// Returns midnight and the start and end minutes of a period of less than a day.
pub(super) fn minutes_of(from: DateTime, until: DateTime) -> Option<(DateTime, (i32, i32))> {
    let midnight = from.date().to_datetime(Time::midnight());
    let days = from.date().until(until.date()).ok()?.get_days();
    let minutes = |at: DateTime| i32::from(at.hour()) * 60 + i32::from(at.minute());
    let (first, last) = (minutes(from), days.checked_mul(DAY)? + minutes(until));
    (last <= 36 * 60).then_some((midnight, (first, last)))
}

/// One time of day: number of words it takes, its minute, whether it is given to the minute, whether it is clear that
/// it is a time, and whether before or after noon is clear.
struct Moment {
    words: usize,
    minute: i32,
    exact: bool,
    clear: bool,
    sure: bool,
}

impl Grammar<'_> {
    /// Returns the time of day that begins at this word, and how many words it takes.
    pub(super) fn clock(&self, at: usize) -> Option<(usize, Hours)> {
        self.clock_range(at)
            .or_else(|| self.clock_open(at))
            .or_else(|| self.clock_near(at))
            .or_else(|| self.part_of_any_day(at))
    }

    /// `between 9 and 10`, `from 9:00 to 10:30`, `9–10 pm`, `21:04-21:30`.
    fn clock_range(&self, at: usize) -> Option<(usize, Hours)> {
        let between = matches!(self.word(at), "between" | "zwischen" | "entre");
        let from = matches!(self.word(at), "from" | "von" | "vom" | "de");
        let lead = usize::from(between || from);
        // "21:04-21:30" is one word.
        if let Some((one, two)) = self.raw(at + lead).split_once(['-', '–'])
            && let (Some(one), Some(mut two)) = (moment_in(one), moment_in(two))
            && (one.clear || two.clear)
        {
            let behind = self.half(at + lead + 1);
            two.minute += behind.map_or(0, |after| after * (DAY / 2) * i32::from(two.minute < DAY / 2));
            return range(lead + 1 + usize::from(behind.is_some()), &one, &two, behind);
        }
        let one = self.moment(at + lead)?;
        let next = at + lead + one.words;
        match self.word(next) {
            "and" | "und" | "et" | "y" if between => {}
            "to" | "until" | "till" | "bis" | "à" | "a" if from || one.clear => {}
            DASH => {}
            _ => return None,
        }
        let two = self.moment(next + 1)?;
        let words = next + 1 + two.words - at;
        // "between 3 and 5 retries" is not a time; "… did I say between 9 and 10?" is.
        let ends = self.ends_here(at + words);
        let clear = one.clear || two.clear || (lead > 0 && ends && (at > 1 || self.names_day()));
        let half = (two.sure && !one.sure && two.minute >= DAY / 2 && one.minute < DAY / 2).then_some(1);
        clear.then(|| range(words, &one, &two, half)).flatten()
    }

    /// `after 9 pm`, `before 21:00`, `ab 14 Uhr`.
    fn clock_open(&self, at: usize) -> Option<(usize, Hours)> {
        let after = match self.word(at) {
            "since" | "after" | "seit" | "ab" | "nach" | "après" | "desde" => true,
            "before" | "until" | "till" | "vor" | "bis" | "avant" | "antes" => false,
            _ => return None,
        };
        let one = self.moment(at + 1).filter(|one| one.clear)?;
        let (from, until) = if after { (one.minute, DAY) } else { (0, one.minute) };
        (from < until).then_some((1 + one.words, Hours::of(from, until, one.sure)))
    }

    /// `at 21:04`, `around 9`, `gegen halb zehn`, `21:04`.
    fn clock_near(&self, at: usize) -> Option<(usize, Hours)> {
        let mut lead = 0;
        let (mut about, mut led) = (false, false);
        loop {
            match self.word(at + lead) {
                "around" | "about" | "approximately" | "roughly" | "circa" | "ca" | "gegen" | "ungefähr" | "etwa"
                | "vers" | "environ" | "hacia" | "sobre" => about = true,
                "at" | "by" | "um" | "à" => led = true,
                "the" | "las" | "la" | "a" if about || self.word(at + lead) == "a" => {}
                _ => break,
            }
            lead += 1;
            if lead > 3 {
                return None;
            }
        }
        let one = self.moment(at + lead)?;
        // "around 3 people": without a sign, a number is a time only if no word follows that it could count.
        let meant = one.clear || ((led || about) && self.ends_here(at + lead + one.words));
        if !meant {
            return None;
        }
        let (less, more) = match (one.exact, about) {
            (true, false) => (NEAR, NEAR),
            (true, true) => (ROUGHLY, ROUGHLY),
            (false, false) => (NEAR, 60),
            (false, true) => (30, 60),
        };
        Some((lead + one.words, Hours::of((one.minute - less).max(0), one.minute + more, one.sure)))
    }

    /// `late in the evening`, `in the morning`, `spät am Abend`, `nachts`.
    fn part_of_any_day(&self, at: usize) -> Option<(usize, Hours)> {
        let mut n = 0;
        let mut third = words::early_or_late(self.word(at));
        n += usize::from(third.is_some());
        let led = matches!(self.word(at + n), "in" | "at" | "am" | "during" | "im" | "por" | "de");
        n += usize::from(led);
        n += self.article(at + n) + usize::from(self.word(at + n) == "la");
        if third.is_none() {
            third = words::early_or_late(self.word(at + n));
            n += usize::from(third.is_some() && n > 0);
        }
        let name = self.word(at + n);
        let adverb = words::part_as_adverb(name);
        let (from, until) = match adverb {
            Some(hours) => hours,
            // "in the morning" is a time; "the night build" is not.
            None => words::part_of_day(name).filter(|_| led && (n > 1 || matches!(self.word(at), "at" | "am")))?,
        };
        let (from, until) = ((from * 60) as i32, (until * 60) as i32);
        let length = until - from;
        let (from, until) = match third {
            Some(0) => (from, from + length / 2),
            Some(_) => (until - length / 2, until),
            None => (from, until),
        };
        Some((n + 1, Hours { from, until, sure: true, part: true }))
    }

    /// Whether the text continues as it does after a time: no word follows that a number could count.
    fn ends_here(&self, at: usize) -> bool {
        let before = &self.tokens[at - 1];
        !before.tail.trim_matches(['\'', '"', ')']).is_empty()
            || words::goes_on(self.word(at))
            || words::day_word(self.word(at)).is_some()
            || words::leads(self.word(at))
            || words::weekday(self.word(at)).is_some()
            || words::which(self.word(at)).is_some()
    }

    /// Whether the text names a day, so that a bare number beside it may be an hour.
    fn names_day(&self) -> bool {
        (0..self.tokens.len()).any(|at| {
            let word = self.word(at);
            words::day_word(word).is_some()
                || words::weekday(word).is_some_and(|(_, short)| !short)
                || words::month(word).is_some_and(|(_, odd)| !odd)
        })
    }

    /// `am` or `pm` after a number: 0 or 1.
    fn half(&self, at: usize) -> Option<i32> {
        match self.word(at) {
            "am" | "a.m" if self.word(at) == "a.m" || self.ends_here(at + 1) => Some(0),
            "pm" | "p.m" => Some(1),
            _ => None,
        }
    }

    fn moment(&self, at: usize) -> Option<Moment> {
        if let Some(found) = self.spoken_moment(at) {
            return Some(found);
        }
        let mut found = moment_in(self.raw(at))?;
        let next = at + 1;
        let tail = self.tokens[at].tail;
        if !tail.is_empty() {
            return Some(found);
        }
        if let Some(after) = self.half(next).filter(|_| !found.sure || found.exact && found.minute <= DAY / 2 + 59) {
            found.minute = found.minute % (DAY / 2) + after * DAY / 2;
            return Some(Moment { words: 2, clear: true, sure: true, ..found });
        }
        match self.word(next) {
            "uhr" | "heures" | "horas" => {
                let more = self.raw(next + 1).parse::<i32>().ok().filter(|m| *m < 60 && self.raw(next + 1).len() == 2);
                let (words, exact) = if more.is_some() && !found.exact { (3, true) } else { (2, found.exact) };
                let minute = found.minute + if words == 3 { more.unwrap_or(0) } else { 0 };
                Some(Moment { words, minute, exact, clear: true, sure: found.minute >= DAY / 2 })
            }
            "o'clock" | "o’clock" | "oclock" | "h" => Some(Moment { words: 2, clear: true, ..found }),
            _ => Some(found),
        }
    }

    /// `half past nine`, `quarter to 9`, `halb zehn`, `Viertel nach neun`, `midnight`.
    fn spoken_moment(&self, at: usize) -> Option<Moment> {
        let hour = |at: usize| words::count(self.word(at)).filter(|(n, m)| n == m && *n >= 1.0 && *n <= 23.0);
        let hour = |at: usize| hour(at).map(|(n, _)| n as i32 * 60);
        let told = |words: usize, minute: i32| {
            Some(Moment { words, minute: minute.rem_euclid(DAY), exact: true, clear: true, sure: minute >= 13 * 60 })
        };
        match (self.word(at), self.word(at + 1)) {
            ("midnight" | "mitternacht" | "minuit" | "medianoche", _) => {
                Some(Moment { words: 1, minute: 0, exact: true, clear: true, sure: true })
            }
            ("midday", _) => Some(Moment { words: 1, minute: DAY / 2, exact: true, clear: true, sure: true }),
            ("half", "past") => told(3, hour(at + 2)? + 30),
            ("quarter", "past") | ("viertel", "nach") => told(3, hour(at + 2)? + 15),
            ("quarter", "to") | ("viertel", "vor") => told(3, hour(at + 2)? - 15),
            ("halb", _) => told(2, hour(at + 1)? - 30),
            (_, "o'clock" | "o’clock" | "oclock") => {
                let minute = hour(at).filter(|_| !self.raw(at).starts_with(|c: char| c.is_ascii_digit()))?;
                Some(Moment { words: 2, minute, exact: false, clear: true, sure: false })
            }
            (_, "uhr") => {
                let minute = hour(at).filter(|_| !self.raw(at).starts_with(|c: char| c.is_ascii_digit()))?;
                Some(Moment { words: 2, minute, exact: false, clear: true, sure: false })
            }
            _ => None,
        }
    }
}

/// Parses `21:04`, `9pm`, `9:30pm`, `21h04`, `21.04` before `Uhr`, or a plain hour.
fn moment_in(raw: &str) -> Option<Moment> {
    let lower = raw.to_ascii_lowercase();
    let (digits, half) = match lower.strip_suffix("pm").map(|d| (d, 1)).or(lower.strip_suffix("am").map(|d| (d, 0))) {
        Some((digits, half)) => (digits, Some(half)),
        None => (lower.strip_suffix("uhr").unwrap_or(&lower), None),
    };
    let number = |text: &str| -> Option<i32> {
        ((1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
    };
    let parts: Vec<&str> = digits.split([':', 'h']).collect();
    let sign = digits.contains([':', 'h']) || digits.len() < lower.len();
    let (hour, minute, exact) = match parts[..] {
        [hour] => (number(hour)?, 0, false),
        [hour, minute] | [hour, minute, _] if minute.len() == 2 => (number(hour)?, number(minute)?, true),
        _ => return None,
    };
    if let [_, _, seconds] = parts[..]
        && (seconds.len() != 2 || number(seconds).is_none_or(|s| s > 59))
    {
        return None;
    }
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(half) => hour % 12 + 12 * half,
        None => hour,
    };
    if hour > 24 || minute > 59 || (hour == 24 && minute > 0) {
        return None;
    }
    let sure = half.is_some() || hour > 12 || (exact && parts[0].len() == 2);
    Some(Moment { words: 1, minute: hour * 60 + minute, exact, clear: sign, sure })
}

/// Makes a range of two times. `half`: the half of the day that applies to the first time if it is not clear.
fn range(words: usize, one: &Moment, two: &Moment, half: Option<i32>) -> Option<(usize, Hours)> {
    let from = one.minute + half.unwrap_or(0) * (DAY / 2) * i32::from(!one.sure && one.minute < DAY / 2);
    let until = if two.minute <= from { two.minute + DAY } else { two.minute };
    // "22:00 to 2:00" goes on after midnight; a range longer than 12 hours is taken as an error.
    (until - from <= 12 * 60 || two.minute > from).then(|| (words, Hours::of(from, until + 1, one.sure || two.sure)))
}

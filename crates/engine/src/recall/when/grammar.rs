//! The grammar of times: `last week`, `vor zwei Wochen`, `between March and May 2025`.

use jiff::Span;
use jiff::civil::{Date, DateTime, Time};

use super::calendar::{self, Period};
use super::clock::Hours;
use super::tokens::{DASH, Token};
use super::vocabulary::{self as words, Unit, Which};
use super::{Hold, Precision};

/// A match at a word: number of words it takes, and the time. A time that does not exist or is in the future takes its
/// words and has no period.
type Found = Option<(usize, Option<Period>)>;

/// A time and how it is meant.
#[derive(Clone, Copy)]
pub(super) struct Mention {
    pub words: usize,
    pub from: Option<DateTime>,
    pub until: Option<DateTime>,
    pub precision: Precision,
    pub absolute: bool,
    /// Whether it is a single date in a machine format.
    pub written: bool,
    pub hold: Hold,
    /// A time of day, which has no ends of its own.
    pub hours: Option<Hours>,
}

pub(super) struct Grammar<'a> {
    pub tokens: &'a [Token<'a>],
    pub now: DateTime,
    /// Whether `hier` means yesterday and not the German "here".
    pub french: bool,
}

impl Grammar<'_> {
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |t| t.word.as_str())
    }

    pub(super) fn raw(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |t| t.raw)
    }

    fn today(&self) -> Date {
        self.now.date()
    }

    pub(super) fn article(&self, at: usize) -> usize {
        usize::from(words::is_article(self.word(at)))
    }

    /// Returns the time that begins at this word. `Err(n)`: the next `n` words are not a time, and neither is any part
    /// of them.
    pub fn mention(&self, at: usize) -> Option<Result<Mention, usize>> {
        if let Some(found) = self.two_ended(at) {
            return Some(found);
        }
        if let Some((words, found)) = self.period(at, false) {
            return Some(found.map(|p| wish(words, p)).ok_or(words));
        }
        if let Some(found) = self.open(at) {
            return Some(found);
        }
        if let Some((words, hours)) = self.clock(at) {
            return Some(Ok(Mention::clock(words, hours)));
        }
        // "the 12th", unless a noun follows.
        if words::is_article(self.word(at))
            && words::day(self.word(at + 1)).is_some_and(|(_, row)| row || self.tokens[at + 1].tail.starts_with('.'))
            && let Some((words, found)) = self.day_of_month(at + 1, true)
        {
            return Some(found.map(|p| wish(words + 1, p)).ok_or(words + 1));
        }
        if words::leads(self.word(at)) {
            let article = self.article(at + 1);
            let behind = |lead: usize| self.period(at + lead, true).map(|(words, found)| (words + lead, found));
            let (words, found) = behind(1).or_else(|| behind(1 + article))?;
            return Some(found.map(|p| wish(words, p)).ok_or(words));
        }
        None
    }

    /// `between X and Y`, `from X to Y`, `X – Y` of two times.
    fn two_ended(&self, at: usize) -> Option<Result<Mention, usize>> {
        let between = matches!(self.word(at), "between" | "zwischen");
        let lead = usize::from(between || matches!(self.word(at), "from" | "von" | "vom"));
        let first = at + lead + self.article(at + lead);
        let joins = |at: usize| match self.word(at) {
            "and" | "und" | "et" | "y" => between,
            word => matches!(word, "to" | "until" | "till" | "through" | "bis" | "au" | "al" | DASH),
        };
        let one = self.period(first, lead > 0 || joins(first + 1));
        let (n, one) = match one {
            Some(found) => found,
            // "vom 3. bis 5. Mai": the month follows with the second day.
            None => {
                words::day(self.word(first)).filter(|_| joins(first + 1))?;
                (1, None)
            }
        };
        let next = first + n;
        if !joins(next) {
            return None;
        }
        let next = next + 1 + self.article(next + 1);
        let day_only = |at: usize| words::day(self.word(at)).map(|(day, _)| day).filter(|day| (1..=31).contains(day));
        let (m, two) = match (self.period(next, true), &one) {
            (Some(found), _) => found,
            // "May 3–5": the month was given with the first day.
            (None, Some(one)) if one.precision == Precision::Day => {
                let day = Date::new(one.from.year(), one.from.month(), day_only(next)?).ok();
                let found = day.and_then(calendar::one_day).map(Period::absolute);
                (1, found.map(|p| Period { yearless: one.yearless, ..p }))
            }
            _ => return None,
        };
        let one = match (one, two, day_only(first)) {
            (_, Some(two), Some(day))
                if n == 1 && two.precision == Precision::Day && (m > 1 || self.word(next).contains('.')) =>
            {
                let found = Date::new(two.from.year(), two.from.month(), day).ok().and_then(calendar::one_day);
                found.map(|p| Period { absolute: true, yearless: two.yearless, ..p })
            }
            (one, ..) => one,
        };
        let words = next + m - at;
        let (Some(one), Some(two)) = (one, two) else { return Some(Err(words)) };
        let (one, two) = same_years(one, two);
        if one.from >= two.until {
            return Some(Err(words));
        }
        Some(Ok(Mention {
            words,
            from: Some(one.from),
            until: Some(two.until),
            precision: two.precision,
            absolute: one.absolute && two.absolute,
            written: false,
            hold: Hold::Limit,
            hours: None,
        }))
    }

    /// `since X`, `before X`, `after X`, `until X`.
    fn open(&self, at: usize) -> Option<Result<Mention, usize>> {
        let mut lead = 1;
        let which = match self.word(at) {
            "since" | "seit" | "ab" => "since",
            "from" | "von" | "vom" => "from",
            "after" | "nach" => "after",
            "before" | "vor" => "before",
            "until" | "till" | "bis" => "until",
            "up" if self.word(at + 1) == "to" => {
                lead = 2;
                "until"
            }
            "prior" if self.word(at + 1) == "to" => {
                lead = 2;
                "before"
            }
            _ => return None,
        };
        lead += self.article(at + lead);
        let lasting = if which == "since" { self.lasting(at + lead) } else { None };
        let (n, found) = match lasting {
            Some(found) => found,
            None => self.period(at + lead, true)?,
        };
        let mut words = lead + n;
        if which == "from" {
            // "from March" alone may be an origin; "from March on" is a time.
            match self.word(at + words) {
                "on" | "onward" | "onwards" | "an" => words += 1,
                _ => return None,
            }
        } else if which == "since" && matches!(self.word(at + words), "on" | "onwards") {
            words += 1;
        }
        let Some(p) = found else { return Some(Err(words)) };
        let (from, until) = match which {
            "after" => (Some(p.until), None),
            "before" => (None, Some(p.from)),
            "until" => (None, Some(p.until)),
            _ => (Some(p.from), None),
        };
        let (precision, absolute) = (p.precision, p.absolute);
        Some(Ok(Mention { words, from, until, precision, absolute, written: false, hold: Hold::Limit, hours: None }))
    }

    /// `seit zwei Wochen`: from that long ago until now.
    fn lasting(&self, at: usize) -> Found {
        let (n, count, unit) = self.counted(at)?;
        (self.word(at + n) != "ago").then(|| (n, calendar::trailing(self.now, unit, count.1)))
    }

    /// Parses a period. `led`: a word before it shows that a period is meant.
    fn period(&self, at: usize, led: bool) -> Found {
        self.tokens.get(at)?;
        self.digits(at)
            .or_else(|| self.day_dot_month(at, led))
            .or_else(|| self.week_numbered(at))
            .or_else(|| self.to_come(at))
            .or_else(|| self.beside(at))
            .or_else(|| self.ago(at))
            .or_else(|| self.day_and_month(at, led))
            .or_else(|| self.third(at))
            .or_else(|| self.month(at, led))
            .or_else(|| self.quarter(at))
            .or_else(|| self.season(at, led))
            .or_else(|| self.relative(at))
            .or_else(|| self.weekday(at, led))
            .or_else(|| self.day_word(at))
            .or_else(|| self.weekend(at))
            .or_else(|| self.decade(at, led))
            .or_else(|| self.year(at, led))
            .or_else(|| self.day_of_month(at, led))
    }

    /// `2025-05-03`, `2025-05`, `2025/05/03`, `05/2025`, `3.5.2025`, `05/03/2025`.
    fn digits(&self, at: usize) -> Found {
        let raw = self.raw(at);
        let day = raw.split_once(['T', 't']).map_or(raw, |(day, _)| day);
        let numbers = |sign: char| -> Option<Vec<&str>> {
            let parts: Vec<&str> = day.split(sign).collect();
            let plain = |p: &&str| (1..=4).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit());
            (parts.len() > 1 && parts.iter().all(plain)).then_some(parts)
        };
        let of = |y: &str, m: &str, d: &str| -> Option<Period> {
            let date = Date::new(year_of(y)?, m.parse().ok()?, d.parse().ok()?).ok()?;
            calendar::one_day(date).map(Period::absolute)
        };
        for sign in ['-', '/', '.'] {
            let Some(parts) = numbers(sign) else { continue };
            let lengths: Vec<usize> = parts.iter().map(|p| p.len()).collect();
            let found = match (sign, &lengths[..], &parts[..]) {
                ('-' | '/', [4, 2, 2], [y, m, d]) => of(y, m, d).map(|p| Period { iso: sign == '-', ..p }),
                ('-', [4, 2], [y, m]) => {
                    // 1999-03 is a month, 2019-43 some other number.
                    let month: i8 = m.parse().ok()?;
                    let found = calendar::month(year_of(y)?, month)?;
                    Some(Period { iso: true, ..found })
                }
                ('/' | '.', [1 | 2, 4], [m, y]) => {
                    let (month, year) = (m.parse().ok()?, year_of(y)?);
                    Some(calendar::month(year, month)?)
                }
                ('.', [1 | 2, 1 | 2, 4], [d, m, y]) => of(y, m, d),
                // 05/03/2025 is in May or in March, depending on the country; a date with only one valid reading is
                // accepted.
                ('/', [1 | 2, 1 | 2, 4], [a, b, y]) => match (of(y, a, b), of(y, b, a)) {
                    (Some(one), Some(two)) if one != two => return None,
                    (one, two) => one.or(two),
                },
                _ => continue,
            };
            return Some((1, found));
        }
        None
    }

    /// `12.5.` where a date can stand; elsewhere it is a version.
    fn day_dot_month(&self, at: usize, led: bool) -> Found {
        let token = self.tokens.get(at)?;
        let (day, month) = token.raw.split_once('.')?;
        let number = |text: &str| (text.len() <= 2).then(|| text.parse::<i8>().ok()).flatten().filter(|n| *n > 0);
        let (day, month) = (number(day)?, number(month)?);
        let alone = token.tail.len() > 1 || at == 0;
        if month > 12 || !token.tail.starts_with('.') || !(led || alone) {
            return None;
        }
        Some((1, calendar::latest(self.today(), |year| Date::new(year, month, day).ok().and_then(calendar::one_day))))
            .map(|(n, found)| (n, found.map(Period::absolute)))
    }

    /// `week 19`, `KW 19`, `KW19`, `2026-W19`, `week 19 of 2026`.
    fn week_numbered(&self, at: usize) -> Found {
        let number = |text: &str| (text.len() <= 2).then(|| text.parse::<i8>().ok()).flatten();
        let number = |text: &str| number(text).filter(|week| (1..=53).contains(week));
        let joined = self.word(at).split_once("-w").and_then(|(year, week)| Some((year_of(year)?, number(week)?)));
        if let Some((year, week)) = joined {
            return Some((1, calendar::iso_week(year, week)));
        }
        let calendar_week = usize::from(self.word(at) == "calendar");
        let (n, week) = match self.word(at).strip_prefix("kw").and_then(number) {
            Some(week) => (1, week),
            None if words::week_numbered(self.word(at + calendar_week)) => {
                (calendar_week + 2, number(self.raw(at + calendar_week + 1))?)
            }
            None => return None,
        };
        Some(match self.year_behind(at + n) {
            Some((words, year)) => (n + words, calendar::iso_week(year, week)),
            None => (n, calendar::latest_iso_week(self.today(), week)),
        })
    }

    /// `next Tuesday`, `every Friday`: future or recurring, so nothing was said then.
    fn to_come(&self, at: usize) -> Found {
        if !words::not_past(self.word(at)) {
            return None;
        }
        let next = at + 1;
        let one = words::month(self.word(next)).is_some()
            || words::weekday(self.word(next)).is_some()
            || words::season(self.word(next)).is_some()
            || words::unit(self.word(next)).is_some();
        one.then_some((2, None))
    }

    /// `two weeks`, `a couple of months`.
    fn counted(&self, at: usize) -> Option<(usize, (f64, f64), Unit)> {
        let mut n = 0;
        let mut count = None;
        if matches!(self.word(at), "half" | "halben") {
            n += 1;
            count = Some((0.5, 0.5));
        }
        while let Some(found) = words::count(self.word(at + n)) {
            // "a couple", "a few", "einem halben".
            count = Some(if count == Some((0.5, 0.5)) { (0.5, 0.5) } else { found });
            n += 1;
            if matches!(self.word(at + n), "half" | "halben" | "halbes") {
                count = Some((0.5, 0.5));
                n += 1;
            }
            if n >= 3 {
                break;
            }
        }
        n += usize::from(n > 0 && self.word(at + n) == "of");
        let unit = words::unit(self.word(at + n))?;
        Some((n + 1, count?, unit))
    }

    /// `two weeks ago`, `vor einem Monat`, `half a year ago`.
    fn ago(&self, at: usize) -> Found {
        let before = match self.word(at) {
            "vor" | "hace" => 1,
            "il" if self.word(at + 1) == "y" && self.word(at + 2) == "a" => 3,
            _ => 0,
        };
        let (n, count, unit) = self.counted(at + before)?;
        let after = usize::from(before == 0 && matches!(self.word(at + n), "ago" | "back" | "earlier"));
        (before + after > 0).then(|| (before + n + after, calendar::ago(self.now, unit, count)))
    }

    /// `two weeks before 11 August`, `the Sunday before`, `zwei Tage nach dem 3. Mai`.
    fn beside(&self, at: usize) -> Found {
        let side = |at: usize| match self.word(at) {
            "before" | "vor" => Some(true),
            "after" | "nach" => Some(false),
            _ => None,
        };
        let weekday = words::weekday(self.word(at)).filter(|(_, short)| !short);
        let (n, count, unit) = match (weekday, words::unit(self.word(at))) {
            (Some(_), _) => (1, None, Unit::Day),
            (None, Some(unit)) => (1, None, unit),
            (None, None) => {
                let (n, count, unit) = self.counted(at)?;
                (n, Some(count), unit)
            }
        };
        let before = side(at + n)?;
        let next = at + n + 1;
        let next = next + self.article(next);
        let (m, found) = self.period(next, true)?;
        let words = next + m - at;
        let beside = |p: Period| {
            let base = if before { p.from } else { p.until };
            let found = match weekday {
                Some((day, _)) => calendar::weekday_beside(base.date(), day, before),
                None => calendar::beside(base, unit, count, before),
            }?;
            Some(Period { absolute: p.absolute, ..found })
        };
        Some((words, found.and_then(beside)))
    }

    /// `3 May 2025`, `3rd of May`, `3. Mai`, `May 3rd, 2025`. A day that does not exist is not a time.
    fn day_and_month(&self, at: usize, led: bool) -> Found {
        let ordinal = |at: usize| {
            let (day, row) = words::day(self.word(at))?;
            Some((day, row || self.tokens[at].tail.starts_with('.')))
        };
        let (mut n, day, row, month, name) = if let Some((day, row)) = ordinal(at) {
            let of = usize::from(words::is_of(self.word(at + 1)));
            let (month, odd) = words::month(self.word(at + 1 + of))?;
            (2 + of, day, row, month, (at + 1 + of, odd))
        } else {
            let (month, odd) = words::month(self.word(at))?;
            let the = self.article(at + 1);
            let (day, row) = ordinal(at + 1 + the)?;
            (2 + the, day, row, month, (at, odd))
        };
        let year = self.year_behind(at + n);
        // "may 3 people come": a month must be capitalised or stand where a date would.
        if name.1 && !(led || row || year.is_some() || self.tokens[name.0].capital()) {
            return None;
        }
        let of_year = |year: i16| Date::new(year, month, day).ok().and_then(calendar::one_day).map(Period::absolute);
        let found = match year {
            Some((words, year)) => {
                n += words;
                of_year(year)
            }
            None => calendar::latest(self.today(), of_year),
        };
        Some((n, found))
    }

    /// The year after a month: `2025`, `of 2025`, `last year`.
    fn year_behind(&self, at: usize) -> Option<(usize, i16)> {
        let of = usize::from(words::is_of(self.word(at)));
        if let Some(year) = year_of(self.raw(at + of)) {
            return Some((of + 1, year));
        }
        if words::unit(self.word(at + of + 1)) != Some(Unit::Year) {
            return None;
        }
        let back = match words::which(self.word(at + of))? {
            Which::This => 0,
            Which::Last => 1,
            Which::BeforeLast => 2,
            Which::Past => return None,
        };
        Some((of + 2, self.today().year() - back))
    }

    /// `early May`, `Ende 2024`, `mid-March`.
    fn third(&self, at: usize) -> Found {
        let (which, mut n) = match self.raw(at).split_once('-') {
            // "mid-March" was not split: the month is in the same token.
            Some(("mid" | "Mid", rest)) => {
                let (month, _) = words::month(&rest.to_lowercase())?;
                let (words, found) = self.of_month(at, month);
                return Some((words, found?.third(1)));
            }
            _ => (words::third(self.word(at))?, 1),
        };
        n += usize::from(words::is_of(self.word(at + n)));
        n += self.article(at + n);
        let (words, found) = self
            .month(at + n, true)
            .or_else(|| self.quarter(at + n))
            .or_else(|| self.season(at + n, true))
            .or_else(|| self.relative(at + n))
            .or_else(|| self.year(at + n, true))?;
        Some((n + words, found.and_then(|p| p.third(which))))
    }

    /// `May 2025`, `last May`, `in May`.
    fn month(&self, at: usize, led: bool) -> Found {
        if let Some(which) = words::which(self.word(at)) {
            let (month, _) = words::month(self.word(at + 1))?;
            let today = self.today();
            let year = match which {
                Which::This => today.year(),
                Which::BeforeLast => return None,
                _ => today.year() - i16::from(month >= today.month()),
            };
            let found = calendar::month(year, month).filter(|p| p.from <= self.now);
            return Some((2, found));
        }
        let (month, odd) = words::month(self.word(at))?;
        let (n, found) = self.of_month(at, month);
        if n > 1 {
            return Some((n, found));
        }
        // "in may" is a month, but "May" at the beginning of a sentence may not be; a short or ambiguous name must be
        // capitalised.
        (led && (!odd
            || self.word(at).len() > 3
            || self.tokens[at].capital()
            || matches!(self.word(at), "may" | "mai")))
        .then_some((1, found))
    }

    fn of_month(&self, at: usize, month: i8) -> (usize, Option<Period>) {
        match self.year_behind(at + 1) {
            Some((words, year)) => (1 + words, calendar::month(year, month)),
            None => (1, calendar::latest(self.today(), |year| calendar::month(year, month))),
        }
    }

    /// `Q3 2025`, `2025-Q3`, `third quarter of 2025`, `3. Quartal 2025`.
    fn quarter(&self, at: usize) -> Found {
        let number = |word: &str| -> Option<i8> {
            let digit = word.strip_prefix('q')?;
            (digit.len() == 1).then(|| digit.parse().ok()).flatten().filter(|n| (1..=4).contains(n))
        };
        let joined = self.raw(at).split_once(['-', '/']).and_then(|(a, b)| {
            let (a, b) = (a.to_lowercase(), b.to_lowercase());
            number(&a).zip(year_of(&b)).or_else(|| number(&b).zip(year_of(&a)))
        });
        if let Some((quarter, year)) = joined {
            return Some((1, calendar::quarter(year, quarter)));
        }
        if let (Some(year), Some(quarter)) = (year_of(self.raw(at)), number(self.word(at + 1))) {
            return Some((2, calendar::quarter(year, quarter)));
        }
        let (n, quarter) = match number(self.word(at)) {
            Some(quarter) => (1, quarter),
            None => {
                let (row, _) = words::day(self.word(at)).filter(|(n, _)| (1..=4).contains(n))?;
                let one = matches!(self.word(at + 1), "quarter" | "quartal");
                (one.then_some(2)?, row)
            }
        };
        match self.year_behind(at + n) {
            Some((words, year)) => Some((n + words, calendar::quarter(year, quarter))),
            None => Some((n, calendar::latest(self.today(), |year| calendar::quarter(year, quarter)))),
        }
    }

    /// `summer 2024`, `last summer`, `in the spring`.
    fn season(&self, at: usize, led: bool) -> Found {
        let which = words::which(self.word(at));
        let n = usize::from(which.is_some());
        let first = words::season(self.word(at + n))?;
        let current = calendar::latest(self.today(), |year| calendar::season(year, first));
        match which {
            Some(Which::Last | Which::Past) => {
                // In winter "last winter" is the one before; in spring it is the one that has just ended.
                let running = current.is_some_and(|p| p.until > self.now);
                let found = if running { current.and_then(|p| p.years_on(-1)) } else { current };
                Some((2, found))
            }
            Some(Which::This) => Some((2, current)),
            Some(Which::BeforeLast) => Some((2, None)),
            None => {
                if let Some((words, year)) = self.year_behind(at + 1) {
                    return Some((1 + words, calendar::season(year, first)));
                }
                // "in spring boot" is not a time, "in the spring" is.
                let the = at > 0 && (words::is_article(self.word(at - 1)) || matches!(self.word(at - 1), "im"));
                (led && the).then_some((1, current))
            }
        }
    }

    /// `last week`, `the past 3 days`, `the week before last`, `diese Woche`.
    fn relative(&self, at: usize) -> Found {
        if words::is_article(self.word(at)) && words::which(self.word(at + 1)).is_some() {
            // "the last week" is the last seven days; in German the article makes no difference.
            let trailing = self.word(at) == "the" && matches!(self.word(at + 1), "last" | "past");
            if trailing && let Some(unit) = words::unit(self.word(at + 2)) {
                return Some((3, calendar::trailing(self.now, unit, 1.0)));
            }
            return self.relative(at + 1).map(|(n, found)| (n + 1, found));
        }
        let article = usize::from(matches!(self.word(at), "la" | "le" | "el" | "l"));
        if let Some(unit) = words::unit(self.word(at + article))
            && words::last_behind(self.word(at + article + 1))
        {
            return Some((article + 2, calendar::calendar(self.now, unit, Which::Last)));
        }
        if let Some(unit) = words::unit(self.word(at))
            && self.word(at + 1) == "before"
            && self.word(at + 2) == "last"
        {
            return Some((3, calendar::calendar(self.now, unit, Which::BeforeLast)));
        }
        let which = words::which(self.word(at))?;
        if let Some((n, count, unit)) = self.counted(at + 1)
            && matches!(which, Which::Last | Which::Past)
        {
            return Some((1 + n, calendar::trailing(self.now, unit, count.1)));
        }
        if self.word(at) == "last" && self.word(at + 1) == "night"
            || self.word(at) == "letzte" && self.word(at + 1) == "nacht"
        {
            return Some((2, self.hours(1, "night")));
        }
        if which == Which::This && words::part_of_day(self.word(at + 1)).is_some() {
            return Some((2, self.hours(0, self.word(at + 1))));
        }
        let unit = words::unit(self.word(at + 1))?;
        // "this day" and "last hour" are not taken as times.
        if matches!(unit, Unit::Day | Unit::Minute | Unit::Hour) && which != Which::Past {
            return None;
        }
        Some((2, calendar::calendar(self.now, unit, which)))
    }

    /// `on Tuesday`, `last Tuesday`, `Tuesday last week`, `Monday morning`.
    fn weekday(&self, at: usize, led: bool) -> Found {
        let which = words::which(self.word(at));
        let n = usize::from(which.is_some());
        let (weekday, short) = words::weekday(self.word(at + n))?;
        if short && !led && which.is_none() {
            return None;
        }
        let mut n = n + 1;
        let today = self.today();
        let week = match (words::which(self.word(at + n)), words::unit(self.word(at + n + 1))) {
            (Some(Which::This), Some(Unit::Week)) => Some(0),
            (Some(Which::Last), Some(Unit::Week)) => Some(1),
            (Some(Which::BeforeLast), Some(Unit::Week)) => Some(2),
            _ => None,
        };
        let mut found = match (week, which) {
            (Some(weeks), _) => {
                n += 2;
                calendar::weekday_of_week(today, weekday, weeks)
            }
            (None, Some(Which::This)) => calendar::weekday_of_week(today, weekday, 0),
            (None, Some(Which::BeforeLast)) => return Some((n, None)),
            (None, _) => calendar::weekday(today, weekday, true),
        }
        .filter(|p| p.from.date() <= today)
        .map(Period::absolute);
        if words::part_of_day(self.word(at + n)).is_some() {
            found = found.and_then(|p| part(p, self.word(at + n)));
            n += 1;
        }
        Some((n, found))
    }

    /// `yesterday`, `gestern Abend`, `the day before yesterday`, `tonight`.
    fn day_word(&self, at: usize) -> Found {
        if self.word(at) == "day" && self.word(at + 1) == "before" && self.word(at + 2) == "yesterday" {
            return Some((3, calendar::back(self.today(), 2).and_then(calendar::one_day)));
        }
        match (self.word(at), self.word(at + 1)) {
            ("tonight", _) => return Some((1, self.hours(0, "night"))),
            ("anoche", _) => return Some((1, self.hours(1, "night"))),
            ("esta", "mañana") => return Some((2, self.hours(0, "morning"))),
            ("esta", "tarde") => return Some((2, self.hours(0, "afternoon"))),
            ("ce" | "cet" | "cette", part) if words::part_of_day(part).is_some() => {
                return Some((2, self.hours(0, part)));
            }
            ("avant-hier", _) => return Some((1, calendar::back(self.today(), 2).and_then(calendar::one_day))),
            ("hier", part) if words::part_of_day(part).is_some() && part != "früh" => {
                return Some((2, self.hours(1, part)));
            }
            ("hier", _) if self.french => {
                return Some((1, calendar::back(self.today(), 1).and_then(calendar::one_day)));
            }
            _ => {}
        }
        let days = words::day_word(self.word(at))?;
        let next = match self.word(at + 1) {
            // After a day `morgen` means morning, elsewhere tomorrow.
            "morgen" => "morning",
            other => other,
        };
        if words::part_of_day(next).is_some() {
            return Some((2, self.hours(days, next)));
        }
        Some((1, calendar::back(self.today(), days).and_then(calendar::one_day)))
    }

    /// Returns a part of the day `days` days ago; `None` if it is still to come.
    fn hours(&self, days: i64, name: &str) -> Option<Period> {
        let day = calendar::back(self.today(), days).and_then(calendar::one_day)?;
        part(day, name).filter(|p| p.from <= self.now)
    }

    /// `the weekend`, `am Wochenende`.
    fn weekend(&self, at: usize) -> Found {
        let n = self.article(at);
        let led = n > 0 || at > 0 && (words::is_article(self.word(at - 1)) || self.word(at - 1) == "am");
        (led && words::unit(self.word(at + n)) == Some(Unit::Weekend))
            .then(|| (n + 1, calendar::calendar(self.now, Unit::Weekend, Which::This)))
    }

    /// `the 2010s`, `den 90ern`.
    fn decade(&self, at: usize, led: bool) -> Found {
        let word = self.word(at);
        let digits = word.strip_suffix("ern").or_else(|| word.strip_suffix("er")).or_else(|| word.strip_suffix('s'))?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) || !digits.ends_with('0') {
            return None;
        }
        let year = match digits.len() {
            4 => year_of(digits)?,
            2 if led => {
                let of = self.today().year().div_euclid(100) * 100 + digits.parse::<i16>().ok()?;
                if of > self.today().year() { of - 100 } else { of }
            }
            _ => return None,
        };
        Some((1, calendar::years(year, 10, Precision::Decade)))
    }

    /// `in 2024`, `im Jahr 2024`.
    fn year(&self, at: usize, led: bool) -> Found {
        let n = usize::from(matches!(self.word(at), "jahr" | "jahre" | "year"));
        let year = year_of(self.raw(at + n))?;
        // A number alone is not a year, and neither is one in the future.
        let meant = (led || n > 0) && year <= self.today().year().saturating_add(1);
        meant.then(|| (n + 1, calendar::years(year, 1, Precision::Year)))
    }

    /// `on the 3rd`, `am 3.`, unless a noun follows.
    fn day_of_month(&self, at: usize, led: bool) -> Found {
        let token = self.tokens.get(at)?;
        let (day, row) = words::day(&token.word)?;
        let digits = token.word.starts_with(|c: char| c.is_ascii_digit());
        if !(led && digits && (row || token.tail.starts_with('.'))) {
            return None;
        }
        let alone = !token.tail.trim_start_matches('.').is_empty() || words::goes_on(self.word(at + 1));
        (alone && (1..=31).contains(&day)).then(|| (1, calendar::day_of_month(self.today(), day)))
    }
}

fn wish(words: usize, p: Period) -> Mention {
    let hold = if p.iso { Hold::Limit } else { Hold::Wish };
    Mention {
        words,
        from: Some(p.from),
        until: Some(p.until),
        precision: p.precision,
        absolute: p.absolute,
        written: p.iso,
        hold,
        hours: None,
    }
}

impl Mention {
    fn clock(words: usize, hours: Hours) -> Mention {
        let (absolute, written) = (false, false);
        let (precision, hold) = (Precision::Hour, Hold::Wish);
        Mention { words, from: None, until: None, precision, absolute, written, hold, hours: Some(hours) }
    }
}

/// Four digits in the range of plausible years.
fn year_of(text: &str) -> Option<i16> {
    let digits = text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().filter(|year| (1900..2200).contains(year))
}

/// Returns a part of a day as a period of hours.
fn part(day: Period, name: &str) -> Option<Period> {
    let (first, last) = words::part_of_day(name)?;
    let midnight = day.from.date().to_datetime(Time::midnight());
    let at = |hour: i64| midnight.checked_add(Span::new().try_hours(hour).ok()?).ok();
    let found = Period::between(at(first)?, at(last)?, Precision::Hour)?;
    Some(Period { absolute: day.absolute, ..found })
}

/// Chooses years for ends that do not give one, so that the two ends are as close as possible.
fn same_years(mut one: Period, mut two: Period) -> (Period, Period) {
    let moved = |p: Period, years: i64| p.years_on(years).unwrap_or(p);
    match (one.yearless, two.yearless) {
        (true, _) => {
            let years = i64::from(two.from.year() - one.from.year());
            one = moved(one, years);
            if one.from > two.from {
                one = moved(one, -1);
            }
        }
        (false, true) => {
            let years = i64::from(one.from.year() - two.from.year());
            two = moved(two, years);
            if two.from < one.from {
                two = moved(two, 1);
            }
        }
        (false, false) => {}
    }
    (one, two)
}

//! Words of times in English, German, French and Spanish, and names of months also in Italian, Portuguese and Dutch.

/// A unit of the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Weekend,
    Month,
    Quarter,
    Year,
    Decade,
}

/// A unit relative to now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    /// The current one.
    This,
    /// The one before.
    Last,
    /// The one two before.
    BeforeLast,
    /// The period of that length that ends now.
    Past,
}

/// A month by name, and whether the name is also an ordinary word or part of a person's name.
pub(super) fn month(word: &str) -> Option<(i8, bool)> {
    Some(match word {
        "january" | "januar" | "jänner" | "janvier" | "enero" | "gennaio" | "janeiro" | "januari" => (1, false),
        "february" | "februar" | "feber" | "février" | "fevrier" | "febrero" | "febbraio" | "fevereiro"
        | "februari" => (2, false),
        "märz" | "maerz" | "marzo" | "março" | "maart" => (3, false),
        "april" | "avril" | "abril" | "aprile" => (4, false),
        "mayo" | "maggio" | "maio" => (5, false),
        "june" | "juni" | "juin" | "junio" | "giugno" | "junho" => (6, false),
        "july" | "juli" | "juillet" | "julio" | "luglio" | "julho" => (7, false),
        "august" | "août" | "agosto" | "augustus" => (8, false),
        "september" | "sept" | "septembre" | "septiembre" | "settembre" | "setembro" => (9, false),
        "october" | "oktober" | "octobre" | "octubre" | "ottobre" | "outubro" => (10, false),
        "november" | "novembre" | "noviembre" | "novembro" => (11, false),
        "december" | "dezember" | "décembre" | "decembre" | "diciembre" | "dicembre" | "dezembro" => (12, false),
        "jan" => (1, true),
        "feb" => (2, true),
        "march" | "mar" | "mär" | "mrz" | "mars" => (3, true),
        "apr" => (4, true),
        "may" | "mai" | "mei" => (5, true),
        "jun" => (6, true),
        "jul" => (7, true),
        "aug" => (8, true),
        "sep" => (9, true),
        "oct" | "okt" => (10, true),
        "nov" => (11, true),
        "dec" | "dez" => (12, true),
        _ => return None,
    })
}

/// Returns a day of the week, Monday being 0, and whether the word is so short that it may be another word.
pub(super) fn weekday(word: &str) -> Option<(i8, bool)> {
    Some(match word {
        "monday" | "montag" | "lundi" | "lunes" => (0, false),
        "tuesday" | "dienstag" | "mardi" | "martes" => (1, false),
        "wednesday" | "mittwoch" | "mercredi" | "miércoles" => (2, false),
        "thursday" | "donnerstag" | "jeudi" | "jueves" => (3, false),
        "friday" | "freitag" | "vendredi" | "viernes" => (4, false),
        "saturday" | "samstag" | "sonnabend" | "samedi" | "sábado" => (5, false),
        "sunday" | "sonntag" | "dimanche" | "domingo" => (6, false),
        "mon" => (0, true),
        "tue" | "tues" => (1, true),
        "wed" => (2, true),
        "thu" | "thur" | "thurs" => (3, true),
        "fri" => (4, true),
        "sat" => (5, true),
        "sun" => (6, true),
        _ => return None,
    })
}

/// The first month of a season in the northern hemisphere.
pub(super) fn season(word: &str) -> Option<i8> {
    Some(match word {
        "spring" | "springtime" | "frühling" | "frühjahr" => 3,
        "summer" | "summertime" | "sommer" => 6,
        "autumn" | "fall" | "herbst" => 9,
        "winter" | "wintertime" => 12,
        _ => return None,
    })
}

pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "minute" | "minutes" | "min" | "mins" | "minuten" => Unit::Minute,
        "hour" | "hours" | "stunde" | "stunden" => Unit::Hour,
        "day" | "days" | "jour" | "jours" | "día" | "días" | "tag" | "tage" | "tagen" | "tages" => Unit::Day,
        "week" | "weeks" | "semaine" | "semaines" | "semana" | "semanas" | "woche" | "wochen" => Unit::Week,
        "weekend" | "weekends" | "wochenende" | "wochenenden" => Unit::Weekend,
        "month" | "months" | "mois" | "mes" | "meses" | "monat" | "monate" | "monaten" | "monats" => Unit::Month,
        "quarter" | "quarters" | "quartal" | "quartals" | "quartale" | "quartalen" => Unit::Quarter,
        "year" | "years" | "année" | "ans" | "año" | "años" | "jahr" | "jahre" | "jahren" | "jahres" => Unit::Year,
        "decade" | "decades" | "jahrzehnt" | "jahrzehnte" | "jahrzehnten" => Unit::Decade,
        _ => return None,
    })
}

pub(super) fn which(word: &str) -> Option<Which> {
    Some(match word {
        "this" | "diese" | "diesen" | "dieser" | "dieses" | "diesem" | "current" => Which::This,
        "last" | "previous" | "letzte" | "letzten" | "letzter" | "letztes" | "letztem" | "vorige" | "vorigen"
        | "voriger" | "voriges" => Which::Last,
        "vergangene" | "vergangenen" | "vergangener" | "vergangenes" => Which::Last,
        "vorletzte" | "vorletzten" | "vorletzter" | "vorletztes" => Which::BeforeLast,
        "past" => Which::Past,
        _ => return None,
    })
}

/// Whether a word makes a time future or recurring, so that nothing was said then.
pub(super) fn not_past(word: &str) -> bool {
    matches!(
        word,
        "next"
            | "coming"
            | "upcoming"
            | "every"
            | "each"
            | "nächste"
            | "nächsten"
            | "nächster"
            | "nächstes"
            | "nächstem"
            | "kommende"
            | "kommenden"
            | "kommender"
            | "kommendes"
            | "jede"
            | "jeden"
            | "jeder"
            | "jedes"
    )
}

/// Returns a number as its least and greatest meaning, because "a few" is not exact.
pub(super) fn count(word: &str) -> Option<(f64, f64)> {
    let exact = |n: f64| Some((n, n));
    if let Ok(n) = word.parse::<u16>() {
        return (word.len() <= 3 && n > 0).then_some((n.into(), n.into()));
    }
    match word {
        "a" | "an" | "one" | "ein" | "eine" | "einem" | "einer" | "einen" => exact(1.0),
        "two" | "zwei" | "deux" | "dos" => exact(2.0),
        "three" | "drei" | "trois" | "tres" => exact(3.0),
        "four" | "vier" | "quatre" | "cuatro" => exact(4.0),
        "five" | "fünf" => exact(5.0),
        "six" | "sechs" => exact(6.0),
        "seven" | "sieben" => exact(7.0),
        "eight" | "acht" => exact(8.0),
        "nine" | "neun" => exact(9.0),
        "ten" | "zehn" => exact(10.0),
        "eleven" | "elf" => exact(11.0),
        "twelve" | "zwölf" => exact(12.0),
        "couple" => Some((2.0, 3.0)),
        "few" | "paar" => Some((3.0, 5.0)),
        "several" | "some" | "einige" | "einigen" | "mehreren" | "mehrere" => Some((3.0, 8.0)),
        _ => None,
    }
}

/// Returns a day of a month: `3`, `3rd`, `third`; `true` for an ordinal.
pub(super) fn day(word: &str) -> Option<(i8, bool)> {
    let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    if (1..=2).contains(&digits) {
        let n: i8 = word[..digits].parse().ok()?;
        return match &word[digits..] {
            "" => Some((n, false)),
            "st" | "nd" | "rd" | "th" | "ten" | "ter" | "er" => Some((n, true)),
            _ => None,
        };
    }
    let n = match word {
        "first" | "ersten" | "erster" => 1,
        "second" | "zweiten" => 2,
        "third" | "dritten" => 3,
        "fourth" | "vierten" => 4,
        "fifth" | "fünften" => 5,
        "sixth" | "sechsten" => 6,
        "seventh" | "siebten" => 7,
        "eighth" | "achten" => 8,
        "ninth" | "neunten" => 9,
        "tenth" | "zehnten" => 10,
        "eleventh" | "elften" => 11,
        "twelfth" | "zwölften" => 12,
        _ => return None,
    };
    Some((n, true))
}

/// Returns the hours of a part of the day; an hour above 24 is on the next day.
pub(super) fn part_of_day(word: &str) -> Option<(i64, i64)> {
    Some(match word {
        "morning" | "früh" | "vormittag" | "matin" => (4, 12),
        "noon" | "lunchtime" | "mittag" => (11, 14),
        "afternoon" | "nachmittag" | "après-midi" => (12, 18),
        "evening" | "abend" | "soir" => (17, 24),
        "night" | "nacht" | "nuit" => (18, 30),
        _ => return None,
    })
}

/// Returns the hours of a part of the day that is a single word and needs no word before it.
pub(super) fn part_as_adverb(word: &str) -> Option<(i64, i64)> {
    Some(match word {
        "morgens" | "vormittags" | "frühmorgens" => (4, 12),
        "mittags" => (11, 14),
        "nachmittags" => (12, 18),
        "abends" => (17, 24),
        "spätabends" => (21, 26),
        "nachts" => (21, 30),
        _ => return None,
    })
}

/// Returns 0 for `early` and 2 for `late`.
pub(super) fn early_or_late(word: &str) -> Option<i64> {
    Some(match word {
        "early" | "früh" | "frühen" | "früher" => 0,
        "late" | "later" | "spät" | "späten" | "später" => 2,
        _ => return None,
    })
}

/// Returns how many days ago the word means.
pub(super) fn day_word(word: &str) -> Option<i64> {
    Some(match word {
        "today" | "heute" | "aujourd'hui" | "aujourd’hui" | "hoy" => 0,
        "yesterday" | "gestern" | "ayer" => 1,
        "vorgestern" | "anteayer" => 2,
        _ => return None,
    })
}

/// Whether the word after a unit means the last one: `dernière`, `pasada`.
pub(super) fn last_behind(word: &str) -> bool {
    matches!(word, "dernier" | "dernière" | "passé" | "passée" | "pasado" | "pasada")
}

/// Whether the word can precede the number of a week.
pub(super) fn week_numbered(word: &str) -> bool {
    matches!(word, "week" | "kw" | "cw" | "kalenderwoche" | "woche" | "semaine" | "semana")
}

/// Returns which third of a period the word means: `early`, `mid`, `late`.
pub(super) fn third(word: &str) -> Option<i64> {
    Some(match word {
        "early" | "beginning" | "start" | "anfang" => 0,
        "mid" | "middle" | "mitte" => 1,
        "late" | "end" | "ende" => 2,
        _ => return None,
    })
}

pub(super) fn is_article(word: &str) -> bool {
    matches!(word, "the" | "der" | "die" | "das" | "dem" | "den" | "des" | "zum" | "zur")
}

/// Whether the word introduces a time.
pub(super) fn leads(word: &str) -> bool {
    matches!(
        word,
        "in" | "on" | "during" | "at" | "over" | "of" | "within" | "im" | "am" | "vom" | "während" | "en" | "el" | "le"
    )
}

pub(super) fn is_of(word: &str) -> bool {
    matches!(word, "of" | "in" | "de" | "del" | "do" | "des" | "im" | "jahr" | "jahres" | "year")
}

/// Whether a word may follow "on the 3rd" if a day is meant, and not the third of something.
pub(super) fn goes_on(word: &str) -> bool {
    const WORDS: &str = "at in about with did we i you he she they it was were and for when on what which who how why \
        around between late early from by to until \
        habe haben wir ich war um gegen zwischen spät früh ab bis hatte hatten was wer wie warum vers à il je nous a las";
    word.is_empty() || WORDS.split(' ').any(|w| w == word)
}

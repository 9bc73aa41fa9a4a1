//! Finds the date and the person of a promise.

use crate::text::patterns::words;
use crate::text::plain::lower;
use crate::text::words::{Marks, Word, split};

/// Words that may come before a date and belong to it.
const BEFORE: &str = "by until till before on at in within after no later than next this the coming end of bis vor am im \
    nach spätestens zum nächste nächsten nächster ende avant d'ici le la pour dans d'ici prochain prochaine fin antes de \
    para el la en hasta próximo próxima entro per il a la domani prossimo em até na no próxima voor op tegen volgende";

/// Names of days, months and times of day.
const DATES: &str = "today tonight tomorrow noon midnight morning afternoon evening weekend week month quarter year \
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun january february march april \
    may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec eod eow \
    heute morgen übermorgen montag dienstag mittwoch donnerstag freitag samstag sonntag woche monat januar februar märz \
    mai juni juli oktober dezember aujourd'hui demain lundi mardi mercredi jeudi vendredi samedi dimanche semaine mois \
    janvier février mars avril juin juillet août septembre octobre novembre décembre hoy mañana lunes martes miércoles \
    jueves viernes sábado domingo semana mes enero febrero marzo abril mayo junio julio agosto septiembre octubre \
    noviembre diciembre oggi domani lunedì martedì mercoledì giovedì venerdì sabato domenica amanhã segunda terça quarta \
    quinta sexta vandaag morgen maandag dinsdag woensdag donderdag vrijdag zaterdag zondag dnes zítra pondělí úterý \
    středa čtvrtek pátek сегодня завтра понедельник вторник среду четверг пятницу субботу bugün yarın pazartesi salı \
    çarşamba perşembe cuma";

/// Words that may be inside a date.
const WITHIN: &str = "of the de du des del di and o'clock am pm uhr";

/// Names of months and days that are other words too: they count only beside a number or a word of [`DATING`].
const DOUBTFUL: &str = "may mars mar sun sat mon march segunda terça quarta quinta sexta mai a";

/// Spans of time: they count only after a word such as "this" or "by".
const SPANS: &str = "week month quarter year morning afternoon evening weekend woche monat semaine mois semana mes";

/// Words that make a doubtful word after them a date.
const DATING: &str = "by until till in on next of bis im en em";

/// Words that, followed by "the", make an ordinal number a date: "on the 25th".
const FIXING: &str = "on by until till before after";

/// Dates in scripts without blanks.
const EAST: [&str; 16] = [
    "今天", "明天", "后天", "後天", "今晚", "下周", "下週", "周五", "週五", "月底", "今日", "明日", "来週", "週末",
    "月末", "今週",
];

/// Returns the words of a date or deadline: "by Friday, 27 November".
pub fn due(text: &str) -> Option<String> {
    let low = lower(text);
    if low.len() != text.len() {
        return None;
    }
    let all = split(&low, Marks::Dropped);
    let named = |w: &Word| words!(DATES).has_hash(w.hash);
    let number = |w: &Word| is_number(&low[w.start..w.end]);
    for at in 0..all.len() {
        let word = &low[all[at].start..all[at].end];
        let is_the_25th = is_ordinal(word) && at > 1 && words!(FIXING).has_hash(all[at - 2].hash);
        let (date, whole) = (named(&all[at]), is_date(word) || is_the_25th);
        if !date && !whole || all[at].quoted {
            continue;
        }
        let mut from = at;
        while from > 0 && (words!(BEFORE).has_hash(all[from - 1].hash) || number(&all[from - 1])) {
            from -= 1;
        }
        let mut to = at + 1;
        while let Some(next) = all.get(to) {
            let goes_on = named(next) || number(next) || is_date(&low[next.start..next.end]);
            let joins = words!(WITHIN).has_hash(next.hash) && all.get(to + 1).is_some_and(|w| named(w) || number(w));
            if !goes_on && !joins {
                break;
            }
            to += 1;
        }
        let lone = to == at + 1 && !all[from..at].iter().any(number);
        let dated = all[from..at].iter().any(|w| words!(DATING).has_hash(w.hash));
        let doubtful = words!(DOUBTFUL).has_hash(all[at].hash) && lone && !dated
            || words!(SPANS).has_hash(all[at].hash) && from == at && lone;
        if !doubtful {
            return Some(text[all[from].start..all[to - 1].end].to_owned());
        }
    }
    EAST.iter().find(|date| text.contains(**date)).map(|date| (*date).to_owned())
}

/// Whether a word is a full date: `2026-11-27`, `27.11.2026`.
fn is_date(word: &str) -> bool {
    let parts: Vec<&str> = word.split(['-', '.', '/']).filter(|p| !p.is_empty()).collect();
    let digits = |p: &&str| p.len() <= 4 && p.bytes().all(|b| b.is_ascii_digit());
    let month = |p: &str| p.parse::<u8>().is_ok_and(|n| (1..=31).contains(&n));
    parts.len() == 3 && parts.iter().all(digits) && word.len() >= 8 && month(parts[1])
}

/// Whether a word is a day's ordinal number: `25th`.
fn is_ordinal(word: &str) -> bool {
    let day = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
    day.and_then(|day| day.parse::<u8>().ok()).is_some_and(|day| (1..=31).contains(&day))
}

fn is_number(word: &str) -> bool {
    let bare = word.trim_end_matches(|c: char| c.is_alphabetic());
    word.len() <= 5 && !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit() || b == b':')
}

/// Returns the person to whom something was promised: a name after a verb of giving or after "to".
pub fn to(text: &str) -> Option<String> {
    let low = lower(text);
    if low.len() != text.len() {
        return None;
    }
    let all = split(&low, Marks::Dropped);
    let raw = |w: &Word| &text[w.start..w.end];
    let name = |w: &Word| {
        let word = raw(w);
        !w.quoted
            && word.chars().next().is_some_and(char::is_uppercase)
            && word.chars().skip(1).all(|c| c.is_lowercase() || c == '-')
            && word.chars().count() > 1
            && !words!(DATES).has_hash(w.hash)
            && !words!("i i'll we").has_hash(w.hash)
    };
    let gives = words!(
        "promised promise tell told send sent give owe owed show ask remind email write call to for with versprochen \
        schicke sende schicken senden sage gebe schreibe für an promis envoie envoyer dis à pour prometí envío enviar digo para"
    );
    let pairs = all.windows(2).find(|pair| gives.has_hash(pair[0].hash) && name(&pair[1]));
    pairs.map(|pair| raw(&pair[1]).to_owned())
}

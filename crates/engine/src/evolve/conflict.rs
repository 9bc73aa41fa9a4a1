//! Tells whether a newer statement of a person ends an older one, or is about another thing of its kind. Pure.

use std::collections::BTreeSet;

use super::candidate::{bag, stems};
use super::reader::Finding;
use super::{grammar, stated};
use crate::review::contradiction::Statement;
use crate::text::patterns::words;
use crate::text::plain::lower;

/// Whether a newer statement cannot hold beside an older one: both have the same subject and another value of the same
/// shape; or the newer one says itself that the older value no longer holds; or memories of these texts would
/// contradict each other.
pub(super) fn contradicts(newer: &Finding, older: &Finding) -> bool {
    if newer.value == older.value {
        return false;
    }
    let (new, old) = (bag(&newer.subject), bag(&older.subject));
    if new == old && (newer.changed || same_shape(&newer.value, &older.value)) {
        return true;
    }
    if are_two_things(&newer.subject, &older.subject, &[&newer.value, &older.value]) {
        return false;
    }
    let elsewhere = are_two_places(&newer.subject, &older.subject);
    // "The tablet gateway moved from port 7443 to 7543", "we replaced RabbitMQ with NATS".
    let former = stated::former_values(&newer.sentence);
    let (shared, values) = (new.intersection(&old).count(), bag(&older.value));
    let names = |v: &String| !v.starts_with(|c: char| c.is_ascii_digit());
    let said = bag(&older.sentence);
    let leads = bag(older.sentence.split(' ').next().unwrap_or_default());
    let drops = |v: &String| {
        values.contains(v) && (shared > 0 && !elsewhere || names(v))
            || names(v) && said.contains(v) && !leads.contains(v)
    };
    if newer.changed && former.iter().map(|v| grammar::singular(v)).any(|v| drops(&v)) {
        return true;
    }
    if newer.changed
        && (is_other_version(newer, older) || names_measure_before(newer, older) || changes_measure(newer, older))
    {
        return true;
    }
    // "The routing cache TTL is 45 minutes now" after "the TTL of the routing cache for tours is 15 minutes".
    let (new, old) = (stems(&new), stems(&old));
    let (shared, least) = (new.intersection(&old).count(), new.len().min(old.len()));
    let part = shared >= 2 && 3 * shared >= 2 * least || shared == 1 && least == 1 && new.len().max(old.len()) <= 2;
    if newer.changed && part && !elsewhere && alike(&newer.value, &older.value) {
        return true;
    }
    let said = Statement::of(&newer.sentence).zip(Statement::of(&older.sentence));
    said.is_some_and(|(newer, older)| newer.contradicts(&older))
}

/// Verbs that say that something changes, and name no thing.
const CHANGES: &str = "moved switched migrated renamed replaced upgraded swapped changed bumped raised lowered increased \
     decreased reduced extended shortened pinned downgraded doubled halved";

/// Whether two subjects are two things of one kind: "session limit" and "login limit", "port of the photo service" and
/// "courier service port". Before a word that both share, each has one that the other lacks. `values`: what is said of
/// them, which tells nothing about the kind.
pub(super) fn are_two_things(a: &str, b: &str, values: &[&str]) -> bool {
    let (named, values) = (bag(&format!("{a} {b}")), bag(&values.join(" ")));
    let verbs = words!(CHANGES);
    let words = |subject: &str| -> Vec<String> {
        let all = subject.split_whitespace().filter(|w| !verbs.has(w)).map(grammar::singular);
        all.filter(|w| named.contains(w) && !values.contains(w)).collect()
    };
    let (a, b) = (words(a), words(b));
    let before = |of: &[String], other: &[String], shared: &str| {
        of.windows(2).any(|pair| pair[1] == shared && !other.contains(&pair[0]))
    };
    a.iter().filter(|w| b.contains(w)).any(|shared| before(&a, &b, shared) && before(&b, &a, shared))
}

/// Whether one of two subjects names a place to run in that the other does not: what is so in production says nothing
/// about staging.
fn are_two_places(a: &str, b: &str) -> bool {
    let places = words!("staging production prod preprod uat sandbox");
    let of = |subject: &str| -> BTreeSet<String> {
        let all = subject.split_whitespace().filter(|w| places.has(w));
        all.map(|w| if w == "prod" { "production".to_owned() } else { w.to_owned() }).collect()
    };
    of(a) != of(b)
}

/// Returns the word before a number in a sentence: "R" in "we've upgraded to R 4.5".
fn before<'t>(sentence: &'t str, number: &str) -> Option<&'t str> {
    let mark = |c: char| !c.is_alphanumeric();
    let words: Vec<&str> = sentence.split_whitespace().map(|w| w.trim_matches(mark)).collect();
    let at = words.iter().position(|w| lower(w) == number)?;
    words.get(at.checked_sub(1)?).copied()
}

/// Whether two statements give the version of the same product: "R 4.4" and "R 4.5".
fn is_other_version(newer: &Finding, older: &Finding) -> bool {
    // "EPSG:25832" and "EPSG:4647".
    let labelled = |v: &'_ str| v.split_once(':').map(|(name, no)| (name.to_owned(), no.parse::<u64>().is_ok()));
    if labelled(&newer.value).is_some_and(|l| l.1 && Some(l) == labelled(&older.value)) {
        return true;
    }
    let number = |v: &str| !v.contains([' ', '/']) && v.starts_with(|c: char| c.is_ascii_digit());
    if !number(&newer.value) || !number(&older.value) {
        return false;
    }
    let product = before(&newer.sentence, &newer.value).filter(|p| p.starts_with(char::is_uppercase));
    product.is_some() && product == before(&older.sentence, &older.value)
}

/// Smallest number that is rare enough to tell, with its unit, which statement is meant.
const RARE: u32 = 10;

/// Whether a statement names the measure that an older one gives as the one that held before: "went down from 36 to 24
/// hours" after "jobs may run at most 36 hours".
fn names_measure_before(newer: &Finding, older: &Finding) -> bool {
    let rare = |v: &&String| v.parse::<u32>().is_ok_and(|n| n >= RARE);
    let former = stated::former_values(&newer.sentence);
    let Some(old) = former.iter().find(rare).filter(|v| older.value.split(' ').any(|o| o == v.as_str())) else {
        return false;
    };
    let unit = unit_of(&older.sentence, old);
    let new = newer.value.split(' ').find_map(|v| unit_of(&newer.sentence, v)).or(unit_of(&newer.sentence, old));
    unit.is_some() && unit == new
}

/// Whether a statement changes the measure that an older one gives of something of the same name: "we raised the
/// rush surcharge to 50 %" after "rush jobs cost 40 % extra".
fn changes_measure(newer: &Finding, older: &Finding) -> bool {
    let verbs = words!(
        "raised lowered increased decreased reduced bumped extended shortened doubled halved erhöht gesenkt verlängert verkürzt"
    );
    let said = |w: &str| verbs.has(&lower(w.trim_matches(|c: char| !c.is_alphanumeric())));
    let first = |subject: &str| subject.split(' ').find(|w| !verbs.has(w)).map(grammar::singular);
    let unit = unit_of(&newer.sentence, &newer.value);
    // The name of a measure is that of no thing: "the TTL of …".
    let measure =
        words!("ttl limit timeout size number count length rate retention window max maximum min minimum cap");
    // "Regular appointments are 25 minutes now" after "appointments are 20 min long".
    let things = bag(&newer.subject);
    let last = newer.subject.split(' ').rev().map(grammar::singular).find(|w| things.contains(w));
    if unit.is_some()
        && unit == unit_of(&older.sentence, &older.value)
        && last.is_some_and(|w| !measure.has(&w) && Some(w) == first(&older.subject))
    {
        return true;
    }
    newer.sentence.split_whitespace().any(said)
        && first(&newer.subject).is_some_and(|w| !measure.has(&w))
        && first(&newer.subject) == first(&older.subject)
        && unit.is_some()
        && unit == unit_of(&older.sentence, &older.value)
}

/// Returns the unit behind a number, in one form for both languages.
fn unit_of(sentence: &str, number: &str) -> Option<&'static str> {
    const UNITS: [(&str, &str); 11] = [
        ("second", "second seconds sec secs sekunde sekunden"),
        ("minute", "minute minutes min mins minuten"),
        ("hour", "hour hours h stunde stunden"),
        ("day", "day days tag tage tagen"),
        ("week", "week weeks woche wochen"),
        ("month", "month months monat monate monaten"),
        ("year", "year years jahr jahre jahren"),
        ("percent", "% percent prozent"),
        ("gb", "gb gib"),
        ("mb", "mb mib"),
        ("euro", "euro euros eur €"),
    ];
    let mark = |c: char| !c.is_alphanumeric() && !matches!(c, '%' | '€');
    let words: Vec<String> = sentence.split_whitespace().map(|w| lower(w.trim_matches(mark))).collect();
    let at = words.iter().position(|w| w == number)?;
    let unit = words.get(at + 1)?;
    UNITS.iter().find(|(_, forms)| forms.split(' ').any(|f| f == unit)).map(|(name, _)| *name)
}

/// Whether two values are both numbers, both paths, or both names.
fn alike(a: &str, b: &str) -> bool {
    let shape = |v: &str| match v {
        v if v.contains('/') => 'p',
        v if v.starts_with(|c: char| c.is_ascii_digit()) => 'n',
        "" => '-',
        _ => 'w',
    };
    shape(a) == shape(b)
}

/// Whether two values are both numbers. Two names may both hold.
fn same_shape(a: &str, b: &str) -> bool {
    let number = |v: &str| !v.contains(' ') && v.starts_with(|c: char| c.is_ascii_digit());
    number(a) && number(b)
}

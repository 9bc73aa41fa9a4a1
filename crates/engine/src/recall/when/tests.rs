//! Times as people express them, in a table: the words, and the expected result.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::clock::parse_rfc3339;

fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

/// Formats a time in its zone: the date, with the hour if it is not midnight.
fn shown(at: Option<Millis>) -> String {
    let Some(at) = at else { return "…".into() };
    let at = Timestamp::from_millisecond(at).unwrap().to_zoned(berlin());
    at.strftime(if at.hour() + at.minute() == 0 { "%Y-%m-%d" } else { "%Y-%m-%dT%H:%M" }).to_string()
}

/// Returns the times in a text on Sunday, 22 November 2026, at ten in Berlin: `[words] from/until precision`, `!` for
/// limits.
fn read(text: &str) -> String {
    let now = parse_rfc3339("2026-11-22T09:00:00Z").unwrap();
    let one = |w: When| {
        let hold = if w.hold == Hold::Limit { "!" } else { "" };
        if let Some(clock) = &w.clock {
            return format!("[{}] {}", &text[w.span.clone()], clock.shown());
        }
        format!("[{}] {}/{} {}{hold}", &text[w.span.clone()], shown(w.from), shown(w.until), w.precision.name())
    };
    find(text, now, &berlin()).into_iter().map(one).collect::<Vec<_>>().join(", ")
}

fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(text, want)| read(text) != *want)
        .map(|(text, want)| format!("{text:?}\n   is {}\n want {want}", read(text)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn days() {
    check(&[
        ("what broke yesterday?", "[yesterday] 2026-11-21/2026-11-22 day"),
        ("the day before yesterday", "[day before yesterday] 2026-11-20/2026-11-21 day"),
        ("today", "[today] 2026-11-22/2026-11-23 day"),
        ("this morning", "[this morning] 2026-11-22T04:00/2026-11-22T12:00 hour"),
        ("this evening", ""),
        ("last night", "[last night] 2026-11-21T18:00/2026-11-22T06:00 hour"),
        ("yesterday afternoon", "[yesterday afternoon] 2026-11-21T12:00/2026-11-21T18:00 hour"),
        ("yesterday's standup", "[yesterday's] 2026-11-21/2026-11-22 day"),
        ("last Tuesday", "[last Tuesday] 2026-11-17/2026-11-18 day"),
        ("on Tuesday", "[on Tuesday] 2026-11-17/2026-11-18 day"),
        ("on sunday", "[on sunday] 2026-11-15/2026-11-16 day"),
        ("Friday", "[Friday] 2026-11-20/2026-11-21 day"),
        ("this Wednesday", "[this Wednesday] 2026-11-18/2026-11-19 day"),
        ("Tuesday last week", "[Tuesday last week] 2026-11-10/2026-11-11 day"),
        ("on Monday morning", "[on Monday morning] 2026-11-16T04:00/2026-11-16T12:00 hour"),
        ("May 3rd", "[May 3rd] 2026-05-03/2026-05-04 day"),
        ("May 3, 2025", "[May 3, 2025] 2025-05-03/2025-05-04 day"),
        ("3 May 2025", "[3 May 2025] 2025-05-03/2025-05-04 day"),
        ("the 3rd of May", "[3rd of May] 2026-05-03/2026-05-04 day"),
        ("on December 24", "[on December 24] 2025-12-24/2025-12-25 day"),
        ("2025-05-03", "[2025-05-03] 2025-05-03/2025-05-04 day!"),
        ("at 2025-05-03T10:00:00Z", "[at 2025-05-03T10:00:00Z] 2025-05-03/2025-05-04 day!"),
        ("2025/05/03", "[2025/05/03] 2025-05-03/2025-05-04 day"),
        ("3.5.2025", "[3.5.2025] 2025-05-03/2025-05-04 day"),
        ("05/23/2025", "[05/23/2025] 2025-05-23/2025-05-24 day"),
        ("what we said on the 3rd", "[on the 3rd] 2026-11-03/2026-11-04 day"),
        ("on the 31st, about redis", "[on the 31st] 2026-10-31/2026-11-01 day"),
        ("29 February", "[29 February] 2024-02-29/2024-03-01 day"),
        ("3 mai 2025", "[3 mai 2025] 2025-05-03/2025-05-04 day"),
        ("el 3 de mayo de 2025", "[el 3 de mayo de 2025] 2025-05-03/2025-05-04 day"),
    ]);
}

#[test]
fn days_in_short() {
    check(&[
        ("am 12.5. war das", "[am 12.5] 2026-05-12/2026-05-13 day"),
        ("seit 12.5.", "[seit 12.5] 2026-05-12/… day!"),
        ("version 12.5.", ""),
        ("12 May", "[12 May] 2026-05-12/2026-05-13 day"),
        ("what did we do on the 12th?", "[on the 12th] 2026-11-12/2026-11-13 day"),
        ("the state of the 12th, please", "[of the 12th] 2026-11-12/2026-11-13 day"),
        ("the 12th was long", "[the 12th] 2026-11-12/2026-11-13 day"),
        ("the 12th attempt", ""),
        ("vom 3. bis 5. Mai", "[vom 3. bis 5. Mai] 2026-05-03/2026-05-06 day!"),
        ("from the 3rd to the 5th of May", "[from the 3rd to the 5th of May] 2026-05-03/2026-05-06 day!"),
        ("between 3 and 5 May 2025", "[between 3 and 5 May 2025] 2025-05-03/2025-05-06 day!"),
        ("May 3–5", "[May 3–5] 2026-05-03/2026-05-06 day!"),
        ("12.5. bis 14.5. war Urlaub", "[12.5. bis 14.5] 2026-05-12/2026-05-15 day!"),
        ("in week 19", "[in week 19] 2026-05-04/2026-05-11 week"),
        ("in KW 19", "[in KW 19] 2026-05-04/2026-05-11 week"),
        ("KW19", "[KW19] 2026-05-04/2026-05-11 week"),
        ("week 50", "[week 50] 2025-12-08/2025-12-15 week"),
        ("week 19 of 2025", "[week 19 of 2025] 2025-05-05/2025-05-12 week"),
        ("2025-W19", "[2025-W19] 2025-05-05/2025-05-12 week"),
        ("week 60", ""),
        ("a week of work", ""),
        ("heute früh", "[heute früh] 2026-11-22T04:00/2026-11-22T12:00 hour"),
        ("vorgestern abend", "[vorgestern abend] 2026-11-20T17:00/2026-11-21 hour"),
        ("hier soir", "[hier soir] 2026-11-21T17:00/2026-11-22 hour"),
        ("ce matin", "[ce matin] 2026-11-22T04:00/2026-11-22T12:00 hour"),
        ("qu'est-ce que nous avons dit hier sur la base", "[hier] 2026-11-21/2026-11-22 day"),
        ("was steht hier im Text", ""),
        ("la semaine dernière", "[la semaine dernière] 2026-11-09/2026-11-16 week"),
        ("il y a deux semaines", "[il y a deux semaines] 2026-11-05/2026-11-12 week"),
        ("la semana pasada", "[la semana pasada] 2026-11-09/2026-11-16 week"),
        ("ayer por la tarde", "[ayer] 2026-11-21/2026-11-22 day"),
        ("el lunes", "[el lunes] 2026-11-16/2026-11-17 day"),
        ("anoche", "[anoche] 2026-11-21T18:00/2026-11-22T06:00 hour"),
    ]);
}

#[test]
fn times_of_the_day() {
    check(&[
        ("what did we do around 21:04?", "[around 21:04] 20:44 to 21:23"),
        ("at 21:04", "[at 21:04] 20:59 to 21:08"),
        ("21:04", "[21:04] 20:59 to 21:08"),
        ("at 9 pm", "[at 9 pm] 20:55 to 21:59"),
        ("9pm", "[9pm] 20:55 to 21:59"),
        ("9:30 a.m.", "[9:30 a.m] 09:25 to 09:34"),
        ("at half past nine", "[at half past nine] 09:25 to 09:34"),
        ("quarter to 10", "[quarter to 10] 09:40 to 09:49"),
        ("gegen halb zehn", "[gegen halb zehn] 09:10 to 09:49"),
        ("um 21 Uhr", "[um 21 Uhr] 20:55 to 21:59"),
        ("um 9 Uhr 30", "[um 9 Uhr 30] 09:25 to 09:34"),
        ("vers 21h04", "[vers 21h04] 20:44 to 21:23"),
        ("between 9:00 and 10:30", "[between 9:00 and 10:30] 09:00 to 10:30"),
        ("what did I say between 9 and 10?", "[between 9 and 10] 09:00 to 10:00"),
        ("between 9 and 10 pm", "[between 9 and 10 pm] 21:00 to 22:00"),
        ("zwischen 9 und 10 Uhr", "[zwischen 9 und 10 Uhr] 09:00 to 10:00"),
        ("21:04-21:30", "[21:04-21:30] 21:04 to 21:30"),
        ("from 22:00 to 2:00", "[from 22:00 to 2:00] 22:00 to 02:00"),
        ("after 9 pm", "[after 9 pm] 21:00 to 23:59"),
        ("in the evening", "[in the evening] 17:00 to 23:59"),
        ("late at night", "[late at night] 00:00 to 05:59"),
        ("spät am Abend", "[spät am Abend] 20:30 to 23:59"),
        ("what broke at midnight", "[at midnight] 00:00 to 00:04"),
        ("around 3 people", ""),
        ("at 9 places", ""),
        ("between 3 and 5 retries", ""),
        ("16:9 or 4:3", ""),
        ("error 25:61", ""),
        ("src/a.rs:12:15", ""),
        ("the night build", ""),
        ("a 24h limit", ""),
    ]);
}

#[test]
fn a_time_of_the_day_belongs_to_the_day_beside_it() {
    check(&[
        (
            "around 21:04 on the 12th",
            "[around 21:04] 2026-11-12T20:44/2026-11-12T21:24 hour, [on the 12th] 2026-11-12/2026-11-13 day",
        ),
        (
            "late in the evening of the 12th",
            "[late in the evening] 2026-11-12T20:30/2026-11-13 hour, [of the 12th] 2026-11-12/2026-11-13 day",
        ),
        ("yesterday at 9", "[yesterday] 2026-11-21/2026-11-22 day, [at 9] 2026-11-21T08:55/2026-11-21T10:00 hour"),
        (
            "yesterday evening around 9",
            "[yesterday evening] 2026-11-21T17:00/2026-11-22 hour, [around 9] 2026-11-21T20:30/2026-11-21T22:00 hour",
        ),
        (
            "last night at 2",
            "[last night] 2026-11-21T18:00/2026-11-22T06:00 hour, [at 2] 2026-11-22T01:55/2026-11-22T03:00 hour",
        ),
        (
            "between 9 and 10 on Tuesday",
            "[between 9 and 10] 2026-11-17T09:00/2026-11-17T10:01 hour, [on Tuesday] 2026-11-17/2026-11-18 day",
        ),
        ("am Abend des 12.", "[am Abend] 2026-11-12T17:00/2026-11-13 hour, [des 12] 2026-11-12/2026-11-13 day"),
        (
            "gestern um 9 Uhr abends",
            "[gestern] 2026-11-21/2026-11-22 day, [um 9 Uhr] 2026-11-21T20:55/2026-11-21T22:00 hour, \
             [abends] 2026-11-21T17:00/2026-11-22 hour",
        ),
        ("2026-05-12 21:04", "[2026-05-12] 2026-05-12/2026-05-13 day!, [21:04] 2026-05-12T20:59/2026-05-12T21:09 hour"),
    ]);
}

#[test]
fn longer_times() {
    check(&[
        ("last week", "[last week] 2026-11-09/2026-11-16 week"),
        ("this week", "[this week] 2026-11-16/2026-11-23 week"),
        ("the week before last", "[week before last] 2026-11-02/2026-11-09 week"),
        ("in the last week", "[in the last week] 2026-11-15/2026-11-22T10:01 week"),
        ("the past 3 days", "[the past 3 days] 2026-11-19/2026-11-22T10:01 day"),
        ("past 24 hours", "[past 24 hours] 2026-11-21T10:00/2026-11-22T10:01 hour"),
        ("last month", "[last month] 2026-10-01/2026-11-01 month"),
        ("last year", "[last year] 2025-01-01/2026-01-01 year"),
        ("this year", "[this year] 2026-01-01/2027-01-01 year"),
        ("last quarter", "[last quarter] 2026-07-01/2026-10-01 quarter"),
        ("two weeks ago", "[two weeks ago] 2026-11-05/2026-11-12 week"),
        ("3 days ago", "[3 days ago] 2026-11-19/2026-11-20 day"),
        ("a couple of months ago", "[a couple of months ago] 2026-08-08/2026-10-08 month"),
        ("a few days ago", "[a few days ago] 2026-11-17/2026-11-20 day"),
        ("half a year ago", "[half a year ago] 2026-02-22/2026-08-23 year"),
        ("an hour ago", "[an hour ago] 2026-11-22T08:00/2026-11-22T10:00 hour"),
        ("in May", "[in May] 2026-05-01/2026-06-01 month"),
        ("in may", "[in may] 2026-05-01/2026-06-01 month"),
        ("in December", "[in December] 2025-12-01/2026-01-01 month"),
        ("last November", "[last November] 2025-11-01/2025-12-01 month"),
        ("in May 2025", "[in May 2025] 2025-05-01/2025-06-01 month"),
        ("May last year", "[May last year] 2025-05-01/2025-06-01 month"),
        ("05/2025", "[05/2025] 2025-05-01/2025-06-01 month"),
        ("2025-05", "[2025-05] 2025-05-01/2025-06-01 month!"),
        ("Q3 2025", "[Q3 2025] 2025-07-01/2025-10-01 quarter"),
        ("2025-Q4", "[2025-Q4] 2025-10-01/2026-01-01 quarter"),
        ("third quarter of 2025", "[third quarter of 2025] 2025-07-01/2025-10-01 quarter"),
        ("summer 2024", "[summer 2024] 2024-06-01/2024-09-01 season"),
        ("last summer", "[last summer] 2026-06-01/2026-09-01 season"),
        ("in the spring", "[in the spring] 2026-03-01/2026-06-01 season"),
        ("winter of 2024", "[winter of 2024] 2024-12-01/2025-03-01 season"),
        ("over the weekend", "[over the weekend] 2026-11-21/2026-11-23 weekend"),
        ("last weekend", "[last weekend] 2026-11-14/2026-11-16 weekend"),
        ("in the 2010s", "[in the 2010s] 2010-01-01/2020-01-01 decade"),
        ("in the 90s", "[in the 90s] 1990-01-01/2000-01-01 decade"),
        ("in 2024", "[in 2024] 2024-01-01/2025-01-01 year"),
        ("early May 2025", "[early May 2025] 2025-05-01/2025-05-11 month"),
        ("at the end of 2024", "[at the end of 2024] 2024-09-01/2025-01-01 year"),
        ("mid-March", "[mid-March] 2026-03-11/2026-03-21 month"),
    ]);
}

#[test]
fn limits() {
    check(&[
        ("redis since June", "[since June] 2026-06-01/… month!"),
        ("since yesterday", "[since yesterday] 2026-11-21/… day!"),
        ("since last week", "[since last week] 2026-11-09/… week!"),
        ("before 2024", "[before 2024] …/2024-01-01 year!"),
        ("after 3 May 2025", "[after 3 May 2025] 2025-05-04/… day!"),
        ("until last Friday", "[until last Friday] …/2026-11-21 day!"),
        ("from March on", "[from March on] 2026-03-01/… month!"),
        ("between March and May", "[between March and May] 2026-03-01/2026-06-01 month!"),
        ("between March and May 2025", "[between March and May 2025] 2025-03-01/2025-06-01 month!"),
        ("between November and February", "[between November and February] 2025-11-01/2026-03-01 month!"),
        ("from 2025-05-03 to 2025-05-07", "[from 2025-05-03 to 2025-05-07] 2025-05-03/2025-05-08 day!"),
        ("March–May 2025", "[March–May 2025] 2025-03-01/2025-06-01 month!"),
        ("March - May 2025", "[March - May 2025] 2025-03-01/2025-06-01 month!"),
        ("from Monday to Wednesday", "[from Monday to Wednesday] 2026-11-16/2026-11-19 day!"),
        ("before two weeks ago", "[before two weeks ago] …/2026-11-05 week!"),
        ("two weeks before August 11, 2023", "[two weeks before August 11, 2023] 2023-07-24/2023-08-01 week"),
        ("the week before 3 August 2023", "[week before 3 August 2023] 2023-07-27/2023-08-03 week"),
        ("on the Sunday before October 25, 2022", "[on the Sunday before October 25, 2022] 2022-10-23/2022-10-24 day"),
        ("the day after 3 May 2025", "[day after 3 May 2025] 2025-05-04/2025-05-05 day"),
        ("2 days after 3 May 2025", "[2 days after 3 May 2025] 2025-05-05/2025-05-06 day"),
        ("2 days before 3 May 2025", "[2 days before 3 May 2025] 2025-05-01/2025-05-02 day"),
        ("zwei Tage vor dem 3. Mai", "[zwei Tage vor dem 3. Mai] 2026-05-01/2026-05-02 day"),
        ("since June before August", "[since June] 2026-06-01/… month!, [before August] …/2026-08-01 month!"),
    ]);
}

#[test]
fn german() {
    check(&[
        ("gestern", "[gestern] 2026-11-21/2026-11-22 day"),
        ("gestern Abend", "[gestern Abend] 2026-11-21T17:00/2026-11-22 hour"),
        ("heute morgen", "[heute morgen] 2026-11-22T04:00/2026-11-22T12:00 hour"),
        ("vorgestern", "[vorgestern] 2026-11-20/2026-11-21 day"),
        ("letzte Woche", "[letzte Woche] 2026-11-09/2026-11-16 week"),
        ("in der letzten Woche", "[in der letzten Woche] 2026-11-09/2026-11-16 week"),
        ("vorletzte Woche", "[vorletzte Woche] 2026-11-02/2026-11-09 week"),
        ("diesen Monat", "[diesen Monat] 2026-11-01/2026-12-01 month"),
        ("im Mai 2025", "[im Mai 2025] 2025-05-01/2025-06-01 month"),
        ("im Mai", "[im Mai] 2026-05-01/2026-06-01 month"),
        ("am 3. Mai", "[am 3. Mai] 2026-05-03/2026-05-04 day"),
        ("am 3. Mai 2025", "[am 3. Mai 2025] 2025-05-03/2025-05-04 day"),
        ("am 3.", "[am 3] 2026-11-03/2026-11-04 day"),
        ("vor zwei Wochen", "[vor zwei Wochen] 2026-11-05/2026-11-12 week"),
        ("vor einem halben Jahr", "[vor einem halben Jahr] 2026-02-22/2026-08-23 year"),
        ("vor ein paar Tagen", "[vor ein paar Tagen] 2026-11-17/2026-11-20 day"),
        ("seit zwei Wochen", "[seit zwei Wochen] 2026-11-08/… week!"),
        ("seit Juni", "[seit Juni] 2026-06-01/… month!"),
        ("vor 2024", "[vor 2024] …/2024-01-01 year!"),
        ("vor dem 3. Mai 2025", "[vor dem 3. Mai 2025] …/2025-05-03 day!"),
        ("bis letzten Freitag", "[bis letzten Freitag] …/2026-11-21 day!"),
        ("zwischen März und Mai", "[zwischen März und Mai] 2026-03-01/2026-06-01 month!"),
        ("von Montag bis Mittwoch", "[von Montag bis Mittwoch] 2026-11-16/2026-11-19 day!"),
        ("am Dienstag", "[am Dienstag] 2026-11-17/2026-11-18 day"),
        ("am Wochenende", "[am Wochenende] 2026-11-21/2026-11-23 weekend"),
        ("die letzten 3 Tage", "[die letzten 3 Tage] 2026-11-19/2026-11-22T10:01 day"),
        ("im Sommer 2024", "[im Sommer 2024] 2024-06-01/2024-09-01 season"),
        ("letzten Sommer", "[letzten Sommer] 2026-06-01/2026-09-01 season"),
        ("3. Quartal 2025", "[3. Quartal 2025] 2025-07-01/2025-10-01 quarter"),
        ("Anfang Mai", "[Anfang Mai] 2026-05-01/2026-05-11 month"),
        ("im Jahr 2024", "[im Jahr 2024] 2024-01-01/2025-01-01 year"),
        ("in den 2010ern", "[in den 2010ern] 2010-01-01/2020-01-01 decade"),
        ("nächste Woche", ""),
    ]);
}

#[test]
fn what_is_no_time() {
    check(&[
        ("31 February", ""),
        ("February 31st, 2025", ""),
        ("31 February 2025 and 2025-02-30", ""),
        ("2025-13-01", ""),
        ("2019-43", ""),
        ("between May 2025 and March 2025", ""),
        ("When did we drop redis?", ""),
        ("next week", ""),
        ("next Tuesday", ""),
        ("every Friday", ""),
        ("may I ask", ""),
        ("it may work", ""),
        ("march on", ""),
        ("from March", ""),
        ("the second attempt", ""),
        ("on the 3rd attempt", ""),
        ("port 2024", ""),
        ("version 1.95.0", ""),
        ("in spring boot", ""),
        ("fall back to sun rpc", ""),
        ("this function", ""),
        ("last commit", ""),
        ("first quarter final", "[first quarter] 2026-01-01/2026-04-01 quarter"),
        ("two weeks of work", ""),
        ("before lunch", ""),
        ("between 3 and 5", ""),
        ("192.168.1.2024", ""),
        ("10.2024.3", ""),
        ("orders_test.rs:2025", ""),
        ("in 2999", ""),
        ("", ""),
        ("   \u{0}\n", ""),
    ]);
}

#[test]
fn a_day_of_the_zone_is_a_day_there() {
    let now = parse_rfc3339("2026-11-22T23:30:00Z").unwrap();
    let yesterday = |zone: &str| find("yesterday", now, &TimeZone::get(zone).unwrap())[0].from.unwrap();
    assert_eq!(yesterday("UTC"), parse_rfc3339("2026-11-21T00:00:00Z").unwrap());
    assert_eq!(yesterday("Europe/Berlin"), parse_rfc3339("2026-11-21T23:00:00Z").unwrap());
    assert_eq!(yesterday("America/New_York"), parse_rfc3339("2026-11-21T05:00:00Z").unwrap());
    // The day the clocks go back has 25 hours.
    let day = &find("2026-10-25", now, &berlin())[0];
    assert_eq!(day.until.unwrap() - day.from.unwrap(), 25 * 3_600_000);
}

/// Any text made of time words with signs between them.
fn telling() -> impl Strategy<Value = String> {
    let words = "last this next the in on since before after until between and from to ago week weeks month year day \
                 May march december monday tue summer weekend Q3 2025 2025-05-03 31 29 0 99 3rd 3. February two couple \
                 a few of vor seit bis zwei Wochen letzte im am Mai early mid end 2010s yesterday night morgen heute \
                 half - – 05/2025 999 21:04 9 pm 9:30 at around Uhr um halb 12.5. KW 19 the 12th evening abends 24 in of \
                 o'clock quarter midnight 21:04-22 hier soir semana pasada Jahr quarter first past 1900 2199 9999";
    let words: Vec<&'static str> = words.split_whitespace().collect();
    prop::collection::vec(prop::sample::select(words), 0..9).prop_map(|w| w.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_text_has_sound_times(
        text in prop_oneof![telling(), any::<String>()],
        now in prop_oneof![any::<i64>(), -70_000_000_000_000i64..260_000_000_000_000],
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia"]),
    ) {
        let mut end = 0;
        for w in find(&text, now, &TimeZone::get(zone).unwrap()) {
            prop_assert!(w.span.start < w.span.end && w.span.start >= end, "{w:?}");
            prop_assert!(text.get(w.span.clone()).is_some(), "{w:?}");
            prop_assert!(w.from.is_some() || w.until.is_some() || w.clock.is_some());
            if let (Some(from), Some(until)) = (w.from, w.until) {
                prop_assert!(from < until, "{w:?}");
                prop_assert!(w.holds(from) && w.holds(until - 1) && !w.holds(until) && !w.holds(from - 1));
            }
            end = w.span.end;
        }
    }
}

#[test]
fn days_no_calendar_has() {
    for (text, want) in [
        ("the roof on 31 February 2025", Some("31 February")),
        ("am 30. Februar", Some("30 Februar")),
        ("June 31st", None),
        ("June 31", Some("31 June")),
        ("29 February", None),
        ("2025-02-30", Some("2025-02-30")),
        ("2025-13-01?", Some("2025-13-01")),
        ("2025-02-28", None),
        ("may 45", None),
        ("in June 2025", None),
        ("number 1234-56-78", None),
        ("", None),
    ] {
        assert_eq!(super::no_day(text).as_deref(), want, "{text}");
    }
}

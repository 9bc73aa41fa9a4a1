//! Queries and what is made of them.

use proptest::prelude::*;

use super::*;
use crate::clock::{parse_rfc3339, rfc3339};

/// Asked on Sunday, 22 November 2026, in UTC, by somebody who talks with Caroline and Ann Lee.
fn query(input: &str) -> Query {
    let people = ["Caroline", "Ann Lee"].map(|name| Known { name: name.into(), operator: false });
    let now = parse_rfc3339("2026-11-22T09:00:00Z").unwrap();
    Query::parse(input, &Seen { now, zone: &TimeZone::UTC, people: &people })
}

fn words(input: &str) -> Vec<String> {
    query(input).words.iter().map(|t| plain(&t.text) + if t.prefix { "*" } else { "" }).collect()
}

#[test]
fn stop_words_go_and_come_back_when_nothing_else_is_there() {
    assert_eq!(words("why did we drop the redis"), ["drop", "redis"]);
    assert_eq!(words("to be or not to be"), ["to", "be", "or", "not"]);
    assert_eq!(words("warum haben wir den Index gelöscht"), ["Index", "gelöscht"]);
    assert_eq!(words("die hard"), ["die", "hard"]);
    assert_eq!(words("what did we do yesterday"), [""; 0], "there is a time to look at");
    assert_eq!(words("it's what we'd didn't"), ["it", "what", "we", "did"]);
}

#[test]
fn phrases_prefixes_and_symbols() {
    let q = query("\"unique index\" refund*  orders_test.rs::refund_twice");
    assert_eq!(q.phrases, [Term { text: "unique index".into(), prefix: false, kind: Kind::Word }]);
    assert_eq!(
        words("refund*  orders_test.rs::refund_twice"),
        [
            "refund*",
            "orders test rs refund twice",
            "orders test rs",
            "refund twice",
            "orders",
            "test",
            "rs",
            "refund",
            "twice"
        ]
    );
    assert_eq!(words("E0277"), ["E0277"]);
    assert_eq!(words("HTTP 502 from the proxy"), ["HTTP", "502", "proxy", "HTTP 502"]);
    assert_eq!(words("issue #123"), ["issue", "123", "issue 123"]);
    assert_eq!(words("Caroline's dog, l'index; O'Brien"), ["Caroline", "dog", "index", "O Brien", "Brien"]);
    assert_eq!(words("foo(bar), [baz]"), ["foo", "bar", "baz"]);
    assert_eq!(
        query("„so nicht“ aber \"so\" \"").phrases.iter().map(|t| &t.text[..]).collect::<Vec<_>>(),
        ["so nicht", "so"]
    );
}

#[test]
fn a_long_question_keeps_its_words_before_its_pieces() {
    let mut input: String = ('\u{4e00}'..'\u{4e40}').collect();
    input.push_str(" redis_queue postgres");
    let q = query(&input);
    assert_eq!(q.words.len(), MAX_TERMS);
    assert!(q.words.iter().any(|t| t.text == "postgres") && q.words.iter().any(|t| t.text == "redis queue"));
    assert!(!q.cut, "pieces may go");
    let many: String = (0..50).map(|n| format!("word{n} ")).collect();
    assert!(query(&many).cut);
    assert_eq!(query(&"word ".repeat(30_000)).words.len(), 1);
    assert!(query(&"word ".repeat(30_000)).cut);
}

/// `words | dense text | limit | wishes | people`.
fn understood(input: &str) -> String {
    let q = query(input);
    let day = |at: Millis| match at {
        Millis::MIN => "".to_owned(),
        Millis::MAX => "".to_owned(),
        at => rfc3339(at + 1)[..10].to_owned(),
    };
    let limit = q.limit().map_or("".into(), |(from, until)| format!("{}..{}", day(from), day(until)));
    let wishes: Vec<String> = q
        .times
        .iter()
        .filter(|t| t.hold == Hold::Wish)
        .map(|t| format!("{}..{}", day(t.from.unwrap()), day(t.until.unwrap())))
        .collect();
    let people: Vec<&str> = q.people.iter().map(|p| &p.name[..]).collect();
    [q.shown(), q.dense_text().to_owned(), limit, wishes.join(","), people.join(",")].join(" | ")
}

#[test]
fn words_times_and_people_are_told_apart() {
    for (input, want) in [
        ("why did we drop redis last week?", "drop redis | why did we drop redis | | 2026-11-09..2026-11-16 | "),
        ("redis since June", "redis | redis | 2026-06-01.. | | "),
        ("redis between March and May", "redis | redis | 2026-03-01..2026-06-01 | | "),
        ("redis since June before August", "redis | redis | 2026-06-01..2026-08-01 | | "),
        ("redis since 2026 before 2025", "redis | redis | | | "),
        ("deploy 2025-05-03", "deploy 2025 05 03 | deploy | 2025-05-03..2025-05-04 | | "),
        ("2025-05-03 2025-05-07", "2025 05 03 2025 05 07 | | 2025-05-03..2025-05-08 | | "),
        ("deploys in May 2025", "deploys May 2025 | deploys | | 2025-05-01..2025-06-01 | "),
        ("31 February", "31 February | 31 February | | | "),
        ("yesterday", " | | | 2026-11-21..2026-11-22 | "),
        ("\"yesterday\" evening", "\"yesterday\" evening | yesterday evening | | | "),
        ("When did Caroline go camping?", "Caroline go camping | When did go camping? | | | Caroline"),
        (
            "What did ann lee's dog do on Tuesday",
            "ann lee dog Tuesday | What did dog do | | 2026-11-17..2026-11-18 | Ann Lee",
        ),
        ("Caroline \"Caroline said\"", "\"Caroline said\" Caroline | Caroline said | | | Caroline"),
        (
            "letzte Woche: warum war der Build rot?",
            "Build rot | warum war der Build rot? | | 2026-11-09..2026-11-16 | ",
        ),
        ("refund* \u{0}\u{7}*", "refund | refund | | | "),
        ("", " | | | | "),
    ] {
        // Empty parts have one space between their lines.
        let tidy = |text: &str| text.split('|').map(str::trim).collect::<Vec<_>>().join(" | ");
        assert_eq!(tidy(&understood(input)), tidy(want), "{input}");
    }
}

#[test]
fn unspaced_scripts_become_phrases_of_characters() {
    assert_eq!(words("東京 タワー"), ["東京", "タワー"]);
    assert_eq!(words("東京タワーのredis設定"), ["東京", "タワー", "redis", "設定", "東京タワーのredis設定", "の"]);
}

/// What people and machines type, and what nobody types.
fn anything() -> impl Strategy<Value = String> {
    let bits = "AND OR NOT NEAR( a:b^2 -c +d ( ) * \" “ ” „ ' ’s don't l'a Caroline caroline's Ann Lee last week since \
                June 2025-05-03 foo::bar a/b.rs:12 #1 v1.2 E0277 東京 タワーは を 서울에서 กรุงเทพ é ß İ 𝒳 \u{200b} \u{0} \u{7} ﬁ";
    let bits: Vec<&'static str> = bits.split_whitespace().collect();
    let mixed = prop::collection::vec(prop::sample::select(bits), 0..14);
    prop_oneof![
        mixed.clone().prop_map(|b| b.join(" ")),
        mixed.prop_map(|b| b.concat()),
        any::<String>(),
        "(word |\"|東|\\*){0,3000}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_text_is_a_query(input in anything()) {
        let q = query(&input);
        prop_assert!(q.words.len() <= MAX_TERMS && q.phrases.len() <= MAX_TERMS && q.dropped.len() <= MAX_TERMS);
        for term in q.words.iter().chain(&q.phrases).chain(&q.dropped) {
            prop_assert!(!term.text.is_empty() && !term.text.contains('"'), "{term:?}");
            prop_assert!(term.text.chars().any(char::is_alphanumeric), "{term:?}");
        }
        let spans = q.times.iter().map(|t| &t.span).chain(q.people.iter().map(|p| &p.span));
        for span in spans {
            prop_assert!(span.start < span.end && input.get(span.clone()).is_some(), "{span:?}");
        }
        if let Some((from, until)) = q.limit() {
            prop_assert!(from <= until);
        }
        prop_assert!(!q.dense_text().chars().any(char::is_control));
        // Letters mean something: they are looked for, or they tell a time.
        let letters = beginning(&input).chars().any(|c| c.is_ascii_alphanumeric());
        prop_assert!(!letters || !q.is_empty());
    }
}

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const STRONG: &str = include_str!("cases/strong.txt");
const JOINED: &str = include_str!("cases/joined.txt");
const NONE: &str = include_str!("cases/none.txt");
const SAME: &str = include_str!("cases/same.txt");

/// Reads the lines of a file of cases without its opening comment, escapes resolved.
fn lines(file: &str) -> Vec<String> {
    let written = file.lines().skip_while(|line| line.starts_with("# "));
    written.map(|line| line.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t")).collect()
}

/// Reads prompts, each with its expected signals.
fn cases(file: &str) -> Vec<(String, String)> {
    let pair = |line: &str| line.split_once('\t').map(|(prompt, shown)| (prompt.to_owned(), shown.to_owned()));
    let written = file.lines().skip_while(|line| line.starts_with("# ")).filter_map(pair);
    written
        .map(|(prompt, shown)| (prompt.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t"), shown))
        .collect()
}

fn show(signal: &Signal) -> String {
    match &signal.kind {
        SignalKind::Preference => format!("preference: {}", signal.title),
        SignalKind::Identity => format!("identity: {}", signal.title),
        SignalKind::Rule => format!("rule: {}", signal.title),
        SignalKind::Profile { key, value } => format!("{key}: {value}"),
    }
}

fn shown(prompt: &str) -> String {
    signals(prompt).iter().map(show).collect::<Vec<_>>().join(" + ")
}

#[test]
fn strong_statements_are_proposed() {
    let wrong: Vec<_> =
        cases(STRONG).into_iter().map(|(p, e)| (shown(&p), p, e)).filter(|(got, _, e)| low(got) != low(e)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Titles are compared without regard to case.
fn low(text: &str) -> String {
    text.to_lowercase()
}

#[test]
fn a_title_is_written_as_it_was_said_and_not_shouted() {
    assert_eq!(
        shown("Antworte immer mit Deutschen Anführungszeichen."),
        "preference: Antworte immer mit Deutschen Anführungszeichen"
    );
    assert_eq!(shown("remember that my dog is called Rex"), "identity: My dog is called Rex");
    assert_eq!(shown("ALWAYS ANSWER WITH A SUMMARY FIRST!"), "preference: Always answer with a summary first");
}

#[test]
fn nothing_else_is() {
    let wrong: Vec<_> = lines(NONE).into_iter().map(|p| (shown(&p), p)).filter(|(got, _)| !got.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_same_statement_has_the_same_title() {
    for group in lines(SAME).split(String::is_empty).filter(|group| !group.is_empty()) {
        let titles: Vec<String> = group.iter().map(|p| shown(p)).collect();
        assert!(titles.iter().all(|t| low(t) == low(&titles[0]) && !t.is_empty()), "{titles:#?}");
    }
}

#[test]
fn what_is_quoted_or_pasted_is_not_the_authors() {
    let plain = |s: &str| !s.contains(['\n', '`', '"', '<', '>']) && !s.starts_with('-');
    for (statement, _) in cases(STRONG).into_iter().filter(|(s, _)| plain(s)) {
        for text in [
            format!("```\n{statement}\n```"),
            format!("> {statement}"),
            format!("    {statement}"),
            format!("\"{statement}\" is what it says"),
            format!("“{statement}”"),
            format!("Look:\n<note>\n{statement}\n</note>\nDone."),
            format!("<note>{statement}</note>"),
            format!("The error message is:\n\n{statement}"),
            format!("2026-05-01 12:00:00 {statement}"),
            format!("He said: {}", statement.split(['.', '!']).next().unwrap_or_default()),
            format!("# Guide\n\nText.\n\n## Rules\n\n{statement}"),
        ] {
            assert_eq!(shown(&text), "", "{text}");
        }
    }
}

#[test]
fn what_is_said_twice_is_proposed_once_and_eight_are_enough() {
    assert_eq!(shown("Never push to main.\nNEVER PUSH TO MAIN!"), "preference: Never push to main");
    let many: String = ('a'..='z').map(|c| format!("Never use emoji {c}{c}.\n")).collect();
    assert_eq!(signals(&many).len(), MOST);
}

#[test]
fn the_sentence_is_told_with_its_place() {
    let prompt = "Fix the tests.  Also, from now on use British\tspelling. Thanks";
    let found = &signals(prompt)[0];
    assert_eq!(found.text, "Also, from now on use British\tspelling.");
    assert_eq!(&prompt[found.range.clone()], found.text);
    assert_eq!(found.title, "Use British spelling");
}

#[test]
fn titles_are_cut_at_a_word() {
    let prompt =
        "Always explain in your answers what you have changed and why you have changed it, with examples and numbers.";
    let title = &signals(prompt)[0].title;
    assert_eq!(title, "Always explain in your answers what you have changed and why you have changed");
    assert!(title.chars().count() <= LONGEST_TITLE);
}

#[test]
fn of_a_long_prompt_only_the_ends_count() {
    let filler = "The quick brown fox jumps over the lazy dog and goes home again.\n".repeat(60);
    let own = "From now on use British spelling.\n";
    assert_eq!(shown(&format!("{own}{filler}{filler}")), "preference: Use British spelling");
    assert_eq!(shown(&format!("{filler}{filler}{own}")), "preference: Use British spelling");
    assert_eq!(shown(&format!("{filler}{own}{filler}")), "");
    // Fenced text does not count towards the length.
    let log = format!("```\n{filler}{filler}{filler}```\n");
    assert_eq!(shown(&format!("Look.\n{log}{own}{log}Thanks.")), "preference: Use British spelling");
    // One long line, which is cut in the middle of a sentence.
    let line = "The quick brown fox jumps over the lazy dog. ".repeat(200);
    for cut in 0..60 {
        let head = &line[..960 + cut];
        let text = format!("{} From now on use British spelling. {line}", head.trim_end_matches(char::is_alphabetic));
        let found = shown(&text);
        assert!(found.is_empty() || found == "preference: Use British spelling", "{found}");
    }
}

#[test]
fn time_is_linear() {
    let line = "I always get an error, and the server never responds; from now on it should. ";
    let parts = [
        "a.\n",
        "<a></a>",
        "<a>",
        "<a>\n",
        "</a>",
        "\"",
        "'a",
        "a,",
        "and always ",
        "```\n",
        "请总是用中文回答。",
        " ",
        "(",
        "- a\n",
        "\n",
        "<a></a>\n",
        line,
    ];
    for part in parts {
        let text = part.repeat(300_000 / part.len());
        let started = Instant::now();
        signals(&text);
        // In a release build a megabyte takes some milliseconds; the limit only catches times that are not linear.
        assert!(started.elapsed() < Duration::from_secs(20), "{part:?} {:?}", started.elapsed());
    }
    let names: String = (0..100_000).map(|i| format!("<a{i}>")).collect();
    let started = Instant::now();
    signals(&names);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn each_wish_of_a_sentence_is_a_statement() {
    let wrong: Vec<_> =
        cases(JOINED).into_iter().map(|(p, e)| (shown(&p), p, e)).filter(|(got, _, e)| got != e).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_has_its_own_words() {
    let prompt = "Good. I always prefer small functions, and never use “mocks”.";
    let texts: Vec<_> = signals(prompt).into_iter().map(|s| (prompt[s.range] == s.text, s.text)).collect();
    assert_eq!(texts, [(true, "I always prefer small functions".to_owned()), (true, "never use “mocks”".to_owned())]);
}

#[test]
fn quoted_or_pasted_they_are_nobodys() {
    for (statement, _) in cases(JOINED).into_iter().filter(|(s, _)| !s.contains('"')) {
        for text in [format!("```\n{statement}\n```"), format!("> {statement}"), format!("<note>{statement}</note>")] {
            assert_eq!(shown(&text), "", "{text}");
        }
    }
}

fn holds(prompt: &str) {
    let found = signals(prompt);
    assert!(found.len() <= MOST);
    for s in found {
        assert_eq!(&prompt[s.range.clone()], s.text, "on character boundaries");
        assert_eq!(s.text.trim(), s.text);
        assert!(s.text.chars().count() <= 500 && !s.title.is_empty() && s.title.chars().count() <= LONGEST_TITLE);
        assert!((0.0..=1.0).contains(&s.confidence));
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn any_mixture_is_read(parts in prop::collection::vec(prop::sample::select(MIXTURE), 0..60)) {
        holds(&parts.concat());
    }

    #[test]
    fn a_strong_statement_stays_in_a_paragraph_of_its_own(i in any::<prop::sample::Index>(), before in 0..4usize) {
        let chat = ["", "Look at the tests, they fail.\n\n", "Thanks!\n\n", "Why is it red?\n\n"][before];
        let all = cases(STRONG);
        let (statement, expected) = &all[i.index(all.len())];
        prop_assume!(!statement.contains("From now on:") && !statement.contains("preferences:"));
        prop_assert_eq!(low(&shown(&format!("{chat}{statement}"))), low(expected));
    }
}

const MIXTURE: &[&str] = &[
    " ",
    " ",
    " ",
    "\n",
    "\n\n",
    ".",
    ",",
    ":",
    ";",
    "?",
    "!",
    "…",
    "—",
    "\"",
    "'",
    "’",
    "“",
    "”",
    "`",
    "```",
    "~~~",
    "<",
    ">",
    "</a>",
    "<a>",
    "- ",
    "> ",
    "# ",
    "1. ",
    "    ",
    "\t",
    "always",
    "never",
    "from now on",
    "Always answer in German",
    "I prefer tabs",
    "my name is",
    "Marta",
    "call me",
    "I live in",
    "Lisbon",
    "I'm a",
    "engineer",
    "at",
    "in",
    "the",
    "my timezone is",
    "UTC",
    "+",
    "2",
    "UTC+2",
    "Europe/Lisbon",
    "I speak",
    "remember",
    "that",
    "if",
    "when I",
    "you",
    "whenever",
    "don't",
    "ever",
    "stop",
    "adding",
    "comments",
    "please",
    "ß",
    "İ",
    "ﬁ",
    "é",
    "日本",
    "我叫",
    "请总是",
    "。",
    "今後は",
    "です",
    "私の名前は",
    "🦀",
    "\u{200b}",
    "\u{301}",
    "\r\n",
    "\0",
    "immer",
    "nie",
    "ich heiße",
    "je m'appelle",
    "siempre",
    "their",
    "they/them",
];

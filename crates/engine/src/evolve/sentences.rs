//! Finds explicit statements of a person about a project that hold beyond the task: "The staging database listens on
//! port 5433", "To release: first run `just ci`, then tag, then push the tag". Pure; the word lists are
//! `sentences.txt`.
//!
//! A sentence is read clause by clause ([`super::clauses`]), a procedure as a whole ([`super::ways`]). What quotes,
//! asks, plays or stands in pasted text is no statement. Sentences that people say about themselves or ask to remember
//! become notices, and are left out here (R9.5).

use std::ops::Range;

use super::clauses::{sets_anew, statements};
use super::corrected::{behind_request, corrected};
use super::grammar::{after_leads, is_request, listed, unquoted};
use super::ways;
use crate::memory::remember::remembered;
use crate::quoting::Tongue;
use crate::statement::about_person::signals;
use crate::text::blocks::{Reach, blocks};
use crate::text::borrowed::{Shown, borrowed};
use crate::text::language::stop_words::Language;
use crate::text::patterns::words;
use crate::text::plain::lower;
use crate::text::relayed::relayed;
use crate::text::sentences;
use crate::text::words::{Marks, Word, split};

/// Maximum size of a message that is read whole, and of either end that is read of a longer one, in bytes: as for
/// notices.
const REACH: Reach = Reach { whole: 4_000, ends: 1_000 };
/// Maximum length of a sentence, in bytes; a longer one is an essay.
const LONGEST: usize = 500;
/// Maximum number of statements taken from one message.
const MOST: usize = 6;

/// A statement of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// A fact: its subject, its value, the sentence, and whether the sentence says that this is a change.
    Fact { subject: String, value: String, text: String, changed: bool },
    /// A statement that something is no longer so. The value may be missing.
    Retraction { subject: String, value: String, text: String },
    /// A procedure: its subject, and the sentence or the list.
    Procedure { subject: String, text: String },
    /// Something that must not be done to a part of the project: its subject, and the sentence.
    Rule { subject: String, text: String },
    /// A retraction of the statement just before.
    TakenBack,
}

/// Returns the statements of a person's message about the project, in the order of the text.
pub fn told(message: &str) -> Vec<Told> {
    let is_document = message.lines().any(|l| l.starts_with('#') && l.trim_start_matches('#').starts_with(' '));
    if is_document {
        return Vec::new();
    }
    let carried = borrowed(message, Shown::Any);
    let is_carried = |at: usize| carried.iter().any(|range| range.contains(&at));
    let kept: Vec<Range<usize>> = remembered(message).into_iter().map(|r| r.range).collect();
    let signals: Vec<Range<usize>> = signals(message).into_iter().map(|s| s.range).collect();
    let mut out: Vec<Told> = Vec::new();
    let mut list: Option<(String, String, Vec<String>)> = None;
    // Where the words of somebody else, announced on a line of their own, go on.
    let mut theirs_from: Option<usize> = None;
    for block in blocks(message, REACH) {
        let text = &message[block.range.clone()];
        let goes_on = theirs_from.is_some_and(|end| !message[end..block.range.start].contains("\n\n"));
        let announces = text.trim_end().ends_with([':', '：']) && relayed(&format!("{text} …")).is_some();
        theirs_from = (goes_on || announces).then_some(block.range.end);
        if goes_on {
            continue;
        }
        if block.document || block.pasted || block.behind_paste || block.ticked.is_some() {
            continue;
        }
        if block.item && is_carried(block.range.start) {
            continue;
        }
        if let Some((_, _, steps)) = list.as_mut().filter(|_| block.item) {
            steps.push(plain(text));
            continue;
        }
        out.extend(list.take().and_then(ways::of_list));
        if block.item {
            continue;
        }
        for line in lines(text) {
            let said = &text[line.clone()];
            if is_carried(block.range.start + line.start) {
                continue;
            }
            if let Some((subject, head)) = ways::announced(said) {
                list = Some((subject, head, Vec::new()));
                continue;
            }
            let theirs = relayed(said).unwrap_or(usize::MAX);
            let ranges = sentences::split(said, usize::MAX);
            let whole = usize::from(block.cut.0)..ranges.len().saturating_sub(usize::from(block.cut.1));
            let ranges = ranges.get(whole).unwrap_or_default().iter().filter(|r| r.end <= theirs);
            let ranges: Vec<Range<usize>> = ranges.flat_map(|r| behind_numbers(said, r)).collect();
            let mut no = 0;
            while let Some(range) = ranges.get(no) {
                let from = block.range.start + line.start;
                let at = from + range.start..from + range.end;
                no += 1;
                let meets = |range: &Range<usize>| range.start < at.end && at.start < range.end;
                if kept.iter().chain(&carried).any(meets) {
                    continue;
                }
                // A notice asks the person about this sentence already.
                if signals.iter().any(meets) {
                    continue;
                }
                // A procedure may consist of several sentences.
                let ends = ranges[no..].iter().take_while(|r| ways::goes_on(&said[(*r).clone()])).map(|r| r.end);
                let ends: Vec<usize> = ends.collect();
                let last = ends.last().map_or(at.end, |end| from + end);
                if let Some(way) = ways::way(&message[at.start..last]) {
                    out.push(way);
                    no += ends.len();
                    continue;
                }
                out.extend(sentence(&message[at]));
            }
        }
    }
    out.extend(list.take().and_then(ways::of_list));
    out.truncate(MOST);
    out
}

/// Divides a block into lines where a new line begins a request: people end a statement with a line, too.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices('\n') {
        let next = text[at..].lines().nth(1).unwrap_or_default();
        let ends = text[from..at].trim_end().ends_with(['.', '!', '?', ':']);
        if ends || is_request(&unquoted(&split(next, Marks::Kept)), next) {
            out.push(from..at);
            from = at + 1;
        }
    }
    out.push(from..text.len());
    out
}

pub(super) fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text quotes speech, which is not the speaker's own; names in code spans are no speech.
pub(super) fn quotes_speech(text: &str) -> bool {
    let outside: String = text.split('`').step_by(2).collect();
    // A single word in quotation marks is a name.
    let mut parts = outside.split('"');
    let mut outside = parts.next().unwrap_or_default().to_owned();
    while let Some(inside) = parts.next() {
        match parts.next() {
            // So are a few words behind "called".
            Some(after)
                if !inside.is_empty()
                    && (!inside.contains(' ')
                        || inside.split(' ').count() <= 4
                            && ["called ", "named ", "titled ", "heißt ", "namens "]
                                .iter()
                                .any(|c| outside.ends_with(c))) =>
            {
                outside.push_str(&[inside, after].concat());
            }
            after => outside.push_str(&["\"", inside, after.unwrap_or_default()].concat()),
        }
    }
    outside.contains(['"', '“', '”', '„', '«', '»'])
        || outside.trim_start().starts_with('>')
        || outside.contains(" '") && outside.contains("' ")
}

/// Whether a sentence is no statement of its speaker although a model takes it for one: it asks, plays, mocks, quotes,
/// reports, or doubts as a whole. It lets pass what only lacks the form that is needed without a model: "the gate can hold nine barges", "orders will be kept for a year".
pub fn is_not_meant(text: &str) -> bool {
    let text = text.trim();
    let low = lower(text);
    if text.ends_with(['?', '？', '…']) || low.ends_with("/s") || quotes_speech(text) || has_signs_of_play(text) {
        return true;
    }
    let said: Vec<Word> = unquoted(&split(text, Marks::Kept)).into_iter().filter(|w| w.word).collect();
    [listed!("doubted"), listed!("reported"), listed!("irony")].iter().any(|list| list.stand(&said))
        || listed!("conditions").begin(after_leads(&said)).next().is_some()
        || listed!("pointing").stand(&said[..said.len().min(1)])
}

/// Whether the lists of doubt, report and irony know the language of a sentence.
pub fn is_read(text: &str) -> bool {
    matches!(Tongue::of(text), Tongue::Spaced(Language::English | Language::German))
}

/// Whether a sentence asks for something, or says what is so only now: "the build is red", "at the moment …".
pub fn asks_or_passes(text: &str) -> bool {
    let all = unquoted(&split(text, Marks::Kept));
    let said: Vec<Word> = all.iter().filter(|w| w.word).copied().collect();
    let is = words!("is are was were keeps keep ist sind war waren");
    let passes = (1..said.len())
        .any(|at| is.has_hash(said[at - 1].hash) && listed!("passing").begin(&said[at..]).next().is_some());
    is_request(&all, text) || listed!("moment").stand(&said) || passes
}

/// Whether a text has signs of code or of data, which nobody says.
fn is_code(text: &str) -> bool {
    let outside: String = text.split('`').step_by(2).collect();
    outside.contains(['{', '}', '\t', '|', '\\'])
        || outside.contains("();")
        || outside.contains("==")
        || outside.contains("): ")
}

fn has_signs_of_play(text: &str) -> bool {
    text.contains(['🙄', '😂', '🤣', '😅', '😉', '😜']) || text.contains("!!") || text.contains("...")
}

/// Whether a message begins by taking back what its speaker just said.
pub fn takes_back(message: &str) -> bool {
    told(message).first() == Some(&Told::TakenBack)
}

/// Divides a sentence behind a number: "The frontend needs Node 22. Look at the test" are two, although a full stop
/// behind a short number mostly belongs to it.
fn behind_numbers(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut from = range.start;
    for (at, _) in text[range.clone()].match_indices(". ") {
        let at = range.start + at;
        let rest = &text[at + 2..range.end];
        let number = text[from..at].ends_with(|c: char| c.is_ascii_digit());
        let words = unquoted(&split(rest, Marks::Kept));
        let begins = words!("i we the it our there what why how where is are does do when which who");
        let new = words.first().is_some_and(|w| begins.has_hash(w.hash)) || is_request(&words, rest);
        if number && rest.starts_with(char::is_uppercase) && new {
            out.push(from..at + 1);
            from = at + 2;
        }
    }
    out.push(from..range.end);
    out
}

/// Returns the statements of one sentence.
fn sentence(text: &str) -> Vec<Told> {
    let text = text.trim();
    let all = split(text, Marks::Kept);
    // "Never mind the warning" takes back nothing.
    let takes_back = |words: &[Word]| {
        let behind = listed!("take back").begin(words).map(|(_, taken)| taken).max()?;
        let object = words
            .get(behind)
            .is_some_and(|w| w.word && words!("the a an about that your our der die das").has_hash(w.hash));
        (!object).then_some(())
    };
    let mut out = Vec::new();
    let said: Vec<Word> = all.iter().filter(|w| w.word).copied().collect();
    if takes_back(&all).or(takes_back(after_leads(&all))).is_some() || sets_anew(&said) {
        out.push(Told::TakenBack);
    }
    // A polite request behind a statement asks nothing about it.
    let text = match text.ends_with('?').then(|| behind_request(text)).flatten() {
        Some(at) => &text[..at],
        None => text,
    };
    let asks = text.ends_with(['?', '？', ':', '…']) || lower(text).ends_with("/s");
    if text.len() > LONGEST || asks || is_code(text) || quotes_speech(text) || has_signs_of_play(text) {
        return out;
    }
    match corrected(text) {
        Some(told) => out.push(told),
        None => out.extend(statements(text)),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::language::sections;

    fn shown(told: &Told) -> String {
        match told {
            Told::Fact { subject, value, changed, .. } => {
                format!("fact {subject} = {value}{}", if *changed { " (changed)" } else { "" })
            }
            Told::Retraction { subject, value, .. } => format!("not {subject} = {value}"),
            Told::Procedure { subject, .. } => format!("how {subject}"),
            Told::Rule { subject, .. } => format!("never {subject}"),
            Told::TakenBack => "taken back".into(),
        }
    }

    #[test]
    fn what_lasts_is_told_from_what_does_not() {
        let mut wrong = Vec::new();
        let mut counts = (0, 0);
        for (name, cases) in sections(include_str!("sentences_cases.txt")) {
            for (message, wanted) in cases.lines().filter_map(|line| line.split_once(" =>")) {
                let found = told(&message.replace("\\n", "\n"));
                let found: Vec<String> = found.iter().map(|told| shown(told).trim_end().to_owned()).collect();
                let (found, wanted) = (found.join(" ;; "), wanted.trim());
                if wanted.is_empty() {
                    counts.1 += 1
                } else {
                    counts.0 += 1
                }
                if found != wanted {
                    wrong.push(format!("{name}: {message}\n  {found}\n  instead of {wanted}"));
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
        assert!(counts.0 >= 25 && counts.1 >= 40, "{counts:?}");
    }

    /// Returns the words of a statement: what it is compared by with another reading of the same sentence.
    fn words_of(text: &str) -> String {
        let said = split(text, Marks::Dropped);
        said.iter().map(|w| lower(&text[w.start..w.end])).collect::<Vec<_>>().join(" ")
    }

    /// A notice asks the person about its sentence; a rule made of the same sentence would ask a second time.
    #[test]
    fn a_sentence_is_asked_about_once() {
        let mut asked = 0;
        let cases = sections(include_str!("sentences_cases.txt")).flat_map(|(_, cases)| cases.lines());
        let more = ["Never force-push to main.", "Answer in German from now on. Don't ever push to release/4."];
        for message in cases.filter_map(|line| line.split_once(" =>").map(|(m, _)| m)).chain(more) {
            let message = message.replace("\\n", "\n");
            let noticed: Vec<String> = signals(&message).iter().map(|s| words_of(&s.text)).collect();
            for text in told(&message).iter().filter_map(|t| match t {
                Told::Rule { text, .. } => Some(words_of(text)),
                _ => None,
            }) {
                assert!(!noticed.contains(&text), "{message}");
            }
            asked += noticed.len();
        }
        assert!(asked >= 5, "{asked} are noticed");
    }

    #[test]
    fn no_message_is_too_odd() {
        for odd in ["", ":", "to :", "the", "The is", "`", "To : first, then, then", "the x is 1\u{301}😀 2"] {
            told(odd);
        }
        told(&"the port is 1. ".repeat(20_000));
    }
}

//! Finds explicit statements of a person about a project that hold beyond the task: "The staging database listens on
//! port 5433", "To release: first run `just ci`, then tag, then push the tag". Pure; the word lists are
//! `sentences.txt`.
//!
//! The rules are deliberately narrow: a statement counts if it begins like one about the project, links a subject with
//! a value that can be looked up (a number, a name, a path, a day), and has no sign of doubt, report, irony, condition
//! or of the task in hand. Sentences that people say about themselves or ask to remember become notices, and are left
//! out here (R9.5).

use std::ops::Range;
use std::sync::LazyLock;

use crate::memory::remember::remembered;
use crate::statement::about_person::signals;
use crate::text::blocks::{Reach, blocks};
use crate::text::language::section;
use crate::text::patterns::{Phrases, Words, words};
use crate::text::plain::lower;
use crate::text::sentences;
use crate::text::words::{Marks, Word, split};

const LISTS: &str = include_str!("sentences.txt");

/// Maximum size of a message that is read whole, and of either end that is read of a longer one, in bytes: as for
/// notices.
const REACH: Reach = Reach { whole: 4_000, ends: 1_000 };
/// Maximum length of a statement, in bytes; a longer one says more than one thing.
const LONGEST: usize = 220;
/// Maximum length of a procedure, in bytes; a longer one is a document.
const LONGEST_WAY: usize = 600;
/// Maximum number of words before the word that links a subject with its value.
const SUBJECT: usize = 8;
/// Maximum number of statements taken from one message.
const MOST: usize = 6;

macro_rules! listed {
    ($name:literal) => {{
        static LIST: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(section(LISTS, $name)));
        &*LIST
    }};
}

static SMALL: LazyLock<Words> = LazyLock::new(|| Words::of(&section(LISTS, "small").replace('|', " ")));

/// A statement of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// A fact: its subject, its value, the sentence, and whether the sentence says that this is a change.
    Fact { subject: String, value: String, text: String, changed: bool },
    /// A statement that something is no longer so. The value may be missing.
    Retraction { subject: String, value: String, text: String },
    /// A procedure: its subject, and the sentence or the list.
    Procedure { subject: String, text: String },
    /// A retraction of the statement just before.
    TakenBack,
}

/// Returns the statements of a person's message about the project, in the order of the text.
pub fn told(message: &str) -> Vec<Told> {
    let is_document = message.lines().any(|l| l.starts_with('#') && l.trim_start_matches('#').starts_with(' '));
    if is_document {
        return Vec::new();
    }
    let mut taken: Vec<Range<usize>> = remembered(message).into_iter().map(|r| r.range).collect();
    taken.extend(signals(message).into_iter().map(|s| s.range));
    let mut out: Vec<Told> = Vec::new();
    let mut list: Option<(String, String, Vec<String>)> = None;
    for block in blocks(message, REACH) {
        if block.document || block.pasted || block.behind_paste || block.ticked.is_some() {
            continue;
        }
        let text = &message[block.range.clone()];
        if let Some((_, _, steps)) = list.as_mut().filter(|_| block.item) {
            steps.push(plain(text));
            continue;
        }
        out.extend(list.take().and_then(way_of_list));
        if block.item {
            continue;
        }
        let ranges = sentences::split(text, usize::MAX);
        let whole = usize::from(block.cut.0)..ranges.len().saturating_sub(usize::from(block.cut.1));
        let ranges = ranges.get(whole).unwrap_or_default();
        // A procedure may consist of several sentences on one line.
        if let Some(way) = way(text) {
            out.push(way);
            continue;
        }
        if let Some((subject, head)) = announced(text) {
            list = Some((subject, head, Vec::new()));
            continue;
        }
        for range in ranges {
            let at = block.range.start + range.start..block.range.start + range.end;
            if taken.iter().any(|t| t.start < at.end && at.start < t.end) {
                continue;
            }
            out.extend(sentence(&message[at]));
        }
    }
    out.extend(list.take().and_then(way_of_list));
    out.truncate(MOST);
    out
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the words after lead-ins such as "by the way,".
fn after_leads(words: &[Word]) -> &[Word] {
    let mut rest = words;
    loop {
        let marks = rest.iter().take_while(|w| !w.word).count();
        rest = &rest[marks..];
        match listed!("leads").begin(rest).map(|(_, taken)| taken).max() {
            Some(taken) if taken < rest.len() => rest = &rest[taken..],
            _ => return rest,
        }
    }
}

/// Whether a text quotes speech, which is not the speaker's own; names in code spans are no speech.
fn quotes_speech(text: &str) -> bool {
    text.contains(['"', '“', '”', '„', '«', '»', '>']) || text.contains(" '") && text.contains("' ")
}

/// Whether a sentence doubts, reports, asks, mocks or points at something else. Such a sentence is no statement of its
/// speaker.
pub fn is_no_statement(text: &str) -> bool {
    let text = text.trim();
    let low = lower(text);
    if text.ends_with(['?', '？', '…']) || low.ends_with("/s") || quotes_speech(text) || has_signs_of_play(text) {
        return true;
    }
    let said: Vec<Word> = unquoted(&split(text, Marks::Kept)).into_iter().filter(|w| w.word).collect();
    [listed!("hedges"), listed!("reported"), listed!("irony")].iter().any(|list| list.stand(&said))
        || listed!("pointing").stand(&said[..said.len().min(1)])
}

/// Whether a sentence links a subject with a value, and does not say that this is only so for now. A request does not.
pub fn links_for_good(text: &str) -> bool {
    let said: Vec<Word> = unquoted(&split(text, Marks::Kept)).into_iter().filter(|w| w.word).collect();
    let links = listed!("links").stand(&said) || listed!("we").begin(&said).next().is_some();
    links && !listed!("passing").stand(&said)
}

fn has_signs_of_play(text: &str) -> bool {
    text.contains(['🙄', '😂', '🤣', '😅', '😉', '😜']) || text.contains("!!") || text.contains("...")
}

/// Returns the statement of one sentence.
fn sentence(text: &str) -> Option<Told> {
    let text = text.trim();
    let low = lower(text);
    let all = split(text, Marks::Kept);
    if listed!("take back").begin(after_leads(&all)).next().is_some()
        || listed!("take back").begin(&all).next().is_some()
    {
        return Some(Told::TakenBack);
    }
    if text.len() > LONGEST || text.ends_with(['?', '？', ':', '…']) || low.contains("/s") && low.ends_with("/s") {
        return None;
    }
    if quotes_speech(text) || has_signs_of_play(text) {
        return None;
    }
    let bare: Vec<Word> = unquoted(after_leads(&all));
    let said: Vec<Word> = bare.iter().filter(|w| w.word).copied().collect();
    let changed = listed!("changed").stand(&unquoted(&all));
    if !(4..=26).contains(&said.len()) {
        return None;
    }
    let raw = |w: &Word| &text[w.start..w.end];
    let we = listed!("we").begin(&said).map(|(_, taken)| taken).max();
    let named = names_something(raw(&said[0]), true) && !listed!("pointing").stand(&said[..1]);
    let starts = listed!("starts").begin(&said).next().is_some();
    // "Feature flags are stored in config/flags.yaml" tells where something is, whatever its name.
    let placed = || (1..said.len().min(4)).any(|at| listed!("strong links").begin(&said[at..]).next().is_some());
    if we.is_none() && !starts && !named && !placed() {
        return None;
    }
    for list in [listed!("hedges"), listed!("reported"), listed!("irony")] {
        if list.stand(&said) {
            return None;
        }
    }
    if listed!("pointing").stand(&said[..1]) || listed!("pointing inside").stand(&said) {
        return None;
    }
    let negated = listed!("negations").stand(&said);
    if negated && !listed!("retraction").stand(&said) {
        return None;
    }
    // Find the words that link subject and value.
    let link = match we {
        Some(taken) => Some((taken, taken)),
        None => (1..said.len().min(SUBJECT)).find_map(|at| {
            listed!("links").begin(&said[at..]).map(|(_, taken)| taken).max().map(|taken| (at, at + taken))
        }),
    };
    let (subject_end, value_from) = link?;
    let moved = listed!("links").begin(&said[subject_end..]).map(|(_, taken)| taken).max().unwrap_or(0) > 1;
    if !moved && !negated && listed!("passing").stand(&said) {
        return None;
    }
    if negated && listed!("passing").stand(&said[..subject_end.max(1)]) {
        return None;
    }
    let behind = said.get(value_from..).unwrap_or_default();
    let is_value = |w: &Word| names_something(raw(w), false);
    let specific = |w: &Word| words!(SPECIFIC_WORDS).has_hash(w.hash);
    let mut value: Vec<String> = behind
        .iter()
        .filter(|w| is_value(w) || specific(w))
        .map(|w| lower(raw(w)).trim_matches('`').to_owned())
        .collect();
    // If the value has a number or a path, names beside it belong to the subject: German nouns, products.
    let is_hard = |v: &String| v.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_'));
    if value.iter().any(is_hard) {
        value.retain(is_hard);
    }
    value.truncate(4);
    if value.is_empty() && !listed!("specific").stand(behind) && !negated {
        return None;
    }
    let small = &*SMALL;
    let links: Vec<u64> = said[subject_end..value_from].iter().map(|w| w.hash).collect();
    let key: Vec<String> = said
        .iter()
        .filter(|w| !small.has_hash(w.hash) && !links.contains(&w.hash))
        .map(|w| lower(raw(w)).trim_matches('`').to_owned())
        .filter(|w| !value.contains(w))
        .map(|w| singular(&w))
        .take(8)
        .collect();
    if key.is_empty() {
        return None;
    }
    let (subject, value) = (key.join(" "), value.join(" "));
    let shown = statement_text(text, &bare);
    Some(match negated {
        true => Told::Retraction { subject, value, text: shown },
        false => Told::Fact { subject, value, text: shown, changed },
    })
}

/// Words of the list [specific] that can be a value alone.
const SPECIFIC_WORDS: &str = "monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday \
     saturdays sunday sundays daily weekly monthly nightly hourly midnight noon january february march april june july august \
     september october november december montag montags dienstag dienstags mittwoch mittwochs donnerstag donnerstags freitag \
     freitags samstag samstags sonntag sonntags täglich wöchentlich monatlich nachts mitternacht tabs spaces npm yarn pnpm";

/// Marks all words as unquoted: code spans are names in a statement, so their words count as said.
fn unquoted(all: &[Word]) -> Vec<Word> {
    all.iter().map(|w| Word { quoted: false, ..*w }).collect()
}

fn singular(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 3 && !stem.ends_with(['s', 'e']) && stem.is_ascii() => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// Whether a word names a single thing: a number, a path, a version, a name. The first word of a sentence is always
/// capitalised, so only its inside counts.
fn names_something(word: &str, first: bool) -> bool {
    let inside = word.chars().skip(usize::from(first));
    let mut chars = inside.clone();
    word.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_' | '@' | '#'))
        || word.trim_end_matches('.').contains('.')
        || chars.any(|c| c.is_uppercase()) && word.chars().any(char::is_alphabetic) && word != "I"
        || word.contains("::")
        || word.len() > 3 && word.contains('-') && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !first
}

/// Returns the statement without its lead-ins, as a sentence of its own.
fn statement_text(text: &str, bare: &[Word]) -> String {
    let mut from = bare.first().map_or(0, |w| w.start);
    if text[..from].ends_with('`') {
        from -= 1;
    }
    let body = plain(text[from..].trim_end_matches(['.', '!', ' ']));
    let mut chars = body.chars();
    let first = body.split(' ').next().unwrap_or_default();
    let is_plain = first.chars().all(char::is_lowercase);
    let body = match chars.next() {
        Some(c) if is_plain => c.to_uppercase().chain(chars).collect(),
        _ => body,
    };
    format!("{body}.")
}

/// Returns the purpose of a procedure ("To release the app:", "When we deploy,") and the words after it.
fn purpose<'w>(said: &'w [Word], text: &str) -> Option<(String, &'w [Word])> {
    let rest = after_leads(said);
    let taken = listed!("purpose").begin(rest).map(|(_, taken)| taken).max()?;
    let words_of = &rest[taken..];
    let end = words_of.iter().position(|w| !w.word && matches!(&text[w.start..w.end], ":" | ",")).unwrap_or(usize::MAX);
    let end =
        end.min(words_of.iter().position(|w| listed!("first").begin(&[*w]).next().is_some()).unwrap_or(usize::MAX));
    if end == usize::MAX || end == 0 || end > 7 {
        return None;
    }
    let named: Vec<Word> = words_of[..end].iter().filter(|w| w.word).copied().collect();
    if named.is_empty() || listed!("pointing").stand(&named) || listed!("one-off").stand(&named) {
        return None;
    }
    let small = &*SMALL;
    let key: Vec<String> =
        named.iter().filter(|w| !small.has_hash(w.hash)).map(|w| singular(&lower(&text[w.start..w.end]))).collect();
    (!key.is_empty()).then(|| (key.join(" "), &words_of[end..]))
}

/// Reads a procedure on one line: "To release: first …, then …".
fn way(text: &str) -> Option<Told> {
    let text = text.trim();
    if text.len() > LONGEST_WAY || text.contains(['?', '？']) || quotes_speech(text) {
        return None;
    }
    let all = unquoted(&split(text, Marks::Kept));
    let (subject, behind) = purpose(&all, text)?;
    let steps = (0..behind.len()).filter(|at| listed!("then").begin(&behind[*at..]).next().is_some()).count();
    let first = (0..behind.len()).any(|at| listed!("first").begin(&behind[at..]).next().is_some());
    let enough = steps >= 2 || first && steps >= 1;
    let doubtful =
        [listed!("hedges"), listed!("reported"), listed!("irony"), listed!("one-off"), listed!("pointing inside")]
            .iter()
            .any(|list| list.stand(behind));
    (enough && !doubtful).then(|| Told::Procedure { subject, text: statement_text(text, after_leads(&all)) })
}

/// Reads a line that announces the steps of a procedure: "Release steps:", "To release:".
fn announced(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    let head = text.strip_suffix(':')?;
    if head.len() > 80 || quotes_speech(head) {
        return None;
    }
    let all = unquoted(&split(text, Marks::Kept));
    if let Some((subject, _)) = purpose(&all, text) {
        return Some((subject, plain(head)));
    }
    let said: Vec<Word> = all.iter().filter(|w| w.word).copied().collect();
    if said.len() > 6
        || !listed!("steps").stand(&said)
        || listed!("pointing").stand(&said)
        || listed!("one-off").stand(&said)
    {
        return None;
    }
    let steps = words!(
        "steps procedure process checklist runbook howto recipe schritte ablauf vorgehen checkliste anleitung how to"
    );
    let small = &*SMALL;
    let key: Vec<String> = said
        .iter()
        .filter(|w| !small.has_hash(w.hash) && !steps.has_hash(w.hash))
        .map(|w| singular(&lower(&text[w.start..w.end])))
        .collect();
    (!key.is_empty()).then(|| (key.join(" "), plain(head)))
}

fn way_of_list((subject, head, steps): (String, String, Vec<String>)) -> Option<Told> {
    let doubtful = |step: &String| {
        let said = unquoted(&split(step, Marks::Dropped));
        step.ends_with('?')
            || step.len() > 200
            || listed!("pointing inside").stand(&said)
            || listed!("hedges").stand(&said)
    };
    if !(2..=12).contains(&steps.len()) || steps.iter().any(doubtful) {
        return None;
    }
    let numbered: Vec<String> =
        steps.iter().enumerate().map(|(n, s)| format!("{}. {}", n + 1, s.trim_end_matches('.'))).collect();
    let text = format!("{head}: {}.", numbered.join("; "));
    (text.len() <= LONGEST_WAY).then_some(Told::Procedure { subject, text })
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
            Told::TakenBack => "taken back".into(),
        }
    }

    #[test]
    fn what_lasts_is_told_from_what_does_not() {
        let mut wrong = Vec::new();
        let mut counts = (0, 0);
        for (name, cases) in sections(include_str!("sentences_cases.txt")) {
            for (message, wanted) in cases.lines().filter_map(|line| line.split_once(" =>")) {
                let found: Vec<String> = told(&message.replace("\\n", "\n")).iter().map(shown).collect();
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

    #[test]
    fn no_message_is_too_odd() {
        for odd in ["", ":", "to :", "the", "The is", "`", "To : first, then, then", "the x is 1\u{301}😀 2"] {
            told(odd);
        }
        told(&"the port is 1. ".repeat(20_000));
    }
}

//! Finds whether two statements give different values for one subject: "The staging database listens on port 6543"
//! after "… on port 5432". Pure.
//!
//! The rules are deliberately narrow: both statements have the same words up to one value, the value comes after the
//! words about the subject, and a thing has only one value of that kind: a number, a day, a language, one of a set that
//! excludes the others (`text/language/values.txt`), or a name where only one is possible ("is hosted on"). Or one says
//! "never" and otherwise the same. Two facts about different things never contradict each other.

use std::sync::LazyLock;

use crate::text::language::{VALUES, section};
use crate::text::patterns::{Phrases, Words, hash, words};
use crate::text::scripts::is_unspaced;
use crate::text::words::{Marks, Word, split};

/// Maximum length of a statement, in bytes; a longer one says more than one thing.
const LONGEST: usize = 240;
/// Maximum number of words of a value.
const VALUE: usize = 3;

macro_rules! listed {
    ($name:literal) => {{
        static LIST: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(section(VALUES, $name)));
        &*LIST
    }};
}

/// The sets of exclusive values, one per line; each value is a group of words with the same meaning.
static EXCLUSIVE: LazyLock<Vec<Vec<Vec<u64>>>> = LazyLock::new(|| {
    let set = |line: &str| line.split_whitespace().map(|same| same.split('|').map(hash).collect()).collect();
    section(VALUES, "exclusive").lines().filter(|l| !l.trim().is_empty()).map(set).collect()
});

/// A statement prepared for comparing.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The words of the statement without function words, each also as it was written.
    words: Vec<Said>,
    /// Whether it says that something is not so, or must not be done.
    negated: bool,
    /// Whether it states a wish, which has one value at a time.
    wish: bool,
}

#[derive(Clone, PartialEq, Debug)]
struct Said {
    word: Word,
    /// The word in lower case.
    low: String,
    raw: String,
}

impl Statement {
    /// Prepares a statement. `None` if it has too few words to compare, or is too long.
    pub fn of(text: &str) -> Option<Statement> {
        let text = text.trim().trim_end_matches(['.', '!', '。', '！']);
        if text.len() > LONGEST || text.contains('\n') || text.ends_with(['?', '？']) {
            return None;
        }
        let all = tokens(text);
        // "Use tabs, not spaces": the rejected value comes last and adds nothing to the rest.
        let instead = (1..all.len()).find(|at| {
            let from: Vec<Word> = all[*at..].iter().map(|s| s.word).collect();
            listed!("instead").eat(&from).is_some_and(|rest| rest.len() <= VALUE) && *at >= 2
        });
        let all = &all[..instead.unwrap_or(all.len())];
        let no = |s: &Said| listed!("no").eat(&[s.word]).is_some();
        static SMALL: LazyLock<Words> = LazyLock::new(|| Words::of(section_small()));
        let small = &*SMALL;
        let negated = all.iter().filter(|s| no(s)).count() % 2 == 1;
        let mut kept: Vec<Said> =
            all.iter().filter(|s| s.word.word && !small.has_hash(s.word.hash) && !no(s)).cloned().collect();
        let wants = listed!("wants");
        let wish = kept.first().is_some_and(|s| wants.eat(&[s.word]).is_some());
        if wish {
            // "I prefer tabs" and "use tabs" say the same.
            kept[0].word.hash = hash("use");
            kept[0].low = "use".into();
        }
        (kept.len() >= 2 || negated && !kept.is_empty()).then_some(Statement { words: kept, negated, wish })
    }

    /// Returns the keys of the statement: statements that contradict each other share one.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        // All wishes share the key "use"; so do negated statements, because "no emojis" has no verb.
        let wish = (self.wish || self.negated).then_some("use");
        let first = self.bare().first().or(self.words.first()).map(|s| s.low.as_str());
        wish.into_iter().chain(first)
    }

    /// Whether this and another statement cannot both hold.
    pub fn contradicts(&self, other: &Statement) -> bool {
        let (a, b) = (self.bare(), other.bare());
        if self.negated != other.negated {
            return a.len() == b.len() && !a.is_empty() && a.iter().zip(b).all(|(a, b)| a.word.hash == b.word.hash);
        }
        if self.negated {
            // "Never push to main" and "never push to master" can both hold.
            return false;
        }
        let (a, b) = (&self.words[..], &other.words[..]);
        let before = a.iter().zip(b).take_while(|(a, b)| a.word.hash == b.word.hash).count();
        let most = a.len().min(b.len()) - before;
        let behind = a.iter().rev().zip(b.iter().rev()).take(most);
        let behind = behind.take_while(|(a, b)| a.word.hash == b.word.hash).count();
        let (one, two) = (&a[before..a.len() - behind], &b[before..b.len() - behind]);
        let (shared, tail) = (&a[..before], &a[a.len() - behind..]);
        let fits = |v: &[Said]| !v.is_empty() && v.len() <= VALUE;
        if shared.is_empty() || !fits(one) || !fits(two) {
            return false;
        }
        let has = |part: &[Said], list: &Phrases| list.stand(&hashes(part));
        let several = |all: &[Said]| has(all, listed!("several at a time")) && !self.wish && !single_noun(shared);
        let adds = |all: &[Said]| has(all, listed!("in addition"));
        if several(a) || several(b) || adds(a) || adds(b) {
            return false;
        }
        // The value comes after the words about the subject; a verb after the value means that the subjects differ.
        let links = listed!("links");
        let verb_last = tail.len() == 1 && shared.len() >= 2;
        if !has(shared, links) && !self.wish || tail.len() > 2 || has(tail, links) && !verb_last {
            return false;
        }
        let kind = kind_of(one, two, shared);
        match kind {
            Kind::Day => !has(a, listed!("past")),
            Kind::Number => shared.len() >= 2 && !has(a, listed!("past")),
            Kind::Exclusive => true,
            Kind::Name => tail.is_empty() && shared.len() >= 2 && ends_in_one_value(shared),
            Kind::Other => false,
        }
    }

    /// Returns the words without the word of the wish.
    fn bare(&self) -> &[Said] {
        if self.wish { &self.words[1..] } else { &self.words }
    }
}

/// The kind of the values that differ.
enum Kind {
    Day,
    Number,
    Exclusive,
    Name,
    Other,
}

fn kind_of(one: &[Said], two: &[Said], shared: &[Said]) -> Kind {
    if let ([a], [b]) = (one, two) {
        for (at, set) in EXCLUSIVE.iter().enumerate() {
            let place = |s: &Said| set.iter().position(|same| same.contains(&s.word.hash));
            if let (Some(x), Some(y)) = (place(a), place(b)) {
                return match (x == y, at < 6) {
                    (true, _) => Kind::Other,
                    (_, true) => Kind::Day,
                    _ => Kind::Exclusive,
                };
            }
        }
        let week = |s: &Said| "一二三四五六日天".contains(s.low.as_str());
        if week(a) && week(b) && shared.last().is_some_and(|s| "周期拜曜".contains(s.low.as_str())) {
            return Kind::Day;
        }
    }
    let number = |part: &[Said]| part.len() == 1 && part[0].low.chars().any(|c| c.is_ascii_digit());
    let same_shape = |a: &Said, b: &Said| {
        a.low.starts_with(|c: char| c.is_ascii_digit()) == b.low.starts_with(|c: char| c.is_ascii_digit())
    };
    if number(one) && number(two) {
        return if same_shape(&one[0], &two[0]) { Kind::Number } else { Kind::Other };
    }
    let name = |part: &[Said]| {
        part.iter()
            .any(|s| s.raw.chars().any(|c| c.is_uppercase() || c.is_ascii_digit() || matches!(c, '/' | '_' | '.')))
    };
    if name(one) && name(two) { Kind::Name } else { Kind::Other }
}

/// Whether the noun before the value names something of which there is only one: "port", "version".
fn single_noun(shared: &[Said]) -> bool {
    let nouns = words!("port version branch region timeout limit address host");
    shared.len() >= 3 && shared.last().is_some_and(|s| nouns.has_hash(s.word.hash))
}

/// Whether the shared words end in a phrase that has only one value: "is hosted on".
fn ends_in_one_value(shared: &[Said]) -> bool {
    let list = listed!("one at a time");
    let all = hashes(shared);
    let is = words!("is ist est es");
    if all.last().is_some_and(|w| is.has_hash(w.hash)) && listed!("one of them").stand(&all) {
        return true;
    }
    (1..all.len()).any(|from| list.begin(&all[from..]).any(|(_, taken)| from + taken == all.len()))
}

fn hashes(part: &[Said]) -> Vec<Word> {
    part.iter().map(|s| s.word).collect()
}

fn section_small() -> &'static str {
    static LIST: LazyLock<String> = LazyLock::new(|| section(VALUES, "small words").replace('|', " "));
    &LIST
}

/// Returns the words of a text; for scripts without spaces, the characters.
fn tokens(text: &str) -> Vec<Said> {
    let mut out = Vec::new();
    for word in split(text, Marks::Dropped) {
        let raw = &text[word.start..word.end];
        if !raw.chars().any(is_unspaced) {
            out.push(said(word, raw));
            continue;
        }
        let mut run = word.start;
        for (at, c) in raw.char_indices() {
            if !is_unspaced(c) {
                continue;
            }
            let at = word.start + at;
            for (from, to) in [(run, at), (at, at + c.len_utf8())].into_iter().filter(|(from, to)| from < to) {
                let part = &text[from..to];
                out.push(said(Word { start: from, end: to, hash: hash(&part.to_lowercase()), ..word }, part));
            }
            run = at + c.len_utf8();
        }
        if run < word.end {
            let part = &text[run..word.end];
            out.push(said(Word { start: run, hash: hash(&part.to_lowercase()), ..word }, part));
        }
    }
    out
}

fn said(word: Word, raw: &str) -> Said {
    // A quoted word is a value like any other.
    Said { word: Word { quoted: false, ..word }, low: raw.to_lowercase(), raw: raw.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::language::sections;

    #[test]
    fn statements_of_one_subject_contradict_each_other_and_no_others() {
        let mut wrong = Vec::new();
        let mut counts = [0, 0];
        for (name, cases) in sections(include_str!("contradiction_cases.txt")) {
            for (a, b) in cases.lines().filter_map(|line| line.split_once(" || ")) {
                let (one, two) = (Statement::of(a), Statement::of(b));
                let both = one.as_ref().zip(two.as_ref());
                let found = both.is_some_and(|(one, two)| one.contradicts(two));
                let back = both.is_some_and(|(one, two)| two.contradicts(one));
                let alike = both.is_some_and(|(one, two)| one.keys().any(|key| two.keys().any(|other| other == key)));
                let expected = name == "contradict";
                counts[usize::from(expected)] += 1;
                if found != expected || back != expected || found && !alike {
                    wrong.push(format!("{name}: {a} || {b}: {found} {back} {alike}"));
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new(), "{}", wrong.join("\n"));
        assert!(counts[0] >= 30 && counts[1] >= 15, "{counts:?}");
    }
}

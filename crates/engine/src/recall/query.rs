//! What was typed, understood: terms for the full-text engine, times, people, and what an embedder is given. Pure: text
//! and what is known in, data out. Whatever stands in a query (operators, quotes, control characters, a hundred
//! kilobytes) it is words: nothing a person types can be a syntax error.
//!
//! `"a phrase"` must occur as it stands; `word*` is a beginning; anything else is wished for, and ranked by how much of
//! it is there. Names with signs inside (`orders_test.rs`, `E0277`, `foo::bar`) are looked for whole and in their parts.
//! Times ("last week", "since June") limit or favour when something was said ([`super::when`]).

use std::collections::HashSet;
use std::ops::Range;

use jiff::tz::TimeZone;

use super::people::{self, Known, Person};
use super::stop_words::{self, Language, is_stop_word};
use super::symbols::{self, words_of};
use super::when::{self, Hold, When};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::scope::AgentId;
use crate::transcript::read;

/// More terms than this add nothing but time.
const MAX_TERMS: usize = 32;

/// Longer input is cut; no question is this long.
const MAX_BYTES: usize = 8 * 1024;

/// One thing to look for, in folded text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    pub text: String,
    /// Matches words that begin with it.
    pub prefix: bool,
    pub kind: Kind,
}

/// What a term is of what was typed. The order is the order in which terms are kept where there are too many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A name or number no other thing is called: `orders_test.rs`, `E0277`, `1.95.0`.
    Exact,
    Word,
    /// Another way to write a name that is looked for whole, too (`refundTwice` of `refund_twice`, the file of a path).
    Variant,
    /// A piece of one (`refund` of `refund_twice`).
    Part,
}

impl Term {
    /// What it counts against a word. Whoever types a name whole means that name.
    pub(super) fn weight(&self) -> f64 {
        match self.kind {
            Kind::Exact => 2.0,
            Kind::Word => 1.0,
            Kind::Variant => 0.5,
            Kind::Part => 0.15,
        }
    }

    /// Asked for as such; variants and pieces are ways to find the same.
    pub(super) fn asked(&self) -> bool {
        matches!(self.kind, Kind::Exact | Kind::Word)
    }

    /// As the full-text engine wants it: a string, so that nothing in it is an operator.
    pub fn expression(&self) -> String {
        let star = if self.prefix { "*" } else { "" };
        format!("\"{}\"{star}", self.text.replace('"', ""))
    }
}

/// What a query is understood with. The engine has no environment: moment, zone and people are given.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub now: Millis,
    /// The operator's, whose days are meant. Turns store no offset of their own.
    pub zone: &'a TimeZone,
    /// People a query may name.
    pub people: &'a [Known],
}

/// A query, understood.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Query {
    /// Must all occur.
    pub phrases: Vec<Term>,
    /// Any may occur: wholes first, then variants, then pieces.
    pub words: Vec<Term>,
    /// Left out as stop words; looked for after all if nothing else is asked for.
    pub dropped: Vec<Term>,
    /// The words of times that are not looked for, in case nothing was said then: a text may have them as they stand.
    pub(super) told: Vec<Term>,
    /// When it was, as the query tells it.
    pub times: Vec<When>,
    /// People it names. Their names are among `words`, too: turns are indexed with their speaker.
    pub people: Vec<Person>,
    /// Input beyond the limits was not used.
    pub cut: bool,
    dense: String,
}

/// Understands a query of an agent as of now: with the people of its conversations and in the zone of its operator,
/// else in the one given (R10.9). Never refuses: what means nothing is an empty query.
pub fn understand(ledger: &Ledger, agent: &AgentId, input: &str, zone: &TimeZone) -> Result<Query> {
    let (said, people) = ledger.read(|tx| {
        let Some(agent_no) = read::agent_no(tx, agent)? else { return Ok((None, Vec::new())) };
        Ok((crate::profile::get(tx, agent_no, "timezone")?, people::known(tx, agent_no, beginning(input))?))
    })?;
    let said = said.and_then(|name| TimeZone::get(&name).ok());
    Ok(Query::parse(input, &Seen { now: ledger.now(), zone: said.as_ref().unwrap_or(zone), people: &people }))
}

impl Query {
    /// Nothing in it can be searched for: no word and no time.
    pub fn is_empty(&self) -> bool {
        !self.has_words() && self.times.is_empty()
    }

    /// There is something to look for in texts.
    pub fn has_words(&self) -> bool {
        !self.phrases.is_empty() || !self.words.is_empty()
    }

    /// Understands a query. Any text is one.
    pub fn parse(input: &str, seen: &Seen) -> Query {
        let text = beginning(input);
        let mut query = Query { cut: text.len() < input.len(), ..Query::default() };
        let quotes = quotes(text);
        for quote in &quotes {
            let phrase = words_of(text[quote.clone()].trim_matches(is_quote));
            if !phrase.is_empty() && query.phrases.len() < MAX_TERMS {
                query.phrases.push(Term { text: phrase, prefix: false, kind: Kind::Word });
            }
        }
        // What is quoted must occur as it stands: it is no time and nobody.
        let outside = blanked(text, quotes.iter().cloned());
        query.times = when::find(&outside, seen.now, seen.zone);
        query.people = people::named(&outside, seen.people);
        let told = query.times.iter().filter(|t| !t.worded).map(|t| t.span.clone());
        let free = blanked(&outside, query.times.iter().map(|t| t.span.clone()));
        query.add_words(&blanked(&outside, told), &free);
        for time in query.times.iter().filter(|t| !t.worded && t.hold == Hold::Wish) {
            let words = typed(&outside[time.span.clone()]).into_iter().flat_map(symbols::terms);
            query.told.extend(words.filter(|t| !is_stop_word(&t.text.to_lowercase(), Language::English)));
        }
        if query.is_empty() {
            query.words.append(&mut query.dropped);
        }
        query.dense = dense(text, &query.times, &query.people);
        query
    }

    /// `free`: the same without anything a time is told in.
    fn add_words(&mut self, text: &str, free: &str) {
        let typed = typed(text);
        let lower: Vec<String> = typed.iter().map(|word| word.to_lowercase()).collect();
        let trimmed = |word: &'_ str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let plain: Vec<String> = lower.iter().map(|word| trimmed(word)).collect();
        let language = stop_words::language(plain.iter().map(String::as_str));
        let mut terms: Vec<Term> = Vec::new();
        for (n, word) in typed.iter().enumerate() {
            if is_stop_word(&plain[n], language) {
                self.dropped.extend(symbols::terms(word).into_iter().filter(Term::asked));
                continue;
            }
            terms.extend(
                symbols::terms(word)
                    .into_iter()
                    .filter(|t| t.asked() || !is_stop_word(&t.text.to_lowercase(), language)),
            );
        }
        terms.extend(numbered(free, language));
        terms.sort_by_key(|t| if t.asked() { Kind::Word } else { t.kind });
        let mut seen = HashSet::new();
        for term in terms.into_iter().filter(|t| seen.insert((t.text.clone(), t.prefix))) {
            if self.words.len() < MAX_TERMS {
                self.words.push(term);
            } else {
                self.cut |= term.asked();
            }
        }
        self.dropped.truncate(MAX_TERMS);
        let mut seen = HashSet::new();
        self.dropped.retain(|t| seen.insert(t.text.clone()));
    }

    /// What an embedder is given: the question without the names of people, without times and quotation marks. Empty
    /// where nothing else was asked.
    pub fn dense_text(&self) -> &str {
        &self.dense
    }

    /// The time nothing outside of is wanted, first and last millisecond: none where the query sets no limit.
    ///
    /// Limits with one end hold together ("since June, before August"); several days are what lies between them. Limits
    /// that exclude each other are none.
    pub fn limit(&self) -> Option<(Millis, Millis)> {
        let limits = || self.times.iter().filter(|t| t.hold == Hold::Limit);
        let closed = || limits().filter_map(|t| t.from.zip(t.until));
        let first = closed().map(|(from, _)| from).min();
        let last = closed().map(|(_, until)| until).max();
        let open = |t: &&When| t.from.is_none() || t.until.is_none();
        let from = limits().filter(open).filter_map(|t| t.from).chain(first).max();
        let until = limits().filter(open).filter_map(|t| t.until).chain(last).min();
        let (from, until) = match (from, until) {
            (None, None) => return None,
            (from, until) => (from.unwrap_or(Millis::MIN), until.map_or(Millis::MAX, |until| until - 1)),
        };
        (from <= until).then_some((from, until))
    }

    /// The same without its limits: what it finds, it finds at any time.
    pub fn unlimited(&self) -> Query {
        let times = self.times.iter().filter(|t| t.hold != Hold::Limit).cloned().collect();
        Query { times, ..self.clone() }
    }

    /// The same with every time it cannot keep told as words: for where nothing was said then.
    pub(super) fn as_words(&self) -> Query {
        let times = self.times.iter().filter(|t| t.hold == Hold::Limit).cloned().collect();
        let words = self.words.iter().chain(&self.told).cloned().collect();
        Query { times, words, told: Vec::new(), ..self.clone() }
    }

    /// The times to look through where there is no word to look for.
    pub(super) fn stretches(&self) -> Vec<(Millis, Millis)> {
        let wishes = self.times.iter().filter(|t| t.hold == Hold::Wish);
        let wishes: Vec<_> =
            wishes.map(|t| (t.from.unwrap_or(Millis::MIN), t.until.map_or(Millis::MAX, |until| until - 1))).collect();
        if wishes.is_empty() { self.limit().into_iter().collect() } else { wishes }
    }

    /// Whether a moment lies in a time the query speaks of without insisting on it. `None`: it speaks of none.
    pub fn favours(&self, at: Option<Millis>) -> Option<bool> {
        let mut wishes = self.times.iter().filter(|t| t.hold == Hold::Wish).peekable();
        wishes.peek()?;
        Some(at.is_some_and(|at| wishes.any(|t| t.holds(at))))
    }

    /// The words of the query as the person wrote them, for a message.
    pub fn shown(&self) -> String {
        let quoted = self.phrases.iter().map(|t| format!("\"{}\"", plain(&t.text)));
        let words = self.words.iter().filter(|t| t.asked()).map(|t| plain(&t.text));
        quoted.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// What of an input is used.
fn beginning(input: &str) -> &str {
    &input[..input.floor_char_boundary(MAX_BYTES)]
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}')
}

/// Quoted stretches with their marks. A mark without its other half is nothing.
fn quotes(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = None;
    for (at, c) in text.char_indices().filter(|(_, c)| is_quote(*c)) {
        match open.take() {
            // „ only opens.
            Some(from) if c != '\u{201e}' => found.push(from..at + c.len_utf8()),
            _ => open = Some(at),
        }
    }
    found
}

/// A text with stretches made blank, everything else where it was.
fn blanked(text: &str, spans: impl Iterator<Item = Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        let (from, to) = (span.start.max(at), span.end.max(at));
        out.push_str(&text[at..from]);
        out.extend(std::iter::repeat_n(' ', to - from));
        at = to;
    }
    out.push_str(&text[at..]);
    out
}

/// The words of a text as they were typed.
fn typed(text: &str) -> Vec<&str> {
    let sign = |c: char| matches!(c, ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}');
    text.split(|c: char| c.is_whitespace() || c.is_control() || sign(c))
        .map(bare)
        .filter(|word| !word.is_empty())
        .collect()
}

/// `HTTP 502`, `issue 123`: a number with what it is the number of.
fn numbered(text: &str, language: Language) -> Vec<Term> {
    let words: Vec<String> = text.split_whitespace().map(words_of).collect();
    let number = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_digit());
    let named = |word: &str| {
        word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphabetic()) && !is_stop_word(&word.to_lowercase(), language)
    };
    words
        .windows(2)
        .filter(|pair| named(&pair[0]) && number(&pair[1]))
        .map(|pair| Term { text: pair.join(" "), prefix: false, kind: Kind::Variant })
        .collect()
}

/// A word without its genitive, elision or contracted verb: `Caroline's`, `l'index`, `we're`. The apostrophe of a name
/// (`O'Brien`) stays.
fn bare(word: &str) -> &str {
    let end = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '*');
    let Some((head, tail)) = end.rsplit_once(['\'', '’']) else { return word };
    let short = tail.to_lowercase();
    match short.as_str() {
        "s" | "re" | "ve" | "ll" | "d" | "m" if head.contains(char::is_alphanumeric) => return head,
        // "didn't": what is left is a word nobody looks for.
        "t" if head.len() > 1 && head.ends_with(['n', 'N']) => return &head[..head.len() - 1],
        _ => {}
    }
    let article = matches!(
        head.to_lowercase().as_str(),
        "l" | "d" | "j" | "m" | "t" | "s" | "n" | "c" | "qu" | "jusqu" | "dell" | "all" | "nell" | "un" | "sull"
    );
    if article { &end[end.len() - tail.len()..] } else { word }
}

fn dense(text: &str, times: &[When], people: &[Person]) -> String {
    let mut spans: Vec<Range<usize>> =
        times.iter().map(|t| t.span.clone()).chain(people.iter().map(|p| p.span.clone())).collect();
    spans.sort_by_key(|s| s.start);
    let bare = blanked(text, spans.into_iter());
    let plain: String = bare.chars().map(|c| if is_quote(c) || c.is_control() { ' ' } else { c }).collect();
    let words = plain.split_whitespace().filter(|w| w.chars().any(char::is_alphanumeric));
    words.map(|w| w.trim_end_matches('*')).collect::<Vec<_>>().join(" ")
}

fn plain(text: &str) -> String {
    text.replace(crate::index::BREAK, "")
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;

//! Parses a query: terms for the full-text engine, times, people, and the text for the embedder. Pure. Whatever a query
//! contains (operators, quotes, control characters, a hundred kilobytes) is treated as words: no input is a syntax
//! error.
//!
//! `"a phrase"` must occur literally; `word*` is a prefix; all other words are optional, and results are ranked by how
//! many of them match. Names with signs inside (`orders_test.rs`, `E0277`, `foo::bar`) are looked for whole and in
//! parts. Times ("last week", "since June") limit results or rank them higher ([`super::when`]).

use std::collections::HashSet;
use std::ops::Range;

use jiff::tz::TimeZone;

use super::asked;
use super::named::{Named, named};
use super::people::{self, Known, Person};
use super::symbols;
use super::when::{self, Hold, Precision, When};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::scope::{AgentId, ThreadNo};
use crate::text::indexed::words_of;
use crate::text::language::stop_words::{self, Language, is_stop_word};
use crate::text::language::{endings, german};
use crate::text::words::runs;
use crate::transcript::read;

/// Largest number of terms; further terms only cost time.
const MAX_TERMS: usize = 32;

/// Largest number of bytes of a query; longer input is cut.
const MAX_BYTES: usize = 8 * 1024;

/// Weight of a word that reports a failure, of which a question about one is given a dozen.
const REPORT: f64 = 0.1;

/// Gain of a turn on the right day, if the query also names an hour.
const DAY_OF_HOUR: f64 = 0.2;

/// One term to look for, in folded text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    pub text: String,
    /// Matches every word that begins with it.
    pub prefix: bool,
    pub kind: Kind,
}

/// How a term relates to what was typed. If there are too many terms, they are kept in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A distinctive name or number: `orders_test.rs`, `E0277`, `1.95.0`.
    Exact,
    /// A phrase in quotation marks among other words: turns that contain it rank first.
    Quoted,
    Word,
    /// Another spelling of an exact name (`refundTwice` of `refund_twice`, the file name of a path).
    Variant,
    /// A piece of an exact name (`refund` of `refund_twice`).
    Part,
    /// A word with which failures are reported, for a question about one.
    Report,
}

impl Term {
    /// Returns the weight of the term relative to a word. A name typed in full weighs most.
    pub(super) fn weight(&self) -> f64 {
        match self.kind {
            Kind::Exact | Kind::Quoted => 2.0,
            Kind::Word => 1.0,
            Kind::Variant => 0.5,
            Kind::Part => 0.15,
            Kind::Report => REPORT,
        }
    }

    /// Whether the person typed the term; variants and parts are only other ways to find it.
    pub fn asked(&self) -> bool {
        matches!(self.kind, Kind::Exact | Kind::Quoted | Kind::Word)
    }

    /// Returns the term as the person wrote it, without signs.
    pub fn written(&self) -> String {
        plain(&self.text)
    }

    /// Returns the term as a quoted string for the full-text engine, so that nothing in it is an operator.
    pub fn expression(&self) -> String {
        let star = if self.prefix { "*" } else { "" };
        format!("\"{}\"{star}", self.text.replace('"', ""))
    }
}

/// Facts that parsing needs besides the text. The caller passes moment, zone and people, because the engine reads no
/// environment.
#[derive(Clone, Copy, Debug)]
pub struct QueryContext<'a> {
    pub now: Millis,
    /// The operator's time zone, which defines days. Turns store no offset of their own.
    pub zone: &'a TimeZone,
    /// People a query may name.
    pub people: &'a [Known],
}

/// A parsed query.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Query {
    /// All of these must occur: the query has phrases in quotation marks and nothing else.
    pub phrases: Vec<Term>,
    /// Any of these may occur: whole terms first, then variants, then parts.
    pub words: Vec<Term>,
    /// Stop words, left out; looked for only if the query has no other words.
    pub dropped: Vec<Term>,
    /// Whether the query has only times; their words are looked for only if nothing was said at those times.
    pub(super) only_times: bool,
    /// Words of times that are not looked for; used if nothing was said then, because a text may contain them
    /// literally.
    pub(super) time_words: Vec<Term>,
    /// The times it mentions.
    pub times: Vec<When>,
    /// The people it names. Their names are among `words`, too: turns are indexed with their speaker.
    pub people: Vec<Person>,
    /// Whether the query asks what a person said, asked, wanted or decided: that person's turns and the answers to them
    /// rank higher.
    pub by_person: bool,
    /// Canonical numbers of the threads it names: turns in them rank higher.
    pub(super) threads: Vec<ThreadNo>,
    /// Number of its words that were made to count little.
    lightened: usize,
    /// Whether input beyond the limits was cut off.
    pub cut: bool,
    /// Whether all of its words are stop words, which are then looked for.
    pub(super) light: bool,
    /// The language it is written in, judged by its function words.
    pub(super) language: Language,
    dense: String,
}

/// Parses a query of an agent as of now, with the people of its conversations and the operator's time zone, or `zone`
/// if none is known (R10.9). Never refuses a text: a text without words is an empty query.
pub fn understand(ledger: &Ledger, agent: &AgentId, input: &str, zone: &TimeZone) -> Result<Query> {
    let named = ledger.read(|tx| match read::agent_no(tx, agent)? {
        Some(agent_no) => named(tx, agent_no, beginning(input)),
        None => Ok(Named::default()),
    })?;
    understand_naming(ledger, agent, input, zone, &named)
}

/// [`understand`], for a caller that already knows what the text names.
pub(super) fn understand_naming(
    ledger: &Ledger,
    agent: &AgentId,
    input: &str,
    zone: &TimeZone,
    named: &Named,
) -> Result<Query> {
    let (said, people) = ledger.read(|tx| {
        let Some(agent_no) = read::agent_no(tx, agent)? else { return Ok((None, Vec::new())) };
        Ok((crate::profile::get(tx, agent_no, "timezone")?, people::known(tx, agent_no, beginning(input))?))
    })?;
    let said = said.and_then(|name| crate::zone::named(&name));
    let context = QueryContext { now: ledger.now(), zone: said.as_ref().unwrap_or(zone), people: &people };
    let mut query = Query::parse(input, &context);
    query.lighten(&named.names.iter().cloned().collect::<Vec<_>>());
    query.threads = named.threads.iter().copied().collect();
    Ok(query)
}

impl Query {
    /// Whether there is nothing to search for: no word and no time.
    pub fn is_empty(&self) -> bool {
        !self.has_words() && self.times.is_empty()
    }

    /// Whether turns with other words may answer the query: it is a question or a topic. A single word, a name with
    /// signs or a phrase is meant literally.
    pub fn is_open(&self) -> bool {
        let asked = self.words.iter().filter(|t| t.asked()).count() + self.lightened;
        self.phrases.is_empty()
            && asked > 1
            && self.words.iter().all(|t| t.kind != Kind::Exact && !(t.prefix && t.asked()))
    }

    /// Whether the query has words to look for.
    pub fn has_words(&self) -> bool {
        !self.phrases.is_empty() || !self.words.is_empty()
    }

    /// Parses a query. Any text is valid.
    pub fn parse(input: &str, context: &QueryContext) -> Query {
        let text = beginning(input);
        let mut query = Query { cut: text.len() < input.len(), ..Query::default() };
        let quotes = quotes(text);
        let mut phrases = Vec::new();
        for quote in &quotes {
            let phrase = words_of(text[quote.clone()].trim_matches(is_quote));
            if !phrase.is_empty() && phrases.len() < MAX_TERMS {
                phrases.push(Term { text: phrase, prefix: false, kind: Kind::Word });
            }
        }
        // Quoted text must occur literally: it is neither a time nor a person.
        let outside = blanked(text, quotes.iter().cloned());
        query.times = when::find(&outside, context.now, context.zone);
        query.people = people::named(&outside, context.people);
        let spans = query.times.iter().filter(|t| !t.worded).map(|t| t.span.clone());
        let free = blanked(&outside, query.times.iter().map(|t| t.span.clone()));
        let asks = asked::about_person(&outside);
        query.by_person = asks.is_some() || query.people.iter().any(|p| p.operator);
        query.add_words(&blanked(&outside, spans), &free);
        query.lighten(&asks.unwrap_or_default());
        // Alone, phrases are meant literally; in a question they only help.
        if free.chars().any(char::is_alphanumeric) {
            query.boost(phrases, text);
        } else {
            query.phrases = phrases;
        }
        for time in query.times.iter().filter(|t| !t.worded && t.hold == Hold::Wish) {
            let words = typed(&outside[time.span.clone()]).into_iter().flat_map(symbols::terms);
            query.time_words.extend(words.filter(|t| !is_stop_word(&t.text.to_lowercase(), Language::English)));
        }
        if query.is_empty() {
            query.words.append(&mut query.dropped);
            query.light = true;
        }
        if query.phrases.is_empty() && query.words.iter().filter(|t| t.asked()).count() > 1 {
            query.add_reports(&outside);
        }
        let nothing_else = |text: &str| {
            let mut words = runs(text, &[]).map(|(_, word)| word.to_lowercase());
            words.all(|word| query.dropped.iter().any(|t| t.text.to_lowercase() == word))
        };
        query.only_times = !query.times.is_empty() && query.phrases.is_empty() && nothing_else(&free);
        query.dense = dense(text, &query.times, &query.people, query.language);
        query
    }

    /// Adds the words of `text` to the query. `free`: the same text with times blanked out.
    fn add_words(&mut self, text: &str, free: &str) {
        let typed = typed(text);
        let lower: Vec<String> = typed.iter().map(|word| word.to_lowercase()).collect();
        let trimmed = |word: &'_ str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let plain: Vec<String> = lower.iter().map(|word| trimmed(word)).collect();
        let language = stop_words::language(plain.iter().map(String::as_str));
        self.language = language;
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
            if language == Language::German {
                let spellings = german::spellings(&trimmed(word)).into_iter();
                terms.extend(spellings.map(|s| Term { text: s.text, prefix: s.prefix, kind: Kind::Variant }));
            }
            if let Some(beginning) = endings::beginning(&trimmed(&lower[n]), language) {
                terms.push(Term { text: beginning.to_owned(), prefix: true, kind: Kind::Variant });
            }
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

    /// Adds the words with which failures are reported, if the text asks what failed.
    fn add_reports(&mut self, text: &str) {
        let reports = asked::reports_of_failure(text).filter(|word| self.words.iter().all(|t| t.text != *word));
        let reports: Vec<Term> =
            reports.map(|word| Term { text: word.into(), prefix: false, kind: Kind::Report }).collect();
        self.words.extend(reports.into_iter().take(MAX_TERMS.saturating_sub(self.words.len())));
    }

    /// Makes the words count little that only say what sort of answer is wanted: the answer to "which colour did I ask
    /// for" need not contain "ask". If the query has no other words, nothing changes.
    fn lighten(&mut self, words: &[String]) {
        let light = |t: &Term| t.kind == Kind::Word && !t.prefix && words.contains(&t.text.to_lowercase());
        if self.words.iter().any(|t| t.asked() && !light(t)) {
            for term in self.words.iter_mut().filter(|t| light(t)) {
                term.kind = Kind::Part;
                self.lightened += 1;
            }
        }
    }

    /// Adds phrases that need not occur, and the words in them.
    fn boost(&mut self, phrases: Vec<Term>, text: &str) {
        let of_quotes = quotes(text).into_iter().map(|quote| text[quote].trim_matches(is_quote));
        let words = of_quotes.flat_map(typed).flat_map(symbols::terms);
        let words = words.filter(|t| !is_stop_word(&t.text.to_lowercase(), self.language));
        let quoted = phrases.into_iter().map(|t| Term { kind: Kind::Quoted, ..t });
        let mut seen = HashSet::new();
        let all = quoted.chain(self.words.drain(..)).chain(words);
        let all = all.filter(|t| seen.insert((t.text.clone(), t.prefix)));
        self.words = all.take(MAX_TERMS).collect();
    }

    /// Returns the text for the embedder: the question without names of people, times and quotation marks. Empty if
    /// nothing else is left.
    pub fn dense_text(&self) -> &str {
        &self.dense
    }

    /// Returns the first and last millisecond the query is limited to; `None` if it sets no limit.
    ///
    /// Limits with one end are combined ("since June, before August"); several days become the range they span. Limits
    /// that exclude each other are ignored.
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

    /// Returns the query without its time limits.
    pub fn unlimited(&self) -> Query {
        let times: Vec<When> = self.times.iter().filter(|t| t.hold != Hold::Limit).cloned().collect();
        Query { only_times: self.only_times && !times.is_empty(), times, ..self.clone() }
    }

    /// Returns the query with its times treated as words, for when nothing was said at those times.
    pub(super) fn as_words(&self) -> Query {
        let times = self.times.iter().filter(|t| t.hold == Hold::Limit).cloned().collect();
        let words = self.words.iter().chain(&self.time_words).cloned().collect();
        Query { times, words, time_words: Vec::new(), ..self.clone() }
    }

    /// Returns the time ranges to list if the query has no word to look for.
    pub(super) fn stretches(&self) -> Vec<(Millis, Millis)> {
        let mut wishes: Vec<&When> = self.times.iter().filter(|t| t.hold == Hold::Wish).collect();
        // "on the 12th around 9": the hour says more than its day.
        if wishes.iter().any(|t| t.is_narrow()) {
            wishes.retain(|t| t.is_narrow());
        }
        let wishes: Vec<_> = wishes
            .iter()
            .map(|t| (t.from.unwrap_or(Millis::MIN), t.until.map_or(Millis::MAX, |until| until - 1)))
            .collect();
        if wishes.is_empty() { self.limit().into_iter().collect() } else { wishes }
    }

    /// Whether a moment is within a time the query mentions without being limited to it. `None` if it mentions none.
    pub fn favours(&self, at: Option<Millis>) -> Option<bool> {
        let mut wishes = self.times.iter().filter(|t| t.hold == Hold::Wish).peekable();
        wishes.peek()?;
        Some(at.is_some_and(|at| wishes.any(|t| t.holds(at))))
    }

    /// Returns what a turn gains by its time, on a scale where the best turn by words has 1: a more exact time gains
    /// more.
    pub(super) fn gain(&self, at: Option<Millis>) -> f64 {
        let Some(at) = at else { return 0.0 };
        let hourly = self.times.iter().any(|t| t.is_narrow() && t.precision == Precision::Hour);
        let wishes = self.times.iter().filter(|t| t.hold == Hold::Wish && t.holds(at));
        // If the query names an hour, its day adds little.
        let gain = |t: &When| if hourly && t.precision != Precision::Hour { DAY_OF_HOUR } else { t.gain() };
        wishes.map(gain).fold(0.0, f64::max)
    }

    /// Whether the query names a time so short that all turns in it can be examined, whatever their words.
    pub(super) fn is_narrow(&self) -> bool {
        self.times.iter().any(When::is_narrow)
    }

    /// Whether the query names a time of day without a day; the latest turns are then searched for it.
    pub(super) fn has_clock(&self) -> bool {
        self.times.iter().any(|t| t.clock.as_ref().is_some_and(|clock| !clock.is_wide()))
    }

    /// Returns the words of the query as the person wrote them, for messages.
    pub fn shown(&self) -> String {
        let quoted = self.phrases.iter().map(|t| format!("\"{}\"", plain(&t.text)));
        let words = self.words.iter().filter(|t| t.asked()).map(|t| match t.kind {
            Kind::Quoted => format!("\"{}\"", plain(&t.text)),
            _ => plain(&t.text),
        });
        quoted.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the part of an input within the limit of bytes.
fn beginning(input: &str) -> &str {
    &input[..input.floor_char_boundary(MAX_BYTES)]
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}')
}

/// Returns the byte ranges of quoted text, including the marks. An unpaired mark is ignored.
fn quotes(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = None;
    for (at, c) in text.char_indices().filter(|(_, c)| is_quote(*c)) {
        match open.take() {
            // „ only opens a quotation.
            Some(from) if c != '\u{201e}' => found.push(from..at + c.len_utf8()),
            _ => open = Some(at),
        }
    }
    found
}

/// Returns the text with some ranges replaced by spaces, so that all other offsets stay.
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

/// Returns the words of a text as typed.
fn typed(text: &str) -> Vec<&str> {
    let sign = |c: char| matches!(c, ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}');
    text.split(|c: char| c.is_whitespace() || c.is_control() || sign(c))
        .map(bare)
        .filter(|word| !word.is_empty())
        .collect()
}

/// Returns each number together with the noun before it: `HTTP 502`, `issue 123`.
fn numbered(text: &str, language: Language) -> Vec<Term> {
    let words: Vec<String> = text.split_whitespace().map(words_of).collect();
    let number = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_digit());
    let noun = |word: &str| {
        word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphabetic()) && !is_stop_word(&word.to_lowercase(), language)
    };
    words
        .windows(2)
        .filter(|pair| noun(&pair[0]) && number(&pair[1]))
        .map(|pair| Term { text: pair.join(" "), prefix: false, kind: Kind::Variant })
        .collect()
}

/// Returns a word without genitive, elision or contracted verb: `Caroline's`, `l'index`, `we're`. A name such as
/// `O'Brien` keeps its apostrophe.
fn bare(word: &str) -> &str {
    let end = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '*');
    let Some((head, tail)) = end.rsplit_once(['\'', '’']) else { return word };
    let short = tail.to_lowercase();
    match short.as_str() {
        "s" | "re" | "ve" | "ll" | "d" | "m" if head.contains(char::is_alphanumeric) => return head,
        // "didn't": the rest is not worth searching for.
        "t" if head.len() > 1 && head.ends_with(['n', 'N']) => return &head[..head.len() - 1],
        _ => {}
    }
    let article = matches!(
        head.to_lowercase().as_str(),
        "l" | "d" | "j" | "m" | "t" | "s" | "n" | "c" | "qu" | "jusqu" | "dell" | "all" | "nell" | "un" | "sull"
    );
    if article { &end[end.len() - tail.len()..] } else { word }
}

/// Returns the text for the embedder. A model trained on one language knows little of another except its function
/// words, and those of a question would make it similar to everything written in that language; they are removed.
fn dense(text: &str, times: &[When], people: &[Person], language: Language) -> String {
    let mut spans: Vec<Range<usize>> =
        times.iter().map(|t| t.span.clone()).chain(people.iter().map(|p| p.span.clone())).collect();
    spans.sort_by_key(|s| s.start);
    let bare = blanked(text, spans.into_iter());
    let plain: String = bare.chars().map(|c| if is_quote(c) || c.is_control() { ' ' } else { c }).collect();
    let light = |w: &str| {
        let word = w.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        language != Language::English && is_stop_word(&word, language)
    };
    let words = plain.split_whitespace().filter(|w| w.chars().any(char::is_alphanumeric) && !light(w));
    words.map(|w| w.trim_end_matches('*')).collect::<Vec<_>>().join(" ")
}

fn plain(text: &str) -> String {
    crate::text::indexed::unfold(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::{parse_rfc3339, rfc3339};

    /// A query asked on Sunday, 22 November 2026, in UTC, by an operator who talks with Caroline and Ann Lee.
    fn query(input: &str) -> Query {
        let people = ["Caroline", "Ann Lee"].map(|name| Known { name: name.into(), operator: false });
        let now = parse_rfc3339("2026-11-22T09:00:00Z").unwrap();
        Query::parse(input, &QueryContext { now, zone: &TimeZone::UTC, people: &people })
    }

    fn words(input: &str) -> Vec<String> {
        query(input).words.iter().map(|t| plain(&t.text) + if t.prefix { "*" } else { "" }).collect()
    }

    #[test]
    fn stop_words_go_and_come_back_when_nothing_else_is_there() {
        assert_eq!(words("why did we drop the redis"), ["drop", "redis"]);
        assert_eq!(words("to be or not to be"), ["to", "be", "or", "not"]);
        assert_eq!(
            words("warum haben wir den Index gelöscht"),
            ["Index", "gelöscht", "index*", "gelöscht*", "geloescht*"]
        );
        assert_eq!(words("die hard"), ["die", "hard"]);
        assert_eq!(words("what did we do yesterday"), [""; 0], "there is a time to look at");
        assert_eq!(words("it's what we'd didn't"), ["it", "what", "we", "did"]);
    }

    #[test]
    fn phrases_prefixes_and_symbols() {
        let q = query("\"unique index\"");
        assert_eq!(q.phrases, [Term { text: "unique index".into(), prefix: false, kind: Kind::Word }]);
        assert!(q.words.is_empty());
        let q = query("which \"unique index\" did we drop");
        assert!(q.phrases.is_empty() && q.is_open());
        assert_eq!(words("which \"unique index\" did we drop"), ["unique index", "drop", "unique", "index"]);
        assert_eq!(query("\"unique index\" yesterday").phrases.len(), 1, "a time is no word");
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
            query("„so nicht“ \"so\" \"").phrases.iter().map(|t| &t.text[..]).collect::<Vec<_>>(),
            ["so nicht", "so"]
        );
    }

    #[test]
    fn nothing_is_a_syntax_error() {
        for (odd, want) in [
            ("", ""),
            ("   ", ""),
            ("\"", ""),
            ("\"\"", ""),
            ("*", ""),
            ("?!", ""),
            ("\u{0}\u{1}", ""),
            ("AND OR NOT", "AND OR NOT"),
            ("NEAR(a b)", "NEAR b"),
            ("a:b^2 -c +d (", "a b 2 c d"),
            ("text : x", "text x"),
            ("[a-z]+\\d{2,}", "a z d 2"),
        ] {
            let q = query(odd);
            assert_eq!((q.shown().as_str(), q.is_empty()), (want, want.is_empty()), "{odd:?}");
        }
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
            ("Caroline \"Caroline said\"", "\"Caroline said\" Caroline said | Caroline said | | | Caroline"),
            ("letzte Woche: warum war der Build rot?", "Build rot | Build rot? | | 2026-11-09..2026-11-16 | "),
            ("refund* \u{0}\u{7}*", "refund | refund | | | "),
            ("", " | | | | "),
        ] {
            // Empty parts leave one space between their separators.
            let tidy = |text: &str| text.split('|').map(str::trim).collect::<Vec<_>>().join(" | ");
            assert_eq!(tidy(&understood(input)), tidy(want), "{input}");
        }
    }

    #[test]
    fn unspaced_scripts_become_phrases_of_characters() {
        assert_eq!(words("東京 タワー"), ["東京", "タワー"]);
        assert_eq!(words("東京タワーのredis設定"), ["東京", "タワー", "redis", "設定", "東京タワーのredis設定", "の"]);
    }

    /// Realistic and absurd input.
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
            // Letters are never ignored: they are looked for, or they are part of a time.
            let letters = beginning(&input).chars().any(|c| c.is_ascii_alphanumeric());
            prop_assert!(!letters || !q.is_empty());
        }
    }
}

//! Finds strong signals: explicit statements in a prompt about the person who typed it (R9.5).
//!
//! A wrong proposal annoys more than a missed one, so only explicit and lasting statements count: "always …", "from now
//! on …", "I prefer …", "my name is …". One-off instructions, questions, hypotheticals, reported speech, quotations and
//! statements about programs or other people do not count. Phrases are matched by whole words, never by substrings,
//! without a model and without backtracking.
//!
//! `prose` finds the author's own sentences with [`crate::text`]; `english`, `europe` and `east` read them; `joined`
//! divides sentences with several statements; `profile` reads values. Each result is only a proposal. Other rooms
//! exclude machine prompts and redact secrets.

mod east;
mod english;
mod europe;
mod joined;
mod profile;
mod prose;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::prose::{Sentence, Token};
use crate::text::patterns::{Phrases, Words, one_of, words};

/// A statement in a prompt about its author, worth proposing as memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Signal {
    pub kind: SignalKind,
    /// At most 80 characters; the same statement in other case or punctuation has the same title.
    pub title: String,
    /// The sentence, or the part with this statement if the sentence makes several; at most 500 characters.
    pub text: String,
    /// Between 0 and 1.
    pub confidence: f64,
    /// The position of the text in the prompt, in bytes.
    pub range: Range<usize>,
}

/// The subject of a signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignalKind {
    /// A way in which the person wants things done, everywhere.
    Preference,
    /// A fact about the person that they asked to be remembered.
    Identity,
    /// A value of the profile: one of `name`, `timezone`, `language`, `pronouns`, `role`, `location`.
    Profile { key: &'static str, value: String },
    /// A way in which things are done in this project: a fact of the workspace.
    Rule,
}

/// Maximum number of signals taken from one prompt.
const MOST: usize = 8;
/// Maximum length of a title, in characters.
const LONGEST_TITLE: usize = 80;

/// Returns the strong signals of a prompt, in the order of the text.
pub fn signals(prompt: &str) -> Vec<Signal> {
    let mut found: Vec<Signal> = Vec::new();
    let mut context = Context::default();
    for sentence in prose::sentences(prompt) {
        let read = read(prompt, &sentence, &context);
        let several = read.iter().filter(|f| !matches!(f.kind, SignalKind::Profile { .. })).count() > 1;
        for one in read {
            let title = match &one.kind {
                SignalKind::Profile { key, value } => profile::title(key, value),
                _ => title(prompt, one.core),
            };
            // A title of one word is not informative.
            let new = !found.iter().any(|f| f.kind == one.kind && f.title.to_lowercase() == title.to_lowercase());
            if new && (title.contains(' ') || !title.is_ascii()) {
                let range = if several { own(one.core) } else { None }.unwrap_or_else(|| sentence.range.clone());
                let text = prompt[range.clone()].to_owned();
                let (kind, confidence) = (one.kind, one.confidence);
                found.push(Signal { kind, title, text, confidence, range });
            }
            if found.len() == MOST {
                return found;
            }
        }
        context.follow(&sentence);
    }
    found
}

/// Returns the range of a statement that is one of several in its sentence.
fn own(core: &[Token]) -> Option<Range<usize>> {
    let (first, last) = (core.iter().find(|t| t.word)?, core.iter().rfind(|t| t.word)?);
    let close = core.iter().find(|t| t.quoted && t.start == last.end && !t.word);
    let open = core.iter().find(|t| t.quoted && t.end == first.start && !t.word);
    Some(open.map_or(first.start, |t| t.start)..close.map_or(last.end, |t| t.end))
}

/// Facts that the preceding sentences imply for the next one.
#[derive(Default)]
struct Context {
    any: bool,
    /// Whether the prompt asks to build something; the next sentences may then specify it.
    task: bool,
    /// Whether the prompt assigns a role ("You are a …"); the next sentences may then describe it.
    persona: bool,
}

impl Context {
    fn follow(&mut self, sentence: &Sentence) {
        self.task |= english::is_task(&sentence.tokens) || europe::is_task(&sentence.tokens);
        self.persona |= !self.any && english::is_persona(&sentence.tokens);
        self.any = true;
    }
}

/// A statement found in a sentence.
struct Found<'t> {
    kind: SignalKind,
    /// The statement without "please", "from now on" and similar phrases.
    core: &'t [Token],
    confidence: f64,
}

fn read<'t>(prompt: &str, sentence: &'t Sentence, context: &Context) -> Vec<Found<'t>> {
    let mut found = english::read(prompt, sentence, context);
    if found.is_empty() {
        found = europe::read(prompt, sentence, context);
    }
    if found.is_empty() {
        found = east::read(prompt, sentence);
    }
    found
}

/// Returns the statement as written, with uniform punctuation characters; in lower case if it was written in capitals.
/// Titles are compared without regard to case.
fn title(prompt: &str, core: &[Token]) -> String {
    let (Some(first), Some(last)) = (core.iter().find(|t| t.word), core.iter().rfind(|t| t.word)) else {
        return String::new();
    };
    let said = &prompt[first.start..last.end];
    let shouted = said.chars().any(char::is_uppercase) && !said.chars().any(char::is_lowercase);
    let mut text = String::new();
    let mut at = first.start;
    for token in core.iter().filter(|t| t.start >= first.start && t.start <= last.start) {
        if prompt[at..token.start].contains(char::is_whitespace) {
            text.push(' ');
        }
        at = token.end;
        let raw = &prompt[token.start..token.end];
        match (token.word, token.quoted) {
            (true, true) => text.push_str(raw),
            (true, false) if shouted => text.push_str(&token.low),
            (true, false) => text.push_str(&raw.replace(['’', '‘', 'ʼ'], "'")),
            // Emphasis marks, final punctuation, and punctuation before a continuation are dropped.
            (false, _) if matches!(raw, "*" | "_" | "." | "!" | "…") => {}
            (false, _) => text.push_str(match raw {
                "“" | "”" | "„" | "«" | "»" => "\"",
                "’" | "‘" => "'",
                "–" | "—" => "-",
                other => other,
            }),
        }
    }
    // A quotation or a bracket at the end gets its closing character.
    if let Some(close) = core.iter().find(|t| t.start == last.end && !t.word) {
        match &prompt[close.start..close.end] {
            mark @ ("\"" | "`" | ")") => text.push_str(mark),
            "”" | "“" | "»" => text.push('"'),
            _ => {}
        }
    }
    cut(&capitalised(&text))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Cuts a text to at most [`LONGEST_TITLE`] characters, between words.
fn cut(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(LONGEST_TITLE) else { return text.to_owned() };
    let head = &text[..end];
    let whole = if text[end..].starts_with(' ') { head } else { head.rsplit_once(' ').map_or(head, |(h, _)| h) };
    whole.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// Returns the tokens after a phrase they begin with; `None` if they begin with none of the phrases.
fn eat<'t>(tokens: &'t [Token], phrases: &Phrases) -> Option<&'t [Token]> {
    phrases.eat(tokens)
}

/// Removes punctuation from the beginning.
fn unmarked(tokens: &[Token]) -> &[Token] {
    let marks =
        tokens.iter().take_while(|t| !t.word && !matches!(t.low.as_str(), "?" | "¿" | "\"" | "“" | "«")).count();
    &tokens[marks..]
}

/// Removes lead-ins such as "please" and "also" from the beginning.
fn led<'t>(mut tokens: &'t [Token], leads: &Phrases) -> &'t [Token] {
    tokens = unmarked(tokens);
    while let Some(rest) = eat(tokens, leads) {
        tokens = unmarked(rest);
    }
    tokens
}

/// The way a clause is joined to the text before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Joint {
    Start,
    Comma,
    Colon,
    /// A semicolon, a dash, a bracket.
    Break,
    /// "and", "but".
    Word,
}

/// Returns the beginnings of the clauses of a sentence.
fn clauses(tokens: &[Token]) -> Vec<(usize, Joint)> {
    let mut found = vec![(0, Joint::Start)];
    for (i, token) in tokens.iter().enumerate() {
        let spaced =
            i > 0 && tokens[i - 1].end < token.start && tokens.get(i + 1).is_some_and(|next| next.start > token.end);
        let joint = match token.low.as_str() {
            _ if token.quoted => continue,
            "," | "，" | "、" => Joint::Comma,
            ":" | "：" => Joint::Colon,
            ";" | "；" | "—" | "–" | "(" => Joint::Break,
            "-" | "." | "!" if spaced || token.low != "-" => Joint::Break,
            _ if i > 0 && one_of(token, words!("and but so und aber et mais y pero")) => Joint::Word,
            _ => continue,
        };
        // ", and" counts as one joint.
        match found.last_mut() {
            Some(last) if last.0 == i && last.1 != Joint::Start => last.0 = i + 1,
            _ => found.push((i + 1, joint)),
        }
    }
    found.retain(|(i, _)| *i < tokens.len());
    found
}

fn has(tokens: &[Token], list: &Words) -> bool {
    tokens.iter().any(|t| t.word && !t.quoted && one_of(t, list))
}

/// Whether one of the phrases occurs outside quotation marks.
fn has_phrase(tokens: &[Token], phrases: &Phrases) -> bool {
    phrases.stand(tokens)
}

fn is_question(tokens: &[Token]) -> bool {
    tokens.iter().rev().take_while(|t| !t.word).any(|t| matches!(t.low.as_str(), "?" | "？"))
}

/// Removes the phrases and punctuation at the end.
fn trimmed<'t>(mut tokens: &'t [Token], tails: &Phrases) -> &'t [Token] {
    let end = |t: &[Token]| t.iter().rposition(|t| t.word).map_or(0, |i| i + 1);
    while let Some(from) = tails.end(&tokens[..end(tokens)]) {
        tokens = &tokens[..from];
    }
    tokens
}

//! Classifies what people and models said, each sentence once. Storey 2.
//!
//! [`read`] divides a message ([`placed`]: the sentences with their place in it), looks up the words of each sentence
//! ([`signs`]: word lists by language in `lists/`), and labels it: first by rules, which are data in `rules.txt`, then
//! by a small linear [`filter`] learned from labelled sentences. `heirloom-lab statements` measures each rule by
//! author, and the filter on authors it has not seen; if the precision is at least 0.8, a label is `sure`.
//!
//! [`about_person`] finds explicit statements of a person about themselves (R9.5): preferences, rules, values of the profile.
//!
//! This room knows no sessions: the rooms above find out whether a request was met or a decision reversed. A statement
//! of a model is never a directive of a person (R14.3).

pub mod about_person;
pub mod filter;
mod lists;
mod paste;
mod placed;
mod promise;
mod rules;
mod signs;
mod source;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use self::paste::{here_documents, is_pair};
use self::placed::Sentence;
pub use self::promise::due;
pub use self::rules::Trust;
pub use self::signs::says_all;
pub use self::source::source_lines;
use crate::text::similarity::Bag;
use crate::text::words::Word;

/// The speaker of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaker {
    Person,
    Model,
}

/// The purpose of a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Label {
    /// A request of a person for work to be done now.
    Request,
    /// A rule to keep for longer than one step.
    Directive,
    /// A choice that is made or agreed.
    Decision,
    /// A promise for later.
    Commitment,
    /// Work that is not done yet.
    Remaining,
    /// A reason for which work cannot go on.
    Blocked,
    /// A report that something is finished, changed or verified.
    Done,
    /// A fact learned about code, data, cause or environment.
    Finding,
    /// A question that asks for an answer or a choice.
    Question,
    /// A proposal of the model for further work, which waits for an answer.
    Offer,
    /// Acceptance, confirmation, thanks.
    Assent,
    /// A refusal, a retraction, or a complaint that something is wrong.
    Reject,
    /// A statement about the person.
    Identity,
    /// Narration, politeness, general explanation.
    Remark,
    /// A log, code, a quoted document: not the speaker's own words.
    Pasted,
}

impl Label {
    /// All labels, in the order in which the filter knows them.
    pub const ALL: [Label; 15] = [
        Label::Request,
        Label::Directive,
        Label::Decision,
        Label::Commitment,
        Label::Remaining,
        Label::Blocked,
        Label::Done,
        Label::Finding,
        Label::Question,
        Label::Offer,
        Label::Assent,
        Label::Reject,
        Label::Identity,
        Label::Remark,
        Label::Pasted,
    ];

    /// Returns the label's name in data files.
    pub fn name(self) -> &'static str {
        match self {
            Label::Request => "request",
            Label::Directive => "directive",
            Label::Decision => "decision",
            Label::Commitment => "commitment",
            Label::Remaining => "remaining",
            Label::Blocked => "blocked",
            Label::Done => "done",
            Label::Finding => "finding",
            Label::Question => "question",
            Label::Offer => "offer",
            Label::Assent => "assent",
            Label::Reject => "reject",
            Label::Identity => "identity",
            Label::Remark => "remark",
            Label::Pasted => "pasted",
        }
    }

    /// Returns the label with this name.
    pub fn of(name: &str) -> Option<Label> {
        Label::ALL.into_iter().find(|label| label.name() == name)
    }
}

/// The reach of a directive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Everywhere: it is about the person.
    Person,
    Project,
    /// Only while this task lasts.
    Task,
}

/// A sentence, or an item of a list, with its label.
#[derive(Clone, Debug)]
pub struct Statement {
    /// One plain line, not yet redacted or cut.
    pub text: String,
    pub label: Label,
    pub second: Option<Label>,
    /// Whether the rule or filter that gave the label is right in at least 80% of cases, as measured; otherwise the
    /// label is a best guess.
    pub sure: bool,
    /// The reach, for a directive.
    pub scope: Option<Reach>,
    /// Whether the sentence is somebody else's, which the message only carries: it binds nobody (R14.3).
    pub relayed: bool,
    /// Whether the sentence can be understood alone, unlike "Put that on the list" and "Same for the other one".
    pub standalone: bool,
    /// Position in the message, in bytes.
    pub range: Range<usize>,
    /// Whether the sentence is in an item of a list.
    pub bullet: bool,
    /// Whether the sentence begins its line; the next sentences of the same item then say more about it.
    pub begins_line: bool,
    /// The state of the item's checkbox, if it has one.
    pub ticked: Option<bool>,
    /// The indentation of the line, in columns.
    pub level: usize,
    /// The heading, or the line that introduces the list ("Next steps:"), as plain text.
    pub heading: Option<String>,
    /// The number of the paragraph.
    pub paragraph: usize,
    pub last_paragraph: bool,
    /// Whether the sentence ends with a question mark.
    pub asks: bool,
    /// The words of a date or deadline: "by Friday, 27 November".
    pub due: Option<String>,
    /// The person to whom something was promised, if the sentence names one.
    pub to: Option<String>,
    /// The marks found by the caller of [`read_marked`].
    pub marks: u32,
    words: usize,
    bag: Bag,
}

impl Statement {
    /// Returns the words of the statement, for comparisons.
    pub fn bag(&self) -> &Bag {
        &self.bag
    }

    /// Replaces the text; `low` is the text in lower case, `words` its words.
    pub fn reword(&mut self, text: &str, low: &str, words: &[Word]) {
        text.clone_into(&mut self.text);
        self.bag = Bag::of_words(low, words);
    }

    /// Returns the number of words.
    pub fn words(&self) -> usize {
        self.words
    }
}

/// Returns the statements of a message, in order. `last`: whether the message is the model's last before the next
/// prompt. Code, tables, logs and quotations are left out if their form shows them. Of a text longer than 24 kB, only
/// 12 kB at either end are read. The cost is linear.
pub fn read(text: &str, speaker: Speaker, last: bool) -> Vec<Statement> {
    read_marked(text, speaker, last, |_, _| 0)
}

/// Reads a message as [`read`] does, and stores with each sentence the marks that `mark` finds: it gets the sentence in
/// lower case, and its words.
pub fn read_marked(text: &str, speaker: Speaker, last: bool, mark: impl Fn(&str, &[Word]) -> u32) -> Vec<Statement> {
    let sentences = placed::sentences(text, speaker, last);
    let mut found: Vec<Statement> = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        let (mut label, likely, sure) = label_of(&sentence);
        let mut second = rules::second(&sentence, label).or(likely);
        if sentence.relayed && binds(label) {
            label = Label::Remark;
        }
        second = second.filter(|label| !(sentence.relayed && binds(*label)));
        let marks = mark(&sentence.low, &sentence.words);
        found.push(Statement { marks, ..statement(sentence, label, second, sure) });
    }
    if speaker == Speaker::Model {
        follow_lists(&mut found);
    }
    found
}

/// Whether what is labelled so binds the one who says it, or those who work for them.
fn binds(label: Label) -> bool {
    matches!(label, Label::Directive | Label::Decision | Label::Commitment | Label::Identity)
}

/// Returns the label of a sentence, the second one if it is nearly as likely, and whether the label is sure.
fn label_of(sentence: &Sentence) -> (Label, Option<Label>, bool) {
    match rules::label(sentence) {
        Some((label, Trust::Sure)) => (label, None, true),
        Some((label, Trust::Likely)) => (label, None, false),
        hinted => filter::label(sentence, hinted.map(|(label, _)| label)),
    }
}

/// Whether a message of a model only says what the model does next: each sentence begins like a step of work or says
/// what the model will do, and none reports, finds, counts or decides anything. A message without a sentence does not.
pub fn only_announces(text: &str) -> bool {
    let begins = lists::LISTS.set("start") | lists::LISTS.set("will");
    let done = lists::LISTS.set("done");
    let sentences = placed::sentences(text, Speaker::Model, false);
    let announces = |s: &Sentence| {
        s.signs.starts & begins != 0
            && s.signs.has & done == 0
            && !s.words.iter().any(|word| s.low[word.start..].starts_with(|c: char| c.is_ascii_digit()))
            && matches!(label_of(s).0, Label::Remark | Label::Commitment | Label::Assent)
    };
    !sentences.is_empty() && sentences.iter().all(announces)
}

/// Relabels items of a list: items of one list mostly have the same label, so the unsure ones get the label of the sure
/// ones, if these all agree.
fn follow_lists(found: &mut [Statement]) {
    let same = |a: &Statement, b: &Statement| a.bullet && b.bullet && a.level == b.level && a.heading == b.heading;
    for list in found.chunk_by_mut(same).filter(|list| list.len() > 2) {
        for label in [Label::Done, Label::Remaining] {
            let sure = list.iter().filter(|s| s.sure && s.label == label).count();
            let other = list.iter().any(|s| s.sure && s.label != label);
            if 3 * sure >= list.len() && !other {
                list.iter_mut().filter(|s| !s.sure && !s.asks).for_each(|s| s.label = label);
            }
        }
    }
}

fn statement(s: Sentence, label: Label, second: Option<Label>, sure: bool) -> Statement {
    let promises = matches!(label, Label::Commitment | Label::Remaining | Label::Request | Label::Decision);
    let bag = Bag::of_words(&s.low, &s.words);
    Statement {
        label,
        second,
        sure,
        scope: (label == Label::Directive).then(|| rules::reach(&s)),
        relayed: s.relayed,
        standalone: rules::stands_alone(&s, &bag),
        range: s.range,
        bullet: s.bullet,
        begins_line: s.begins_line,
        ticked: s.ticked,
        level: s.level,
        heading: s.heading.as_deref().map(str::to_owned),
        paragraph: s.paragraph,
        last_paragraph: s.last_paragraph,
        asks: s.asks,
        due: if promises { promise::due(&s.text) } else { None },
        to: if promises { promise::to(&s.text) } else { None },
        words: s.words.len(),
        marks: 0,
        bag,
        text: s.text,
    }
}

/// Returns what the rules and the filter see of each sentence, for training and measuring only: the features with their
/// weights, and the label of the first rule that holds, with its trust.
pub fn seen(text: &str, speaker: Speaker, last: bool) -> Vec<Seen> {
    let sentences = placed::sentences(text, speaker, last);
    let see = |s: &Sentence| Seen {
        text: s.text.clone(),
        range: s.range.clone(),
        features: filter::features(s, rules::label(s).map(|(label, _)| label)),
        rules: rules::holding(s),
        ruled: rules::label(s),
    };
    sentences.iter().map(see).collect()
}

/// The result of [`seen`] for one sentence.
#[derive(Debug)]
pub struct Seen {
    pub text: String,
    pub range: Range<usize>,
    pub features: Vec<(u32, f32)>,
    /// The line numbers of the rules in `rules.txt` that hold.
    pub rules: Vec<usize>,
    pub ruled: Option<(Label, Trust)>,
}

/// Returns the rules as written, with their labels, for measuring only.
pub fn written_rules() -> Vec<(usize, Label, &'static str)> {
    rules::written()
}

//! Statements: what people and models said, each sentence classified once. Storey 2.
//!
//! [`read`] takes a message apart ([`place`]: the sentences with their place in it), looks up what each says
//! ([`signs`]: word lists by language in `lists/`), and labels it: first by rules, which are data in `rules.txt`, then by
//! a small linear [`filter`] learned from labelled sentences. `heirloom-lab statements` measures each rule by author, and
//! the filter on authors it has not seen; where the precision is .8, a label is `sure`.
//!
//! [`told`] finds what a person says outright about themselves (R9.5): preferences, rules, values of the profile.
//!
//! Knows nothing about sessions: whether a request was met or a decision reversed is found by the rooms above. What a
//! model said is never a directive of a person (R14.3).

pub mod filter;
mod lists;
mod paste;
mod place;
mod promise;
mod rules;
mod signs;
#[cfg(test)]
mod tests;
pub mod told;

use std::ops::Range;

use self::place::Sentence;
pub use self::rules::Trust;
use crate::text::similarity::Bag;
use crate::text::words::Word;

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaker {
    Person,
    Model,
}

/// What a sentence does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Label {
    /// A person asks for work to be done now.
    Request,
    /// A rule to keep for longer than one step.
    Directive,
    /// A choice is made or agreed.
    Decision,
    /// Something is promised for later.
    Commitment,
    /// Something is not done yet.
    Remaining,
    /// Work cannot go on.
    Blocked,
    /// Something is reported finished, changed or verified.
    Done,
    /// A fact learned about code, data, cause or environment.
    Finding,
    /// Asks for an answer or a choice.
    Question,
    /// The model proposes further work and waits.
    Offer,
    /// Accepts, confirms, thanks.
    Assent,
    /// Declines, takes back, says it is wrong.
    Reject,
    /// About the person.
    Identity,
    /// Narration, politeness, general explanation.
    Remark,
    /// A log, code, a quoted document: not said by the speaker.
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

    /// Its name in data files.
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

    /// The label of this name.
    pub fn of(name: &str) -> Option<Label> {
        Label::ALL.into_iter().find(|label| label.name() == name)
    }
}

/// How far a directive reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// About the person, everywhere.
    Person,
    Project,
    /// While this task lasts.
    Task,
}

/// A sentence, or an item of a list, and what it does.
#[derive(Clone, Debug)]
pub struct Statement {
    /// One plain line, not yet redacted or cut.
    pub text: String,
    pub label: Label,
    pub second: Option<Label>,
    /// Whether what gave the label is right in .8 of all cases, as measured; else it is a best guess.
    pub sure: bool,
    /// Of a directive.
    pub scope: Option<Reach>,
    /// Whether it can be understood alone; not "Put that on the list", "Same for the other one".
    pub standalone: bool,
    /// Its place in the text, in bytes.
    pub range: Range<usize>,
    /// An item of a list.
    pub bullet: bool,
    /// Whether it begins its line: what follows in the same item says more about it.
    pub begins_line: bool,
    /// The state of its checkbox, if it has one.
    pub ticked: Option<bool>,
    /// The indentation of its line, in columns.
    pub level: usize,
    /// The heading, or the line that introduces its list ("Next steps:"), plain.
    pub heading: Option<String>,
    /// The number of its paragraph.
    pub paragraph: usize,
    pub last_paragraph: bool,
    /// Whether it ends in a question mark.
    pub asks: bool,
    /// The words of a date or deadline: "by Friday, 27 November".
    pub due: Option<String>,
    /// To whom something was promised, if it is said.
    pub to: Option<String>,
    /// What the caller of [`read_marked`] looked for.
    pub marks: u32,
    words: usize,
    bag: Bag,
}

impl Statement {
    /// Its words, to compare it with others.
    pub fn bag(&self) -> &Bag {
        &self.bag
    }

    /// Gives it another text, which in lower case is `low`, with these words.
    pub fn reword(&mut self, text: &str, low: &str, words: &[Word]) {
        text.clone_into(&mut self.text);
        self.bag = Bag::of_words(low, words);
    }

    /// How many words it has.
    pub fn words(&self) -> usize {
        self.words
    }
}

/// The statements of a message, in order. `last`: the model's final message before the next prompt. Code, tables, logs
/// and quotations are left out where their form shows them. Of a text longer than 24 kB, 12 kB of either end are read;
/// the cost is linear.
pub fn read(text: &str, speaker: Speaker, last: bool) -> Vec<Statement> {
    read_marked(text, speaker, last, |_, _| 0)
}

/// [`read`], and what `mark` finds in each sentence: in lower case, with its words.
pub fn read_marked(text: &str, speaker: Speaker, last: bool, mark: impl Fn(&str, &[Word]) -> u32) -> Vec<Statement> {
    let sentences = place::sentences(text, speaker, last);
    let mut found: Vec<Statement> = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        let (label, likely, sure) = match rules::label(&sentence) {
            Some((label, Trust::Sure)) => (label, None, true),
            Some((label, Trust::Likely)) => (label, None, false),
            hinted => filter::label(&sentence, hinted.map(|(label, _)| label)),
        };
        let second = rules::second(&sentence, label).or(likely);
        let marks = mark(&sentence.low, &sentence.words);
        found.push(Statement { marks, ..statement(sentence, label, second, sure) });
    }
    if speaker == Speaker::Model {
        follow_lists(&mut found);
    }
    found
}

/// The items of one list do mostly the same: what is not sure follows what is, if that is all of one kind.
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

/// What the rules and the filter see of each sentence: for training and measuring only. The numbers of features, each
/// with its weight, and the label of the first rule that holds with its name.
pub fn seen(text: &str, speaker: Speaker, last: bool) -> Vec<Seen> {
    let sentences = place::sentences(text, speaker, last);
    let see = |s: &Sentence| Seen {
        text: s.text.clone(),
        range: s.range.clone(),
        features: filter::features(s, rules::label(s).map(|(label, _)| label)),
        rules: rules::holding(s),
        ruled: rules::label(s),
    };
    sentences.iter().map(see).collect()
}

/// See [`seen`].
#[derive(Debug)]
pub struct Seen {
    pub text: String,
    pub range: Range<usize>,
    pub features: Vec<(u32, f32)>,
    /// The numbers of the lines of `rules.txt` that hold.
    pub rules: Vec<usize>,
    pub ruled: Option<(Label, Trust)>,
}

/// The rules as written, with their labels: for measuring only.
pub fn written_rules() -> Vec<(usize, Label, &'static str)> {
    rules::written()
}

//! Applies the rules of `rules.txt`: the first rule whose conditions hold gives the label.

use std::sync::LazyLock;

use super::lists::{LISTS, Set};
use super::paste::is_pair;
use super::placed::Sentence;
use crate::text::similarity::Bag;

use super::{Label, Reach, Speaker, promise};

const RULES: &str = include_str!("rules.txt");

/// A condition, and whether it is negated.
struct Guard {
    test: Test,
    not: bool,
}

enum Test {
    Has(Set),
    Starts(Set),
    Clause(Set),
    Ends(Set),
    Under(Set),
    Opens(Set),
    Before(Set),
    Fewer(usize),
    More(usize),
    Is(Fact),
}

/// A fact about the place or shape of a sentence.
#[derive(Clone, Copy)]
enum Fact {
    Last,
    Asks,
    Bullet,
    Ticked,
    Unticked,
    Alone,
    First,
    BeginsLine,
    LastParagraph,
    Colon,
    Quoted,
    Terminal,
    BehindTerminal,
    Recorded,
    Page,
    HereDocument,
    Mail,
    Announced,
    MayBeAnnounced,
    Document,
    AfterMachine,
    BeforeMachine,
    Mostly,
    Setting,
    Pair,
    Stamp,
    Code,
    Headed,
    Choice,
    Dated,
}

const FACTS: [(&str, Fact); 30] = [
    ("last", Fact::Last),
    ("asks", Fact::Asks),
    ("bullet", Fact::Bullet),
    ("ticked", Fact::Ticked),
    ("unticked", Fact::Unticked),
    ("alone", Fact::Alone),
    ("first", Fact::First),
    ("begins-line", Fact::BeginsLine),
    ("last-paragraph", Fact::LastParagraph),
    ("colon", Fact::Colon),
    ("quoted", Fact::Quoted),
    ("terminal", Fact::Terminal),
    ("behind-terminal", Fact::BehindTerminal),
    ("recorded", Fact::Recorded),
    ("page", Fact::Page),
    ("here-document", Fact::HereDocument),
    ("mail", Fact::Mail),
    ("announced", Fact::Announced),
    ("may-be-announced", Fact::MayBeAnnounced),
    ("document", Fact::Document),
    ("after-machine", Fact::AfterMachine),
    ("before-machine", Fact::BeforeMachine),
    ("mostly-machine", Fact::Mostly),
    ("setting", Fact::Setting),
    ("pair", Fact::Pair),
    ("stamp", Fact::Stamp),
    ("code", Fact::Code),
    ("headed", Fact::Headed),
    ("choice", Fact::Choice),
    ("dated", Fact::Dated),
];

/// The trust in a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// Right in at least 80% of cases, on authors the rule was not made from.
    Sure,
    /// Right more often than the filter.
    Likely,
    /// Only a hint to the filter.
    Hint,
}

struct Rule {
    /// Line number in the file.
    line: usize,
    label: Label,
    trust: Trust,
    speaker: Option<Speaker>,
    guards: Vec<Guard>,
}

static COMPILED: LazyLock<Vec<Rule>> = LazyLock::new(|| lines().filter_map(|(n, line)| rule(n, line)).collect());

fn lines() -> impl Iterator<Item = (usize, &'static str)> {
    let lines = RULES.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Parses a line: label, trust, speaker, conditions. Returns `None` if the line is no rule (a test looks for such
/// lines).
fn rule(line: usize, text: &str) -> Option<Rule> {
    let mut words = text.split_ascii_whitespace();
    let label = Label::of(words.next()?)?;
    let trust = match words.next()? {
        "sure" => Trust::Sure,
        "likely" => Trust::Likely,
        "hint" => Trust::Hint,
        _ => return None,
    };
    let speaker = match words.next()? {
        "person" => Some(Speaker::Person),
        "model" => Some(Speaker::Model),
        "any" => None,
        _ => return None,
    };
    let guards = words.map(guard).collect::<Option<Vec<_>>>()?;
    Some(Rule { line, label, trust, speaker, guards })
}

fn guard(word: &str) -> Option<Guard> {
    let (not, word) = word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
    let test = if let Some((kind, names)) = word.split_once(':') {
        let mut set = 0;
        for name in names.split('|') {
            let one = LISTS.set(&name.replace('_', " "));
            if one == 0 {
                return None;
            }
            set |= one;
        }
        match kind {
            "has" => Test::Has(set),
            "starts" => Test::Starts(set),
            "clause" => Test::Clause(set),
            "ends" => Test::Ends(set),
            "under" => Test::Under(set),
            "opens" => Test::Opens(set),
            "before" => Test::Before(set),
            _ => return None,
        }
    } else if let Some(most) = word.strip_prefix("words<") {
        Test::Fewer(most.parse().ok()?)
    } else if let Some(least) = word.strip_prefix("words>") {
        Test::More(least.parse().ok()?)
    } else {
        Test::Is(FACTS.iter().find(|(name, _)| *name == word)?.1)
    };
    Some(Guard { test, not })
}

impl Rule {
    fn holds(&self, s: &Sentence) -> bool {
        self.speaker.is_none_or(|who| who == s.speaker) && self.guards.iter().all(|g| g.test.holds(s) != g.not)
    }
}

impl Test {
    fn holds(&self, s: &Sentence) -> bool {
        match self {
            Test::Has(set) => s.signs.has & set != 0,
            Test::Starts(set) => s.signs.starts & set != 0,
            Test::Clause(set) => s.signs.clause & set != 0,
            Test::Ends(set) => s.signs.ends & set != 0,
            Test::Under(set) => s.under & set != 0,
            Test::Opens(set) => s.opens & set != 0,
            Test::Before(set) => s.before & set != 0,
            Test::Fewer(n) => s.length < *n,
            Test::More(n) => s.length > *n,
            Test::Is(fact) => fact.holds(s),
        }
    }
}

impl Fact {
    fn holds(self, s: &Sentence) -> bool {
        match self {
            Fact::Last => s.last,
            Fact::Asks => s.asks,
            Fact::Bullet => s.bullet,
            Fact::Ticked => s.ticked == Some(true),
            Fact::Unticked => s.ticked == Some(false),
            Fact::Alone => s.alone,
            Fact::First => s.first,
            Fact::BeginsLine => s.begins_line,
            Fact::LastParagraph => s.last_paragraph,
            Fact::Colon => s.colon,
            Fact::Quoted => s.quoted,
            Fact::Terminal => s.shape.terminal,
            Fact::BehindTerminal => s.shape.behind_terminal,
            Fact::Recorded => s.shape.recorded,
            Fact::Page => s.shape.page,
            Fact::HereDocument => s.shape.here_document,
            Fact::Mail => s.shape.mail,
            Fact::Announced => s.shape.announced,
            Fact::MayBeAnnounced => s.shape.may_be_announced,
            Fact::Document => s.shape.document,
            Fact::AfterMachine => s.shape.after_machine,
            Fact::BeforeMachine => s.shape.before_machine,
            Fact::Mostly => s.shape.machine >= 2,
            Fact::Setting => s.shape.setting,
            Fact::Pair => is_pair(&s.text),
            Fact::Stamp => s.shape.stamp,
            Fact::Code => s.shape.code >= 4,
            Fact::Headed => s.heading.is_some(),
            // Bullets below a question are the options of an answer, so they are no work.
            Fact::Choice => s.heading.as_deref().is_some_and(|heading| heading.ends_with(['?', '？'])),
            Fact::Dated => promise::due(&s.text).is_some(),
        }
    }
}

/// Returns the label the rules give, and their trust in it.
pub fn label(s: &Sentence) -> Option<(Label, Trust)> {
    COMPILED.iter().find(|rule| rule.holds(s)).map(|rule| (rule.label, rule.trust))
}

/// Returns a second label beside `first`: that of the next trusted rule with a label that is rarer than a request or a
/// report.
pub fn second(s: &Sentence, first: Label) -> Option<Label> {
    use Label::{Commitment, Decision, Directive, Identity, Remaining};
    let rare = [Directive, Decision, Commitment, Remaining, Identity];
    let fits = |rule: &&Rule| rule.label != first && rare.contains(&rule.label) && rule.trust != Trust::Hint;
    COMPILED.iter().filter(fits).find(|rule| rule.holds(s)).map(|rule| rule.label)
}

/// Returns the line numbers of all rules that hold.
pub fn holding(s: &Sentence) -> Vec<usize> {
    COMPILED.iter().filter(|rule| rule.holds(s)).map(|rule| rule.line).collect()
}

/// Returns the rules as written.
pub fn written() -> Vec<(usize, Label, &'static str)> {
    let text = |line: usize| RULES.lines().nth(line - 1).unwrap_or_default();
    COMPILED.iter().map(|rule| (rule.line, rule.label, text(rule.line))).collect()
}

/// Returns the reach of a directive.
pub fn reach(s: &Sentence) -> Reach {
    let set = |name: &str| LISTS.set(name);
    if s.signs.has & set("task only") != 0 && s.signs.has & set("standing") == 0 {
        Reach::Task
    } else if s.signs.has & (set("project") | set("things")) != 0 {
        Reach::Project
    } else if s.signs.has & (set("prefer") | set("standing") | set("me")) != 0 {
        Reach::Person
    } else {
        Reach::Task
    }
}

/// Whether a sentence can be understood without its neighbours: it does not begin with a word that points elsewhere,
/// and it is not a short sentence with such a word.
pub fn stands_alone(s: &Sentence, bag: &Bag) -> bool {
    let pointing = LISTS.set("pointing");
    if s.signs.starts & pointing != 0 {
        return false;
    }
    if s.signs.has & pointing == 0 || s.length > 12 {
        return s.length > 1;
    }
    // "Put that on the list" and "do it" are short sentences about something named elsewhere.
    bag.len() > 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_rule() {
        let wrong: Vec<_> = lines().filter(|(n, line)| rule(*n, line).is_none()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

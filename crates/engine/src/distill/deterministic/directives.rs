//! Constraints: what only the user told the assistant to do or not to do beyond the task itself.

use super::cues::Cue;
use super::list::{List, Noted};
use super::sentences::Sentence;
use crate::lineage::distillate::Item;
use crate::memory::signals::{Signal, SignalKind};
use crate::scope::TurnId;
use crate::text::headings::Topic;
use crate::text::language::sayings;
use crate::text::similarity::Bag;

/// The user's directives so far.
#[derive(Debug)]
pub struct Directives {
    list: List,
}

impl Directives {
    pub fn new(before: Option<&[Item]>) -> Directives {
        Directives { list: List::carrying(20, before) }
    }

    /// A prompt by the user.
    pub fn hear(&mut self, turn: TurnId, seq: usize, signals: &[Signal], sentences: &[Sentence]) {
        for s in sentences {
            if is_retraction(s) {
                let about = s.bag();
                // One common word is enough: retractions are short.
                self.list.retain(|n| {
                    about.shared(&n.bag) < 2.min(n.bag.len()) && !(n.bag.len() <= 4 && about.shared(&n.bag) > 0)
                });
                continue;
            }
            if let Some((clause, weight)) = directive(s) {
                // Each of several directives can be retracted alone.
                for part in parted(s, clause) {
                    self.add(part, turn, weight, seq);
                }
            }
        }
        for signal in signals {
            if matches!(signal.kind, SignalKind::Preference | SignalKind::Rule) {
                self.add(&signal.text, turn, 4, seq);
            }
        }
    }

    fn add(&mut self, text: &str, turn: TurnId, weight: u8, seq: usize) {
        let Some(mut noted) = Noted::new(text, turn, weight, seq) else { return };
        let negative = is_negative(&noted.item.text);
        let mut known = false;
        self.list.retain(|old| {
            // A directive replaces an earlier, opposite one.
            let shared = old.bag.shared(&noted.bag);
            if shared > 0
                && shared == old.bag.len()
                && shared == noted.bag.len()
                && is_negative(&old.item.text) != negative
            {
                return false;
            }
            // A clause and the whole sentence of the same prompt are one directive.
            if old.seq != seq {
                return true;
            }
            known |= noted.item.text.contains(&old.item.text);
            known || !old.item.text.contains(&noted.item.text)
        });
        if !known {
            noted.seq = seq;
            self.list.put(noted);
        }
    }

    pub fn into_items(self) -> Vec<Item> {
        self.list.into_items()
    }
}

fn is_negative(text: &str) -> bool {
    sayings!("negates").stand_in(text)
}

/// Whether a sentence is a directive rather than a request.
pub fn is_directive(s: &Sentence) -> bool {
    directive(s).is_some_and(|(clause, _)| clause.len() * 2 > s.text.len())
}

/// Whether the user takes a directive back.
pub fn is_retraction(s: &Sentence) -> bool {
    if s.asks() || s.pasted || s.is_quotation() {
        return false;
    }
    let start = s.start();
    // "You can push to main now."
    let allowed = matches!(s.word(start), "you" | "we" | "du" | "ihr")
        && matches!(s.word(start + 1), "can" | "may" | "darfst" | "kannst" | "dürft")
        && (start + 2..s.len()).any(|i| matches!(s.word(i), "now" | "again" | "anymore" | "jetzt" | "wieder"));
    allowed || s.hit(Cue::Retraction).is_some_and(|h| !s.before(Cue::Hypothesis, h.from))
}

/// The clause that directs, and its weight.
fn directive(s: &Sentence) -> Option<(&str, u8)> {
    if s.pasted || s.is_quotation() || s.len() < 2 || s.len() > 70 {
        return None;
    }
    if s.under == Some(Topic::Rules) && s.bullet && !s.asks() && s.len() <= 45 {
        return Some((&s.text, 3));
    }
    let polite = s.asks() && s.begins(Cue::Request) && s.has(Cue::Negation);
    if s.asks() && !polite {
        return None;
    }
    for hit in s.hits() {
        let reported = s.before(Cue::Reported, hit.from);
        let found = match hit.cue {
            Cue::Directive if s.clause_starts(hit.from) && !reported => weigh_directive(s, hit.from, hit.to),
            Cue::Rule if !reported => weigh_rule(s, hit.from, hit.to),
            _ => None,
        };
        let Some(weight) = found else { continue };
        // A whole "if …, do …" is kept; a task before a directive is not part of it.
        let conditional = s.before(Cue::Hypothesis, hit.from);
        let start = s.clause_of(hit.from);
        if hit.cue == Cue::Directive && !conditional && start > 0 && s.before_is_request(start) {
            return Some((s.text_from(start), weight));
        }
        return Some((&s.text, weight));
    }
    polite.then_some((s.text.as_str(), 2))
}

/// Splits "Don't change the API and never touch the fixtures" into its directives. One that depends on another stays
/// with it.
fn parted<'s>(s: &'s Sentence, clause: &'s str) -> Vec<&'s str> {
    let leans = s.says(sayings!("leans"));
    let first = s.hits().iter().position(|h| h.cue == Cue::Directive && s.clause_starts(h.from));
    let (Some(first), false) = (first, leans || s.has(Cue::Hypothesis)) else { return vec![clause] };
    let mut parts = Vec::new();
    let (mut rest, mut begins) = (clause, s.hits()[first].to);
    for hit in s.hits()[first + 1..].iter().filter(|h| h.cue == Cue::Directive) {
        let own = hit.from > begins + 1 && s.clause_starts(hit.from) && weigh_directive(s, hit.from, hit.to) == Some(3);
        let tail = s.text_from(s.clause_of(hit.from));
        let Some(head) = rest.strip_suffix(tail).filter(|_| own) else { continue };
        parts.push(trimmed(head));
        (rest, begins) = (tail, hit.to);
    }
    parts.push(rest);
    parts
}

/// Without the marks and the conjunction before the next clause.
fn trimmed(head: &str) -> &str {
    let bare = |t: &'_ str| t.trim_end_matches([' ', ',', ';', ':', '—', '–', '-']).len();
    let mut end = bare(head);
    for word in [" and", " but", " und", " aber", " then", " so"] {
        if head[..end].ends_with(word) {
            end = bare(&head[..end - word.len()]);
            break;
        }
    }
    &head[..end]
}

/// "The server always answers, and never sleeps": a verb in the third person describes something else.
fn describes_another(s: &Sentence, at: usize, next: &str) -> bool {
    next.len() > 3
        && next.ends_with('s')
        && !next.ends_with("ss")
        && s.hits().iter().any(|h| {
            h.from > 0
                && h.from < at
                && matches!(s.word(h.from), "always" | "never")
                && !s.clause_starts(h.from)
                && !matches!(s.word(h.from - 1), "i" | "we" | "to" | "please" | "should" | "must" | "you")
        })
}

fn weigh_directive(s: &Sentence, from: usize, to: usize) -> Option<u8> {
    let (word, next) = (s.word(from), s.word(to));
    if matches!(word, "always" | "never") && describes_another(s, from, next) {
        return None;
    }
    let gerund = next.ends_with("ing");
    let fits = match word {
        "don't" | "dont" | "do" if word != "do" || s.word(from + 1) == "not" => {
            !matches!(
                next,
                "worry"
                    | "bother"
                    | "know"
                    | "think"
                    | "mind"
                    | "you"
                    | "we"
                    | "they"
                    | "i"
                    | "understand"
                    | "forget"
                    | "see"
                    | "get"
                    | "have"
                    | ""
            ) && !matches!(s.word(from.wrapping_sub(1)), "i" | "we" | "they" | "you" | "who" | "which" | "that" | "why")
        }
        "do" => false,
        "never" => !matches!(next, "mind" | "ever" | "") && s.subjectless(from),
        "always" => !next.is_empty() && s.subjectless(from),
        "no" | "zero" => {
            s.clause_starts(from)
                && s.len() - from <= 9
                && s.adjoins(from)
                && !matches!(
                    next,
                    "idea"
                        | "problem"
                        | "worries"
                        | "rush"
                        | "thanks"
                        | "thank"
                        | "it"
                        | "that"
                        | "this"
                        | "i"
                        | "luck"
                        | "change"
                        | "not"
                        | "one"
                        | "the"
                        | "they"
                        | "we"
                        | "you"
                        | "wonder"
                        | "difference"
                )
                && !s.has(Cue::Done)
        }
        "stop" => gerund,
        "skip" => gerund || matches!(next, "all" | "any"),
        "keep" => {
            !matches!(next, "going" | "working" | "it" | "trying" | "on" | "up" | "me" | "" | "at")
                || s.word(to + 1) == "simple"
                || s.word(to + 1) == "short"
        }
        "follow" => !matches!(next, "up" | "" | "these"),
        "use" => !next.is_empty() && s.len() >= 2,
        "nothing" => s.len() <= 12 && !s.has(Cue::Done),
        "only" => !matches!(next, "then" | "one" | "problem" | "") && s.subjectless(from),
        "without" => false,
        "kein" | "keine" | "keinen" | "pas" | "sin" | "nicht" | "ohne" => s.len() <= 8,
        "make" => s.word(from + 1) == "sure",
        "lass" | "mach" | "mache" | "stelle" | "halte" => true,
        _ => !next.is_empty() || to - from > 1,
    };
    if !fits {
        return None;
    }
    Some(match word {
        "never" | "always" | "don't" | "dont" | "do" | "avoid" | "only" | "under" | "ensure" | "make" | "no"
        | "nie" | "niemals" | "immer" | "jamais" | "toujours" | "nunca" | "siempre" | "stop" | "hands" | "prefer" => 3,
        _ => 2,
    })
}

fn weigh_rule(s: &Sentence, from: usize, to: usize) -> Option<u8> {
    let (word, next) = (s.word(from), s.word(to));
    if s.before(Cue::Hypothesis, from) && !s.joint_before(from) {
        return None;
    }
    match word {
        "must" | "muss" => (!matches!(next, "have" | "admit" | "say" | "be" if next != "be" || matches!(s.word(to + 1), "a" | "something" | "the")))
            .then_some(if s.begins(Cue::Later) { 1 } else { 2 }),
        "should" | "shouldn't" => {
            let vague = matches!(next, "have" | "work" | "do" | "be" | "i" | "we" | "know" | "probably" | "now" | "" | "see" | "fix" | "help")
                && to - from == 1;
            let subject = matches!(s.word(from.wrapping_sub(1)), "it" | "that" | "this" | "what" | "which" | "there" | "why" | "how");
            let asked = matches!(s.word(from.wrapping_sub(1)), "why" | "how" | "what");
            let complains = subject && s.low().contains(" but ");
            (!vague && !asked && !complains).then_some(1)
        }
        "it's" | "it" => Some(2),
        "has" | "have" | "needs" | "need" => (to - from > 1).then_some(1),
        "allowed" => s.has(Cue::Negation).then_some(2),
        "deadline" => (s.len() >= 3).then_some(2),
        _ => Some(2),
    }
}

/// What the user no longer wants at all: "forget about the dashboard".
pub fn dropped(s: &Sentence) -> Option<Bag> {
    let gives_up = s.says(sayings!("gives up"));
    (gives_up && !s.asks() && !s.pasted).then(|| s.bag().clone())
}

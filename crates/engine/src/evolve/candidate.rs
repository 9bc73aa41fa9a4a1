//! Joins the findings of a project into candidates: memories worth keeping, each with its evidence (R9.4, R11.3). Pure.
//!
//! A candidate is based on two sessions, or on an explicit sentence of a person. A statement that a person has
//! retracted since, or that a newer statement contradicts, is no candidate.

use std::collections::{BTreeMap, BTreeSet};

use super::conflict::{are_two_things, contradicts};
use super::reader::{Finding, Kind, TOLD};
use super::sentences::{self, Told};
use super::{commands, grammar};
use crate::clock::Millis;
use crate::memory::Class;
use crate::scope::{SessionNo, TurnId};
use crate::text::denial::denials;
use crate::text::patterns::words;
use crate::text::plain::lower;
use crate::text::similarity::Bag;

/// A finding with the session it is from.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    pub session_no: SessionNo,
    /// The session whose words these are: an earlier one, if the message is a copy of a message there.
    pub source: SessionNo,
    pub session: String,
    pub finding: Finding,
}

/// One piece of evidence: the sentence or command, with its session and turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    pub session: String,
    pub turn: TurnId,
    pub text: String,
}

/// A memory that would be worth keeping.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    pub class: Class,
    /// Subject of the statement: another statement with the same subject and another value replaces it.
    pub subject: String,
    /// Key that identifies the statement; decisions about it are found by this key.
    pub key: String,
    pub text: String,
    /// Between 0 and 1.
    pub confidence: f64,
    /// Number of sessions that show it, without copies of the same message.
    pub sessions: usize,
    /// Evidence, newest first, at most [`EVIDENCE`] pieces.
    pub evidence: Vec<Evidence>,
    pub at: Option<Millis>,
    /// The model that found it, if nothing of it was found without one.
    pub model: Option<String>,
    /// Ids of memories that, according to a model, no longer hold because of it.
    pub contradicts: Vec<String>,
}

/// Maximum number of pieces of evidence kept with a candidate.
pub const EVIDENCE: usize = 5;

/// Number of sessions from which more do not make a command a better choice than a shorter one.
const NEWEST: usize = 5;

/// Number of sessions from which an obvious command counts, such as `cargo test`.
const OBVIOUS: usize = 3;

/// Confidence of an explicit sentence of a person, said in one session and in two.
const SAID_ONCE: f64 = 0.80;
const SAID_TWICE: f64 = 0.88;

/// Returns the confidence of a command by the number of sessions in which it succeeded: 0.80 for two, 0.88 for three;
/// more sessions add little.
fn of_sessions(sessions: usize) -> f64 {
    (0.64 + 0.08 * sessions as f64).min(0.95)
}

/// Returns the candidates of one project, best first.
pub fn candidates(findings: &[Stored]) -> Vec<Candidate> {
    let mut out = commands_of(findings);
    out.extend(facts_of(findings));
    out.extend(procedures_of(findings));
    out.extend(blockers_of(findings));
    let order = |c: &Candidate| ((c.confidence * 100.0) as i64, c.sessions, c.at);
    out.sort_by(|a, b| order(b).cmp(&order(a)).then_with(|| a.key.cmp(&b.key)));
    out
}

/// Returns the evidence, the number of sessions and the newest time of the findings that show a candidate.
fn evidence(mut of: Vec<&Stored>) -> (Vec<Evidence>, usize, Option<Millis>) {
    of.sort_by_key(|s| std::cmp::Reverse((s.finding.at, s.session_no)));
    let sessions: BTreeSet<SessionNo> = of.iter().map(|s| s.source).collect();
    let at = of.first().and_then(|s| s.finding.at);
    let each = |s: &&Stored| Evidence {
        session: s.session.clone(),
        turn: s.finding.turns.last().copied().unwrap_or(TurnId(0)),
        text: s.finding.sentence.clone(),
    };
    (of.iter().take(EVIDENCE).map(each).collect(), sessions.len(), at)
}

fn of_kind(findings: &[Stored], kind: Kind) -> BTreeMap<&str, Vec<&Stored>> {
    let mut out: BTreeMap<&str, Vec<&Stored>> = BTreeMap::new();
    for stored in findings.iter().filter(|s| s.finding.kind == kind && s.finding.times > 0) {
        out.entry(stored.finding.subject.as_str()).or_default().push(stored);
    }
    out
}

/// Returns when each command was first found in this way.
fn first_of(findings: &[Stored], kind: Kind) -> BTreeMap<&str, (Option<Millis>, SessionNo)> {
    let mut out = BTreeMap::new();
    for stored in findings.iter().filter(|s| s.finding.kind == kind && s.finding.times > 0) {
        let at = (stored.finding.at, stored.session_no);
        let first = out.entry(stored.finding.value.as_str()).or_insert(at);
        *first = at.min(*first);
    }
    out
}

/// Returns candidates like "Tests run with `just ci`", each with the command that most of the newest sessions used.
fn commands_of(findings: &[Stored]) -> Vec<Candidate> {
    let mut subjects = of_kind(findings, Kind::Command);
    // A command that a text from outside gave is none of this project's, in no later session either, unless it was run
    // before that or the person gave it.
    let (ran, borrowed, given) =
        (first_of(findings, Kind::Command), first_of(findings, Kind::Borrowed), first_of(findings, Kind::Given));
    let is_own = |command: &str| match borrowed.get(command) {
        Some(borrowed) => given.contains_key(command) || ran.get(command).is_some_and(|ran| ran < borrowed),
        None => true,
    };
    for of in subjects.values_mut() {
        of.retain(|s| is_own(&s.finding.value));
    }
    subjects.retain(|_, of| !of.is_empty());
    let whole = |s: &&&str| !s.contains(" in ");
    let several = |what: &str| {
        subjects.keys().filter(whole).filter(|s| s.contains(" of ") && s.split(" of ").next() == Some(what)).count() > 1
    };
    let mut out = Vec::new();
    for (subject, mut of) in subjects.clone() {
        of.sort_by_key(|s| std::cmp::Reverse((s.finding.at, s.session_no)));
        let mut uses: BTreeMap<&str, Vec<SessionNo>> = BTreeMap::new();
        for stored in of.iter().rev() {
            let sessions = uses.entry(stored.finding.value.as_str()).or_default();
            if !sessions.contains(&stored.session_no) {
                sessions.push(stored.session_no);
            }
        }
        // Sessions in the order of time: one command took another's place if its first use came after the last of that.
        let order: Vec<SessionNo> = of.iter().rev().map(|s| s.session_no).collect();
        let place = |session: &SessionNo| order.iter().position(|s| s == session);
        // An obvious command says something only if it is the one that is always run.
        let least = |command: &str| if commands::is_plain(subject, command) { OBVIOUS } else { 2 };
        let habits: Vec<(&str, &Vec<SessionNo>)> =
            uses.iter().map(|(c, s)| (*c, s)).filter(|(_, sessions)| sessions.len() >= 2).collect();
        let replaced = |sessions: &[SessionNo]| {
            habits.iter().any(|(_, other)| other.first().and_then(place) > sessions.last().and_then(place))
        };
        let mut current: Vec<(&str, &Vec<SessionNo>)> =
            habits.iter().copied().filter(|(c, sessions)| sessions.len() >= least(c) && !replaced(sessions)).collect();
        current.sort_by_key(|(c, sessions)| (std::cmp::Reverse(sessions.len().min(NEWEST)), c.len()));
        for (rank, (command, sessions)) in current.into_iter().enumerate() {
            let least = least(command);
            let all: Vec<&Stored> = of.iter().filter(|s| s.finding.value == *command).copied().collect();
            debug_assert!(!sessions.is_empty());
            let (evidence, sessions, at) = evidence(all);
            let what = subject.split(" of ").next().unwrap_or(subject).split(" in ").next().unwrap_or(subject);
            let part = subject.split_once(" in ").map(|(_, part)| part).unwrap_or_default();
            let text = match (what, several(what) && subject.contains(" of ")) {
                ("job", _) => format!("`{command}` works here."),
                ("types", _) if !part.is_empty() => format!("Types ({part}) are checked with `{command}`."),
                (what, _) if !part.is_empty() => format!("{} ({part}) run with `{command}`.", title(what)),
                ("deployments" | "releases", _) => format!("{} go out with `{command}`.", title(what)),
                ("types", _) => format!("Types are checked with `{command}`."),
                ("all checks", _) => format!("All checks run with `{command}`."),
                ("formatting", _) => format!("Code is formatted with `{command}`."),
                (what, false) => format!("{} run with `{command}`.", title(what)),
                (what, true) => {
                    format!("{} ({}) run with `{command}`.", title(what), subject.split(" of ").nth(1).unwrap_or(""))
                }
            };
            out.push(Candidate {
                class: Class::Fact,
                // A memory supersedes another one with its subject, and only one is the first choice.
                subject: if rank == 0 {
                    format!("command: {subject}")
                } else {
                    format!("command: {subject} {command}")
                },
                key: format!("command: {subject} = {command}"),
                text,
                confidence: if least == OBVIOUS { SAID_ONCE } else { of_sessions(sessions) },
                sessions,
                evidence,
                at,
                model: None,
                contradicts: Vec::new(),
            });
        }
    }
    out
}

fn title(what: &str) -> String {
    let mut chars = what.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns the facts that people stated. If two contradict each other, the newer one holds; a retracted fact is left
/// out.
fn facts_of(findings: &[Stored]) -> Vec<Candidate> {
    let facts: Vec<&Stored> = findings.iter().filter(|s| s.finding.kind == Kind::Fact && s.finding.times > 0).collect();
    let gone: Vec<&Stored> =
        findings.iter().filter(|s| s.finding.kind == Kind::Retraction && s.finding.times > 0).collect();
    let mut values: BTreeMap<(&str, &str), Vec<&Stored>> = BTreeMap::new();
    for stored in &facts {
        values.entry((stored.finding.subject.as_str(), stored.finding.value.as_str())).or_default().push(stored);
    }
    let newest =
        |of: &[&Stored]| of.iter().map(|s| (s.finding.at, s.session_no, s.finding.turns.last().copied())).max();
    let mut out = Vec::new();
    for ((subject, value), of) in &values {
        let last = newest(of);
        let is_later = |s: &&Stored| Some((s.finding.at, s.session_no, s.finding.turns.last().copied())) > last;
        if gone.iter().filter(|s| is_later(s)).any(|s| takes_back(&s.finding, subject, value, &of[0].finding.sentence))
        {
            continue;
        }
        if facts.iter().filter(|s| is_later(s)).any(|s| of.iter().any(|o| contradicts(&s.finding, &o.finding))) {
            continue;
        }
        let text = of.iter().max_by_key(|s| s.finding.at).map(|s| s.finding.sentence.clone()).unwrap_or_default();
        let (evidence, sessions, at) = evidence(of.clone());
        out.push(Candidate {
            class: Class::Fact,
            subject: format!("fact: {subject}"),
            key: format!("fact: {subject} = {value}"),
            text: text.clone(),
            confidence: match made_by(of) {
                // Doubt, report and irony are known in these languages only, so in others a person decides.
                Some(_) if !sentences::is_read(&text) => sure(SAID_ONCE, of),
                _ => sure(if sessions > 1 { SAID_TWICE } else { SAID_ONCE }, of),
            },
            sessions,
            evidence,
            at,
            model: made_by(of),
            contradicts: contradicted(of),
        });
    }
    out
}

/// Returns the model of findings, unless one of them was found without a model.
fn made_by(of: &[&Stored]) -> Option<String> {
    let mut all = of.iter().map(|s| s.finding.by.as_ref().map(|by| by.model.clone()));
    if of.iter().any(|s| s.finding.by.is_none()) { None } else { all.next().flatten() }
}

/// Limits a confidence to that of the model, if only a model found it.
fn sure(confidence: f64, of: &[&Stored]) -> f64 {
    let surest = of.iter().map(|s| s.finding.by.as_ref().map_or(1.0, |by| by.confidence)).fold(0.0, f64::max);
    confidence.min(surest)
}

fn contradicted(of: &[&Stored]) -> Vec<String> {
    let mut ids: Vec<String> =
        of.iter().filter_map(|s| s.finding.by.as_ref().and_then(|by| by.contradicts.clone())).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Whether a retraction is about a statement. It names the same value beside a word of the subject. If it names none, it
/// is about nothing that the statement does not mention, and denies no other predicate: "the admin UI doesn't support
/// dark mode any more" says nothing about its protocol.
pub fn takes_back(gone: &Finding, subject: &str, value: &str, sentence: &str) -> bool {
    let (mut said, about, values) = (stems(&bag(&gone.subject)), stems(&bag(subject)), stems(&bag(value)));
    let gone_values = stems(&bag(&gone.value));
    if are_two_things(&gone.subject, subject, &[&gone.value, value]) {
        return false;
    }
    let mut all: BTreeSet<String> = about.union(&values).cloned().collect();
    all.extend(stems(&bag(sentence)));
    if !gone_values.is_empty() {
        let known = said.intersection(&all).count();
        let same = gone_values == values || !values.is_empty() && gone_values.iter().all(|v| all.contains(v));
        return same
            && (said.is_subset(&about)
                || about.is_subset(&said)
                || 2 * known > said.len()
                || gone_values.len() > 1
                || known > 0 && gone_values.iter().all(|v| !v.starts_with(|c: char| c.is_ascii_digit())));
    }
    // A pronoun names nothing by itself: its sentence has to name the value elsewhere.
    let words = said.len();
    said.retain(|w| !words!("it es they them him her sie ihn").has(w));
    if said.len() < words && stems(&bag(&gone.sentence)).is_disjoint(&values) {
        return false;
    }
    if denied(&gone.sentence, &said).is_some_and(|verb| !said.contains(&verb) && !all.contains(&verb)) {
        return false;
    }
    let known = said.intersection(&all).count();
    let names_value = said.intersection(&values).count() > 0;
    // Beside the value, one of three words may be a verb that the other sentence lacks.
    let enough = known == said.len() || names_value && known >= 2 && known + 1 >= said.len();
    enough && known > 0 && (known > 1 || said.intersection(&about).count() > 0 && about.len() <= 2 || names_value)
}

/// Returns the stem of the verb that a retraction denies: "support" of "the admin UI doesn't support it any more". Only
/// the clause that says most about its subject is read. `None`: it denies that its subject exists or counts at all.
fn denied(sentence: &str, subject: &BTreeSet<String>) -> Option<String> {
    let about = |clause: &&str| stems(&bag(clause)).intersection(subject).count();
    let clause = sentence.split([',', ';']).rev().max_by_key(about)?;
    let mark = |c: char| !c.is_alphanumeric();
    let words: Vec<String> = clause.split_whitespace().map(|w| lower(w.trim_matches(mark)).replace('’', "'")).collect();
    let no =
        words!("not don't doesn't didn't isn't aren't won't can't cannot no longer any more anymore be been being to");
    let first = words!("not don't doesn't didn't isn't aren't won't can't cannot longer");
    let behind = words.iter().skip_while(|w| !first.has(w)).find(|w| !no.has(w))?;
    let counts = words!("apply applies applied count counts hold holds matter matters exist exists");
    if counts.has(behind) {
        return None;
    }
    stems(&bag(behind)).into_iter().next()
}

/// Number of letters of a word that are compared, because endings differ.
const STEM: usize = 6;

/// Returns the words of a text that tell what it is about, in one form: no units, and no words that only say that
/// something is in use.
pub(super) fn bag(text: &str) -> BTreeSet<String> {
    let mark = |c: char| !c.is_alphanumeric();
    let light = words!(
        "minute minutes min mins second seconds sec hour hours day days week weeks month months year years mb gb kb ms percent \
         euro euros minuten stunden tage sekunden used use needed required supported valid active exist exists there longer more \
         any now gone dropped removed retired ditched abandoned scrapped decommissioned discontinued abolished got rid stopped using"
    );
    let of = text.split_whitespace().map(|w| lower(w.trim_matches(mark)));
    of.filter(|w| !w.is_empty() && !light.has(w)).map(|w| grammar::singular(&w)).collect()
}

/// Returns the beginnings of words, for comparing them whatever their endings.
pub(super) fn stems(words: &BTreeSet<String>) -> BTreeSet<String> {
    words.iter().map(|w| w.chars().take(STEM).collect()).collect()
}

/// Returns a statement as a finding, for comparisons with others. `None`: the text states no fact.
pub fn fact_of(text: &str) -> Option<Finding> {
    let told = sentences::told(text).into_iter().find_map(|told| match told {
        Told::Fact { subject, value, text, changed } => Some((Kind::Fact, subject, value, text, changed)),
        Told::Retraction { subject, value, text } => Some((Kind::Retraction, subject, value, text, true)),
        _ => None,
    });
    let (kind, subject, value, sentence, changed) = told?;
    Some(Finding { kind, subject, value, sentence, changed, times: 1, turns: Vec::new(), at: None, by: None })
}

/// Returns procedures in a person's words: for each subject the newest.
fn procedures_of(findings: &[Stored]) -> Vec<Candidate> {
    let mut out = Vec::new();
    for (subject, of) in of_kind(findings, Kind::Procedure) {
        let Some(newest) = of.iter().max_by_key(|s| (s.finding.at, s.session_no)) else { continue };
        let text = newest.finding.sentence.clone();
        let (evidence, sessions, at) = evidence(of.clone());
        out.push(Candidate {
            class: Class::Procedure,
            subject: format!("procedure: {subject}"),
            key: format!("procedure: {subject} = {}", lower(&text)),
            text,
            confidence: sure(SAID_ONCE, &of),
            sessions,
            evidence,
            at,
            model: made_by(&of),
            contradicts: contradicted(&of),
        });
    }
    out
}

/// Minimum number of runs in which a command was not allowed.
const REFUSALS: u32 = 2;

/// Returns commands that were repeatedly refused, or not permitted.
fn blockers_of(findings: &[Stored]) -> Vec<Candidate> {
    let mut out = Vec::new();
    for (subject, of) in of_kind(findings, Kind::Blocker) {
        let told: Vec<&Stored> = of.iter().filter(|s| s.finding.value == TOLD).copied().collect();
        if let Some(newest) = told.iter().max_by_key(|s| (s.finding.at, s.session_no)) {
            let text = newest.finding.sentence.clone();
            let (evidence, sessions, at) = evidence(told.clone());
            out.push(Candidate {
                class: Class::Blocker,
                subject: format!("blocker: {subject}"),
                key: format!("blocker: {subject} {TOLD}"),
                text,
                confidence: if sessions > 1 { SAID_TWICE } else { SAID_ONCE },
                sessions,
                evidence,
                at,
                model: None,
                contradicts: Vec::new(),
            });
        }
        for how in ["refused", "denied"] {
            let of: Vec<&Stored> = of.iter().filter(|s| s.finding.value == how).copied().collect();
            let times: u32 = of.iter().map(|s| s.finding.times).sum();
            if times < REFUSALS {
                continue;
            }
            let text = match how {
                "refused" => format!("`{subject}` was refused {times} times: ask before running it."),
                _ => format!("`{subject}` is not permitted here: permission was denied {times} times."),
            };
            let (evidence, sessions, at) = evidence(of);
            out.push(Candidate {
                class: Class::Blocker,
                subject: format!("blocker: {subject} {how}"),
                // The count is not part of the key, so that a decision also holds when the count grows.
                key: format!("blocker: {subject} {how}"),
                text,
                confidence: 0.75,
                sessions,
                evidence,
                at,
                model: None,
                contradicts: Vec::new(),
            });
        }
    }
    out
}

/// The parts of a text that count in comparisons: its words, its numbers and paths, and whether it contains a "no".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gist {
    bag: Bag,
    hard: BTreeSet<String>,
    denies: bool,
}

impl Gist {
    pub fn of(text: &str) -> Gist {
        let mark = |c: char| !c.is_alphanumeric();
        let words: Vec<String> = text.split_whitespace().map(|w| lower(w.trim_matches(mark))).collect();
        let is_hard = |w: &&String| w.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_'));
        let ends = words!("longer anymore");
        let denies = denials(text) > 0 || words.iter().any(|w| ends.has(w));
        Gist { bag: Bag::of(text), hard: words.iter().filter(is_hard).cloned().collect(), denies }
    }

    /// Whether both texts say the same. Two texts that differ in a number, a path or a "no" do not.
    pub fn is_like(&self, other: &Gist) -> bool {
        self.hard == other.hard && self.denies == other.denies && self.bag.is_like(&other.bag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evolve::reader::By;

    fn said(session: i64, kind: Kind, subject: &str, value: &str, sentence: &str) -> Stored {
        Stored {
            session_no: SessionNo(session),
            source: SessionNo(session),
            session: format!("little:{session}"),
            finding: Finding {
                kind,
                subject: subject.into(),
                value: value.into(),
                sentence: sentence.into(),
                changed: false,
                times: 1,
                turns: vec![TurnId(session * 10)],
                at: Some(session),
                by: None,
            },
        }
    }

    fn texts(findings: &[Stored]) -> Vec<String> {
        candidates(findings).into_iter().map(|c| format!("{:.2} {}", c.confidence, c.text)).collect()
    }

    #[test]
    fn a_command_needs_two_sessions_and_the_newest_form_wins() {
        let ran = |session, command| said(session, Kind::Command, "tests", command, command);
        assert_eq!(texts(&[ran(1, "just ci")]), Vec::<String>::new());
        assert_eq!(texts(&[ran(1, "just ci"), ran(2, "just ci")]), ["0.80 Tests run with `just ci`."]);
        let changed = [1, 2, 3].map(|n| ran(n, "make check")).into_iter().chain([4, 5, 6].map(|n| ran(n, "just ci")));
        assert_eq!(texts(&changed.collect::<Vec<_>>()), ["0.88 Tests run with `just ci`."]);
        assert_eq!(
            texts(&[ran(1, "cargo test"), ran(2, "cargo test")]),
            Vec::<String>::new(),
            "it goes without saying"
        );
    }

    #[test]
    fn the_newer_statement_holds_and_what_was_taken_back_does_not() {
        let port = |session, value: &str| {
            let text = format!("The staging database is on port {value}.");
            said(session, Kind::Fact, "staging database port", value, &text)
        };
        assert_eq!(texts(&[port(1, "5433"), port(2, "6000")]), ["0.80 The staging database is on port 6000."]);
        assert_eq!(texts(&[port(1, "5433"), port(2, "5433")]), ["0.88 The staging database is on port 5433."]);
        let gone = said(3, Kind::Retraction, "staging database port", "5433", "It is no longer on port 5433.");
        assert_eq!(texts(&[port(1, "5433"), gone.clone()]), Vec::<String>::new());
        assert_eq!(texts(&[gone, port(4, "5433")]), ["0.80 The staging database is on port 5433."]);
    }

    /// Doubt, report and irony are known in English and German only.
    #[test]
    fn what_only_a_model_reads_waits_for_a_yes() {
        let by_model = |session, text: &str| {
            let mut found = said(session, Kind::Fact, "serveur", "redis", text);
            let by = By { model: "made/up".into(), confidence: 0.95, contradicts: None };
            found.finding.by = Some(by);
            found
        };
        let of = |text: &str| candidates(&[by_model(1, text), by_model(2, text)])[0].confidence;
        assert_eq!(of("The server keeps its sessions in Redis."), SAID_TWICE);
        assert_eq!(of("Le serveur garde les sessions dans Redis pour tous les clients."), SAID_ONCE);
    }

    #[test]
    fn what_was_taken_back_is_named() {
        let fact = |session, subject: &str, value: &str, text: &str| said(session, Kind::Fact, subject, value, text);
        let of = |text: &str| {
            let mut gone = fact_of(text).unwrap_or_else(|| panic!("{text}: no statement"));
            assert_eq!(gone.kind, Kind::Retraction, "{text}");
            (gone.turns, gone.at) = (vec![TurnId(90)], Some(9));
            let facts = [
                fact(1, "admin ui", "rest", "The admin UI talks REST."),
                fact(2, "admin ui", "hetzner", "The admin UI is served from Hetzner."),
                fact(3, "admin ui", "ie11", "The admin UI supports IE11."),
            ];
            let gone = Stored { finding: gone, ..said(9, Kind::Retraction, "", "", "") };
            let left = candidates(&[&facts[..], &[gone]].concat());
            let mut left: Vec<String> = left.into_iter().map(|c| c.text.replace("The admin UI ", "")).collect();
            left.sort();
            left.join(" ")
        };
        let all = "is served from Hetzner. supports IE11. talks REST.";
        let without_ie11 = "is served from Hetzner. talks REST.";
        for (text, left) in [
            ("Forget IE11, the admin UI doesn't support it any more", without_ie11),
            ("IE11 support was dropped", without_ie11),
            ("The admin UI doesn't support it any more", all),
            ("The admin UI doesn't cache pages any more.", all),
            ("The admin UI export is gone", all),
            ("The admin UI is no longer served from Hetzner.", "supports IE11. talks REST."),
            ("The admin UI was decommissioned", ""),
            ("The admin UI doesn't exist any more", ""),
        ] {
            assert_eq!(of(text), left, "{text}");
        }
    }

    #[test]
    fn a_newer_statement_ends_an_older_one_however_it_is_said() {
        let fact = |text: &str| fact_of(text).unwrap_or_else(|| panic!("{text} states nothing"));
        let ends = |old: &str, new: &str| {
            let (old, new) = (fact(old), fact(new));
            match new.kind {
                Kind::Retraction => takes_back(&new, &old.subject, &old.value, &old.sentence),
                _ => contradicts(&new, &old),
            }
        };
        for (old, new) in [
            ("CI runs on Jenkins.", "CI runs on Woodpecker now."),
            ("CI runs on Jenkins.", "We moved CI from Jenkins to Woodpecker."),
            ("We keep all times in UTC.", "It's not true that we keep times in UTC, it's Europe/Berlin."),
            ("The lockers phone home every 90 seconds.", "Lockers phone home every 5 minutes now, to save data."),
            ("Uploads go to the bucket lockbox-a.", "Uploads no longer go to the bucket lockbox-a."),
            ("The API is deployed to Fly.io.", "The API isn't deployed to Fly.io any more, it runs on Hetzner."),
            (
                "Rehearsal plans come out on Fridays.",
                "Rehearsal plans no longer come out on Fridays, it's Wednesday now.",
            ),
            ("Inge is the QA contact.", "Inge is no longer the QA contact, it's Pablo"),
            ("We fit the rating curves with R 4.4.", "we've upgraded to R 4.5"),
            ("Jobs may run at most 36 hours.", "the limit on the cluster went down from 36 to 24 hours"),
            ("Invoices are due after 21 days.", "Zahlungsziel ist jetzt 14 Tage statt 21"),
            ("Unsere CAT-Software ist memoQ 11.", "Wir sind von memoQ auf Phrase umgestiegen."),
            ("Rush jobs cost 40 % extra.", "we raised the rush surcharge to 50 %"),
            (
                "Blasting plans need the signature of Dr. Achterberg",
                "Dr. Achterberg left in May; Ms. Oyelaran signs the blasting plans",
            ),
            ("Appointments are 20 min long.", "Regular appointments are 25 minutes now"),
            ("Our maps are in EPSG:25832.", "We've switched the survey to EPSG:4647"),
            ("The volunteers' chat is on Signal", "the volunteers aren't on Signal any longer, they use Threema"),
            ("The tent holds 900 people", "The tent holds only 750 people from this year on"),
            ("The paper is written in Typst.", "we gave up on Typst, it was too new"),
        ] {
            assert!(ends(old, new), "{old} | {new}");
        }
        for (old, new) in [
            ("The session limit is 20.", "The login limit is not 20 any more, it's 30"),
            ("The forecast cache TTL is 20 minutes", "The session TTL went from 20 to 30 minutes"),
            ("The TTL of logins is 30 minutes.", "we raised the TTL of the routing cache to 45 minutes"),
            ("The frontend needs Node 20.", "We've upgraded to R 4.5"),
            ("Invoices are due after 21 days.", "the backups are kept 14 weeks instead of 21"),
        ] {
            assert!(!ends(old, new), "{old} | {new}");
        }
    }

    #[test]
    fn a_newer_statement_about_another_thing_of_its_kind_ends_nothing() {
        let fact = |text: &str| fact_of(text).unwrap_or_else(|| panic!("{text} states nothing"));
        let mut wrong = Vec::new();
        for (old, new) in [
            ("The photo service listens on port 7202.", "The courier service listens on port 8101 now."),
            ("The photo service listens on port 7202.", "The courier service listens on port 8101."),
            ("The photo worker uses Postgres 15.", "The courier worker uses Postgres 17 now."),
            ("Staging runs on host a12.", "Production runs on host b34 now."),
            ("The staging database is on port 5439.", "The production database is on port 5440 now."),
            ("Backups run at 3 at night.", "Reports run at 4 at night now."),
            ("The web app needs Node 20.", "The admin app needs Node 24 now."),
            ("The frontend needs Node 20.", "The backend needs Node 24 now."),
            (
                "The courier service of staging listens on port 7101.",
                "The courier service of production listens on port 8101 now.",
            ),
            ("The port of the photo service is 7202.", "The port of the courier service is 8101 now."),
            ("The port of the photo service is 7202.", "The courier service listens on port 8101 now."),
            ("The invoice service listens on port 7404.", "We moved the audit service from port 7404 to port 7505."),
            ("The invoice service listens on port 7404.", "The audit service moved from port 7404 to 7505."),
            ("The invoice worker uses RabbitMQ.", "We moved the audit worker from RabbitMQ to NATS."),
            ("The photo team is on Slack.", "The courier team isn't on Slack any longer, they use Threema"),
            (
                "Invoices are generated on the 3rd of each month.",
                "Reminders are now generated on the 5th of each month.",
            ),
            ("The Berlin warehouse closes at 18:00.", "The Munich warehouse closes at 20:00 now."),
            ("The retention of the audit logs is 30 days.", "The retention of the access logs is 90 days now."),
            ("Der Fotodienst lauscht auf Port 7202.", "Der Kurierdienst lauscht jetzt auf Port 8101."),
            ("Logins last 30 minutes.", "Invitations last 60 minutes now."),
            ("The courier service of staging listens on port 7101.", "The courier service listens on port 8101 now."),
            ("The courier service listens on port 7101.", "The staging courier service listens on port 8101 now."),
            ("The photo worker uses RabbitMQ.", "The courier worker no longer uses RabbitMQ."),
            ("We use Postgres 15 for the photo worker.", "We use Postgres 17 for the courier worker now."),
            ("The photo worker runs on Postgres 15.", "We've upgraded the courier worker to Postgres 17."),
            ("The map tiles live in the bucket tiles-a.", "The photo tiles moved from tiles-b to tiles-c."),
            ("Staging uses Postgres 15.", "Production uses Postgres 17 now."),
            ("The daily report goes out at 8:00.", "The weekly report goes out at 9:00 now."),
            ("The photo service's port is 7202.", "The courier service's port is 8101 now."),
            ("The web app needs Node 20.", "We've upgraded the admin app from Node 20 to Node 24."),
        ] {
            let (old, new) = (fact(old), fact(new));
            let ends = match new.kind {
                Kind::Retraction => takes_back(&new, &old.subject, &old.value, &old.sentence),
                _ => contradicts(&new, &old),
            };
            if ends {
                wrong.push(format!("{} | {}", old.sentence, new.sentence));
            }
        }
        assert_eq!(wrong, Vec::<String>::new(), "{wrong:#?}");
    }

    #[test]
    fn a_number_or_a_no_makes_another_statement() {
        let of = Gist::of;
        assert!(of("The database is on port 5433.").is_like(&of("The database is on the port 5433")));
        assert!(!of("The database is on port 5433.").is_like(&of("The database is on port 5434.")));
        assert!(!of("The database is on port 5433.").is_like(&of("The database is no longer on port 5433.")));
    }

    #[test]
    fn a_blocker_needs_two_runs() {
        let once = said(1, Kind::Blocker, "git push", "refused", "git push");
        assert_eq!(texts(std::slice::from_ref(&once)), Vec::<String>::new());
        let mut twice = once;
        twice.finding.times = 2;
        assert_eq!(texts(&[twice]), ["0.75 `git push` was refused 2 times: ask before running it."]);
    }
}

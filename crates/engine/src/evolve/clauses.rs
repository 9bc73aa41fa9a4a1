//! Reads one sentence clause by clause: which of them states something lasting, where it ends, and what is only a
//! request or a remark beside it. Pure; the word lists are `sentences.txt`.
//!
//! A clause states a fact if it has a subject, a verb that tells how things are, and a value that can be looked up: a
//! number, a name, a path, a day ([`super::stated`]). Doubt, report, irony and conditions in the clauses before it hold
//! for it too; a request after it is cut off.

use super::grammar::{
    after_leads, among, goes_on, is_finite, is_hard, is_request, listed, names_something, shown, unquoted,
};
use super::sentences::Told;
use super::stated::{self, Core, Stated, core, forbidden};
use crate::text::patterns::words;
use crate::text::plain::lower;
use crate::text::words::{Marks, Word, split};

/// Maximum length of a statement, in bytes; a longer one says more than one thing.
const LONGEST: usize = 220;

/// How a clause is joined to the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Joint {
    Beside,
    /// "But": what was said before does not hold for it.
    But,
}

/// A clause of a sentence: its words with their marks.
struct Clause<'w> {
    all: &'w [Word],
    said: Vec<Word>,
    joint: Joint,
    /// Whether a colon ends it, so that it is a label.
    label: bool,
}

/// Divides a sentence into clauses: at commas, dashes and semicolons, before "but", after a short lead-in with a colon,
/// and before a request that is joined with "and" or "so".
fn clauses<'w>(all: &'w [Word], text: &str) -> Vec<Clause<'w>> {
    let mut out: Vec<Clause> = Vec::new();
    let (mut from, mut joint, mut open, mut tick) = (0, Joint::Beside, 0_i32, false);
    let mut put = |from: usize, to: usize, joint: Joint| {
        let part = &all[from.min(to)..to];
        let said: Vec<Word> = part.iter().filter(|w| w.word).copied().collect();
        let label = all.get(to).is_some_and(|w| &text[w.start..w.end] == ":");
        if !said.is_empty() {
            out.push(Clause { all: part, said, joint, label });
        }
    };
    for (at, w) in all.iter().enumerate() {
        let raw = &text[w.start..w.end];
        if raw == "`" {
            tick = !tick;
        }
        if tick {
            continue;
        }
        if !w.word {
            open += i32::from(raw == "(") - i32::from(raw == ")");
            let apart = text[..w.start].ends_with(' ') && text[w.end..].starts_with(' ');
            let cuts = match raw {
                "," | ";" | "–" | "—" => open <= 0,
                "-" => apart,
                ":" => from == 0 && is_lead(&all[..at]),
                _ => false,
            };
            if cuts {
                put(from, at, joint);
                (from, joint) = (at + 1, Joint::Beside);
            }
            continue;
        }
        if at == from || open > 0 {
            continue;
        }
        if words!("but aber sondern").has_hash(w.hash) {
            put(from, at, joint);
            (from, joint) = (at + 1, Joint::But);
        } else if words!("and so then und also dann please bitte").has_hash(w.hash)
            && is_request(&all[at + 1..], text)
            && !goes_on(w, &all[at + 1..])
        {
            put(from, at, joint);
            (from, joint) = (at + 1, Joint::Beside);
        }
    }
    put(from, all.len(), joint);
    out
}

/// Whether the words before a colon lead in to a statement: few words, or a label ("the exam question").
fn is_lead(before: &[Word]) -> bool {
    let said: Vec<Word> = before.iter().filter(|w| w.word).copied().collect();
    (1..=3).contains(&said.len()) || said.len() <= 6 && listed!("labels").stand(&said)
}

/// Whether a clause makes those after it doubtful: it doubts, reports, mocks, sets a condition, or tells what somebody
/// did.
fn governs(said: &[Word], text: &str) -> bool {
    let speaks = words!("i i'm i've i'd i'll you you've he she they ich du er man");
    stated::doubted(said, text)
        || [listed!("reported"), listed!("irony"), listed!("conditions")].iter().any(|l| l.stand(said))
        || said.first().is_some_and(|w| speaks.has_hash(w.hash))
}

/// Whether a clause sets its sentence apart from what holds here: it names a time or a world first ("for the demo
/// today", "in the mock"), is the label of something that nobody claims ("exam question:"), or mocks.
fn sets_apart(part: &Clause) -> bool {
    let said = &part.said[..];
    listed!("frames").begin(after_leads(said)).next().is_some()
        || part.label && listed!("labels").stand(said)
        || said.len() == 1 && listed!("mockery").stand(said)
}

/// Returns what a sentence states.
pub(super) fn statements(text: &str) -> Vec<Told> {
    let all = unquoted(&split(text, Marks::Kept));
    let parts = clauses(&all, text);
    let mut out = Vec::new();
    let mut at = 0;
    // Clauses before one that doubts or reports make it doubtful, until a "but".
    let mut doubtful = false;
    let mut changed = false;
    // Where a clause begins that says who left: the statement behind it changes something only together with it.
    let mut left = None;
    while at < parts.len() {
        let part = &parts[at];
        if part.joint == Joint::But {
            doubtful = false;
        }
        changed |= listed!("changed").stand(&part.said) && part.said.len() <= 5;
        // "Petra has left, Jonas …"
        let leaves = part.said.iter().any(|w| words!("left retired quit resigned").has_hash(w.hash));
        let leaves = leaves && (2..=6).contains(&part.said.len());
        changed |= leaves;
        let asked: Vec<Word> = after_leads(&part.said)
            .iter()
            .copied()
            .skip_while(|w| words!("please bitte pls").has_hash(w.hash))
            .collect();
        let ban = if doubtful || asked.len() < 3 { None } else { forbidden(&asked, text, asked[0].start) };
        let takes_back = listed!("forget").begin(after_leads(&part.said)).next().is_some()
            || asked.first().is_some_and(|w| words!("forget scrap ignore drop vergiss").has_hash(w.hash))
                && asked.iter().skip(1).take(7).any(|w| among!("things").has_hash(w.hash));
        if ban.is_none() && !takes_back && is_request(part.all, text) {
            at += 1;
            continue;
        }
        doubtful |= ban.is_none() && sets_apart(part);
        let mut core = match ban {
            None if !doubtful => core(&part.said, text, parts.get(at + 1).map(|next| &next.said[..])),
            ban => ban,
        };
        let mut with = at;
        // The value may follow as a part of its own: "lives in its own repo, kestrel-ui".
        if core.is_none()
            && !doubtful
            && let Some(next) = parts.get(at + 1)
            && next.joint == Joint::Beside
            && !words!("it it's they they're es").has_hash(next.said[0].hash)
            && ((1..part.said.len()).any(|at| is_finite(&part.said, at, text))
                || part.said.last().is_some_and(|w| words!("changed moved switched").has_hash(w.hash)))
            && !is_request(next.all, text)
            && !(1..next.said.len()).any(|at| is_finite(&next.said, at, text))
            && listed!("contrast").begin(&next.said).next().is_none()
        {
            let both: Vec<Word> = part.said.iter().chain(&next.said).copied().collect();
            core = stated::core(&both, text, None);
            with = at + 1;
        }
        let Some(mut core) = core else {
            // "Sure, and our interns …" mocks what was said before.
            let next = parts.get(at + 1).and_then(|next| next.said.first());
            let mocks = part.said.len() == 1
                && words!("sure klar").has_hash(part.said[0].hash)
                && next.is_some_and(|w| words!("and because und weil").has_hash(w.hash));
            if leaves && !doubtful {
                left = part.said.first().map(|w| w.start);
            }
            doubtful |= mocks || governs(&part.said, text);
            at += 1;
            continue;
        };
        let Some(end) = tail(&parts, with, text, core.kind) else { return out };
        name_pronoun(&mut core, &parts[..at], text);
        core.start = left.take().unwrap_or(core.start);
        core.changed |= changed || parts[at + 1..end].iter().any(|p| listed!("former").begin(&p.said).next().is_some());
        let last = parts[end - 1].all.last().map_or(core.start, |w| w.end);
        at = end;
        if last - core.start > LONGEST {
            continue;
        }
        let text = shown(&text[core.start..last]);
        let (subject, value) = (core.subject.join(" "), core.value.join(" "));
        out.push(match core.kind {
            Stated::Fact => Told::Fact { subject, value, text, changed: core.changed },
            Stated::Gone => Told::Retraction { subject, value, text },
            Stated::Rule => Told::Rule { subject, text },
        });
    }
    out
}

/// Puts the name that a clause before gives in the place of a retraction's pronoun, because alone it names nothing:
/// "forget IE11, the admin UI doesn't support it any more".
fn name_pronoun(core: &mut Core, before: &[Clause], text: &str) {
    let is_pronoun = |w: &String| words!("it them es that").has(w);
    if core.kind != Stated::Gone || !core.value.is_empty() || !core.subject.iter().any(is_pronoun) {
        return;
    }
    let raw = |w: &Word| &text[w.start..w.end];
    let names = |w: &&Word| names_something(raw(w), w.start == 0) || among!("products").has_hash(w.hash);
    let named = before.iter().rev().find_map(|part| part.said.iter().find(names).map(|name| (part, name)));
    if let Some((part, name)) = named {
        core.subject.retain(|w| !is_pronoun(w));
        core.value = vec![lower(raw(name))];
        core.start = part.said[0].start;
    }
}

/// Whether a request changes what was said before it.
pub(super) fn sets_anew(said: &[Word]) -> bool {
    let said: Vec<Word> = after_leads(said)
        .iter()
        .copied()
        .skip_while(|w| words!("please bitte pls let's lets just").has_hash(w.hash))
        .collect();
    listed!("set anew").begin(&said).next().is_some()
}

/// Returns the index after the last clause that goes on with the statement at `at`. `None`: a later clause takes it
/// back or doubts it.
fn tail(parts: &[Clause], at: usize, text: &str, kind: Stated) -> Option<usize> {
    let mut end = at + 1;
    let mut open = true;
    for (no, part) in parts.iter().enumerate().skip(at + 1) {
        if is_request(part.all, text) {
            // "The timeout is 30 seconds, make it 60": it will not be so any more.
            if sets_anew(&part.said) {
                return None;
            }
            open = false;
            continue;
        }
        // "After that they …" goes on; "if a cue is missing ask her" is a condition of its own request.
        let begins = listed!("conditions").begin(&part.said).next().is_some();
        let goes_on = part.said.get(1).is_some_and(|w| words!("that which").has_hash(w.hash))
            && words!("after before").has_hash(part.said[0].hash);
        let asks = part.said.iter().skip(2).any(|w| words!("ask tell call ping contact frag frage").has_hash(w.hash));
        let conditional = begins && !goes_on && !asks && open;
        if listed!("doubts").stand(&part.said) || listed!("irony").stand(&part.said) || conditional {
            return None;
        }
        if !open {
            continue;
        }
        let said = &part.said;
        let raw = |w: &Word| &text[w.start..w.end];
        let contrast = listed!("contrast").begin(said).next().is_some();
        let verb = (1..said.len()).any(|at| is_finite(said, at, text));
        // "Everything else is Python" says nothing without the statement before.
        if said.len() <= 6
            && words!("everything anything all alles").has_hash(said[0].hash)
            && said.get(1).is_some_and(|w| words!("else andere übrige").has_hash(w.hash))
            && part.joint == Joint::Beside
        {
            end = no + 1;
            continue;
        }
        let about =
            words!("which whose who where that its because since as die der das deren dessen weil da dort auch und");
        let relates = about.has_hash(said[0].hash);
        let clean = !listed!("passing").stand(said)
            && !listed!("hedges").stand(said)
            && !said.iter().any(|w| words!("i you we me my your ich du wir mir it").has_hash(w.hash));
        let hard = said.iter().any(|w| is_hard(raw(w)));
        let reason = kind == Stated::Rule && clean;
        let denies = kind == Stated::Gone && listed!("retraction").stand(said) && no == at + 1;
        // "The list has 30 entries but should have 20" complains.
        let instead = kind == Stated::Gone && part.said.len() <= 4;
        if instead && part.joint == Joint::But && no == end {
            end = no + 1;
            continue;
        }
        if part.joint == Joint::But && no == end && core(&part.said, text, None).is_none() {
            return None;
        }
        let keeps = denies
            || part.joint == Joint::Beside
                && (contrast && said.len() <= 8 || clean && (!verb || relates && hard || reason));
        if keeps {
            end = no + 1;
        } else {
            open = false;
        }
    }
    Some(end)
}

//! Recall in stages (R10.1): visible files first, then summaries, and turns only if neither answers or if they are
//! asked for. Then governance (R10.2): audience, age and confidence, limits per class, no duplicates.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::by_id;
use super::files::{Choice, FileFilter, FileHit, choose_files};
use super::live::Live;
use super::named::{Named, named};
use super::outdone::{drop_of_other_times, drop_outdone};
use super::query::{Query, Term, understand_naming};
use super::recalled::{Dropped, Item, Recalled, Stage};
use super::said_once::say_once;
use super::search::Legs;
use super::snippet::{self, MATCH_END, MATCH_START, Sought};
use super::terms::needles;
use super::turns::{Weak, of_turns, rank_turns};
use super::vector_search::VectorSearch;
use super::when;
use super::withheld::{IN_CONTEXT, Sources, Withheld};
use super::worth::{TOO_LITTLE, Via, Worth};
use crate::audience::Audience;
use crate::clock::Millis;
use crate::error::Result;
use crate::index::{Index, NodesWithin};
use crate::lineage;
use crate::lineage::walk::{self, Stretch};
use crate::memory::class::Verification;
use crate::memory::leaf::class_of;
use crate::memory::staleness::staleness;
use crate::memory::{Class, class::Policy};
use crate::redact::redact;
use crate::render::memory::Scope;
use crate::render::scope_of;
use crate::scope::{FileNo, NodeId, TurnId};
use crate::text::language::COMMON_WORDS;
use crate::text::{similarity, words};
use crate::thread;
use crate::tree::AssistantHome;
use crate::tree::file_table::{Entry, Kind};
use crate::tree::provenance::Provenance;

/// The question of a recall.
#[derive(Clone, Debug)]
pub struct Question<'q> {
    pub text: &'q str,
    /// Largest number of items.
    pub most: usize,
    /// Whether turns are included even if an earlier stage answers.
    pub deep: bool,
    /// Whether the text is a prompt to a program and not a question to the memory. Most prompts ask for nothing that is
    /// stored, so only what clearly answers is given.
    pub prompt: bool,
}

/// Files examined; only those shown are read.
const CANDIDATES: usize = 40;

/// Least share of the best score; a match below it is by chance.
const FLOOR: f64 = 0.3;

/// Least share of the question's words that a file must have; a file with less answers another question.
const LEAST_COVERED: f64 = 0.34;

/// Factors for items that count less.
const STALE: f64 = 0.6;
const STALE_REFERENCE: f64 = 0.3;
const UNSURE: f64 = 0.7;
const UNSURE_BELOW: f64 = 0.5;

/// A file below `LEAST_COVERED` is given if its cosine is at least `NEAR` and at least `NEAR_SHARE` of the nearest
/// file's.
const NEAR: f64 = 0.25;
const NEAR_SHARE: f64 = 0.75;

/// Largest number of files given by similarity alone, because similarity finds something for every question.
const MOST_BY_MEANING: usize = 3;

/// Number of admitted files after which no further candidates are fetched.
const ENOUGH_FILES: usize = 8;

/// The most common reason for leaving an item out.
pub(super) const OTHER_THREAD: &str = "of another thread, which the question does not name";

/// Classes in the order in which they are given, and the largest number of items of each.
const CLASSES: [(&str, usize); 9] = [
    ("preference", 3),
    ("identity", 2),
    ("procedure", 2),
    ("fact", 4),
    ("blocker", 2),
    ("open loop", 3),
    ("proposal", 1),
    ("reference", 2),
    ("note", 2),
];

/// Number of answers from earlier stages with which turns are not searched.
const ENOUGH: usize = 3;

/// Summaries examined, and the most given: each is long.
const NODES: usize = 20;
const MOST_NODES: usize = 2;

/// Recalls what answers a question for an audience. Without an audience the caller is a person who may read everything
/// of the agent; every item then names its thread.
///
/// No question is an error: an empty one gets an empty answer that says why.
pub fn recall(
    at: &AssistantHome,
    index: &mut Index,
    audience: Option<&Audience>,
    question: &Question,
) -> Result<Recalled> {
    let mut out = Recalled::default();
    let now = at.ledger.now();
    let named = at.read(|tx| named(tx, at.agent_no, question.text))?;
    let query = understand_naming(at.ledger, &at.agent, question.text, &at.zone, &named)?;
    if query.is_empty() {
        out.degraded.push("there is no word in this question".into());
        return Ok(out);
    }
    if let Some(day) = when::no_day(question.text) {
        out.degraded.push(format!("there is no {day}: it was looked for as words"));
    }
    // A search looks for stop words; as a question they ask for nothing, and every text would answer.
    if query.light && named.ids.is_empty() {
        out.degraded.push("this question has only words that stand in every text".into());
        return Ok(out);
    }
    if query.cut {
        out.degraded.push("the question is too long: only its beginning was looked for".into());
    }
    let files = FileFilter {
        kinds: vec![Kind::Leaf, Kind::OpenLoop, Kind::Proposal, Kind::Note],
        limit: CANDIDATES,
        ..FileFilter::default()
    };
    let live = match audience.filter(|_| !question.deep) {
        Some(audience) => at.read(|tx| Live::of(tx, audience))?,
        None => Live::default(),
    };
    let by_id = by_id::items(at, (audience, &live), &named, &mut out)?;
    if !named.bracketed.is_empty() && names_only(question.text) {
        out.items = by_id;
        return Ok(out);
    }
    let near = at.read(|tx| VectorSearch::of(tx, index, at.agent_no, &query, Legs::Fused, &mut out.degraded))?;
    let vector = near.map(VectorSearch::into_vector);
    // The audience is checked before a file is read, so that inadmissible files crowd out nothing (R10.3).
    let (mut admitted_files, mut refused) = (HashMap::new(), BTreeMap::new());
    let who = (audience, &live);
    let mut admit = |entry: &Entry| admitted(at, who, &named, entry, &mut admitted_files, &mut refused);
    let choice = Choice { vector: vector.as_deref(), enough: ENOUGH_FILES, admit: &mut admit };
    let found = choose_files(at, index, &query, &files, choice)?;
    out.dropped.extend(refused.into_iter().take(CANDIDATES).map(|(id, why)| Dropped { id, why: why.into() }));
    if found.not_indexed > 0 {
        out.degraded.push(format!("{} changed files are not in the index yet", found.not_indexed));
    }
    if found.cut_short {
        out.degraded.push("the search took too long and was broken off".into());
    }
    out.degraded.extend(found.less);
    let nearest = found.hits.iter().filter_map(|h| h.trace.cosine).fold(0.0, f64::max);
    let height = found.hits.iter().map(FileHit::covered).fold(0.0, f64::max);
    let mut items = Vec::new();
    for hit in found.hits {
        if let Some(admission) = admitted_files.get(&hit.entry.file_no).cloned() {
            items.extend(of_file(hit, admission, (nearest, height), now, &mut out.dropped));
        }
    }
    let structured = govern(items, &mut out.dropped);
    // Similarity alone is no reason to skip the later stages; an item with every word of the question is one.
    let answers = structured.iter().filter(|found| !found.by_meaning).count();
    let answered = answers >= ENOUGH || structured.iter().any(|found| found.is_complete);
    let mut withheld = Withheld::new(&live, &query, question.deep, audience.is_some());
    for item in by_id {
        withheld.given(&item.id, &item.text, Sources::Turns(Vec::new()));
        out.items.push(item);
    }
    for found in structured {
        withheld.given(&found.item.id, &found.item.text, Sources::Turns(found.sources));
        out.items.push(found.item);
    }
    let vector = vector.as_deref();
    let turns = match question.deep || !answered {
        true => {
            let how = (question.most, question.prompt && !question.deep);
            Some(rank_turns(at, index, (audience, &live), &named, &query, vector, how)?)
        }
        false => None,
    };
    let weak = Weak::of(index, at.agent_no, &query, vector.is_some(), turns.as_ref().map(|(found, _)| found))?;
    let counted = turns.as_ref().map(|(found, _)| found);
    let is_prompt = question.prompt && !question.deep;
    let measure = match is_prompt || turns.is_some() {
        true => Some(Worth::of(index, at.agent_no, &query, question.text, counted)?),
        false => None,
    };
    let worth = measure.as_ref().filter(|_| is_prompt);
    let quick = index.embedder().filter(|embedder| embedder.is_quick()).cloned();
    let near = quick.zip(vector).map(|(embedder, vector)| {
        move |sentence: &str| {
            let of_sentence =
                embedder.embed(&[sentence]).ok().and_then(|mut vectors| vectors.pop()).unwrap_or_default();
            f64::from(of_sentence.iter().zip(vector).map(|(a, b)| a * b).sum::<f32>())
        }
    });
    let near = near.as_ref().map(|near| near as &dyn Fn(&str) -> f64);
    let lookup = Lookup { audience, named: &named, query: &query, vector, weak: &weak, worth, near };
    for (summary, ranges) in of_nodes(at, index, &lookup, (&live, &withheld), &mut out)? {
        withheld.given(&summary.id, &summary.text, Sources::Ranges(ranges));
        out.items.push(summary);
    }
    unlike(&mut out);
    if let Some((found, ranking)) = &turns {
        // Room for the turns that take the place of summaries.
        let summaries = out.items.iter().filter(|item| item.stage == Stage::Lineage).count();
        let turns = of_turns(at, &lookup, (found, ranking), (question.most, summaries), &mut withheld, &mut out)?;
        out.items.extend(turns);
        if let Some(measure) = measure.as_ref().filter(|_| !query.only_times) {
            drop_outdone(&mut out.items, measure, &named, &mut out.dropped);
        }
        if !found.other_times {
            drop_of_other_times(&mut out.items, &query, &named, &mut out.dropped);
        }
    }
    let mut given = BTreeSet::new();
    out.items.retain(|item| given.insert(item.id.clone()));
    for extra in out.items.split_off(out.items.len().min(question.most)) {
        out.dropped.push(Dropped { id: extra.id, why: too_many(question.most) });
    }
    if !question.deep {
        say_once(&mut out.items, &withheld, &mut out.dropped);
    }
    Ok(out)
}

/// Whether a question has no words beside ids in brackets and stop words: "What was said in [t9c11]?"
fn names_only(question: &str) -> bool {
    let mut rest = question.to_owned();
    while let Some((before, behind)) = rest.split_once('[')
        && let Some((_, after)) = behind.split_once(']')
    {
        rest = format!("{before} {after}");
    }
    words::runs(&rest, &[]).all(|(_, word)| COMMON_WORDS.has(&word.to_lowercase()))
}

pub(super) fn too_many(most: usize) -> String {
    format!("more than the {most} that are wanted")
}

/// The lookup of one recall: the query, the audience it is for, and what the question names.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'s> {
    pub audience: Option<&'s Audience>,
    pub named: &'s Named,
    pub query: &'s Query,
    /// Vector of the query; `None` if there is no model or it did not answer.
    pub vector: Option<&'s [f32]>,
    pub weak: &'s Weak,
    /// For a prompt: what a passage must say to be given.
    pub worth: Option<&'s Worth>,
    /// The cosine of a sentence to the query, if the model answers in microseconds.
    pub near: Option<&'s dyn Fn(&str) -> f64>,
}

fn class_rank(kind: &str) -> usize {
    CLASSES.iter().position(|(name, _)| *name == kind).unwrap_or(CLASSES.len())
}

/// Returns the turns an item was made of.
fn sources(entry: &Entry) -> Vec<TurnId> {
    Provenance::from_value(entry.fields.get("source")).turns
}

/// The permission to give a file: its thread's label and the reasons.
#[derive(Clone)]
struct Admission {
    thread: Option<String>,
    reasons: Vec<String>,
    asked_for: bool,
}

fn id_of(entry: &Entry) -> String {
    entry.item.clone().unwrap_or_else(|| entry.path.to_string())
}

/// Whether a file may be given to this audience; checked once per file.
fn admitted(
    at: &AssistantHome,
    (audience, live): (Option<&Audience>, &Live),
    named: &Named,
    entry: &Entry,
    admitted_files: &mut HashMap<FileNo, Admission>,
    refused: &mut BTreeMap<String, &'static str>,
) -> Result<bool> {
    if admitted_files.contains_key(&entry.file_no) {
        return Ok(true);
    }
    let id = id_of(entry);
    if entry.status.as_deref() == Some("superseded") {
        refused.insert(id, "superseded by a newer one");
        return Ok(false);
    }
    if entry.kind == Kind::Note && !entry.by_hand() {
        refused.insert(id, "a page nobody has written in");
        return Ok(false);
    }
    let scope = at.read(|tx| scope_of(tx, at.agent_no, entry))?;
    let (asked_for, mut reasons) = (named.ids.contains(&id), Vec::new());
    let Some(thread) = admission(audience, named, asked_for, &scope, &mut reasons) else {
        refused.insert(id, OTHER_THREAD);
        return Ok(false);
    };
    // A file that a person changed by hand says more than the turns it was made of, so it is given even if those are in
    // the context.
    if !asked_for && !entry.by_hand() {
        let sources = sources(entry);
        if at.read(|tx| live.holds_all(tx, &sources))? {
            refused.insert(id, IN_CONTEXT);
            return Ok(false);
        }
    }
    admitted_files.insert(entry.file_no, Admission { thread, reasons, asked_for });
    Ok(true)
}

/// An item and how it was found.
struct Found {
    item: Item,
    /// Turns the item was made of.
    sources: Vec<TurnId>,
    /// Whether it has every word of a question of several words.
    is_complete: bool,
    /// Whether it has too few words of the question, but is similar in meaning.
    by_meaning: bool,
}

/// Makes an item of a file; `None` if the file is off the point. `nearest`: cosine of the nearest file; `height`:
/// largest share of the question's words that any file has.
fn of_file(
    hit: FileHit,
    admission: Admission,
    (nearest, height): (f64, f64),
    now: Millis,
    dropped: &mut Vec<Dropped>,
) -> Option<Found> {
    let entry = &hit.entry;
    let id = id_of(entry);
    let has_words = hit.covered() >= LEAST_COVERED;
    let cosine = hit.trace.cosine.unwrap_or(0.0);
    let is_near = cosine >= NEAR && cosine >= NEAR_SHARE * nearest;
    if !has_words && !is_near && !admission.asked_for {
        let why = match hit.said {
            0 => format!("is near {cosine:.2} only"),
            n => format!("has {n} of {} words of the question", hit.of),
        };
        dropped.push(Dropped { id, why });
        return None;
    }
    let mut reasons = vec![format!("{} of {} words", hit.said, hit.of)];
    reasons.extend(hit.trace.cosine.map(|c| format!("near {c:.2}")));
    reasons.extend(admission.reasons);
    let class = class_of(entry).filter(|_| entry.kind == Kind::Leaf);
    // The best file by words has score 1 however few words match; to be comparable with cosines, it is scaled to its
    // true coverage.
    let (mut score, mut marks) = ((hit.trace.sum - hit.trace.words * (1.0 - height)).max(0.0), Vec::new());
    if let Some(class) = class {
        weigh(entry, class, now, &mut score, &mut marks, &mut reasons);
    }
    let kind = match (entry.kind, class) {
        (Kind::OpenLoop, _) => "open loop".to_owned(),
        (Kind::Proposal, _) => {
            marks.push("waits for a yes".into());
            "proposal".to_owned()
        }
        (_, Some(class)) => class.name().to_owned(),
        _ => "note".to_owned(),
    };
    let passage: String = hit.passage.chars().filter(|c| !matches!(*c, MATCH_START | MATCH_END)).collect();
    // A line such as "status: open" answers nothing.
    let text = match hit.is_front || passage.trim().is_empty() || similarity::same_words(&passage, &entry.title) {
        true => entry.title.clone(),
        false if passage.contains(entry.title.trim_end_matches('…')) => passage,
        false => format!("{}: {}", entry.title, passage),
    };
    let time = ["observed", "opened", "proposed", "created"].iter().find_map(|k| entry.field(k));
    let at = time.and_then(crate::clock::parse_rfc3339).or(Some(entry.stamp.modified_ns / 1_000_000));
    let item = Item { id, stage: Stage::Structured, kind, text, thread: admission.thread, at, score, reasons, marks };
    let is_complete = hit.of > 1 && hit.said >= hit.of;
    Some(Found { item, sources: sources(entry), is_complete, by_meaning: !has_words && !admission.asked_for })
}

/// Returns whether an item may be given to this audience, and its thread's label; `Some(None)` for the audience's own
/// thread.
pub(super) fn admission(
    audience: Option<&Audience>,
    named: &Named,
    asked_for: bool,
    scope: &Scope,
    reasons: &mut Vec<String>,
) -> Option<Option<String>> {
    let label = match scope {
        Scope::AgentWide => None,
        Scope::Thread(_, label) => Some(label.clone()),
        Scope::Workspace(id) => Some(id.rsplit_once("--").map_or(id.as_str(), |(name, _)| name).to_owned()),
    };
    let Some(audience) = audience else { return Some(label) };
    if audience.may_hear(scope) {
        let own = matches!((scope, &audience.thread), (Scope::Thread(no, _), Some(own)) if own.no == *no);
        let linked = matches!(scope, Scope::Thread(..)) && !own;
        if linked {
            reasons.push("of a linked thread".into());
        }
        return Some(label.filter(|_| linked));
    }
    let by_name = match scope {
        Scope::Thread(no, _) => named.threads.contains(no),
        Scope::Workspace(id) => named.workspaces.contains(id),
        Scope::AgentWide => false,
    };
    if by_name || asked_for {
        reasons.push(if by_name { "its thread is named".into() } else { "it is named".into() });
        return Some(label);
    }
    None
}

/// Applies age and confidence (R9.1).
fn weigh(
    entry: &Entry,
    class: Class,
    now: Millis,
    score: &mut f64,
    marks: &mut Vec<String>,
    reasons: &mut Vec<String>,
) {
    let age = staleness(entry, now);
    if age.stale {
        *score *=
            if age.policy == Policy::TimeSensitive || class == Class::Reference { STALE_REFERENCE } else { STALE };
        marks.push("stale".into());
        reasons.push("stale".into());
    }
    match age.verification {
        Verification::None => {}
        Verification::CheckBeforeUse => marks.push("check before use".into()),
        Verification::MustReconfirm => marks.push("reconfirm before use".into()),
    }
    let confidence = entry.fields.get("confidence").and_then(serde_json::Value::as_f64);
    if confidence.is_some_and(|c| c < UNSURE_BELOW) {
        *score *= UNSURE;
        marks.push("unsure".into());
        reasons.push("low confidence".into());
    }
}

/// Sorts by class, and drops what is too weak beside the best and what exceeds the limits.
fn govern(mut items: Vec<Found>, dropped: &mut Vec<Dropped>) -> Vec<Found> {
    items.sort_by(|a, b| {
        class_rank(&a.item.kind).cmp(&class_rank(&b.item.kind)).then(b.item.score.total_cmp(&a.item.score))
    });
    let best = items.iter().map(|i| i.item.score).fold(f64::MIN_POSITIVE, f64::max);
    let mut nearest: Vec<f64> = items.iter().filter(|i| i.by_meaning).map(|i| i.item.score).collect();
    nearest.sort_by(|a, b| b.total_cmp(a));
    let least = nearest.get(MOST_BY_MEANING - 1).copied().unwrap_or(0.0);
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut out = Vec::new();
    for mut found in items {
        let (id, share) = (found.item.id.clone(), found.item.score / best);
        let most = CLASSES.iter().find(|(name, _)| *name == found.item.kind).map_or(2, |(_, most)| *most);
        let count = counts.entry(found.item.kind.clone()).or_default();
        let why = if found.by_meaning && found.item.score < least {
            format!("more than {MOST_BY_MEANING} are as near")
        } else if !found.by_meaning && share < FLOOR {
            format!("scores {share:.2} of the best")
        } else if *count == most {
            format!("more than {most} of the class {}", found.item.kind)
        } else {
            *count += 1;
            found.item.score = share;
            out.push(found);
            continue;
        };
        dropped.push(Dropped { id, why });
    }
    out
}

/// Returns summaries of the threads the audience may read.
fn of_nodes(
    at: &AssistantHome,
    index: &Index,
    lookup: &Lookup,
    (live, withheld): (&Live, &Withheld),
    out: &mut Recalled,
) -> Result<Vec<(Item, Vec<Stretch>)>> {
    let Lookup { audience, named, query, vector, weak, worth, .. } = *lookup;
    let within = NodesWithin {
        threads: match audience {
            None => None,
            Some(audience) => Some(at.read(|tx| {
                let mut all = Vec::new();
                for no in audience.threads().iter().chain(&named.threads) {
                    all.extend(thread::members(tx, *no)?);
                }
                Ok(all)
            })?),
        },
        ..NodesWithin::default()
    };
    let words: Vec<String> = query.phrases.iter().chain(&query.words).map(Term::expression).collect();
    let mut scores: HashMap<NodeId, f64> = HashMap::new();
    if !words.is_empty() {
        let expression = format!("text : ({})", words.join(" OR "));
        let found = index.nodes_matching(at.agent_no, &expression, &within, NODES)?.found;
        let best = found.iter().map(|(_, s)| *s).fold(f64::MIN_POSITIVE, f64::max);
        scores.extend(found.into_iter().map(|(id, score)| (id, score / best)));
    }
    let mut cosines: HashMap<NodeId, f64> = HashMap::new();
    if let Some(near) = vector.map(|vector| VectorSearch::again(index, at.agent_no, vector)) {
        for (id, cosine) in near.nodes(&within, NODES)? {
            *scores.entry(id).or_default() += f64::from(cosine);
            cosines.insert(id, cosine.into());
        }
    }
    if scores.is_empty() {
        return Ok(Vec::new());
    }
    let mut ranked: Vec<(NodeId, f64)> = scores.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    let best = ranked.first().map_or(1.0, |(_, s)| *s);
    let needles: Vec<String> = query.phrases.iter().chain(&query.words).flat_map(needles).collect();
    let mut items: Vec<(Item, Vec<Stretch>)> = Vec::new();
    let mut threads: HashMap<String, Scope> = HashMap::new();
    at.read(|tx| {
        for (id, score) in ranked.into_iter().filter(|(_, score)| *score >= FLOOR * best).take(NODES) {
            let Some(node) = lineage::find(tx, at.agent_no, id)?.filter(|n| !n.abandoned) else { continue };
            let cosine = cosines.get(&id).copied();
            let is_weak = weak.is_summary(query, &node.summary, cosine)
                || !query.only_times && !weak.is_near(cosine) && !withheld.says_something(&node.summary);
            if is_weak && !named.ids.contains(&id.to_string()) {
                let why = "has too few words of the question in one sentence, and is not near".to_owned();
                out.dropped.push(Dropped { id: id.to_string(), why });
                continue;
            }
            let scope = match threads.get(&node.thread) {
                Some(scope) => Scope::clone(scope),
                None => {
                    let thread = thread::named(tx, at.agent_no, &node.thread)?;
                    let scope = Scope::Thread(thread.no, thread.label);
                    threads.insert(node.thread.clone(), scope.clone());
                    scope
                }
            };
            let mut reasons = vec!["a summary".to_owned()];
            let Some(thread) = admission(audience, named, named.ids.contains(&id.to_string()), &scope, &mut reasons)
            else {
                continue;
            };
            let over = walk::stretches(tx, at.agent_no, id)?;
            let has_summary = node.summary_turn.map_or(Ok(false), |turn| live.holds(tx, turn))?;
            if !named.ids.contains(&id.to_string()) && (has_summary || live.holds_stretches(tx, &over)?) {
                out.dropped.push(Dropped { id: id.to_string(), why: IN_CONTEXT.into() });
                continue;
            }
            let same = items.iter().find(|(_, other)| is_within(&over, other) || is_within(other, &over));
            if let Some((better, _)) = same {
                let why = format!("covers the same turns as {}", better.id);
                out.dropped.push(Dropped { id: id.to_string(), why });
                continue;
            }
            if items.len() == MOST_NODES {
                out.dropped.push(Dropped { id: id.to_string(), why: format!("more than {MOST_NODES} summaries") });
                continue;
            }
            // Only the sentences that answer; `expand` leads to the whole summary.
            let sought = Sought { needles: &needles, weights: &[], near: lookup.near };
            let text = snippet::plain(&redact(&node.summary), &sought);
            let is_exempt = query.only_times || named.ids.contains(&id.to_string());
            if worth.is_some_and(|worth| !is_exempt && !worth.answers(&text, Via::Summary, cosine)) {
                out.dropped.push(Dropped { id: id.to_string(), why: TOO_LITTLE.into() });
                continue;
            }
            let item = Item {
                id: id.to_string(),
                stage: Stage::Lineage,
                kind: node.kind.name().to_owned(),
                text,
                thread,
                at: node.times.1,
                score: score / best,
                reasons,
                marks: node.model.iter().map(|model| format!("by {model}")).collect(),
            };
            items.push((item, over));
        }
        Ok(())
    })?;
    Ok(items)
}

/// Whether all turns of one summary are among those of another, as with a chunk and its session node, which say nearly
/// the same.
fn is_within(one: &[Stretch], other: &[Stretch]) -> bool {
    let holds = |a: &Stretch, b: &Stretch| {
        (a.session_no, a.lane_no) == (b.session_no, b.lane_no) && a.turns.0 <= b.turns.0 && b.turns.1 <= a.turns.1
    };
    !one.is_empty() && one.iter().all(|b| other.iter().any(|a| holds(a, b)))
}

/// Removes duplicates: of items that say nearly the same, the first stays.
fn unlike(out: &mut Recalled) {
    let mut kept: Vec<Item> = Vec::new();
    for item in std::mem::take(&mut out.items) {
        match kept.iter().find(|k| similarity::same_words(&k.text, &item.text)) {
            Some(same) => out.dropped.push(Dropped { id: item.id, why: format!("says what {} says", same.id) }),
            None => kept.push(item),
        }
    }
    out.items = kept;
}

//! Turns as the last stage of recall (R10.1): which turns of an audience answer a question, and which match by chance.

use std::borrow::Cow;
use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use super::aside;
use super::live::Live;
use super::named::Named;
use super::query::{Kind, Query, Term};
use super::recalled::{Dropped, Item, Recalled, Stage};
use super::search::{Filter, Legs, Ranking, Searched, rank};
use super::snippet::{self, Sought};
use super::staged::{Lookup, OTHER_THREAD, admission, too_many};
use super::terms::{self, letters, needles, rows_with, stands};
use super::withheld::{Sources, Withheld};
use super::worth::{TOO_LITTLE, Via};
use crate::audience::Audience;
use crate::error::Result;
use crate::event::Role;
use crate::index::Index;
use crate::ledger::Read;
use crate::redact::redact;
use crate::render::memory::Scope;
use crate::scope::{AgentNo, SessionNo, ThreadNo, TurnId};
use crate::text::language::stop_words::Language;
use crate::text::similarity;
use crate::text::thoughts::told_or_thought;
use crate::thread;
use crate::tokens::tokens;
use crate::transcript::role_name;
use crate::tree::AssistantHome;

/// Number of turns examined before those of other threads are removed.
const TURNS: usize = 60;

/// Least number of words in a question for which a turn with a single, frequent word is given only if its cosine is
/// high.
const WEAK_OF: usize = 3;
const TURN_NEAR: f64 = 0.3;

/// Number of the first turns that are judged by their text, which shows inflected words and words too frequent to be
/// looked for; the others are judged by the index without being read.
const READ_ANYHOW: usize = 6;

/// The same number for a question with a word too frequent to be looked for.
const READ_UNSURE: usize = 18;

/// A word in more than this share of the rows is frequent; a word with at most `FREQUENT_LEAST` rows never is.
const FREQUENT_SHARE: f64 = 0.01;
const FREQUENT_LEAST: i64 = 5;

/// Number of the newest sessions of a thread whose turns are recalled. `search` covers all of them.
const SESSIONS: usize = 300;

/// Returns turns the audience may read, best first, as many as there is room for among `most` items, and `more` of them.
pub(super) fn of_turns(
    at: &AssistantHome,
    lookup: &Lookup,
    (found, ranking): (&Searched, &Ranking),
    (most, more): (usize, usize),
    withheld: &mut Withheld,
    out: &mut Recalled,
) -> Result<Vec<Item>> {
    let Lookup { audience, named, query, weak, worth, .. } = *lookup;
    if found.not_indexed > 0 {
        out.degraded.push(format!("{} turns are not in the index yet", found.not_indexed));
    }
    if found.cut_short {
        out.degraded.push("the search took too long and was broken off".into());
    }
    out.degraded.extend(found.less.iter().cloned());
    let mut told: Vec<similarity::ItemWords> = out.items.iter().map(|item| similarity::words(&item.text)).collect();
    let above = told.len();
    let room = (most + more).saturating_sub(above);
    // One snapshot for all of them: a transaction for each look costs more than the look.
    at.read(|tx| {
        let (mut scopes, mut weak_ones) = (HashMap::new(), HashMap::new());
        let mut items: Vec<Item> = Vec::new();
        for n in 0..ranking.len() {
            let turn = ranking.turn(n);
            let id = turn.to_string();
            let mut drop = |why: String| out.dropped.push(Dropped { id: id.clone(), why });
            if items.len() == room {
                drop(too_many(most));
                continue;
            }
            let asked_for = named.ids.contains(&id);
            let mut reasons = Vec::new();
            let scope = scope_of_one(tx, at.agent_no, turn, &mut scopes)?;
            let Some(thread) = admission(audience, named, asked_for, &scope, &mut reasons) else {
                drop(OTHER_THREAD.into());
                continue;
            };
            if let Some(why) = withheld.unread(tx, turn)?.filter(|_| !asked_for) {
                drop(why);
                continue;
            }
            // The neighbour of a weak match is as weak. The result is kept per match, so that most neighbours need not be
            // read.
            let (said_at, beside, _) = ranking.about(n);
            // A turn at the time asked about is an answer, whatever its words.
            let then = query.limit().is_some() || query.favours(said_at) == Some(true);
            let worth = worth.filter(|_| !asked_for && !then);
            let leading = beside.and_then(|beside| ranking.position(beside)).unwrap_or(n);
            if worth.is_some_and(|worth| !worth.may_answer(ranking, leading, n)) {
                drop(TOO_LITTLE.into());
                continue;
            }
            let is_weak = match weak_ones.get(&leading) {
                Some(known) => *known,
                None => {
                    let is = weak.is(tx, query, ranking, leading)?;
                    weak_ones.insert(leading, is);
                    is
                }
            };
            if !asked_for && is_weak {
                drop(match beside {
                    Some(turn) => format!("next to {turn}, which is left out"),
                    None => "has one word of the question at most, no rare one, and is not near".into(),
                });
                continue;
            }
            let Some(hit) = ranking.hit(tx, n)? else { continue };
            let said = match withheld.words(&hit.turn) {
                Ok(said) => said,
                Err(_) if asked_for => Cow::Borrowed(hit.turn.text.as_str()),
                Err(why) => {
                    drop(why);
                    continue;
                }
            };
            let said = match worth.map(|_| aside::spoken_out(tx, &hit.turn, &said)).transpose()? {
                Some(Some(said)) => Cow::Borrowed(said),
                Some(None) => {
                    drop("the model says to itself what it does next".into());
                    continue;
                }
                None if hit.turn.role == Role::Assistant => Cow::Borrowed(told_or_thought(&said)),
                None => Cow::Borrowed(said.as_ref()),
            };
            if worth.is_some() && (aside::is_heading(&said) || !query.by_person && aside::only_asks(&hit.turn, &said)) {
                drop("a question or a heading by itself".into());
                continue;
            }
            let words = similarity::words(&said);
            if let Some(n) = told[..above].iter().position(|told| is_contained(&words, told)) {
                drop(format!("all of it stands in {}", out.items[n].id));
                continue;
            }
            // Redact before cutting: half of a credential would not be recognised (R14.2).
            let clean = redact(&snippet::unnumbered(&said)).into_owned();
            let by_words = Sought { needles: &ranking.needles, weights: &ranking.weights, near: None };
            let sought = Sought { near: lookup.near, ..by_words };
            // With a prompt most candidates are left out, so their sentences are not compared by meaning.
            let mut text = snippet::plain(&clean, if worth.is_some() { &by_words } else { &sought });
            if tokens(&text) == 0 {
                continue;
            }
            let via = Via::of_turn(hit.turn.kind);
            if leading == n && worth.is_some_and(|worth| !worth.answers(&text, via, hit.cosine)) {
                drop(TOO_LITTLE.into());
                continue;
            }
            if worth.is_some() && clean.len() > text.len() {
                text = snippet::plain(&clean, &sought);
            }
            let words = similarity::words(&text);
            if let Some(same) = told.iter().position(|told| similarity::same(told, &words)) {
                let same = out.items.iter().chain(&items).nth(same).map_or("", |item| &item.id).to_owned();
                drop(format!("says what {same} says"));
                continue;
            }
            told.push(words);
            withheld.given(&id, &text, Sources::Turns(Vec::new()));
            let why = match hit.beside {
                Some(turn) => vec![format!("next to {turn}")],
                None => {
                    let near = hit.cosine.map(|c| format!("near {c:.2}"));
                    std::iter::once(format!("{} of {} words", hit.matched, hit.of)).chain(near).collect()
                }
            };
            reasons.splice(0..0, why);
            let kind = hit.turn.speaker.clone().unwrap_or_else(|| role_name(hit.turn.role).to_owned());
            items.push(Item {
                id,
                stage: Stage::Transcript,
                kind,
                text,
                thread,
                at: hit.turn.at,
                score: hit.score,
                reasons,
                marks: Vec::new(),
            });
        }
        Ok(items)
    })
}

/// Ranks the turns of an audience, without sessions that are wholly in the context of its model (`live`). `light`: for
/// a prompt, which must not wait.
pub(super) fn rank_turns(
    at: &AssistantHome,
    index: &mut Index,
    (audience, live): (Option<&Audience>, &Live),
    named: &Named,
    query: &Query,
    vector: Option<&[f32]>,
    (most, light): (usize, bool),
) -> Result<(Searched, Ranking)> {
    // Turns that are never given (of other threads, or already in the context) must not crowd out the others.
    let mut sessions = audience.map(|audience| at.read(|tx| sessions(tx, audience, named))).transpose()?;
    if let Some(sessions) = &mut sessions {
        sessions.retain(|no| !live.is_whole(*no));
    }
    // The model was asked once; if it gave no vector it is not asked again.
    let legs = if vector.is_some() { Legs::Fused } else { Legs::Words };
    let filter = Filter { limit: TURNS.max(most), sessions, legs, light, ..Filter::default() };
    rank(at.ledger, index, &at.agent, query, &filter, vector)
}

/// Whether an item already given contains everything that a turn says.
fn is_contained(turn: &similarity::ItemWords, told: &similarity::ItemWords) -> bool {
    !turn.is_empty() && turn.iter().all(|word| told.binary_search(word).is_ok())
}

/// Distinguishes a chance match from an answer, since for every question some turn matches (R10.1).
pub(super) struct Weak {
    /// The words of the question, with only the rare ones among variants and parts.
    asked: Vec<Asked>,
    /// Number of words in the question.
    of: usize,
    /// Whether vector search was used.
    near: bool,
}

/// A word of the question.
struct Asked {
    term: Term,
    /// The term as plain words.
    needles: Vec<String>,
    rare: bool,
}

impl Asked {
    fn of(term: &Term, rare: bool) -> Asked {
        Asked { term: term.clone(), needles: needles(term), rare }
    }
}

impl Weak {
    /// Counts the words of the query. `counted`: the search for turns, if it has already counted the rows of the words.
    pub fn of(index: &Index, agent_no: AgentNo, query: &Query, near: bool, counted: Option<&Searched>) -> Result<Weak> {
        let all = index.rows_of(agent_no)?;
        let frequent = (all as f64 * FREQUENT_SHARE) as i64;
        let rows = |term: &Term| -> Result<i64> {
            let of_search = counted.and_then(|found| found.counted.iter().find(|(other, _)| other == term));
            match of_search {
                Some((_, rows)) => Ok(*rows),
                None if counted.is_some_and(|found| found.too_frequent.contains(&term.text)) => Ok(i64::MAX),
                None => rows_with(index, &terms::TURNS, term, agent_no, frequent.max(FREQUENT_LEAST) + 1),
            }
        };
        let (mut asked, mut unknown) = (Vec::new(), 0);
        for term in query.words.iter().filter(|t| t.asked()) {
            let rows = rows(term)?;
            unknown += usize::from(rows == 0);
            asked.push(Asked::of(term, rows <= frequent.max(FREQUENT_LEAST)));
        }
        // A question in one language and an answer in another share only names, so every shared word counts as rare.
        if query.language != Language::English && unknown * 2 >= asked.len() {
            asked.iter_mut().for_each(|one| one.rare = true);
        }
        let of = asked.len() + query.phrases.len();
        for term in query.words.iter().filter(|t| !t.asked() && t.kind != Kind::Report) {
            let rows = rows(term)?;
            if (1..=frequent.max(FREQUENT_LEAST)).contains(&rows) {
                asked.push(Asked::of(term, true));
            }
        }
        // A phrase is mandatory, so a turn that contains it answers.
        asked.extend(query.phrases.iter().map(|phrase| Asked::of(phrase, true)));
        Ok(Weak { asked, of, near })
    }

    /// Whether a turn was found by chance.
    fn is(&self, tx: &Read, query: &Query, ranking: &Ranking, n: usize) -> Result<bool> {
        let (said_at, beside, cosine) = ranking.about(n);
        // A turn at the time asked about is an answer: the question may have no other words.
        let then = query.limit().is_some() || query.favours(said_at) == Some(true);
        if beside.is_some() || then || self.of < WEAK_OF || self.is_near(cosine) {
            return Ok(false);
        }
        let unsure = self.asked.iter().any(|one| !ranking.looked_for(&one.term));
        let read = if unsure { READ_UNSURE } else { READ_ANYHOW };
        let has = match ranking.words_of(n).filter(|_| n >= read) {
            Some(words) => self.asked.iter().filter(|one| words.contains(&&one.term)).map(|one| one.rare).collect(),
            None => match ranking.hit(tx, n)? {
                Some(hit) => self.words_in(&[hit.turn.speaker.as_deref().unwrap_or(""), &hit.turn.text].join(" ")),
                None => Vec::new(),
            },
        };
        Ok(has.len() <= 1 && !has.contains(&true))
    }

    /// Whether a summary was found by chance. A summary has many words and is near to much, so one frequent word is
    /// enough here.
    pub fn is_summary(&self, query: &Query, summary: &str, cosine: Option<f64>) -> bool {
        !query.only_times && self.words_in(summary).is_empty() && !self.is_near(cosine)
    }

    /// Returns, for each word of the question that the text contains, whether it is rare.
    fn words_in(&self, text: &str) -> Vec<bool> {
        let text = letters(text);
        self.asked.iter().filter(|one| stands(&text, &one.needles)).map(|one| one.rare).collect()
    }

    pub fn is_near(&self, cosine: Option<f64>) -> bool {
        self.near && cosine.is_some_and(|c| c >= TURN_NEAR)
    }
}

/// Returns the sessions whose turns an audience may read: the newest of its threads and of each named thread, those of
/// its project, and its own.
fn sessions(tx: &Read, audience: &Audience, named: &Named) -> Result<Vec<SessionNo>> {
    let mut out: Vec<SessionNo> = audience.known.iter().map(|k| k.no).collect();
    for thread_no in audience.threads().iter().chain(&named.threads) {
        out.extend(thread::newest_sessions(tx, &thread::members(tx, *thread_no)?, SESSIONS)?);
    }
    if let Some(id) = &audience.workspace {
        let mut statement = tx.prepare_cached(
            "SELECT session_no FROM sessions WHERE agent_no = ?1 AND workspace_no IN (
               SELECT workspace_no FROM workspaces WHERE agent_no = ?1 AND (workspace_id = ?2 OR alias_of =
                 (SELECT workspace_no FROM workspaces WHERE agent_no = ?1 AND workspace_id = ?2)))
             ORDER BY last_at DESC LIMIT ?3",
        )?;
        let rows = statement.query_map(params![audience.agent_no, id, SESSIONS as i64], |r| r.get(0))?;
        out.extend(rows.collect::<rusqlite::Result<Vec<SessionNo>>>()?);
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// Returns the scope of a turn.
pub(crate) fn scope_of_turn(tx: &Read, agent_no: AgentNo, turn: TurnId) -> Result<Scope> {
    scope_of_one(tx, agent_no, turn, &mut HashMap::new())
}

/// Returns the scope of one of many turns; `known` caches the scopes of threads.
fn scope_of_one(tx: &Read, agent_no: AgentNo, turn: TurnId, known: &mut HashMap<ThreadNo, Scope>) -> Result<Scope> {
    let found: Option<ThreadNo> = tx
        .prepare_cached(
            "SELECT m.thread_no FROM turns t JOIN run_threads m ON m.run_no = t.run_no WHERE t.turn_no = ?1",
        )?
        .query_row(params![turn.0], |r| r.get(0))
        .optional()?;
    let Some(no) = found else {
        // The turn is in no thread yet: it belongs to its project; without a project it may not be given.
        let project: Option<String> = tx
            .prepare_cached(
                "SELECT w.workspace_id FROM turns t JOIN workspaces v ON v.workspace_no = t.workspace_no
                 JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no) WHERE t.turn_no = ?1",
            )?
            .query_row([turn.0], |r| r.get(0))
            .optional()?;
        return Ok(match project {
            Some(id) => Scope::Workspace(id),
            None => Scope::Thread(ThreadNo(0), "a conversation that is in no thread yet".into()),
        });
    };
    if let Some(scope) = known.get(&no) {
        return Ok(scope.clone());
    }
    let whole = thread::canonical(tx, no)?;
    let scope = Scope::Thread(whole, thread::row(tx, agent_no, whole)?.label);
    known.insert(no, scope.clone());
    Ok(scope)
}

//! Searches turns: full-text candidates are scored together with their neighbours, and passages are cut out
//! (RETRIEVAL.md §3).
//!
//! Terms are joined by OR and scored by BM25 ([`super::bm25`]); stop words and words that occur nearly everywhere are
//! dropped. A turn counts by its kind ([`super::program`]), and gains next to a good one ([`super::neighbours`]). Text
//! written by machines comes last, and a turn that says the same as a better hit is merged into it ([`super::alike`]).
//! Scores are relative to the best candidate.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use rusqlite::params;

use super::alike::Told;
use super::asked;
use super::bm25::{self, Scores};
use super::chat::{self, Chats};
use super::compounds;
use super::neighbours;
use super::program::{self, Weights};
use super::query::{Query, Term};
use super::snippet::{Scratch, unnumbered};
use super::terms::{
    DEADLINE, TURNS, Weighed, coverage, covered_score, interrupted, letters, matched, needles, rarest, rarity, weigh,
    within,
};
use super::ties;
use super::trace::Trace;
use super::vector_search::VectorSearch;
use super::when::Hold;
use super::within as only;
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Role, TurnKind};
use crate::index::{Index, RowId, scope_token};
use crate::ledger::blocks::Opener;
use crate::ledger::{Ledger, Read};
use crate::redact::redact;
use crate::scope::{AgentId, AgentNo, LaneNo, RunNo, SessionKey, SessionNo, ThreadNo, TurnId, WorkspaceNo};
use crate::transcript::read::{self, Turn};
use crate::transcript::role_name;

/// Candidates taken from the full-text engine before neighbours are added.
const CANDIDATES: usize = 200;

/// The same for a light search: each candidate costs a look-up, and most are on a page of their own.
const LIGHT_CANDIDATES: usize = 80;

/// Number of turns ranked for each wanted hit, because turns that say the same are merged.
const RANKED_FOR_ONE: usize = 3;

/// Largest number of turns examined for a time of day on any day.
const MOST_READ: usize = 50_000;

/// A search limited by time fetches more candidates until it has this many.
const ENOUGH: usize = 50;

/// Weight of the cosine against the words in conversations between two people, where the best turn has 1 (RETRIEVAL: a
/// weighted sum of normalised scores beats fusing ranks). In sessions of programs it is [`Weights::cosine`].
const COSINE: f64 = 1.0;

/// The scores that the ranking uses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Legs {
    /// Word scores and, if there are vectors, vector search.
    #[default]
    Fused,
    Words,
    /// Vector search alone, for measuring.
    Vectors,
}

/// The limits of a search.
#[derive(Clone, Default, Debug)]
pub struct Filter {
    /// Workspaces, already resolved (with their aliases).
    pub workspaces: Option<Vec<WorkspaceNo>>,
    pub harness: Option<String>,
    /// Sessions, already resolved.
    pub sessions: Option<Vec<SessionNo>>,
    /// Threads, including those merged into them: turns said in their runs.
    pub threads: Option<Vec<ThreadNo>>,
    pub role: Option<Role>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    pub limit: usize,
    pub legs: Legs,
    /// The search must be quick: frequent words are left out sooner.
    pub light: bool,
    /// How turns of programs' sessions are weighed; another choice is for measuring.
    pub weights: Weights,
}

/// A turn that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Hit {
    pub turn: Turn,
    /// 1.0 for the best turn of this search.
    pub score: f64,
    /// The passage, with matches marked ([`super::snippet::MATCH_START`]).
    pub passage: String,
    /// Number of words of the query it contains, and of words in the query; 0 if it was found as a neighbour.
    pub matched: usize,
    pub of: usize,
    /// Its cosine to the query, if it was compared.
    pub cosine: Option<f64>,
    /// The turn whose neighbour it is, if it has no word of the query itself.
    pub beside: Option<TurnId>,
    /// Lower-ranking turns that say the same: the other half of a tool call, copies of a file that was read twice.
    pub others: Vec<TurnId>,
    /// The components of the score.
    pub trace: Trace,
}

/// The result of a search.
#[derive(Clone, Default, Debug)]
pub struct Searched {
    pub hits: Vec<Hit>,
    /// The text that was looked for.
    pub looked_for: String,
    /// The words looked up, rarest first, each with the number of turns that contain it.
    pub counted: Vec<(Term, i64)>,
    /// Words left out because they occur nearly everywhere.
    pub too_frequent: Vec<String>,
    /// Turns of the ledger that are not in the index yet.
    pub not_indexed: u64,
    /// Whether the search was stopped after [`DEADLINE`].
    pub cut_short: bool,
    /// Whether nothing matched at the times of the query, so that they were treated as words.
    pub other_times: bool,
    /// Reasons why the result may be incomplete: vectors still being made, a model that does not answer.
    pub less: Vec<String>,
    /// Whether a part of the query was not used because it is too long.
    pub query_cut: bool,
}

/// Searches the turns of an agent. The query's own time limits apply in addition to the filter, turns in a time it
/// mentions rank higher, and a query with only a time lists the turns of that time, latest first. An empty query is
/// `Usage`; no match is an empty list.
pub fn search(ledger: &Ledger, index: &mut Index, agent: &AgentId, query: &Query, filter: &Filter) -> Result<Searched> {
    let wider = Filter { limit: filter.limit.saturating_mul(RANKED_FOR_ONE), ..filter.clone() };
    let (mut found, ranking) = rank(ledger, index, agent, query, &wider, None)?;
    found.hits = ledger.read(|tx| {
        let (mut hits, mut told) = (Vec::<Hit>::new(), Told::default());
        for n in 0..ranking.len() {
            if hits.len() == filter.limit {
                break;
            }
            let Some(hit) = ranking.hit(tx, n)? else { continue };
            match told.same(&hit.turn) {
                Some(at) => hits[at].others.push(hit.turn.id),
                None => hits.push(hit),
            }
        }
        Ok(hits)
    })?;
    let scratch = Scratch::new(index.connection())?;
    let _cutting = scratch.cutting()?;
    for hit in &mut found.hits {
        hit.passage = ranking.passage(&scratch, hit)?;
    }
    Ok(found)
}

/// Ranks turns for [`search`] without reading them, because reading a turn opens a block of the ledger. `vector` is the
/// query's vector, if the model was already asked.
pub(super) fn rank(
    ledger: &Ledger,
    index: &mut Index,
    agent: &AgentId,
    query: &Query,
    filter: &Filter,
    vector: Option<&[f32]>,
) -> Result<(Searched, Ranking)> {
    if query.is_empty() {
        return Err(Error::usage("there is no word in this query").hint("search for a word, a name or a \"phrase\""));
    }
    let (asked_for, mut filter) = (filter, filter.clone());
    (filter.since, filter.until) = within(query.limit(), filter.since, filter.until);
    index.flush()?;
    index.deadline(Some(Instant::now() + DEADLINE))?;
    let mut out = run(ledger, index, agent, query, &filter, vector);
    // Nothing matched at that time: perhaps the words of the time occur literally in a text ("he moved two years ago").
    let missed = |found: &Ranking| !found.ranked.iter().any(|c| gain(query, c.at) > 0.0);
    if !query.time_words.is_empty() && query.has_words() && matches!(&out, Ok((_, found)) if missed(found)) {
        out = run(ledger, index, agent, &query.as_words(), &filter, vector)
            .map(|(found, ranking)| (Searched { other_times: true, ..found }, ranking));
    }
    // Nothing at all was found within the limits: a wrongly remembered time must not hide what there is.
    if query.limit().is_some() && query.has_words() && matches!(&out, Ok((_, found)) if found.ranked.is_empty()) {
        out = run(ledger, index, agent, &query.unlimited(), asked_for, vector)
            .map(|(found, ranking)| (Searched { other_times: true, ..found }, ranking));
    }
    index.deadline(None)?;
    // Damage of the ledger names blocks and records; damage reported by SQLite here is damage of the index.
    out.map_err(|e| match e.kind() {
        ErrorKind::Damaged => e.hint("if the index is what is damaged, ⟨reindex⟩ makes it anew; nothing is lost"),
        _ => e,
    })
}

fn run(
    ledger: &Ledger,
    index: &Index,
    agent: &AgentId,
    query: &Query,
    filter: &Filter,
    vector: Option<&[f32]>,
) -> Result<(Searched, Ranking)> {
    let conn = index.connection();
    let mut out = Searched { looked_for: query.shown(), query_cut: query.cut, ..Searched::default() };
    let scratch = Scratch::new(conn)?;
    let opener = if filter.light { Opener::of_one() } else { Opener::default() };
    let mut ranking = Ranking { query: query.clone(), opener, ..Ranking::default() };
    // One snapshot of the index for the whole search, and its lock is taken once.
    let snapshot = conn.unchecked_transaction()?;
    ledger.read(|tx| {
        let Some(agent_no) = read::agent_no(tx, agent)? else { return Ok(()) };
        out.not_indexed = index.coverage(tx).map(|c| c.missing).unwrap_or(0);
        let filter = &only::narrowed(tx, filter)?;
        let (first, last) = turns_between(tx, filter.since, filter.until)?;
        let nowhere = filter.workspaces.as_ref().is_some_and(Vec::is_empty)
            || filter.sessions.as_ref().is_some_and(Vec::is_empty);
        if first > last || nowhere {
            return Ok(());
        }
        let query = &compounds::added(index, agent_no, query)?;
        let range = RowId::range(agent_no, first, last);
        let all = index.rows_of(agent_no)?;
        let then = if query.only_times { said_then(tx, agent_no, query, filter)? } else { Vec::new() };
        let mut terms = Vec::new();
        let ranked = if then.is_empty() && query.has_words() {
            let direct = match filter.legs {
                Legs::Vectors => None,
                _ => bm25::score(conn, &scratch, query, filter, (range, all), &mut out.too_frequent)?,
            };
            let mut scores = None;
            if let Some((weighed, of_all)) = direct {
                (terms, scores) = (weighed, Some(of_all));
            } else if filter.legs == Legs::Vectors {
                terms = query.words.iter().map(|t| Weighed { term: t.clone(), rows: 1 }).collect();
            } else {
                out.too_frequent.clear();
                terms = weigh(conn, &TURNS, query, range, all, &mut out.too_frequent, &mut out.cut_short)?;
            }
            if terms.is_empty() && query.phrases.is_empty() {
                // The deadline passed before anything could be looked for.
                return Ok(());
            }
            out.counted = terms.iter().map(|t| (t.term.clone(), t.rows)).collect();
            let look = WordSearch { tx, conn, query, filter, terms: &terms, scores, agent_no, range, all };
            let near = match vector {
                Some(vector) => Some(VectorSearch::again(index, agent_no, vector)),
                None => VectorSearch::of(tx, index, agent_no, query, filter.legs, &mut out.less)?,
            };
            let mut found = match filter.legs {
                Legs::Vectors => Vec::new(),
                _ => look.candidates(&mut out.cut_short)?,
            };
            if query.is_narrow() || (query.has_clock() && (found.is_empty() || !filter.light)) {
                add_said_then(tx, agent_no, query, filter, &mut found)?;
            }
            if let Some(near) = &near {
                look.add_near(near, &mut found, (first, last), &mut out.less)?;
            }
            let chats = Chats::of(tx, &found)?;
            for candidate in found.iter_mut().filter(|c| !chats.has(c.session_no)) {
                candidate.own = candidate.alike(filter.weights.cosine);
                candidate.weigh(filter.weights.of(candidate.role, candidate.kind, candidate.bytes));
                candidate.score = candidate.own + gain(query, candidate.at);
            }
            sort(&mut found, filter);
            let mut ranked = neighbours::add((tx, &ranking.opener), found, query, filter, (&chats, near.is_some()))?;
            if near.is_some() {
                chat::weigh(tx, &ranking.opener, query, &chats, &mut ranked)?;
            }
            asked::weigh(tx, query, &mut ranked)?;
            sort(&mut ranked, filter);
            ties::by_importance(tx, &mut ranked)?;
            ranking.scores = look.scores;
            ranked
        } else {
            then
        };
        let words: Vec<&Term> = query.phrases.iter().chain(terms.iter().map(|t| &t.term)).collect();
        // A phrase must occur, so it counts as the rarest of all.
        let phrases = query.phrases.iter().map(|phrase| (phrase, rarest(phrase, all)));
        let words_and_rarity = phrases.chain(terms.iter().map(|t| (&t.term, rarity(t, all))));
        ranking.weights = words_and_rarity.flat_map(|(term, rarity)| vec![rarity; needles(term).len()]).collect();
        ranking.expression = words.iter().map(|t| t.expression()).collect::<Vec<_>>().join(" OR ");
        ranking.needles = words.iter().flat_map(|t| needles(t)).collect();
        // A name counts as one term, however many pieces it has.
        ranking.asked = words.iter().filter(|t| t.asked()).map(|t| needles(t)).collect();
        ranking.only_asked = ranking.asked.len() == words.len();
        ranking.terms = terms.into_iter().map(|t| t.term).collect();
        ranking.agent_no = agent_no;
        ranking.ranked = ranked;
        ranking.ranked.truncate(filter.limit);
        Ok(())
    })?;
    snapshot.commit()?;
    Ok((out, ranking))
}

/// The turns found, best first; a turn is read only when it is asked for.
#[derive(Default)]
pub(super) struct Ranking {
    agent_no: AgentNo,
    query: Query,
    ranked: Vec<Candidate>,
    /// The words looked for, and where they occur, if the posting lists could be read.
    terms: Vec<Term>,
    scores: Option<Scores>,
    /// The plain words of each term of the query.
    asked: Vec<Vec<String>>,
    /// Whether only typed words were looked for: no variants, no parts of names.
    only_asked: bool,
    /// The expression given to the full-text engine.
    expression: String,
    /// The expression as plain words.
    pub needles: Vec<String>,
    /// The rarity of each of them.
    pub weights: Vec<f64>,
    opener: Opener,
}

impl Ranking {
    pub fn len(&self) -> usize {
        self.ranked.len()
    }

    pub fn turn(&self, n: usize) -> TurnId {
        self.ranked[n].turn_no
    }

    /// Returns the words and phrases of the query that a turn contains, according to the index; `None` if that was not
    /// looked up.
    pub fn words_of(&self, n: usize) -> Option<Vec<&Term>> {
        let found = &self.ranked[n];
        let has = self.scores.as_ref()?.has(found.turn_no.0);
        // A turn found by words contains all phrases.
        let phrases = self.query.phrases.iter().filter(|_| found.words > 0.0);
        Some(self.terms.iter().zip(has).filter(|(_, has)| *has).map(|(term, _)| term).chain(phrases).collect())
    }

    /// Whether a word was looked for.
    pub fn looked_for(&self, term: &Term) -> bool {
        self.terms.contains(term) || self.query.phrases.contains(term)
    }

    /// Returns when turn `n` was said, the turn whose neighbour it is if it has no match itself, and its cosine.
    pub fn about(&self, n: usize) -> (Option<Millis>, Option<TurnId>, Option<f64>) {
        let found = &self.ranked[n];
        let beside = (found.own == 0.0).then_some(found.beside).flatten();
        (found.at, beside, found.cosine.map(f64::from))
    }

    /// Returns the kind of turn `n`.
    pub fn kind(&self, n: usize) -> TurnKind {
        self.ranked[n].kind
    }

    /// Whether turns `n` and `m` are of one run: a prompt, the work on it, and its answer.
    pub fn of_one_run(&self, n: usize, m: usize) -> bool {
        self.ranked[n].run_no == self.ranked[m].run_no
    }

    /// Returns the rank of a turn.
    pub fn position(&self, turn: TurnId) -> Option<usize> {
        self.ranked.iter().position(|c| c.turn_no == turn)
    }

    /// Reads hit `n` without its passage; `None` if its turn cannot be read.
    pub fn hit(&self, tx: &Read, n: usize) -> Result<Option<Hit>> {
        let found = &self.ranked[n];
        let turn = match read::turn(tx, &self.opener, self.agent_no, found.turn_no) {
            Ok(turn) => turn,
            // The turn was removed since it was indexed, or is damaged; `verify` reports that.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::Damaged) => return Ok(None),
            Err(e) => return Err(e),
        };
        let best = self.ranked.first().map_or(1.0, |r| r.score).max(f64::MIN_POSITIVE);
        // Plain text folds less than the engine does: a turn found by words has at least one of them, unless only parts
        // matched.
        let least = usize::from(found.words > 0.0 && self.only_asked);
        let matched = if found.own > 0.0 { matched(&indexed_text(&turn), &self.asked).max(least) } else { 0 };
        let (_, beside, cosine) = self.about(n);
        Ok(Some(Hit {
            score: found.score / best,
            trace: found.trace(&self.query),
            passage: String::new(),
            matched,
            of: self.asked.len(),
            cosine,
            beside,
            others: Vec::new(),
            turn,
        }))
    }

    /// Returns the passage of a turn that shows why it was found, with matches marked.
    fn passage(&self, scratch: &Scratch, hit: &Hit) -> Result<String> {
        // Redact before cutting or marking: half of a credential would not be recognised (R14.2).
        let said = unnumbered(&hit.turn.text);
        let text = redact(&said);
        // A turn found by meaning, by time or as a neighbour seldom has a word to mark, and asking the engine costs
        // more than this check.
        let has_some = |text: &str| self.needles.iter().any(|needle| text.contains(needle.as_str()));
        let asks = hit.trace.words > 0.0 || has_some(&letters(&text));
        let expression = if asks { self.expression.as_str() } else { "" };
        scratch.passage(&text, expression, &self.needles)
    }
}

/// `scope:("xqw3") AND text:("phrase" AND ("phrase" OR "word"))`.
pub(super) fn expression(query: &Query, terms: &[Weighed], filter: &Filter) -> String {
    let mut must: Vec<String> = query.phrases.iter().map(|p| p.expression()).collect();
    let any: Vec<String> =
        query.phrases.iter().map(Term::expression).chain(terms.iter().map(|t| t.term.expression())).collect();
    must.push(format!("({})", any.join(" OR ")));
    let mut clauses = vec![format!("text : ({})", must.join(" AND "))];
    let mut scope = |tokens: Vec<String>| {
        let quoted: Vec<String> = tokens.iter().map(|t| format!("\"{t}\"")).collect();
        clauses.push(format!("scope : ({})", quoted.join(" OR ")));
    };
    if let Some(workspaces) = &filter.workspaces {
        scope(workspaces.iter().map(|no| scope_token('w', &no.to_string())).collect());
    }
    if let Some(harness) = &filter.harness {
        scope(vec![scope_token('h', harness)]);
    }
    if let Some(sessions) = &filter.sessions {
        scope(sessions.iter().map(|no| scope_token('s', &no.to_string())).collect());
    }
    if let Some(role) = filter.role {
        scope(vec![scope_token('r', role_name(role))]);
    }
    clauses.join(" AND ")
}

/// Returns the range of turn numbers that can be within the wanted time, so that nothing else is scored. The exact time
/// is checked afterwards.
fn turns_between(tx: &Read, since: Option<Millis>, until: Option<Millis>) -> Result<(i64, i64)> {
    if since.is_none() && until.is_none() {
        return Ok((0, i64::MAX));
    }
    let (first, last): (Option<i64>, Option<i64>) = tx
        .prepare_cached("SELECT min(turn_no), max(turn_no) FROM turns WHERE at >= ?1 AND at <= ?2")?
        .query_row(params![since.unwrap_or(i64::MIN), until.unwrap_or(i64::MAX)], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok((first.unwrap_or(1), last.unwrap_or(0)))
}

/// Returns the best rows for an expression as turn and score; parts of one turn count as its best part. `true`: the
/// search was cut short.
fn candidates(
    conn: &rusqlite::Connection,
    expression: &str,
    range: (i64, i64),
    wanted: usize,
) -> Result<(Vec<(i64, f64)>, bool)> {
    // Weight 0: scope tokens filter, they do not score.
    let mut statement = conn.prepare_cached(
        "SELECT rowid, bm25(fts, 1.0, 0.0) AS s FROM fts WHERE fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY s LIMIT ?4",
    )?;
    let mut found = Vec::new();
    let mut seen: HashMap<i64, usize> = HashMap::new();
    let mut rows = statement.query(params![expression, range.0, range.1, wanted as i64])?;
    loop {
        match rows.next() {
            Ok(Some(r)) => {
                let turn_no = RowId::unpack(r.get(0)?).turn_no;
                // The engine's BM25 is negative: smaller is better.
                let score = -r.get::<_, f64>(1)?;
                if let std::collections::hash_map::Entry::Vacant(e) = seen.entry(turn_no) {
                    e.insert(found.len());
                    found.push((turn_no, score.max(1e-9)));
                }
            }
            Ok(None) => return Ok((found, false)),
            Err(e) if interrupted(&e) => return Ok((found, true)),
            Err(e) => return Err(e.into()),
        }
    }
}

/// The state of one search for words.
struct WordSearch<'a> {
    tx: &'a Read<'a>,
    conn: &'a rusqlite::Connection,
    query: &'a Query,
    filter: &'a Filter,
    terms: &'a [Weighed],
    /// Scores of all turns, if the posting lists could be read.
    scores: Option<Scores>,
    agent_no: AgentNo,
    range: (i64, i64),
    /// Number of the agent's rows.
    all: i64,
}

impl WordSearch<'_> {
    /// Returns the best turns with words of the query, including those in the times it mentions, best first.
    fn candidates(&self, cut_short: &mut bool) -> Result<Vec<Candidate>> {
        let expression = expression(self.query, self.terms, self.filter);
        let (then, cut) = self.of_wished_times(&expression)?;
        *cut_short |= cut;
        let first = if self.filter.light { LIGHT_CANDIDATES } else { CANDIDATES };
        let mut wanted = first;
        loop {
            let (mut rows, cut) = self.best(&expression, self.range, wanted)?;
            let full = rows.len() >= wanted;
            *cut_short |= cut;
            let known: HashSet<i64> = rows.iter().map(|(turn_no, _)| *turn_no).collect();
            rows.extend(then.iter().filter(|(turn_no, _)| !known.contains(turn_no)));
            let covered = match &self.scores {
                Some(scores) => scores.coverage(&rows, self.terms, self.all),
                None => coverage(self.conn, &TURNS, &rows, self.terms, self.range, self.all)?,
            };
            let kept = keep(self.tx, rows, &covered, self.query, self.filter)?;
            // Time filters are applied after the engine: fetch more until there is enough or nothing left.
            if kept.len() >= ENOUGH || !full || cut || wanted >= first * 64 {
                return Ok(kept);
            }
            wanted *= 4;
        }
    }

    /// Returns the best turns of a range of rows. `true`: the search was cut short.
    fn best(&self, expression: &str, range: (i64, i64), wanted: usize) -> Result<(Vec<(i64, f64)>, bool)> {
        match &self.scores {
            Some(scores) => {
                let turns = (RowId::unpack(range.0).turn_no, RowId::unpack(range.1).turn_no);
                Ok((scores.best(wanted, turns), false))
            }
            None => candidates(self.conn, expression, range, wanted),
        }
    }

    /// Adds vector search: the cosine of each candidate and, if the query is open to other words, the nearest other
    /// turns.
    fn add_near(
        &self,
        near: &VectorSearch,
        found: &mut Vec<Candidate>,
        turns: (i64, i64),
        less: &mut Vec<String>,
    ) -> Result<()> {
        let open = self.query.is_open();
        let turn_nos: Vec<TurnId> = found.iter().map(|c| c.turn_no).collect();
        let cosines = match open {
            true => near.turns(self.filter, turns, &turn_nos, less)?,
            false => near.to(&turn_nos)?,
        };
        if open {
            let known: HashSet<TurnId> = turn_nos.into_iter().collect();
            let mut rows: Vec<(i64, f64)> =
                cosines.keys().filter(|no| !known.contains(no)).map(|no| (no.0, 0.0)).collect();
            // Reads in storage order, since several turns are on one page.
            rows.sort_unstable_by_key(|(turn_no, _)| *turn_no);
            found.extend(keep(self.tx, rows, &HashMap::new(), self.query, self.filter)?);
        }
        for candidate in found.iter_mut() {
            candidate.cosine = cosines.get(&candidate.turn_no).copied();
            candidate.own = candidate.alike(COSINE);
        }
        Ok(())
    }

    /// Returns turns in the times the query mentions, which may not be among the best of all times. `true`: the search
    /// was cut short.
    fn of_wished_times(&self, expression: &str) -> Result<(Vec<(i64, f64)>, bool)> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        for time in self.query.times.iter().filter(|t| t.hold == Hold::Wish && t.clock.is_none()) {
            let (first, last) = turns_between(self.tx, time.from, time.until.map(|until| until - 1))?;
            let (first, last) = RowId::range(self.agent_no, first, last);
            let (first, last) = (first.max(self.range.0), last.min(self.range.1));
            if first > last {
                continue;
            }
            let (rows, cut) = self.best(expression, (first, last), CANDIDATES)?;
            found.extend(rows.into_iter().filter(|(turn_no, _)| seen.insert(*turn_no)));
            if cut {
                return Ok((found, true));
            }
        }
        Ok((found, false))
    }
}

/// Adds the turns of a narrow time that the query mentions, whatever their words.
fn add_said_then(
    tx: &Read,
    agent_no: AgentNo,
    query: &Query,
    filter: &Filter,
    found: &mut Vec<Candidate>,
) -> Result<()> {
    let limit = if filter.light { LIGHT_CANDIDATES } else { CANDIDATES };
    let known: HashSet<TurnId> = found.iter().map(|c| c.turn_no).collect();
    let then = said_then(tx, agent_no, query, &Filter { limit, ..filter.clone() })?;
    let new = then.into_iter().filter(|c| !known.contains(&c.turn_no));
    found.extend(new.map(|c| Candidate { words: 0.0, own: 0.0, score: query.gain(c.at), ..c }));
    sort(found, filter);
    Ok(())
}

/// Returns the turns at the times of a query without words, latest first: messages only, because tool output says
/// little.
fn said_then(tx: &Read, agent_no: AgentNo, query: &Query, filter: &Filter) -> Result<Vec<Candidate>> {
    let mut statement =
        neighbours::rows(tx, "at BETWEEN ?1 AND ?2 AND forgotten IS NULL ORDER BY at DESC, turn_no DESC")?;
    let mut session = tx.prepare_cached("SELECT agent_no, session_key FROM sessions WHERE session_no = ?1")?;
    let mut sessions: HashMap<SessionNo, (AgentNo, SessionKey)> = HashMap::new();
    let mut found: Vec<Candidate> = Vec::new();
    for (first, last) in query.stretches() {
        let first = first.max(filter.since.unwrap_or(Millis::MIN));
        let last = last.min(filter.until.unwrap_or(Millis::MAX));
        let mut rows = statement.query((first, last))?;
        let (mut wanted, mut read) = (filter.limit, 0);
        while wanted > 0
            && read < MOST_READ
            && let Some(r) = rows.next()?
        {
            read += 1;
            let (mut turn, workspace) = neighbours::row(r)?;
            let (of, key) = match sessions.get(&turn.session_no) {
                Some(known) => known,
                None => {
                    let row = session.query_row([turn.session_no], |r| Ok((r.get(0)?, r.get::<_, String>(1)?)))?;
                    sessions.entry(turn.session_no).or_insert((row.0, SessionKey::from(row.1)))
                }
            };
            let fits = *of == agent_no
                && turn.kind == TurnKind::Message
                && filter.sessions.as_ref().is_none_or(|wanted| wanted.contains(&turn.session_no))
                && filter.harness.as_ref().is_none_or(|wanted| wanted == key.harness())
                && filter.role.is_none_or(|wanted| wanted == turn.role)
                && filter.workspaces.as_ref().is_none_or(|list| workspace.is_some_and(|no| list.contains(&no)));
            if fits
                && query.favours(turn.at) != Some(false)
                && only::turn(tx, filter, turn.turn_no)?
                && found.iter().all(|c| c.turn_no != turn.turn_no)
            {
                wanted -= 1;
                (turn.words, turn.own, turn.score) = (1.0, 1.0, 1.0);
                found.push(turn);
            }
        }
    }
    found.sort_by(|a, b| b.at.cmp(&a.at).then(b.turn_no.cmp(&a.turn_no)));
    Ok(found)
}

/// Returns the score a turn gains if it is within a time the query mentions.
pub(super) fn gain(query: &Query, at: Option<Millis>) -> f64 {
    query.gain(at)
}

/// A candidate with its position in its session.
pub(super) struct Candidate {
    pub turn_no: TurnId,
    pub session_no: SessionNo,
    pub lane_no: LaneNo,
    pub run_no: RunNo,
    pub at: Option<Millis>,
    pub role: Role,
    pub kind: TurnKind,
    /// Length of its text.
    pub bytes: u32,
    /// Score by words: 1 for the best.
    pub words: f64,
    pub cosine: Option<f32>,
    /// The factor of its kind.
    pub weight: f64,
    /// Words and cosine together, times the factor of its kind; 0 for a neighbour.
    pub own: f64,
    pub score: f64,
    /// The part of the score that comes from its neighbours.
    pub neighbours: f64,
    pub beside: Option<TurnId>,
}

impl Candidate {
    /// Returns the score by words and meaning, where `cosine` is the weight of the meaning.
    fn alike(&self, cosine: f64) -> f64 {
        self.words + cosine * f64::from(self.cosine.unwrap_or(0.0).max(0.0))
    }

    /// Replaces the factor of its kind.
    pub fn weigh(&mut self, weight: f64) {
        self.own *= weight / self.weight;
        self.weight = weight;
    }

    fn trace(&self, query: &Query) -> Trace {
        let date = gain(query, self.at);
        let people = self.score - self.own - self.neighbours - date;
        // Discard rounding errors.
        let people = if people.abs() < 1e-9 { 0.0 } else { people };
        let (words, cosine) = (self.words, self.cosine.map(f64::from));
        let meaning = if self.own > 0.0 { (self.own / self.weight - words).max(0.0) } else { 0.0 };
        Trace {
            words,
            cosine,
            meaning,
            neighbours: self.neighbours,
            date,
            people,
            weight: self.weight,
            sum: self.score,
        }
    }
}

fn keep(
    tx: &Read,
    rows: Vec<(i64, f64)>,
    covered: &HashMap<i64, f64>,
    query: &Query,
    filter: &Filter,
) -> Result<Vec<Candidate>> {
    let mut rows = only::turns(tx, filter, rows)?;
    for (turn_no, score) in &mut rows {
        *score = covered_score(*score, covered.get(turn_no));
    }
    let best = rows.iter().map(|(_, s)| *s).fold(f64::MIN_POSITIVE, f64::max);
    let mut statement = neighbours::rows(tx, "turn_no = ?1 AND forgotten IS NULL")?;
    let mut kept = Vec::new();
    // Reads in storage order, since several turns are on one page, and keeps each turn's place in the engine's order.
    let mut in_order: Vec<(usize, (i64, f64))> = rows.into_iter().enumerate().collect();
    in_order.sort_unstable_by_key(|(_, (turn_no, _))| *turn_no);
    for (place, (turn_no, score)) in in_order {
        let mut found = match statement.query_row([turn_no], neighbours::row) {
            Ok((found, _)) => found,
            Err(rusqlite::Error::QueryReturnedNoRows) => continue,
            Err(e) => return Err(e.into()),
        };
        let in_time = match found.at {
            Some(at) => filter.since.is_none_or(|s| at >= s) && filter.until.is_none_or(|u| at <= u),
            None => filter.since.is_none() && filter.until.is_none(),
        };
        if in_time {
            (found.words, found.own) = (score / best, score / best);
            found.score = found.own + gain(query, found.at);
            kept.push((place, found));
        }
    }
    // The engine's order follows its own scores; neighbours are looked up only for the best.
    kept.sort_unstable_by(|(i, a), (k, b)| b.score.total_cmp(&a.score).then(i.cmp(k)));
    Ok(kept.into_iter().map(|(_, found)| found).collect())
}

/// Sorts best first, with text of machines behind the rest unless the system's turns were asked for; of equal scores,
/// the later turn comes first.
pub(super) fn sort(ranked: &mut [Candidate], filter: &Filter) {
    let last = |c: &Candidate| filter.role != Some(Role::System) && program::is_machine(c.role, c.kind);
    ranked.sort_by(|a, b| {
        let order = last(a).cmp(&last(b)).then(b.score.total_cmp(&a.score));
        order.then(b.at.cmp(&a.at)).then(b.turn_no.cmp(&a.turn_no))
    });
}

/// Returns all indexed text of a turn as plain text.
fn indexed_text(turn: &Turn) -> String {
    [turn.speaker.as_deref().unwrap_or(""), turn.tool.as_deref().unwrap_or(""), &turn.text].join(" ")
}

//! Brings the lineage of one session up to what was stored: closes chunks, makes compaction nodes where the program's
//! context was cut or ours is due, and session nodes where the session ended or became idle (R6.2, R6.6).
//!
//! Every step has three phases: a short read makes a plan, the turns are distilled without any lock, a short write
//! checks that the plan is still valid. An invalid plan is made again; repeating a step makes nothing twice. The work
//! can stop between any two steps and be continued later, in another process.

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use rusqlite::{OptionalExtension, params};

use super::chunk::{Piece, Size, cuts};
use super::load::{self, Loaded, Mark, SessionFacts};
use super::still_open::run_of;
use super::summarizer::Summarizer;
use super::{Request, Said, compaction, condense, session, summary_input};
use crate::clock::Millis;
use crate::error::Result;
use crate::event::{Role, TurnKind};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::ledger::codes::{MESSAGE, RUN_OPEN, USER};
use crate::lineage::{self, Kind, NewNode, undistilled};
use crate::scope::{LaneNo, NodeId, RunNo, SessionNo, ThreadNo, TurnId};
use crate::thread::{self, Membership};
use crate::tokens::tokens;
use crate::transcript::{self, IDLE_MS};
use crate::tree::{AssistantHome, TreeLock};

/// Sizes at which chunks close and our own compactions are made; configurable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub chunk: Size,
    /// Turns, or tokens, without a compaction after which Heirloom makes one itself: about the context programs hold
    /// before they compact. 0: never.
    pub compact_turns: u64,
    pub compact_tokens: u64,
    /// Tokens of the newest turns that such a compaction leaves out.
    pub tail_tokens: u64,
    /// Maximum tokens of a handoff.
    pub handoff_tokens: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            chunk: Size::default(),
            compact_turns: 800,
            compact_tokens: 160_000,
            tail_tokens: 4_000,
            handoff_tokens: super::handoff::TOKENS,
        }
    }
}

/// Everything that advancing the lineages of an agent needs: its home, the limits and the summariser.
pub struct Pass<'p> {
    pub at: &'p AssistantHome<'p>,
    pub limits: Limits,
    pub opener: Opener,
    /// The preferred summariser. Without one, or if its answer is not valid, summaries are made without a model (D5).
    pub summarizer: Option<&'p dyn Summarizer>,
    /// Time of this pass's last scan of the visible files.
    scanned: Cell<Option<Instant>>,
}

/// Numbers of nodes that a pass made, by kind.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Advanced {
    pub chunks: u64,
    pub sessions: u64,
    pub compactions: u64,
    pub condensed: u64,
    /// Time at which the session is due again.
    pub again_at: Option<Millis>,
}

impl Advanced {
    pub fn add(&mut self, other: &Advanced) {
        self.chunks += other.chunks;
        self.sessions += other.sessions;
        self.compactions += other.compactions;
        self.condensed += other.condensed;
    }
}

/// Maximum turns read for one plan. About a hundred chunks: distilling them stays well below a second, storing them
/// below 50 ms.
const WINDOW_TURNS: usize = 2_000;
const WINDOW_BYTES: usize = 4 << 20;

/// Maximum number of chunks stored in one transaction (R4.1: 50 ms).
const CHUNKS_AT_ONCE: usize = 64;

/// Time to wait for a program's own summary, which programs write a moment after they mark the compaction.
const SUMMARY_COMES_MS: Millis = 10_000;

/// Time for which a pass relies on its last scan of the files.
const SCAN_HOLDS: Duration = Duration::from_secs(2);

/// A last activity more than this ahead of our clock is not trusted; such a session counts as over.
const DAY_MS: Millis = 86_400_000;

/// The next step that is due for a session.
enum Next {
    Chunks(ChunkPlan),
    /// A mark of the program (a compaction, or a new start) up to which the lane is chunked already.
    Mark(LaneNo, Mark),
    /// Our own compaction of a lane, up to this turn.
    Compact(LaneNo, TurnId),
    /// The session is over for now.
    End,
    Wait(Option<Millis>),
}

/// The chunks of one lane that can be closed.
struct ChunkPlan {
    lane_no: LaneNo,
    frontier: TurnId,
    turns: Vec<Loaded>,
    ends: Vec<usize>,
    threads: HashMap<RunNo, Membership>,
    /// Runs that were abandoned, each with the run that replaced it.
    left: Vec<(RunNo, RunNo)>,
    late: Vec<(TurnId, TurnId)>,
}

impl<'p> Pass<'p> {
    pub fn new(at: &'p AssistantHome<'p>, limits: Limits) -> Pass<'p> {
        Pass { at, limits, opener: Opener::default(), summarizer: None, scanned: Cell::new(None) }
    }

    /// Takes the tree lock, and scans the files unless this pass has just scanned them: a scan looks at every file, so
    /// a scan for each of thousands of sessions would take minutes. Edits that people make between two scans are safe,
    /// because an act compares each file it changes with the disk; a loop that a person resolves by hand is noticed by
    /// the next scan.
    pub(super) fn lock(&self) -> Result<TreeLock<'p>> {
        if self.scanned.get().is_some_and(|at| at.elapsed() < SCAN_HOLDS) {
            return self.at.lock_unscanned();
        }
        let lock = self.at.lock()?;
        self.scanned.set(Some(Instant::now()));
        Ok(lock)
    }

    /// Gives this pass a preferred summariser. No lock is held while it makes summaries.
    pub fn summarized_by(self, summarizer: &'p dyn Summarizer) -> Pass<'p> {
        Pass { summarizer: Some(summarizer), ..self }
    }

    /// Does all steps that are due for a session.
    pub fn session(&self, session_no: SessionNo) -> Result<Advanced> {
        let mut out = Advanced::default();
        loop {
            let mark = self.at.read(|tx| undistilled::of(tx, session_no))?;
            match self.at.read(|tx| self.next(tx, session_no))? {
                None => return Ok(out),
                Some(Next::Chunks(plan)) => out.chunks += self.store_chunks(session_no, &plan)?,
                Some(Next::Mark(lane_no, mark)) => {
                    if mark.is_compaction {
                        out.compactions += compaction::of_mark(self, session_no, lane_no, &mark)?;
                    } else {
                        out.sessions += session::close(self, session_no)?;
                        compaction::note_segment(self, session_no, lane_no, &mark)?;
                    }
                    out.condensed += condense::after(self, session_no)?;
                }
                Some(Next::Compact(lane_no, until)) => {
                    out.compactions += compaction::ours(self, session_no, lane_no, until, "threshold")?;
                    out.condensed += condense::after(self, session_no)?;
                }
                Some(Next::End) => {
                    out.sessions += session::close(self, session_no)?;
                    out.condensed += condense::after(self, session_no)?;
                }
                Some(Next::Wait(again_at)) => {
                    out.again_at = again_at;
                    if let Some(mark) = mark {
                        self.at.write("lineage.done", |tx| {
                            tx.note("session_no", session_no);
                            undistilled::done(tx, session_no, mark, again_at)
                        })?;
                    }
                    return Ok(out);
                }
            }
        }
    }

    /// Closes chunks of a lane up to a turn, even if no run or session ended at that turn: for a compaction requested
    /// by a person.
    pub(super) fn chunk_up_to(&self, session_no: SessionNo, lane_no: LaneNo, until: TurnId) -> Result<u64> {
        let mut made = 0;
        loop {
            let plan = self.at.read(|tx| {
                let Some(facts) = load::session(tx, self.at.agent_no, session_no)? else { return Ok(None) };
                self.chunks(tx, session_no, &facts, lane_no, None, Some(until))
            })?;
            match plan {
                Some(plan) if !plan.ends.is_empty() => made += self.store_chunks(session_no, &plan)?,
                _ => return Ok(made),
            }
        }
    }

    fn next(&self, tx: &Read, session_no: SessionNo) -> Result<Option<Next>> {
        let Some(facts) = load::session(tx, self.at.agent_no, session_no)? else { return Ok(None) };
        let now = self.at.ledger.now();
        let quiet_at = facts.last_at.saturating_add(IDLE_MS);
        let over = facts.ended || quiet_at <= now || facts.last_at > now + DAY_MS;
        for (lane_no, lane) in &facts.lanes {
            let marks = load::marks(tx, session_no, *lane_no)?;
            let plan = self.chunks(tx, session_no, &facts, *lane_no, marks.first(), None)?;
            if let Some(plan) = plan.filter(|p| !p.ends.is_empty()) {
                return Ok(Some(Next::Chunks(plan)));
            }
            if let Some(first) = marks.first() {
                if first.is_compaction && self.summary_may_come(tx, *lane_no, first, over)? {
                    return Ok(Some(Next::Wait(Some(now + SUMMARY_COMES_MS))));
                }
                return Ok(Some(Next::Mark(*lane_no, first.clone())));
            }
            if lane.is_empty()
                && let Some(until) = self.is_due(tx, *lane_no)?
            {
                return Ok(Some(Next::Compact(*lane_no, until)));
            }
        }
        if over && !lineage::uncovered(tx, session_no)?.is_empty() {
            return Ok(Some(Next::End));
        }
        Ok(Some(Next::Wait((!over).then_some(quiet_at))))
    }

    /// Whether the program may still write its summary: the mark is the newest record, only a moment old, and has no
    /// summary yet.
    fn summary_may_come(&self, tx: &Read, lane_no: LaneNo, mark: &Mark, over: bool) -> Result<bool> {
        if over || mark.at.is_none_or(|at| self.at.ledger.now().abs_diff(at) > SUMMARY_COMES_MS as u64) {
            return Ok(false);
        }
        let behind = tx
            .prepare_cached("SELECT 1 FROM turns WHERE lane_no = ?1 AND record_no >= ?2 LIMIT 1")?
            .exists((lane_no, mark.record_no))?;
        Ok(!behind)
    }

    /// Returns the turn up to which our own compaction is due, if it is.
    fn is_due(&self, tx: &Read, lane_no: LaneNo) -> Result<Option<TurnId>> {
        let (most_turns, most_tokens) = (self.limits.compact_turns, self.limits.compact_tokens);
        if most_turns == 0 && most_tokens == 0 {
            return Ok(None);
        }
        let chunks = compaction::open_chunks(tx, lane_no, None)?;
        let (turns, spent) = chunks.iter().fold((0, 0), |(t, s), c| (t + c.turns, s + c.tokens));
        if !((most_turns > 0 && turns >= most_turns) || (most_tokens > 0 && spent >= most_tokens)) {
            return Ok(None);
        }
        // The newest turns are left out of the compaction, unless nothing would be left to compact.
        let mut tail = 0;
        let mut kept = 0;
        for chunk in chunks.iter().rev() {
            if tail + chunk.tokens > self.limits.tail_tokens {
                break;
            }
            tail += chunk.tokens;
            kept += 1;
        }
        let upto = chunks.len() - kept.min(chunks.len().saturating_sub(1));
        Ok(chunks.get(upto.saturating_sub(1)).map(|c| c.last))
    }

    /// Plans the chunks of a lane that can be closed now: after its last chunk, before the next mark, of closed runs.
    fn chunks(
        &self,
        tx: &Read,
        session_no: SessionNo,
        facts: &SessionFacts,
        lane_no: LaneNo,
        mark: Option<&Mark>,
        until: Option<TurnId>,
    ) -> Result<Option<ChunkPlan>> {
        let frontier = lineage::frontier(tx, lane_no)?;
        let (mut turns, mut more) = load::behind(tx, &self.opener, lane_no, frontier, (WINDOW_TURNS, WINDOW_BYTES))?;
        if turns.is_empty() {
            return Ok(None);
        }
        let now = self.at.ledger.now();
        let over = facts.ended || facts.last_at.saturating_add(IDLE_MS) <= now || facts.last_at > now + DAY_MS;
        // Whether the range ends for good: at a mark, at a requested turn, or because the session is over.
        let mut ends = false;
        let stop = turns
            .iter()
            .position(|t| mark.is_some_and(|m| t.record_no >= m.record_no) || until.is_some_and(|u| t.said.id > u));
        if let Some(stop) = stop {
            turns.truncate(stop);
            (ends, more) = (true, false);
        } else if !more {
            ends = over || mark.is_some() || until.is_some();
            if !ends {
                let open = self.first_open(tx, lane_no, &turns)?;
                turns.truncate(open);
            }
        }
        let mut plan = ChunkPlan {
            lane_no,
            frontier,
            ends: Vec::new(),
            threads: HashMap::new(),
            left: Vec::new(),
            late: Vec::new(),
            turns,
        };
        let mut keys: Vec<String> = Vec::new();
        let mut pieces = Vec::with_capacity(plan.turns.len());
        let mut seen: HashMap<RunNo, TurnId> = HashMap::new();
        let mut previous = run_of(tx, frontier)?;
        for i in 0..plan.turns.len() {
            let (id, run) = (plan.turns[i].said.id, plan.turns[i].said.run);
            if let Entry::Vacant(place) = plan.threads.entry(run) {
                place.insert(thread::membership(tx, run)?);
            }
            let key = plan.threads[&run].key.as_str();
            let at = keys.iter().position(|k| k == key).unwrap_or_else(|| {
                keys.push(key.to_owned());
                keys.len() - 1
            });
            let mut forks = false;
            if previous != Some(run) {
                // The run continued after another had begun: its turns belong behind the earlier turns of the same run.
                let behind = match seen.get(&run) {
                    Some(last) => Some(*last),
                    None => last_of_run(tx, run, frontier)?,
                };
                if let Some(behind) = behind {
                    plan.late.push((id, behind));
                } else if let Some(left) = self.leaves(tx, session_no, lane_no, &plan.turns[i])? {
                    forks = true;
                    plan.left.extend(left.into_iter().map(|other| (other, run)));
                }
            }
            seen.insert(run, id);
            previous = Some(run);
            pieces.push(Piece { run, tokens: tokens(&plan.turns[i].said.text) as u64, thread: at, forks });
        }
        plan.ends = cuts(&pieces, self.limits.chunk, ends, !more);
        if plan.ends.is_empty() && more {
            // A single run may exceed what is read at once. It is cut here, because the chunk would never close
            // otherwise.
            plan.ends.push(plan.turns.len());
        }
        plan.ends.truncate(CHUNKS_AT_ONCE);
        for (run, _) in &plan.left {
            for turn in plan.turns.iter_mut().filter(|t| t.said.run == *run) {
                turn.left = true;
            }
        }
        Ok(Some(plan))
    }

    /// Returns the number of turns before the first turn of an open run.
    fn first_open(&self, tx: &Read, lane_no: LaneNo, turns: &[Loaded]) -> Result<usize> {
        // The next prompt closes a run, so only the newest can be open.
        let open: Option<RunNo> = tx
            .prepare_cached(&format!(
                "SELECT run_no FROM turn_results
                 WHERE run_no = (SELECT max(run_no) FROM turn_results WHERE lane_no = ?1)
                   AND status = {RUN_OPEN} AND closed_by IS NULL"
            ))?
            .query_row([lane_no], |r| r.get(0))
            .optional()?;
        Ok(open.and_then(|run| turns.iter().position(|t| t.said.run == run)).unwrap_or(turns.len()))
    }

    /// Returns the runs that a new run abandons: those between its parent turn and itself. `None`: it continues the
    /// last run.
    fn leaves(&self, tx: &Read, session_no: SessionNo, lane_no: LaneNo, first: &Loaded) -> Result<Option<Vec<RunNo>>> {
        let Some(parent) = &first.parent else { return Ok(None) };
        if first.said.role != Role::User || first.said.kind != TurnKind::Message {
            return Ok(None);
        }
        let found: Option<(RunNo, RunNo)> = tx
            .prepare_cached(
                "SELECT turn_no, run_no FROM turns WHERE entry = ?1 AND session_no = ?2 AND lane_no = ?3 AND turn_no < ?4
                 ORDER BY revision DESC LIMIT 1",
            )?
            .query_row(params![parent, session_no, lane_no, first.said.id.0], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        let Some((parent_turn, parent_run)) = found else { return Ok(None) };
        if parent_run == first.said.run {
            return Ok(None);
        }
        // Between the two, only runs that a person began count.
        let mut statement = tx.prepare_cached(
            "SELECT DISTINCT r.run_no FROM turns t INDEXED BY turns_lane JOIN turn_results r USING (run_no)
             WHERE t.lane_no = ?1 AND t.turn_no > ?2 AND t.turn_no < ?3 AND r.run_no NOT IN (?4, ?5) AND r.left_by IS NULL
             ORDER BY r.run_no",
        )?;
        let rows =
            statement.query_map((lane_no, parent_turn, first.said.id.0, parent_run, first.said.run), |r| r.get(0))?;
        let between: Vec<RunNo> = rows.collect::<rusqlite::Result<_>>()?;
        let asked = |run: &RunNo| -> Result<bool> {
            Ok(tx
                .prepare_cached(&format!(
                    "SELECT 1 FROM turns WHERE run_no = ?1 AND role = {USER} AND kind = {MESSAGE} LIMIT 1"
                ))?
                .exists([run])?)
        };
        for run in &between {
            if asked(run)? {
                return Ok(Some(between));
            }
        }
        Ok(None)
    }

    fn store_chunks(&self, session_no: SessionNo, plan: &ChunkPlan) -> Result<u64> {
        let facts = self.at.read(|tx| load::session(tx, self.at.agent_no, session_no))?;
        let root = facts.as_ref().and_then(|f| f.root.clone());
        let mut nodes = Vec::new();
        let (mut from, mut fell_back) = (0, 0);
        for end in &plan.ends {
            let turns = &plan.turns[from..*end];
            from = *end;
            let Some((first, last)) = turns.first().zip(turns.last()) else { continue };
            let abandoned = turns.iter().all(|t| t.left);
            let said: Vec<Said> = turns.iter().filter(|t| abandoned || !t.left).map(|t| t.said.clone()).collect();
            let source_tokens: u64 = turns.iter().map(|t| tokens(&t.said.text) as u64).sum();
            let request = Request { turns: &said, before: None, root: root.as_deref() };
            let made = summary_input::of_turns(self, Kind::Chunk, &request, source_tokens, CHUNK_TOKENS);
            fell_back += usize::from(made.fell_back);
            let times = turns.iter().filter_map(|t| t.said.at);
            let node = NewNode {
                agent_no: self.at.agent_no,
                kind: Kind::Chunk,
                depth: 0,
                thread_no: ThreadNo(0),
                session_no: Some(session_no),
                lane_no: Some(plan.lane_no),
                turns: (first.said.id, last.said.id),
                times: (times.clone().min(), times.max()),
                count: turns.len() as u64,
                summary: made.text,
                distillate: made.distillate,
                source: made.source,
                source_tokens,
                summary_turn: None,
                abandoned,
                late: plan.late.iter().filter(|(t, _)| (first.said.id..=last.said.id).contains(t)).copied().collect(),
                replaces: None,
                flush: None,
                children: Vec::new(),
            };
            nodes.push((first.said.run, node, turns));
        }
        self.at.write("lineage.chunk", |tx| {
            if lineage::frontier(tx, plan.lane_no)? != plan.frontier {
                // Another process has chunked this lane meanwhile.
                return Ok(0);
            }
            let mut made: Vec<NodeId> = Vec::new();
            for (run, node, turns) in &mut nodes {
                node.thread_no = thread::join(tx, self.at.agent_no, *run, &plan.threads[run])?;
                let mut last = *run;
                for turn in turns.iter() {
                    if turn.said.run != last {
                        last = turn.said.run;
                        thread::join(tx, self.at.agent_no, last, &plan.threads[&last])?;
                    }
                }
                made.push(lineage::insert(tx, node)?);
            }
            for (run, by) in &plan.left {
                transcript::leave(tx, *run, *by)?;
            }
            summary_input::note(self, tx, fell_back);
            tx.note("session_no", session_no);
            tx.note("chunks", made.len());
            if let (Some(first), Some(last)) = (made.first(), made.last()) {
                tx.note("nodes", format!("{first}..{last}"));
            }
            Ok(made.len() as u64)
        })
    }
}

/// Maximum tokens of a chunk's summary: a few lines.
const CHUNK_TOKENS: usize = 100;

/// Returns the last turn of a run that is already in a chunk.
fn last_of_run(tx: &Read, run: RunNo, upto: TurnId) -> Result<Option<TurnId>> {
    Ok(tx
        .prepare_cached("SELECT max(turn_no) FROM turns WHERE run_no = ?1 AND turn_no <= ?2")?
        .query_row((run, upto.0), |r| r.get(0))?)
}

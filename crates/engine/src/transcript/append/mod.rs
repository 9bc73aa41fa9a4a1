//! Appending records and the turns they contain (R4.4, R4.5).
//!
//! A record is always stored. Each of its turns is either new, or already known so that the record becomes a witness of
//! it, or first seen in another session so that this session refers to it. A batch is stored with its cursors and its
//! audit row in one transaction.

mod echo;
mod forgotten;
mod identity;
mod names;
mod places;
mod provisional;
mod streams;

use std::collections::{BTreeMap, HashMap, VecDeque};

use rusqlite::{OptionalExtension, params};
use serde_json::json;

pub(crate) use self::forgotten::EVER;
pub(crate) use self::streams::StreamMoved;
use self::streams::{OpenStream, moved, open_stream, shift, source, store_group};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Fact, NewTurn, RecordClass, Role, TurnKind};
use crate::ledger::Write;
use crate::ledger::blocks::{self, Opener, Packed, Spot};
use crate::ledger::forgotten_names::ForgottenNames;
use crate::scope::{
    AgentId, AgentNo, BlockNo, LaneNo, NameNo, RecordNo, RunNo, SessionKey, SessionNo, StreamNo, TurnId, WorkspaceNo,
};
use crate::source::project::ProjectRoot;
use crate::transcript::codes::{class_code, kind_code, role_code};
use crate::transcript::prepare::{
    Batch, KEY_LENGTH, Origin, OriginForm, PlannedRecord, PlannedTurn, RecordBytes, Step, digest,
};
use crate::transcript::runs::Runs;

/// The result of an append.
#[derive(Default, Debug)]
pub struct Appended {
    pub records: u64,
    pub bytes: u64,
    pub quarantined: u64,
    /// Records that repeat a turn already known in their session.
    pub witnesses: u64,
    /// Turns that were first seen in another session.
    pub references: u64,
    /// New turns, in ledger order, with everything the index needs.
    pub fresh: Vec<Fresh>,
    /// The id of each turn of the batch in order, whether new or known.
    pub turns: Vec<TurnId>,
    /// Sessions to which something was added.
    pub sessions: Vec<SessionNo>,
    /// Records with forgotten text, which were stored without their bytes.
    pub kept_out: u64,
}

/// A turn that was just stored.
#[derive(Debug)]
pub struct Fresh {
    pub turn_no: TurnId,
    pub agent_no: AgentNo,
    pub session_no: SessionNo,
    pub workspace_no: Option<WorkspaceNo>,
    pub harness: &'static str,
    pub turn: NewTurn,
}

/// Stores a batch. Records another process has stored since the plan was made are skipped if they are identical;
/// otherwise the error is `Busy` with "moved" and the caller plans again. Forgotten text is not stored again (R14.2).
pub fn append(tx: &mut Write, mut batch: Batch, names: &mut Names) -> Result<Appended> {
    let first_record: i64 =
        tx.prepare_cached("SELECT coalesce(max(record_no), 0) + 1 FROM records")?.query_row([], |r| r.get(0))?;
    let known = ForgottenNames::load(tx)?;
    if !known.is_empty() {
        names::mark_forgotten(&known, &mut batch);
    }
    let kept_out = forgotten::keep_out(tx, &mut batch)?;
    let mut state = Appender {
        now: tx.now(),
        blocks: Blocks { numbers: vec![None; batch.blocks.len()], packed: batch.blocks, unused: BTreeMap::new() },
        projects: batch.projects,
        opener: Opener::default(),
        agents: HashMap::new(),
        sessions: HashMap::new(),
        spans: BTreeMap::new(),
        lanes: HashMap::new(),
        working_in: HashMap::new(),
        workspaces: HashMap::new(),
        runs: Runs::default(),
        provisional_in: HashMap::new(),
        latest: HashMap::new(),
        copying: HashMap::new(),
        digests: blake3::Hasher::new(),
        out: Appended::default(),
        names,
    };
    let mut decoding = serde_json::Map::new();
    for step in batch.steps {
        if !step.records.is_empty() {
            decoding.insert(step.origin.harness.to_owned(), step.origin.decoding.into());
        }
        state.step(tx, step)?;
    }
    state.runs.store(tx)?;
    state.blocks.blank_unused(tx)?;
    let Appender { mut out, digests, spans, .. } = state;
    out.kept_out = kept_out;
    out.sessions = spans.keys().copied().collect();
    for (session_no, span) in &spans {
        span.store(tx, *session_no)?;
    }
    if out.records > 0 {
        tx.note("first_record", first_record);
        tx.note("last_record", first_record + out.records as i64 - 1);
        tx.note("digests", hex(digests.finalize().as_bytes()));
        tx.note("decoding", decoding);
    }
    tx.note("records", out.records);
    tx.note("turns", out.fresh.len());
    if out.kept_out > 0 {
        tx.note("kept_out", out.kept_out);
    }
    if out.witnesses + out.references + out.quarantined > 0 {
        tx.note(
            "known",
            json!({"witnesses": out.witnesses, "references": out.references, "quarantined": out.quarantined}),
        );
    }
    Ok(out)
}

/// Repeated strings and their numbers, cached between batches. The cache must be cleared after a transaction is rolled
/// back.
#[derive(Default)]
pub struct Names(HashMap<String, NameNo>);

impl Names {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn number(&mut self, tx: &Write, name: &str) -> Result<NameNo> {
        if let Some(no) = self.0.get(name) {
            return Ok(*no);
        }
        let found: Option<NameNo> = tx
            .prepare_cached("SELECT name_no FROM names WHERE name = ?1")?
            .query_row([name], |r| r.get(0))
            .optional()?;
        let no = match found {
            Some(no) => no,
            None => {
                tx.prepare_cached("INSERT INTO names (name) VALUES (?1)")?.execute([name])?;
                NameNo(tx.last_insert_rowid())
            }
        };
        self.0.insert(name.to_owned(), no);
        Ok(no)
    }

    fn number_of(&mut self, tx: &Write, name: Option<&str>) -> Result<Option<NameNo>> {
        name.filter(|n| !n.is_empty()).map(|n| self.number(tx, n)).transpose()
    }
}

/// The first and last time of a session's turns; written once per batch.
#[derive(Clone, Default)]
struct Span {
    first: Option<i64>,
    last: Option<i64>,
}

impl Span {
    fn take(&mut self, at: Option<i64>) {
        let Some(at) = at else { return };
        self.first = Some(self.first.map_or(at, |f| f.min(at)));
        self.last = Some(self.last.map_or(at, |l| l.max(at)));
    }

    fn store(&self, tx: &Write, session_no: SessionNo) -> Result<()> {
        if self.first.is_some() {
            // A session that continues after its end is open again.
            tx.prepare_cached(
                "UPDATE sessions SET started_at = min(coalesce(started_at, ?2), ?2),
                        last_at = max(coalesce(last_at, ?3), ?3),
                        ended_by = CASE WHEN ended_at < ?3 THEN NULL ELSE ended_by END,
                        ended_at = CASE WHEN ended_at < ?3 THEN NULL ELSE ended_at END
                 WHERE session_no = ?1",
            )?
            .execute(params![session_no, self.first, self.last])?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Lane {
    session_no: SessionNo,
    lane_no: LaneNo,
}

/// The batch's blocks; each is stored when the first record in it is stored.
struct Blocks {
    packed: Vec<Packed>,
    numbers: Vec<Option<BlockNo>>,
    /// Offset and length of packed bytes that no row points to, by block.
    unused: BTreeMap<usize, Vec<(i64, i64)>>,
}

impl Blocks {
    fn number(&mut self, tx: &Write, block: usize) -> Result<BlockNo> {
        if let Some(no) = self.numbers[block] {
            return Ok(no);
        }
        let no = blocks::insert(tx, &self.packed[block])?;
        self.numbers[block] = Some(no);
        Ok(no)
    }

    fn leave_out(&mut self, spot: Spot, length: i64) {
        if length > 0 {
            self.unused.entry(spot.block).or_default().push((spot.offset as i64, length));
        }
    }

    /// Blanks what was packed and is not needed: a forget finds the words it erases by the rows that point to them.
    fn blank_unused(&mut self, tx: &Write) -> Result<()> {
        for (block, stretches) in std::mem::take(&mut self.unused) {
            let Some(no) = self.numbers[block] else { continue };
            let mut raw = self.packed[block].open()?;
            for (offset, length) in stretches {
                blocks::blank(&mut raw, offset, length)?;
            }
            blocks::rewrite(tx, no, &Packed::of(&raw)?)?;
        }
        Ok(())
    }
}

struct Appender<'n> {
    now: i64,
    blocks: Blocks,
    projects: HashMap<String, Option<ProjectRoot>>,
    opener: Opener,
    agents: HashMap<AgentId, AgentNo>,
    // A batch may contain as many sessions as records, so each is looked up by its number instead of searching all.
    sessions: HashMap<(AgentNo, String), SessionNo>,
    spans: BTreeMap<SessionNo, Span>,
    /// Lanes by session and name.
    lanes: HashMap<SessionNo, HashMap<String, Lane>>,
    /// The current project of a lane; changes only with a prompt (R7.2).
    working_in: HashMap<LaneNo, Option<WorkspaceNo>>,
    workspaces: HashMap<(AgentNo, String), WorkspaceNo>,
    runs: Runs,
    /// Whether a session has provisional turns.
    provisional_in: HashMap<SessionNo, bool>,
    /// The latest turns of a lane, and whether an echo made them.
    latest: HashMap<LaneNo, VecDeque<(TurnId, bool)>>,
    /// The run of another session that a lane repeats.
    copying: HashMap<LaneNo, Option<RunNo>>,
    digests: blake3::Hasher,
    out: Appended,
    names: &'n mut Names,
}

impl Appender<'_> {
    fn step(&mut self, tx: &mut Write, mut step: Step) -> Result<()> {
        let agent_no = self.agent(tx, &step.origin.agent)?;
        let source_no = source(tx, agent_no, &step.origin, self.now)?;
        let stream = open_stream(tx, source_no, &step.key)?;
        if step.origin.form.is_said_live() {
            shift(&mut step, &stream);
        } else if stream.at != step.before {
            if !self.rebase(tx, &stream, &mut step)? {
                return Err(moved(&step.origin));
            }
            if step.records.is_empty() {
                return store_group(tx, source_no, &step);
            }
        }
        if stream.at.is_some_and(|at| at.generation != step.generation) {
            self.strand(tx, stream.stream_no)?;
        }
        let mut at = Cursor {
            agent_no,
            origin: &step.origin,
            stream_no: stream.stream_no,
            generation: step.generation,
            native: step.placement.native.clone(),
            lane: step.placement.lane.clone(),
            settled: stream.settled_as.is_some(),
            session: None,
            cwd: None,
        };
        if let Some((native, lane)) = stream.settled_as {
            (at.native, at.lane) = (native, lane);
        }
        for record in std::mem::take(&mut step.records) {
            self.record(tx, &mut at, record)?;
        }
        // A stream without turns still belongs to the session its path names.
        if !at.settled && step.after.next > 0 && !step.origin.form.is_said_live() {
            self.enter(tx, &mut at)?;
        }
        let pending = if step.after.pending.is_empty() { None } else { Some(blocks::squeeze(&step.after.pending)?) };
        tx.prepare_cached(
            "UPDATE streams SET generation = ?2, next = ?3, lines = ?4, mid_line = ?5, pending = ?6, decoder = ?7
             WHERE stream_no = ?1",
        )?
        .execute(params![
            stream.stream_no,
            step.generation,
            step.after.next,
            step.after.lines,
            step.after.mid_line,
            pending,
            step.after.decoder
        ])?;
        if let Some(stat) = &step.stat {
            tx.prepare_cached("UPDATE sources SET stat = ?2, seen_at = ?3 WHERE source_no = ?1")?
                .execute(params![source_no, stat, self.now])?;
        }
        store_group(tx, source_no, &step)
    }

    /// Removes from a step the records another process has stored meanwhile. `false` if those differ from the plan.
    fn rebase(&mut self, tx: &Write, stream: &OpenStream, step: &mut Step) -> Result<bool> {
        let Some(at) = stream.at.filter(|at| at.generation == step.generation) else { return Ok(false) };
        let mut statement = tx.prepare_cached(
            "SELECT length, key, digest, forgotten IS NOT NULL FROM records
             WHERE stream_no = ?1 AND generation = ?2 AND position = ?3",
        )?;
        let mut opened: Option<(usize, Vec<u8>)> = None;
        let mut behind = 0;
        for record in &step.records {
            let RecordBytes::New { position, length, spot, .. } = record.bytes else { return Ok(false) };
            if position >= at.next {
                break;
            }
            if opened.as_ref().is_none_or(|(block, _)| *block != spot.block) {
                opened = Some((spot.block, self.blocks.packed[spot.block].open()?));
            }
            let planned = opened.as_ref().and_then(|(_, raw)| blocks::range(raw, spot.offset as i64, length));
            let stored: Option<(i64, Vec<u8>, Vec<u8>, bool)> = statement
                .query_row((stream.stream_no, at.generation, position), |r| {
                    Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
                })
                .optional()?;
            let same = match (planned, stored) {
                // Of a forgotten record only the length can be compared.
                (Some(_), Some((stored, .., true))) => stored == length,
                (Some(bytes), Some((stored, key, sum, _))) => stored == length && digest(&key, bytes).as_slice() == sum,
                _ => false,
            };
            if !same {
                return Ok(false);
            }
            behind += 1;
        }
        for record in step.records.drain(..behind) {
            if let RecordBytes::New { length, spot, .. } = record.bytes {
                self.blocks.leave_out(spot, length);
            }
            record.turns.iter().for_each(|t| self.blocks.leave_out(t.spot, t.turn.text.len() as i64));
        }
        Ok(match step.records.first().map(|r| r.bytes) {
            Some(RecordBytes::New { position, .. }) => position == at.next,
            Some(RecordBytes::Stored { .. }) => false,
            None => true,
        })
    }

    /// Stores the unterminated end of the old generation as its last record, before a new generation begins.
    fn strand(&mut self, tx: &Write, stream_no: StreamNo) -> Result<()> {
        let (generation, position, line, pending): (i64, i64, i64, Option<Vec<u8>>) = tx
            .prepare_cached(
                "SELECT generation, next, lines + (mid_line = 0), pending FROM streams WHERE stream_no = ?1",
            )?
            .query_row([stream_no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?;
        let Some(data) = pending else { return Ok(()) };
        let bytes = blocks::unsqueeze(&data)?;
        let block_no = blocks::insert(tx, &Packed { raw_length: bytes.len(), data })?;
        let mut key = [0u8; KEY_LENGTH];
        getrandom::fill(&mut key)
            .map_err(|e| Error::new(ErrorKind::Machine, "the system gives no random numbers").because(e))?;
        let place = RecordRow {
            stream_no,
            generation,
            position,
            length: bytes.len() as i64,
            class: RecordClass::Quarantined,
            block_no,
            offset: 0,
            key: &key,
            digest: digest(&key, &bytes),
            forgotten: None,
        };
        let record_no = self.insert_record(tx, &place)?;
        self.set_aside(tx, record_no, "unterminated when the file was rewritten", Some(line))
    }

    fn insert_record(&mut self, tx: &Write, row: &RecordRow) -> Result<RecordNo> {
        tx.prepare_cached(
            "INSERT INTO records (stream_no, generation, position, length, class, block_no, block_offset, key, digest,
                                  forgotten)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            row.stream_no,
            row.generation,
            row.position,
            row.length,
            class_code(row.class),
            row.block_no,
            row.offset,
            row.key,
            row.digest,
            row.forgotten
        ])?;
        self.out.records += 1;
        self.out.bytes += row.length as u64;
        self.digests.update(&row.digest);
        Ok(RecordNo(tx.last_insert_rowid()))
    }

    fn set_aside(&mut self, tx: &Write, record_no: RecordNo, reason: &str, line: Option<i64>) -> Result<()> {
        tx.prepare_cached("INSERT INTO quarantine (record_no, line, reason, at) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![record_no, line, reason, self.now])?;
        self.out.quarantined += 1;
        Ok(())
    }

    fn record(&mut self, tx: &mut Write, at: &mut Cursor, record: PlannedRecord) -> Result<()> {
        let record_no = match record.bytes {
            RecordBytes::Stored { record_no } => record_no,
            RecordBytes::New { position, length, spot, key, digest } => {
                let block_no = self.blocks.number(tx, spot.block)?;
                let row = RecordRow {
                    stream_no: at.stream_no,
                    generation: at.generation,
                    position,
                    length,
                    class: record.class,
                    block_no,
                    offset: spot.offset as i64,
                    // Without its key the digest of a forgotten record reveals nothing.
                    key: if record.forgotten { &[] } else { &key },
                    digest,
                    forgotten: record.forgotten.then_some(self.now),
                };
                self.insert_record(tx, &row)?
            }
        };
        if let (Some((reason, line)), RecordBytes::New { .. }) = (&record.reason, record.bytes) {
            debug_assert_eq!(record.class, RecordClass::Quarantined);
            self.set_aside(tx, record_no, reason, *line)?;
        }
        // Facts about a record's context apply before its turns are stored, the end of a run after them.
        let (after, before): (Vec<&Fact>, Vec<&Fact>) = record.facts.iter().partition(|f| ends_a_run(f));
        for fact in before {
            self.fact(tx, at, record_no, fact)?;
        }
        let position = match record.bytes {
            RecordBytes::New { position, .. } => position,
            // A hook's turn has no id but its place in the stream.
            RecordBytes::Stored { record_no } if at.origin.form == OriginForm::Hook => tx
                .prepare_cached("SELECT position FROM records WHERE record_no = ?1")?
                .query_row([record_no], |r| r.get(0))?,
            RecordBytes::Stored { .. } => 0,
        };
        for planned in record.turns {
            self.turn(tx, at, record_no, position, planned)?;
        }
        for fact in after {
            self.fact(tx, at, record_no, fact)?;
        }
        Ok(())
    }

    fn fact(&mut self, tx: &mut Write, at: &mut Cursor, record_no: RecordNo, fact: &Fact) -> Result<()> {
        match fact {
            Fact::Session { native, lane, parent_call } => {
                if !at.settled {
                    at.native.clone_from(native);
                    at.lane.clone_from(lane);
                }
                let lane_at = self.enter(tx, at)?;
                if let Some(call) = parent_call {
                    tx.prepare_cached("UPDATE lanes SET parent_call = coalesce(parent_call, ?2) WHERE lane_no = ?1")?
                        .execute(params![lane_at.lane_no, call])?;
                }
                return Ok(());
            }
            // The session is not known yet, so the folder is noted here and applied when the session is entered.
            Fact::Cwd(cwd) if !at.settled => {
                at.cwd = Some(cwd.clone());
                return Ok(());
            }
            _ => {}
        }
        let lane_at = self.enter(tx, at)?;
        let session_no = lane_at.session_no;
        match fact {
            Fact::Session { .. } => {}
            Fact::LaneCall { lane, call } => {
                let named = self.lane(tx, session_no, lane)?;
                tx.prepare_cached("UPDATE lanes SET parent_call = coalesce(parent_call, ?2) WHERE lane_no = ?1")?
                    .execute(params![named.lane_no, call])?;
            }
            Fact::Title(title) if at.lane.is_empty() => {
                tx.prepare_cached("UPDATE sessions SET title = ?2 WHERE session_no = ?1")?
                    .execute(params![session_no, title])?;
            }
            Fact::Title(_) => {}
            Fact::Cwd(cwd) => self.session_cwd(tx, at, session_no, cwd)?,
            Fact::Version(version) => {
                tx.prepare_cached("UPDATE sessions SET version = ?2 WHERE session_no = ?1")?
                    .execute(params![session_no, version])?;
            }
            Fact::ForkOf { native } => {
                tx.prepare_cached("UPDATE sessions SET fork_of = ?2 WHERE session_no = ?1")?
                    .execute(params![session_no, SessionKey::new(at.origin.harness, native).as_str()])?;
            }
            Fact::RunEnd { run, status, reason, at: when } => {
                self.runs.end(tx, lane_at.lane_no, run.as_deref(), *status, reason.as_deref(), *when)?;
            }
            Fact::RunUsage { run, usage } => self.runs.usage(tx, lane_at.lane_no, run.as_deref(), *usage)?,
            Fact::RequestFingerprint { run, fingerprint } => {
                self.runs.fingerprint(tx, lane_at.lane_no, run.as_deref(), fingerprint)?;
            }
            Fact::Compaction { trigger, at: when } => {
                boundary(tx, lane_at, record_no, "compaction", trigger.as_deref(), *when)?;
            }
            Fact::Segment { reason, at: when } => {
                boundary(tx, lane_at, record_no, "segment", Some(reason), *when)?;
                self.runs.close(tx, lane_at.lane_no, "segment")?;
            }
            Fact::SessionEnd { at: when } => {
                self.runs.close(tx, lane_at.lane_no, "session-end")?;
                // Store the times of this batch first, so that no turn from before the end reopens the session later.
                if let Some(span) = self.spans.get(&session_no) {
                    span.store(tx, session_no)?;
                }
                tx.prepare_cached(
                    "UPDATE sessions SET ended_at = max(coalesce(?2, last_at, ?3), coalesce(last_at, ?2, ?3)), ended_by = 'program'
                     WHERE session_no = ?1",
                )?
                .execute(params![session_no, when, self.now])?;
            }
        }
        Ok(())
    }

    fn turn(
        &mut self,
        tx: &mut Write,
        at: &mut Cursor,
        record_no: RecordNo,
        position: i64,
        planned: PlannedTurn,
    ) -> Result<()> {
        let PlannedTurn { mut turn, index, spot } = planned;
        let lane_at = match turn.session.take() {
            Some(native) => self.enter_other(tx, at, &native)?,
            None => self.enter(tx, at)?,
        };
        self.spans.entry(lane_at.session_no).or_default().take(turn.at);
        let entry = turn.entry.clone().unwrap_or_else(|| identity::position_entry(&at.lane, position, index));
        let hooked = at.origin.form == OriginForm::Hook;
        let known = match self.known(tx, at, lane_at, &entry, &turn)? {
            None if hooked => self.already_stored(tx, lane_at, &turn)?,
            // An echo does not confirm a provisional turn; the record it repeats does.
            None if !turn.echo => match self.provisional(tx, lane_at, &turn)? {
                None => self.announced(tx, lane_at, &turn)?,
                known => known,
            },
            known => known,
        };
        if let Some(known) = known {
            self.out.turns.push(known.turn_no);
            self.blocks.leave_out(spot, turn.text.len() as i64);
            if known.session_no == lane_at.session_no {
                let confirmed = !hooked
                    && !turn.echo
                    && (self.confirm(tx, lane_at, &known, &entry, record_no, &turn)?
                        || self.take_over(tx, lane_at, &known, &entry, record_no, &turn)?);
                if !turn.echo {
                    self.runs.met(lane_at.lane_no, known.run_no);
                }
                if known.record_no != record_no && !confirmed {
                    self.out.witnesses += witness(tx, known.turn_no, record_no, turn.echo)?;
                }
            } else if !turn.echo {
                let new = tx
                    .prepare_cached(
                        "INSERT OR IGNORE INTO turn_references (session_no, turn_no, lane_no, record_no) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute((lane_at.session_no, known.turn_no, lane_at.lane_no, record_no))?;
                self.out.references += new as u64;
                // Later turns of this session are new answers and not part of the run it was copied from.
                if new > 0 {
                    self.copying.insert(lane_at.lane_no, Some(known.run_no));
                    self.runs.leave(tx, lane_at.lane_no)?;
                }
            }
            return Ok(());
        }
        let prompt = turn.role == Role::User && turn.kind == TurnKind::Message;
        let workspace_no = self.turn_workspace(tx, at, lane_at, &turn, prompt)?;
        let revision: i64 = tx
            .prepare_cached("SELECT count(*) FROM turns WHERE entry = ?1 AND session_no = ?2")?
            .query_row(params![entry, lane_at.session_no], |r| r.get(0))?;
        let run_no = self.runs.of_turn(tx, lane_at.session_no, lane_at.lane_no, &turn, prompt)?;
        let model_no = self.names.number_of(tx, turn.model.as_deref())?;
        let speaker_no = self.names.number_of(tx, turn.speaker.as_deref())?;
        let tool_no = self.names.number_of(tx, turn.tool.as_deref())?;
        let thread_no = self.names.number_of(tx, turn.thread.as_deref())?;
        for name in turn.participants.iter().chain(turn.speaker.as_ref()) {
            if let Some(no) = self.names.number_of(tx, Some(name))? {
                tx.prepare_cached("INSERT OR IGNORE INTO participants (session_no, name_no) VALUES (?1, ?2)")?
                    .execute((lane_at.session_no, no))?;
            }
        }
        let usage = turn.usage.map(|u| json!([u.input, u.output, u.cache_read, u.cache_write]).to_string());
        tx.prepare_cached(
            "INSERT INTO turns (session_no, lane_no, run_no, record_no, entry, revision, parent, role, kind, at, workspace_no,
                                speaker_no, model_no, tool_no, thread_no, call, failed, usage, block_no, text_offset, text_length)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        )?
        .execute(params![
            lane_at.session_no,
            lane_at.lane_no,
            run_no,
            record_no,
            entry,
            revision,
            turn.parent,
            role_code(turn.role),
            kind_code(turn.kind),
            turn.at,
            workspace_no,
            speaker_no,
            model_no,
            tool_no,
            thread_no,
            turn.call,
            turn.failed,
            usage,
            self.blocks.number(tx, spot.block)?,
            spot.offset as i64,
            turn.text.len() as i64
        ])?;
        let turn_no = TurnId(tx.last_insert_rowid());
        if turn.echo {
            witness(tx, turn_no, record_no, true)?;
        }
        self.note_turn(lane_at.lane_no, turn_no, turn.echo);
        if hooked {
            self.note_provisional(tx, lane_at, turn_no, turn.run.as_deref())?;
        }
        self.runs.stored(run_no, turn_no, &turn, model_no);
        self.out.turns.push(turn_no);
        self.out.fresh.push(Fresh {
            turn_no,
            agent_no: at.agent_no,
            session_no: lane_at.session_no,
            workspace_no,
            harness: at.origin.harness,
            turn,
        });
        Ok(())
    }
}

/// A row of the table of records.
struct RecordRow<'k> {
    stream_no: StreamNo,
    generation: i64,
    position: i64,
    length: i64,
    class: RecordClass,
    block_no: BlockNo,
    offset: i64,
    key: &'k [u8],
    digest: [u8; KEY_LENGTH],
    forgotten: Option<i64>,
}

fn witness(tx: &Write, turn_no: TurnId, record_no: RecordNo, echo: bool) -> Result<u64> {
    let new = tx
        .prepare_cached("INSERT OR IGNORE INTO witnesses (turn_no, record_no, echo) VALUES (?1, ?2, ?3)")?
        .execute(params![turn_no, record_no, echo])?;
    Ok(new as u64)
}

fn ends_a_run(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::RunEnd { .. } | Fact::RunUsage { .. } | Fact::RequestFingerprint { .. } | Fact::SessionEnd { .. }
    )
}

/// The current agent, session and lane while the records of one step are stored.
struct Cursor<'s> {
    agent_no: AgentNo,
    origin: &'s Origin,
    stream_no: StreamNo,
    generation: i64,
    native: String,
    lane: String,
    /// Whether the stream has been assigned to a session; later records cannot change that.
    settled: bool,
    session: Option<SessionNo>,
    cwd: Option<String>,
}

fn boundary(
    tx: &Write,
    lane: Lane,
    record_no: RecordNo,
    kind: &str,
    reason: Option<&str>,
    at: Option<i64>,
) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR IGNORE INTO boundaries (session_no, lane_no, record_no, kind, reason, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![lane.session_no, lane.lane_no, record_no, kind, reason, at])?;
    Ok(())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

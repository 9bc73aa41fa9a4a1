//! Reads sessions, runs and turns, always within one agent.

use std::collections::VecDeque;
use std::path::PathBuf;

use rusqlite::{OptionalExtension, Row, params};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::codes::{as_kind, as_role, kind_of, role_of, status_name};
use super::runs::RunUsage;
use super::{as_shown, path_of};
use crate::clock::{Millis, as_rfc3339_or_null};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Role, TurnKind};
use crate::ledger::Read;
pub use crate::ledger::agents::{agent_no, ensure_agent};
use crate::ledger::blocks::Opener;
use crate::ledger::codes::{MESSAGE, USER};
use crate::redact::{as_redacted_or_null, redact};
use crate::scope::{AgentNo, BlockNo, QuarantineId, RecordNo, RunNo, SessionKey, SessionNo, TurnId, WorkspaceNo};

/// A session in a list.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionRow {
    #[serde(skip)]
    pub no: SessionNo,
    #[serde(rename = "session")]
    pub key: SessionKey,
    pub workspace: Option<String>,
    pub workspace_id: Option<String>,
    pub cwd: Option<String>,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_redacted_or_null")]
    pub title: Option<String>,
    /// The version of its program.
    pub version: Option<String>,
    /// The session this one was copied from.
    pub fork_of: Option<String>,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub started_at: Option<Millis>,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub last_at: Option<Millis>,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub ended_at: Option<Millis>,
    pub ended_by: Option<String>,
    /// Number of turns first seen in this session, and of turns shared with the session it was copied from.
    pub turns: u64,
    pub shared_turns: u64,
}

const SESSION_COLUMNS: &str =
    "s.session_no, session_key, label, workspace_id, cwd, title, version, fork_of, started_at,
    last_at, ended_at, ended_by, (SELECT count(*) FROM turns t WHERE t.session_no = s.session_no),
    (SELECT count(*) FROM turn_references t WHERE t.session_no = s.session_no)";

fn session_of(r: &Row) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        no: r.get(0)?,
        key: SessionKey::from(r.get::<_, String>(1)?),
        workspace: r.get(2)?,
        workspace_id: r.get(3)?,
        cwd: r.get(4)?,
        title: r.get(5)?,
        version: r.get(6)?,
        fork_of: r.get(7)?,
        started_at: r.get(8)?,
        last_at: r.get(9)?,
        ended_at: r.get(10)?,
        ended_by: r.get(11)?,
        turns: r.get::<_, i64>(12)? as u64,
        shared_turns: r.get::<_, i64>(13)? as u64,
    })
}

/// Returns the first thing a person said in a session, which names it if the program gave no title.
pub fn first_prompt(tx: &Read, opener: &Opener, session_no: SessionNo) -> Result<Option<String>> {
    first_where(tx, opener, session_no, &format!("role = {USER} AND kind = {MESSAGE}"))
}

/// Returns the first message of a session, whoever said it.
pub fn first_message(tx: &Read, opener: &Opener, session_no: SessionNo) -> Result<Option<String>> {
    first_where(tx, opener, session_no, &format!("kind = {MESSAGE}"))
}

fn first_where(tx: &Read, opener: &Opener, session_no: SessionNo, is_one: &str) -> Result<Option<String>> {
    let place: Option<(BlockNo, i64, i64)> = tx
        .prepare_cached(&format!(
            "SELECT block_no, text_offset, text_length FROM turns
             WHERE session_no = ?1 AND {is_one} AND forgotten IS NULL
             ORDER BY turn_no LIMIT 1"
        ))?
        .query_row([session_no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    let Some((block, offset, length)) = place else { return Ok(None) };
    Ok(String::from_utf8(opener.slice(tx, block, offset, length)?).ok())
}

/// Selects the sessions to list.
#[derive(Clone, Default, Debug)]
pub struct SessionFilter {
    pub harness: Option<String>,
    pub workspaces: Option<Vec<WorkspaceNo>>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    /// Lists only the sessions after this place of the list, given as last activity and number of a session.
    pub after: Option<(Option<Millis>, SessionNo)>,
    pub limit: Option<usize>,
}

/// Time that sorts before any other, for sessions without a time.
const NEVER: Millis = Millis::MIN;

/// Returns the sessions of an agent, newest first.
pub fn sessions(tx: &Read, agent_no: AgentNo, filter: &SessionFilter) -> Result<Vec<SessionRow>> {
    let mut statement = tx.prepare(&format!(
        "SELECT {SESSION_COLUMNS}, s.workspace_no FROM sessions s LEFT JOIN workspaces w USING (workspace_no)
         WHERE s.agent_no = ?1 AND (?2 IS NULL OR session_key LIKE ?2 || ':%')
           AND (?3 IS NULL OR last_at >= ?3) AND (?4 IS NULL OR started_at <= ?4)
           AND (?6 IS NULL OR (coalesce(last_at, {NEVER}), s.session_no) < (coalesce(?5, {NEVER}), ?6))
         ORDER BY last_at DESC NULLS LAST, s.session_no DESC"
    ))?;
    let (at, no) = filter.after.map_or((None, None), |(at, no)| (at, Some(no)));
    let mut rows = statement.query(params![agent_no, filter.harness, filter.since, filter.until, at, no])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let workspace_no: Option<WorkspaceNo> = r.get(14)?;
        let inside = filter.workspaces.as_ref().is_none_or(|list| workspace_no.is_some_and(|no| list.contains(&no)));
        if inside {
            out.push(session_of(r)?);
            if filter.limit.is_some_and(|limit| out.len() >= limit) {
                break;
            }
        }
    }
    Ok(out)
}

/// Returns the session a key refers to: the whole key, or the program's bare id (or an unambiguous beginning of it, at
/// least eight characters). `NotFound`, or `Usage` if it is ambiguous.
pub fn session_named(tx: &Read, agent_no: AgentNo, name: &str) -> Result<SessionRow> {
    let get = |clause: &str, value: &str| -> Result<Vec<SessionRow>> {
        let mut statement = tx.prepare_cached(&format!(
            "SELECT {SESSION_COLUMNS} FROM sessions s LEFT JOIN workspaces w USING (workspace_no)
             WHERE s.agent_no = ?1 AND {clause} LIMIT 5"
        ))?;
        let rows = statement.query_map(params![agent_no, value], session_of)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    let mut found = get("session_key = ?2", name)?;
    if found.is_empty() {
        found = get("substr(session_key, instr(session_key, ':') + 1) = ?2", name)?;
    }
    if found.is_empty() && name.len() >= 8 {
        found = get(
            "(substr(session_key, 1, length(?2)) = ?2 OR substr(session_key, instr(session_key, ':') + 1, length(?2)) = ?2)",
            name,
        )?;
    }
    match found.len() {
        0 => Err(Error::not_found(format!("no session is called {name:?}")).hint("see ⟨session list⟩")),
        1 => Ok(found.remove(0)),
        _ => {
            let keys: Vec<String> = found.iter().map(|s| s.key.to_string()).collect();
            Err(Error::usage(format!("{name:?} could be several sessions"))
                .hint(format!("one of: {}", keys.join(", "))))
        }
    }
}

/// Returns the key of a session that may not be stored yet: the key of the session [`session_named`] finds, otherwise
/// `name` itself if it is a whole key (`harness:id`). `NotFound` if `name` is the beginning of a key and no session
/// matches.
pub fn session_key(tx: &Read, agent_no: AgentNo, name: &str) -> Result<SessionKey> {
    match session_named(tx, agent_no, name) {
        Ok(row) => Ok(row.key),
        Err(e) if e.kind() == ErrorKind::NotFound => match name.split_once(':') {
            Some((harness, native)) if !harness.is_empty() && !native.is_empty() => {
                Ok(SessionKey::from(name.to_owned()))
            }
            _ => Err(e.hint("of a session nothing is stored of yet the whole key is needed: harness:id")),
        },
        Err(e) => Err(e),
    }
}

/// A turn with its text.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Turn {
    #[serde(rename = "turn")]
    pub id: TurnId,
    pub session: SessionKey,
    #[serde(skip)]
    pub session_no: SessionNo,
    /// Lane of the turn: empty for the main line, otherwise the sub-agent's.
    pub lane: String,
    /// The program's own id for the turn.
    pub entry: String,
    /// Number of times the program rewrote the turn.
    pub revision: i64,
    /// Entry id of the turn that this one answers.
    pub parent: Option<String>,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_role")]
    pub role: Role,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_kind")]
    pub kind: TurnKind,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub at: Option<Millis>,
    pub workspace: Option<String>,
    pub speaker: Option<String>,
    pub model: Option<String>,
    pub tool: Option<String>,
    /// Id of the tool call the turn belongs to.
    pub call: Option<String>,
    pub failed: bool,
    /// `[input, output, cache read, cache write]` tokens of the model message, if the record states them.
    pub usage: Option<serde_json::Value>,
    pub thread: Option<String>,
    pub run: RunNo,
    #[serde(skip)]
    pub record: RecordNo,
    /// The folder the session was started in.
    #[serde(skip)]
    pub cwd: Option<String>,
    /// Text of the turn; empty if it was forgotten.
    pub text: String,
    /// When the text was forgotten; the turn's address stays (R14.2).
    #[serde(skip)]
    pub forgotten: Option<Millis>,
}

pub(super) const TURN_COLUMNS: &str =
    "t.turn_no, session_key, t.session_no, l.lane, entry, revision, parent, role, kind, t.at, w.label,
    sp.name, mo.name, tl.name, th.name, call, failed, usage, run_no, t.record_no, t.block_no, text_offset, text_length,
    s.cwd, t.forgotten";
pub(super) const TURN_JOINS: &str =
    "JOIN sessions s ON s.session_no = t.session_no JOIN lanes l ON l.lane_no = t.lane_no
    LEFT JOIN workspaces w ON w.workspace_no = t.workspace_no LEFT JOIN names sp ON sp.name_no = t.speaker_no
    LEFT JOIN names mo ON mo.name_no = t.model_no LEFT JOIN names tl ON tl.name_no = t.tool_no
    LEFT JOIN names th ON th.name_no = t.thread_no";

pub(super) fn turn_of(tx: &Read, opener: &Opener, r: &Row) -> Result<Turn> {
    let forgotten: Option<Millis> = r.get(24)?;
    let text = match forgotten {
        None => opener.slice(tx, r.get(20)?, r.get(21)?, r.get(22)?)?,
        Some(_) => Vec::new(),
    };
    // A program may give a credential as a name, and everything that shows a turn shows its names.
    let name = |at: usize| -> Result<Option<String>> {
        Ok(r.get::<_, Option<String>>(at)?.map(|name| redact(&name).into_owned()))
    };
    Ok(Turn {
        forgotten,
        id: r.get(0)?,
        session: SessionKey::from(r.get::<_, String>(1)?),
        session_no: r.get(2)?,
        lane: r.get(3)?,
        entry: r.get(4)?,
        revision: r.get(5)?,
        parent: r.get(6)?,
        role: role_of(r.get(7)?),
        kind: kind_of(r.get(8)?),
        at: r.get(9)?,
        workspace: r.get(10)?,
        speaker: name(11)?,
        model: name(12)?,
        tool: name(13)?,
        thread: r.get(14)?,
        call: r.get(15)?,
        failed: r.get(16)?,
        usage: r.get::<_, Option<String>>(17)?.and_then(|u| serde_json::from_str(&u).ok()),
        run: r.get(18)?,
        record: r.get(19)?,
        cwd: r.get(23)?,
        text: String::from_utf8(text).map_err(|e| {
            Error::damaged("the text of a turn is not UTF-8").because(e).hint("see what else is affected: ⟨verify⟩")
        })?,
    })
}

/// Returns a turn. `NotFound` also if the turn belongs to another agent.
pub fn turn(tx: &Read, opener: &Opener, agent_no: AgentNo, id: TurnId) -> Result<Turn> {
    find_turn(tx, opener, agent_no, id)?
        .ok_or_else(|| Error::not_found(format!("there is no turn {id}")).hint("find turns with ⟨search⟩"))
}

/// Returns a turn; `None` if the agent has no turn with that id.
pub fn find_turn(tx: &Read, opener: &Opener, agent_no: AgentNo, id: TurnId) -> Result<Option<Turn>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {TURN_COLUMNS} FROM turns t {TURN_JOINS} WHERE t.turn_no = ?1 AND s.agent_no = ?2"
    ))?;
    let mut rows = statement.query((id.0, agent_no))?;
    rows.next()?.map(|r| turn_of(tx, opener, r)).transpose()
}

/// Returns the newest turn of a session's main line.
pub fn last_turn(tx: &Read, session_no: SessionNo) -> Result<Option<TurnId>> {
    let last: Option<TurnId> = tx
        .prepare_cached(
            "SELECT max(turn_no) FROM turns WHERE session_no = ?1
               AND lane_no IN (SELECT lane_no FROM lanes WHERE session_no = ?1 AND lane = '')",
        )?
        .query_row([session_no], |r| r.get(0))?;
    Ok(last)
}

/// Returns the turn a program's entry id refers to in a session: the last turn of that record or, if the record
/// contains none (a marker, a setting), the last one before it. `None`: no record of the session has this id.
pub fn turn_of_entry(tx: &Read, session_no: SessionNo, id: &str) -> Result<Option<TurnId>> {
    let exact: Option<TurnId> = tx
        .prepare_cached(
            "SELECT max(turn_no) FROM turns WHERE session_no = ?1 AND (entry = ?2 OR substr(entry, 1, length(?2) + 1) = ?2 || '#')",
        )?
        .query_row(params![session_no, id], |r| r.get(0))?;
    if exact.is_some() {
        return Ok(exact);
    }
    if let Some(position) = id.strip_prefix('@').and_then(|p| p.parse().ok()) {
        return turn_at(tx, session_no, position);
    }
    if id.len() < 4 {
        return Ok(None);
    }
    let opener = Opener::default();
    let needle = format!("\"{id}\"");
    let finder = memchr::memmem::Finder::new(needle.as_bytes());
    let mut statement = tx.prepare_cached(
        "SELECT r.record_no, r.block_no, r.block_offset, r.length FROM streams s JOIN records r USING (stream_no)
         WHERE s.session_no = ?1 ORDER BY r.record_no",
    )?;
    let mut rows = statement.query([session_no])?;
    while let Some(r) = rows.next()? {
        let bytes = opener.open(tx, r.get(1)?)?;
        let found =
            crate::ledger::blocks::range(&bytes, r.get(2)?, r.get(3)?).is_some_and(|b| finder.find(b).is_some());
        if found {
            let last: Option<TurnId> = tx
                .prepare_cached("SELECT max(turn_no) FROM turns WHERE session_no = ?1 AND record_no <= ?2")?
                .query_row(params![session_no, r.get::<_, i64>(0)?], |r| r.get(0))?;
            return Ok(last);
        }
    }
    Ok(None)
}

/// Returns the turn of the record that begins at this byte of the session's file: a turn the record made or repeats,
/// otherwise the last turn before it.
fn turn_at(tx: &Read, session_no: SessionNo, position: i64) -> Result<Option<TurnId>> {
    let record: Option<i64> = tx
        .prepare_cached(
            "SELECT r.record_no FROM streams s JOIN records r USING (stream_no)
             WHERE s.session_no = ?1 AND r.position = ?2 ORDER BY r.generation DESC LIMIT 1",
        )?
        .query_row(params![session_no, position], |r| r.get(0))
        .optional()?;
    let Some(record) = record else { return Ok(None) };
    let told: Option<TurnId> = tx
        .prepare_cached("SELECT max(turn_no) FROM witnesses WHERE record_no = ?1")?
        .query_row([record], |r| r.get(0))?;
    if told.is_some() {
        return Ok(told);
    }
    let before = "SELECT max(turn_no) FROM turns WHERE session_no = ?1 AND record_no <= ?2";
    Ok(tx.prepare_cached(before)?.query_row(params![session_no, record], |r| r.get(0))?)
}

/// Passes the turns of a session to `each` one by one, its own and shared ones, in the order of its records: the main
/// line first, then each sub-agent. `lane`: only that lane; `None`: all.
pub fn session_turns(
    tx: &Read,
    opener: &Opener,
    session: &SessionRow,
    lane: Option<&str>,
    mut each: impl FnMut(Turn) -> Result<()>,
) -> Result<()> {
    let mut statement = tx.prepare(&format!(
        "SELECT {TURN_COLUMNS}, place FROM (
           SELECT turn_no AS no, record_no AS place, lane_no AS in_lane FROM turns WHERE session_no = ?1
           UNION ALL
           SELECT turn_no, record_no, lane_no FROM turn_references WHERE session_no = ?1) p
         JOIN turns t ON t.turn_no = p.no {TURN_JOINS} JOIN lanes pl ON pl.lane_no = p.in_lane
         WHERE ?2 IS NULL OR pl.lane = ?2 ORDER BY pl.lane != '', p.in_lane, place, t.turn_no"
    ))?;
    let mut rows = statement.query(params![session.no, lane])?;
    while let Some(r) = rows.next()? {
        each(turn_of(tx, opener, r)?)?;
    }
    Ok(())
}

/// Returns a turn with its neighbours: at most `around` turns of its lane before it and as many after it.
pub fn turns_around(tx: &Read, opener: &Opener, agent_no: AgentNo, turn: Turn, around: usize) -> Result<Vec<Turn>> {
    if around == 0 {
        return Ok(vec![turn]);
    }
    let session = session_named(tx, agent_no, turn.session.as_str())?;
    let (mut window, mut seen, mut after) = (VecDeque::new(), false, 0);
    session_turns(tx, opener, &session, Some(&turn.lane), |t| {
        if seen && after >= around {
            return Ok(());
        }
        after += usize::from(seen);
        seen |= t.id == turn.id;
        window.push_back(t);
        if !seen && window.len() > around {
            window.pop_front();
        }
        Ok(())
    })?;
    Ok(window.into())
}

/// The main line or a sub-agent of a session.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct LaneRow {
    /// Empty for the main line.
    pub lane: String,
    /// The tool call that started a sub-agent.
    pub parent_call: Option<String>,
    pub turns: u64,
}

pub fn lanes(tx: &Read, session_no: SessionNo) -> Result<Vec<LaneRow>> {
    let mut statement = tx.prepare(
        "SELECT lane, parent_call, (SELECT count(*) FROM turns t WHERE t.lane_no = l.lane_no)
         FROM lanes l WHERE session_no = ?1 ORDER BY lane_no",
    )?;
    let rows = statement.query_map([session_no], |r| {
        Ok(LaneRow { lane: r.get(0)?, parent_call: r.get(1)?, turns: r.get::<_, i64>(2)? as u64 })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The normalised result of a run.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct RunRow {
    #[serde(rename = "run")]
    pub no: RunNo,
    pub lane: String,
    /// The program's own id for the run.
    pub key: Option<String>,
    pub status: &'static str,
    pub stop_reason: Option<String>,
    pub model: Option<String>,
    #[schemars(with = "TokensUsed")]
    #[serde(serialize_with = "as_tokens")]
    pub usage: RunUsage,
    pub prompt: Option<TurnId>,
    pub answer: Option<TurnId>,
    pub request_fingerprint: Option<String>,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub opened_at: Option<Millis>,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub last_at: Option<Millis>,
    pub closed_by: Option<String>,
}

/// Tokens of a run, as its program counted them; the ledger stores more of them.
#[derive(Serialize, JsonSchema)]
struct TokensUsed {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

fn as_tokens<S: Serializer>(usage: &RunUsage, to: S) -> std::result::Result<S::Ok, S::Error> {
    let RunUsage { input, output, cache_read, cache_write, .. } = *usage;
    TokensUsed { input, output, cache_read, cache_write }.serialize(to)
}

pub fn runs(tx: &Read, session_no: SessionNo) -> Result<Vec<RunRow>> {
    let mut statement = tx.prepare(&format!(
        "SELECT {RUN_COLUMNS} FROM lanes l JOIN turn_results r USING (lane_no) LEFT JOIN names ON name_no = model_no
         WHERE l.session_no = ?1 ORDER BY run_no",
    ))?;
    let rows = statement.query_map([session_no], run_of)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) const RUN_COLUMNS: &str =
    "run_no, lane, run_key, status, stop_reason, name, usage, prompt_turn, answer_turn, request_fingerprint,
    opened_at, last_at, closed_by";

pub(super) fn run_of(r: &Row) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        no: r.get(0)?,
        lane: r.get(1)?,
        key: r.get(2)?,
        status: status_name(r.get(3)?),
        stop_reason: r.get(4)?,
        model: r.get(5)?,
        usage: r.get::<_, Option<String>>(6)?.and_then(|u| serde_json::from_str(&u).ok()).unwrap_or_default(),
        prompt: r.get(7)?,
        answer: r.get(8)?,
        request_fingerprint: r.get(9)?,
        opened_at: r.get(10)?,
        last_at: r.get(11)?,
        closed_by: r.get(12)?,
    })
}

/// Returns the number of records of each class in a session.
pub fn record_classes(tx: &Read, session_no: SessionNo) -> Result<Vec<(crate::event::RecordClass, u64, u64)>> {
    let mut statement = tx.prepare(
        "SELECT class, count(*), sum(length) FROM streams JOIN records USING (stream_no) WHERE session_no = ?1 GROUP BY class",
    )?;
    let rows = statement.query_map([session_no], |r| {
        Ok((super::codes::class_of(r.get(0)?), r.get::<_, i64>(1)? as u64, r.get::<_, i64>(2)? as u64))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A point where a context was compacted, or the program started a new one.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct BoundaryRow {
    /// `compaction` or `segment`.
    pub kind: String,
    pub reason: Option<String>,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub at: Option<Millis>,
}

/// Returns the compactions and segments of a session.
pub fn boundaries(tx: &Read, session_no: SessionNo) -> Result<Vec<BoundaryRow>> {
    let mut statement =
        tx.prepare("SELECT kind, reason, at FROM boundaries WHERE session_no = ?1 ORDER BY boundary_no")?;
    let rows =
        statement.query_map([session_no], |r| Ok(BoundaryRow { kind: r.get(0)?, reason: r.get(1)?, at: r.get(2)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A range of bytes that could not be decoded and was quarantined.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Quarantined {
    pub id: QuarantineId,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_shown")]
    pub path: PathBuf,
    /// Key of the database row the bytes came from; empty for a file of lines.
    pub key: String,
    /// Position of the first byte in its source.
    #[serde(rename = "offset")]
    pub position: i64,
    pub length: i64,
    pub line: Option<i64>,
    pub reason: String,
    pub session: Option<String>,
    #[serde(skip)]
    pub record: RecordNo,
    /// When the bytes were forgotten.
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub forgotten: Option<Millis>,
}

/// Returns the quarantined ranges, newest first; with `id`, only that one.
pub fn quarantine(tx: &Read, agent_no: AgentNo, id: Option<QuarantineId>, limit: usize) -> Result<Vec<Quarantined>> {
    let mut statement = tx.prepare(
        "SELECT quarantine_no, path, st.key, position, r.length, line, reason, session_key, r.record_no,
                r.forgotten
         FROM quarantine JOIN records r USING (record_no) JOIN streams st USING (stream_no) JOIN sources so USING (source_no)
         LEFT JOIN sessions s USING (session_no)
         WHERE so.agent_no = ?1 AND (?2 IS NULL OR quarantine_no = ?2) ORDER BY quarantine_no DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![agent_no, id.map(|q| q.0), limit as i64], |r| {
        Ok(Quarantined {
            id: QuarantineId(r.get(0)?),
            path: path_of(r.get(1)?),
            key: r.get(2)?,
            position: r.get(3)?,
            length: r.get(4)?,
            line: r.get(5)?,
            reason: r.get(6)?,
            session: r.get(7)?,
            record: r.get(8)?,
            forgotten: r.get(9)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the exact bytes of a record. `NotFound` if they were forgotten.
pub fn record_bytes(tx: &Read, opener: &Opener, record_no: RecordNo) -> Result<Vec<u8>> {
    let (block, offset, length, forgotten): (BlockNo, i64, i64, Option<Millis>) = tx
        .prepare_cached("SELECT block_no, block_offset, length, forgotten FROM records WHERE record_no = ?1")?
        .query_row([record_no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?;
    if let Some(at) = forgotten {
        return Err(Error::not_found(format!("its bytes were forgotten on {}", crate::clock::rfc3339(at)))
            .hint("only its place is kept: ⟨audit list⟩ says who asked"));
    }
    opener.slice(tx, block, offset, length)
}

/// The amount of data stored for an agent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema, Debug)]
pub struct Totals {
    pub sessions: u64,
    pub turns: u64,
    #[serde(skip)]
    pub records: u64,
    pub source_bytes: u64,
    #[serde(skip)]
    pub quarantined: u64,
    /// Number of projects; projects joined by an alias count once.
    pub workspaces: u64,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub first_at: Option<Millis>,
    #[schemars(with = "Option<String>")]
    #[serde(serialize_with = "as_rfc3339_or_null")]
    pub last_at: Option<Millis>,
}

impl Totals {
    /// Returns the first and the last time; `None` where nothing is stored.
    pub fn span(&self) -> Option<(Millis, Millis)> {
        self.first_at.zip(self.last_at)
    }
}

pub fn totals(tx: &Read, agent_no: AgentNo) -> Result<Totals> {
    let count = |sql: &str| -> Result<u64> { Ok(tx.query_row(sql, [agent_no], |r| r.get::<_, i64>(0))? as u64) };
    let (first_at, last_at) =
        tx.query_row("SELECT min(started_at), max(last_at) FROM sessions WHERE agent_no = ?1", [agent_no], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })?;
    let (records, source_bytes) = tx.query_row(
        "SELECT count(*), coalesce(sum(length), 0) FROM sources JOIN streams USING (source_no) JOIN records USING (stream_no)
         WHERE agent_no = ?1",
        [agent_no],
        |r| Ok((r.get::<_, i64>(0)? as u64, r.get::<_, i64>(1)? as u64)),
    )?;
    Ok(Totals {
        sessions: count("SELECT count(*) FROM sessions WHERE agent_no = ?1")?,
        turns: count("SELECT count(*) FROM sessions JOIN turns USING (session_no) WHERE agent_no = ?1")?,
        records,
        source_bytes,
        quarantined: count(
            "SELECT count(*) FROM quarantine JOIN records USING (record_no) JOIN streams USING (stream_no)
             JOIN sources USING (source_no) WHERE agent_no = ?1",
        )?,
        workspaces: count("SELECT count(*) FROM workspaces WHERE agent_no = ?1 AND alias_of IS NULL")?,
        first_at,
        last_at,
    })
}

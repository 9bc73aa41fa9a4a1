//! Finds what has to be forgotten: turns, the records that contain them, and everything that repeats them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;
use rusqlite::types::{FromSql, ToSql};

use super::words::Words;
use super::{Request, Wish};
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::ledger::blocks::{self, Opener};
use crate::ledger::codes::{MESSAGE, USER};
use crate::scope::{AgentNo, RecordNo, SessionKey, SessionNo, StreamNo, TurnId};
use crate::thread;
use crate::transcript::read;
use crate::transcript::workspaces::workspace_named;

/// Texts shorter than this are not searched for elsewhere: they would match unrelated turns.
pub(super) const LEAST_BYTES: usize = 24;

/// Smallest length in bytes of a label that is searched for; a shorter one would match too many other words.
const LEAST_NAME: usize = 4;

/// Most texts that are searched for beside the turns themselves.
const MOST_TEXTS: usize = 2_000;

/// Selects the records of a session that belong to no turn.
const LOOSE: &str = "SELECT record_no, block_no, block_offset, length FROM streams st JOIN records r USING (stream_no)
    WHERE st.session_no = ?1 AND r.forgotten IS NULL
      AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.record_no = r.record_no)
      AND NOT EXISTS (SELECT 1 FROM witnesses w WHERE w.record_no = r.record_no)
      AND NOT EXISTS (SELECT 1 FROM turn_references f WHERE f.record_no = r.record_no)
    ORDER BY block_no, record_no";

/// Numbers of the turns, records, streams and sessions that a search found.
#[derive(Default)]
pub(super) struct Found {
    pub turns: BTreeSet<TurnId>,
    pub records: BTreeSet<RecordNo>,
    /// Streams whose unterminated end is forgotten.
    pub pending: BTreeSet<StreamNo>,
    /// Sessions forgotten as a whole.
    pub whole: BTreeSet<SessionNo>,
    /// Turns that were not named but have the same words.
    pub others: BTreeSet<TurnId>,
    /// The texts of the turns, to be searched for in derived data.
    pub texts: Vec<String>,
}

impl Found {
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.records.is_empty() && self.pending.is_empty() && self.whole.is_empty()
    }
}

/// Finds everything that a wish covers. `progress` receives the number of bytes searched.
pub(super) fn find(
    tx: &Read,
    agent_no: AgentNo,
    request: &Request,
    words: &Words,
    progress: &mut dyn FnMut(u64),
) -> Result<Found> {
    let opener = Opener::default();
    let mut found = Found::default();
    match &request.wish {
        Wish::Session(name) => whole_session(tx, agent_no, name, &mut found)?,
        Wish::Turns(ids) => {
            for id in ids {
                let turn = read::find_turn(tx, &opener, agent_no, *id)?.ok_or_else(|| {
                    Error::not_found(format!("there is no turn {id}"))
                        .hint("nothing was forgotten; find turns with ⟨search⟩")
                })?;
                found.turns.insert(turn.id);
            }
        }
        Wish::Person(name) => {
            matching(tx, &opener, agent_no, words, (None, None), &mut found, progress)?;
            said_by(tx, agent_no, name.trim(), &mut found)?;
        }
        Wish::Project(name) => {
            matching(tx, &opener, agent_no, words, (None, None), &mut found, progress)?;
            for project in workspace_named(tx, agent_no, name)? {
                let sessions: Vec<SessionKey> = {
                    let mut statement = tx
                        .prepare_cached("SELECT session_key FROM sessions WHERE agent_no = ?1 AND workspace_no = ?2")?;
                    let rows = statement.query_map((agent_no, project), |r| r.get::<_, String>(0))?;
                    rows.map(|key| Ok(SessionKey::from(key?))).collect::<rusqlite::Result<_>>()?
                };
                for session in sessions {
                    whole_session(tx, agent_no, session.as_str(), &mut found)?;
                }
                found.turns.extend(numbers::<TurnId>(
                    tx,
                    "SELECT turn_no FROM turns t JOIN sessions s USING (session_no)
                     WHERE t.workspace_no = ?1 AND s.agent_no = ?2",
                    (project, agent_no),
                )?);
            }
        }
        Wish::Thread(name) => {
            for thread in thread::members(tx, thread::named(tx, agent_no, name)?.no)? {
                found.turns.extend(numbers::<TurnId>(
                    tx,
                    "SELECT turn_no FROM turns t JOIN run_threads r USING (run_no) JOIN sessions s USING (session_no)
                     WHERE r.thread_no = ?1 AND s.agent_no = ?2",
                    (thread, agent_no),
                )?);
            }
        }
        Wish::Match { since, until, .. } => {
            matching(tx, &opener, agent_no, words, (*since, *until), &mut found, progress)?
        }
    }
    repeated(tx, agent_no, request, &mut found)?;
    found.texts = texts(tx, &opener, &found)?;
    if matches!(request.wish, Wish::Turns(_)) {
        echoed(tx, &opener, &mut found)?;
    } else if !matches!(request.wish, Wish::Match { .. }) {
        echoed_in_copies(tx, &opener, &mut found)?;
    }
    spoken(tx, &mut found)?;
    already(tx, &mut found)?;
    Ok(found)
}

/// Returns the names of a project: its id, its folder, and its label unless that is an ordinary word.
pub(super) fn names_of_project(tx: &Read, agent_no: AgentNo, name: &str) -> Result<Vec<String>> {
    let projects = workspace_named(tx, agent_no, name)?;
    if projects.is_empty() {
        return Err(
            Error::not_found(format!("there is no project {name}")).hint("see which there are: ⟨workspace list⟩")
        );
    }
    let mut statement =
        tx.prepare_cached("SELECT workspace_id, root, label FROM workspaces WHERE workspace_no = ?1")?;
    let mut names = Vec::new();
    for project in projects {
        let (id, root, label): (String, Vec<u8>, String) =
            statement.query_row([project], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        let of_thread = thread::exact(tx, agent_no, &format!("project/{id}"))?;
        names.extend([id, String::from_utf8_lossy(&root).into_owned()]);
        names.extend(Some(label).filter(|label| label.len() >= LEAST_NAME));
        // The page of the project's own thread spells the id in its own way.
        if let Some(thread) = of_thread {
            names.push(thread::row(tx, agent_no, thread)?.file);
        }
    }
    Ok(names)
}

/// Returns the names of a thread, and the name of its page's file unless that is the name of a session or a project.
pub(super) fn names_of_thread(tx: &Read, agent_no: AgentNo, name: &str) -> Result<(Vec<String>, Option<String>)> {
    let row = thread::named(tx, agent_no, name)?;
    let mut names = Vec::new();
    let mut statement = tx.prepare_cached("SELECT name FROM thread_names WHERE thread_no = ?1")?;
    for member in thread::members(tx, row.no)? {
        names.extend(statement.query_map([member], |r| r.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?);
    }
    // A thread whose key is a session or a project shares that key, so only the keys of topics and lanes are names of
    // the thread itself.
    let own = row.key.strip_prefix("topic/").or(row.key.strip_prefix("lane/"));
    names.extend(own.map(str::to_owned));
    let page = own.map(|_| row.file.clone());
    names.extend(own.map(|_| row.label.clone()));
    names.sort();
    names.dedup();
    Ok((names, page))
}

/// Finds the turns outside a thread that say its name: they stay.
pub(super) fn say_name(tx: &Read, agent_no: AgentNo, names: &Words, found: &mut Found) -> Result<()> {
    let opener = Opener::default();
    let mut statement = tx.prepare(
        "SELECT turn_no, block_no, text_offset, text_length FROM turns t JOIN sessions s USING (session_no)
         WHERE s.agent_no = ?1 AND t.forgotten IS NULL ORDER BY block_no, turn_no",
    )?;
    let mut rows = statement.query([agent_no])?;
    while let Some(r) = rows.next()? {
        let turn: TurnId = r.get(0)?;
        let raw = opener.open(tx, r.get(1)?)?;
        if !found.turns.contains(&turn)
            && blocks::range(&raw, r.get(2)?, r.get(3)?).is_some_and(|text| names.are_in(text))
        {
            found.others.insert(turn);
        }
    }
    Ok(())
}

/// Finds the turns of a speaker with this name.
fn said_by(tx: &Read, agent_no: AgentNo, name: &str, found: &mut Found) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT turn_no, n.name FROM turns t JOIN sessions s USING (session_no) JOIN names n ON n.name_no = t.speaker_no
         WHERE s.agent_no = ?1 AND t.forgotten IS NULL",
    )?;
    let mut rows = statement.query([agent_no])?;
    while let Some(r) = rows.next()? {
        if r.get::<_, String>(1)?.to_lowercase() == name.to_lowercase() {
            found.turns.insert(r.get(0)?);
        }
    }
    Ok(())
}

fn numbers<N: FromSql>(tx: &Read, sql: &str, with: impl rusqlite::Params) -> Result<Vec<N>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map(with, |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Finds a whole session: its turns, and every byte of its streams that belongs to no other session.
fn whole_session(tx: &Read, agent_no: AgentNo, name: &str, found: &mut Found) -> Result<()> {
    let session = read::session_named(tx, agent_no, name)?.no;
    found.whole.insert(session);
    found.turns.extend(numbers::<TurnId>(tx, "SELECT turn_no FROM turns WHERE session_no = ?1", [session])?);
    found.records.extend(numbers::<RecordNo>(
        tx,
        "SELECT record_no FROM streams st JOIN records r USING (stream_no) WHERE st.session_no = ?1
           AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.record_no = r.record_no AND t.session_no != ?1)
           AND NOT EXISTS (SELECT 1 FROM witnesses w JOIN turns t USING (turn_no)
                           WHERE w.record_no = r.record_no AND t.session_no != ?1)",
        [session],
    )?);
    // Records that are shared with the session this one was copied from stay; the copied records are forgotten.
    found.records.extend(numbers::<RecordNo>(
        tx,
        "SELECT record_no FROM turn_references WHERE session_no = ?1",
        [session],
    )?);
    found.pending.extend(numbers::<StreamNo>(
        tx,
        "SELECT stream_no FROM streams WHERE session_no = ?1 AND pending IS NOT NULL",
        [session],
    )?);
    Ok(())
}

/// Finds all turns and records of an agent that contain the words.
fn matching(
    tx: &Read,
    opener: &Opener,
    agent_no: AgentNo,
    words: &Words,
    (since, until): (Option<i64>, Option<i64>),
    found: &mut Found,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let (from, to) = (since.unwrap_or(i64::MIN), until.unwrap_or(i64::MAX));
    let limited = since.is_some() || until.is_some();
    let mut statement = tx.prepare(
        "SELECT turn_no, block_no, text_offset, text_length, t.at FROM turns t JOIN sessions s USING (session_no)
         WHERE s.agent_no = ?1 AND t.forgotten IS NULL ORDER BY block_no, turn_no",
    )?;
    let mut rows = statement.query([agent_no])?;
    let mut seen = 0u64;
    while let Some(r) = rows.next()? {
        let at: Option<i64> = r.get(4)?;
        if limited && at.is_none_or(|at| at < from || at > to) {
            continue;
        }
        let raw = opener.open(tx, r.get(1)?)?;
        let Some(text) = blocks::range(&raw, r.get(2)?, r.get(3)?) else { continue };
        seen += text.len() as u64;
        if words.are_quoted_in(text) {
            found.turns.insert(r.get(0)?);
        }
        progress(seen);
    }
    // A record has no time: the time of its turns counts, or else whether its session overlaps the range.
    let mut statement = tx.prepare(
        "SELECT record_no, block_no, block_offset, length,
                CASE WHEN ?4 THEN coalesce(
                  (SELECT max(t.at BETWEEN ?2 AND ?3) FROM turns t WHERE t.record_no = r.record_no),
                  (SELECT max(t.at BETWEEN ?2 AND ?3) FROM witnesses w JOIN turns t USING (turn_no) WHERE w.record_no = r.record_no),
                  s.started_at <= ?3 AND s.last_at >= ?2, 0) ELSE 1 END
         FROM sources so JOIN streams st USING (source_no) JOIN records r USING (stream_no)
         LEFT JOIN sessions s ON s.session_no = st.session_no
         WHERE so.agent_no = ?1 AND r.forgotten IS NULL ORDER BY block_no, record_no",
    )?;
    let mut rows = statement.query(params![agent_no, from, to, limited])?;
    while let Some(r) = rows.next()? {
        if !r.get::<_, bool>(4)? {
            continue;
        }
        let raw = opener.open(tx, r.get(1)?)?;
        let Some(bytes) = blocks::range(&raw, r.get(2)?, r.get(3)?) else { continue };
        seen += bytes.len() as u64;
        if words.are_quoted_in(bytes) {
            found.records.insert(r.get(0)?);
        }
        progress(seen);
    }
    let mut statement = tx.prepare(
        "SELECT stream_no, pending FROM sources JOIN streams st USING (source_no)
         LEFT JOIN sessions s ON s.session_no = st.session_no
         WHERE sources.agent_no = ?1 AND pending IS NOT NULL
           AND (NOT ?4 OR (s.started_at <= ?3 AND s.last_at >= ?2))",
    )?;
    let mut rows = statement.query(params![agent_no, from, to, limited])?;
    while let Some(r) = rows.next()? {
        if words.are_quoted_in(&blocks::unsqueeze(&r.get::<_, Vec<u8>>(1)?)?) {
            found.pending.insert(r.get(0)?);
        }
    }
    Ok(())
}

/// Finds the same turns at other places: other revisions of an entry, the same entry in a copied session, and, for a
/// program with global ids, in any session.
fn repeated(tx: &Read, agent_no: AgentNo, request: &Request, found: &mut Found) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT o.turn_no, s.session_key, o.session_no = t.session_no,
                (so.fork_of = s.session_key OR s.fork_of = so.session_key)
                AND o.role = t.role AND o.kind = t.kind AND o.text_length = t.text_length
         FROM turns t JOIN sessions s USING (session_no) JOIN turns o ON o.entry = t.entry
         JOIN sessions so ON so.session_no = o.session_no
         WHERE t.turn_no = ?1 AND so.agent_no = ?2 AND o.turn_no != t.turn_no AND t.entry IS NOT NULL
           AND substr(so.session_key, 1, instr(so.session_key, ':')) = substr(s.session_key, 1, instr(s.session_key, ':'))
           AND (o.session_no = t.session_no OR instr(t.entry, '@') = 0)",
    )?;
    for turn in found.turns.clone() {
        let mut rows = statement.query((turn, agent_no))?;
        while let Some(r) = rows.next()? {
            let global = (request.global_ids)(SessionKey::from(r.get::<_, String>(1)?).harness());
            if global || r.get(2)? || r.get::<_, Option<bool>>(3)?.unwrap_or(false) {
                found.turns.insert(r.get(0)?);
            }
        }
    }
    Ok(())
}

/// Returns the texts of the turns that are long enough to search for; if there are many turns, only those of people.
fn texts(tx: &Read, opener: &Opener, found: &Found) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT block_no, text_offset, text_length, role = {USER} AND kind = {MESSAGE} FROM turns
         WHERE turn_no = ?1 AND forgotten IS NULL"
    ))?;
    let few = found.turns.len() <= 64;
    let mut texts = Vec::new();
    for turn in &found.turns {
        let mut rows = statement.query([turn])?;
        if let Some(r) = rows.next()?
            && (few || r.get(3)?)
            && texts.len() < MOST_TEXTS
        {
            let text = opener.slice(tx, r.get(0)?, r.get(1)?, r.get(2)?)?;
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            if text.len() >= LEAST_BYTES {
                texts.push(text);
            }
        }
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}

/// Finds records of the same sessions that make no turn but contain the text of one: copies of a prompt, requests,
/// titles. Turns that contain such a text as well are only counted.
fn echoed(tx: &Read, opener: &Opener, found: &mut Found) -> Result<()> {
    let sessions: BTreeSet<SessionNo> = {
        let mut all = BTreeSet::new();
        for turn in &found.turns {
            all.extend(numbers::<SessionNo>(
                tx,
                "SELECT session_no FROM turns WHERE turn_no = ?1
                 UNION SELECT session_no FROM turn_references WHERE turn_no = ?1",
                [turn],
            )?);
        }
        all
    };
    for session in sessions {
        let mut looked_for: Vec<String> = found.texts.clone();
        looked_for.extend(title_of_prompt(tx, session, found)?);
        let words = Words::stored(looked_for.iter().map(String::as_str));
        if words.is_empty() {
            continue;
        }
        let mut statement = tx.prepare_cached(LOOSE)?;
        let mut rows = statement.query([session])?;
        while let Some(r) = rows.next()? {
            if words.are_quoted_in(&opener.slice(tx, r.get(1)?, r.get(2)?, r.get(3)?)?) {
                found.records.insert(r.get(0)?);
            }
        }
        let mut statement =
            tx.prepare_cached("SELECT stream_no, pending FROM streams WHERE session_no = ?1 AND pending IS NOT NULL")?;
        let mut rows = statement.query([session])?;
        while let Some(r) = rows.next()? {
            if words.are_quoted_in(&blocks::unsqueeze(&r.get::<_, Vec<u8>>(1)?)?) {
                found.pending.insert(r.get(0)?);
            }
        }
        let words = Words::stored(found.texts.iter().map(String::as_str));
        let mut statement = tx.prepare_cached(
            "SELECT turn_no, block_no, text_offset, text_length FROM turns
             WHERE session_no = ?1 AND forgotten IS NULL ORDER BY block_no, turn_no",
        )?;
        let mut rows = statement.query([session])?;
        while let Some(r) = rows.next()? {
            let turn: TurnId = r.get(0)?;
            if !found.turns.contains(&turn)
                && words.are_quoted_in(&opener.slice(tx, r.get(1)?, r.get(2)?, r.get(3)?)?)
            {
                found.others.insert(turn);
            }
        }
    }
    Ok(())
}

/// Finds the echoes that copies of a session repeat of its turns: they make no turn, and no row leads from them to the
/// turn they repeat.
fn echoed_in_copies(tx: &Read, opener: &Opener, found: &mut Found) -> Result<()> {
    let mut copied: BTreeMap<SessionNo, Vec<TurnId>> = BTreeMap::new();
    for turn in &found.turns {
        for session in numbers::<SessionNo>(tx, "SELECT session_no FROM turn_references WHERE turn_no = ?1", [turn])? {
            copied.entry(session).or_default().push(*turn);
        }
    }
    let mut place = tx.prepare_cached(
        "SELECT block_no, text_offset, text_length FROM turns WHERE turn_no = ?1 AND forgotten IS NULL",
    )?;
    let mut loose = tx.prepare_cached(LOOSE)?;
    for (session, turns) in copied {
        let mut texts = BTreeSet::new();
        for turn in turns {
            let mut rows = place.query([turn])?;
            let Some(r) = rows.next()? else { continue };
            let text = opener.slice(tx, r.get(0)?, r.get(1)?, r.get(2)?)?;
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            if text.len() >= LEAST_BYTES && texts.len() < MOST_TEXTS {
                texts.insert(text);
            }
        }
        let words = Words::stored(texts.iter().map(String::as_str));
        let mut rows = loose.query([session])?;
        while let Some(r) = rows.next()? {
            if words.are_quoted_in(&opener.slice(tx, r.get(1)?, r.get(2)?, r.get(3)?)?) {
                found.records.insert(r.get(0)?);
            }
        }
    }
    Ok(())
}

/// Returns the title of a session whose first prompt is forgotten, because the title describes that prompt.
pub(super) fn title_of_prompt(tx: &Read, session: SessionNo, found: &Found) -> Result<Option<String>> {
    let first: Vec<TurnId> = numbers(
        tx,
        &format!(
            "SELECT turn_no FROM turns WHERE session_no = ?1 AND role = {USER} AND kind = {MESSAGE}
             ORDER BY turn_no LIMIT 1"
        ),
        [session],
    )?;
    if !first.first().is_some_and(|turn| found.turns.contains(turn)) {
        return Ok(None);
    }
    Ok(tx
        .prepare_cached("SELECT title FROM sessions WHERE session_no = ?1")?
        .query_row([session], |r| r.get::<_, Option<String>>(0))?
        .filter(|t| t.trim().len() >= 4))
}

/// Finds the records of the turns: those that made them, repeat them, or contain them in another session.
fn spoken(tx: &Read, found: &mut Found) -> Result<()> {
    for turn in &found.turns {
        found.records.extend(numbers::<RecordNo>(
            tx,
            "SELECT record_no FROM turns WHERE turn_no = ?1
             UNION SELECT record_no FROM witnesses WHERE turn_no = ?1
             UNION SELECT record_no FROM turn_references WHERE turn_no = ?1",
            [turn],
        )?);
    }
    Ok(())
}

/// Removes from the result everything that was forgotten before.
fn already(tx: &Read, found: &mut Found) -> Result<()> {
    fn keep<N: Copy + Ord + ToSql>(tx: &Read, set: &mut BTreeSet<N>, sql: &str) -> Result<()> {
        let mut statement = tx.prepare_cached(sql)?;
        let mut left = BTreeSet::new();
        for no in set.iter() {
            if statement.exists([no])? {
                left.insert(*no);
            }
        }
        *set = left;
        Ok(())
    }
    keep(tx, &mut found.turns, "SELECT 1 FROM turns WHERE turn_no = ?1 AND forgotten IS NULL")?;
    keep(tx, &mut found.records, "SELECT 1 FROM records WHERE record_no = ?1 AND forgotten IS NULL")?;
    // A session that was continued since it was forgotten is forgotten again; an unchanged one is not.
    if found.turns.is_empty() && found.records.is_empty() && found.pending.is_empty() {
        keep(tx, &mut found.whole, "SELECT 1 FROM sessions WHERE session_no = ?1 AND forgotten IS NULL")?;
    }
    Ok(())
}

/// Counts the forgotten turns of each session.
pub(super) fn by_session(tx: &Read, found: &Found) -> Result<BTreeMap<String, u64>> {
    let mut out: BTreeMap<String, u64> = BTreeMap::new();
    let mut statement =
        tx.prepare_cached("SELECT session_key FROM turns JOIN sessions USING (session_no) WHERE turn_no = ?1")?;
    for turn in &found.turns {
        *out.entry(statement.query_row([turn], |r| r.get(0))?).or_default() += 1;
    }
    let mut statement = tx.prepare_cached("SELECT session_key FROM sessions WHERE session_no = ?1")?;
    for session in &found.whole {
        out.entry(statement.query_row([session], |r| r.get(0))?).or_default();
    }
    Ok(out)
}

/// Returns the ids of turns as people and files write them.
pub(super) fn names(turns: &BTreeSet<TurnId>) -> Vec<String> {
    turns.iter().map(|t| t.to_string()).collect()
}

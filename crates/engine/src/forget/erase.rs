//! Erases forgotten words from the ledger in one transaction: bytes are blanked in place and rows lose their text.

use std::collections::BTreeSet;

use rusqlite::params;
use serde_json::Value;

use super::derived::{self, Marks};
use super::find::{self, Found};
use super::names::Names;
use super::strays::Strays;
use super::words::Words;
use super::{PENDING, nodes};
use crate::error::{Error, ErrorKind, Result};
use crate::inject;
use crate::ledger::blocks::{self, Opener, Packed};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened};
use crate::scope::{AgentNo, NodeId, SessionNo};
use crate::transcript::append::{EVER, hex};
use crate::transcript::prepare::{KEY_LENGTH, digest};
use crate::tree::{file_table, restore};

/// Everything one transaction erases.
pub(super) struct Erasure<'e> {
    pub agent_no: AgentNo,
    pub found: &'e Found,
    pub marks: &'e Marks<'e>,
    /// Whether words were named, so that rows no turn leads to are searched as well.
    pub named: bool,
    pub nodes: &'e [NodeId],
    /// Removed files whose rows in the file table still have their text.
    pub gone_files: &'e [String],
    pub titles: &'e BTreeSet<SessionNo>,
    /// Names that are forgotten.
    pub names: &'e Names,
    /// Texts that no row points to.
    pub strays: &'e Strays,
}

impl Erasure<'_> {
    pub fn run(&self, tx: &mut Write) -> Result<()> {
        self.bytes(tx)?;
        self.rows(tx)?;
        self.ends(tx)?;
        self.decoders(tx)?;
        let keys = self.sessions(tx)?;
        restore::let_go(tx, self.agent_no, |text| self.marks.are_in(text))?;
        derived::erase(tx, self.agent_no, self.marks, self.named)?;
        for path in self.gone_files {
            file_table::forget(tx, self.agent_no, path)?;
        }
        // Nodes are made again from turns whose names have their marks already.
        let names = self.names.erase(tx, self.agent_no)?;
        let made = nodes::remake(tx, self.agent_no, self.nodes, Some(self.marks.words).filter(|_| self.named))?;
        self.pages(tx)?;
        if !keys.is_empty() {
            tx.note("sessions", keys.iter().map(|key| names.marked(key).into_owned()).collect::<Vec<_>>());
        }
        let now = tx.now();
        for key in [EVER.to_owned(), format!("{PENDING}{}", self.agent_no)] {
            tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", params![key, now.to_string()])?;
        }
        tx.seal_anew();
        tx.note("turns", self.found.turns.len());
        tx.note("forgotten", self.found.records.len());
        tx.note("nodes", made.len());
        Ok(())
    }

    /// Blanks records and texts inside their blocks, so that all other offsets stay valid.
    fn bytes(&self, tx: &Write) -> Result<()> {
        let mut stretches = self.strays.clone();
        let place = |r: &rusqlite::Row| Ok((r.get(0)?, (r.get(1)?, r.get(2)?)));
        let mut of_record =
            tx.prepare_cached("SELECT block_no, block_offset, length FROM records WHERE record_no = ?1")?;
        for record in &self.found.records {
            let (block, stretch) = of_record.query_row([record], place)?;
            stretches.entry(block).or_default().push(stretch);
        }
        let mut of_turn =
            tx.prepare_cached("SELECT block_no, text_offset, text_length FROM turns WHERE turn_no = ?1")?;
        for turn in &self.found.turns {
            let (block, stretch) = of_turn.query_row([turn], place)?;
            stretches.entry(block).or_default().push(stretch);
        }
        let opener = Opener::default();
        let mut store = tx.prepare_cached("UPDATE blocks SET data = ?2 WHERE block_no = ?1")?;
        for (block, stretches) in stretches {
            let mut raw = opener.open(tx, block)?.to_vec();
            for (offset, length) in stretches {
                blocks::blank(&mut raw, offset, length)?;
            }
            store.execute(params![block, Packed::of(&raw)?.data])?;
        }
        Ok(())
    }

    fn rows(&self, tx: &Write) -> Result<()> {
        let now = tx.now();
        // The digest stays for the chain; without its key it reveals nothing.
        let mut record = tx.prepare_cached("UPDATE records SET key = x'', forgotten = ?2 WHERE record_no = ?1")?;
        for no in &self.found.records {
            record.execute((*no, now))?;
        }
        let mut turn = tx.prepare_cached("UPDATE turns SET forgotten = ?2 WHERE turn_no = ?1")?;
        // A stop reason is usually a code like `end_turn`; a sentence may quote what was said.
        let mut run = tx.prepare_cached(
            "UPDATE turn_results SET request_fingerprint = NULL,
                    stop_reason = CASE WHEN stop_reason GLOB '*[^a-zA-Z0-9_-]*' THEN NULL ELSE stop_reason END
             WHERE run_no = (SELECT run_no FROM turns WHERE turn_no = ?1)",
        )?;
        let mut noticed = tx.prepare_cached("DELETE FROM pending_memory WHERE turn_no = ?1")?;
        for no in &self.found.turns {
            turn.execute((*no, now))?;
            run.execute([no])?;
            noticed.execute([no])?;
        }
        // The reason of a quarantine or a boundary comes from this program or from the outside one, and may quote what
        // was said.
        for (table, key) in [("quarantine", "quarantine_no"), ("boundaries", "boundary_no")] {
            let mut find = tx.prepare_cached(&format!(
                "SELECT {key}, reason FROM {table} WHERE record_no = ?1 AND reason IS NOT NULL"
            ))?;
            for no in &self.found.records {
                let rows: Vec<(i64, String)> =
                    find.query_map([no], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
                for (row, _) in rows.iter().filter(|(_, reason)| self.marks.words.are_in(reason.as_bytes())) {
                    tx.prepare_cached(&format!("UPDATE {table} SET reason = 'forgotten' WHERE {key} = ?1"))?
                        .execute([row])?;
                }
            }
        }
        Ok(())
    }

    /// Stores unterminated ends as blanked records: if their range were not recorded, the next reading would capture
    /// them again. The rest of such a line in the file still belongs to that record.
    fn ends(&self, tx: &mut Write) -> Result<()> {
        let mut digests = blake3::Hasher::new();
        let (mut first, mut last) = (None, 0);
        for stream in &self.found.pending {
            let (generation, next, lines, mid, data): (i64, i64, i64, bool, Option<Vec<u8>>) = tx.query_row(
                "SELECT generation, next, lines, mid_line, pending FROM streams WHERE stream_no = ?1",
                [stream],
                |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?)),
            )?;
            let Some(data) = data else { continue };
            let bytes = blocks::unsqueeze(&data)?;
            let (mut key, line) = ([0u8; KEY_LENGTH], lines + i64::from(!mid));
            getrandom::fill(&mut key)
                .map_err(|e| Error::new(ErrorKind::Machine, "the system gives no random numbers").because(e))?;
            let sum = digest(&key, &bytes);
            let block = blocks::insert(tx, &Packed::of(&vec![0; bytes.len()])?)?;
            tx.execute(
                "INSERT INTO records (stream_no, generation, position, length, class, block_no, block_offset, key, digest, forgotten)
                 VALUES (?1, ?2, ?3, ?4, 8, ?5, 0, x'', ?6, ?7)",
                params![stream, generation, next, bytes.len() as i64, block, sum, tx.now()],
            )?;
            last = tx.last_insert_rowid();
            first.get_or_insert(last);
            digests.update(&sum);
            tx.execute(
                "INSERT INTO quarantine (record_no, line, reason, at) VALUES (?1, ?2, 'unterminated when it was forgotten', ?3)",
                params![last, line, tx.now()],
            )?;
            tx.execute(
                "UPDATE streams SET pending = NULL, next = next + ?2, lines = ?3, mid_line = 1 WHERE stream_no = ?1",
                params![stream, bytes.len() as i64, line],
            )?;
            tx.execute(
                "UPDATE sources SET stat = NULL WHERE source_no = (SELECT source_no FROM streams WHERE stream_no = ?1)",
                [stream],
            )?;
        }
        if let Some(first) = first {
            tx.note("first_record", first);
            tx.note("last_record", last);
            tx.note("digests", hex(digests.finalize().as_bytes()));
        }
        Ok(())
    }

    /// Empties saved decoder states, which may contain the words: a prompt that is not yet answered is in there before
    /// it is a turn. The state of a session forgotten as a whole is removed; in others, texts with the words are
    /// emptied.
    fn decoders(&self, tx: &Write) -> Result<()> {
        let mut statement = tx.prepare(
            "SELECT stream_no, st.session_no, decoder FROM sources so JOIN streams st USING (source_no)
             WHERE so.agent_no = ?1 AND decoder IS NOT NULL",
        )?;
        let mut forgetful = Vec::new();
        let mut rows = statement.query([self.agent_no])?;
        while let Some(r) = rows.next()? {
            let state: Vec<u8> = r.get(2)?;
            let whole = r.get::<_, Option<SessionNo>>(1)?.is_some_and(|no| self.found.whole.contains(&no));
            if whole {
                forgetful.push((r.get::<_, i64>(0)?, None));
            } else if self.marks.words.are_quoted_in(&state) {
                let emptied = serde_json::from_slice(&state).ok().map(|state| emptied(state, self.marks.words));
                forgetful.push((r.get(0)?, emptied.map(|state| state.to_string().into_bytes())));
            }
        }
        let mut update = tx.prepare_cached("UPDATE streams SET decoder = ?2 WHERE stream_no = ?1")?;
        for (stream, state) in forgetful {
            update.execute(params![stream, state])?;
        }
        Ok(())
    }

    /// Removes titles and thread labels, and marks the sessions that are forgotten as a whole. Returns the keys of
    /// these sessions.
    fn sessions(&self, tx: &mut Write) -> Result<Vec<String>> {
        for session in self.titles {
            tx.prepare_cached("UPDATE sessions SET title = NULL WHERE session_no = ?1")?.execute([session])?;
        }
        // A thread without another name is named after the first prompt of its session.
        for turn in &self.found.turns {
            tx.prepare_cached(
                "UPDATE threads SET label = thread_key WHERE agent_no = ?2 AND thread_key = (
                   SELECT 'session/' || s.session_key FROM turns t JOIN sessions s USING (session_no) WHERE t.turn_no = ?1)
                 AND label NOT IN (SELECT name FROM thread_names n WHERE n.thread_no = threads.thread_no)",
            )?
            .execute((*turn, self.agent_no))?;
        }
        let mut keys: Vec<String> = Vec::new();
        for session in &self.found.whole {
            let now = tx.now();
            keys.push(tx.query_row(
                "UPDATE sessions SET forgotten = ?2, title = NULL WHERE session_no = ?1 RETURNING session_key",
                (*session, now),
                |r| r.get(0),
            )?);
            tx.prepare_cached("DELETE FROM pending_memory WHERE session_no = ?1")?.execute([session])?;
        }
        Ok(keys)
    }

    /// Marks all pages to be rendered again, since any of them may contain the words; their stored blocks are removed
    /// first.
    fn pages(&self, tx: &Write) -> Result<()> {
        pages::revisions::forget_rendered(tx, self.agent_no)?;
        inject::forget_given(tx, self.agent_no)?;
        pages::forget_contents(tx, self.agent_no)?;
        pages::fence_all(tx, self.agent_no)?;
        pages::mark(tx, self.agent_no, &Happened::Forgotten)?;
        Ok(())
    }
}

/// Returns the value with every string emptied that contains the words.
fn emptied(value: Value, words: &Words) -> Value {
    match value {
        Value::String(text) if words.are_quoted_in(text.as_bytes()) => Value::String(String::new()),
        Value::Array(items) => items.into_iter().map(|item| emptied(item, words)).collect(),
        Value::Object(members) => members.into_iter().map(|(name, item)| (name, emptied(item, words))).collect(),
        other => other,
    }
}

/// Returns the sessions that lose their title: it contains the words, was taken from a turn, or describes a first
/// prompt that is forgotten.
pub(super) fn titles(tx: &Read, agent_no: AgentNo, found: &Found, marks: &Marks) -> Result<BTreeSet<SessionNo>> {
    let mut out = BTreeSet::new();
    let mut spoken: BTreeSet<SessionNo> = BTreeSet::new();
    let mut session_of = tx.prepare_cached("SELECT session_no FROM turns WHERE turn_no = ?1")?;
    for turn in &found.turns {
        spoken.insert(session_of.query_row([turn], |r| r.get(0))?);
    }
    let texts: Vec<String> = found.texts.iter().map(|t| t.to_lowercase()).collect();
    let mut statement =
        tx.prepare("SELECT session_no, title FROM sessions WHERE agent_no = ?1 AND title IS NOT NULL")?;
    let rows: Vec<(SessionNo, String)> =
        statement.query_map([agent_no], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    for (session, title) in rows {
        let bare = title.trim().trim_end_matches(['…', '.']).to_lowercase();
        let told = spoken.contains(&session)
            && ((bare.len() >= 8 && texts.iter().any(|t| t.contains(&bare)))
                || find::title_of_prompt(tx, session, found)?.is_some());
        if told || marks.words.are_in(title.as_bytes()) {
            out.insert(session);
        }
    }
    Ok(out)
}

//! Captures hook payloads (R5.1, R4.4): each is a record of its own, in a stream beside the program's store, and its
//! turns are provisional until the store confirms them.

use std::path::{Path, PathBuf};

use super::{Capture, Program, is_moved, note_private, notice, origin};
use crate::error::Result;
use crate::event::{Decoded, Placement, RecordClass};
use crate::ledger::blocks::Opener;
use crate::ledger::job_queue::{self, JobKind};
use crate::ledger::{Audit, Write};
use crate::lineage::undistilled;
use crate::scope::{AgentId, AgentNo, RecordNo};
use crate::source::private::{Masker, Message};
use crate::transcript::prepare::OriginForm;
use crate::transcript::{After, IDLE_MS, Step, append, class_code};

/// Most bytes a store may have grown by for a hook to read it; beyond that the worker reads it (R12.5).
const INLINE_BYTES: u64 = 256 * 1024;

/// Most bytes a store may have for a hook to read it, because its stored part is compared first, at some milliseconds
/// per megabyte. The worker reads a larger one.
const INLINE_STORE: u64 = 1 << 20;

impl Capture<'_> {
    /// Plans a hook payload as a record of the session's stream of hooks. Its offset is assigned at the commit.
    pub fn hook_payload(
        &mut self,
        program: &dyn Program,
        agent: &AgentId,
        native: &str,
        payload: &[u8],
        decoded: Decoded,
    ) -> Result<()> {
        let placement = Placement { native: native.to_owned(), ..Placement::default() };
        let origin = origin(self, program, &placement, agent, OriginForm::Hook, &PathBuf::from("hooks"));
        let mut masker = Masker::default();
        let mut bytes = masker.record(payload, |_| Message::Whole).into_owned();
        self.planned_private += masker.spans();
        bytes.push(b'\n');
        let record = self.preparer.record(0, &bytes, None, decoded)?;
        self.preparer.step(Step {
            origin,
            key: native.to_owned(),
            placement,
            before: None,
            generation: 0,
            records: vec![record],
            after: After { next: bytes.len() as i64, ..After::default() },
            stat: None,
            group: None,
        });
        Ok(())
    }

    /// Plans the turns of payloads that were stored before the part of the program's store that precedes them.
    /// `meaning`: decodes one such payload.
    pub fn told_answers(
        &mut self,
        program: &dyn Program,
        agent: &AgentId,
        native: &str,
        meaning: impl Fn(Vec<u8>) -> Option<Decoded>,
    ) -> Result<()> {
        self.commit()?;
        let placement = Placement { native: native.to_owned(), ..Placement::default() };
        let origin = origin(self, program, &placement, agent, OriginForm::Hook, &PathBuf::from("hooks"));
        let native = &*self.forgotten.marked(native).into_owned();
        let told: Vec<(RecordNo, Vec<u8>)> = self.ledger.read(|tx| {
            let mut statement = tx.prepare_cached(
                "SELECT record_no, block_no, block_offset, r.length FROM agents JOIN sources so USING (agent_no)
                 JOIN streams st USING (source_no) JOIN records r USING (stream_no)
                 WHERE agent_id = ?1 AND harness = ?2 AND form = ?3 AND st.key = ?4 AND class = ?5
                   AND r.forgotten IS NULL
                   AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.record_no = r.record_no)
                   AND NOT EXISTS (SELECT 1 FROM witnesses w WHERE w.record_no = r.record_no)
                 ORDER BY position",
            )?;
            let form = OriginForm::Hook as i64;
            let class = class_code(RecordClass::Meta);
            let mut rows = statement.query(rusqlite::params![agent.as_str(), program.name(), form, native, class])?;
            let (opener, mut told) = (Opener::of_one(), Vec::new());
            while let Some(r) = rows.next()? {
                told.push((r.get(0)?, opener.slice(tx, r.get(1)?, r.get(2)?, r.get(3)?)?));
            }
            Ok(told)
        })?;
        let mut records = Vec::new();
        for (record_no, mut bytes) in told {
            bytes.pop_if(|b| *b == b'\n');
            if let Some(decoded) = meaning(bytes) {
                records.push(self.preparer.stored_record(record_no, decoded)?);
            }
        }
        if !records.is_empty() {
            self.planned_records += records.len();
            self.preparer.step(Step {
                origin,
                key: native.to_owned(),
                placement,
                before: None,
                generation: 0,
                records,
                after: After::default(),
                stat: None,
                group: None,
            });
        }
        Ok(())
    }

    /// Plans the new part of a session file, if it is small: a hook has no time for more (R12.5). `false`: the file is
    /// left to the worker.
    pub fn file_if_small(&mut self, program: &dyn Program, agent: &AgentId, path: &Path) -> Result<bool> {
        let Ok(size) = std::fs::metadata(path).map(|m| m.len()) else { return Ok(false) };
        if size > INLINE_STORE || size > INLINE_BYTES + super::file::stored(self, program, agent, path)? {
            return Ok(false);
        }
        let read = super::file::read(self, program, agent, path)?;
        Ok(!matches!(read, super::Outcome::Failed(_)))
    }

    /// Commits the plan together with the caller's own writes, in one transaction with one audit row. `None`: the store
    /// changed meanwhile, and nothing was stored.
    pub fn commit_with<T>(
        &mut self,
        action: &'static str,
        agent_no: Option<AgentNo>,
        also: impl FnOnce(&mut Write) -> Result<T>,
    ) -> Result<Option<T>> {
        let batch = self.preparer.finish()?;
        self.planned_records = 0;
        let private = std::mem::take(&mut self.planned_private);
        let noticed = notice::in_batch(&batch);
        let mut why = Audit::new(&self.actor, action);
        if let Some(no) = agent_no {
            why = why.of_agent(no);
        }
        let names = &mut self.names;
        let done = self.ledger.write(why, |tx| {
            note_private(tx, private);
            let appended = append(tx, batch, names)?;
            if !appended.fresh.is_empty() {
                let now = tx.now();
                job_queue::enqueue(tx, JobKind::Index, "all", "{}", now)?;
                job_queue::enqueue(tx, JobKind::CloseIdle, "all", "{}", now + IDLE_MS)?;
            }
            notice::store(tx, &appended.fresh, &noticed)?;
            if appended.records > 0 {
                undistilled::mark(tx, &appended.sessions)?;
            }
            let out = also(tx)?;
            Ok((appended, out))
        });
        match done {
            Ok((appended, out)) => {
                self.count(&appended);
                self.problems.append(&mut self.planned_problems);
                self.planned_sources.clear();
                Ok(Some(out))
            }
            Err(e) => {
                self.names.clear();
                self.discard();
                if is_moved(&e) { Ok(None) } else { Err(e) }
            }
        }
    }
}

//! Makes vectors: together with the words if the model is quick, later otherwise.
//!
//! `vector-watermark` is the last turn whose vectors are stored; files and nodes have a mark each. Missing vectors are
//! made from the ledger: texts are read and embedded while others may write, then stored if the words are still
//! indexed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::OptionalExtension;

use super::code::encode;
use super::nearest::stored_model;
use super::store::{EMPTY, Store};
use super::{Document, Key, Missing, Nearest, SetKey, Sort, Within, texts};
use crate::error::{Error, ErrorKind, Result};
use crate::index::rows::{self, Doc};
use crate::index::{Embedder, Index, RowId};
use crate::ledger::blocks::Opener;
use crate::ledger::{Ledger, Read};
use crate::scope::{AgentNo, TurnId};

/// Texts given to a model at once.
const AT_ONCE: usize = 256;

/// Turns read at once to make missing vectors; few, because a search may be waiting.
const STEP: i64 = 400;
const HASTY_STEP: i64 = 50;

/// Time for which a model that did not answer is not asked again.
const REST: Duration = Duration::from_secs(30);

/// Vectors as they are stored; `None` for a text similar to nothing.
pub(crate) type Made = Vec<Option<Vec<u8>>>;

/// Turns whose vectors are being made.
#[derive(Default)]
pub(crate) struct Waiting {
    texts: Vec<String>,
    owners: Vec<(SetKey, Key)>,
    made: BTreeMap<SetKey, Vec<(Key, Vec<u8>)>>,
}

impl Waiting {
    /// Adds the embedded texts of a turn.
    pub fn turn(&mut self, doc: &Doc) {
        for (part, text) in texts::of_turn(doc.kind, doc.text).into_iter().enumerate() {
            let set = SetKey {
                agent_no: doc.agent_no,
                sort: Sort::Turn,
                workspace_no: doc.workspace_no.unwrap_or_default(),
                label: doc.harness.to_owned(),
            };
            self.texts.push(text.to_owned());
            self.owners.push((set, Key::of_turn(doc.turn_no.0, part, doc.role, doc.kind, doc.session_no)));
        }
    }

    /// Whether no text waits.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether there are vectors to store.
    pub(super) fn has_made(&self) -> bool {
        self.made.values().any(|items| !items.is_empty())
    }

    /// Returns the turns that wait, by agent.
    pub(super) fn numbers(&self) -> BTreeMap<AgentNo, BTreeSet<i64>> {
        let mut out: BTreeMap<AgentNo, BTreeSet<i64>> = BTreeMap::new();
        for (set, key) in &self.owners {
            out.entry(set.agent_no).or_default().insert(key.number);
        }
        out
    }

    /// Removes turns from those that wait.
    pub(super) fn leave_out(&mut self, agent_no: AgentNo, turns: &BTreeSet<i64>) {
        let stays = |(set, key): &(SetKey, Key)| set.agent_no != agent_no || !turns.contains(&key.number);
        let kept: Vec<bool> = self.owners.iter().map(stays).collect();
        let mut at = kept.iter();
        self.texts.retain(|_| *at.next().unwrap_or(&true));
        let mut at = kept.iter();
        self.owners.retain(|_| *at.next().unwrap_or(&true));
    }

    /// Returns the texts, and where the vector of each belongs.
    pub(super) fn into_texts(self) -> (Vec<String>, Vec<(SetKey, Key)>) {
        (self.texts, self.owners)
    }

    pub(super) fn embed(&mut self, embedder: &dyn Embedder) -> Result<()> {
        for made in self.texts.chunks(AT_ONCE).zip(self.owners.chunks(AT_ONCE)) {
            for (vector, (set, key)) in embed(embedder, made.0)?.into_iter().zip(made.1) {
                if let Some(vector) = vector {
                    self.made.entry(set.clone()).or_default().push((*key, vector));
                }
            }
        }
        self.texts.clear();
        self.owners.clear();
        Ok(())
    }
}

/// Asks a model and checks the form of its answer.
pub(super) fn embed(embedder: &dyn Embedder, texts: &[impl AsRef<str>]) -> Result<Made> {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let vectors = embedder.embed(&texts)?;
    if vectors.len() != texts.len() || vectors.iter().any(|v| v.len() != embedder.dimensions()) {
        return Err(Error::new(
            ErrorKind::Busy,
            format!("{} answered with vectors of another number or size", embedder.model()),
        )
        .hint("search goes on with words; look at the model's settings"));
    }
    Ok(vectors.iter().map(|v| encode(v)).collect())
}

pub(super) fn name_of(embedder: &dyn Embedder) -> String {
    format!("{} {}", embedder.model(), embedder.dimensions())
}

impl Index {
    /// Plugs in the model that makes vectors from now on. Vectors of another model are no longer compared and are
    /// removed with the next write. `Usage` for a model whose vectors cannot be stored.
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Result<Index> {
        let dimensions = embedder.dimensions();
        if dimensions == 0 || !dimensions.is_multiple_of(64) || dimensions > 1 << 14 {
            return Err(Error::usage(format!("{} gives vectors of {dimensions} numbers", embedder.model()))
                .hint("use a model with a multiple of 64 dimensions, at most 16,384"));
        }
        self.embedder = Some(embedder);
        Ok(self)
    }

    /// Whether the stored vectors were made by this model. `None` if there are none yet.
    pub fn is_of(&self, embedder: &dyn Embedder) -> Result<Option<bool>> {
        Ok(stored_model(&self.conn)?.map(|stored| stored == name_of(embedder)))
    }

    /// Returns the name of the model that made the stored vectors.
    pub fn model_of_vectors(&self) -> Result<Option<String>> {
        Ok(stored_model(&self.conn)?.and_then(|stored| Some(stored.rsplit_once(' ')?.0.to_owned())))
    }

    /// Returns how many turns have been embedded and how many there are, whichever the model.
    pub fn turns_embedded(&self, tx: &Read) -> Result<(u64, u64)> {
        let done = self.vector_watermark()?;
        let count = "SELECT count(CASE WHEN turn_no <= ?1 THEN 1 END), count(*) FROM turns";
        Ok(tx.query_row(count, [done], |r| Ok((r.get::<_, i64>(0)? as u64, r.get::<_, i64>(1)? as u64)))?)
    }

    /// Returns the plugged-in model.
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    /// Finds the documents of one sort nearest to a vector of the plugged-in model, best first, each once, at most
    /// `limit` (R10.2). Only documents that pass `within` are compared. Empty if no model is plugged in, if another
    /// model made the stored vectors, for an unknown agent and for a vector similar to nothing.
    ///
    /// A result is indexed, but its turn may have been forgotten since or its file changed; the caller checks the
    /// ledger before showing it. Sees only committed rows: call [`Index::flush`] or [`Index::catch_up`] first. Stops at
    /// the index's deadline and reports it. `Damaged` if the stored vectors are inconsistent.
    pub fn nearest(&self, vector: &[f32], agent_no: AgentNo, within: Within, limit: usize) -> Result<Nearest> {
        match self.comparable()? {
            Some(store) => store.nearest(vector, agent_no, within, limit),
            None => Ok(Nearest::default()),
        }
    }

    /// Does the same as [`Index::nearest`], and in the same pass computes the cosines of the documents with the numbers
    /// `also`, so that the word search and the vector search know every candidate. Documents outside `within` or
    /// without a vector are left out.
    pub fn nearest_and(
        &self,
        vector: &[f32],
        agent_no: AgentNo,
        within: Within,
        limit: usize,
        also: &[i64],
    ) -> Result<Nearest> {
        match self.comparable()? {
            Some(store) => store.nearest_and(vector, agent_no, within, limit, also),
            None => Ok(Nearest::default()),
        }
    }

    /// Returns the cosines of documents that were found otherwise and that [`Index::nearest`] did not return; documents
    /// without a vector are left out.
    pub fn similarities(
        &self,
        vector: &[f32],
        agent_no: AgentNo,
        of: &[Document],
    ) -> Result<std::collections::HashMap<Document, f32>> {
        match self.comparable()? {
            Some(store) => store.similarities(vector, agent_no, of),
            None => Ok(Default::default()),
        }
    }

    /// Returns the number of vectors of all agents.
    pub fn vectors(&self) -> Result<u64> {
        Store::of(&self.conn)?.map_or(Ok(0), |store| store.count())
    }

    /// Returns what the plugged-in model has not embedded yet: "vectors of 1,200 of 50,000 turns are still being made".
    /// Nothing is missing without a model.
    pub fn vectors_missing(&self, tx: &Read) -> Result<Missing> {
        let Some(embedder) = &self.embedder else { return Ok(Missing::default()) };
        let known = stored_model(&self.conn)?.as_deref() == Some(&name_of(embedder.as_ref()));
        let (from, to) = (if known { self.vector_watermark()? } else { TurnId(0) }, self.watermark()?);
        let mut out = Missing::default();
        if from < to {
            out.turns =
                tx.query_row("SELECT count(*) FROM turns WHERE turn_no > ?1 AND turn_no <= ?2", [from, to], |r| {
                    r.get::<_, i64>(0)
                })? as u64;
            out.of_turns =
                tx.query_row("SELECT count(*) FROM turns WHERE turn_no <= ?1", [to], |r| r.get::<_, i64>(0))? as u64;
        }
        let lacking = |table: &str| -> Result<u64> {
            let which = if known { "WHERE embedded = 0" } else { "" };
            let sql = format!("SELECT count(*) FROM {table} {which}");
            Ok(self.conn.prepare_cached(&sql)?.query_row([], |r| r.get::<_, i64>(0))? as u64)
        };
        (out.files, out.nodes) = (lacking("files")?, lacking("node_rows")?);
        Ok(out)
    }

    /// Makes the missing vectors of indexed turns and nodes, until done or `until`; those of files are made by
    /// [`Index::catch_up_files`]. `progress` receives the number of turns done. A model that does not answer ends it
    /// without an error; [`Index::vectors_missing`] then reports what is missing.
    pub fn fill_vectors(
        &mut self,
        ledger: &Ledger,
        until: Option<Instant>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        self.flush()?;
        let Some(embedder) = self.embedder.clone() else { return Ok(()) };
        let step = if until.is_some() || !embedder.is_quick() { HASTY_STEP } else { STEP };
        let opener = Opener::default();
        let mut done = 0;
        while !self.rests() && until.is_none_or(|until| Instant::now() < until) {
            if stored_model(&self.conn)?.as_deref() != Some(&name_of(embedder.as_ref())) {
                // Beginning a write transaction replaces the vectors of the other model.
                if !self.begin()? {
                    return Ok(());
                }
                self.flush()?;
            }
            let (from, to) = (self.vector_watermark()?, self.watermark()?);
            if from >= to {
                break;
            }
            // A slow model makes the vectors of important messages first.
            if !embedder.is_quick() && self.fill_first(ledger, embedder.as_ref(), (from, to))? {
                continue;
            }
            let mut waiting = Waiting::default();
            let (last, turns) = ledger.read(|tx| {
                rows::read(tx, &opener, (from, to, step), &mut |doc| {
                    waiting.turn(doc);
                    Ok(())
                })
            })?;
            if !embedder.is_quick() {
                self.leave_out_present(&mut waiting)?;
            }
            if let Err(e) = waiting.embed(embedder.as_ref()) {
                self.rest(&e);
                break;
            }
            if !self.begin()? {
                return Ok(());
            }
            // The vectors are stored only if no other process has stored them meanwhile; turns forgotten meanwhile are
            // left out.
            if self.vector_watermark()? == from {
                self.drop_erased(&mut waiting)?;
                // If the range has no turn left, all of it is done.
                let last = if turns == 0 { to } else { last };
                if self.store_waiting(waiting)? {
                    self.set_vector_watermark(last)?;
                }
            }
            self.flush()?;
            done += turns as u64;
            progress(done);
        }
        self.fill_nodes(ledger, until)
    }

    /// Whether missing vectors can be made now.
    pub(in crate::index) fn may_fill(&self, deadline: Option<Instant>) -> bool {
        let Some(embedder) = &self.embedder else { return false };
        !self.rests() && deadline.is_none_or(|d| embedder.is_quick() && Instant::now() < d)
    }

    /// Embeds texts now. `None` if the model does not answer.
    pub(in crate::index) fn vectors_of(&mut self, texts: &[String]) -> Result<Option<Made>> {
        let Some(embedder) = self.embedder.clone().filter(|_| !self.rests()) else { return Ok(None) };
        match embed(embedder.as_ref(), texts) {
            Ok(made) => Ok(Some(made)),
            Err(e) => {
                self.rest(&e);
                Ok(None)
            }
        }
    }

    /// Does the same as [`Index::vectors_of`] inside a transaction, where only a quick model is asked.
    pub(in crate::index) fn vectors_now(&mut self, texts: &[String]) -> Result<Option<Made>> {
        if self.waiting.is_some() { self.vectors_of(texts) } else { Ok(None) }
    }

    /// Adds the vectors of one document to a set, inside the open transaction. `false`: the stored vectors were
    /// inconsistent and were dropped; all are made again.
    pub(in crate::index) fn store_vectors(
        &mut self,
        set: &SetKey,
        made: Made,
        key: impl Fn(usize) -> Key,
    ) -> Result<bool> {
        let made = made.into_iter().enumerate().filter_map(|(part, v)| Some((key(part), v?))).collect();
        self.store_waiting(Waiting { made: BTreeMap::from([(set.clone(), made)]), ..Waiting::default() })
    }

    /// Removes the vectors of documents, inside the open transaction.
    pub(in crate::index) fn remove_vectors(
        &mut self,
        agent_no: AgentNo,
        sort: Sort,
        numbers: &BTreeSet<i64>,
    ) -> Result<()> {
        let removed = match Store::of(&self.conn)? {
            Some(store) => store.remove(agent_no, sort, numbers),
            None => return Ok(()),
        };
        match removed {
            Err(e) if e.kind() == ErrorKind::Damaged => self.give_up(),
            other => other.map(drop),
        }
    }

    /// Embeds the waiting texts once there are many.
    pub(in crate::index) fn embed_if_many(&mut self) {
        if self.waiting.as_ref().is_some_and(|w| w.texts.len() >= AT_ONCE) {
            self.embed_waiting();
        }
    }

    fn embed_waiting(&mut self) {
        let (Some(embedder), Some(mut waiting)) = (self.embedder.clone(), self.waiting.take()) else { return };
        match waiting.embed(embedder.as_ref()) {
            Ok(()) => self.waiting = Some(waiting),
            // The words are stored without vectors; those of this transaction are made later.
            Err(e) => self.rest(&e),
        }
    }

    /// Stores the waiting vectors before the transaction is committed.
    pub(in crate::index) fn settle_vectors(&mut self) -> Result<()> {
        self.embed_waiting();
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        if self.store_waiting(waiting)? {
            let covered = self.watermark()?;
            if self.vector_watermark()? != covered {
                self.set_vector_watermark(covered)?;
            }
        }
        Ok(())
    }

    pub(super) fn store_waiting(&mut self, waiting: Waiting) -> Result<bool> {
        let Some(store) = Store::of(&self.conn)? else { return Ok(false) };
        let stored = waiting.made.iter().try_for_each(|(set, items)| store.append(set, items));
        match stored {
            Err(e) if e.kind() == ErrorKind::Damaged => self.give_up().map(|()| false),
            other => other.map(|()| true),
        }
    }

    /// Whether the transaction just begun stores vectors together with words. Removes vectors of another model first.
    pub(in crate::index) fn keeps_step(&mut self) -> Result<bool> {
        let Some(embedder) = self.embedder.clone() else { return Ok(false) };
        let name = name_of(embedder.as_ref());
        if stored_model(&self.conn)?.as_deref() != Some(&name) {
            self.give_up()?;
            let mut put = self.conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?;
            put.execute(["vector-model", &name])?;
            put.execute(["vector-dimensions", &embedder.dimensions().to_string()])?;
        }
        Ok(embedder.is_quick() && !self.rests() && self.vector_watermark()? == self.watermark()?)
    }

    /// Drops every vector, inside the open transaction, so that all are made again.
    fn give_up(&mut self) -> Result<()> {
        self.conn.execute_batch(EMPTY)?;
        self.conn.execute_batch(
            "UPDATE files SET embedded = 0 WHERE embedded = 1; UPDATE node_rows SET embedded = 0 WHERE embedded = 1;",
        )?;
        self.waiting = None;
        Ok(())
    }

    /// Leaves out turns that were forgotten since they were read.
    pub(super) fn drop_erased(&self, waiting: &mut Waiting) -> Result<()> {
        let mut stands = self.conn.prepare_cached("SELECT 1 FROM fts_docsize WHERE id = ?1")?;
        for (set, items) in &mut waiting.made {
            let mut gone = BTreeSet::new();
            for (key, _) in items.iter() {
                let row = RowId { agent_no: set.agent_no, turn_no: key.number, part: 0 }.pack();
                if !stands.exists([row])? {
                    gone.insert(key.number);
                }
            }
            items.retain(|(key, _)| !gone.contains(&key.number));
        }
        Ok(())
    }

    /// Returns the stored vectors, if the plugged-in model made them.
    fn comparable(&self) -> Result<Option<Store<'_>>> {
        match &self.embedder {
            Some(e) if stored_model(&self.conn)?.as_deref() == Some(&name_of(e.as_ref())) => Store::of(&self.conn),
            _ => Ok(None),
        }
    }

    /// Reports problems of the vectors.
    pub(in crate::index) fn vector_problems(&self) -> Result<Vec<String>> {
        let mut problems = match Store::of(&self.conn)? {
            Some(store) => store.problems()?,
            None => Vec::new(),
        };
        if self.vector_watermark()? > self.watermark()? {
            problems.push("the vectors of the index are ahead of its words".into());
        }
        Ok(problems)
    }

    fn rests(&self) -> bool {
        self.resting.is_some_and(|until| Instant::now() < until)
    }

    /// Whether the model did not answer lately and is not asked yet.
    pub fn embedder_rests(&self) -> bool {
        self.rests()
    }

    fn rest(&mut self, _: &Error) {
        self.resting = Some(Instant::now() + REST);
        self.waiting = None;
    }

    /// Returns the last turn whose vectors are stored.
    fn vector_watermark(&self) -> Result<TurnId> {
        Ok(self
            .conn
            .prepare_cached("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'vector-watermark'")?
            .query_row([], |r| r.get(0))
            .optional()?
            .unwrap_or_default())
    }

    fn set_vector_watermark(&self, turn_no: TurnId) -> Result<()> {
        self.conn
            .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('vector-watermark', ?1)")?
            .execute([turn_no.0.to_string()])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Short;

    impl Embedder for Short {
        fn model(&self) -> &str {
            "short"
        }

        fn dimensions(&self) -> usize {
            64
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            Ok(texts.iter().skip(1).map(|_| vec![0.125; 64]).collect())
        }
    }

    #[test]
    fn an_answer_of_another_size_is_no_answer() {
        assert_eq!(embed(&Short, &["a", "b"]).unwrap_err().kind(), ErrorKind::Busy);
        let none: [&str; 0] = [];
        assert_eq!(embed(&Short, &none).unwrap(), Made::new());
    }
}

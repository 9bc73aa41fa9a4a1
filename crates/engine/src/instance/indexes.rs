//! Management of the search index around a verb: opened once, lent to one thread at a time, brought up to date before a
//! search, and rebuilt if it is damaged.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::Instance;
use super::listener::{Notice, Progress, Task};
use crate::error::{Error, ErrorKind, Result};
use crate::home::layout;
use crate::index::{Embedder, Index, Rebuilt};
use crate::report::round;
use crate::report::status::Renewing;
use crate::report::upkeep::Reindexed;
use crate::scope::{AgentId, AgentNo, TurnId};
use crate::tree::{AssistantHome, file_table};

/// How long a verb waits for another process that writes the index before it goes on without the index.
pub const BUSY: Duration = Duration::from_millis(200);

/// How long a rebuild that a person asked for waits for other processes.
const BUSY_FOR_A_NEW_ONE: Duration = Duration::from_secs(5);

/// Time a search may spend on bringing the index up to date before it answers (R10.10).
const CATCH_UP: Duration = Duration::from_millis(50);

/// Number of idle indexes kept open for the next verb. Each has its own page cache; an index beyond the number of
/// ledger readers would never be used at the same time.
const KEPT: usize = 3;

/// An index in use. Dropping it returns it to the pool for the next verb.
pub struct Lent<'i> {
    instance: &'i Instance,
    index: Option<Index>,
    /// Whether opening the index rebuilt it.
    pub rebuilt: Rebuilt,
}

impl Deref for Lent<'_> {
    type Target = Index;

    fn deref(&self) -> &Index {
        // Only `Drop` takes the index out, so it is always there.
        self.index.as_ref().unwrap_or_else(|| unreachable!("an index in use"))
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Index {
        self.index.as_mut().unwrap_or_else(|| unreachable!("an index in use"))
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut idle = self.instance.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = self.index.take().filter(Index::is_at_rest) else { return };
        // The mapped one is kept, however many others came back before it.
        if index.is_mapped() {
            idle.truncate(KEPT - 1);
        }
        if idle.len() < KEPT {
            idle.push(index);
        }
    }
}

impl Instance {
    /// Releases everything held only for speed: idle indexes, readers of the ledger, cached pages.
    pub fn rest(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.ledger.rest();
    }

    /// Returns the index: an idle one, or one opened now; a missing index or one that does not fit the ledger is made
    /// anew. In a home that cannot be written: `Refused` if there is no index that fits.
    pub fn index(&self) -> Result<Lent<'_>> {
        self.settings.embeddings.check()?;
        let path = self.index_path()?;
        while let Some(mut index) = self.idle_index() {
            // Another process may have put a new index in place of this file.
            if index.is_still_at(&path) {
                index.keep_mapped(&self.mapped)?;
                return Ok(Lent { instance: self, index: Some(index), rebuilt: Rebuilt::No });
            }
        }
        let (index, rebuilt) = match self.read_only {
            true => {
                let index = Index::open_read_only(&path, self.ledger.id())?.ok_or_else(|| {
                    Error::refused("the home cannot be written and has no search index that fits")
                        .hint("make the home writable, then run ⟨reindex⟩")
                })?;
                (index, Rebuilt::No)
            }
            false => Index::open(&path, self.ledger.id(), BUSY)?,
        };
        self.lent(index, rebuilt)
    }

    /// Takes an idle index, the mapped one if it is there.
    fn idle_index(&self) -> Option<Index> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mapped = idle.iter().position(Index::is_mapped);
        mapped.map(|at| idle.remove(at)).or_else(|| idle.pop())
    }

    /// Attaches to an index the embedding model that its vectors are compared with.
    pub(super) fn with_model(&self, index: Index) -> Result<Index> {
        match self.model_for(&index)? {
            Some(model) => index.with_embedder(model),
            None => Ok(index),
        }
    }

    fn lent(&self, index: Index, rebuilt: Rebuilt) -> Result<Lent<'_>> {
        let index = self.with_model(index)?;
        Ok(Lent { instance: self, index: Some(index), rebuilt })
    }

    /// Returns the embedding model for an index: the one the settings name, or an older one while the index still has
    /// that one's vectors ([`Instance::renew_index`] makes the new vectors).
    fn model_for(&self, index: &Index) -> Result<Option<Arc<dyn Embedder>>> {
        // While the next index is being made, the model of the settings is not needed here, and loading it may take
        // long.
        let renewing = self.home.file_path(&layout::NEXT_INDEX_DB).is_ok_and(|next| next.exists());
        let wanted = match renewing {
            true => None,
            false => match self.embedder() {
                Some(Ok(model)) => Some(model.clone()),
                _ => return Ok(None),
            },
        };
        let fits = |model: &Arc<dyn Embedder>| Ok::<_, Error>(index.is_of(model.as_ref())? != Some(false));
        if let Some(model) = &wanted
            && fits(model)?
        {
            return Ok(wanted);
        }
        for older in self.settings.embeddings.older() {
            if index.is_of(older.as_ref())? == Some(true) {
                return Ok(Some(older));
            }
        }
        Ok(match wanted {
            None => self.embedder().and_then(|model| model.as_ref().ok()).cloned(),
            wanted => wanted,
        })
    }

    /// Makes the vectors of the model that the settings name, if the index has vectors of another model that still
    /// answers. They are made in a second index, which replaces the one in use when it is complete; until then searches
    /// use the old one. Returns the progress if work is left after `until`; `None` if nothing is left to do.
    pub fn renew_index(&self, actor: &str, until: Instant) -> Result<Option<Renewing>> {
        let next_path = self.home.file_path(&layout::NEXT_INDEX_DB)?;
        let Some(Ok(wanted)) = self.embedder() else { return Ok(None) };
        {
            let index = self.index()?;
            if index.is_of(wanted.as_ref())? != Some(false)
                || index.embedder().is_none_or(|m| m.model() == wanted.model())
            {
                Index::remove(&next_path);
                return Ok(None);
            }
        }
        let (next, _) = Index::open(&next_path, self.ledger.id(), BUSY)?;
        let mut next = next.with_embedder(wanted.clone())?;
        next.catch_up(&self.ledger, None, &mut |_| {})?;
        next.fill_vectors(&self.ledger, Some(until), &mut |_| {})?;
        if Instant::now() < until {
            self.build_files(&mut next, actor)?;
        }
        let (missing, coverage) = self.ledger.read(|tx| Ok((next.vectors_missing(tx)?, next.coverage(tx)?)))?;
        if missing.is_none() && coverage.missing == 0 && next.is_still_at(&next_path) {
            next.take_the_place_of(&self.index_path()?)?;
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
            return Ok(None);
        }
        let (turns, of_turns) = self.ledger.read(|tx| next.turns_embedded(tx))?;
        Ok(Some(Renewing { turns, of_turns, rests: next.embedder_rests() }))
    }

    /// Returns the name of the model whose vectors are searched now.
    pub fn model_of_vectors(&self) -> Option<String> {
        let index = Index::open_read_only(&self.index_path().ok()?, self.ledger.id()).ok()??;
        index.model_of_vectors().ok()?
    }

    /// Returns the progress of the new model while vectors of an older one are searched; `None` if no new index is
    /// being made.
    pub fn renewing(&self) -> Option<Renewing> {
        let path = self.home.file_path(&layout::NEXT_INDEX_DB).ok()?;
        let next = Index::open_read_only(&path, self.ledger.id()).ok()??;
        let (turns, of_turns) = self.ledger.read(|tx| next.turns_embedded(tx)).ok()?;
        Some(Renewing { turns, of_turns, rests: false })
    }

    /// Returns the embedding model (R10.8). If it cannot be loaded, only words are searched, and the listener is
    /// notified once.
    fn embedder(&self) -> Option<&Result<Arc<dyn Embedder>>> {
        if self.model.get().is_none() {
            let model = self.settings.embeddings.model()?;
            if let Err(e) = &model {
                self.listener.notice(&Notice::WordsOnly(e));
            }
            let _ = self.model.set(model);
        }
        self.model.get()
    }

    /// Returns why the model of the settings cannot be loaded, so that nothing is found by meaning.
    pub fn without_model(&self) -> Option<&Error> {
        self.embedder().and_then(|model| model.as_ref().err())
    }

    /// Returns the name of the model in use and where it runs.
    pub fn model(&self) -> (Option<&str>, &str) {
        let model = self.embedder().and_then(|model| Some(model.as_ref().ok()?.model()));
        (model, &self.settings.embeddings.shown)
    }

    /// Returns the index for a hook, which only reads it (R10.10). `None` if there is no index that fits; other
    /// processes make it.
    pub(super) fn index_for_hook(&self) -> Result<Option<Index>> {
        let path = self.index_path()?;
        let Ok(Some(index)) = Index::open_read_only(&path, self.ledger.id()) else { return Ok(None) };
        // A prompt must not wait for an endpoint or for a model that has to be loaded first.
        if !self.settings.embeddings.for_hooks {
            // The index may still have the vectors of the model in the binary, which is there at once.
            let mut older = self.settings.embeddings.older();
            return match older.find(|model| index.is_of(model.as_ref()).is_ok_and(|is| is == Some(true))) {
                Some(model) => Ok(Some(index.with_embedder(model)?)),
                None => Ok(Some(index)),
            };
        }
        match self.settings.embeddings.model() {
            Some(model) => Ok(Some(index.with_embedder(model?)?)),
            None => Ok(Some(index)),
        }
    }

    /// Replaces the index by an empty one. `busy`: how long to wait for other processes.
    pub fn recreate_index(&self, busy: Duration) -> Result<Lent<'_>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.lent(Index::recreate(&self.index_path()?, self.ledger.id(), busy)?, Rebuilt::OtherVersion)
    }

    /// Returns the index, brought up to date within the time a search may spend on it, including the files of an agent
    /// that were just scanned. A new index is built completely, because there is no other to search in.
    pub fn caught_up_index(&self, files: Option<&AssistantHome>) -> Result<Lent<'_>> {
        let mut index = self.index()?;
        if self.read_only {
            return Ok(index);
        }
        let new = index.rebuilt != Rebuilt::No;
        let ahead = self.is_ahead(&index);
        if ahead {
            drop(index);
            index = self.recreate_index(BUSY)?;
        }
        match self.catch_up(&mut index, files, new || ahead) {
            // A damaged index is derived data and is rebuilt. If the error remains, the ledger is damaged.
            Err(e) if e.kind() == ErrorKind::Damaged => {
                drop(index);
                index = self.recreate_index(BUSY)?;
                self.catch_up(&mut index, files, true)?;
            }
            other => other?,
        }
        Ok(index)
    }

    /// Whether an index has turns that its ledger does not have: the ledger was replaced by one from a backup.
    pub(super) fn is_ahead(&self, index: &Index) -> bool {
        matches!(self.ledger.read(|tx| index.coverage(tx)), Err(e) if e.kind() == ErrorKind::Damaged)
    }

    fn catch_up(&self, index: &mut Index, files: Option<&AssistantHome>, new: bool) -> Result<()> {
        // Another command may have just made the index; it is then as empty as a new one.
        let empty = self.ledger.read(|tx| index.coverage(tx)).is_ok_and(|c| c.watermark == TurnId(0) && c.missing > 0);
        let until = if new || empty {
            self.build(index)?;
            None
        } else {
            let until = Some(Instant::now() + CATCH_UP);
            index.catch_up(&self.ledger, until, &mut |_| {})?;
            until
        };
        if let Some(at) = files {
            index.catch_up_files(at, until)?;
        }
        Ok(())
    }

    /// Runs `ask` on the index. If the index turns out to be damaged, it is rebuilt and `ask` runs once more (R10.10);
    /// in a home that cannot be written the error is returned instead.
    pub fn asked<T>(&self, files: Option<&AssistantHome>, mut ask: impl FnMut(&mut Index) -> Result<T>) -> Result<T> {
        let mut index = self.caught_up_index(files)?;
        match ask(&mut index) {
            Err(e) if e.kind() == ErrorKind::Damaged && !self.read_only => {
                drop(index);
                let mut index = self.recreate_index(BUSY)?;
                self.catch_up(&mut index, files, true)?;
                ask(&mut index)
            }
            other => other,
        }
    }

    /// Brings the rows of files up to date within the time a verb may wait. Returns the number of changes that are
    /// missing.
    pub fn catch_up_files(&self, index: &mut Index, at: &AssistantHome) -> Result<u64> {
        match self.read_only {
            true => at.read(|tx| index.files_missing(tx, at.agent_no)),
            false => index.catch_up_files(at, Some(Instant::now() + CATCH_UP)),
        }
    }

    /// Removes forgotten words from the index and the logs. If that fails, the listener is notified; the forgetting
    /// itself stands.
    pub fn erase(&self, at: &AssistantHome) {
        let erased = self.ledger.empty_log().and_then(|_| match Path::exists(&self.index_path()?) {
            true => self.index()?.erase_gone_files(at),
            false => Ok(()),
        });
        if let Err(e) = erased {
            self.listener.notice(&Notice::IndexMayRemember(&e));
        }
    }

    /// Brings the rows of every agent's files up to date. Returns the number of files.
    pub fn build_files(&self, index: &mut Index, actor: &str) -> Result<u64> {
        let mut files = 0;
        for (at, _) in self.look_at_all(actor)? {
            index.catch_up_files(&at, None)?;
            files += at.read(|tx| file_table::count(tx, at.agent_no))?;
        }
        Ok(files)
    }

    /// Rebuilds the index from the ledger and the visible files. Nothing is lost, because the index is derived.
    pub fn reindex(&self, actor: &str) -> Result<Reindexed> {
        let started = Instant::now();
        let _lock = self.home.try_lock("import")?;
        let mut index = self.recreate_index(BUSY_FOR_A_NEW_ONE)?;
        let turns = self.build(&mut index)?;
        let files = self.build_files(&mut index, actor)?;
        let seconds = round(started.elapsed().as_secs_f64());
        Ok(Reindexed { turns, files, bytes: index.bytes_on_disk(), seconds })
    }

    /// Makes the index of a memory that was just restored, from its ledger and its files as they are: they are not scanned,
    /// because a scan writes to the ledger, which must stay as it was restored.
    pub fn index_restored(&self, actor: &str) -> Result<()> {
        let mut index = self.index()?;
        self.build_if_behind(&mut index)?;
        for agent in self.agents()? {
            if let Some(at) = self.assistant_as_it_is(&agent, actor)? {
                index.catch_up_files(&at, None)?;
            }
        }
        Ok(())
    }

    /// Indexes the turns the index lacks, if any.
    pub fn build_if_behind(&self, index: &mut Index) -> Result<()> {
        if self.ledger.read(|tx| index.coverage(tx))?.missing > 0 {
            self.build(index)?;
        }
        Ok(())
    }

    /// Indexes every turn of the ledger, with progress. Returns the number of turns that were missing.
    pub fn build(&self, index: &mut Index) -> Result<u64> {
        /// Smallest number of missing turns for which progress is shown; fewer are indexed before a person could read
        /// it.
        const WORTH_SHOWING: u64 = 5_000;
        let missing = self.ledger.read(|tx| index.coverage(tx))?.missing;
        let shown = missing >= WORTH_SHOWING;
        if shown {
            self.listener.progress(Progress::Begin(Task::Indexing, missing));
        }
        let built = index.catch_up(&self.ledger, None, &mut |done| {
            if shown {
                self.listener.progress(Progress::Done(done));
            }
        });
        let built = built.and_then(|_| index.settle());
        if shown {
            self.listener.progress(Progress::End);
        }
        built?;
        Ok(missing)
    }

    /// Returns the number of an agent; `NotFound` if nothing is stored for it.
    pub fn known_agent(&self, agent: &AgentId) -> Result<AgentNo> {
        self.agent_no(agent)?.ok_or_else(|| unknown_agent(agent))
    }
}

/// Returns the error for an agent for which nothing is stored. A surface that hides an agent from a caller returns the
/// same error.
pub fn unknown_agent(agent: &AgentId) -> Error {
    Error::not_found(format!("nothing is stored for the agent {agent}"))
        .hint("see ⟨agent list⟩, or import something with ⟨up⟩")
}

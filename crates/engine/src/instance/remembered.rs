//! Verbs on memories and other visible files that need more than one room.

use super::Instance;
use crate::continuity::scheduled;
use crate::error::Result;
use crate::forget;
use crate::memory::find;
use crate::recall::{self, FileFilter, FilesFound, Query};
use crate::render;
use crate::report::memories::{ForgottenMemories, MemoryHit, MemorySearchReport};
use crate::report::understood::Understood;
use crate::scope::AgentId;
use crate::tree::file_table::{self, Entry, Kind};
use crate::tree::{AssistantHome, scan};

/// Number of memories found by a search before the filter removes those that do not fit.
const CANDIDATES: usize = 200;

impl Instance {
    /// Searches memories that fit `filter`, in an index that was just brought up to date.
    pub fn search_memories(
        &self,
        agent: &AgentId,
        actor: &str,
        query: &str,
        filter: &find::Filter,
        limit: usize,
    ) -> Result<MemorySearchReport> {
        let zone = self.zone(agent);
        let mut understood = Understood::of(query, recall::understand(&self.ledger, agent, query, &zone)?, zone);
        let (mut found, now) = (FilesFound::default(), self.ledger.now());
        if let Some((at, _)) = self.look_at(agent, actor)? {
            let mut index = self.caught_up_index(Some(&at))?;
            let wanted = FileFilter { kinds: vec![Kind::Leaf], limit: CANDIDATES.max(limit), ..FileFilter::default() };
            let allowed = at.read(|tx| find::list(tx, at.agent_no, filter, now))?;
            let mut look = |query: &Query| -> Result<FilesFound> {
                let mut found = recall::search_files(&at, &mut index, query, &wanted)?;
                found.hits.retain(|hit| allowed.iter().any(|e| e.file_no == hit.entry.file_no));
                Ok(found)
            };
            found = look(&understood.query)?;
            // If the query names a wrong time, the search is repeated without the time.
            if found.hits.is_empty()
                && let Some(wider) = understood.widen()
            {
                found = look(&wider)?;
            }
        }
        Ok(MemorySearchReport {
            query: query.to_owned(),
            looked_for: found.looked_for,
            understood,
            hits: found.hits.into_iter().take(limit).map(|hit| MemoryHit::of(hit, now)).collect(),
            too_frequent: found.too_frequent,
            files_not_indexed: found.not_indexed,
        })
    }

    /// Forgets memories: all of them or none. Their text is removed from ledger and index too; the turns they came from
    /// keep it.
    pub fn forget_memories(&self, agent: &AgentId, actor: &str, names: &[String]) -> Result<ForgottenMemories> {
        let at = self.assistant(agent, actor)?;
        let report = {
            let lock = at.lock()?;
            let entries = find::chosen(&lock, names)?;
            let with = forget::leaves(&lock, &entries)?.len();
            ForgottenMemories { forgotten: entries.into_iter().map(|e| e.item).collect(), with }
        };
        self.settle(&at);
        self.erase(&at);
        Ok(report)
    }

    /// Scans the files after a person edited one of them, and renders the pages that show it. Returns whether the file
    /// of `entry` has changed.
    pub fn reread(&self, agent: &AgentId, actor: &str, entry: &Entry) -> Result<bool> {
        let at = self.assistant(agent, actor)?;
        scan::scan(&at)?;
        let now = at.read(|tx| file_table::at(tx, at.agent_no, &entry.path))?;
        let written = now.is_none_or(|now| now.digest != entry.digest);
        if written {
            render::mark_all(&at)?;
            self.settle(&at);
        }
        Ok(written)
    }

    /// Ends runs of scheduled jobs whose process died, and renders the pages that show them. Does nothing in a home
    /// that cannot be written.
    pub fn notice_cut_off(&self, at: &AssistantHome) -> Result<()> {
        if !self.read_only && scheduled::notice_cut_off(at)? > 0 {
            self.settle(at);
        }
        Ok(())
    }
}

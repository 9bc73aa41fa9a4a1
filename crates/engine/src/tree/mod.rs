//! The assistant home: an agent's visible Markdown tree, as files and as rows of the ledger about them. Storey 1.
//!
//! The files are authoritative; the rows of [`file_table`] follow them, including edits by hand ([`scan`]). Files are
//! changed only while holding the [`TreeLock`]: one process at a time, unfinished acts completed first, and every act
//! in three steps ([`journal`]). [`bootstrap`] writes the initial files once.
//!
//! This room knows the kinds of files and their paths; it does not know what a loop or a memory means.

pub mod address;
pub mod adopt;
pub mod bootstrap;
pub mod file_table;
pub mod journal;
pub mod provenance;
pub mod restore;
pub mod revise;
pub mod scan;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::civil::Date;
use std::path::Path;

use jiff::tz::TimeZone;
use rusqlite::{OptionalExtension, params};

use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::home::{Home, HomeLock, RelPath, Rooted, layout};
use crate::ledger::agents;
use crate::ledger::{Audit, Ledger, Read, Write};
use crate::scope::{AgentId, AgentNo};

/// An agent's assistant home, opened.
pub struct AssistantHome<'a> {
    home: &'a Home,
    /// Folder of the tree.
    pub files: Rooted,
    pub ledger: &'a Ledger,
    pub agent: AgentId,
    pub agent_no: AgentNo,
    /// The actor named in the audit, such as `cli loop`.
    pub actor: String,
    /// The operator's time zone, which decides the day of a moment.
    pub zone: TimeZone,
    /// Digest of the settings of the language model; `None`: none is chosen.
    pub model: Option<[u8; 16]>,
}

/// The exclusive right to change the files of an agent, held until dropped. When it is granted, unfinished acts have
/// been completed and the file table is up to date.
pub struct TreeLock<'a> {
    pub at: &'a AssistantHome<'a>,
    lock: HomeLock,
    /// Problems with files found by the scan.
    pub problems: Vec<Problem>,
}

impl<'a> AssistantHome<'a> {
    /// Opens the tree of an agent. `None`: the agent has no tree yet.
    pub fn open(
        home: &'a Home,
        ledger: &'a Ledger,
        agent: &AgentId,
        agent_no: AgentNo,
        actor: &str,
        zone: TimeZone,
    ) -> Result<Option<AssistantHome<'a>>> {
        let opened = match ledger.read(|tx| agents::root(tx, agent_no))? {
            Some(root) => {
                // A tree that cannot be reached, such as one on an unmounted disk, must not be taken for an empty one.
                home.open_elsewhere(&root).map_err(|e| match e.kind() {
                    ErrorKind::NotFound => {
                        Error::refused(format!("{}, which has the pages of {agent}, is not there", root.display()))
                            .hint("bring it back, or use the pages in the home again: ⟨agent adopt --undo⟩")
                    }
                    _ => e,
                })
            }
            None => home.open_dir(&layout::assistant_home(agent)),
        };
        let files = match opened {
            Ok(files) => files,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        // The time zone set by the operator takes precedence over the machine's.
        let configured: Option<String> = ledger.read(|tx| {
            Ok(tx
                .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = 'timezone'")?
                .query_row([agent_no], |r| r.get(0))
                .optional()?)
        })?;
        let zone = configured.and_then(|name| crate::zone::named(&name)).unwrap_or(zone);
        let (agent, actor) = (agent.clone(), actor.to_owned());
        Ok(Some(AssistantHome { home, files, ledger, agent, agent_no, actor, zone, model: None }))
    }

    /// Opens the tree; creates it with its initial files if it does not exist.
    pub fn create(
        home: &'a Home,
        ledger: &'a Ledger,
        agent: &AgentId,
        agent_no: AgentNo,
        actor: &str,
        zone: TimeZone,
    ) -> Result<AssistantHome<'a>> {
        if let Some(opened) = AssistantHome::open(home, ledger, agent, agent_no, actor, zone.clone())? {
            bootstrap::furnish(&opened)?;
            return Ok(opened);
        }
        let tree = layout::assistant_home(agent);
        home.create_dir_all(&tree)?;
        let opened = AssistantHome::open(home, ledger, agent, agent_no, actor, zone)?
            .ok_or_else(|| Error::not_found(format!("the assistant home of {agent} is gone")))?;
        bootstrap::furnish(&opened).inspect_err(|_| drop(home.remove_empty_dir(&tree)))?;
        Ok(opened)
    }

    /// Takes the lock, after waiting for the process that holds it, completes unfinished acts, and scans the files.
    pub fn lock(&'a self) -> Result<TreeLock<'a>> {
        let lock = self.home.lock(&self.lock_name())?;
        self.locked(lock, true)
    }

    /// Takes the lock like [`AssistantHome::lock`], for a caller that has just scanned the files: they are not scanned
    /// again.
    pub fn lock_unscanned(&'a self) -> Result<TreeLock<'a>> {
        let lock = self.home.lock(&self.lock_name())?;
        self.locked(lock, false)
    }

    /// Takes the lock like [`AssistantHome::lock`], if no other process holds it.
    pub fn try_lock(&'a self) -> Result<Option<TreeLock<'a>>> {
        let Some(lock) = self.home.try_lock(&self.lock_name())? else { return Ok(None) };
        Ok(Some(self.locked(lock, true)?))
    }

    fn locked(&'a self, lock: HomeLock, look: bool) -> Result<TreeLock<'a>> {
        let look = look || lock.was_abandoned() || self.read(|tx| journal::is_unfinished(tx, self.agent_no))?;
        if lock.was_abandoned() {
            // A process that wrote here was killed and left temporary files. Failing to remove them does not prevent
            // work.
            let _ = self.files.remove_abandoned(Millis::MAX, &mut |dir, bytes| self.rescue(dir, bytes));
        }
        let problems = if look { scan::scan(self)?.problems } else { Vec::new() };
        let lock = TreeLock { at: self, lock, problems };
        journal::recover(&lock)?;
        Ok(lock)
    }

    /// Takes the lock like [`AssistantHome::lock`], but waits for at most `patience`. `None`: the lock was not free in
    /// time.
    pub fn lock_within(&'a self, patience: Duration) -> Result<Option<TreeLock<'a>>> {
        let until = Instant::now() + patience;
        loop {
            match self.try_lock()? {
                None if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
                found => return Ok(found),
            }
        }
    }

    /// Removes temporary files older than an hour, as far as the lock is free: commands that were killed left them, and
    /// the next command did not find the lock abandoned. Returns how many.
    pub fn remove_leftovers(&'a self, now: Millis) -> Result<usize> {
        // Almost always there are none, and the lock would be taken in vain.
        if self.files.temporaries().is_empty() {
            return Ok(0);
        }
        match self.try_lock()? {
            Some(_lock) => self.files.remove_abandoned(now, &mut |dir, bytes| self.rescue(dir, bytes)),
            None => Ok(0),
        }
    }

    /// Returns the home the tree belongs to.
    pub fn home(&self) -> &'a Home {
        self.home
    }

    /// Returns the day of a moment in the operator's time zone.
    pub fn day_of(&self, moment: Millis) -> Option<Date> {
        Some(Timestamp::from_millisecond(moment).ok()?.to_zoned(self.zone.clone()).date())
    }

    /// Returns the days of these moments in the operator's time zone.
    pub fn days_of(&self, moments: impl IntoIterator<Item = Millis>) -> BTreeSet<Date> {
        moments.into_iter().filter_map(|moment| self.day_of(moment)).collect()
    }

    /// Stores the contents of a dead process's temporary file as a revision, unless a file or a revision already has
    /// them: if the process died while exchanging files, the temporary file may be the only copy of text a person had
    /// just saved.
    fn rescue(&self, dir: &Path, bytes: &[u8]) -> Result<()> {
        let digest = crate::home::digest(bytes);
        let known = self.read(|tx| {
            Ok(tx
                .prepare_cached(
                    "SELECT 1 FROM catalogue WHERE agent_no = ?1 AND (digest = ?2 OR published = ?2) LIMIT 1",
                )?
                .exists(params![self.agent_no, digest.as_slice()])?)
        })?;
        if known {
            return Ok(());
        }
        let below = dir.strip_prefix(self.files.shown()).ok().and_then(Path::to_str).unwrap_or_default();
        let name = format!("found-{}.md", &journal::hex(&digest)[..8]);
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        self.keep_revision(&RelPath::parse(&path)?, bytes, "found under a temporary name after a command was killed")
    }

    /// Writes to the ledger as this agent's actor.
    pub fn write<T>(&self, action: &'static str, f: impl FnOnce(&mut Write) -> Result<T>) -> Result<T> {
        self.ledger.write(Audit::new(&self.actor, action).of_agent(self.agent_no), f)
    }

    pub fn read<T>(&self, f: impl FnOnce(&Read) -> Result<T>) -> Result<T> {
        self.ledger.read(f)
    }

    fn lock_name(&self) -> String {
        format!("files-{}", self.agent)
    }
}

/// The largest file that is read, in bytes; larger ones are not notes.
pub const LARGEST_FILE: u64 = 8 << 20;

/// Parses a path of the tree that is known to be well-formed.
pub fn path(text: &str) -> Result<RelPath> {
    RelPath::parse(text)
}

//! An opened home: its files, ledger, index, outside programs and settings, and everything that has to happen around a
//! verb. Storey 5.
//!
//! [`opening`](Instance::open) makes or opens the home, stores what hooks left in the spool and finishes an interrupted
//! `forget`. [`pages`] keeps the visible files and the ledger's table of them in step; [`indexes`] does the same for
//! the search index; [`distilling`] summarises stored sessions, [`summarising`] asks a language model for better
//! summaries, [`judging`] rates importance, [`evolving`] finds what sessions teach about their projects. Verbs that
//! call more than one room have their files here: [`importing`], [`appending`], [`hooking`], [`searching`],
//! [`recalling`], [`contexts`], [`sessions`], [`remembered`], [`reviewing`], [`compacting`], [`working`], [`status`],
//! [`verifying`], [`forgetting`].
//!
//! Prints nothing and asks nobody: notices for a person go to the caller's [`Listener`]. The door in front of all this
//! is [`Engine`](crate::engine::Engine).

mod appending;
mod asking;
mod backup;
mod compacting;
mod contexts;
mod distilling;
mod evolving;
mod exporting;
mod forgetting;
mod hooking;
mod importing;
mod indexes;
mod judging;
mod learning;
mod listener;
mod opening;
mod pages;
mod projects;
mod recalling;
mod remembered;
mod reviewing;
mod searching;
mod sessions;
mod settings;
mod status;
mod summarising;
mod verifying;
mod working;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use jiff::tz::TimeZone;

use crate::budget::Budgeted;
use crate::error::{Error, Result};
use crate::home::{Home, layout};
use crate::index::{Embedder, Index};
use crate::ledger::{Audit, Ledger};
use crate::model::Model;
use crate::profile;
use crate::program::Program;
use crate::scope::{AgentId, AgentNo, SessionKey};
use crate::transcript::{read, workspaces};
use crate::verify::anchor;
use crate::zone;

pub use appending::{Appending, LONGEST_LINE};
pub use backup::{Pack, Rotation, put_back};
pub use contexts::ContextRequest;
pub use exporting::{import_export, is_export};
pub use importing::Source;
pub use indexes::{Lent, unknown_agent};
pub use listener::{Listener, Notice, Progress, Silent, Task};
pub use opening::{How, Options};
pub use pages::LostTree;
pub use projects::label_of;
pub use recalling::RecallRequest;
pub use reviewing::{Decision, Verdict};
pub use searching::SearchRequest;
pub use settings::{Embeddings, LanguageModel, Settings, Wrong};

/// An opened home. `Send + Sync`: the ledger has one writer and a few readers, and each thread that needs the index takes
/// one from a pool.
pub struct Instance {
    pub(crate) home: Home,
    pub(crate) ledger: Ledger,
    pub(crate) settings: Settings,
    pub(crate) programs: Vec<Arc<dyn Program>>,
    pub(crate) listener: Arc<dyn Listener>,
    /// Whether the home cannot be written, so that nothing is stored and nothing is brought up to date.
    pub(crate) read_only: bool,
    /// Whether dropping this instance records the end of the audit chain.
    notes_the_end: bool,
    /// Indexes that are not in use.
    idle: Mutex<Vec<Index>>,
    /// Shared with the one index that is mapped.
    mapped: Arc<()>,
    /// Time of the last scan of each agent's visible files.
    scans: Mutex<HashMap<AgentNo, Instant>>,
    /// The embedding model, once it was asked for, or the error of loading it.
    model: OnceLock<Result<Arc<dyn Embedder>>>,
    /// The language model, once it was asked for, or the error of loading it.
    language_model: OnceLock<Result<Arc<dyn Model>>>,
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A hook has no time to record the end; the next command that writes records it including the hook's rows.
        if self.notes_the_end && self.ledger.has_written() {
            let _ = anchor::put(&self.home, &self.ledger);
        }
    }
}

impl Instance {
    /// Returns the program with this name, if the engine was opened with it.
    pub fn program(&self, name: &str) -> Option<&dyn Program> {
        self.programs.iter().find(|p| p.name() == name).map(AsRef::as_ref)
    }

    /// Returns the display name of a session's program.
    pub fn program_title(&self, session: &SessionKey) -> &'static str {
        self.program(session.harness()).map_or("unknown program", Program::title)
    }

    /// Returns the number of an agent; `None` if nothing is stored for it yet.
    pub fn agent_no(&self, agent: &AgentId) -> Result<Option<AgentNo>> {
        self.ledger.read(|tx| read::agent_no(tx, agent))
    }

    /// Returns the number of an agent and adds the agent if it is new.
    pub fn ensure_agent(&self, agent: &AgentId, actor: &str) -> Result<AgentNo> {
        match self.agent_no(agent)? {
            Some(no) => Ok(no),
            None => self.ledger.write(Audit::new(actor, "agent.add"), |tx| {
                tx.note("agent", agent.as_str());
                read::ensure_agent(tx, agent)
            }),
        }
    }

    /// Returns every agent of the home.
    pub fn agents(&self) -> Result<Vec<AgentId>> {
        self.ledger.read(workspaces::agents)?.iter().map(|row| AgentId::parse(&row.agent)).collect()
    }

    /// Returns the time zone of an agent's days: the one in the operator's profile, else the machine's.
    pub fn zone(&self, agent: &AgentId) -> TimeZone {
        let said = self.ledger.read(|tx| match read::agent_no(tx, agent)? {
            Some(no) => profile::get(tx, no, "timezone"),
            None => Ok(None),
        });
        // If the profile cannot be read, another verb reports that; here the machine's zone is used.
        let said = said.ok().flatten().and_then(|name| zone::named(&name));
        said.unwrap_or_else(|| self.settings.zone.clone())
    }

    /// Returns the language model of the settings with its budget; calls are recorded under `actor`. `None` if the
    /// settings name none.
    pub fn language_model(&self, agent: &AgentId, actor: &str) -> Option<Result<Budgeted<'_>>> {
        let wanted = self.settings.model.as_ref()?;
        Some(match self.language_model.get_or_init(|| (wanted.load)()) {
            Ok(model) => Ok(Budgeted {
                model: model.as_ref(),
                ledger: &self.ledger,
                budget: wanted.budget,
                zone: self.zone(agent),
                settings: wanted.digest,
                actor: actor.to_owned(),
                backlog: false,
            }),
            Err(e) => Err(again(e)),
        })
    }

    /// Returns the folder for temporary files, which live as long as one command.
    pub fn scratch(&self) -> Result<PathBuf> {
        Ok(self.home.open_dir(&layout::SCRATCH)?.shown().to_owned())
    }

    /// Returns the error for a change to a home that cannot be written.
    fn cannot_be_written(&self) -> Error {
        Error::refused(format!("{} cannot be written; nothing was changed", self.home.root().display()))
            .hint("check its owner, its permissions and whether its file system is mounted read-only")
    }
}

/// Copies an error, so that a stored one can be returned each time.
fn again(error: &Error) -> Error {
    let same = Error::new(error.kind(), error.to_string());
    match error.next_step() {
        Some(next) => same.hint(next),
        None => same,
    }
}

//! A home as it is worked with: its files, its ledger, its index, the outside programs and the settings, opened together,
//! and everything that has to happen around a verb. Storey 5.
//!
//! [`opening`](Instance::open) makes or opens the home, stores what hooks left in the spool and finishes what was
//! forgotten half-way. [`pages`] keeps the visible files and the ledger's table of them in step; [`indexes`] does so for
//! the search index; [`distilling`] makes summaries of what was stored. The verbs that do more than call one room have
//! their files here: [`importing`], [`appending`], [`hooking`], [`searching`], [`recalling`], [`contexts`], [`sessions`],
//! [`remembered`], [`reviewing`], [`compacting`], [`working`], [`status`], [`verifying`], [`forgetting`].
//!
//! Prints nothing and asks nobody: what a caller may want to tell a person goes to its [`Listener`]. The door in front
//! of all this is [`Engine`](crate::engine::Engine).

mod appending;
mod backing_up;
mod compacting;
mod contexts;
mod distilling;
mod forgetting;
mod hooking;
mod importing;
mod indexes;
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
mod verifying;
mod working;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::home::{Home, layout};
use crate::index::{Embedder, Index};
use crate::ledger::{Audit, Ledger};
use crate::profile;
use crate::program::Program;
use crate::scope::{AgentId, AgentNo, SessionKey};
use crate::transcript::read;
use crate::verify::anchor;
use crate::zone;

pub use appending::{Appending, LONGEST_LINE};
pub use backing_up::put_back;
pub use contexts::ContextRequest;
pub use importing::Source;
pub use indexes::{Lent, unknown_agent};
pub use listener::{Listener, Notice, Progress, Silent, Task};
pub use opening::{How, Options};
pub use projects::label_of;
pub use recalling::RecallRequest;
pub use reviewing::{Decision, Verdict};
pub use searching::SearchRequest;
pub use settings::{Embeddings, Settings, Wrong};

/// An opened home. `Send + Sync`: the ledger has one writer and a few readers, and each thread that needs the index takes
/// one from a pool.
pub struct Instance {
    pub(crate) home: Home,
    pub(crate) ledger: Ledger,
    pub(crate) settings: Settings,
    pub(crate) programs: Vec<Arc<dyn Program>>,
    pub(crate) listener: Arc<dyn Listener>,
    /// The home cannot be written: nothing is stored and nothing is brought up to date.
    pub(crate) read_only: bool,
    /// Whether the end of the audit chain is noted when this is dropped.
    notes_the_end: bool,
    /// Indexes that nobody uses at the moment.
    idle: Mutex<Vec<Index>>,
    /// The model that places texts in space, once it was asked for; or why there is none.
    model: OnceLock<Result<Arc<dyn Embedder>>>,
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A hook has no time for it; whoever comes next notes what it wrote, too.
        if self.notes_the_end && self.ledger.has_written() {
            let _ = anchor::put(&self.home, &self.ledger);
        }
    }
}

impl Instance {
    /// The program of that name, if the engine was opened with it.
    pub fn program(&self, name: &str) -> Option<&dyn Program> {
        self.programs.iter().find(|p| p.name() == name).map(AsRef::as_ref)
    }

    /// People's name of a session's program.
    pub fn program_title(&self, session: &SessionKey) -> &'static str {
        self.program(session.harness()).map_or("unknown program", Program::title)
    }

    /// The number of an agent. `None`: nothing is stored for it yet.
    pub fn agent_no(&self, agent: &AgentId) -> Result<Option<AgentNo>> {
        self.ledger.read(|tx| read::agent_no(tx, agent))
    }

    /// The number of an agent, which is added where it is new.
    pub fn ensure_agent(&self, agent: &AgentId, actor: &str) -> Result<AgentNo> {
        match self.agent_no(agent)? {
            Some(no) => Ok(no),
            None => self.ledger.write(Audit::new(actor, "agent.add"), |tx| {
                tx.note("agent", agent.as_str());
                read::ensure_agent(tx, agent)
            }),
        }
    }

    /// Every agent there is.
    pub fn agents(&self) -> Result<Vec<AgentId>> {
        self.ledger.read(read::agents)?.iter().map(|row| AgentId::parse(&row.agent)).collect()
    }

    /// Where an agent's days are: what the operator said, else the machine's zone.
    pub fn zone(&self, agent: &AgentId) -> TimeZone {
        let said = self.ledger.read(|tx| match read::agent_no(tx, agent)? {
            Some(no) => profile::get(tx, no, "timezone"),
            None => Ok(None),
        });
        // A ledger whose profile cannot be read is an error of another verb.
        let said = said.ok().flatten().and_then(|name| zone::named(&name));
        said.unwrap_or_else(|| self.settings.zone.clone())
    }

    /// The folder for files that live as long as one command.
    pub fn scratch(&self) -> Result<PathBuf> {
        Ok(self.home.open_dir(&layout::SCRATCH)?.shown().to_owned())
    }

    /// The error of a change to a home that cannot be written.
    fn cannot_be_written(&self) -> Error {
        Error::refused(format!("{} cannot be written; nothing was changed", self.home.root().display()))
            .hint("check its owner, its permissions and whether its file system is mounted read-only")
    }
}

//! The door: one owned value, opened once, with the verbs of a memory. Storey 5.
//!
//! A command, a hook, a service, a test or another program opens an [`Engine`] and asks it for things. What must surround
//! a verb (the spool of the hooks, acts a crash left unfinished, hand edits in files, an index that is behind, pages that
//! show a change) happens inside. The engine is `Send + Sync` and cheap to clone: clones share the opened home, and each
//! acts for one agent in one name.
//!
//! ```
//! # fn main() -> heirloom_engine::error::Result<()> {
//! use heirloom_engine::engine::{Engine, How, Options};
//!
//! # let folder = std::env::temp_dir().join(format!("heirloom-door-{}", std::process::id()));
//! let engine = Engine::open(&folder, How::Create, Options::default())?;
//! assert_eq!(engine.agent().as_str(), "main");
//! # drop(engine);
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! Does no work itself: each verb is a few lines that call one room. A new verb is a function in a room first.

mod acts;
mod look;
mod upkeep;

use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::clock::Millis;
use crate::continuity::{Item, open_loop};
use crate::error::{Problem, Result};
use crate::forget::Wish;
use crate::home::Home;
use crate::inject::{self, ContextId};
use crate::instance::{Appending, Instance};
use crate::ledger::{Audit, Ledger, Read, Write, audit};
use crate::lifecycle::HookOutcome;
use crate::memory::{self, NewLeaf};
use crate::program::HookCall;
use crate::recall::{Reach, Reference};
use crate::render::unfiled;
use crate::report::Of;
use crate::report::compact::CompactReport;
use crate::report::contexts::{ContextReport, ContextsReport, ReplayReport};
use crate::report::expanded::ExpandReport;
use crate::report::forget::ForgetReport;
use crate::report::import::Imported;
use crate::report::items::{EntryReport, LoopsReport, UnfiledReport};
use crate::report::memories::{ForgottenMemories, RememberedReport};
use crate::report::model::{LanguageModelReport, ModelPreview, ModelTrial};
use crate::report::recalled::RecallReport;
use crate::report::review::{DecisionsReport, InboxReport, ReviewReport};
use crate::report::search::SearchReport;
use crate::report::sessions::{SessionDetails, SessionsReport};
use crate::report::status::StatusReport;
use crate::report::understood::Understood;
use crate::report::upkeep::Worked;
use crate::report::verify::VerifyReport;
use crate::scope::{AgentId, AgentNo};
use crate::transcript::read::{self, SessionFilter};
use crate::tree::{AssistantHome, TreeLock};

pub use acts::MemoryAct;

pub use crate::instance::{
    ContextRequest, Decision, Embeddings, How, LanguageModel, Listener, Notice, Options, Pack, Progress, RecallRequest,
    Rotation, SearchRequest, Settings, Silent, Source, Task, Verdict, Wrong, import_export, is_export, put_back,
    unknown_agent,
};

/// A memory, opened, acting for one agent.
#[derive(Clone)]
pub struct Engine {
    instance: Arc<Instance>,
    agent: AgentId,
    /// In whose name: what the audit says of each change.
    actor: Arc<str>,
}

impl Engine {
    /// Opens the home at `root`. Errors as [`Instance::open`].
    pub fn open(root: &Path, how: How, options: Options) -> Result<Engine> {
        let instance = Instance::open(root, how, options)?;
        let agent = instance.settings.agent.clone();
        Ok(Engine { instance: Arc::new(instance), agent, actor: "library".into() })
    }

    /// The same memory, acting for another agent.
    pub fn for_agent(&self, agent: AgentId) -> Engine {
        Engine { agent, ..self.clone() }
    }

    /// The same memory, acting in this name: `cli search`.
    pub fn acting_as(&self, actor: &str) -> Engine {
        Engine { actor: actor.into(), ..self.clone() }
    }

    /// Whom it acts for.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// The number of the agent. `NotFound` where nothing is stored for it.
    pub fn agent_no(&self) -> Result<AgentNo> {
        self.instance.known_agent(&self.agent)
    }

    /// In whose name it acts.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// The opened home.
    pub fn home(&self) -> &Home {
        &self.instance.home
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.instance.ledger
    }

    /// The time of the engine's clock.
    pub fn now(&self) -> Millis {
        self.instance.ledger.now()
    }

    /// The home cannot be written: nothing is stored and nothing brought up to date.
    pub fn is_read_only(&self) -> bool {
        self.instance.read_only
    }

    /// Runs `f` on one consistent view of the ledger.
    pub fn read<T>(&self, f: impl FnOnce(&Read) -> Result<T>) -> Result<T> {
        self.instance.ledger.read(f)
    }

    /// Runs `f` in one write transaction with one audit row. An error undoes all of it.
    pub fn write<T>(&self, action: &'static str, f: impl FnOnce(&mut Write) -> Result<T>) -> Result<T> {
        self.instance.ledger.write(Audit::new(&self.actor, action), f)
    }

    /// The agent's visible files, with hand edits read and pages up to date, and what is wrong with files. `None` where
    /// there are none yet.
    pub fn look(&self) -> Result<Option<(AssistantHome<'_>, Vec<Problem>)>> {
        self.instance.look_at(&self.agent, &self.actor)
    }

    /// Changes visible files: `act` runs under the agent's tree lock, and pages that show the change are rendered
    /// afterwards. Files are made where there are none yet.
    pub fn act<T>(&self, act: impl FnOnce(&TreeLock) -> Result<T>) -> Result<T> {
        self.act_unlocked(|at| act(&at.lock()?))
    }

    /// Changes rows of the ledger that pages show: as [`Engine::act`], without the tree lock.
    pub fn act_unlocked<T>(&self, act: impl FnOnce(&AssistantHome) -> Result<T>) -> Result<T> {
        let at = self.instance.assistant(&self.agent, &self.actor)?;
        let out = act(&at)?;
        self.instance.settle(&at);
        Ok(out)
    }

    /// Changes the ledger where pages show it: one write transaction with one audit row, then the pages. An agent that is
    /// not known does not come into being.
    pub fn change<T>(&self, action: &'static str, f: impl FnOnce(&mut Write, AgentNo) -> Result<T>) -> Result<T> {
        let agent_no = self.agent_no()?;
        self.act_unlocked(|at| at.write(action, |tx| f(tx, agent_no)))
    }

    /// Reads session stores: see [`Instance::import`].
    pub fn import(&self, sources: &[Source]) -> Result<Imported> {
        self.instance.import(&self.agent, &self.actor, sources)
    }

    /// Takes live lines of one program: see [`Instance::append`].
    pub fn append<T>(&self, program: &str, pages: bool, feed: impl FnOnce(&mut Appending) -> Result<T>) -> Result<T> {
        self.instance.append(&self.agent, &self.actor, program, pages, feed)
    }

    /// Does what a program's hook calls for, and says what the program is given: see [`Instance::hook`].
    pub fn hook(&self, call: &HookCall) -> Result<HookOutcome> {
        self.instance.hook(&self.agent, call, &format!("hook {}", call.program))
    }

    /// Does everything that is due now: jobs, summaries, pages, rows of the index.
    pub fn work(&self) -> Result<Worked> {
        self.instance.work(&self.agent, &self.actor)
    }

    /// Finds turns and visible files again, asked for by name.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchReport> {
        self.instance.search(&self.agent, &self.actor, request)
    }

    /// Lets one handoff take the place of what was said in a session: see [`Instance::compact`].
    pub fn compact(&self, session: &str, until: Option<&str>, dry_run: bool) -> Result<CompactReport> {
        self.instance.compact(&self.agent, &self.actor, session, until, dry_run)
    }

    /// What is stored, how big, what is pending, what is wrong.
    pub fn status(&self) -> Result<StatusReport> {
        self.instance.status(&self.agent, &self.actor)
    }

    /// A person has seen this report: what is said once is not said again.
    pub fn told(&self, report: &StatusReport) -> Result<()> {
        self.instance.told(&self.agent, &self.actor, report)
    }

    /// Which language model there is, what it used today, and whether it is asked now. `None`: the settings name none.
    pub fn language_model(&self) -> Result<Option<LanguageModelReport>> {
        self.instance.language_model_report(&self.agent, &self.actor)
    }

    /// What a language model would be asked here, and how much that is in a day: see [`Instance::model_preview`].
    pub fn model_preview(&self) -> Result<ModelPreview> {
        self.instance.model_preview(&self.agent, &self.actor)
    }

    /// Asks the language model something small: see [`Instance::try_model`].
    pub fn try_model(&self) -> Result<ModelTrial> {
        self.instance.try_model(&self.agent, &self.actor)
    }

    /// Recomputes every digest, chain and reference, with progress, and repairs nothing.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.instance.verify(&self.agent, &self.actor, false)
    }

    /// [`Engine::verify`] with the vectors of every turn made again, where otherwise some are.
    pub fn verify_in_full(&self) -> Result<VerifyReport> {
        self.instance.verify(&self.agent, &self.actor, true)
    }

    /// Forgets what was said, if `agree` says yes to what would go: see [`Instance::forget`].
    pub fn forget(&self, wish: Wish, agree: impl FnOnce(&ForgetReport) -> Result<bool>) -> Result<ForgetReport> {
        self.instance.forget(&self.agent, &self.actor, wish, agree)
    }

    /// How a query of the agent's is understood, without asking it.
    pub fn understand(&self, query: &str) -> Result<Understood> {
        self.instance.understand(&self.agent, query)
    }

    /// Chooses what answers a question: memory and open loops first, then summaries, then the words themselves.
    pub fn recall(&self, request: &RecallRequest) -> Result<RecallReport> {
        self.instance.recall(&self.agent, &self.actor, request)
    }

    /// What a reference stands for, what is above, below and around it, and its words.
    pub fn expand(&self, reference: &Reference, reach: &Reach) -> Result<ExpandReport> {
        self.instance.expand(&self.agent, &self.actor, reference, reach)
    }

    /// What a program is given at the beginning of a session, with a prompt, or after a compaction: see
    /// [`Instance::context`].
    pub fn context(&self, request: &ContextRequest) -> Result<ContextReport> {
        self.instance.context(&self.agent, &self.actor, request)
    }

    /// A context that was given, word for word.
    pub fn replay(&self, id: ContextId) -> Result<ReplayReport> {
        let agent_no = self.agent_no()?;
        Ok(ReplayReport::of(self.agent.as_str(), &self.read(|tx| inject::replay(tx, agent_no, id))?))
    }

    /// What was given, newest first; `session`: only to this one; `before`: only what was given before that.
    pub fn contexts(&self, session: Option<&str>, before: Option<ContextId>, limit: usize) -> Result<ContextsReport> {
        let agent_no = self.agent_no()?;
        let given = self.read(|tx| {
            let key = session.map(|name| read::session_key(tx, agent_no, name)).transpose()?;
            inject::list(tx, agent_no, key.as_ref(), before, limit)
        })?;
        let agent_id = self.agent.as_str();
        let contexts = given.into_iter().map(|what| Of { agent_id: agent_id.to_owned(), what }).collect();
        Ok(ContextsReport { agent_id: agent_id.to_owned(), contexts })
    }

    /// Sessions, newest first.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<SessionsReport> {
        self.instance.sessions(&self.agent, filter)
    }

    /// What is stored of one session, by its key or the beginning of it.
    pub fn session(&self, name: &str) -> Result<SessionDetails> {
        self.instance.session(&self.agent, name)
    }

    /// Remembers something for good. What is known already is not written again; another text about the same subject
    /// takes the older one's place.
    pub fn remember(&self, new: &NewLeaf) -> Result<RememberedReport> {
        Ok(RememberedReport { items: vec![self.act(|lock| memory::add(lock, new))?] })
    }

    /// Forgets memories; all of them or none. The conversations they came from keep the words.
    pub fn forget_memories(&self, names: &[String]) -> Result<ForgottenMemories> {
        self.instance.forget_memories(&self.agent, &self.actor, names)
    }

    /// Does what a person decided about proposed memory or about something noticed.
    pub fn review(&self, verdict: &Verdict) -> Result<ReviewReport> {
        self.instance.review(&self.agent, &self.actor, verdict)
    }

    /// Everything that waits for a person's yes: proposals, what was noticed or asked to be remembered, memories that
    /// contradict each other, words kept aside.
    pub fn inbox(&self) -> Result<InboxReport> {
        self.instance.inbox(&self.agent, &self.actor)
    }

    /// Decides about what waits, item by item; what could not be decided is in the report with its reason.
    pub fn decide(&self, decision: &Decision) -> Result<DecisionsReport> {
        self.instance.decide(&self.agent, &self.actor, decision)
    }

    /// Open loops, newest first, or those that were resolved: at most `limit`, of one scope where it is named.
    pub fn loops(&self, resolved: bool, scope: Option<&str>, limit: usize) -> Result<LoopsReport> {
        let (entries, mut unfiled) = self.looked(|at| {
            at.read(|tx| {
                let unfiled = if resolved { Vec::new() } else { unfiled::unfiled(at, tx)? };
                Ok((open_loop::list(tx, at.agent_no, resolved, scope)?, unfiled))
            })
        })?;
        unfiled.retain(|u| scope.is_none_or(|scope| u.scope() == scope));
        let all = entries.len() + unfiled.len();
        let loops = EntryReport::first(entries, limit);
        unfiled.truncate(limit - loops.len());
        Ok(LoopsReport { all, loops, unfiled: unfiled.into_iter().map(UnfiledReport::from).collect() })
    }

    /// An open item without a file, by its id.
    pub fn unfiled_loop(&self, name: &str) -> Result<Option<UnfiledReport>> {
        self.looked(|at| at.read(|tx| Ok(unfiled::find(at, tx, name)?.map(UnfiledReport::from))))
    }

    /// Closes open loops, and open items without a file, by their ids, titles or files: all of them or none.
    pub fn resolve_loops(&self, names: &[String], how: Option<&str>) -> Result<Vec<Item>> {
        self.act(|lock| {
            let unfiled =
                |name: &str| lock.at.read(|tx| Ok(unfiled::find(lock.at, tx, name)?.map(|found| found.file())));
            open_loop::resolve_any(lock, names, how, &unfiled)
        })
    }

    /// The number of the newest row of the audit: it grows with every write, whoever makes it. 0: nothing was written.
    pub fn newest_change(&self) -> Result<u64> {
        self.read(audit::newest)
    }

    /// Where the agent's days are: what the operator said, else the machine's zone.
    pub fn zone(&self) -> TimeZone {
        self.instance.zone(&self.agent)
    }

    /// The id of a project, by its id, label or path (`.`: the current folder).
    pub fn workspace_id(&self, name: &str) -> Result<String> {
        self.instance.workspace_id(&self.agent, name)
    }
}

//! The door: one owned value, opened once, with the verbs of a memory. Storey 5.
//!
//! A command, a hook, a service, a test or another program opens an [`Engine`] and calls its verbs. What must surround
//! a verb (storing the hooks' spool, finishing acts after a crash, reading hand edits in files, updating the index,
//! rendering pages that show a change) happens inside. The engine is `Send + Sync` and cheap to clone: clones share the
//! opened home, and each clone acts for one agent under one actor's name.
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
//! The engine does no work itself: each verb is a few lines that call one room. A new verb is first written as a
//! function in a room.

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
use crate::instance::{Appending, Instance, LostTree};
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

/// An opened memory that acts for one agent.
#[derive(Clone)]
pub struct Engine {
    instance: Arc<Instance>,
    agent: AgentId,
    /// Name that the audit records for each change.
    actor: Arc<str>,
}

impl Engine {
    /// Opens the home at `root`. Errors as [`Instance::open`].
    pub fn open(root: &Path, how: How, options: Options) -> Result<Engine> {
        let instance = Instance::open(root, how, options)?;
        let agent = instance.settings.agent.clone();
        Ok(Engine { instance: Arc::new(instance), agent, actor: "library".into() })
    }

    /// Returns the same memory, acting for another agent.
    pub fn for_agent(&self, agent: AgentId) -> Engine {
        Engine { agent, ..self.clone() }
    }

    /// Returns the same memory, acting under another name, such as `cli search`.
    pub fn acting_as(&self, actor: &str) -> Engine {
        Engine { actor: actor.into(), ..self.clone() }
    }

    /// Returns the agent that this engine acts for.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Returns the number of the agent. `NotFound` if nothing is stored for it.
    pub fn agent_no(&self) -> Result<AgentNo> {
        self.instance.known_agent(&self.agent)
    }

    /// Returns the name that the audit records for changes.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Returns the opened home.
    pub fn home(&self) -> &Home {
        &self.instance.home
    }

    /// Returns the ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.instance.ledger
    }

    /// Returns the time of the engine's clock.
    pub fn now(&self) -> Millis {
        self.instance.ledger.now()
    }

    /// Whether the home cannot be written, so that nothing is stored and nothing is brought up to date.
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

    /// Returns the agent's visible files after reading hand edits and rendering pages, with the problems found in
    /// files. `None` if there are no files yet.
    pub fn look(&self) -> Result<Option<(AssistantHome<'_>, Vec<Problem>)>> {
        self.instance.look_at(&self.agent, &self.actor)
    }

    /// Returns what the agent has lost if the folder of its files is gone.
    pub fn lost_tree(&self) -> Result<Option<LostTree>> {
        self.instance.lost_tree(&self.agent, &self.actor)
    }

    /// Changes visible files: runs `act` under the agent's tree lock and renders the pages that show the change.
    /// Missing visible files are created.
    pub fn act<T>(&self, act: impl FnOnce(&TreeLock) -> Result<T>) -> Result<T> {
        self.act_unlocked(|at| act(&at.lock()?))
    }

    /// Changes rows of the ledger that pages show: like [`Engine::act`], but without the tree lock.
    pub fn act_unlocked<T>(&self, act: impl FnOnce(&AssistantHome) -> Result<T>) -> Result<T> {
        let at = self.instance.assistant(&self.agent, &self.actor)?;
        let out = act(&at)?;
        self.instance.settle(&at);
        Ok(out)
    }

    /// Changes rows of the ledger that pages show, in one write transaction with one audit row, and then renders the
    /// pages. An unknown agent is an error and is not added.
    pub fn change<T>(&self, action: &'static str, f: impl FnOnce(&mut Write, AgentNo) -> Result<T>) -> Result<T> {
        let agent_no = self.agent_no()?;
        self.act_unlocked(|at| at.write(action, |tx| f(tx, agent_no)))
    }

    /// Reads session stores: see [`Instance::import`].
    pub fn import(&self, sources: &[Source]) -> Result<Imported> {
        self.instance.import(&self.agent, &self.actor, sources)
    }

    /// Stores live lines of one program: see [`Instance::append`].
    pub fn append<T>(&self, program: &str, pages: bool, feed: impl FnOnce(&mut Appending) -> Result<T>) -> Result<T> {
        self.instance.append(&self.agent, &self.actor, program, pages, feed)
    }

    /// Handles a call of a program's hook and returns what the program is given: see [`Instance::hook`].
    pub fn hook(&self, call: &HookCall) -> Result<HookOutcome> {
        self.instance.hook(&self.agent, call, &format!("hook {}", call.program))
    }

    /// Does everything that is due now: jobs, summaries, pages, rows of the index.
    pub fn work(&self) -> Result<Worked> {
        self.instance.work(&self.agent, &self.actor)
    }

    /// Searches turns and visible files.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchReport> {
        self.instance.search(&self.agent, &self.actor, request)
    }

    /// Replaces the turns of a session with one handoff: see [`Instance::compact`].
    pub fn compact(&self, session: &str, until: Option<&str>, dry_run: bool) -> Result<CompactReport> {
        self.instance.compact(&self.agent, &self.actor, session, until, dry_run)
    }

    /// Reports the state of the memory: size, pending work, problems.
    pub fn status(&self) -> Result<StatusReport> {
        self.instance.status(&self.agent, &self.actor)
    }

    /// Records that a person has seen this report, so that its one-time notes are not repeated.
    pub fn told(&self, report: &StatusReport) -> Result<()> {
        self.instance.told(&self.agent, &self.actor, report)
    }

    /// Reports which language model the settings name, what it used today, and whether it is asked now. `None` if they
    /// name none.
    pub fn language_model(&self) -> Result<Option<LanguageModelReport>> {
        self.instance.language_model_report(&self.agent, &self.actor)
    }

    /// Reports what a language model would be asked here and its estimated daily use: see [`Instance::model_preview`].
    pub fn model_preview(&self) -> Result<ModelPreview> {
        self.instance.model_preview(&self.agent, &self.actor)
    }

    /// Records that a person chose a language model: see [`Instance::model_chosen`].
    pub fn model_chosen(&self) -> Result<()> {
        self.instance.model_chosen(&self.agent, &self.actor)
    }

    /// Marks what shows the state of the language model: its settings changed.
    pub fn model_changed(&self) -> Result<()> {
        self.instance.model_changed(&self.agent)
    }

    /// Asks the language model a small question: see [`Instance::try_model`].
    pub fn try_model(&self) -> Result<ModelTrial> {
        self.instance.try_model(&self.agent, &self.actor)
    }

    /// Recomputes every digest, chain and reference, with progress, and repairs nothing.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.instance.verify(&self.agent, &self.actor, false)
    }

    /// Verifies like [`Engine::verify`], but makes the vectors of every turn again, not only of a sample.
    pub fn verify_in_full(&self) -> Result<VerifyReport> {
        self.instance.verify(&self.agent, &self.actor, true)
    }

    /// Forgets turns if `agree` accepts the plan: see [`Instance::forget`].
    pub fn forget(&self, wish: Wish, agree: impl FnOnce(&ForgetReport) -> Result<bool>) -> Result<ForgetReport> {
        self.instance.forget(&self.agent, &self.actor, wish, agree)
    }

    /// Returns how a query is understood, without running it.
    pub fn understand(&self, query: &str) -> Result<Understood> {
        self.instance.understand(&self.agent, query)
    }

    /// Chooses what answers a question: memory and open loops first, then summaries, then turns.
    pub fn recall(&self, request: &RecallRequest) -> Result<RecallReport> {
        self.instance.recall(&self.agent, &self.actor, request)
    }

    /// Returns what a reference leads to, what is above, below and around it, and its text.
    pub fn expand(&self, reference: &Reference, reach: &Reach) -> Result<ExpandReport> {
        self.instance.expand(&self.agent, &self.actor, reference, reach)
    }

    /// Returns the context for a program at the beginning of a session, with a prompt, or after a compaction: see
    /// [`Instance::context`].
    pub fn context(&self, request: &ContextRequest) -> Result<ContextReport> {
        self.instance.context(&self.agent, &self.actor, request)
    }

    /// Returns a recorded context, word for word.
    pub fn replay(&self, id: ContextId) -> Result<ReplayReport> {
        let agent_no = self.agent_no()?;
        Ok(ReplayReport::of(self.agent.as_str(), &self.read(|tx| inject::replay(tx, agent_no, id))?))
    }

    /// Lists recorded contexts, newest first; `session`: only those of this session; `before`: only earlier ones.
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

    /// Lists sessions, newest first.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<SessionsReport> {
        self.instance.sessions(&self.agent, filter)
    }

    /// Reports everything stored of one session, given by its key or a prefix of it.
    pub fn session(&self, name: &str) -> Result<SessionDetails> {
        self.instance.session(&self.agent, name)
    }

    /// Reports what a heading shows of one session; `sources`, `records` and `runs` are empty, because they are read
    /// from every record of it.
    pub fn session_heading(&self, name: &str) -> Result<SessionDetails> {
        self.instance.session_heading(&self.agent, name)
    }

    /// Stores a memory. If it is known already, nothing is written; another text about the same subject supersedes the
    /// older memory.
    pub fn remember(&self, new: &NewLeaf) -> Result<RememberedReport> {
        Ok(RememberedReport { items: vec![self.act(|lock| memory::add(lock, new))?] })
    }

    /// Forgets memories: all of them or none. The turns they came from keep the words.
    pub fn forget_memories(&self, names: &[String]) -> Result<ForgottenMemories> {
        self.instance.forget_memories(&self.agent, &self.actor, names)
    }

    /// Carries out a person's verdict on proposed memory or on notices.
    pub fn review(&self, verdict: &Verdict) -> Result<ReviewReport> {
        self.instance.review(&self.agent, &self.actor, verdict)
    }

    /// Returns everything that waits for a person's yes: proposals, notices, memories that contradict each other,
    /// recurring procedures, statements of a model about open loops, words kept aside.
    pub fn inbox(&self) -> Result<InboxReport> {
        self.instance.inbox(&self.agent, &self.actor)
    }

    /// Decides about waiting items one by one; the report lists those that could not be decided, with the reason.
    pub fn decide(&self, decision: &Decision) -> Result<DecisionsReport> {
        self.instance.decide(&self.agent, &self.actor, decision)
    }

    /// Lists open loops, the earliest due first and those without a date after them, or the resolved ones, newest first: at
    /// most `limit`, and only of `scope` if it is named.
    pub fn loops(&self, resolved: bool, scope: Option<&str>, limit: usize) -> Result<LoopsReport> {
        let (entries, mut unfiled) = self.looked(|at| {
            at.read(|tx| {
                let unfiled = if resolved { Vec::new() } else { unfiled::unfiled(at, tx)? };
                Ok((open_loop::list(tx, at.agent_no, resolved, scope)?, unfiled))
            })
        })?;
        unfiled.retain(|u| scope.is_none_or(|scope| u.scope() == scope));
        unfiled.sort_by_cached_key(|u| (u.due.is_none(), u.due.clone()));
        let all = entries.len() + unfiled.len();
        let loops = EntryReport::first(entries, limit);
        unfiled.truncate(limit - loops.len());
        Ok(LoopsReport { all, loops, unfiled: unfiled.into_iter().map(UnfiledReport::from).collect() })
    }

    /// Returns an open item without a file, given its id.
    pub fn unfiled_loop(&self, name: &str) -> Result<Option<UnfiledReport>> {
        self.looked(|at| at.read(|tx| Ok(unfiled::find(at, tx, name)?.map(UnfiledReport::from))))
    }

    /// Closes open loops and open items without a file, named by id, title or file: all of them or none.
    pub fn resolve_loops(&self, names: &[String], how: Option<&str>) -> Result<Vec<Item>> {
        self.act(|lock| {
            let unfiled =
                |name: &str| lock.at.read(|tx| Ok(unfiled::find(lock.at, tx, name)?.map(|found| found.file())));
            open_loop::resolve_any(lock, names, how, &unfiled)
        })
    }

    /// Returns the number of the newest row of the audit, which grows with every write of any process; 0 if nothing was
    /// written.
    pub fn newest_change(&self) -> Result<u64> {
        self.read(audit::newest)
    }

    /// Returns the time zone of the agent's days: the one in the operator's profile, else the machine's.
    pub fn zone(&self) -> TimeZone {
        self.instance.zone(&self.agent)
    }

    /// Returns the workspace id of a project, given its id, label or path (`.`: the current folder).
    pub fn workspace_id(&self, name: &str) -> Result<String> {
        self.instance.workspace_id(&self.agent, name)
    }
}

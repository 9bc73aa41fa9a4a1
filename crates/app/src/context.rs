//! What every command works with: the home, its ledger and its index, opened as the command needs them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use heirloom_engine::clock::Clock;
use heirloom_engine::distill::advance::Advanced;
use heirloom_engine::error::{Error, ErrorKind, Problem, Result};
use heirloom_engine::forget;
use heirloom_engine::home::{Home, HomeOptions, layout};
use heirloom_engine::index::{Embedder, Index, Rebuilt};
use heirloom_engine::ledger::{Audit, Ledger, Open};
use heirloom_engine::lineage::marks;
use heirloom_engine::profile;
use heirloom_engine::render::{self, Occasion};
use heirloom_engine::scope::AgentId;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::{AssistantHome, file_table, journal, scan};
use heirloom_engine::{worker, zone};

use crate::config::{self, Set};

/// How long a command waits for another process that writes the index before it does without.
const INDEX_BUSY: Duration = Duration::from_millis(200);

/// What a search may spend on bringing the index up to date before it answers (R10.10).
const CATCH_UP: Duration = Duration::from_millis(50);

/// The options every command has.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Global {
    /// Where the memory lives [default: $HEIRLOOM_HOME, else $LIONCLAW_HOME, else ~/.heirloom]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    pub home: Option<PathBuf>,

    /// Whose memory [default: $HEIRLOOM_AGENT, else daemon.workspace in config.toml, else main]
    #[arg(long, global = true, value_name = "ID", help_heading = "Everywhere")]
    pub agent: Option<String>,

    /// Print JSON for programs
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
}

/// An opened home.
pub struct Context {
    pub home: Home,
    pub home_from: config::From,
    pub ledger: Ledger,
    pub agent: Set<AgentId>,
    pub json: bool,
    /// The home cannot be written: nothing is stored, catching up is left out.
    pub read_only: bool,
    /// The model that places texts in space, once it was asked for; or why there is none.
    model: OnceCell<Result<Arc<dyn Embedder>>>,
}

impl Context {
    /// Opens the home for commands that store something, making it if there is none.
    pub fn create(global: &Global) -> Result<Context> {
        let at = config::home(global.home.as_deref())?;
        Context::within(Home::create_with(&at.value, &options())?, at.from, global)
    }

    /// Opens what is in a home for commands that store something. The home itself is there, and is not made again; what
    /// it lacks of folders is.
    pub fn within(home: Home, from: config::From, global: &Global) -> Result<Context> {
        for folder in layout::DIRECTORIES {
            home.create_dir_all(folder)?;
        }
        if !can_write(&home.root().join(layout::RUNTIME_DB.as_str())) {
            return Err(Error::refused(format!("{} cannot be written; nothing was stored", home.root().display()))
                .hint("check its owner, its permissions and whether its file system is mounted read-only"));
        }
        Context::of(home, from, global, false)?.finished()
    }

    /// Opens the home for commands that look. A missing home is an error that says what to do; one that cannot be
    /// written is opened for reading.
    pub fn open(global: &Global) -> Result<Context> {
        let at = config::home(global.home.as_deref())?;
        let home = Home::open_with(&at.value, &options()).map_err(|e| match e.kind() {
            ErrorKind::NotFound => no_memory(&at.value),
            _ => e,
        })?;
        let path = match home.file_path(&layout::RUNTIME_DB) {
            Ok(path) if path.exists() => path,
            Ok(_) => return Context::begin(global, &home, &at.value),
            Err(e) if e.kind() == ErrorKind::NotFound => return Context::begin(global, &home, &at.value),
            Err(e) => return Err(e),
        };
        if !can_write(&path) {
            return Context::of(home, at.from, global, true);
        }
        // Opening for writing can fail where looking would not: a disk without a byte left.
        match Context::of(home, at.from, global, false).and_then(Context::finished) {
            Err(e) if e.kind() == ErrorKind::Machine => {
                let home = Home::open_with(&at.value, &options())?;
                Context::of(home, at.from, global, true).map_err(|_| e)
            }
            other => other,
        }
    }

    /// A home with pages and no ledger yet, as LionClaw leaves one: it is read where it is. The ledger is put beside
    /// it and no file that is there is touched.
    fn begin(global: &Global, home: &Home, at: &Path) -> Result<Context> {
        let agent = config::agent(global.agent.as_deref(), &config::file(home)?)?.value;
        let pages = match home.open_dir(&layout::assistant_home(&agent)) {
            Ok(tree) => tree.entries()?,
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(e),
        };
        let known = |name: &std::ffi::OsStr| {
            name == "continuity" || name == "memory" || Path::new(name).extension() == Some("md".as_ref())
        };
        if !pages.iter().any(|entry| known(&entry.name)) {
            return Err(no_memory(at));
        }
        if !can_write(&home.root().join(layout::STATE.as_str())) {
            return Err(Error::refused(format!("{} has pages and no ledger yet, and cannot be written", at.display()))
                .hint("make it writable; the pages themselves stay as they are"));
        }
        let context = Context::create(global)?;
        context.ledger.write(Audit::new("cli", "agent.add"), |tx| {
            tx.note("agent", agent.as_str());
            read::ensure_agent(tx, &agent)
        })?;
        Ok(context)
    }

    fn of(home: Home, home_from: config::From, global: &Global, read_only: bool) -> Result<Context> {
        let path = home.file_path(&layout::RUNTIME_DB)?;
        let how = if read_only { Open::ReadOnly } else { Open::Full };
        if !read_only {
            // Made by us first, so that it and the logs SQLite puts beside it are private from the first byte on.
            if !path.exists() {
                let _existed = home.write_new(&layout::RUNTIME_DB, b"")?;
            }
            home.remove_temporaries(Clock::System.now())?;
        }
        let backups = home.open_dir(&layout::BACKUPS)?.shown().to_owned();
        let ledger = Ledger::open(&path, &backups, clock(), how).map_err(|e| match e.kind() {
            ErrorKind::Damaged => Error::damaged(format!("{} is damaged", path.display())).because(e).hint(
                "it is left as it is; put a copy of it back from your backup, or move it away and run heirloom up",
            ),
            _ => e,
        })?;
        let agent = config::agent(global.agent.as_deref(), &config::file(&home)?)?;
        let said = ledger.read(|tx| match read::agent_no(tx, &agent.value)? {
            Some(no) => profile::get(tx, no, "timezone"),
            None => Ok(None),
        });
        // A ledger whose profile cannot be read is somebody else's to complain of.
        if let Some(zone) = said.ok().flatten().and_then(|name| zone::named(&name)) {
            crate::print::live_in(zone);
        }
        Ok(Context { home, home_from, ledger, agent, json: global.json, read_only, model: OnceCell::new() })
    }

    /// What hooks could not store is stored first: it may be what was forgotten.
    ///
    /// Something forgotten may not be gone everywhere yet: a command was killed, or somebody was reading. Whoever comes
    /// by finishes it; what keeps that from being done is said, and tried again later.
    fn finished(self) -> Result<Context> {
        if let Err(e) = crate::hook::drain_spool(&self.home, &self.ledger, self.agent()) {
            crate::print::note(&format!("what hooks left in the spool is not stored yet: {e}; it is tried again"));
        }
        for agent_no in forget::unfinished(&self.ledger)? {
            if let Err(e) = self.finish_forgetting(agent_no) {
                crate::print::note(&format!("something forgotten is not gone everywhere yet: {e}; it is tried again"));
            }
        }
        Ok(self)
    }

    /// Takes what an agent's `forget` took out of the ledger out of files, index, logs and backups.
    pub fn finish_forgetting(&self, agent_no: i64) -> Result<()> {
        let agents = self.ledger.read(read::agents)?;
        let mut known = agents.iter().filter_map(|a| AgentId::parse(&a.agent).ok());
        let Some(agent) =
            known.find(|a| self.ledger.read(|tx| read::agent_no(tx, a)).is_ok_and(|no| no == Some(agent_no)))
        else {
            return Ok(());
        };
        let at = AssistantHome::create(
            &self.home,
            &self.ledger,
            &agent,
            agent_no,
            "cli forget",
            crate::print::machine_zone(),
        )?;
        let mut index = if self.index_path()?.exists() { Some(self.index()?.0) } else { None };
        forget::finish(&at, index.as_mut()).map(drop).map_err(|e| {
            let next =
                "it is gone from the ledger; the rest is done by a command in ten minutes, or by running this again";
            e.hint(next)
        })
    }

    pub fn agent(&self) -> &AgentId {
        &self.agent.value
    }

    /// The number of the agent, which must be known.
    pub fn agent_no(&self) -> Result<i64> {
        self.ledger.read(|tx| read::agent_no(tx, self.agent()))?.ok_or_else(|| {
            Error::not_found(format!("nothing is stored for the agent {}", self.agent()))
                .hint("see heirloom agent list, or import something with heirloom up")
        })
    }

    /// The assistant home of the agent, made and furnished where there is none: for commands that change it.
    pub fn assistant(&self, actor: &str) -> Result<AssistantHome<'_>> {
        if self.read_only {
            return Err(Error::refused(format!(
                "{} cannot be written; nothing was changed",
                self.home.root().display()
            ))
            .hint("check its owner, its permissions and whether its file system is mounted read-only"));
        }
        let known = self.ledger.read(|tx| read::agent_no(tx, self.agent()))?;
        let agent_no = match known {
            Some(no) => no,
            None => self.ledger.write(Audit::new(actor, "agent.add"), |tx| {
                tx.note("agent", self.agent().as_str());
                read::ensure_agent(tx, self.agent())
            })?,
        };
        AssistantHome::create(&self.home, &self.ledger, self.agent(), agent_no, actor, crate::print::machine_zone())
    }

    /// The assistant home, for commands that look: the file table is brought up to the files and what a crash left is
    /// finished, unless the home cannot be written or somebody else is at it. `None` where there is no tree yet.
    pub fn look_at_assistant(&self, actor: &str) -> Result<Option<(AssistantHome<'_>, Vec<Problem>)>> {
        self.look_at(self.agent(), actor)
    }

    /// [`Context::look_at_assistant`] for every agent there is: for commands that look at all of the memory.
    pub fn look_at_all(&self, actor: &str) -> Result<Vec<(AssistantHome<'_>, Vec<Problem>)>> {
        let agents = self.ledger.read(read::agents)?;
        let mut all = Vec::new();
        for agent in agents {
            all.extend(self.look_at(&AgentId::parse(&agent.agent)?, actor)?);
        }
        Ok(all)
    }

    fn look_at(&self, agent: &AgentId, actor: &str) -> Result<Option<(AssistantHome<'_>, Vec<Problem>)>> {
        let Some(agent_no) = self.ledger.read(|tx| read::agent_no(tx, agent))? else { return Ok(None) };
        let zone = crate::print::machine_zone();
        let opened = AssistantHome::open(&self.home, &self.ledger, agent, agent_no, actor, zone)?;
        let Some(at) = opened else { return Ok(None) };
        if self.read_only {
            return Ok(Some((at, Vec::new())));
        }
        if self.ledger.read(|tx| journal::is_unfinished(tx, agent_no))? {
            // The holder of the tree lock finishes it; without one, we do.
            drop(at.try_lock()?);
        }
        let scanned = scan::scan(&at)?;
        if scanned.changed > 0 || render::is_dirty(&at)? {
            self.render(&at, Occasion::Look);
        }
        Ok(Some((at, scanned.problems)))
    }

    /// After a change: renders the pages that show it, and says what people should know of it. Never fails the change:
    /// what could not be rendered stays marked for the next command.
    pub fn settle(&self, at: &AssistantHome) -> Result<()> {
        // Opened again: the change may be the time zone whose days the pages show.
        let zone = crate::print::machine_zone();
        let again = AssistantHome::open(&self.home, &self.ledger, &at.agent, at.agent_no, &at.actor, zone);
        self.render(again.ok().flatten().as_ref().unwrap_or(at), Occasion::Act);
        Ok(())
    }

    fn render(&self, at: &AssistantHome, occasion: Occasion) {
        let refreshed = match render::refresh(at, occasion) {
            Ok(refreshed) => refreshed,
            Err(e) => return crate::print::note(&format!("the pages could not be refreshed: {e}")),
        };
        for id in &refreshed.proposed {
            crate::print::note(&format!(
                "your lines in MEMORY.md are kept as the proposal {id}: heirloom proposal show {id}"
            ));
        }
        for problem in &refreshed.failed {
            crate::print::note(&format!("a page could not be refreshed: {problem}"));
        }
    }

    /// After conversations came in: makes the assistant home where there is none and renders what shows them. What was
    /// stored stands whatever happens here.
    pub fn settle_conversations(&self, actor: &str) {
        match self.assistant(actor) {
            Ok(at) => self.render(&at, Occasion::Look),
            Err(e) => crate::print::note(&format!("the visible pages could not be brought up to date: {e}")),
        }
    }

    /// Brings the lineage of every agent up to what was stored, as far as a command may wait for it (`None`: all of it,
    /// with progress), and renders what shows it. What could not be done stays due.
    pub fn distil(&self, actor: &str, patience: Option<Duration>) -> Result<worker::Distilled> {
        let mut all = worker::Distilled::default();
        if self.read_only {
            return Ok(all);
        }
        let until = patience.map(|p| Instant::now() + p);
        let limits = config::file(&self.home)?.lineage.limits()?;
        for agent in self.ledger.read(read::agents)? {
            let agent = AgentId::parse(&agent.agent)?;
            let Some(agent_no) = self.ledger.read(|tx| read::agent_no(tx, &agent))? else { continue };
            let due = self.ledger.read(|tx| marks::counts(tx, self.ledger.now(), Some(agent_no)))?.0;
            if due == 0 {
                continue;
            }
            let at =
                AssistantHome::create(&self.home, &self.ledger, &agent, agent_no, actor, crate::print::machine_zone())?;
            let bar = crate::print::bar(due, "Distilling", self.json || due < 8 || patience.is_some());
            bar.set_style(
                indicatif::ProgressStyle::with_template(
                    "{prefix:10} {bar:32.cyan/dim}  {human_pos}/{human_len} sessions",
                )
                .unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()),
            );
            let done = worker::distil(&at, limits, until, &mut |n| bar.set_position(n))?;
            bar.finish_and_clear();
            if done.made != Advanced::default() {
                self.render(&at, Occasion::Look);
            }
            all.sessions += done.sessions;
            all.made.add(&done.made);
            all.left += done.left;
            all.problems.extend(done.problems);
        }
        Ok(all)
    }

    /// The id of a project: by its id, label or path, or that of the current directory. A folder nothing was said in yet
    /// has one, too; so has a project only files know of.
    pub fn workspace_id(&self, name: Option<&str>) -> Result<String> {
        let (known, in_files) = self.ledger.read(|tx| match read::agent_no(tx, self.agent())? {
            Some(no) => Ok((read::workspaces(tx, no)?, file_table::workspaces(tx, no)?)),
            None => Ok((Vec::new(), Vec::new())),
        })?;
        let canonical = |id: &str| {
            let row = known.iter().find(|w| w.id == id);
            row.and_then(|w| w.alias_of.clone()).unwrap_or_else(|| id.to_owned())
        };
        let name = name.unwrap_or(".");
        if name != "." && !name.contains('/') {
            let ids = || known.iter().map(|w| (w.id.as_str(), w.label.as_str()));
            let all: Vec<(&str, &str)> = ids().chain(in_files.iter().map(|id| (id.as_str(), label_of(id)))).collect();
            if all.iter().any(|(id, _)| *id == name) {
                return Ok(canonical(name));
            }
            let mut ids: Vec<String> = all.iter().filter(|(_, l)| *l == name).map(|(id, _)| canonical(id)).collect();
            ids.sort();
            ids.dedup();
            return match ids.as_slice() {
                [id] => Ok(id.clone()),
                [] => Err(Error::not_found(format!("no project is called {}", shown(name))).hint(PROJECTS)),
                several => Err(Error::usage(format!("{} is the name of {} projects", shown(name), several.len()))
                    .hint(format!("use an id: {}", several.join(", ")))),
            };
        }
        let path = Path::new(name);
        let at = std::path::absolute(path).map_err(|e| Error::io("find", path, e))?;
        // A folder that is gone counts where something was said in just that one; a slip of the pen makes no project.
        if !at.is_dir() {
            return match known.iter().find(|w| w.root == at) {
                Some(gone) => Ok(canonical(&gone.id)),
                None => Err(Error::not_found(format!("there is no folder {}", shown(name))).hint(PROJECTS)),
            };
        }
        let home = config::user_home();
        let project = heirloom_engine::source::project::project_root(&at, home.as_deref())
            .ok_or_else(|| Error::usage(format!("{} is no place for a project", at.display())))?;
        Ok(canonical(&project.workspace_id))
    }

    /// The folder for files that live as long as one command.
    pub fn scratch(&self) -> Result<PathBuf> {
        Ok(self.home.open_dir(&layout::SCRATCH)?.shown().to_owned())
    }

    pub fn index_path(&self) -> Result<PathBuf> {
        self.home.file_path(&layout::INDEX_DB)
    }

    /// The index, made anew where it is missing or does not fit.
    pub fn index(&self) -> Result<(Index, Rebuilt)> {
        if self.read_only {
            let index = Index::open_read_only(&self.index_path()?, self.ledger.id())?.ok_or_else(|| {
                Error::refused("the home cannot be written and has no search index that fits")
                    .hint("make the home writable, then run heirloom reindex")
            })?;
            return Ok((self.with_model(index)?, Rebuilt::No));
        }
        let (index, rebuilt) = Index::open(&self.index_path()?, self.ledger.id(), INDEX_BUSY)?;
        Ok((self.with_model(index)?, rebuilt))
    }

    /// The index with the model that places texts in space: the table that is built in, or what the settings name
    /// (R10.8). One that cannot be had now leaves the words, and is told of once; settings that contradict themselves
    /// are an error.
    fn with_model(&self, index: Index) -> Result<Index> {
        if self.model.get().is_none() {
            let settings = config::file(&self.home)?.embeddings;
            settings.model_at()?;
            let model = settings.embedder();
            if let (Err(e), false) = (&model, self.json) {
                let next = e.next_step().map(|next| format!("\n  {next}")).unwrap_or_default();
                crate::print::note(&format!("by words only: {e}{next}"));
            }
            let _ = self.model.set(model);
        }
        match self.model.get() {
            Some(Ok(model)) => index.with_embedder(model.clone()),
            _ => Ok(index),
        }
    }

    /// Why nothing is found by meaning: the model the settings name cannot be had. Asked once an index was opened.
    pub fn without_model(&self) -> Option<&Error> {
        self.model.get().and_then(|model| model.as_ref().err())
    }

    /// The model in use, and where it is. Asked once an index was opened.
    pub fn model(&self) -> Result<(Option<&str>, String)> {
        let model = self.model.get().and_then(|model| Some(model.as_ref().ok()?.model()));
        Ok((model, config::file(&self.home)?.embeddings.model_at()?.shown()))
    }

    /// An empty index in place of what there is. `busy`: how long it waits for others.
    pub fn recreate_index(&self, busy: Duration) -> Result<Index> {
        self.with_model(Index::recreate(&self.index_path()?, self.ledger.id(), busy)?)
    }

    /// The index, caught up as far as a search may wait for it, with the files of an agent that were just looked at. A
    /// new one is built whole: there is nothing else to search in.
    pub fn caught_up_index(&self, files: Option<&AssistantHome>) -> Result<Index> {
        let (mut index, rebuilt) = self.index()?;
        if self.read_only {
            return Ok(index);
        }
        let ahead = matches!(self.ledger.read(|tx| index.coverage(tx)), Err(e) if e.kind() == ErrorKind::Damaged);
        if ahead {
            index = self.recreate_index(INDEX_BUSY)?;
        }
        match self.caught_up(&mut index, files, rebuilt != Rebuilt::No || ahead) {
            // Torn inside: it is derived, so it is made again. What is damaged still is the ledger.
            Err(e) if e.kind() == ErrorKind::Damaged => {
                index = self.recreate_index(INDEX_BUSY)?;
                self.caught_up(&mut index, files, true)?;
            }
            other => other?,
        }
        Ok(index)
    }

    fn caught_up(&self, index: &mut Index, files: Option<&AssistantHome>, new: bool) -> Result<()> {
        // One that another command has just made is as empty as a new one.
        let empty = self.ledger.read(|tx| index.coverage(tx)).is_ok_and(|c| c.watermark == 0 && c.missing > 0);
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

    /// What an index answers. One that turns out to be torn is made again and asked once more (R10.10); where the home
    /// cannot be written it stays as it is, and the error says so.
    pub fn asked<T>(&self, files: Option<&AssistantHome>, mut ask: impl FnMut(&mut Index) -> Result<T>) -> Result<T> {
        let mut index = self.caught_up_index(files)?;
        match ask(&mut index) {
            Err(e) if e.kind() == ErrorKind::Damaged && !self.read_only => {
                drop(index);
                let mut index = self.recreate_index(INDEX_BUSY)?;
                self.caught_up(&mut index, files, true)?;
                ask(&mut index)
            }
            other => other,
        }
    }

    /// Brings the rows of files up to date as far as a command may wait for it. Returns how many changes are missing.
    pub fn catch_up_files(&self, index: &mut Index, at: &AssistantHome) -> Result<u64> {
        match self.read_only {
            true => at.read(|tx| index.files_missing(tx, at.agent_no)),
            false => index.catch_up_files(at, Some(Instant::now() + CATCH_UP)),
        }
    }

    /// After something was forgotten: takes its words out of the index and the logs, too. What keeps that from being done
    /// now is said; what was forgotten stays so.
    pub fn erase(&self, at: &AssistantHome) {
        let erased = self.ledger.empty_log().and_then(|_| match self.index_path()?.exists() {
            true => self.index()?.0.erase_gone_files(at),
            false => Ok(()),
        });
        if let Err(e) = erased {
            crate::print::note(&format!(
                "the search index may still hold words of it: {e}; heirloom reindex makes it anew"
            ));
        }
    }

    /// Brings the rows of every agent's files up to date. Returns how many files there are.
    pub fn build_files(&self, index: &mut Index, actor: &str) -> Result<u64> {
        let mut files = 0;
        for (at, _) in self.look_at_all(actor)? {
            index.catch_up_files(&at, None)?;
            files += at.read(|tx| file_table::count(tx, at.agent_no))?;
        }
        Ok(files)
    }

    /// Adds what the index lacks, if it lacks anything.
    pub fn build_if_behind(&self, index: &mut Index) -> Result<()> {
        if self.ledger.read(|tx| index.coverage(tx))?.missing > 0 {
            self.build(index)?;
        }
        Ok(())
    }

    /// Indexes everything the ledger has, with progress.
    pub fn build(&self, index: &mut Index) -> Result<u64> {
        let missing = self.ledger.read(|tx| index.coverage(tx))?.missing;
        let bar = crate::print::bar(missing, "Indexing", self.json || missing < 5_000);
        bar.set_style(
            indicatif::ProgressStyle::with_template("{prefix:9}  {bar:32.cyan/dim}  {human_pos}/{human_len} turns")
                .unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()),
        );
        index.catch_up(&self.ledger, None, &mut |done| bar.set_position(done))?;
        index.settle()?;
        bar.finish_and_clear();
        Ok(missing)
    }
}

/// How a project can be named, for errors.
const PROJECTS: &str =
    "give the path of a folder, or a name or id that stands in heirloom workspace list or in memory/workspace/";

/// What people call a workspace: its id without the key.
pub fn label_of(id: &str) -> &str {
    id.rsplit_once("--").map_or(id, |(name, _)| name)
}

/// The beginning of what was typed, on one line and without credentials.
fn shown(text: &str) -> String {
    format!("{:?}", heirloom_engine::redact::redact(text).chars().take(80).collect::<String>())
}

pub fn options() -> HomeOptions {
    HomeOptions { allow_network_fs: config::allow_network_fs() }
}

/// The system clock. `HEIRLOOM_NOW` (milliseconds) fixes it for tests.
pub fn clock() -> Clock {
    std::env::var("HEIRLOOM_NOW").ok().and_then(|ms| ms.parse().ok()).map_or(Clock::System, Clock::Fixed)
}

fn no_memory(home: &Path) -> Error {
    Error::not_found(format!("there is no memory at {} yet", home.display()))
        .hint("heirloom up finds and imports your sessions; heirloom up --demo shows it with sample sessions")
}

/// Whether the file and its folder can be written: SQLite needs both.
fn can_write(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    let folder = path.parent().unwrap_or(path);
    let file = !path.exists() || access(path, Access::WRITE_OK).is_ok();
    file && access(folder, Access::WRITE_OK).is_ok()
}

//! Opening a home: to store (it is made if missing), to look, or quickly for a hook.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::listener::{Listener, Notice, Silent};
use super::{Instance, Settings};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::forget;
use crate::home::{Home, HomeOptions, Kind, NewFile, Place, RelPath, layout};
use crate::ledger::{Ledger, Open, schema};
use crate::next_step::quoted;
use crate::program::Program;
use crate::report::upkeep::BackupsSeen;
use crate::scope::AgentNo;
use crate::tree::{AssistantHome, LARGEST_FILE};

/// Options for opening a home.
#[derive(Clone)]
pub struct Options {
    pub clock: Clock,
    /// Requirements on the folder of the home.
    pub home: HomeOptions,
    /// Outside programs that are known.
    pub programs: Vec<Arc<dyn Program>>,
    pub listener: Arc<dyn Listener>,
    /// Reads the settings after the home was opened, because they may be stored in it.
    pub settings: Arc<Ask>,
}

/// A function that reads the settings of a home.
type Ask = dyn Fn(&Home) -> Result<Settings> + Send + Sync;

impl Default for Options {
    /// Returns options with the system's clock, no outside program, a silent listener and default settings.
    fn default() -> Options {
        Options {
            clock: Clock::System,
            home: HomeOptions::default(),
            programs: Vec::new(),
            listener: Arc::new(Silent),
            settings: Arc::new(|_| Ok(Settings::default())),
        }
    }
}

/// Purpose of opening a home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// To store something; a missing home is made.
    Create,
    /// To store something in an existing home; the home itself is not made, but its missing folders are.
    Existing,
    /// To look; a missing home is an error, and one that cannot be written is opened for reading.
    Look,
    /// To check what is stored: like [`How::Look`], but a missing ledger is an error and is not made anew.
    Check,
    /// For a hook: the home is used as it is, and nothing is migrated, repaired or caught up (R12.5). `busy` is how
    /// long to wait for another process that writes.
    Hook { busy: Duration },
}

impl Instance {
    /// Opens the home at `root`.
    ///
    /// `NotFound` if there is no home and `how` does not make one; `Refused` if it cannot be written, does not belong
    /// to the user, or was written by a newer version; `Damaged` if the ledger is damaged, and with [`How::Check`] if it
    /// is gone; `Busy` for a hook that runs before the first import.
    pub fn open(root: &Path, how: How, options: Options) -> Result<Instance> {
        match how {
            How::Create => {
                let home = Home::create_with(root, &options.home)?;
                Instance::to_write(home, options)
            }
            How::Existing => {
                let home = Home::open_with(root, &options.home)?;
                Instance::to_write(home, options)
            }
            How::Look => Instance::to_look(root, options, false),
            How::Check => Instance::to_look(root, options, true),
            How::Hook { busy } => {
                let home = Home::open_with(root, &options.home)?;
                let path = home.file_path(&layout::RUNTIME_DB)?;
                if !is_begun(&path) {
                    return Err(Error::new(ErrorKind::Busy, "there is no ledger yet"));
                }
                let backups = home.root().join(layout::BACKUPS.as_str());
                let ledger = Ledger::open(&path, &backups, options.clock, Open::Hot { busy })?;
                Instance::of(home, ledger, options, false)
            }
        }
    }

    fn to_write(home: Home, options: Options) -> Result<Instance> {
        home.create_directories()?;
        if !can_write(&home.root().join(layout::RUNTIME_DB.as_str())) {
            return Err(Error::refused(format!("{} cannot be written; nothing was stored", home.root().display()))
                .hint("check its owner, its permissions and whether its file system is mounted read-only"));
        }
        // Only commands that store something do this, because it lists every folder of the home.
        home.remove_temporaries(Clock::System.now())?;
        Instance::whole(home, options, false)?.finished()
    }

    fn to_look(root: &Path, options: Options, check: bool) -> Result<Instance> {
        let home = Home::open_with(root, &options.home).map_err(|e| match e.kind() {
            ErrorKind::NotFound => no_memory(root),
            _ => e,
        })?;
        let path = match home.file_path(&layout::RUNTIME_DB) {
            Ok(path) if is_begun(&path) => path,
            // The second look is for another process that created the ledger meanwhile: the traces are that one's.
            Ok(path) if check && had_a_ledger(&home)? && !is_begun(&path) => return Err(gone(&home, path.exists())),
            Ok(path) if check && !is_begun(&path) => return Err(no_memory(root)),
            Ok(path) if check => path,
            Err(e) if check && e.kind() == ErrorKind::NotFound && had_a_ledger(&home)? => {
                return Err(gone(&home, false));
            }
            Err(e) if check && e.kind() == ErrorKind::NotFound => return Err(no_memory(root)),
            Ok(_) => return Instance::begin(home, root, options),
            Err(e) if e.kind() == ErrorKind::NotFound => return Instance::begin(home, root, options),
            Err(e) => return Err(e),
        };
        if !can_write(&path) {
            return Instance::whole(home, options, true);
        }
        // A check changes no byte, so it brings no ledger up to date.
        if check
            && let Err(e) =
                Ledger::open(&path, &home.root().join(layout::BACKUPS.as_str()), options.clock, Open::ReadOnly)
            && e.kind() == ErrorKind::Refused
        {
            return Err(e);
        }
        // Opening for writing can fail where reading would work, such as on a full disk.
        let finished = |instance: Instance| if check { Ok(instance) } else { instance.finished() };
        match Instance::whole(home, options.clone(), false).and_then(finished) {
            Err(e) if e.kind() == ErrorKind::Machine => {
                let home = Home::open_with(root, &options.home)?;
                Instance::whole(home, options, true).map_err(|_| if check { of_its_schema(e, &path) } else { e })
            }
            other => other,
        }
    }

    /// Opens a home with pages but no ledger yet, such as one made by LionClaw. The ledger is created beside the pages,
    /// and no existing file is changed.
    fn begin(home: Home, root: &Path, options: Options) -> Result<Instance> {
        let agent = (options.settings)(&home)?.agent;
        let pages = match home.open_dir(&layout::assistant_home(&agent)) {
            Ok(tree) => tree.entries()?,
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(e),
        };
        let known = |name: &std::ffi::OsStr| {
            name == "continuity" || name == "memory" || Path::new(name).extension() == Some("md".as_ref())
        };
        if !pages.iter().any(|entry| known(&entry.name)) {
            return Err(no_memory(root));
        }
        if !can_write(&home.root().join(layout::STATE.as_str())) {
            return Err(Error::refused(format!(
                "{} has pages and no ledger yet, and cannot be written",
                root.display()
            ))
            .hint("make it writable; the pages themselves stay as they are"));
        }
        let instance = Instance::open(root, How::Create, options)?;
        instance.ensure_agent(&agent, "cli")?;
        Ok(instance)
    }

    /// Opens the ledger with migrations and repairs, or read-only.
    fn whole(home: Home, options: Options, read_only: bool) -> Result<Instance> {
        let path = home.file_path(&layout::RUNTIME_DB)?;
        let how = if read_only { Open::ReadOnly } else { Open::Full };
        // The file is created here and not by SQLite, so that it and SQLite's logs beside it are private from the start.
        // Of several processes that find no ledger, one creates it: only that one saw the home as it was before.
        let mut lost = false;
        if !read_only && !is_begun(&path) {
            // Before the traces: a ledger that comes in between is being made by another process.
            let was_there = path.exists();
            let traces = had_a_ledger(&home)?;
            // Looked at after the traces, which may be those of another process that makes the ledger just now. All of
            // such a ledger is in SQLite's log at first, and in the file itself by the time the log is gone.
            let is_in_log = path.with_extension("db-wal").exists();
            let was_emptied = was_there && !is_in_log && !is_begun(&path);
            let was_missing = home.write_new(&layout::RUNTIME_DB, b"")? == NewFile::Written;
            lost = traces && (was_missing || was_emptied);
        }
        let backups = home.open_dir(&layout::BACKUPS)?.shown().to_owned();
        let ledger = Ledger::open(&path, &backups, options.clock, how).map_err(|e| match e.kind() {
            ErrorKind::Damaged => Error::damaged(format!("{} is damaged", path.display()))
                .because(e)
                .hint("it is left as it is; put a copy of it back from your backup, or move it away and run ⟨up⟩"),
            _ => e,
        })?;
        // Of an emptied file, another process may have made the ledger meanwhile, and noted it.
        if lost && ledger.made_anew()?.is_none() {
            ledger.note_made_anew("opening")?;
            options.listener.notice(&Notice::LedgerMadeAnew);
        }
        let mut instance = Instance::of(home, ledger, options, read_only)?;
        instance.notes_the_end = !read_only;
        Ok(instance)
    }

    fn of(home: Home, ledger: Ledger, options: Options, read_only: bool) -> Result<Instance> {
        let settings = (options.settings)(&home)?;
        let ledger = match read_only {
            true => ledger,
            false => {
                let place = Place::of(&home, &layout::RUNTIME_DB, ledger.path())?;
                ledger.held_at(move || place.check())
            }
        };
        Ok(Instance {
            home,
            ledger,
            settings,
            programs: options.programs,
            listener: options.listener,
            read_only,
            notes_the_end: false,
            idle: Mutex::default(),
            mapped: Arc::default(),
            scans: Mutex::default(),
            model: OnceLock::new(),
            language_model: OnceLock::new(),
        })
    }

    /// Stores the calls in the spool, then finishes an interrupted `forget`. The spool comes first, because the
    /// forgotten turns may be in it. Errors go to the listener, and the next opening tries again.
    fn finished(self) -> Result<Instance> {
        if let Err(e) = self.drain_spool() {
            self.listener.notice(&Notice::SpoolLeft(&e));
        }
        for agent_no in forget::unfinished(&self.ledger)? {
            if let Err(e) = self.finish_forgetting(agent_no, true) {
                self.listener.notice(&Notice::ForgettingLeft(&e));
            }
        }
        Ok(self)
    }

    /// Removes what an agent's `forget` took out of the ledger from files, index, logs and backups as well. If it
    /// fails, the next command tries again; with `pause`, at most one command in ten minutes does.
    pub fn finish_forgetting(&self, agent_no: AgentNo, pause: bool) -> Result<()> {
        let mut known = self.agents()?.into_iter();
        let Some(agent) = known.find(|a| self.agent_no(a).is_ok_and(|no| no == Some(agent_no))) else {
            return Ok(());
        };
        let zone = self.settings.zone.clone();
        let at = AssistantHome::create(&self.home, &self.ledger, &agent, agent_no, "cli forget", zone)?;
        let anew = forget::names_are_in_index(&self.ledger)?;
        let mut index = match self.index_path()?.exists() {
            false => None,
            true if anew => Some(self.recreate_index(super::indexes::BUSY)?),
            true => Some(self.index()?),
        };
        forget::finish(&at, index.as_deref_mut(), pause)
            .map_err(|e| e.hint("it is gone from the ledger; the next command does the rest"))?;
        if let (Some(index), true) = (&mut index, anew) {
            index.catch_up(&self.ledger, None, &mut |_| {})?;
        }
        Ok(())
    }

    /// Returns the path of the search index.
    pub fn index_path(&self) -> Result<PathBuf> {
        self.home.file_path(&layout::INDEX_DB)
    }
}

/// Whether there is a ledger at this path. An empty file is none: one that is being made, or what is left of one.
pub(super) fn is_begun(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|file| file.len() > 0)
}

/// Whether the home has files that exist only after a ledger did: an index, a log of the ledger, a backup, or a page
/// with a managed block.
pub(super) fn had_a_ledger(home: &Home) -> Result<bool> {
    let list = |path: &RelPath| match home.list(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed,
    };
    // An empty ledger and its logs may be those of another process that is just making the first one.
    let ledger = home.root().join(layout::RUNTIME_DB.as_str());
    let is_empty = ledger.exists() && !is_begun(&ledger);
    let made = |name: &str| {
        name.starts_with("runtime") && !(is_empty && name.starts_with(layout::RUNTIME_DB.name()))
            || name.starts_with("index")
            || name == "audit.head"
    };
    let state = list(&layout::STATE)?;
    if state.iter().any(|e| e.kind == Kind::File && e.name.to_str().is_some_and(made))
        || list(&layout::BACKUPS)?.iter().any(|e| e.kind == Kind::File)
    {
        return Ok(true);
    }
    for agent in list(&layout::WORKSPACES)? {
        let Some(name) = agent.name.to_str().filter(|_| agent.kind == Kind::Directory) else { continue };
        let page = layout::WORKSPACES.join(name)?.join(layout::MEMORY_HEAD.as_str())?;
        let text = home.read(&page, LARGEST_FILE).ok().flatten().unwrap_or_default();
        if memchr::memmem::find(&text, b"<!-- heirloom:").is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the error for a ledger that cannot be opened because its schema was changed, with what was changed; `error` for
/// any other.
fn of_its_schema(error: Error, path: &Path) -> Error {
    let broken = schema::broken_in(path);
    let Some((part, what)) = broken.first() else { return error };
    let more = match broken.len() {
        1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    Error::damaged(format!("{} is damaged: {part} {what}{more}", path.display()))
        .because(error)
        .hint("it is left as it is; put a copy of it back from your backup: ⟨restore --from⟩")
}

/// Returns the error for a home that has lost its ledger, with what can bring it back. `emptied`: the file is there and
/// has nothing in it.
fn gone(home: &Home, emptied: bool) -> Error {
    let mut ways = Vec::new();
    match BackupsSeen::read(home).to {
        Some(to) => ways.push(format!("⟨restore --from {}⟩ puts back the last backup", quoted(&to))),
        None => ways.push("⟨restore --from⟩ puts back a backup".to_owned()),
    }
    let mut before_migrations: Vec<String> = home.list(&layout::BACKUPS).map_or_else(
        |_| Vec::new(),
        |all| all.into_iter().filter(|e| e.kind == Kind::File).filter_map(|e| e.name.into_string().ok()).collect(),
    );
    before_migrations.retain(|name| name.starts_with("runtime-schema") && name.ends_with(".db"));
    // The names end with the time, after a schema number of one or two digits.
    before_migrations
        .sort_by_key(|name| name.split_once('-').and_then(|(_, n)| n.split_once('-')).map(|(_, t)| t.to_owned()));
    if let Some(newest) = before_migrations.pop() {
        ways.push(format!(
            "{}/{newest} is the ledger as it was before a migration: copy it to {}",
            layout::BACKUPS,
            layout::RUNTIME_DB
        ));
    }
    ways.push("without one, ⟨import⟩ makes a new ledger of what the programs still have".to_owned());
    Error::damaged(format!(
        "{} is {} although {} has been in use; every conversation was in it. Nothing was changed",
        layout::RUNTIME_DB,
        if emptied { "empty" } else { "gone" },
        home.root().display()
    ))
    .hint(ways.join("; "))
}

fn no_memory(home: &Path) -> Error {
    Error::not_found(format!("there is no memory at {} yet", home.display()))
        .hint("⟨up⟩ finds and imports your sessions; ⟨up --demo⟩ shows it with sample sessions")
}

/// Whether the file and its folder can be written: SQLite needs both.
fn can_write(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    let folder = path.parent().unwrap_or(path);
    let file = !path.exists() || access(path, Access::WRITE_OK).is_ok();
    file && access(folder, Access::WRITE_OK).is_ok()
}

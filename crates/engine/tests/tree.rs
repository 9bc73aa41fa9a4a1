//! A home with an assistant in it, for tests of visible files.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use heirloom_engine::clock::Clock;
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::continuity::{Change, Item};
use heirloom_engine::home::{Home, layout};
use heirloom_engine::ledger::{Audit, Ledger, Open};
use heirloom_engine::render;
use heirloom_engine::scope::{AgentId, AgentNo};
use heirloom_engine::transcript::read;
use heirloom_engine::tree::file_table::{self, Entry, Kind, State};
use heirloom_engine::tree::{AssistantHome, scan};

pub struct Tree {
    pub folder: tempfile::TempDir,
    pub home: Home,
    pub ledger: Ledger,
    pub agent_no: AgentNo,
}

impl Tree {
    pub fn new() -> Tree {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let (home, ledger) = open(&folder.path().join("home"));
        let agent_no =
            ledger.write(Audit::new("test", "agent.add"), |tx| read::ensure_agent(tx, &AgentId::main())).unwrap();
        let tree = Tree { folder, home, ledger, agent_no };
        tree.at();
        tree
    }

    /// Opens the same home as another process would, with its own handles and connections.
    pub fn other(&self) -> (Home, Ledger) {
        open(self.home.root())
    }

    pub fn at(&self) -> AssistantHome<'_> {
        at(&self.home, &self.ledger, self.agent_no)
    }

    /// Returns a path in the assistant home, for edits by hand.
    pub fn path(&self, below: &str) -> PathBuf {
        self.home.root().join("workspaces/main").join(below)
    }

    pub fn text(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap_or_else(|e| panic!("{below}: {e}"))
    }

    /// Writes a file as a person some time ago, so that no act has to wait for them.
    pub fn hand(&self, below: &str, text: &str) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        rest(&path);
    }

    pub fn add(&self, title: &str) -> Item {
        let new = NewLoop { title: title.into(), ..NewLoop::default() };
        open_loop::add(&self.at().lock().unwrap(), &new).unwrap()
    }

    pub fn refresh(&self) -> render::Refreshed {
        render::refresh(&self.at(), render::Occasion::Act).unwrap()
    }

    /// Returns the ids of the items in the file table, after a scan.
    pub fn items(&self, kind: Kind, state: State) -> Vec<String> {
        scan::scan(&self.at()).unwrap();
        self.entries(kind, state).into_iter().map(|e| e.item.unwrap_or(e.title)).collect()
    }

    pub fn entries(&self, kind: Kind, state: State) -> Vec<Entry> {
        self.ledger.read(|tx| file_table::list(tx, self.agent_no, kind, state)).unwrap()
    }

    pub fn files(&self, below: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(below))
            .map(|d| d.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect())
            .unwrap_or_default();
        names.sort();
        names
    }

    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.ledger.path()).unwrap()
    }

    pub fn count(&self, sql: &str) -> i64 {
        self.sql().query_row(sql, [], |r| r.get(0)).unwrap()
    }
}

pub fn at<'a>(home: &'a Home, ledger: &'a Ledger, agent_no: AgentNo) -> AssistantHome<'a> {
    AssistantHome::create(home, ledger, &AgentId::main(), agent_no, "test", jiff::tz::TimeZone::UTC).unwrap()
}

/// Opens the handles and connections of one process.
pub fn open(root: &Path) -> (Home, Ledger) {
    open_at(root, Clock::System)
}

/// Opens a home as [`open`] does, with a given clock.
pub fn open_at(root: &Path, clock: Clock) -> (Home, Ledger) {
    let home = Home::create(root).unwrap();
    let path = home.root().join(layout::RUNTIME_DB.as_str());
    let backups = home.root().join(layout::BACKUPS.as_str());
    let ledger = Ledger::open(&path, &backups, clock, Open::Full).unwrap();
    (home, ledger)
}

/// Sets a file's time back, as if it had been saved a while ago.
pub fn rest(path: &Path) {
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
}

pub fn is_new(item: &Item) -> bool {
    item.change == Change::New
}

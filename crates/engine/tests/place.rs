//! A home at a fixed time, with short ways to add leaves and proposals, for tests of memory.

use crate::tree::rest;
use heirloom_engine::clock::Clock;
use heirloom_engine::continuity::proposal::{self, NewProposal};
use heirloom_engine::home::Home;
use heirloom_engine::ledger::{Audit, Ledger};
use heirloom_engine::memory::{Class, NewLeaf, Scope};
use heirloom_engine::scope::{AgentId, AgentNo};
use heirloom_engine::transcript::read::ensure_agent;
use heirloom_engine::tree::file_table::{self, Entry, Kind, State};
use heirloom_engine::tree::provenance::{Origin, Provenance};
use heirloom_engine::tree::{AssistantHome, TreeLock, scan};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
pub const NOON: i64 = 1_795_262_400_000;
pub const DAY: i64 = 24 * 3_600_000;
pub const API: &str = "api--0123456789abcdef";
pub const BLOG: &str = "blog--fedcba9876543210";

/// A home with its ledger, for one process.
pub struct Place {
    pub home: Home,
    pub ledger: Ledger,
    pub agent_no: AgentNo,
}

impl Place {
    pub fn open(root: &Path, now: i64) -> Place {
        let (home, ledger) = crate::tree::open_at(root, Clock::Fixed(now));
        let agent_no = ledger.write(Audit::new("test", "agent.add"), |tx| ensure_agent(tx, &AgentId::main())).unwrap();
        Place { home, ledger, agent_no }
    }

    pub fn at(&self) -> AssistantHome<'_> {
        crate::tree::at(&self.home, &self.ledger, self.agent_no)
    }

    pub fn do_it<T>(&self, act: impl FnOnce(&TreeLock) -> T) -> T {
        let at = self.at();
        let lock = at.lock().unwrap();
        act(&lock)
    }

    pub fn leaves(&self) -> Vec<Entry> {
        let at = self.at();
        scan::scan(&at).unwrap();
        at.read(|tx| file_table::list(tx, at.agent_no, Kind::Leaf, State::Active)).unwrap()
    }

    pub fn leaf(&self, id: &str) -> Entry {
        self.leaves().into_iter().find(|e| e.item.as_deref() == Some(id)).unwrap_or_else(|| panic!("no {id}"))
    }

    pub fn tree(&self) -> PathBuf {
        self.home.root().join("workspaces/main")
    }

    pub fn text(&self, path: impl std::fmt::Display) -> String {
        std::fs::read_to_string(self.tree().join(path.to_string())).unwrap()
    }

    pub fn count(&self, sql: &str) -> i64 {
        self.sql().query_row(sql, [], |r| r.get(0)).unwrap()
    }

    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.ledger.path()).unwrap()
    }
}

pub fn place() -> (tempfile::TempDir, Place) {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let place = Place::open(&folder.path().join("home"), NOON);
    (folder, place)
}

pub fn api() -> Scope {
    Scope::Workspace(API.into())
}

pub fn fact(text: &str) -> NewLeaf {
    NewLeaf { verified: true, ..NewLeaf::new(Class::Fact, api(), text) }
}

pub fn titled(title: &str, text: &str) -> NewLeaf {
    NewLeaf { title: Some(title.into()), ..fact(text) }
}

pub fn by_program(leaf: NewLeaf) -> NewLeaf {
    let source = Provenance { origin: Origin::Distilled, ..Provenance::default() };
    NewLeaf { source, verified: false, ..leaf }
}

pub fn propose(lock: &TreeLock, title: &str, entries: &[&str], class: &str, scope: &str) -> String {
    let source = Provenance { origin: Origin::Program, session: Some("codex:1".into()), ..Provenance::default() };
    let entries = entries.iter().map(|e| (*e).to_owned()).collect();
    let (class, scope) = (class.to_owned(), scope.to_owned());
    let new = NewProposal { title: title.into(), entries, class, scope, confidence: Some(0.7), source };
    proposal::add(lock, &new).unwrap().id
}

pub fn write(path: &Path, change: impl Fn(&str) -> String) {
    let old = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, change(&old)).unwrap();
    rest(path);
}

/// Returns every file below the assistant home.
pub fn files(root: &Path) -> BTreeMap<String, String> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                found.insert(path.strip_prefix(root).unwrap().display().to_string(), text);
            }
        }
    }
    found
}

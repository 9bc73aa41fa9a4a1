//! The system's events about files (inotify, FSEvents), as hints: one watcher for the programs' folders and for what other
//! processes change in the home.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use heirloom_engine::home::layout;
use heirloom_engine::program::Program;
use notify::event::{EventKindMask, ModifyKind};
use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::hints::{Hints, Seen};

/// What SQLite puts beside a database.
const BESIDE: &[&str] = &["-wal", "-shm", "-journal"];

/// A folder of a program's sessions.
#[derive(Clone)]
pub struct Root {
    pub program: Arc<dyn Program>,
    pub path: PathBuf,
}

/// Every folder of every program, whether or not it is there, without links in its path where it is.
pub fn roots(programs: &[Arc<dyn Program>]) -> Vec<Root> {
    let all = programs.iter().flat_map(|program| program.roots().into_iter().map(move |path| (program, path)));
    all.map(|(program, path)| Root { program: Arc::clone(program), path: path.canonicalize().unwrap_or(path) })
        .collect()
}

/// A watcher at work.
pub struct Watch {
    watcher: RecommendedWatcher,
    known: Arc<Mutex<Known>>,
    /// Folders that are watched.
    watched: Vec<PathBuf>,
}

/// What the watcher's thread needs to know.
struct Known {
    home: PathBuf,
    roots: Vec<Root>,
}

impl Watch {
    /// Begins to watch the home and what there is of the programs' folders. `Err`: why the system refuses.
    pub fn begin(home: &Path, roots: Vec<Root>, hints: Arc<Hints>) -> Result<Watch, String> {
        let known = Arc::new(Mutex::new(Known { home: home.to_owned(), roots }));
        let config = Config::default().with_event_kinds(EventKindMask::CORE).with_follow_symlinks(false);
        let told = Arc::clone(&known);
        let heard = move |event: notify::Result<Event>| match event {
            Ok(event) => {
                let known = told.lock().unwrap_or_else(PoisonError::into_inner);
                hints.leave(|seen| known.hear(&event, seen));
            }
            Err(_) => hints.leave(|seen| seen.all = true),
        };
        let watcher = RecommendedWatcher::new(heard, config).map_err(|e| why(&e))?;
        let mut watch = Watch { watcher, known, watched: Vec::new() };
        for folder in [None, Some(layout::STATE), Some(layout::SPOOL)] {
            let folder = folder.map_or(home.to_owned(), |below| home.join(below.as_str()));
            watch.add(folder, RecursiveMode::NonRecursive)?;
        }
        watch.look_for_roots()?;
        Ok(watch)
    }

    /// Watches programs' folders that have come, and what is above those that are not there.
    pub fn look_for_roots(&mut self) -> Result<(), String> {
        let roots: Vec<PathBuf> = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for root in &mut known.roots {
                root.path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
            }
            known.roots.iter().map(|root| root.path.clone()).collect()
        };
        // A folder that is made anew is another one, although its path is the same.
        self.watched.retain(|path| path.exists());
        for root in roots {
            if root.is_dir() {
                self.add(root, RecursiveMode::Recursive)?;
            } else if let Some(above) = root.ancestors().skip(1).find(|above| above.is_dir())
                && above.parent().is_some()
            {
                self.add(above.to_owned(), RecursiveMode::NonRecursive)?;
            }
        }
        Ok(())
    }

    /// A folder was removed, and may have been made anew: it is no longer watched.
    pub fn lost(&mut self, folder: &Path) {
        if self.watched.iter().any(|watched| watched == folder) {
            let _ = self.watcher.unwatch(folder);
            self.watched.retain(|watched| watched != folder);
        }
    }

    fn add(&mut self, folder: PathBuf, mode: RecursiveMode) -> Result<(), String> {
        if self.watched.contains(&folder) {
            return Ok(());
        }
        match self.watcher.watch(&folder, mode) {
            Ok(()) => self.watched.push(folder),
            Err(e) if is_limit(&e) => return Err(why(&e)),
            // Gone meanwhile, or not ours to read: it is looked at with everything else.
            Err(_) => {}
        }
        Ok(())
    }
}

impl Known {
    fn hear(&self, event: &Event, seen: &mut Seen) {
        seen.all |= event.need_rescan();
        for path in &event.paths {
            match path.strip_prefix(&self.home) {
                Ok(below) => hear_of_home(below, seen),
                Err(_) => self.hear_of_programs(event, path, seen),
            }
        }
    }

    fn hear_of_programs(&self, event: &Event, path: &Path, seen: &mut Seen) {
        let Some(root) = self.roots.iter().find(|root| path.starts_with(&root.path)) else {
            seen.places |= self.roots.iter().any(|root| root.path.starts_with(path));
            return;
        };
        if path == root.path {
            seen.places = true;
            return;
        }
        let store = without_ending(path);
        let is_new = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)));
        // What is in a new folder may have been there before it was watched.
        if root.program.form(&store).is_some() || is_new && path.is_dir() {
            seen.files.insert(store);
        }
    }
}

fn hear_of_home(below: &Path, seen: &mut Seen) {
    let Some(below) = below.to_str() else { return };
    match below {
        "" | "state" | "spool" => seen.places = true,
        "config.toml" => seen.settings = true,
        "state/runtime.db-wal" | "state/runtime.db" => seen.ledger = true,
        other => seen.spool |= other.starts_with("spool/") && other.ends_with(".hook"),
    }
}

/// The database, where this is what SQLite puts beside it.
pub fn without_ending(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_owned() };
    BESIDE.iter().find_map(|end| text.strip_suffix(end)).map_or(path.to_owned(), PathBuf::from)
}

fn is_limit(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::MaxFilesWatch => true,
        // No descriptor, no memory for more watches.
        ErrorKind::Io(e) => {
            matches!(e.raw_os_error(), Some(23 | 24 | 28)) || e.kind() == std::io::ErrorKind::OutOfMemory
        }
        _ => false,
    }
}

/// In people's words, with what they can do.
fn why(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the system watches no more folders for this user (fs.inotify.max_user_watches)".to_owned()
        }
        ErrorKind::Io(e) if matches!(e.raw_os_error(), Some(23 | 24)) => {
            "the system opens no more watchers for this user (fs.inotify.max_user_instances) or this process (open files)".to_owned()
        }
        _ => format!("the system watches no folders: {error}"),
    }
}

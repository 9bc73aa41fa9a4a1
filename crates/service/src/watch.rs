//! File events of the system (inotify, FSEvents) as hints: one watcher for the programs' folders and for what other
//! processes change in the home.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use heirloom_engine::home::layout;
use heirloom_engine::program::Program;
use notify::event::{EventKindMask, ModifyKind};
use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::hints::{Hints, Seen};

/// Suffixes of the files SQLite puts beside a database.
const BESIDE: &[&str] = &["-wal", "-shm", "-journal"];

/// A folder with a program's sessions.
#[derive(Clone)]
pub struct Root {
    pub program: Arc<dyn Program>,
    pub path: PathBuf,
}

/// Returns every folder of every program, whether or not it exists; links in an existing path are resolved.
pub fn roots(programs: &[Arc<dyn Program>]) -> Vec<Root> {
    let all = programs.iter().flat_map(|program| program.roots().into_iter().map(move |path| (program, path)));
    all.map(|(program, path)| Root { program: Arc::clone(program), path: path.canonicalize().unwrap_or(path) })
        .collect()
}

/// A running watcher.
pub struct Watch {
    watcher: RecommendedWatcher,
    known: Arc<Mutex<Known>>,
    /// Folders that are being watched.
    watched: Vec<PathBuf>,
}

/// State shared with the watcher's thread.
struct Known {
    home: PathBuf,
    roots: Vec<Root>,
}

impl Watch {
    /// Starts watching the home and the programs' folders that exist. `Err` is the reason why the system refuses.
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

    /// Watches programs' folders that have been created, and for missing ones the nearest folder above them.
    pub fn look_for_roots(&mut self) -> Result<(), String> {
        let roots: Vec<PathBuf> = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for root in &mut known.roots {
                root.path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
            }
            known.roots.iter().map(|root| root.path.clone()).collect()
        };
        // A folder that was removed and made again needs a new watch, although its path is the same.
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

    /// Stops watching a folder that was removed; it may have been made again, which needs a new watch.
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
            // The folder is gone or cannot be read: it is covered by the regular look at everything.
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
        // A new folder may contain files that were written before it was watched.
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

/// Returns the path of the database if this is a file SQLite puts beside it; otherwise the path itself.
pub fn without_ending(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_owned() };
    BESIDE.iter().find_map(|end| text.strip_suffix(end)).map_or(path.to_owned(), PathBuf::from)
}

fn is_limit(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::MaxFilesWatch => true,
        // No file descriptor or no memory is left for further watches.
        ErrorKind::Io(e) => {
            matches!(e.raw_os_error(), Some(23 | 24 | 28)) || e.kind() == std::io::ErrorKind::OutOfMemory
        }
        _ => false,
    }
}

/// Describes the error for people, with what they can do.
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

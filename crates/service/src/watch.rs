//! File events of the system (inotify, FSEvents) as hints: one watcher for the programs' folders and for what other
//! processes change in the home.

use std::collections::HashSet;
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
    watched: Vec<Watched>,
}

/// A folder that is being watched.
struct Watched {
    path: PathBuf,
    mode: RecursiveMode,
    /// Device and inode. The system watches a folder and no path, so another folder at the same path needs a new watch.
    place: Option<(u64, u64)>,
}

/// State shared with the watcher's thread.
struct Known {
    home: PathBuf,
    roots: Vec<Root>,
    /// Folders that were removed or renamed since they were looked for. A new folder may get the inode of a removed one,
    /// so that comparing places would not tell them apart.
    gone: HashSet<PathBuf>,
}

/// Returns device and inode of a folder.
pub fn place(folder: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(folder).ok().map(|meta| (meta.dev(), meta.ino()))
}

impl Watch {
    /// Starts watching the home and the programs' folders that exist. `Err` is the reason why the system refuses.
    pub fn begin(home: &Path, roots: Vec<Root>, hints: Arc<Hints>) -> Result<Watch, String> {
        let known = Arc::new(Mutex::new(Known { home: home.to_owned(), roots, gone: HashSet::new() }));
        let config = Config::default().with_event_kinds(EventKindMask::CORE).with_follow_symlinks(false);
        let told = Arc::clone(&known);
        let heard = move |event: notify::Result<Event>| match event {
            Ok(event) => {
                let mut known = told.lock().unwrap_or_else(PoisonError::into_inner);
                hints.leave(|seen| known.hear(&event, seen));
            }
            Err(_) => hints.leave(|seen| seen.all = true),
        };
        let watcher = RecommendedWatcher::new(heard, config).map_err(|e| why(&e))?;
        let mut watch = Watch { watcher, known, watched: Vec::new() };
        watch.look_for_folders()?;
        Ok(watch)
    }

    /// Watches the home's folders and the programs' folders as they are now, anew where another folder is in the place of
    /// a watched one; for missing folders, the nearest one above. Returns whether any of the programs' folders was not
    /// watched before.
    pub fn look_for_folders(&mut self) -> Result<bool, String> {
        let (home, roots, gone) = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for root in &mut known.roots {
                root.path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
            }
            let roots: Vec<PathBuf> = known.roots.iter().map(|root| root.path.clone()).collect();
            (known.home.clone(), roots, std::mem::take(&mut known.gone))
        };
        let is_here = |watched: &Watched| {
            place(&watched.path) == watched.place && !gone.iter().any(|gone| watched.path.starts_with(gone))
        };
        let (here, lost) = std::mem::take(&mut self.watched).into_iter().partition(is_here);
        self.watched = here;
        for Watched { path, .. } in lost {
            // A folder that was moved away is still watched under its old path; one that was removed is not.
            let _ = self.watcher.unwatch(&path);
        }
        for folder in [None, Some(layout::STATE), Some(layout::SPOOL)] {
            let folder = folder.map_or(home.clone(), |below| home.join(below.as_str()));
            self.add(folder, RecursiveMode::NonRecursive)?;
        }
        let mut is_new = false;
        for root in roots {
            let is_there = root.is_dir();
            // The system does not tell of a folder that it was moved along with the one above, so that is watched, too.
            if let Some(above) = root.ancestors().skip(1).find(|above| above.is_dir())
                && above.parent().is_some()
            {
                self.add(above.to_owned(), RecursiveMode::NonRecursive)?;
            }
            if is_there {
                is_new |= self.add(root, RecursiveMode::Recursive)?;
            }
        }
        Ok(is_new)
    }

    /// Returns whether the folder is watched from now on in this way, and was not before.
    fn add(&mut self, path: PathBuf, mode: RecursiveMode) -> Result<bool, String> {
        let is_enough = |was: RecursiveMode| was == mode || was == RecursiveMode::Recursive;
        if self.watched.iter().any(|watched| watched.path == path && is_enough(watched.mode)) {
            return Ok(false);
        }
        // The place is taken first: if the folder is replaced meanwhile, the next look finds another one.
        let place = place(&path);
        match self.watcher.watch(&path, mode) {
            Ok(()) => {
                // A folder above a missing one may be a program's folder itself; it has one watch, of the wider mode.
                self.watched.retain(|watched| watched.path != path);
                self.watched.push(Watched { path, mode, place });
            }
            Err(e) if is_limit(&e) => return Err(why(&e)),
            // The folder is gone or cannot be read: it is covered by the regular look at everything.
            Err(_) => return Ok(false),
        }
        Ok(true)
    }
}

impl Known {
    fn hear(&mut self, event: &Event, seen: &mut Seen) {
        seen.all |= event.need_rescan();
        let is_going = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        for path in &event.paths {
            let ours = [layout::STATE, layout::SPOOL].map(|below| self.home.join(below.as_str()));
            let mut folders = self.roots.iter().map(|root| &root.path).chain(&ours);
            if is_going && folders.any(|folder| folder.starts_with(path)) {
                self.gone.insert(path.clone());
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    use heirloom_harness::HostPaths;

    #[test]
    fn a_limit_is_told_from_other_errors_and_named() {
        let io = |code| notify::Error::io(std::io::Error::from_raw_os_error(code));
        let cases = [
            (notify::Error::new(ErrorKind::MaxFilesWatch), true, "fs.inotify.max_user_watches"),
            (io(24), true, "open files"),
            (io(23), true, "fs.inotify.max_user_instances"),
            (io(28), true, "os error 28"),
            (io(13), false, "os error 13"),
        ];
        for (error, limit, named) in cases {
            assert_eq!(is_limit(&error), limit, "{error:?}");
            assert!(why(&error).contains(named), "{}", why(&error));
        }
    }

    /// The system tells nothing of a folder far above that is moved. The regular look at everything finds out.
    #[test]
    fn a_folder_that_moved_along_with_one_far_above_is_watched_again_after_the_next_look() {
        let (home, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let user = user.path().canonicalize().unwrap();
        for folder in [layout::STATE, layout::SPOOL] {
            std::fs::create_dir_all(home.path().join(folder.as_str())).unwrap();
        }
        let sessions = user.join("x/far/above/claude/projects");
        std::fs::create_dir_all(&sessions).unwrap();
        let claude_config_dir = Some(user.join("x/far/above/claude"));
        let programs =
            heirloom_harness::on_machine(&HostPaths { home: user.clone(), claude_config_dir, ..HostPaths::default() });
        let hints = Arc::new(Hints::default());
        let mut watch = Watch::begin(home.path(), roots(&programs), Arc::clone(&hints)).unwrap();
        assert_eq!(watch.look_for_folders(), Ok(false), "all is watched already");

        std::fs::rename(user.join("x/far"), user.join("x/away")).unwrap();
        std::fs::create_dir_all(&sessions).unwrap();
        assert_eq!(watch.look_for_folders(), Ok(true));
        let session = sessions.join("5a1b9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b.jsonl");
        std::fs::write(&session, "{}\n").unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !hints.wait(until).files.contains(&session) {
            assert!(Instant::now() < until, "the new folder is not watched");
        }
    }
}

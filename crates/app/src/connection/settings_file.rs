//! A settings file of another program: found without following a link, read whole, and replaced with the same care as
//! our own files. The replacement fails if the file changed since it was read, so nothing the program saves meanwhile
//! is lost.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use heirloom_engine::clock::Clock;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::{Home, HomeLock, Publication, Published, RelPath, Rooted, digest};

/// The largest settings file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// A settings file and its contents.
pub struct SettingsFile {
    /// Path of the file, for people and for the record of changes.
    pub path: PathBuf,
    /// The text; `None` if there is no file.
    pub now: Option<String>,
    /// Reason why the file cannot be changed although it can be read.
    pub fixed: Option<Error>,
    root: Option<Rooted>,
    below: Option<RelPath>,
}

impl SettingsFile {
    /// Finds and reads `folder/name`. Links are allowed in the path of the user's home, or of the folder that an
    /// environment variable names, and nowhere below.
    pub fn find(home: &Path, folder: &Path, name: &str) -> Result<SettingsFile> {
        let path = folder.join(name);
        let anchor = match folder.starts_with(home) {
            true => home,
            false => folder.parent().unwrap_or(folder),
        };
        let below = path.strip_prefix(anchor).ok().and_then(Path::to_str);
        let Some(below) = below.filter(|_| path.is_absolute()) else {
            return Err(Error::refused(format!("{} is no absolute path in UTF-8", path.display()))
                .hint("set the variable that names the program's folder to such a path"));
        };
        if let Some(fixed) = link(anchor, below, &path) {
            // Reading through the link is harmless, and a person may have added our hooks by hand.
            let now = std::fs::read_to_string(&path).ok();
            return Ok(SettingsFile { path, now, fixed: Some(fixed), root: None, below: None });
        }
        let below = RelPath::parse(below)?;
        let root = match Home::foreign(anchor) {
            Ok(root) => root,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Ok(SettingsFile { path, now: None, fixed: Some(e), root: None, below: None });
            }
            Err(e) => return Err(e),
        };
        let bytes = root.read(&below, LARGEST).map_err(|e| unchanged(e, &path))?;
        let now = bytes.map(String::from_utf8).transpose().map_err(|_| {
            Error::refused(format!("{} is not UTF-8", path.display())).hint("it was left as it is; correct it first")
        })?;
        let read_only = std::fs::symlink_metadata(&path).is_ok_and(|m| m.permissions().mode() & 0o200 == 0);
        let fixed = read_only.then(|| {
            Error::refused(format!("{} is read-only", path.display()))
                .hint("make it writable (chmod u+w) if Heirloom may change it")
        });
        Ok(SettingsFile { path, now, fixed, root: Some(root), below: Some(below) })
    }

    /// Returns the missing folders above the file, outermost first.
    pub fn missing_folders(&self) -> Vec<PathBuf> {
        let above = self.path.ancestors().skip(1).take_while(|p| !p.exists());
        let mut missing: Vec<PathBuf> = above.map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    /// Replaces the text of the file, or removes it; its present text must be `from`. The change is durable when this
    /// returns; on an error the file is unchanged.
    pub fn write(&self, held: &HomeLock, from: Option<&str>, to: Option<&str>) -> Result<()> {
        let (Some(root), Some(below)) = (&self.root, &self.below) else {
            return Err(Error::refused(format!("{} cannot be changed", self.path.display())));
        };
        let base = from.map(|text| digest(text.as_bytes()));
        let Some(to) = to else {
            let Some(expected) = base else { return Ok(()) };
            let mut keep = |_: &[u8]| Err(self.busy());
            return match root.remove_exactly(held, below, expected, &mut keep)? {
                true => Ok(()),
                false => Err(self.busy()),
            };
        };
        if let Some(parent) = below.parent() {
            root.create_dir_all(&parent).map_err(|e| unchanged(e, &self.path))?;
            // A command that was killed may have left temporary files here; old ones are removed.
            let _ = root.remove_temporaries_below(&parent, Clock::System.now());
        }
        // The bytes were read a moment ago and are compared again in the exchange, so there is no need to wait until
        // the file is quiet: an edit saved in between is given back.
        let what = Publication { path: below, bytes: to.as_bytes(), base, own: base };
        match root.publish(held, &what, Clock::System.now(), &mut |_| Err(self.busy()))? {
            Published::Written(_) | Published::Unchanged(_) => Ok(()),
            Published::Moved | Published::Deferred { .. } | Published::Displaced(_) => Err(self.busy()),
        }
    }

    /// Removes a folder above the file, if the folder is empty.
    pub fn remove_folder(&self, folder: &Path) -> Result<()> {
        let (Some(root), Some(below)) = (&self.root, &self.below) else { return Ok(()) };
        let mut above = below.parent();
        while let Some(path) = above {
            if self.path.ends_with(below.as_str()) && folder.ends_with(path.as_str()) {
                return root.remove_empty_dir(&path).map(drop);
            }
            above = path.parent();
        }
        Ok(())
    }

    fn busy(&self) -> Error {
        Error::new(ErrorKind::Busy, format!("{} was changed by another program at this moment", self.path.display()))
            .hint("nothing was changed; run the same command again")
    }
}

/// Returns the path of a file behind the links above it, whether the file exists or not.
pub fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
    match there {
        Some((above, real)) if above != path => path.strip_prefix(above).map_or(real.clone(), |rest| real.join(rest)),
        Some((_, real)) => real,
        None => path.to_owned(),
    }
}

/// Returns the error for the first link between the anchor and the file; it names the link's target.
fn link(anchor: &Path, below: &str, path: &Path) -> Option<Error> {
    let mut at = anchor.to_owned();
    for name in Path::new(below).components() {
        at.push(name);
        let meta = std::fs::symlink_metadata(&at).ok()?;
        if meta.is_symlink() {
            let what = match at.exists() {
                true => format!("{} is a symlink; the settings are really {}", at.display(), real(path).display()),
                false => format!("{} is a symlink that points to nothing", at.display()),
            };
            return Some(Error::refused(what).because(super::ByHand).hint(
                "what keeps them there would not know of a change; put the lines below in by hand, in the real file",
            ));
        }
    }
    None
}

/// Adds to an error about another program's file that nothing was changed; the hint about our own home is replaced.
fn unchanged(error: Error, path: &Path) -> Error {
    let hint = match error.kind() {
        ErrorKind::Refused => format!("{} was left as it is", path.display()),
        _ => return error,
    };
    error.hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_since_it_was_read_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::create(&folder.path().join("home")).unwrap();
        let held = home.lock("connect").unwrap();
        let user = folder.path().join("user");
        let settings = user.join(".claude/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        let look = || SettingsFile::find(&user, &user.join(".claude"), "settings.json").unwrap();
        // The file is created, changed and removed by the program after it was read.
        let file = look();
        std::fs::write(&settings, "theirs").unwrap();
        let busy = |result: Result<()>| assert_eq!(result.unwrap_err().kind(), ErrorKind::Busy);
        busy(file.write(&held, None, Some("ours")));
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), "theirs");
        let file = look();
        std::fs::write(&settings, "later").unwrap();
        busy(file.write(&held, file.now.as_deref(), Some("ours")));
        busy(file.write(&held, file.now.as_deref(), None));
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), "later");
        let file = look();
        std::fs::remove_file(&settings).unwrap();
        busy(file.write(&held, file.now.as_deref(), Some("ours")));
        assert!(!settings.exists());
        // Without a change in between, the write succeeds at once, however recent the file is.
        std::fs::write(&settings, "fresh").unwrap();
        look().write(&held, Some("fresh"), Some("ours")).unwrap();
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), "ours");
        let names: Vec<_> = std::fs::read_dir(user.join(".claude")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["settings.json"], "no temporary file stays");
    }
}

//! Handles for folders outside the home: an assistant home used in place (another program's workspace), which passes
//! the same checks as a home, and folders with the settings of other programs.

use std::path::Path;

use super::{Home, Rooted, check_not_writable_by_others, check_owner, open_root};
use crate::error::{Error, ErrorKind, Result};

impl Home {
    /// Opens a folder outside the home as a tree of its own. The folder must exist, belong to this user, be writable by
    /// no other user, and neither contain the home nor lie inside it.
    pub fn open_elsewhere(&self, root: &Path) -> Result<Rooted> {
        let (dir, shown) = open_root(root).map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::not_found(format!("there is no folder {}", root.display()))
                .hint("give the path of one that is there"),
            _ => e,
        })?;
        let stat = rustix::fs::fstat(&dir).map_err(|e| Error::io("examine", &shown, e))?;
        check_owner(&shown, &stat)?;
        check_not_writable_by_others(&shown, &stat)?;
        if shown.starts_with(self.root()) || self.root().starts_with(&shown) {
            return Err(Error::refused(format!(
                "{} and the home {} lie in each other",
                shown.display(),
                self.root().display()
            ))
            .hint("choose a folder beside the home"));
        }
        Ok(Rooted::new(dir, shown))
    }

    /// Opens a folder that contains files of other programs, so that their settings are changed with the same care as
    /// our own files ([`Rooted::publish`]). The path of the folder may contain symlinks, paths below it may not. The
    /// folder's owner and mode are not checked, since the folder belongs to the other program; each file is checked to
    /// belong to this user.
    pub fn foreign(folder: &Path) -> Result<Rooted> {
        let (dir, shown) = open_root(folder).map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::not_found(format!("there is no folder {}", folder.display())),
            _ => e,
        })?;
        Ok(Rooted::new(dir, shown))
    }
}

//! An assistant home that stays where it is: another program's workspace, used in place. The same checks as for a home,
//! and the same handle below it. Also the handle for settings of other programs, which are theirs.

use std::path::Path;

use super::{Home, Rooted, check_not_writable_by_others, check_owner, open_root};
use crate::error::{Error, ErrorKind, Result};

impl Home {
    /// Opens a folder outside the home as a tree of its own. It must be there, be ours, be written by nobody else, and
    /// neither lie in the home nor hold it.
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

    /// A handle of a folder above files of other programs, for changing their settings with the same care as our own
    /// files ([`Rooted::publish`]). The way to the folder may lead over symlinks, nothing below it may. Who owns the
    /// folder and who else may write there is the other program's business; that a file is ours is checked with each.
    pub fn foreign(folder: &Path) -> Result<Rooted> {
        let (dir, shown) = open_root(folder).map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::not_found(format!("there is no folder {}", folder.display())),
            _ => e,
        })?;
        Ok(Rooted::new(dir, shown))
    }
}

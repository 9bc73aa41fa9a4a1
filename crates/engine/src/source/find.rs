//! Finds the session files in the folders of a program.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// Refuses a link in a program's folder: a symbolic link may lead to any file of the user, and so may a second hard
/// link. A process that can write there could otherwise have another file stored as a session (R14.3).
pub fn is_a_file_of_its_own(path: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let meta = path.symlink_metadata().map_err(|e| Error::io("look at", path, e))?;
    if meta.is_symlink() {
        return Err(Error::refused(format!("{} is a symbolic link, which is not followed here", path.display()))
            .hint("name the file it points to: import PATH"));
    }
    if meta.is_file() && meta.nlink() > 1 {
        return Err(Error::refused(format!("{} has a second hard link and is not read here", path.display()))
            .hint("if it is a session, name it: import PATH"));
    }
    Ok(())
}

/// Returns the files below `root` that `claims` accepts, sorted by time of change, so that originals come before their
/// copies. Symbolic links are not followed: they are errors, and so are files with a second hard link. Files that vanish
/// meanwhile are skipped; entries that cannot be read are returned as errors.
pub fn find(root: &Path, claims: &dyn Fn(&Path) -> bool) -> (Vec<PathBuf>, Vec<Error>) {
    /// Deeper than any program's folders; bounds the walk in a loop of bind mounts.
    const MAX_DEPTH: usize = 12;
    let mut found: Vec<(std::time::SystemTime, PathBuf)> = Vec::new();
    let mut errors = Vec::new();
    let mut folders = vec![(root.to_owned(), 0usize)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => {
                errors.push(Error::io("list", &folder, e));
                continue;
            }
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < MAX_DEPTH {
                    folders.push((path, depth + 1));
                }
            } else if kind.is_symlink() && path.is_dir() {
                let what = format!("{} is a symbolic link to a folder, which is not followed", path.display());
                errors.push(Error::refused(what).hint("import what it leads to by its own name: ⟨import PATH⟩"));
            } else if claims(&path) {
                match is_a_file_of_its_own(&path) {
                    Ok(()) => {}
                    Err(e) if e.kind() == ErrorKind::NotFound => continue,
                    Err(e) => {
                        errors.push(e);
                        continue;
                    }
                }
                let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
                found.push((meta.modified().unwrap_or(std::time::UNIX_EPOCH), path));
            }
        }
    }
    found.sort();
    (found.into_iter().map(|(_, path)| path).collect(), errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_a_programs_folder_are_named_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (root, secret) = (dir.path().join("root"), dir.path().join("secret"));
        std::fs::create_dir(&root).unwrap();
        std::fs::write(&secret, "words of somebody\n").unwrap();
        std::fs::write(root.join("own.jsonl"), "{}\n").unwrap();
        std::os::unix::fs::symlink(&secret, root.join("linked.jsonl")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("gone"), root.join("dangling.jsonl")).unwrap();
        std::fs::hard_link(&secret, root.join("second.jsonl")).unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("folder")).unwrap();
        let (found, errors) = find(&root, &|path| path.extension().is_some());
        assert_eq!(found, [root.join("own.jsonl")]);
        let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        errors.sort();
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(errors[0].contains("dangling.jsonl is a symbolic link"), "{errors:?}");
        assert!(errors[1].contains("folder is a symbolic link to a folder"), "{errors:?}");
        assert!(errors[2].contains("linked.jsonl is a symbolic link"), "{errors:?}");
        assert!(errors[3].contains("second.jsonl has a second hard link"), "{errors:?}");
    }
}

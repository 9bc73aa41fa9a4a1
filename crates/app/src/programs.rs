//! The outside programs on this machine: finds their sessions, and tells which program and form a named file has.

use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::scope::SessionKey;
use heirloom_engine::source::{file::LineFile, find::find};
pub use heirloom_harness::on_machine::quoted;
use heirloom_harness::{ALL, Form, Harness, HostPaths};

/// Number of bytes at the beginning of a file that are read to recognise its program.
const SNIFF_BYTES: usize = 64 * 1024;

/// A program's sessions on this machine.
pub struct Found {
    pub harness: &'static dyn Harness,
    /// Folder with the program's sessions, if it exists.
    pub root: Option<PathBuf>,
    pub files: Vec<PathBuf>,
    pub bytes: u64,
    /// Folders that could not be listed.
    pub errors: Vec<Error>,
}

/// Looks for every program's sessions at their usual places.
pub fn look(host: &HostPaths, only: Option<&str>) -> Vec<Found> {
    ALL.iter()
        .copied()
        .filter(|h| only.is_none_or(|name| h.spec().name == name))
        .filter_map(|harness| {
            let roots = harness.roots(host);
            if roots.is_empty() {
                return None;
            }
            let mut found = Found { harness, root: None, files: Vec::new(), bytes: 0, errors: Vec::new() };
            for root in roots {
                if !root.exists() {
                    continue;
                }
                let (files, errors) = find(&root, &|path| harness.claims(path).is_some());
                found.errors.extend(errors);
                found.files.extend(files);
                found.root.get_or_insert(root);
            }
            found.bytes = found.files.iter().map(|f| std::fs::metadata(f).map_or(0, |m| m.len())).sum();
            Some(found)
        })
        .collect()
}

/// Returns the program and form of a file: by the option, the file's name, or its first bytes.
pub fn whose(path: &Path, named: Option<&'static dyn Harness>) -> Result<(&'static dyn Harness, Form)> {
    let mut file = LineFile::open(path)?;
    let head = file.head(SNIFF_BYTES).map_err(|e| Error::io("read", path, e))?;
    let form = if head.starts_with(b"SQLite format 3\0") { Form::Foreign } else { Form::Lines };
    if let Some(harness) = named {
        return Ok((harness, form));
    }
    let found = ALL.iter().copied().find(|h| h.recognises(path, &head));
    found.map(|h| (h, form)).ok_or_else(|| {
        Error::usage(format!("{} is not a session file of a program Heirloom knows", path.display()))
            .hint("say whose it is with --harness, or --format turns for plain lines")
    })
}

/// Returns the name of a session's program, for people.
pub fn title(key: &SessionKey) -> &'static str {
    heirloom_harness::by_name(key.harness()).map_or("unknown program", |h| h.spec().title)
}

/// Returns a path as people write it, with `~` for their home.
pub fn tilde(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if !home.as_os_str().is_empty() => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    }
}

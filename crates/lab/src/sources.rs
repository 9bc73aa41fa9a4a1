//! Finds session files of the outside programs, and tells which program each belongs to.

use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::source::{file::LineFile, find::find};
use heirloom_harness::{ALL, Form, Harness, HostPaths};

/// Number of bytes at the beginning of a file that are read to recognise its program.
const SNIFF_BYTES: usize = 64 * 1024;

/// Files to import.
pub struct Sources {
    pub files: Vec<(&'static dyn Harness, Form, PathBuf)>,
}

impl Sources {
    /// Collects the files and folders named; if none is named, the usual places of every program. `NotFound` if there
    /// are no files, `Usage` for a file of no known program.
    pub fn of(paths: &[PathBuf]) -> Result<Sources> {
        let mut sources = Sources { files: Vec::new() };
        if paths.is_empty() {
            sources.usual_places();
        }
        for path in paths {
            sources.add(path)?;
        }
        match sources.files.is_empty() {
            false => Ok(sources),
            true if paths.is_empty() => Err(Error::not_found("no sessions were found at the programs' usual places")
                .hint("name session files or folders with some")),
            true => Err(Error::not_found("there is no session file in the folders named")
                .hint("name files of Claude Code, Codex, OpenCode or OpenClaw, or lines of plain turns")),
        }
    }

    fn usual_places(&mut self) {
        let host = host();
        for harness in ALL.iter().copied() {
            for root in harness.roots(&host).into_iter().filter(|root| root.exists()) {
                let (files, _) = find(&root, &|path| harness.claims(path).is_some());
                self.files.extend(files.into_iter().filter_map(|f| Some((harness, harness.claims(&f)?, f))));
            }
        }
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        if !path.is_dir() {
            let (harness, form) = whose(path)?;
            self.files.push((harness, form, path.to_owned()));
            return Ok(());
        }
        let lines = |p: &Path| p.extension().is_some_and(|e| e == "jsonl");
        let (files, errors) = find(path, &|p| ALL.iter().any(|h| h.claims(p).is_some()) || lines(p));
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        for file in files {
            match whose(&file) {
                Ok((harness, form)) => self.files.push((harness, form, file)),
                // A folder may hold files of other kinds, which are ignored.
                Err(e) if e.kind() == ErrorKind::Usage => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Returns the program and form of a file, by its name and first bytes.
fn whose(path: &Path) -> Result<(&'static dyn Harness, Form)> {
    let mut file = LineFile::open(path)?;
    let head = file.head(SNIFF_BYTES).map_err(|e| Error::io("read", path, e))?;
    let form = if head.starts_with(b"SQLite format 3\0") { Form::Foreign } else { Form::Lines };
    let harness = ALL.iter().copied().find(|h| h.recognises(path, &head)).ok_or_else(|| {
        Error::usage(format!("{} is not a session file of a program Heirloom knows", path.display()))
            .hint("name files of Claude Code, Codex, OpenCode or OpenClaw, or lines of plain turns")
    })?;
    Ok((harness, form))
}

/// Returns the programs' places on this machine, from the environment, as the product does.
fn host() -> HostPaths {
    HostPaths {
        home: user_home().unwrap_or_default(),
        claude_config_dir: variable("CLAUDE_CONFIG_DIR"),
        codex_home: variable("CODEX_HOME"),
        xdg_config_home: variable("XDG_CONFIG_HOME").filter(|p| p.is_absolute()),
        xdg_data_home: variable("XDG_DATA_HOME").filter(|p| p.is_absolute()),
        openclaw_state_dir: variable("OPENCLAW_STATE_DIR")
            .or_else(|| variable("OPENCLAW_HOME").map(|own| own.join(".openclaw"))),
        openclaw_config_path: variable("OPENCLAW_CONFIG_PATH"),
        system: Some(PathBuf::from("/")),
    }
}

/// Returns the home directory of the person who measures.
pub fn user_home() -> Option<PathBuf> {
    variable("HOME")
}

/// Returns the cache folder of the person who measures, in which temporary homes are made.
pub fn cache() -> Option<PathBuf> {
    variable("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| user_home().map(|h| h.join(".cache")))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

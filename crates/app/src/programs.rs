//! The outside programs, bound to the engine: where their sessions lie on this machine, whose a named file is, and how
//! it is read.

use std::path::{Path, PathBuf};

use heirloom_engine::capture::{Capture, Program};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::ledger::Read;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::redact::redact;
use heirloom_engine::scope::{AgentId, SessionKey};
use heirloom_engine::source::file::{LineFile, find};
use heirloom_engine::transcript::read::{self, SessionRow};
use heirloom_harness::{ALL, Form, Harness, HostPaths};
use serde_json::Value;

use crate::config;
use crate::context::Context;
use crate::print::safe_line;

/// How much of a file is looked at to tell whose it is.
const SNIFF_BYTES: usize = 64 * 1024;

/// A program's sessions on this machine.
pub struct Found {
    pub harness: &'static dyn Harness,
    /// The folder, where there is one.
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

/// Reads one store of a program.
pub fn capture(
    capture: &mut Capture,
    harness: &'static dyn Harness,
    agent: &AgentId,
    path: &Path,
    form: Form,
) -> Result<()> {
    with_program(harness, |program| match form {
        Form::Lines => capture.file(program, agent, path),
        Form::Foreign => capture.database(program, agent, path),
    })
}

/// Reads the store a hook named (`{"harness", "agent", "path"}`); without a path every store of that program. One that is
/// gone is nothing to read.
pub fn read_store(context: &Context, payload: &str, actor: &str) -> Result<()> {
    let wanted: Value = serde_json::from_str(payload).unwrap_or_default();
    let text = |field: &str| wanted[field].as_str().filter(|text| !text.is_empty());
    let Some(harness) = text("harness").and_then(heirloom_harness::by_name) else { return Ok(()) };
    let agent = text("agent").and_then(|id| AgentId::parse(id).ok()).unwrap_or_else(|| context.agent().clone());
    let host = config::host();
    let stores = match text("path") {
        Some(path) => vec![PathBuf::from(path)],
        None => look(&host, Some(harness.spec().name)).into_iter().flat_map(|found| found.files).collect(),
    };
    let user_home = Some(host.home.as_path()).filter(|h| !h.as_os_str().is_empty());
    let mut reading = Capture::new(&context.ledger, None, actor, &context.scratch()?, user_home)?;
    for path in stores.iter().filter(|path| path.exists()) {
        let Some(form) = harness.claims(path) else { continue };
        capture(&mut reading, harness, &agent, path, form)?;
    }
    reading.finish().map(drop)
}

/// The engine's view of a program.
pub fn with_program<T>(harness: &'static dyn Harness, f: impl FnOnce(&Program) -> T) -> T {
    let spec = harness.spec();
    f(&Program {
        name: spec.name,
        global_ids: spec.global_ids,
        place: &|path| harness.place(path),
        decoder: &|placement, state| harness.decoder(placement, state),
        foreign: harness.foreign(),
    })
}

/// Whose file this is: by the option, by its name, or by its first bytes.
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

/// People's name of a session's program.
pub fn title(key: &SessionKey) -> &'static str {
    heirloom_harness::by_name(key.harness()).map_or("unknown program", |h| h.spec().title)
}

/// The command that resumes a session in its own program, with the folder it must be run in where that matters.
pub fn resume(key: &SessionKey, cwd: Option<&str>) -> Option<String> {
    let harness = heirloom_harness::by_name(key.harness())?;
    let command = harness.resume(key.native())?;
    match cwd {
        Some(cwd) if harness.spec().resumes_in_project => Some(format!("cd {} && {command}", quoted(cwd))),
        _ => Some(command),
    }
}

/// A path for a shell: as it is where it is plain, else in single quotes.
pub fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '@' | '%' | ',' | ':');
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// What a session is called: its title, else what a person said first, in one line and without credentials.
pub fn name_of(tx: &Read, opener: &Opener, session: &SessionRow) -> Result<String> {
    let name = match &session.title {
        Some(title) => Some(title.clone()),
        None => read::first_prompt(tx, opener, session.no)?,
    };
    // Whole first: half of a credential is not known any more.
    let name = name.unwrap_or_default();
    Ok(safe_line(&redact(&name).chars().take(300).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_cannot_smuggle_a_command_into_the_one_to_copy() {
        let key = SessionKey::new("claude-code", "258c7280-ae70-4798-800f-63464d01a85d");
        let shown = resume(&key, Some("/tmp/a'; rm -rf $HOME; echo 'b")).unwrap();
        assert_eq!(
            shown,
            r"cd '/tmp/a'\''; rm -rf $HOME; echo '\''b' && claude --resume 258c7280-ae70-4798-800f-63464d01a85d"
        );
        assert!(resume(&key, Some("/home/me/x")).unwrap().starts_with("cd /home/me/x && "));
        assert_eq!(resume(&SessionKey::new("turns", "x"), None), None);
    }
}

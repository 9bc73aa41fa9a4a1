//! Connects the programs on this machine: computes what a plan would change in their files, makes the change as a whole
//! or not at all, and reports the state of a connection. Each program's adapter defines what belongs in the files.

mod binary;
mod program;
mod record;
mod settings_file;

use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::home::Home;
use heirloom_engine::redact::redact;
use heirloom_harness::HostPaths;
use heirloom_harness::install::json::SettingsError;
use heirloom_harness::install::trust::{self, Trusted};
use heirloom_harness::install::{Change, Declined, InstallPlan, Installed, Standing};

pub use binary::{can_run, installed};
pub use program::{Program, connectable, hooked, named};
use record::Memo;
pub use record::Record;
use settings_file::SettingsFile;

/// The lock that prevents two commands from connecting at once.
const LOCK: &str = "connect";

/// A program, its plan, and its files as they are.
pub struct Target {
    pub program: Program,
    pub plan: InstallPlan,
    files: Vec<SettingsFile>,
    /// Suffix of this plan's paths in the record: two plans may change the same file.
    memo: &'static str,
}

/// A planned change of a file.
pub struct FileChange {
    file: usize,
    pub path: PathBuf,
    pub meaning: String,
    pub before: Option<String>,
    pub after: Option<String>,
    memo: Option<Memo>,
}

/// The state of a program's connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Connected,
    /// Connected in another way, which the plan does not touch.
    Otherwise(&'static str),
    Older,
    Partly,
    Not,
}

impl Target {
    /// Reads the files that contain the program's hooks. A usage error for a program without hooks.
    pub fn look(program: Program, host: &HostPaths, how: &Installed) -> Result<Target> {
        Target::of(program, host, "", |host| program.hooks_plan(host, how))
    }

    /// Reads the files that contain the program's MCP settings. `None` if the program cannot use MCP.
    pub fn look_mcp(program: Program, host: &HostPaths, how: &Installed) -> Result<Option<Target>> {
        match program.mcp_plan(host, how) {
            Some(_) => Target::of(program, host, "#mcp", |host| program.mcp_plan(host, how)).map(Some),
            None => Ok(None),
        }
    }

    fn of(
        program: Program,
        host: &HostPaths,
        memo: &'static str,
        plan: impl Fn(&HostPaths) -> Option<InstallPlan>,
    ) -> Result<Target> {
        // Codex resolves this folder, and keys the user's trust by the resolved path.
        let codex_home = host.codex_home.as_ref().map(|p| std::fs::canonicalize(p).unwrap_or_else(|_| p.clone()));
        let host = &HostPaths { codex_home, ..host.clone() };
        let plan = plan(host).ok_or_else(|| Error::usage(format!("{} cannot be connected", program.title())))?;
        let files =
            plan.edits.iter().map(|e| SettingsFile::find(&host.home, &e.folder, &e.path)).collect::<Result<_>>()?;
        Ok(Target { program, plan, files, memo })
    }

    /// Returns the key under which the record stores the change of a file.
    fn memo_at(&self, path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(self.memo);
        PathBuf::from(name)
    }

    fn texts(&self) -> Vec<Option<&str>> {
        self.files.iter().map(|p| p.now.as_deref()).collect()
    }

    fn first(&self) -> &str {
        self.files.first().and_then(|p| p.now.as_deref()).unwrap_or_default()
    }

    /// Returns the changes that connect the program; none if it is connected. `trust` also writes the user's trust in
    /// our hooks. Refused, with nothing planned, if a file has an unexpected form or may not be changed by us.
    pub fn connect(&self, record: &Record, trust: bool) -> Result<Vec<FileChange>> {
        if let Some((path, why)) = self.forbidden() {
            return Err(Error::refused(format!("{} forbids it: {why}", path.display()))
                .hint("ask the administrator of this machine; nothing was changed"));
        }
        let mut changes = Vec::new();
        if (self.plan.otherwise)(&self.texts()).is_some() {
            return Ok(changes);
        }
        let mut first = self.first().to_owned();
        for (i, (edit, file)) in self.plan.edits.iter().zip(&self.files).enumerate() {
            if matches!(edit.change, Change::Trust { .. }) && !trust {
                // The program reads its trust file, too: a file that cannot be parsed is reported before anything is
                // written.
                let text = file.now.as_deref().unwrap_or_default();
                trust::standing(text, &[]).map_err(|why| declined(Declined::Settings(why), &file.path))?;
                continue;
            }
            let now = file.now.as_deref();
            let memo = record.get(&self.memo_at(&file.path));
            let past = memo.map(|m| m.past(now));
            let edited = edit.change.put(now, past.as_ref(), &first).map_err(|why| declined(why, &file.path))?;
            if i == 0 {
                first.clone_from(&edited.text);
            }
            if now == Some(edited.text.as_str()) {
                continue;
            }
            if let Some(fixed) = &file.fixed {
                return Err(copy_of(fixed));
            }
            let mut folders = memo.map(|m| m.folders.clone()).unwrap_or_default();
            folders.extend(file.missing_folders().into_iter().filter(|f| !folders.contains(f)).collect::<Vec<_>>());
            changes.push(FileChange {
                file: i,
                path: file.path.clone(),
                meaning: edit.meaning.clone(),
                before: file.now.clone(),
                memo: Some(Memo::new(&edited, folders)),
                after: Some(edited.text),
            });
        }
        Ok(changes)
    }

    /// Returns the changes that disconnect the program, in the order they must be made.
    pub fn disconnect(&self, record: &Record) -> Result<Vec<FileChange>> {
        let mut changes = Vec::new();
        for (i, (edit, file)) in self.plan.edits.iter().zip(&self.files).enumerate().rev() {
            let Some(now) = &file.now else { continue };
            let past = record.get(&self.memo_at(&file.path)).map(|m| m.past(Some(now)));
            let after = edit
                .change
                .take(now, past.as_ref(), self.first())
                .map_err(|why| reworded_for_disconnect(&declined(why, &file.path)))?;
            if after.as_ref() == Some(now) {
                continue;
            }
            if let Some(fixed) = &file.fixed {
                return Err(reworded_for_disconnect(fixed));
            }
            changes.push(FileChange {
                file: i,
                path: file.path.clone(),
                meaning: match after {
                    Some(_) => "without what is Heirloom's; the rest stays as it is".into(),
                    None => "only Heirloom's, so it goes".into(),
                },
                before: file.now.clone(),
                after,
                memo: None,
            });
        }
        Ok(changes)
    }

    /// Makes the changes, all or none, and records how to undo them.
    pub fn apply(&self, home: &Home, changes: &[FileChange]) -> Result<()> {
        let held = home.lock(LOCK)?;
        let old = Record::load(home);
        let mut new = old.clone();
        // The record is written first, so that an interrupted change can be undone, too.
        for change in changes.iter().filter(|c| c.memo.is_some()) {
            new.set(&self.memo_at(&change.path), change.memo.clone());
        }
        if new != old {
            new.save(home, &held)?;
        }
        for (n, change) in changes.iter().enumerate() {
            let written = self.files[change.file].write(&held, change.before.as_deref(), change.after.as_deref());
            let Err(error) = written else { continue };
            for done in changes[..n].iter().rev() {
                if let Err(e) = self.files[done.file].write(&held, done.after.as_deref(), done.before.as_deref()) {
                    crate::print::note(&format!("{} could not be put back: {e}", done.path.display()));
                }
            }
            // The first error is returned; a failure of the cleanup is only printed.
            if let Err(e) = self.remove_folders(changes, &new).and_then(|()| old.save(home, &held)) {
                crate::print::note(&format!("what was made for it could not be cleared away: {e}"));
            }
            return Err(error);
        }
        if changes.iter().any(|c| c.memo.is_none()) {
            self.remove_folders(changes, &old)?;
            for file in &self.files {
                new.set(&self.memo_at(&file.path), None);
            }
            new.save(home, &held)?;
        }
        Ok(())
    }

    /// Removes folders that were created for files that are gone, if they are empty.
    fn remove_folders(&self, changes: &[FileChange], record: &Record) -> Result<()> {
        for change in changes {
            let folders = record.get(&self.memo_at(&change.path)).map(|m| m.folders.as_slice()).unwrap_or_default();
            for folder in folders.iter().rev() {
                self.files[change.file].remove_folder(folder)?;
            }
        }
        Ok(())
    }

    /// Returns the state of the connection. Fails if a file cannot be parsed.
    pub fn state(&self) -> Result<State> {
        let mut all = Vec::new();
        for (edit, file) in self.plan.edits.iter().zip(&self.files) {
            if matches!(edit.change, Change::Trust { .. }) {
                continue;
            }
            let standing = edit.change.standing(file.now.as_deref(), self.first());
            all.push(standing.map_err(|why| declined(why, &file.path))?);
        }
        if let Some(how) = (self.plan.otherwise)(&self.texts()) {
            return Ok(State::Otherwise(how));
        }
        let every = |what: Standing| all.iter().all(|s| *s == what);
        Ok(if every(Standing::Current) {
            State::Connected
        } else if every(Standing::Absent) {
            State::Not
        } else if all.iter().any(|s| matches!(s, Standing::Partly | Standing::Absent)) {
            State::Partly
        } else {
            State::Older
        })
    }

    /// Fails if one of the program's settings files cannot be read as what it is, connected or not.
    pub fn check(&self) -> Result<()> {
        for (edit, file) in self.plan.edits.iter().zip(&self.files) {
            let checked = match edit.change {
                Change::Trust { .. } => {
                    trust::standing(file.now.as_deref().unwrap_or_default(), &[]).map(drop).map_err(Declined::Settings)
                }
                _ => edit.change.standing(file.now.as_deref(), self.first()).map(drop),
            };
            match checked.map_err(|why| declined(why, &file.path)) {
                Err(e) if !e.was_caused_by::<ByHand>() => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns whether the program's files contain anything of ours, however it is connected.
    pub fn has_ours(&self) -> bool {
        let mut pairs = self.plan.edits.iter().zip(&self.files);
        pairs.any(|(e, p)| {
            !matches!(e.change, Change::Trust { .. })
                && e.change.standing(p.now.as_deref(), self.first()).is_ok_and(|s| s != Standing::Absent)
        })
    }

    /// Returns the user's trust in our hooks as the program stores it; the weakest state of all hooks. `None` if the
    /// program does not ask for trust.
    pub fn trusted(&self) -> Result<Option<Trusted>> {
        for (edit, file) in self.plan.edits.iter().zip(&self.files) {
            let Change::Trust { hooks, harness } = &edit.change else { continue };
            let declined = |why: SettingsError| declined(Declined::Settings(why), &file.path);
            let wanted = trust::of_hooks(self.first(), hooks, harness).map_err(declined)?;
            let found = trust::standing(file.now.as_deref().unwrap_or_default(), &wanted).map_err(declined)?;
            let worst = [Trusted::Off, Trusted::Modified, Trusted::No, Trusted::Yes];
            return Ok(worst.into_iter().find(|t| found.contains(t)));
        }
        Ok(None)
    }

    /// Returns the binaries that our hooks and plugins in the program's files call, each once.
    pub fn calls(&self) -> Vec<String> {
        let pairs = self.plan.edits.iter().zip(&self.files);
        let mut all: Vec<String> =
            pairs.flat_map(|(e, p)| e.change.calls(p.now.as_deref().unwrap_or_default())).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Returns the missing permissions, by their names in the program's settings.
    pub fn lacks(&self) -> Vec<String> {
        let pairs = self.plan.edits.iter().zip(&self.files);
        pairs.flat_map(|(e, p)| e.change.lacks(p.now.as_deref().unwrap_or_default())).collect()
    }

    /// Returns whether hooks of others follow ours in a file whose trust is keyed by position: they lose their trust
    /// when ours are removed.
    pub fn moves_trusted(&self) -> bool {
        let asks = self.plan.edits.iter().any(|e| matches!(e.change, Change::Trust { .. }));
        let mut pairs = self.plan.edits.iter().zip(&self.files);
        asks && pairs.any(|(e, p)| e.change.moves_others(p.now.as_deref().unwrap_or_default()))
    }

    /// Returns the program's own setting that keeps it from calling us, and the next step.
    pub fn obstacle(&self) -> Option<(&'static str, &'static str)> {
        (self.plan.obstacle)(&self.texts())
    }

    /// Returns a complaint the program will make although the connection works, and the next step.
    pub fn remark(&self) -> Option<(&'static str, &'static str)> {
        (self.plan.remark)(&self.texts())
    }

    /// Returns the administrator's file that forbids the connection, and the reason.
    pub fn forbidden(&self) -> Option<(PathBuf, &'static str)> {
        let mut files: Vec<PathBuf> = Vec::new();
        for path in &self.plan.policies {
            match std::fs::read_dir(path) {
                Ok(entries) => files.extend(entries.filter_map(|e| Some(e.ok()?.path()))),
                Err(_) => files.push(path.clone()),
            }
        }
        files.retain(|f| f.extension().is_some_and(|e| e == "json"));
        files.sort();
        files.into_iter().find_map(|file| {
            let why = (self.plan.forbids)(&std::fs::read_to_string(&file).ok()?)?;
            Some((file, why))
        })
    }

    /// Returns the files a person must edit because Heirloom may not, and the text to add. Files that already contain it
    /// are left out. `trust`: includes the settings that trust our hooks.
    pub fn by_hand(&self, trust: bool) -> Vec<(PathBuf, String)> {
        let (mut first, mut out) = (self.first().to_owned(), Vec::new());
        for (i, (edit, file)) in self.plan.edits.iter().zip(&self.files).enumerate() {
            let now = file.now.as_deref();
            // The person must correct such a file first; its error was reported.
            let Ok(edited) = edit.change.put(now, None, &first) else { continue };
            if i == 0 {
                first.clone_from(&edited.text);
            }
            let asks_trust = matches!(edit.change, Change::Trust { .. });
            if now == Some(edited.text.as_str()) || (asks_trust && !trust) {
                continue;
            }
            let text = match &edit.change {
                Change::Own(own) => Some(own.text.clone()),
                Change::Trust { .. } => Some(added(now.unwrap_or_default(), &edited.text)),
                change => change.by_hand(),
            };
            out.extend(text.map(|text| (settings_file::real(&file.path), text)));
        }
        out
    }
}

/// The lines of a text that an earlier one does not have.
fn added(before: &str, after: &str) -> String {
    let diff = similar::TextDiff::from_lines(before, after);
    let lines = diff.iter_all_changes().filter(|line| line.tag() == similar::ChangeTag::Insert);
    lines.map(|line| line.value().to_owned()).collect()
}

impl FileChange {
    /// Returns the change as a unified diff; credentials in the lines around it are hidden.
    pub fn diff(&self) -> String {
        let (old, new) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let name = self.path.display().to_string();
        let side = |there: bool| if there { name.as_str() } else { "/dev/null" };
        let diff = similar::TextDiff::from_lines(old, new);
        let header = (side(self.before.is_some()), side(self.after.is_some()));
        redact(&diff.unified_diff().context_radius(3).header(header.0, header.1).to_string()).into_owned()
    }

    /// Returns the kind of the change: `made`, `changed` or `removed`.
    pub fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "made",
            (_, None) => "removed",
            _ => "changed",
        }
    }
}

fn declined(why: Declined, path: &Path) -> Error {
    let path = path.display();
    let (what, next) = match &why {
        Declined::NotOurs => (
            format!("{path} was not written by Heirloom, or was changed since"),
            "it was left as it is; move it away and run the same command again",
        ),
        Declined::Settings(SettingsError::Malformed(wrong)) => (
            format!("{path} cannot be read: line {}: {}", wrong.line, wrong.what),
            "it was left as it is; correct it and run the same command again",
        ),
        Declined::Settings(SettingsError::DuplicateKey(key)) => {
            (format!("{path} says {key} twice"), "it was left as it is; keep one of them")
        }
        Declined::Settings(SettingsError::WrongType(what, key)) => (
            format!("in {path}, {key} is not {what}"),
            "it was left as it is; correct it and run the same command again",
        ),
        Declined::Settings(SettingsError::Included(key)) => (
            format!("in {path}, {key} comes from another file ($include)"),
            "it was left as it is; put the lines below in by hand, in that file",
        ),
    };
    let error = Error::refused(what).hint(next);
    if matches!(why, Declined::Settings(SettingsError::Included(_))) { error.because(ByHand) } else { error }
}

/// Cause of an error about a settings file that Heirloom may not change, although a person can put the lines in by hand.
#[derive(Clone, Copy, Debug)]
pub struct ByHand;

impl std::error::Error for ByHand {}

impl std::fmt::Display for ByHand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("only a person may change this file")
    }
}

/// Rewords an error of connecting for disconnecting: the lines must be removed by hand instead of added.
fn reworded_for_disconnect(error: &Error) -> Error {
    match error.was_caused_by::<ByHand>() {
        true => Error::new(error.kind(), error.to_string())
            .hint("it was left as it is; take the lines with heirloom in them out there by hand"),
        false => copy_of(error),
    }
}

/// Returns a copy of an error.
fn copy_of(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.to_string());
    let copy = if error.was_caused_by::<ByHand>() { copy.because(ByHand) } else { copy };
    match error.next_step() {
        Some(next) => copy.hint(next),
        None => copy,
    }
}

/// Returns our files that are missing or outdated in a folder a person named; writes them only if `home` is given.
/// Refused, with nothing written, if a file of somebody else has the name of one of ours.
pub fn own_folder(
    home: Option<&Home>,
    user: &Path,
    folder: &Path,
    files: &[(PathBuf, String)],
    is_ours: fn(&str) -> bool,
) -> Result<Vec<PathBuf>> {
    let mut changed = Vec::new();
    for (name, text) in files {
        let file = SettingsFile::find(user, folder, &name.to_string_lossy())?;
        if let Some(fixed) = &file.fixed {
            return Err(copy_of(fixed));
        }
        match &file.now {
            Some(now) if now == text => continue,
            Some(now) if !is_ours(now) => return Err(declined(Declined::NotOurs, &file.path)),
            _ => changed.push((file, text)),
        }
    }
    if let Some(home) = home {
        let held = home.lock(LOCK)?;
        for (file, text) in &changed {
            file.write(&held, file.now.as_deref(), Some(text))?;
        }
    }
    Ok(changed.into_iter().map(|(file, _)| file.path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(folder: &Path) -> HostPaths {
        HostPaths { home: folder.join("user"), system: Some(folder.to_owned()), ..HostPaths::default() }
    }

    #[test]
    fn an_administrator_can_forbid_it() {
        let folder = tempfile::tempdir().unwrap();
        let claude = Program::Hooked(heirloom_harness::by_name("claude-code").unwrap());
        let how = Installed { command: vec!["/opt/heirloom".into()] };
        std::fs::create_dir_all(folder.path().join("user/.claude")).unwrap();
        let plan = || Target::look(claude, &host(folder.path()), &how).unwrap().connect(&Record::default(), false);
        assert_eq!(plan().unwrap().len(), 1);
        let policies = folder.path().join("etc/claude-code");
        let drop_ins = policies.join("managed-settings.d");
        std::fs::create_dir_all(&drop_ins).unwrap();
        std::fs::write(policies.join("managed-settings.json"), "{\"model\": \"opus\"}").unwrap();
        assert_eq!(plan().unwrap().len(), 1);
        std::fs::write(drop_ins.join("10-hooks.json"), "{\"allowManagedHooksOnly\": true}").unwrap();
        let Err(error) = plan() else { panic!("it was planned") };
        assert_eq!(error.kind(), heirloom_engine::error::ErrorKind::Refused);
        assert!(error.to_string().contains("10-hooks.json forbids it"), "{error}");
    }
}

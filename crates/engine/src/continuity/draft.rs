//! Runtime drafts: files a program left in its private folder for a person to keep or to discard (R8.5).
//!
//! `runtime/<agent>/<harness>/drafts/` is not part of the memory: not in the file table, not searched, not shown on any
//! page. A draft is kept by promoting it to an artifact, and only then removed.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::artifact::{self, LONGEST, NewArtifact, Text};
use super::{Change, Item};
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::home::{self, Entry, Kind as FileType, RelPath, layout};
use crate::title::wordless;
use crate::tree::file_table::{self, Kind, State};
use crate::tree::journal::{Act, hex};
use crate::tree::provenance::{Origin, Provenance};
use crate::tree::{AssistantHome, TreeLock};

/// Most folder levels below a `drafts/` folder that are searched.
const DEEPEST: usize = 8;

/// The most drafts listed; programs can leave any number of files.
const MOST: usize = 5_000;

/// The kind of content of a draft.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    Markdown,
    Text,
    /// Not UTF-8: it can be discarded, not promoted.
    Binary,
    /// Longer than an artifact may be.
    Large,
    /// It cannot be read: it belongs to another user, or has a second hard link.
    Unreadable,
}

impl Form {
    pub fn name(self) -> &'static str {
        match self {
            Form::Markdown => "markdown",
            Form::Text => "text",
            Form::Binary => "binary",
            Form::Large => "large",
            Form::Unreadable => "unreadable",
        }
    }
}

/// A file a program left.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Draft {
    /// Name of the draft in commands: `<harness>/<file>`.
    #[serde(rename = "draft")]
    pub name: String,
    pub form: Form,
    /// Size in bytes.
    #[serde(rename = "bytes")]
    pub size: u64,
    /// Time of the last change, in milliseconds since 1970.
    pub modified_at: Millis,
}

/// Returns the drafts of all programs of the agent, by name, and a problem for each entry there that is not a draft.
pub fn list(at: &AssistantHome) -> Result<(Vec<Draft>, Vec<Problem>)> {
    let mut found: Vec<(String, RelPath, Entry)> = Vec::new();
    let mut problems = Vec::new();
    let runtime = layout::runtime(&at.agent);
    let programs = match at.home().list(&runtime) {
        Ok(programs) => programs,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok((Vec::new(), problems)),
        Err(e) => return Err(e),
    };
    for program in programs {
        let Some(harness) = program.name.to_str() else { continue };
        let Ok(drafts) = runtime.join(harness).and_then(|p| p.join(layout::DRAFTS)) else { continue };
        let mut take = |path: RelPath, entry: &Entry| {
            let name = format!("{harness}/{}", &path.as_str()[drafts.as_str().len() + 1..]);
            let what = match entry.kind {
                FileType::Directory => return,
                FileType::File => return found.push((name, path, entry.clone())),
                FileType::Symlink => "is a symlink, which is not followed",
                FileType::Other => "is no regular file; it is left alone",
            };
            let place = at.home().shown().join(path.as_str()).display().to_string();
            problems.push(Problem { place, offset: None, line: None, what: what.into() });
        };
        match at.home().walk(&drafts, DEEPEST, &mut take) {
            Ok(walked) => problems.extend(walked.problems),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => problems.push(Problem::of(&at.home().shown().join(drafts.as_str()), &e)),
        }
    }
    if found.len() > MOST {
        let what = format!("holds {} drafts; the first {MOST} are listed", found.len());
        let place = at.home().shown().join(runtime.as_str()).display().to_string();
        problems.push(Problem { place, offset: None, line: None, what });
        found.truncate(MOST);
    }
    let mut drafts = Vec::new();
    for (name, path, entry) in found {
        let form = match entry.stamp.size > LONGEST as u64 {
            true => Form::Large,
            false => match at.home().read(&path, LONGEST as u64) {
                Ok(Some(bytes)) => form_of(&path, &bytes),
                // The file was removed during the listing.
                Ok(None) => continue,
                Err(e) => {
                    problems.push(Problem::of(&at.home().shown().join(path.as_str()), &e));
                    Form::Unreadable
                }
            },
        };
        let Entry { stamp, .. } = entry;
        drafts.push(Draft { name, form, size: stamp.size, modified_at: stamp.modified_ns / 1_000_000 });
    }
    Ok((drafts, problems))
}

/// Makes an artifact of a draft, then removes the draft. If a crash came in between, the artifact exists already and
/// only the draft is removed. A draft the program has changed meanwhile stays.
pub fn promote(lock: &TreeLock, name: &str, title: Option<&str>) -> Result<Item> {
    let at = lock.at;
    let (path, file) = place(at, name)?;
    let bytes = read(at, &path, name)?;
    let form = form_of(&path, &bytes);
    if form == Form::Binary {
        return Err(Error::refused(format!("{} is no text, and an artifact is", shown(name))).hint(format!(
            "copy {} to where it belongs, then: ⟨draft discard {}⟩",
            at.home().shown().join(path.as_str()).display(),
            shown(name)
        )));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let digest = hex(&home::digest(&bytes));
    let known = at.read(|tx| file_table::list(tx, at.agent_no, Kind::Artifact, State::Active))?;
    let same = known.into_iter().find(|e| e.field("draft") == Some(name) && e.field("draft_digest") == Some(&digest));
    let item = match same {
        Some(entry) => {
            Item { id: entry.item.unwrap_or_default(), title: entry.title, path: entry.path, change: Change::Same }
        }
        None => {
            let stem = file.name().rsplit_once('.').map_or(file.name(), |(stem, _)| stem);
            let stem = if stem.trim().is_empty() { file.name() } else { stem };
            let new = NewArtifact {
                title: title.unwrap_or(stem).to_owned(),
                text: if form == Form::Markdown { Text::Markdown(text) } else { Text::Plain(text) },
                source: Provenance { origin: Origin::Program, ..Provenance::default() },
                kind: Some("draft".into()),
                created: at.ledger.now(),
                fields: Map::from_iter([
                    ("draft".to_owned(), Value::from(name)),
                    ("draft_digest".to_owned(), Value::from(digest.as_str())),
                ]),
            };
            let (act, item) = artifact::plan_to_add(lock, &new, Act::new("draft.promote"))?;
            let act = act.note("draft", path.as_str()).note("digest", digest.as_str()).note("item", wordless(&item.id));
            lock.perform(act, |_| Ok(()))?;
            item
        }
    };
    remove(at, &path, &digest)?;
    Ok(item)
}

/// Makes artifacts of drafts, one after the other. The first error ends this; artifacts made before it stay.
pub fn promote_all(lock: &TreeLock, names: &[String], title: Option<&str>) -> (Vec<Item>, Option<Error>) {
    let mut items = Vec::new();
    for name in names {
        match promote(lock, name, title) {
            Ok(item) => items.push(item),
            Err(e) => return (items, Some(e)),
        }
    }
    (items, None)
}

/// Discards a draft. The audit records which file it was, not its text.
pub fn discard(lock: &TreeLock, name: &str) -> Result<()> {
    let at = lock.at;
    let (path, _) = place(at, name)?;
    let digest = match read(at, &path, name) {
        Ok(bytes) => Some(hex(&home::digest(&bytes))),
        // The file is too large to be read as a whole.
        Err(e) if e.kind() == ErrorKind::Refused && is_large(at, &path)? => None,
        Err(e) => return Err(e),
    };
    at.write("draft.discard", |tx| {
        tx.note("draft", path.as_str());
        tx.note("digest", digest.clone());
        Ok(())
    })?;
    match digest {
        Some(digest) => remove(at, &path, &digest),
        None => at.home().remove(&path).map(|_| ()),
    }
}

/// Returns the path of a draft named `<harness>/<file>`; refused if it leads out of the drafts of that program.
fn place(at: &AssistantHome, name: &str) -> Result<(RelPath, RelPath)> {
    let hint = "name it as ⟨draft list⟩ does: HARNESS/FILE";
    let whole = RelPath::parse(name)
        .map_err(|e| Error::usage(format!("{} names no draft", shown(name))).because(e).hint(hint))?;
    let (harness, file) = whole.as_str().split_once('/').ok_or_else(|| {
        Error::usage(format!("{} names no draft: it has no program in front", shown(name))).hint(hint)
    })?;
    let file = RelPath::parse(file)?;
    let path = layout::runtime(&at.agent).join(harness)?.join(layout::DRAFTS)?.join(file.as_str())?;
    Ok((path, file))
}

fn read(at: &AssistantHome, path: &RelPath, name: &str) -> Result<Vec<u8>> {
    let found = at.home().read_with_stamp(path, LONGEST as u64)?;
    found
        .map(|(bytes, _)| bytes)
        .ok_or_else(|| Error::not_found(format!("there is no draft called {}", shown(name))).hint("see ⟨draft list⟩"))
}

fn is_large(at: &AssistantHome, path: &RelPath) -> Result<bool> {
    let entry = at.home().stat(path)?;
    Ok(entry.is_some_and(|e| e.kind == FileType::File && e.stamp.size > LONGEST as u64))
}

/// Removes a draft if its digest is still this one.
fn remove(at: &AssistantHome, path: &RelPath, digest: &str) -> Result<()> {
    match at.home().read_with_stamp(path, LONGEST as u64)? {
        Some((bytes, _)) if hex(&home::digest(&bytes)) == digest => at.home().remove(path).map(|_| ()),
        Some(_) => Err(Error::new(
            ErrorKind::Busy,
            format!("{} was written on meanwhile; it stays", at.home().shown().join(path.as_str()).display()),
        )
        .hint("run the command again when the program is done with it")),
        None => Ok(()),
    }
}

fn form_of(path: &RelPath, bytes: &[u8]) -> Form {
    let name = path.name().to_ascii_lowercase();
    match std::str::from_utf8(bytes) {
        // A NUL is valid UTF-8 but never occurs in text.
        Ok(text) if text.contains('\0') => Form::Binary,
        Err(_) => Form::Binary,
        Ok(_) if name.ends_with(".md") || name.ends_with(".markdown") => Form::Markdown,
        Ok(_) => Form::Text,
    }
}

fn shown(name: &str) -> String {
    format!("{:?}", name.chars().take(120).collect::<String>())
}

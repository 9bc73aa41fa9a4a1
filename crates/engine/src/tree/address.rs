//! Resolves the text by which a person names a file: an item id, or a path with or without a line number. Only files in
//! the file table are returned, so no name can lead out of the tree.

use std::path::Path;

use super::AssistantHome;
use super::file_table::{self, Entry, Kind, State};
use crate::error::{Error, ErrorKind, Result};
use crate::home::RelPath;

/// A file, and the line number given with its path.
#[derive(Clone, PartialEq, Debug)]
pub struct Addressed {
    pub entry: Entry,
    pub line: Option<usize>,
}

const FORMS: &str = "name it by id (l:…, p:…, m:…, a:…) or by its path in the assistant home, like memory/preference/tea.md or …/tea.md:12";

/// Whether a text can name a file: an item id, or the path of a Markdown file.
pub fn is_address(text: &str) -> bool {
    kind_of_id(text).is_some() || split_line(text).0.ends_with(".md")
}

/// Finds the file a text names, archived files included.
pub fn find(at: &AssistantHome, text: &str) -> Result<Addressed> {
    if let Some(kind) = kind_of_id(text) {
        return by_id(at, kind, text).map(|entry| Addressed { entry, line: None });
    }
    let (name, line) = split_line(text);
    let whole = by_path(at, text);
    match whole {
        // A file whose own name ends in a colon and a number takes precedence over `path:line`.
        Ok(Some(entry)) => return Ok(Addressed { entry, line: None }),
        Err(e) if line.is_none() => return Err(e),
        _ => {}
    }
    match by_path(at, name)? {
        Some(entry) => Ok(Addressed { entry, line }),
        None => Err(Error::not_found(format!("there is no file {} in the assistant home", shown(name))).hint(FORMS)),
    }
}

fn by_id(at: &AssistantHome, kind: Kind, id: &str) -> Result<Entry> {
    if let Some(entry) = at.read(|tx| file_table::item(tx, at.agent_no, id))? {
        return Ok(entry);
    }
    let named = |state| at.read(|tx| file_table::named(tx, at.agent_no, kind, state, id));
    match named(State::Active) {
        Err(e) if e.kind() == ErrorKind::NotFound => named(State::Archived).map_err(|_| {
            Error::not_found(format!("there is no {} {}", file_table::kind_in_words(kind), shown(id))).hint(FORMS)
        }),
        other => other,
    }
}

fn by_path(at: &AssistantHome, name: &str) -> Result<Option<Entry>> {
    let path = RelPath::parse(inside(at, name)?).map_err(|e| Error::usage(e.to_string()).hint(FORMS))?;
    at.read(|tx| file_table::at(tx, at.agent_no, &path))
}

/// Returns the part of an absolute path that lies below the tree's root. Paths are compared as text: nothing outside
/// the tree is looked at, not even for existence.
fn inside<'t>(at: &AssistantHome, name: &'t str) -> Result<&'t str> {
    if !name.starts_with('/') {
        return Ok(name);
    }
    let root = at.files.shown();
    let below = Path::new(name).strip_prefix(root).ok().and_then(Path::to_str).filter(|b| !b.is_empty());
    // `strip_prefix` folds `//` and `/./`; the remainder must end the name exactly as it was typed.
    below.filter(|b| name.ends_with(*b)).ok_or_else(|| {
        Error::refused(format!("{} is outside of the assistant home {}", shown(name), root.display())).hint(FORMS)
    })
}

fn kind_of_id(text: &str) -> Option<Kind> {
    let (prefix, rest) = text.split_once(':')?;
    let mut letters = prefix.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else { return None };
    let kind = Kind::ALL.iter().copied().find(|k| k.prefix() == Some(letter))?;
    (!rest.is_empty()).then_some(kind)
}

/// Splits `path:12` into path and line number.
fn split_line(text: &str) -> (&str, Option<usize>) {
    match text.rsplit_once(':') {
        Some((name, line)) if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()) => match line.parse() {
            Ok(line) if line > 0 => (name, Some(line)),
            _ => (text, None),
        },
        _ => (text, None),
    }
}

/// Returns the beginning of the text a person typed, on one line, for error messages.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    format!("{start:?}")
}

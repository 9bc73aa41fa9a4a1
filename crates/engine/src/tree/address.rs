//! Which file a person means: by its id, or by its path with or without a line. Only what the file table knows is given,
//! so that no name leads out of the tree.

use std::path::Path;

use super::AssistantHome;
use super::file_table::{self, Entry, Kind, State};
use crate::error::{Error, ErrorKind, Result};
use crate::home::RelPath;

/// A file, and the line that was named with it.
#[derive(Clone, PartialEq, Debug)]
pub struct Addressed {
    pub entry: Entry,
    pub line: Option<usize>,
}

const FORMS: &str = "name it by id (l:…, p:…, m:…, a:…) or by its path in the assistant home, like memory/preference/tea.md or …/tea.md:12";

/// Whether a text can be meant as a file: an item's id, or a path of a Markdown file.
pub fn is_address(text: &str) -> bool {
    kind_of_id(text).is_some() || split_line(text).0.ends_with(".md")
}

/// The file a text stands for; archived ones are found, too.
pub fn find(at: &AssistantHome, text: &str) -> Result<Addressed> {
    if let Some(kind) = kind_of_id(text) {
        return by_id(at, kind, text).map(|entry| Addressed { entry, line: None });
    }
    let (name, line) = split_line(text);
    let whole = by_path(at, text);
    match whole {
        // A file whose own name ends in a colon and a number comes first.
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

/// The part of an absolute path that lies in the tree. Compared as text: nothing outside is looked at, not even to see
/// whether it is there.
fn inside<'t>(at: &AssistantHome, name: &'t str) -> Result<&'t str> {
    if !name.starts_with('/') {
        return Ok(name);
    }
    let root = at.files.shown();
    let below = Path::new(name).strip_prefix(root).ok().and_then(Path::to_str).filter(|b| !b.is_empty());
    // `strip_prefix` folds `//` and `/./`; what is then left must stand at the end as it was written.
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

/// `path:12`, taken apart.
fn split_line(text: &str) -> (&str, Option<usize>) {
    match text.rsplit_once(':') {
        Some((name, line)) if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()) => match line.parse() {
            Ok(line) if line > 0 => (name, Some(line)),
            _ => (text, None),
        },
        _ => (text, None),
    }
}

/// The beginning of what was typed, on one line.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    format!("{start:?}")
}

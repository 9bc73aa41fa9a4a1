//! A Markdown file with YAML front matter, as people write it: it is read, changed and printed so that every byte
//! outside the change is kept. Storey 1.
//!
//! A document stores the bytes of the file; everything else is computed from them. A part that cannot be read (broken
//! front matter, invalid UTF-8) is returned as it is and never rewritten. A change to the front matter replaces the
//! lines of one key; the result is parsed again, and the change is undone if it did anything but what was asked.

mod flow;
mod front;
mod lines;
mod region;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::error::{Error, Result};

pub use front::Front;
pub use region::{Found, Placed, Region, RegionFault};

use front::{BOM, Owned};
use lines::{Fence, line_break, lines, split, without_break};
use region::Care;

/// Returns a text that can safely be put into a region before other texts: lines that look like markers are escaped,
/// and an open code fence is closed.
pub fn contained(text: &str) -> String {
    region::plain_content(text, "\n", Care { dashes: false, fences: false })
}

/// Number of occurrences of ` #` on a line that are tried as the beginning of its comment.
const COMMENT_TRIES: usize = 16;

/// The exact bytes of a file, and the structure found in them.
#[derive(Clone, Debug)]
pub struct Document {
    bytes: Vec<u8>,
    front: Front,
    fields: Map<String, Value>,
    yaml: std::ops::Range<usize>,
    /// Position where the body begins: after the front matter, or at the beginning if that is damaged.
    body: usize,
    body_line: usize,
    /// Position where the search for the first heading begins: after the front matter, even a damaged one if it is
    /// closed.
    prose: usize,
}

impl Default for Document {
    fn default() -> Document {
        Document::new()
    }
}

impl Document {
    /// Accepts any bytes; [`Document::front`] reports whether the front matter is damaged.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Document {
        let bytes = bytes.into();
        let found = front::find(&bytes);
        let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let (body, body_line) = match found.front {
            Front::Damaged(_) => (start, 1),
            _ => (found.behind, found.lines + 1),
        };
        let front::Found { front, fields, yaml, behind, .. } = found;
        Document { bytes, front, fields, yaml, body, body_line, prose: behind }
    }

    /// Returns an empty file.
    pub fn new() -> Document {
        Document::parse(Vec::new())
    }

    /// Returns the bytes of the file.
    pub fn print(&self) -> &[u8] {
        &self.bytes
    }

    pub fn front(&self) -> &Front {
        &self.front
    }

    /// Returns the top-level keys of the front matter; none if it is missing or damaged.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// Returns the value of a key, if it is a string.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Sets a key to a value, printed on one line. The line replaces the lines the key has now; a new key becomes the
    /// last one, or begins new front matter. A comment after a one-line value stays. Setting the value the key already
    /// has changes no byte.
    ///
    /// `Refused`, with nothing changed, if the front matter is damaged or written in a form that cannot be changed line
    /// by line (a flow mapping, anchors used elsewhere, indented keys).
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        self.editable(key)?;
        if self.fields.get(key) == Some(value) {
            return Ok(());
        }
        let mut expected = self.fields.clone();
        expected.insert(key.to_owned(), value.clone());
        let printed = flow::value(value);
        if self.front == Front::Missing {
            let end = line_break(&self.bytes);
            let front = format!("---{end}{}: {printed}{end}---{end}", flow::key(key));
            return self.replace(key, self.body..self.body, front.as_bytes(), &expected);
        }
        let yaml = self.yaml_text();
        let (place, line) = match self.owned(key)? {
            Some(owned) => {
                let first = self.first_line(&owned);
                let comment = self.comment(&owned, first);
                let gap = yaml[owned.colon..first.end].bytes().take_while(|b| *b == b' ').count();
                // The `key:` line of a block scalar or list does not show the gap used before values.
                let gap = if comment.start > owned.colon + gap && gap > 0 { gap } else { 1 };
                let end = if yaml[..first.end_with_break].ends_with("\r\n") { "\r\n" } else { "\n" };
                let line = format!(
                    "{}{:gap$}{printed}{}{end}",
                    &yaml[owned.lines.start..owned.colon],
                    "",
                    &yaml[comment.clone()]
                );
                (owned.lines, line)
            }
            None => (yaml.len()..yaml.len(), format!("{}: {printed}{}", flow::key(key), line_break(&self.bytes))),
        };
        let place = self.yaml.start + place.start..self.yaml.start + place.end;
        self.replace(key, place, line.as_bytes(), &expected)
    }

    /// Removes a key and its lines; comments and blank lines around it stay. `Refused` as in [`Document::set`].
    pub fn unset(&mut self, key: &str) -> Result<()> {
        self.editable(key)?;
        if !self.fields.contains_key(key) {
            return Ok(());
        }
        let mut expected = self.fields.clone();
        expected.remove(key);
        let Some(owned) = self.owned(key)? else { return Err(exotic(key)) };
        let place = self.yaml.start + owned.lines.start..self.yaml.start + owned.lines.end;
        self.replace(key, place, b"", &expected)
    }

    /// Returns the text after the front matter, or the whole text if that is damaged. Invalid UTF-8 is shown as `�`.
    pub fn body(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes[self.body..])
    }

    /// Returns the line of the file where the body begins, counted from 1.
    pub fn body_line(&self) -> usize {
        self.body_line
    }

    /// Replaces the body, with the line breaks the file has.
    ///
    /// `Refused` if the front matter is damaged (it is then part of the body and would be lost), or if the text itself
    /// would be read as front matter.
    pub fn set_body(&mut self, text: &str) -> Result<()> {
        if let Front::Damaged(what) = &self.front {
            return Err(Error::refused(format!("the text cannot be replaced: {what}"))
                .hint("repair the front matter by hand first"));
        }
        let end = line_break(&self.bytes);
        let mut bytes = self.bytes[..self.body].to_vec();
        if self.front == Front::Sound && !bytes.ends_with(b"\n") && !text.is_empty() {
            bytes.extend_from_slice(end.as_bytes());
        }
        let begin = bytes.len();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (i, line) in split(text).enumerate() {
            bytes.extend_from_slice(if i > 0 { end.as_bytes() } else { b"" });
            bytes.extend_from_slice(line.as_bytes());
        }
        let changed = Document::parse(bytes);
        if changed.front != self.front || changed.fields != self.fields || changed.body != begin {
            return Err(Error::refused("the text begins like front matter, which this file has not")
                .hint("begin it with another line than ---"));
        }
        *self = changed;
        Ok(())
    }

    /// Replaces the heading at the beginning of the body, or inserts one there.
    ///
    /// `Refused` as in [`Document::set_body`].
    pub fn set_heading(&mut self, title: &str) -> Result<()> {
        self.editable("title")?;
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = line_break(&self.bytes);
        let first = lines(&self.bytes, self.body).find(|l| !self.bytes[l.clone()].trim_ascii().is_empty());
        let (place, with) = match first.map(|l| l.start..l.start + without_break(&self.bytes[l]).len()) {
            Some(place) if heading_of(&self.bytes[place.clone()]).is_some() => (place, format!("# {title}")),
            _ => (self.body..self.body, format!("# {title}{end}{end}")),
        };
        let mut bytes = self.bytes.clone();
        bytes.splice(place, with.into_bytes());
        let changed = Document::parse(bytes);
        if changed.front != self.front || changed.fields != self.fields {
            return Err(exotic("title"));
        }
        *self = changed;
        Ok(())
    }

    /// Appends lines to the file without changing the bytes before them; `apart`: with a blank line between.
    ///
    /// `Refused` as in [`Document::set_body`].
    pub fn append(&mut self, text: &str, apart: bool) -> Result<()> {
        if let Front::Damaged(what) = &self.front {
            return Err(
                Error::refused(format!("nothing can be added: {what}")).hint("repair the front matter by hand first")
            );
        }
        let end = line_break(&self.bytes);
        let mut bytes = self.bytes.clone();
        if !bytes.is_empty() && bytes != BOM && !bytes.ends_with(b"\n") {
            bytes.extend_from_slice(if bytes.ends_with(b"\r") { "\n" } else { end }.as_bytes());
        }
        let last = lines(&bytes, self.body).last();
        if apart && last.is_some_and(|l| !without_break(&bytes[l]).trim_ascii().is_empty()) {
            bytes.extend_from_slice(end.as_bytes());
        }
        for line in split(text.trim_end_matches(['\r', '\n'])) {
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(end.as_bytes());
        }
        let changed = Document::parse(bytes);
        if changed.front != self.front || changed.fields != self.fields {
            return Err(Error::refused("the text begins like front matter, which this file has not")
                .hint("begin it with another line than ---"));
        }
        *self = changed;
        Ok(())
    }

    /// Returns the text of the first `# ` heading outside code fences.
    pub fn heading(&self) -> Option<String> {
        self.first_heading().map(|(text, _)| text)
    }

    /// Returns the `- Key: value` lines at the beginning of the body or directly below the first heading, which are the
    /// metadata of files that have no front matter. The first other line ends them; blank lines before them do not.
    pub fn bullets(&self) -> Vec<(String, String)> {
        let from = |at: usize| -> Vec<(String, String)> {
            let texts = lines(&self.bytes, at).map(|l| without_break(&self.bytes[l]));
            texts.skip_while(|l| l.trim_ascii().is_empty()).map_while(bullet).collect()
        };
        let first = from(self.prose);
        if !first.is_empty() {
            return first;
        }
        self.first_heading().map(|(_, end)| from(end)).unwrap_or_default()
    }

    fn editable(&self, key: &str) -> Result<()> {
        match &self.front {
            Front::Damaged(what) => Err(Error::refused(format!("`{key}` cannot be changed: {what}"))
                .hint("repair the front matter by hand first")),
            _ => Ok(()),
        }
    }

    fn yaml_text(&self) -> &str {
        // Sound front matter is UTF-8; damaged front matter is not changed.
        std::str::from_utf8(&self.bytes[self.yaml.clone()]).unwrap_or_default()
    }

    /// Returns the lines of a key. `Refused` if the line scan and the YAML reader disagree about which keys exist.
    fn owned(&self, key: &str) -> Result<Option<Owned>> {
        let keys = front::keys(self.yaml_text());
        let seen = keys.iter().any(|k| k.key == key);
        if seen != self.fields.contains_key(key) || !keys.iter().all(|k| self.fields.contains_key(&k.key)) {
            return Err(exotic(key));
        }
        let Some(mut owned) = keys.into_iter().find(|k| k.key == key) else { return Ok(None) };
        let first = self.first_line(&owned);
        if let Ok(alone) = front::read(&self.yaml_text()[owned.lines.start..first.end])
            && alone.get(key) == self.fields.get(key)
        {
            // The value ends on its first line, so the lines below it are indented comments.
            owned.lines.end = first.end_with_break;
        }
        Ok(Some(owned))
    }

    fn first_line(&self, owned: &Owned) -> FirstLine {
        let yaml = self.yaml_text();
        let end_with_break = yaml[owned.lines.start..].find('\n').map_or(yaml.len(), |at| owned.lines.start + at + 1);
        let line = without_break(&yaml.as_bytes()[owned.lines.start..end_with_break]);
        FirstLine { end: owned.lines.start + line.len(), end_with_break }
    }

    /// Returns the comment after a value that is on one line, with the space before it; empty if there is none.
    fn comment(&self, owned: &Owned, line: FirstLine) -> std::ops::Range<usize> {
        let yaml = self.yaml_text();
        let text = &yaml[owned.lines.start..line.end];
        let behind = owned.colon - owned.lines.start;
        for (at, _) in text[behind..].match_indices('#').take(COMMENT_TRIES) {
            let before = text[..behind + at].trim_end_matches([' ', '\t']);
            // The first cut that leaves the value unchanged removed only a comment.
            if before.len() < behind + at
                && let Ok(fields) = front::read(before)
                && fields.get(&owned.key) == self.fields.get(&owned.key)
            {
                return owned.lines.start + before.len()..line.end;
            }
        }
        line.end..line.end
    }

    /// Replaces part of the front matter, unless it would then parse to anything but `expected`.
    fn replace(
        &mut self,
        key: &str,
        place: std::ops::Range<usize>,
        with: &[u8],
        expected: &Map<String, Value>,
    ) -> Result<()> {
        let mut bytes = Vec::with_capacity(self.bytes.len() + with.len());
        bytes.extend_from_slice(&self.bytes[..place.start]);
        bytes.extend_from_slice(with);
        bytes.extend_from_slice(&self.bytes[place.end..]);
        let changed = Document::parse(bytes);
        let kept = changed.bytes[changed.body..] == self.bytes[self.body..];
        match &changed.front {
            Front::Sound if changed.fields == *expected && kept => {
                *self = changed;
                Ok(())
            }
            Front::Damaged(what) => Err(exotic(key).because(format!("it would then be wrong in {what}"))),
            _ => Err(exotic(key)),
        }
    }

    /// Returns the first heading and the end of its line.
    fn first_heading(&self) -> Option<(String, usize)> {
        let mut open = None;
        for place in lines(&self.bytes, self.prose) {
            let line = without_break(&self.bytes[place.clone()]);
            if open.is_none()
                && let Some(text) = heading_of(line)
            {
                return Some((text, place.end));
            }
            open = Fence::step(open, line);
        }
        None
    }
}

#[derive(Clone, Copy)]
struct FirstLine {
    end: usize,
    end_with_break: usize,
}

fn exotic(key: &str) -> Error {
    Error::refused(format!("`{key}` cannot be changed without rewriting the rest of the front matter"))
        .hint("edit it by hand")
}

/// Returns the text of a `# ` line, without the closing `#` some people write.
fn heading_of(line: &[u8]) -> Option<String> {
    let indent = line.iter().take_while(|b| **b == b' ').count();
    let rest = line[indent..].strip_prefix(b"#")?;
    if indent > 3 || !rest.starts_with(b" ") && !rest.starts_with(b"\t") {
        return None;
    }
    let text = String::from_utf8_lossy(rest);
    let text = text.trim();
    let open = text.trim_end_matches('#');
    let text = if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { text };
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the key and the value of a `- Key: value` line.
fn bullet(line: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(line).ok()?.strip_prefix("- ")?.trim();
    let (key, value) = text.split_once(": ").or_else(|| Some((text.strip_suffix(':')?, "")))?;
    let key = key.trim();
    (!key.is_empty()).then(|| (key.to_owned(), value.trim().to_owned()))
}

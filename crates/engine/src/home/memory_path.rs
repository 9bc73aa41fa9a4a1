//! The paths under which memories may be read and written, relative to `memory/` (R3.3). Paths from a model, a client
//! or a person are checked here, once; a [`MemoryPath`] has one of four known forms. Does not know which files exist.

use std::fmt;

use super::{RelPath, layout, rel_path};
use crate::error::{Error, Result};

/// The allowed forms, for error messages.
const FORMS: &str = "give a path relative to memory/: MEMORY.md, preference/<file>.md, identity/<file>.md, \
                     workspace/<workspace id>/MEMORY.md or workspace/<workspace id>/<path>";
/// The longest workspace id: a slug of 60, two dashes and 16 hexadecimal digits, rounded up.
const LONGEST_WORKSPACE: usize = 80;

/// A path of one of the allowed forms, without disguised or invisible characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MemoryPath(RelPath);

impl MemoryPath {
    /// Accepts the forms R3.3 allows and nothing else; the error names the rule that was broken. With `within`, a path
    /// of any other workspace is refused.
    pub fn parse(text: &str, within: Option<&str>) -> Result<MemoryPath> {
        let wrong = |why: &str| {
            let start: String = text.chars().take(80).collect();
            // Escaped, so that invisible characters show in the message.
            let shown: String = start.chars().flat_map(char::escape_default).collect();
            Error::usage(format!("\"{shown}\" cannot be a memory path: {why}")).hint(FORMS)
        };
        // The general rules first: components, dots, control characters, lengths.
        if let Some(why) = rel_path::fault(text).or_else(|| disguise(text)) {
            return Err(wrong(why));
        }
        let in_home =
            layout::MEMORY.join(text).map_err(|_| wrong("with memory/ before it, it is longer than 1,024 bytes"))?;
        let components: Vec<&str> = text.split('/').collect();
        match components[..] {
            ["MEMORY.md"] => {}
            ["preference" | "identity", file] if file.ends_with(".md") => {}
            ["preference" | "identity", _] => return Err(wrong("a preference or an identity leaf ends in .md")),
            ["preference" | "identity", _, _, ..] => {
                return Err(wrong("preference and identity have no folders below them"));
            }
            ["workspace", id, _, ..] if is_workspace_id(id) => {
                if within.is_some_and(|ours| ours != id) {
                    return Err(Error::refused(format!("\"{text}\" belongs to another workspace")).hint(
                        "a memory of another project is read from inside that project; what holds everywhere is in \
                         preference/ and identity/",
                    ));
                }
            }
            ["workspace", _, _, ..] => return Err(wrong("a workspace id is made of a-z, 0-9 and -")),
            _ => return Err(wrong("it has none of the allowed forms")),
        }
        Ok(MemoryPath(in_home))
    }

    /// Returns the path relative to the assistant home.
    pub fn in_home(&self) -> RelPath {
        self.0.clone()
    }

    /// Returns the path as it was given, relative to `memory/`.
    pub fn as_str(&self) -> &str {
        &self.0.as_str()[layout::MEMORY.as_str().len() + 1..]
    }

    /// Returns the workspace the memory belongs to; `None` for memories that are not about one project.
    pub fn workspace(&self) -> Option<&str> {
        self.as_str().strip_prefix("workspace/")?.split('/').next()
    }
}

impl fmt::Display for MemoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn is_workspace_id(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= LONGEST_WORKSPACE
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|b| plain(b) || b == b'-')
}

/// Returns the reason why a path could be mistaken for another one, by a person or by a program that decodes it once
/// more.
fn disguise(text: &str) -> Option<&'static str> {
    let encoded = text
        .as_bytes()
        .windows(3)
        .any(|w| w[0] == b'%' && [*b"2e", *b"2f", *b"5c", *b"00", *b"25"].contains(&[w[1], w[2].to_ascii_lowercase()]));
    if encoded {
        return Some("it contains a percent-encoded dot, separator, percent sign or NUL");
    }
    for c in text.chars() {
        match c {
            '\\' => return Some("it contains a backslash"),
            // Dot leaders, small and full-width full stops; then fraction and division slashes, set minus, full-width
            // slashes.
            '\u{2024}' | '\u{2025}' | '\u{fe52}' | '\u{ff0e}' => {
                return Some("it contains a character that looks like a dot");
            }
            '\u{2044}' | '\u{2215}' | '\u{2216}' | '\u{29f5}' | '\u{29f8}' | '\u{29f9}' | '\u{fe68}' | '\u{ff0f}'
            | '\u{ff3c}' => return Some("it contains a character that looks like a slash"),
            c if is_invisible(c) => return Some("it contains an invisible character"),
            _ => {}
        }
    }
    for component in text.split('/') {
        if component.starts_with('.') {
            return Some("a component begins with a dot");
        }
        if component.ends_with(|c: char| c == '.' || c.is_whitespace()) {
            return Some("a component ends in a dot or a space");
        }
    }
    None
}

/// Whether a character is invisible: zero-width ones, direction overrides, tags, line separators.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

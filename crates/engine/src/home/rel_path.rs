//! A path that cannot leave the directory it is applied to. Does not know which files exist.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};

/// The longest path passed to the system: the limit of macOS (Linux takes 4,096).
const LONGEST: usize = 1024;
/// The longest component that all common file systems can store.
const LONGEST_COMPONENT: usize = 255;

/// A relative path of plain components: no `..`, no `.`, no empty component, no control characters. Input is parsed
/// once where it enters; a value of this type is safe to use.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema, Debug)]
pub struct RelPath(Cow<'static, str>);

impl RelPath {
    /// Accepts a relative path that stays below its directory. The error says which rule was broken.
    ///
    /// A backslash is an ordinary character on Unix and is allowed.
    pub fn parse(text: &str) -> Result<RelPath> {
        match fault(text) {
            None => Ok(RelPath(Cow::Owned(text.to_owned()))),
            Some(why) => {
                let start: String = text.chars().take(80).collect();
                Err(Error::usage(format!("{start:?} cannot be a path in the home: {why}"))
                    .hint("give names separated by single slashes, like memory/preference/tea.md"))
            }
        }
    }

    /// Makes a path from a literal. An invalid literal in a constant does not compile.
    pub const fn literal(text: &'static str) -> RelPath {
        assert!(fault(text).is_none(), "not a relative path");
        RelPath(Cow::Borrowed(text))
    }

    /// Returns the path of `below` inside this one.
    pub fn join(&self, below: &str) -> Result<RelPath> {
        RelPath::parse(below)?;
        RelPath::parse(&format!("{}/{below}", self.0))
    }

    /// Returns the path as text, components separated by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last component.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Returns everything before the last component; `None` for a single component.
    pub fn parent(&self) -> Option<RelPath> {
        self.0.rsplit_once('/').map(|(parent, _)| RelPath(Cow::Owned(parent.to_owned())))
    }

    /// Returns the components from the top down; at least one.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the rule a text breaks, if any. Works on bytes, because it also runs at compile time.
pub(super) const fn fault(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Some("it is empty");
    }
    if bytes.len() > LONGEST {
        return Some("it is longer than 1,024 bytes");
    }
    if bytes[0] == b'/' {
        return Some("it is absolute");
    }
    let mut start = 0;
    let mut at = 0;
    while at <= bytes.len() {
        if at == bytes.len() || bytes[at] == b'/' {
            match at - start {
                0 => return Some("a component is empty"),
                1 if bytes[start] == b'.' => return Some("a component is `.`"),
                2 if bytes[start] == b'.' && bytes[start + 1] == b'.' => return Some("a component is `..`"),
                length if length > LONGEST_COMPONENT => return Some("a component is longer than 255 bytes"),
                _ => {}
            }
            start = at + 1;
        } else if bytes[at] == 0 {
            return Some("it contains a NUL byte");
        } else if bytes[at] < 0x20
            || bytes[at] == 0x7f
            // U+0080 to U+009F, the second set of control characters, is C2 80 to C2 9F in UTF-8.
            || (bytes[at] == 0xc2 && bytes[at + 1] < 0xa0)
        {
            return Some("it contains a control character");
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_are_taken_as_they_are() {
        let longest = "x".repeat(255);
        for good in ["a", "a/b", ".hidden", "...", "a..b/..c", "é/日本.md", r"a\b", " a ", "a.", "\u{a0}", &longest]
        {
            assert_eq!(RelPath::parse(good).unwrap().as_str(), good);
        }
        let path = RelPath::parse("a/b/c.md").unwrap();
        assert_eq!((path.name(), path.parent().unwrap().as_str()), ("c.md", "a/b"));
        assert_eq!(path.components().collect::<Vec<_>>(), ["a", "b", "c.md"]);
        assert_eq!(path.join("d/e").unwrap().as_str(), "a/b/c.md/d/e");
        assert!(path.join("../x").is_err() && path.join("/x").is_err() && path.join("").is_err());
        assert_eq!(RelPath::parse("a").unwrap().parent(), None);
    }

    #[test]
    fn everything_else_is_refused() {
        let (component, whole) = ("x".repeat(256), "x/".repeat(512) + "x");
        for bad in [
            "", "/", "/a", ".", "..", "a/..", "../a", "a/../b", "a/./b", "./a", "a//b", "a/", "//a", "a\0", "a\nb",
            "\u{7f}", "\u{85}", "a/\u{9f}", &component, &whole,
        ] {
            assert!(RelPath::parse(bad).is_err(), "{bad:?}");
        }
    }
}

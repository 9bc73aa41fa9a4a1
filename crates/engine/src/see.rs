//! What can be done next: a verb of the memory with what it is asked with. Storey 0.
//!
//! Errors, pages and reports point to a next step as data. How a step is written is the surface's: a command line writes
//! `heirloom thread list`, a protocol the name of its call. A surface that is not the command line sets its own wording
//! once, at its start ([`word_with`]).

use std::fmt;
use std::sync::OnceLock;

use serde::{Serialize, Serializer};

/// How a surface writes a step.
type Wording = fn(&str) -> String;

static WORDING: OnceLock<Wording> = OnceLock::new();

/// From now on steps are written this way in this process. The first one that is set stays.
pub fn word_with(wording: Wording) {
    let _ = WORDING.set(wording);
}

/// A next step: `thread list`, `show t30`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct See(String);

impl See {
    /// A verb with everything that follows it, as one line.
    pub fn new(step: impl Into<String>) -> See {
        See(step.into())
    }

    /// A verb and one argument, which is quoted where a shell would not take it as it is.
    pub fn of(verb: &str, argument: &str) -> See {
        See(format!("{verb} {}", quoted(argument)))
    }

    /// The verb and its arguments, as no surface writes them.
    pub fn step(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for See {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match WORDING.get() {
            Some(wording) => f.write_str(&wording(&self.0)),
            None => write!(f, "heirloom {}", self.0),
        }
    }
}

impl Serialize for See {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl schemars::JsonSchema for See {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "See".into()
    }

    fn json_schema(of: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(of)
    }
}

/// A text with every step in it, which stands there as `⟨thread list⟩`, as the surface writes it.
pub fn worded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('⟨') {
        let Some((step, behind)) = after.split_once('⟩') else { break };
        out.push_str(before);
        out.push_str(&See::new(step).to_string());
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// An argument for a shell: as it is where it is plain, else in single quotes.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '@' | '%' | ',' | ':');
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_in_a_text_are_written_as_the_surface_writes_them() {
        assert_eq!(worded("see ⟨thread list⟩, or ⟨show t30⟩"), "see heirloom thread list, or heirloom show t30");
        for text in ["", "nothing to see", "open ⟨only", "closed⟩ only"] {
            assert_eq!(worded(text), text);
        }
    }
}

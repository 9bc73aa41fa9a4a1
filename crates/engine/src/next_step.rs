//! Next steps as data: a verb of the memory with its arguments. Storey 0.
//!
//! Errors, pages and reports name a next step as data; each surface decides how to write it: a command line writes
//! `heirloom thread list`, a protocol the name of its call. A surface other than the command line sets its own wording
//! once, when it starts ([`word_with`]).

use std::fmt;
use std::sync::OnceLock;

use serde::{Serialize, Serializer};

/// The function with which a surface writes a step.
type Wording = fn(&str) -> String;

static WORDING: OnceLock<Wording> = OnceLock::new();

/// Sets how steps are written in this process. Only the first call has an effect.
pub fn word_with(wording: Wording) {
    let _ = WORDING.set(wording);
}

/// A next step: `thread list`, `show t30`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct See(String);

impl See {
    /// A step made of a verb and everything that follows it, as one line.
    pub fn new(step: impl Into<String>) -> See {
        See(step.into())
    }

    /// A step made of a verb and one argument, which is quoted if a shell would not accept it as it is.
    pub fn of(verb: &str, argument: &str) -> See {
        See(format!("{verb} {}", quoted(argument)))
    }

    /// Returns the verb and its arguments, without the wording of a surface.
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

/// Replaces every step in a text, written as `⟨thread list⟩`, by the surface's wording.
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

/// Quotes an argument for a shell: unchanged if it is plain, else in single quotes.
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

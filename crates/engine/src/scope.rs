//! Identifiers of agents, sessions, turns and workspaces. Storey 0.
//!
//! A session key is unique within its agent only: every function that takes the key takes the agent too, and a
//! [`SessionNo`] comes from a look-up by both (decision D3). Text is parsed once, where it enters; a value of these
//! types is always valid. Knows nothing about storage except the numbers of its rows ([`AgentNo`] and the others).

mod named;
mod numbers;

use std::fmt;

use crate::error::{Error, Result};

pub(crate) use named::named;
pub use numbers::*;

/// The id of an agent, which owns a memory: `[a-z0-9][a-z0-9_-]{0,63}` (D3).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AgentId(String);

impl AgentId {
    /// Returns the agent a new home starts with.
    pub fn main() -> AgentId {
        AgentId("main".into())
    }

    /// Accepts exactly the form of D3. The error names the allowed form.
    pub fn parse(text: &str) -> Result<AgentId> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let ok = (1..=64).contains(&text.len())
            && plain(text.as_bytes()[0])
            && text.bytes().all(|b| plain(b) || b == b'_' || b == b'-');
        if ok {
            Ok(AgentId(text.to_owned()))
        } else {
            Err(Error::usage(format!(
                "{:?} is not an agent id: 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit",
                text.chars().take(80).collect::<String>()
            )))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session's key: `<harness>:<the program's own session id>` (D3).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema, Debug)]
pub struct SessionKey(String);

impl SessionKey {
    pub fn new(harness: &str, native: &str) -> SessionKey {
        SessionKey(format!("{harness}:{native}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the program's name: the part before the first colon.
    pub fn harness(&self) -> &str {
        self.0.split_once(':').map_or("", |(h, _)| h)
    }

    /// Returns the program's own session id: the part after the first colon.
    pub fn native(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(_, n)| n)
    }
}

impl From<String> for SessionKey {
    fn from(text: String) -> SessionKey {
        SessionKey(text)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The permanent key of a thread (R7.2): `project/<workspace_id>`, `person/<channel>:<peer>`, `topic/<slug>`,
/// `lane/<slug>`, and `session/<session_key>` for a conversation that has none of these.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadKey(String);

/// The kinds of threads: the part of the key before the slash.
pub const THREAD_KINDS: [&str; 5] = ["project", "person", "topic", "lane", "session"];

impl ThreadKey {
    /// Largest length of a key, in bytes: a file is named after it.
    pub const LONGEST: usize = 300;

    pub fn new(kind: &'static str, rest: &str) -> ThreadKey {
        ThreadKey(format!("{kind}/{rest}"))
    }

    /// Accepts `<kind>/<rest>` with a known kind and printable text. The error names the allowed forms.
    pub fn parse(text: &str) -> Result<ThreadKey> {
        let sound = text
            .split_once('/')
            .is_some_and(|(kind, rest)| THREAD_KINDS.contains(&kind) && !rest.trim().is_empty() && rest.trim() == rest);
        if sound && text.len() <= ThreadKey::LONGEST && !text.chars().any(char::is_control) {
            return Ok(ThreadKey(text.to_owned()));
        }
        Err(Error::usage(format!("{:?} is not the key of a thread", text.chars().take(80).collect::<String>())).hint(
            "project/<workspace id>, person/<channel>:<peer>, topic/<slug>, lane/<slug> or session/<session key>",
        ))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the kind: `project`, `person`, `topic`, `lane`, `session`.
    pub fn kind(&self) -> &str {
        self.0.split_once('/').map_or("", |(kind, _)| kind)
    }

    /// Returns the part after the first slash.
    pub fn rest(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, rest)| rest)
    }

    /// Returns the name of the thread's head file, without the extension (D3).
    pub fn file_stem(&self) -> String {
        file_key(&self.0, self.0.as_bytes())
    }
}

impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A turn's number in the ledger: the sequence number it got when first stored, printed as `t` and hex (`t9c11`). Grows
/// in order of storing, not of speaking.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct TurnId(pub i64);

impl TurnId {
    pub fn parse(text: &str) -> Option<TurnId> {
        hexadecimal('t', text).map(TurnId)
    }
}

/// Serialises ids as they are shown to people: `t9c11`, `n7f3a`, `q:17`.
macro_rules! serialized_as_shown {
    ($($id:ident),*) => {$(
        impl serde::Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl schemars::JsonSchema for $id {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($id).into()
            }

            fn json_schema(of: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(of)
            }
        }
    )*};
}
serialized_as_shown!(TurnId, NodeId, QuarantineId);

impl<'de> serde::Deserialize<'de> for TurnId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<TurnId, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        TurnId::parse(&text).ok_or_else(|| serde::de::Error::custom("this is no turn id (t and hexadecimal digits)"))
    }
}

/// Parses a letter and a positive hexadecimal number.
fn hexadecimal(letter: char, text: &str) -> Option<i64> {
    let hex = text.strip_prefix(letter)?;
    if hex.is_empty() || hex.len() > 12 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    i64::from_str_radix(hex, 16).ok().filter(|n| *n > 0)
}

/// A node of the lineage, printed as `n` and hex (`n7f3a`) (R6.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub i64);

impl NodeId {
    pub fn parse(text: &str) -> Option<NodeId> {
        hexadecimal('n', text).map(NodeId)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{:x}", self.0)
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{:x}", self.0)
    }
}

/// A range of source bytes that could not be decoded, printed as `q:17` (R4.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct QuarantineId(pub i64);

impl QuarantineId {
    pub fn parse(text: &str) -> Option<QuarantineId> {
        text.strip_prefix("q:")?.parse().ok().filter(|n| *n > 0).map(QuarantineId)
    }
}

impl fmt::Display for QuarantineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q:{}", self.0)
    }
}

/// Returns the file name of any key, `{slug ≤ 60}--{16 hex of sha256 of the key}` (D3). The hash makes it unique; the
/// slug is for people.
pub fn file_key(slug_from: &str, key: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(key);
    let hex: String = digest[..8].iter().map(|b| format!("{b:02x}")).collect();
    format!("{}--{hex}", slug(slug_from))
}

/// Returns a text as a slug: every run of characters outside `[a-z0-9]` becomes one `-`, ends trimmed, at most 60
/// bytes; `item` if nothing is left.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= 60 {
            break;
        }
    }
    let out = out.trim_matches('-');
    if out.is_empty() { "item".into() } else { out.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_follow_the_rule() {
        for good in ["main", "a", "0x", "work-2_b", &"a".repeat(64)] {
            assert!(AgentId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "Main", "-a", "_a", "a b", "a/b", "..", "ä", "a\0", &"a".repeat(65)] {
            assert!(AgentId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn turn_ids_read_back() {
        assert_eq!(TurnId(0x9c11).to_string(), "t9c11");
        assert_eq!(TurnId::parse("t9c11"), Some(TurnId(0x9c11)));
        for bad in ["t", "t0", "9c11", "tx", "t-1", "tffffffffffffffff"] {
            assert_eq!(TurnId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn file_keys_differ_where_slugs_agree() {
        assert_eq!(slug("Heirloom / API"), "heirloom-api");
        assert_eq!(slug("日本"), "item");
        assert_ne!(file_key("api", b"/a/api"), file_key("api", b"/b/api"));
    }
}

//! References: the ids that pages print in brackets, and the other forms a person may type.

use std::fmt;

use crate::error::{Error, Result};
use crate::recall::replay::ContextId;
use crate::scope::{NodeId, PendingNo, QuarantineId, RequestNo, THREAD_KINDS, TurnId};
use crate::tree::address;

/// An item that can be expanded (R6.8): every form a page prints.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reference {
    /// `n7f3a`.
    Node(NodeId),
    /// `t9c11`.
    Turn(TurnId),
    /// `l:…`, `p:…`, `m:…`, `a:…`, or the path of a visible file, with or without a line.
    File(String),
    /// `u:17`: an observation about the user, not confirmed yet.
    Pending(PendingNo),
    /// `c:17`: a request for access from a channel.
    Channel(RequestNo),
    /// `j:nightly`: a scheduled job.
    Job(String),
    /// `o:17`: a language model's remark on an open loop.
    Matter(i64),
    /// `q:17`: quarantined bytes.
    Quarantine(QuarantineId),
    /// `x:17`: a context a program was given.
    Context(ContextId),
    /// A session's key, or the key or name of a thread.
    Name(String),
}

/// The most bytes of a reference; a path may be long.
const LONGEST: usize = 4_096;

/// The forms of a reference, for error messages.
pub(super) const FORMS: &str = "a node (n7f3a), a turn (t9c11), an item (l:… p:… m:… a:…), u:17, o:17, c:17, j:NAME, q:17, x:17, a file \
of the assistant home, a session or a thread: as they stand in brackets in MEMORY.md, ACTIVE.md and thread heads";

impl Reference {
    /// Parses a reference, with or without its brackets. `Usage` if it cannot be one; whether the item exists is not
    /// checked.
    pub fn parse(text: &str) -> Result<Reference> {
        let text = text.trim();
        let text = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text).trim();
        let no_reference = || {
            let shown: String = crate::redact::redact(text).chars().take(80).collect();
            Error::usage(format!("{shown:?} leads nowhere")).hint(FORMS)
        };
        if text.is_empty() || text.len() > LONGEST {
            return Err(no_reference());
        }
        if let Some(reference) = Reference::id(text) {
            return Ok(reference);
        }
        let number = |rest: &str| rest.parse::<i64>().ok().filter(|n| *n > 0);
        let numbered = ["u:", "o:", "c:", "q:", "x:"].iter().find_map(|p| text.strip_prefix(p));
        if numbered.is_some_and(|rest| number(rest).is_none()) {
            return Err(no_reference());
        }
        let is_thread = text.split_once('/').is_some_and(|(kind, _)| THREAD_KINDS.contains(&kind));
        if !is_thread && address::is_address(text) {
            return Ok(Reference::File(text.to_owned()));
        }
        Ok(Reference::Name(text.to_owned()))
    }

    /// Parses only the forms that cannot be confused with a path or a name.
    pub fn id(text: &str) -> Option<Reference> {
        let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<i64>().ok().filter(|n| *n > 0);
        if let Some(node) = NodeId::parse(text) {
            return Some(Reference::Node(node));
        }
        if let Some(turn) = TurnId::parse(text) {
            return Some(Reference::Turn(turn));
        }
        if let Some(id) = QuarantineId::parse(text) {
            return Some(Reference::Quarantine(id));
        }
        if let Some(id) = ContextId::parse(text) {
            return Some(Reference::Context(id));
        }
        if let Some(no) = number("u:") {
            return Some(Reference::Pending(PendingNo(no)));
        }
        if let Some(no) = number("o:") {
            return Some(Reference::Matter(no));
        }
        if let Some(no) = number("c:") {
            return Some(Reference::Channel(RequestNo(no)));
        }
        if let Some(name) = text.strip_prefix("j:").filter(|n| !n.is_empty()) {
            return Some(Reference::Job(name.to_owned()));
        }
        let item = ["l:", "p:", "m:", "a:"].iter().any(|p| text.strip_prefix(p).is_some_and(|r| !r.is_empty()));
        item.then(|| Reference::File(text.to_owned()))
    }

    /// The references in brackets and the session keys in backticks of a text, each once, in order.
    pub fn all_in(text: &str) -> Vec<Reference> {
        let mut found = Vec::new();
        let mut add = |reference: Option<Reference>| {
            if let Some(reference) = reference.filter(|r| !found.contains(r)) {
                found.push(reference);
            }
        };
        for part in text.split('[').skip(1) {
            let Some((inside, behind)) = part.split_once(']') else { continue };
            // `[text](path)` is a link, not a reference.
            if inside.len() > LONGEST || behind.starts_with('(') {
                continue;
            }
            // Names of jobs may have spaces.
            if inside.starts_with("j:") {
                add(Reference::id(inside));
                continue;
            }
            inside.split([' ', ',', '·']).for_each(|word| add(Reference::id(word.trim())));
        }
        for inside in text.split('`').skip(1).step_by(2) {
            let session = inside.split_once(':').is_some_and(|(program, native)| {
                program.len() > 1
                    && program.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
                    && !native.is_empty()
                    && !inside.contains(char::is_whitespace)
            });
            add(session.then(|| Reference::Name(inside.to_owned())));
        }
        found
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Node(id) => id.fmt(f),
            Reference::Turn(id) => id.fmt(f),
            Reference::Quarantine(id) => id.fmt(f),
            Reference::Context(id) => id.fmt(f),
            Reference::Pending(no) => write!(f, "u:{no}"),
            Reference::Matter(no) => write!(f, "o:{no}"),
            Reference::Channel(no) => write!(f, "c:{no}"),
            Reference::Job(name) => write!(f, "j:{name}"),
            Reference::File(text) | Reference::Name(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_a_page_prints_is_read_and_printed_back() {
        for (text, reference) in [
            ("n7f3a", Reference::Node(NodeId(0x7f3a))),
            ("t9c11", Reference::Turn(TurnId(0x9c11))),
            ("l:call-the-bank", Reference::File("l:call-the-bank".into())),
            ("m:push-rule", Reference::File("m:push-rule".into())),
            ("u:17", Reference::Pending(PendingNo(17))),
            ("o:7", Reference::Matter(7)),
            ("c:3", Reference::Channel(RequestNo(3))),
            ("j:nightly backup", Reference::Job("nightly backup".into())),
            ("q:2", Reference::Quarantine(QuarantineId(2))),
            ("x:17", Reference::Context(ContextId(17))),
            ("MEMORY.md", Reference::File("MEMORY.md".into())),
            ("memory/preference/tea.md:12", Reference::File("memory/preference/tea.md:12".into())),
            ("codex:01a1ffd8-97f0", Reference::Name("codex:01a1ffd8-97f0".into())),
            ("project/api--3f0c9a1be2d44c77", Reference::Name("project/api--3f0c9a1be2d44c77".into())),
            ("project/notes.md", Reference::Name("project/notes.md".into())),
            ("heirloom/api", Reference::Name("heirloom/api".into())),
            // A program's session id may be anything.
            ("turns:a\u{1b}b", Reference::Name("turns:a\u{1b}b".into())),
        ] {
            assert_eq!(Reference::parse(text).unwrap(), reference, "{text}");
            assert_eq!(Reference::parse(&format!(" [{text}] ")).unwrap(), reference, "{text}");
            assert_eq!(reference.to_string(), text);
        }
        for bad in ["", " ", "[]", "u:x", "o:x", "c:0", "q:-1", "x:-1", &"x".repeat(5_000)] {
            assert!(Reference::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn references_are_found_in_a_page() {
        let page = "- **api**: red · [n7f3a]\n- Decided [t1 t9] and [x](memory/MEMORY.md), [l:a-b] [n7f3a]\n\
                    Session: hello · `codex:01a` · `heirloom loop list` [j:nightly backup] [not a ref]";
        let found: Vec<String> = Reference::all_in(page).iter().map(Reference::to_string).collect();
        assert_eq!(found, ["n7f3a", "t1", "t9", "l:a-b", "j:nightly backup", "codex:01a"]);
    }
}

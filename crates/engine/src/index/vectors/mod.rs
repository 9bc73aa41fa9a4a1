//! Vectors of turns, files and lineage nodes, in the same file as their words (R10.2, R10.8). [`texts`] chooses the
//! texts to embed, [`store`] keeps the vectors, [`fill`] makes them, [`nearest`] searches them.
//!
//! A vector exists only while its document has rows of words: removing the rows removes the vector. With a quick model,
//! vectors are made in the transaction that stores the words; with a remote model, one that does not answer, or a new
//! one, they lag behind with a watermark of their own and are made later.

mod check;
mod code;
mod fill;
mod first;
mod nearest;
mod prune;
mod store;
mod texts;

use crate::event::{Role, TurnKind};
use crate::lineage;
use crate::scope::{AgentNo, FileNo, NodeId, SessionNo, ThreadNo, TurnId, WorkspaceNo};
use crate::tree::file_table;

pub(super) use fill::Waiting;
pub(super) use store::{EMPTY, SCHEMA};
pub(super) use texts::{of_file, of_node};

/// The document a vector belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Document {
    Turn(TurnId),
    /// A visible file, by its number in the file table.
    File(FileNo),
    Node(NodeId),
}

/// The documents a search compares, with the limits of their sort. An empty list admits nothing, `None` admits
/// everything.
#[derive(Clone, Copy, Debug)]
pub enum Within<'f> {
    Turns(&'f TurnsWithin),
    Files(&'f FilesWithin),
    Nodes(&'f NodesWithin),
}

/// Limits for turns, by numbers of the ledger.
#[derive(Clone, Default, Debug)]
pub struct TurnsWithin {
    /// Workspaces, including their aliases.
    pub workspaces: Option<Vec<WorkspaceNo>>,
    pub harness: Option<String>,
    pub sessions: Option<Vec<SessionNo>>,
    pub roles: Option<Vec<Role>>,
    pub kinds: Option<Vec<TurnKind>>,
    /// First and last turn in the order they were stored, to limit the time.
    pub turns: Option<(TurnId, TurnId)>,
}

/// Limits for files.
#[derive(Clone, Default, Debug)]
pub struct FilesWithin {
    pub kinds: Option<Vec<file_table::Kind>>,
    /// Scopes as in the file table: `agent`, `workspace/<id>`, or empty for a file without a scope.
    pub scopes: Option<Vec<String>>,
    /// Include archived files.
    pub archived: bool,
}

/// Limits for lineage nodes.
#[derive(Clone, Default, Debug)]
pub struct NodesWithin {
    /// Threads the nodes were made in, including those merged into them.
    pub threads: Option<Vec<ThreadNo>>,
    /// Workspaces of their first turns.
    pub workspaces: Option<Vec<WorkspaceNo>>,
    pub kinds: Option<Vec<lineage::Kind>>,
}

/// The result of a vector search.
#[derive(Clone, Default, Debug)]
pub struct Nearest {
    /// Each document once, with the cosine of its nearest part, best first.
    pub found: Vec<(Document, f32)>,
    /// The cosines of the documents named in `also` that have vectors and pass the limits.
    pub also: Vec<(Document, f32)>,
    /// Whether the search was interrupted at its deadline.
    pub cut_short: bool,
}

/// Number of vectors that are still to be made, for all agents.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Missing {
    /// Number of turns with rows that the model has not embedded yet, and of turns in all.
    pub turns: u64,
    pub of_turns: u64,
    pub files: u64,
    pub nodes: u64,
}

impl Missing {
    pub fn is_none(&self) -> bool {
        (self.turns, self.files, self.nodes) == (0, 0, 0)
    }
}

/// Sorts of documents, with their numbers in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Sort {
    Turn = 0,
    File = 1,
    Node = 2,
}

impl Sort {
    fn document(self, number: i64) -> Document {
        match self {
            Sort::Turn => Document::Turn(TurnId(number)),
            Sort::File => Document::File(FileNo(number)),
            Sort::Node => Document::Node(NodeId(number)),
        }
    }
}

/// The key of a set of vectors. A search includes or skips a whole set without reading a page of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SetKey {
    pub agent_no: AgentNo,
    pub sort: Sort,
    /// The workspace; 0 for none.
    pub workspace_no: WorkspaceNo,
    /// The harness of turns, the scope of files.
    pub label: String,
}

/// The document of one vector, and what a search filters by before it compares the vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub number: i64,
    pub part: usize,
    /// The class of a turn, file or node: see the constructors.
    pub class: u8,
    /// The session of a turn, the thread of a node.
    pub group: u32,
}

pub(super) const KEY_BYTES: usize = 12;

impl Key {
    pub fn of_turn(number: i64, part: usize, role: Role, kind: TurnKind, session_no: SessionNo) -> Key {
        Key { number, part, class: ((role as u8) << 4) | kind as u8, group: session_no.0 as u32 }
    }

    pub fn of_file(number: i64, part: usize, kind: file_table::Kind, archived: bool) -> Key {
        Key { number, part, class: (u8::from(archived) << 7) | kind as u8, group: 0 }
    }

    pub fn of_node(number: i64, part: usize, kind: lineage::Kind, thread_no: ThreadNo) -> Key {
        Key { number, part, class: kind.code() as u8, group: thread_no.0 as u32 }
    }

    fn pack(self) -> [u8; KEY_BYTES] {
        let first = (u64::from(self.class) << 56) | ((self.number as u64) << 8) | (self.part as u64 & 0xff);
        let mut out = [0; KEY_BYTES];
        out[..8].copy_from_slice(&first.to_le_bytes());
        out[8..].copy_from_slice(&self.group.to_le_bytes());
        out
    }

    /// Returns the number of a packed key, without the rest.
    fn number_of(bytes: &[u8]) -> i64 {
        let mut first = [0; 8];
        first.copy_from_slice(&bytes[..8]);
        ((u64::from_le_bytes(first) >> 8) & 0xffff_ffff_ffff) as i64
    }

    fn unpack(bytes: &[u8]) -> Key {
        let (mut first, mut group) = ([0; 8], [0; 4]);
        first.copy_from_slice(&bytes[..8]);
        group.copy_from_slice(&bytes[8..KEY_BYTES]);
        let first = u64::from_le_bytes(first);
        Key {
            number: ((first >> 8) & 0xffff_ffff_ffff) as i64,
            part: (first & 0xff) as usize,
            class: (first >> 56) as u8,
            group: u32::from_le_bytes(group),
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod key_tests {
    use super::*;

    #[test]
    fn keys_read_back() {
        for key in [
            Key::of_turn(0x12_3456_789a, 15, Role::Assistant, TurnKind::MachinePrompt, SessionNo(77)),
            Key::of_file(3, 0, file_table::Kind::Note, true),
            Key::of_node(900_000, 2, lineage::Kind::Condensed, ThreadNo(u32::MAX as i64)),
        ] {
            assert_eq!(Key::unpack(&key.pack()), key);
            assert_eq!(Key::number_of(&key.pack()), key.number);
        }
    }
}

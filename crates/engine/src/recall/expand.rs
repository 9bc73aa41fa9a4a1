//! Expands a reference down to the words it was made from (R6.8): the item itself, the nodes above, below and beside
//! it, and the turns, page by page. Always within one agent: an item of another agent is reported as not found.

mod reference;
mod words;

use std::collections::HashMap;

use rusqlite::params;
use schemars::JsonSchema;
use serde::Serialize;

pub use reference::Reference;
pub use words::{MOST_TURNS, Passage, TURNS, Transcript};

use crate::clock::Millis;
use crate::continuity::{channel, scheduled};
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::blocks::Opener;
use crate::ledger::{Ledger, Read};
use crate::lineage::walk::{self, Stretch};
use crate::lineage::{self, Compaction, Node};
use crate::memory::pending::{self, Pending};
use crate::recall::replay::{self, Replayed};
use crate::redact::redact_lines;
use crate::render;
use crate::scope::{AgentNo, LaneNo, NodeId, SessionNo, TurnId};
use crate::thread::{self, ThreadRow};
use crate::transcript::read::{self, LaneRow, Quarantined, RunRow, SessionRow};
use crate::tree::file_table::{self, Entry, Kind as FileKind};
use crate::tree::provenance::Provenance;
use crate::tree::{AssistantHome, LARGEST_FILE, address};
use words::Words;

/// Limits of an expansion.
#[derive(Clone, PartialEq, Debug)]
pub struct Reach {
    /// Levels below a node.
    pub depth: usize,
    /// Whether to include the turns in the range of the subject.
    pub transcript: bool,
    /// Turns in a page of the transcript.
    pub limit: usize,
    /// Cursor of the page: the `next` of the page before.
    pub cursor: Option<String>,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach { depth: 1, transcript: false, limit: TURNS, cursor: None }
    }
}

/// Largest numbers of nodes in one answer: below a node, above it, and on one side of it; further nodes can be asked
/// for.
const MOST_BELOW: usize = 200;
const MOST_ABOVE: usize = 64;
const MOST_BESIDE: usize = 12;

/// Nodes or turns shown before and after.
const NEIGHBOURS: usize = 2;

/// Nodes shown of a session or a thread, newest first.
const MOST_NODES: usize = 24;

/// Files of one kind shown as linked to a node, newest first.
const MOST_LINKED: usize = 50;

/// Runs shown of a job.
const MOST_RUNS: usize = 10;

/// Bytes shown of a file or of quarantined bytes; `heirloom show` prints all of them.
const MOST_TEXT: usize = 8 * 1024;

/// Lines shown before and after the one named.
const LINES_AROUND: usize = 3;

/// The result of expanding a reference.
#[derive(Clone, PartialEq, Debug)]
pub struct Expansion {
    pub subject: Subject,
    /// The turns, if they were asked for and there are any.
    pub transcript: Option<Transcript>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Subject {
    Node(Box<NodeView>),
    Turn(Box<TurnView>),
    File(Box<FileView>),
    Session(Box<SessionView>),
    Thread(Box<ThreadView>),
    Pending(Box<Pending>),
    Matter(Box<MatterView>),
    Channel(Box<channel::Event>),
    /// The runs of a job, newest first.
    Job(Vec<scheduled::Run>),
    Quarantine(Box<SetAside>),
    /// The context a program was given.
    Context(Box<Replayed>),
}

/// A node and its surroundings.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeView {
    pub node: Node,
    /// The node that replaced it after some of its content was forgotten.
    pub replaced_by: Option<Node>,
    /// The nodes directly above.
    pub parents: Vec<Node>,
    /// The nodes above the parents with their distance, nearest first.
    pub ancestors: Vec<(usize, Node)>,
    pub children: Vec<Branch>,
    /// Whether there are more nodes below than are given.
    pub more_below: bool,
    /// The other children of its parents.
    pub siblings: Vec<Node>,
    /// The nodes of the same thread just before and after, oldest first.
    pub before: Vec<Node>,
    pub after: Vec<Node>,
    pub linked: Linked,
}

/// A node and the nodes below it.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    pub node: Node,
    pub children: Vec<Branch>,
}

/// Visible files that come from a node: they name its id, or turns in its range.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Linked {
    pub memory: Vec<Entry>,
    pub open_loops: Vec<Entry>,
    pub proposals: Vec<Entry>,
    /// Whether there are more than are given.
    pub more: bool,
}

/// A turn and its surroundings. Its text is in the transcript.
#[derive(Clone, PartialEq, Debug)]
pub struct TurnView {
    pub id: TurnId,
    pub run: Option<RunRow>,
    /// The nodes above it, its chunk first; empty if it is in no chunk yet.
    pub nodes: Vec<Node>,
    /// The turns just before and after it in its lane, oldest first.
    pub before: Vec<TurnId>,
    pub after: Vec<TurnId>,
}

/// A visible file, or some lines of it.
#[derive(Clone, PartialEq, Debug)]
pub struct FileView {
    pub entry: Entry,
    /// The line that was named.
    pub line: Option<usize>,
    /// Text of the file, with credentials redacted.
    pub text: String,
    /// Whether the file has more text.
    pub cut: bool,
    pub source: Provenance,
    /// References to follow: its source, and those in brackets in the text.
    pub references: Vec<Reference>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct SessionView {
    pub session: SessionRow,
    /// The thread it is in now.
    pub thread: Option<ThreadRow>,
    pub lanes: Vec<LaneRow>,
    /// The nodes of the session, newest first.
    pub nodes: Vec<Node>,
    pub compactions: Vec<Compaction>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ThreadView {
    pub thread: ThreadRow,
    /// Its roots, newest first.
    pub nodes: Vec<Node>,
}

/// A language model's remark on an open loop. The words it cites are in the transcript.
#[derive(Clone, PartialEq, Debug)]
pub struct MatterView {
    /// Its id, such as `o:7`.
    pub id: String,
    /// `settled`, `same` or `title`.
    pub kind: &'static str,
    /// `waiting`, `accepted` or `rejected`.
    pub state: &'static str,
    /// The loop it is about, open or closed; `None` if it is gone.
    pub about: Option<Entry>,
    /// The loop that is the same.
    pub other: Option<Entry>,
    /// The model's reason: the words that settle the loop, or the title it would give; may be empty.
    pub text: String,
    pub turn: Option<TurnId>,
    pub model: String,
    pub at: Millis,
}

/// Quarantined bytes: they could not be decoded.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SetAside {
    #[serde(flatten)]
    pub quarantined: Quarantined,
    /// The bytes as text, with credentials redacted.
    pub text: String,
    pub cut: bool,
}

/// Expands a reference. `files`: the assistant home, if there is one. Errors: `NotFound`, also for an item of another
/// agent; `Usage` for an ambiguous name or a foreign cursor.
pub fn expand(
    ledger: &Ledger,
    agent_no: AgentNo,
    files: Option<&AssistantHome>,
    reference: &Reference,
    reach: &Reach,
) -> Result<Expansion> {
    if let Reference::File(text) = reference {
        let at = files.filter(|at| at.agent_no == agent_no).ok_or_else(|| {
            Error::not_found(format!("there is no file {reference}: this agent has no files yet"))
                .hint("⟨loop add \"…\"⟩ begins its assistant home")
        })?;
        match file(at, text) {
            // The id of an open item without a file leads to the turn where it was said last.
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let turn = ledger.read(|tx| render::unfiled::said_in(at, tx, text))?.ok_or(e)?;
                return expand(ledger, agent_no, files, &Reference::Turn(turn), reach);
            }
            other => return other.map(|view| without_words(Subject::File(Box::new(view)))),
        }
    }
    ledger.read(|tx| {
        let opener = Opener::default();
        let asked = Asked { tx, opener: &opener, agent_no, reach };
        match reference {
            Reference::Node(id) => asked.node(*id),
            Reference::Turn(id) => asked.turn(*id),
            Reference::Quarantine(id) => {
                let found = read::quarantine(tx, agent_no, Some(*id), 1)?.pop();
                let quarantined = found.ok_or_else(|| {
                    Error::not_found(format!("nothing was set aside as {id}")).hint("⟨show --quarantine⟩")
                })?;
                let bytes = read::record_bytes(tx, &opener, quarantined.record)?;
                let (text, cut) = bounded(&redact_lines(&String::from_utf8_lossy(&bytes)));
                Ok(without_words(Subject::Quarantine(Box::new(SetAside { quarantined, text, cut }))))
            }
            Reference::Context(id) => Ok(without_words(Subject::Context(Box::new(replay::replay(tx, agent_no, *id)?)))),
            Reference::Pending(no) => {
                let found = pending::list(tx, agent_no, true)?.into_iter().find(|p| p.no == *no);
                let found = found.ok_or_else(|| {
                    Error::not_found(format!("nothing was noticed as u:{no}")).hint("⟨memory pending⟩")
                })?;
                Ok(without_words(Subject::Pending(Box::new(found))))
            }
            // The room `review` has these, and stands above this one.
            Reference::Matter(_) => {
                Err(Error::not_found(format!("{reference} is decided in the review")).hint("⟨review⟩"))
            }
            Reference::Channel(no) => {
                let event = channel::named(tx, agent_no, &format!("c:{no}"))?;
                Ok(without_words(Subject::Channel(Box::new(event))))
            }
            Reference::Job(name) => {
                let runs = scheduled::runs(tx, agent_no, name, MOST_RUNS)?;
                if runs.is_empty() {
                    return Err(scheduled::no_such(name));
                }
                Ok(without_words(Subject::Job(runs)))
            }
            Reference::File(text) | Reference::Name(text) => asked.named(text),
        }
    })
}

fn without_words(subject: Subject) -> Expansion {
    Expansion { subject, transcript: None }
}

struct Asked<'a> {
    tx: &'a Read<'a>,
    opener: &'a Opener,
    agent_no: AgentNo,
    reach: &'a Reach,
}

impl Asked<'_> {
    fn node(&self, id: NodeId) -> Result<Expansion> {
        let (tx, agent) = (self.tx, self.agent_no);
        let node = lineage::node(tx, agent, id)?;
        let parents = walk::parents(tx, agent, id)?;
        let mut ancestors = walk::ancestors(tx, agent, id, MOST_ABOVE)?;
        ancestors.retain(|(distance, _)| *distance > 1);
        let mut room = MOST_BELOW;
        let children = self.below(id, self.reach.depth, &mut room)?;
        let members = thread::members(tx, thread::canonical(tx, node.thread_no)?)?;
        let (before, after) = walk::neighbours(tx, &node, &members, NEIGHBOURS)?;
        let stretches = walk::stretches(tx, agent, id)?;
        let linked = self.linked(&node, &stretches)?;
        let view = NodeView {
            replaced_by: walk::replacement(tx, agent, id)?,
            parents,
            ancestors,
            children,
            more_below: room == 0,
            siblings: walk::siblings(tx, agent, &node, MOST_BESIDE)?,
            before,
            after,
            linked,
            node,
        };
        let transcript = self.words(&Words::Stretches(&stretches))?;
        Ok(Expansion { subject: Subject::Node(Box::new(view)), transcript })
    }

    fn below(&self, id: NodeId, depth: usize, room: &mut usize) -> Result<Vec<Branch>> {
        if depth == 0 || *room == 0 {
            return Ok(Vec::new());
        }
        let mut nodes = walk::children(self.tx, self.agent_no, id)?;
        nodes.truncate(*room);
        *room -= nodes.len();
        nodes.into_iter().map(|node| Ok(Branch { children: self.below(node.id, depth - 1, room)?, node })).collect()
    }

    fn words(&self, words: &Words) -> Result<Option<Transcript>> {
        // A cursor implies that the transcript is wanted.
        if !self.reach.transcript && self.reach.cursor.is_none() {
            return Ok(None);
        }
        let Reach { cursor, limit, .. } = self.reach;
        words::page(self.tx, self.opener, self.agent_no, words, cursor.as_deref(), *limit).map(Some)
    }

    /// Returns the files that name the node or turns in its range as their source, and the files that its summary
    /// names.
    fn linked(&self, node: &Node, stretches: &[Stretch]) -> Result<Linked> {
        let mut key_of: HashMap<SessionNo, String> = HashMap::new();
        let mut statement = self.tx.prepare_cached("SELECT session_key FROM sessions WHERE session_no = ?1")?;
        for stretch in stretches {
            if let std::collections::hash_map::Entry::Vacant(vacant) = key_of.entry(stretch.session_no) {
                vacant.insert(statement.query_row([stretch.session_no], |r| r.get(0))?);
            }
        }
        let covered = |session: &str, turn: TurnId| {
            stretches.iter().any(|s| s.turns.0 <= turn && turn <= s.turns.1 && key_of[&s.session_no] == session)
        };
        let d = &node.distillate;
        let mut named: Vec<&str> =
            d.lists().iter().flat_map(|(_, l)| l.iter()).filter_map(|i| i.file.as_deref()).collect();
        named.extend(d.proposals.iter().filter_map(|p| p.file.as_deref()));
        let own = node.id.to_string();
        let mut statement = self.tx.prepare_cached(
            "SELECT file_no, item, fields -> '$.source' FROM catalogue
             WHERE agent_no = ?1 AND state != 'gone' AND kind IN (?2, ?3, ?4) AND item IS NOT NULL ORDER BY file_no DESC",
        )?;
        let kinds = [FileKind::Leaf, FileKind::OpenLoop, FileKind::Proposal].map(FileKind::name);
        let mut rows = statement.query(params![self.agent_no, kinds[0], kinds[1], kinds[2]])?;
        let mut linked = Linked::default();
        while let Some(r) = rows.next()? {
            let item: String = r.get(1)?;
            let from_here = || -> Result<bool> {
                let source: Option<String> = r.get(2)?;
                let source = source.and_then(|s| serde_json::from_str(&s).ok());
                let source = Provenance::from_value(source.as_ref());
                let session = source.session.as_deref().unwrap_or_default();
                Ok(source.node.as_deref() == Some(&own) || source.turns.iter().any(|t| covered(session, *t)))
            };
            if !named.contains(&item.as_str()) && !from_here()? {
                continue;
            }
            let Some(entry) = file_table::numbered(self.tx, self.agent_no, r.get(0)?)? else { continue };
            let list = match entry.kind {
                FileKind::Leaf => &mut linked.memory,
                FileKind::OpenLoop => &mut linked.open_loops,
                _ => &mut linked.proposals,
            };
            match list.len() < MOST_LINKED {
                true => list.push(entry),
                false => linked.more = true,
            }
        }
        Ok(linked)
    }

    fn turn(&self, id: TurnId) -> Result<Expansion> {
        let (tx, agent) = (self.tx, self.agent_no);
        let turn = read::turn(tx, self.opener, agent, id)?;
        let lane_no: LaneNo =
            tx.prepare_cached("SELECT lane_no FROM turns WHERE turn_no = ?1")?.query_row([id.0], |r| r.get(0))?;
        let mut nodes = Vec::new();
        if let Some(chunk) = lineage::chunk_of(tx, lane_no, id)?
            && let Some(node) = lineage::find(tx, agent, chunk)?
        {
            nodes.push(node);
            nodes.extend(walk::ancestors(tx, agent, chunk, MOST_ABOVE)?.into_iter().map(|(_, n)| n));
        }
        let beside = |sql: &str| -> Result<Vec<TurnId>> {
            let mut statement = tx.prepare_cached(sql)?;
            let with = params![turn.session_no, lane_no, id.0, NEIGHBOURS as i64];
            let rows = statement.query_map(with, |r| r.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        };
        let mut before = beside(
            "SELECT turn_no FROM turns WHERE session_no = ?1 AND lane_no = ?2 AND turn_no < ?3 ORDER BY turn_no DESC LIMIT ?4",
        )?;
        before.reverse();
        let after = beside(
            "SELECT turn_no FROM turns WHERE session_no = ?1 AND lane_no = ?2 AND turn_no > ?3 ORDER BY turn_no LIMIT ?4",
        )?;
        let run = read::runs(tx, turn.session_no)?.into_iter().find(|r| r.no == turn.run);
        let Reach { cursor, limit, .. } = self.reach;
        let transcript = words::page(tx, self.opener, agent, &Words::Turn(id), cursor.as_deref(), *limit)?;
        let view = TurnView { id, run, nodes, before, after };
        Ok(Expansion { subject: Subject::Turn(Box::new(view)), transcript: Some(transcript) })
    }

    /// Expands the key or name of a session or thread. Keys are recognised by their form; a name is looked up among
    /// sessions first, then threads.
    fn named(&self, name: &str) -> Result<Expansion> {
        let session = read::session_named(self.tx, self.agent_no, name);
        if let Ok(row) = session {
            return self.session(row);
        }
        let thread = thread::named(self.tx, self.agent_no, name);
        match (thread, session) {
            (Ok(thread), _) => self.thread(thread),
            (_, Err(e)) if e.kind() == ErrorKind::Usage => Err(e),
            (Err(e), _) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => {
                let shown: String = crate::redact::redact(name).chars().take(80).collect();
                Err(Error::not_found(format!("{shown:?} leads nowhere")).hint(reference::FORMS))
            }
        }
    }

    fn session(&self, session: SessionRow) -> Result<Expansion> {
        let tx = self.tx;
        let thread = thread::of_session(tx, session.no)?;
        let view = SessionView {
            thread: thread.map(|no| thread::find(tx, self.agent_no, no)).transpose()?.flatten(),
            lanes: read::lanes(tx, session.no)?,
            nodes: walk::of_session(tx, self.agent_no, session.no, MOST_NODES)?,
            compactions: lineage::compactions(tx, session.no)?,
            session,
        };
        let transcript = self.words(&Words::Session(view.session.no))?;
        Ok(Expansion { subject: Subject::Session(Box::new(view)), transcript })
    }

    fn thread(&self, thread: ThreadRow) -> Result<Expansion> {
        let mut nodes: Vec<Node> = Vec::new();
        let members = thread::members(self.tx, thread.no)?;
        for member in &members {
            nodes.extend(walk::tops(self.tx, *member, MOST_NODES)?);
        }
        nodes.sort_by_key(|n| std::cmp::Reverse((n.times.1.unwrap_or(n.created_at), n.id)));
        nodes.truncate(MOST_NODES);
        let stretches = walk::stretches_of_threads(self.tx, &members)?;
        let transcript = self.words(&Words::Stretches(&stretches))?;
        Ok(Expansion { subject: Subject::Thread(Box::new(ThreadView { thread, nodes })), transcript })
    }
}

fn file(at: &AssistantHome, text: &str) -> Result<FileView> {
    let address::Addressed { entry, line } = address::find(at, text)?;
    let found = at.files.read_with_stamp(&entry.path, LARGEST_FILE)?;
    let (bytes, _) =
        found.ok_or_else(|| Error::not_found(format!("{} is not there any more", at.shown(&entry.path))))?;
    let whole = String::from_utf8_lossy(&bytes);
    let whole = redact_lines(&whole);
    let (text, cut) = match line {
        None => bounded(&whole),
        Some(line) => {
            let lines: Vec<&str> = whole.lines().collect();
            if line > lines.len() {
                return Err(Error::not_found(format!("{} has {} lines", at.shown(&entry.path), lines.len()))
                    .hint(format!("⟨expand {}⟩", entry.path)));
            }
            let first = (line - 1).saturating_sub(LINES_AROUND);
            let last = (line + LINES_AROUND).min(lines.len());
            (bounded(&lines[first..last].join("\n")).0, first > 0 || last < lines.len())
        }
    };
    let source = Provenance::from_value(entry.fields.get("source"));
    let mut references: Vec<Reference> = Vec::new();
    references.extend(source.node.as_deref().and_then(NodeId::parse).map(Reference::Node));
    references.extend(source.turns.iter().map(|t| Reference::Turn(*t)));
    references.extend(source.session.clone().map(Reference::Name));
    // References in the named line come before those around it.
    let named = line.and_then(|n| whole.lines().nth(n - 1)).unwrap_or_default();
    for reference in Reference::all_in(named).into_iter().chain(Reference::all_in(&text)) {
        if !references.contains(&reference) && entry.item.as_deref() != Some(&reference.to_string()) {
            references.push(reference);
        }
    }
    Ok(FileView { entry, line, text, cut, source, references })
}

/// Returns the beginning of a text that was already redacted, and whether the text goes on.
fn bounded(text: &str) -> (String, bool) {
    let end = text.floor_char_boundary(MOST_TEXT.min(text.len()));
    (text[..end].to_owned(), end < text.len())
}

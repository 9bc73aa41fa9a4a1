//! The answer of `expand` for a node, turn, file, session, thread or anything else that has an id (R11.2). Every object
//! names the agent it belongs to (R6.8).

use schemars::JsonSchema;
use serde::Serialize;

use super::Of;
use super::contexts::ReplayReport;
use super::file::FileReport;
use super::items::EntryReport;
use super::sessions::SessionReport;
use crate::clock::rfc3339;
use crate::continuity::{channel, scheduled};
use crate::lineage::{Compaction, Node};
use crate::memory::pending::Pending;
use crate::next_step::See;
use crate::recall::expand::{
    Branch, Expansion, FileView, MatterView, NodeView, Passage, SessionView, SetAside, Subject, Transcript, TurnView,
};
use crate::redact::redact;
use crate::scope::{JobRunNo, NodeId, RunNo, TurnId};
use crate::thread::ThreadRow;
use crate::transcript::read::LaneRow;
use crate::tree::AssistantHome;
use crate::tree::file_table::Entry;
use crate::tree::provenance::Provenance;

/// The thing a reference leads to.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ExpandReport {
    #[serde(flatten)]
    pub subject: SubjectReport,
    /// A page of the turns below it, if the request asked for turns and there are any.
    pub transcript: Option<TranscriptReport>,
    #[serde(skip)]
    pub found: Expansion,
}

/// The kinds of things a reference can lead to.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
#[serde(untagged)]
pub enum SubjectReport {
    Node(Box<NodeSubject>),
    Turn(Box<TurnSubject>),
    File(Box<FileSubject>),
    Session(Box<SessionSubject>),
    Thread { thread: Of<ThreadRow>, nodes: Vec<NodeReport> },
    Pending { pending: Of<PendingReport> },
    Channel { channel: Of<ChannelReport> },
    Job { job: Of<JobReport> },
    Context { context: Box<ReplayReport>, items: Vec<Of<ContextItem>> },
    Quarantine { quarantine: Box<Of<SetAside>> },
    Matter { matter: Box<Of<MatterReport>> },
}

impl ExpandReport {
    /// `files`: the visible files of the agent, if it has any. `resume`: returns the command that resumes a session.
    pub fn of(
        agent: &str,
        files: Option<&AssistantHome>,
        found: Expansion,
        resume: impl Fn(&SessionView) -> Option<String>,
    ) -> ExpandReport {
        let subject = match &found.subject {
            Subject::Node(view) => SubjectReport::Node(Box::new(NodeSubject::of(agent, view))),
            Subject::Turn(view) => SubjectReport::Turn(Box::new(TurnSubject::of(agent, view))),
            Subject::File(view) => SubjectReport::File(Box::new(FileSubject::of(agent, files, view))),
            Subject::Session(view) => SubjectReport::Session(Box::new(SessionSubject::of(agent, view, resume(view)))),
            Subject::Thread(view) => {
                SubjectReport::Thread { thread: of(agent, view.thread.clone()), nodes: nodes(&view.nodes) }
            }
            Subject::Pending(p) => SubjectReport::Pending { pending: of(agent, pending(p)) },
            Subject::Matter(view) => SubjectReport::Matter { matter: Box::new(of(agent, matter(view))) },
            Subject::Channel(event) => SubjectReport::Channel { channel: of(agent, channel(event)) },
            Subject::Job(runs) => {
                let runs = runs.iter().map(|run| of(agent, job_run(run))).collect();
                SubjectReport::Job { job: of(agent, JobReport { runs }) }
            }
            Subject::Context(given) => {
                let item = |(part, id): (&str, &str)| ContextItem { id: id.to_owned(), part: part.to_owned() };
                SubjectReport::Context {
                    items: given.items().into_iter().map(|pair| of(agent, item(pair))).collect(),
                    context: Box::new(ReplayReport::of(agent, given)),
                }
            }
            Subject::Quarantine(aside) => {
                SubjectReport::Quarantine { quarantine: Box::new(of(agent, SetAside::clone(aside))) }
            }
        };
        ExpandReport { subject, transcript: found.transcript.as_ref().map(|t| transcript(agent, t)), found }
    }
}

fn of<T>(agent: &str, what: T) -> Of<T> {
    Of { agent_id: agent.to_owned(), what }
}

fn all<T: Clone>(agent: &str, list: &[T]) -> Vec<Of<T>> {
    list.iter().map(|what| of(agent, what.clone())).collect()
}

/// A node of the lineage.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct NodeReport {
    #[serde(flatten)]
    pub node: Node,
    pub tokens: TokensReport,
}

/// Tokens of the turns or nodes that a node covers, and of its summary.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct TokensReport {
    pub source: u64,
    pub summary: u64,
}

impl From<&Node> for NodeReport {
    fn from(node: &Node) -> NodeReport {
        let tokens = TokensReport { source: node.source_tokens, summary: node.summary_tokens };
        NodeReport { tokens, node: node.clone() }
    }
}

fn nodes(nodes: &[Node]) -> Vec<NodeReport> {
    nodes.iter().map(NodeReport::from).collect()
}

/// The items before and after this one, oldest first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
#[schemars(rename = "{T}Neighbours")]
pub struct Neighbours<T> {
    pub before: Vec<T>,
    pub after: Vec<T>,
}

/// A node with its surroundings in the lineage.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct NodeSubject {
    pub node: ExpandedNode,
    /// Nodes above the parents, nearest first.
    pub ancestors: Vec<Ancestor>,
    pub parents: Vec<NodeReport>,
    pub children: Vec<BranchReport>,
    /// Whether the node has more descendants than are given here.
    pub more_below: bool,
    /// Other children of the parents of the node.
    pub siblings: Vec<NodeReport>,
    pub neighbours: Neighbours<NodeReport>,
    pub linked: LinkedReport,
}

/// The node that was asked for.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ExpandedNode {
    #[serde(flatten)]
    pub node: NodeReport,
    /// Id of the node made in place of this one after some of its content was forgotten.
    pub replaced_by: Option<NodeId>,
}

/// A node above the parents of the node that was asked for.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Ancestor {
    #[serde(flatten)]
    pub node: NodeReport,
    pub distance: usize,
}

/// A node with the nodes below it.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct BranchReport {
    #[serde(flatten)]
    pub node: NodeReport,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<BranchReport>,
}

/// Visible files made from a node.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct LinkedReport {
    pub memory: Vec<Of<EntryReport>>,
    pub open_loops: Vec<Of<EntryReport>>,
    pub proposals: Vec<Of<EntryReport>>,
    /// Whether there are more such files than are given here.
    pub more: bool,
}

impl NodeSubject {
    fn of(agent: &str, view: &NodeView) -> NodeSubject {
        let entries = |list: &[Entry]| list.iter().map(|e| of(agent, EntryReport::from(e))).collect();
        NodeSubject {
            node: ExpandedNode {
                node: NodeReport::from(&view.node),
                replaced_by: view.replaced_by.as_ref().map(|n| n.id),
            },
            ancestors: view
                .ancestors
                .iter()
                .map(|(distance, n)| Ancestor { node: n.into(), distance: *distance })
                .collect(),
            parents: nodes(&view.parents),
            children: view.children.iter().map(branch).collect(),
            more_below: view.more_below,
            siblings: nodes(&view.siblings),
            neighbours: Neighbours { before: nodes(&view.before), after: nodes(&view.after) },
            linked: LinkedReport {
                memory: entries(&view.linked.memory),
                open_loops: entries(&view.linked.open_loops),
                proposals: entries(&view.linked.proposals),
                more: view.linked.more,
            },
        }
    }
}

fn branch(of: &Branch) -> BranchReport {
    BranchReport { node: NodeReport::from(&of.node), children: of.children.iter().map(branch).collect() }
}

/// A turn and its place in the session. The text of the turn is in `transcript`.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct TurnSubject {
    pub turn: Of<TurnPlace>,
    pub run: Option<Of<RunOfTurn>>,
    /// Nodes that cover the turn; the chunk it is in comes first.
    pub nodes: Vec<NodeReport>,
    pub neighbours: Neighbours<Of<TurnOnly>>,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct TurnPlace {
    pub id: TurnId,
    /// The command that prints the exact bytes of the record.
    pub raw: See,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct TurnOnly {
    pub id: TurnId,
}

/// The run a turn belongs to.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct RunOfTurn {
    pub run: RunNo,
    pub status: &'static str,
    pub lane: String,
    pub model: Option<String>,
    pub prompt: Option<TurnId>,
    pub answer: Option<TurnId>,
    pub opened_at: Option<String>,
    pub last_at: Option<String>,
}

impl TurnSubject {
    fn of(agent: &str, view: &TurnView) -> TurnSubject {
        let ids = |turns: &[TurnId]| turns.iter().map(|id| of(agent, TurnOnly { id: *id })).collect();
        let run = view.run.as_ref().map(|r| RunOfTurn {
            run: r.no,
            status: r.status,
            lane: r.lane.clone(),
            model: r.model.clone(),
            prompt: r.prompt,
            answer: r.answer,
            opened_at: r.opened_at.map(rfc3339),
            last_at: r.last_at.map(rfc3339),
        });
        let place = TurnPlace { id: view.id, raw: See::new(format!("show --raw {}", view.id)) };
        TurnSubject {
            turn: of(agent, place),
            run: run.map(|run| of(agent, run)),
            nodes: nodes(&view.nodes),
            neighbours: Neighbours { before: ids(&view.before), after: ids(&view.after) },
        }
    }
}

/// A visible file, or some of its lines.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct FileSubject {
    pub file: Of<ExpandedFile>,
    pub source: Of<Provenance>,
    /// References to follow: the source of the file, and the references in brackets in its text.
    pub references: Vec<String>,
}

#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ExpandedFile {
    #[serde(flatten)]
    pub file: FileReport,
    /// Line that the reference names, counted from 1.
    pub line: Option<usize>,
    pub text: String,
    /// Whether the text was cut because it is too long.
    pub cut: bool,
}

impl FileSubject {
    fn of(agent: &str, files: Option<&AssistantHome>, view: &FileView) -> FileSubject {
        let file = FileReport::of(files, &view.entry);
        let file = ExpandedFile { file, line: view.line, text: view.text.clone(), cut: view.cut };
        let references = view.references.iter().map(ToString::to_string).collect();
        FileSubject { file: of(agent, file), source: of(agent, view.source.clone()), references }
    }
}

/// A session, with its nodes, compactions and thread.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionSubject {
    pub session: Of<SessionReport>,
    /// Thread that the session is in now.
    pub thread: Option<Of<ThreadRow>>,
    pub lanes: Vec<Of<LaneRow>>,
    /// Nodes of the session, newest first.
    pub nodes: Vec<NodeReport>,
    pub compactions: Vec<Of<Compaction>>,
}

impl SessionSubject {
    fn of(agent: &str, view: &SessionView, resume: Option<String>) -> SessionSubject {
        SessionSubject {
            session: of(agent, SessionReport::of(view.session.clone(), resume)),
            thread: view.thread.clone().map(|thread| of(agent, thread)),
            lanes: all(agent, &view.lanes),
            nodes: nodes(&view.nodes),
            compactions: all(agent, &view.compactions),
        }
    }
}

/// Something that was noticed in a conversation and may become memory.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct PendingReport {
    pub id: String,
    pub kind: &'static str,
    pub title: String,
    pub text: String,
    pub confidence: f64,
    pub state: &'static str,
    /// Number of turns in which it was noticed.
    pub seen: i64,
    pub turn: Option<TurnId>,
    pub session: Option<String>,
    /// Id of the memory or profile value it became.
    pub result: Option<String>,
}

fn pending(p: &Pending) -> PendingReport {
    PendingReport {
        id: p.id(),
        kind: p.kind.name(),
        title: redact(&p.title).into_owned(),
        text: redact(&p.text).into_owned(),
        confidence: p.confidence,
        state: p.state.name(),
        seen: p.seen,
        turn: p.turn,
        session: p.session.clone(),
        result: p.result.clone(),
    }
}

/// A language model's remark on an open loop, which waits for a person's yes or was decided.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct MatterReport {
    pub id: String,
    /// Kind of the remark: `settled`, `same` or `title`.
    pub kind: &'static str,
    /// State of the remark: `waiting`, `accepted` or `rejected`.
    pub state: &'static str,
    /// The loop it is about; null if it is gone.
    #[serde(rename = "loop")]
    pub about: Option<EntryReport>,
    /// The loop that is the same.
    pub other: Option<EntryReport>,
    /// The model's reason: words that settle the loop, or the title it would give; may be empty.
    pub text: String,
    /// The turn it cites; its words are in `transcript`.
    pub turn: Option<TurnId>,
    /// The language model that made the remark.
    pub model: String,
    pub at: String,
}

fn matter(view: &MatterView) -> MatterReport {
    MatterReport {
        id: view.id.clone(),
        kind: view.kind,
        state: view.state,
        about: view.about.as_ref().map(EntryReport::from),
        other: view.other.as_ref().map(EntryReport::from),
        text: redact(&view.text).into_owned(),
        turn: view.turn,
        model: view.model.clone(),
        at: rfc3339(view.at),
    }
}

/// A person who asked to be let into a channel.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ChannelReport {
    pub id: String,
    pub channel: String,
    pub peer: String,
    pub name: Option<String>,
    pub detail: Option<String>,
    pub state: &'static str,
    pub at: String,
    pub decided_at: Option<String>,
}

fn channel(event: &channel::Event) -> ChannelReport {
    ChannelReport {
        id: event.id(),
        channel: event.channel.clone(),
        peer: event.peer.clone(),
        name: event.name.clone(),
        detail: event.detail.clone(),
        state: event.state.name(),
        at: rfc3339(event.at),
        decided_at: event.decided_at.map(rfc3339),
    }
}

/// A scheduled job: its runs, newest first.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct JobReport {
    pub runs: Vec<Of<JobRunReport>>,
}

/// One run of a scheduled job.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct JobRunReport {
    pub run: JobRunNo,
    pub name: String,
    pub command: String,
    pub status: &'static str,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Path of the artifact with its output.
    pub artifact: Option<String>,
    pub error: Option<String>,
}

fn job_run(run: &scheduled::Run) -> JobRunReport {
    JobRunReport {
        run: run.no,
        name: run.name.clone(),
        command: redact(&run.command).into_owned(),
        status: run.status().name(),
        started_at: rfc3339(run.started_at),
        ended_at: run.ended_at.map(rfc3339),
        exit_code: run.exit_code,
        signal: run.signal,
        artifact: run.artifact.clone(),
        error: run.error.as_deref().map(|e| redact(e).into_owned()),
    }
}

/// Id that a line of a context leads to, and the part of the context the line is in.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct ContextItem {
    pub id: String,
    pub part: String,
}

/// One page of turns with their text.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct TranscriptReport {
    pub turns: Vec<Of<PassageReport>>,
    /// Reference to the next page; `None` after the last page.
    pub next: Option<String>,
}

/// A turn on a page, or a part of a long turn.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct PassageReport {
    pub id: TurnId,
    #[serde(flatten)]
    pub passage: Passage,
}

fn transcript(agent: &str, t: &Transcript) -> TranscriptReport {
    let passage = |p: &Passage| of(agent, PassageReport { id: p.turn.id, passage: p.clone() });
    TranscriptReport { turns: t.turns.iter().map(passage).collect(), next: t.next.clone() }
}

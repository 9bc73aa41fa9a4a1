//! Hits of a search.

use schemars::JsonSchema;
use serde::Serialize;

use super::round;
use crate::clock::rfc3339;
use crate::next_step::See;
use crate::recall::{FileHit, Hit, snippet};
use crate::redact::redact;
use crate::transcript::{kind_name, role_name};
use crate::tree::AssistantHome;
use crate::tree::file_table::State;

/// A turn that was found.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct TurnHit {
    pub turn: String,
    pub session: String,
    pub entry: String,
    /// Lane of the turn: empty for the main line, else the name of the sub-agent.
    pub lane: String,
    pub at: Option<String>,
    pub workspace: Option<String>,
    pub harness: String,
    pub role: &'static str,
    pub kind: &'static str,
    pub speaker: Option<String>,
    pub tool: Option<String>,
    /// Text around the matches.
    pub snippet: String,
    /// Positions of the matches in the snippet, in characters: `[start, end]`.
    pub matches: Vec<[usize; 2]>,
    pub score: f64,
    /// Other turns found that say the same: the other half of a tool call, or copies of a file.
    pub others: Vec<String>,
    pub why: WhyTurn,
    /// The command that resumes the session in its own program.
    pub resume: Option<String>,
    pub show: See,
    #[serde(skip)]
    pub hit: Hit,
}

/// Why a turn was found. `matched` of `of` words of the query are in it.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct WhyTurn {
    /// Number of words of the query that are in the turn, and of words in the query.
    pub matched: usize,
    pub of: usize,
    /// Neighbouring turn that matched the query, if the turn itself was only found beside it.
    pub beside: Option<String>,
    pub cosine: Option<f64>,
}

impl TurnHit {
    /// `resume`: the command that resumes the session, if there is one.
    pub fn of(hit: Hit, resume: Option<String>) -> TurnHit {
        let turn = &hit.turn;
        TurnHit {
            turn: turn.id.to_string(),
            session: turn.session.as_str().to_owned(),
            entry: turn.entry.clone(),
            lane: turn.lane.clone(),
            at: turn.at.map(rfc3339),
            workspace: turn.workspace.clone(),
            harness: turn.session.harness().to_owned(),
            role: role_name(turn.role),
            kind: kind_name(turn.kind),
            speaker: turn.speaker.as_deref().map(|name| redact(name).into_owned()),
            tool: turn.tool.clone(),
            snippet: plain(&hit.passage),
            matches: matches(&hit.passage),
            score: round(hit.score),
            others: hit.others.iter().map(|t| t.to_string()).collect(),
            why: WhyTurn {
                matched: hit.matched,
                of: hit.of,
                beside: hit.beside.map(|t| t.to_string()),
                cosine: hit.cosine,
            },
            resume,
            show: See::new(format!("show {}", turn.id)),
            hit,
        }
    }
}

/// A visible file that was found.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct FileHitReport {
    pub path: String,
    /// Path of the file on this machine.
    pub file: String,
    /// Line that matches best, counted from 1.
    pub line: usize,
    pub kind: &'static str,
    /// Whether the file is rendered from other files and turns; such a file ranks below its sources.
    pub rendered: bool,
    pub state: &'static str,
    pub status: Option<String>,
    pub id: Option<String>,
    pub title: String,
    pub class: Option<String>,
    pub scope: Option<String>,
    pub snippet: String,
    pub matches: Vec<[usize; 2]>,
    pub score: f64,
    pub why: WhyFile,
    pub show: See,
    #[serde(skip)]
    pub hit: FileHit,
}

/// Why a file was found: the number of words of the query that are in it, and of words in the query.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct WhyFile {
    pub matched: usize,
    pub of: usize,
}

impl FileHitReport {
    pub fn of(at: &AssistantHome, hit: FileHit) -> FileHitReport {
        let entry = &hit.entry;
        // If two files claim an id, it leads to only one of them; the id of an archived file leads to the active one.
        let id = entry.item.as_deref().filter(|_| entry.state == State::Active && entry.problem.is_none());
        let show = match id {
            Some(id) => See::new(format!("show {id}")),
            None => See::of("show", &format!("{}:{}", entry.path, hit.line)),
        };
        FileHitReport {
            path: entry.path.as_str().to_owned(),
            file: at.shown(&entry.path),
            line: hit.line,
            kind: entry.kind.name(),
            rendered: entry.kind.is_rendered(),
            state: entry.state.name(),
            status: entry.status.clone(),
            id: entry.item.clone(),
            title: redact(&entry.title).into_owned(),
            class: entry.class.clone(),
            scope: entry.scope.clone(),
            snippet: plain(&hit.passage),
            matches: matches(&hit.passage),
            score: round(hit.score),
            why: WhyFile { matched: hit.matched, of: hit.of },
            show,
            hit,
        }
    }
}

/// Returns a passage without the match marks.
pub fn plain(passage: &str) -> String {
    passage.replace([snippet::MATCH_START, snippet::MATCH_END], "")
}

/// Returns the positions of the matches in the plain passage, in characters: `[start, end]`.
pub fn matches(passage: &str) -> Vec<[usize; 2]> {
    let (mut out, mut at, mut start) = (Vec::new(), 0, None);
    for c in passage.chars() {
        match c {
            snippet::MATCH_START => start = Some(at),
            snippet::MATCH_END => {
                if let Some(from) = start.take() {
                    out.push([from, at]);
                }
            }
            _ => at += 1,
        }
    }
    out
}

//! Chooses the bytes that stand for a session: one of its files, rows of a database, or single records.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use super::{StreamRow, Written, is_mixed, stream_of_file, streams, write_rows, write_session_records, write_stream};
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::scope::{AgentNo, SessionNo};
use crate::transcript::prepare::OriginForm;
use crate::transcript::read;

/// Part of the stored data that an export writes.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// One generation of a file, by its number.
    File(StreamRow, i64),
    /// The newest revision of rows of a database.
    Rows(Vec<StreamRow>),
    /// The records of a session that has no file of its own.
    Records(SessionNo),
}

impl Part {
    /// Returns the newest generation of a file.
    pub fn newest(stream: StreamRow) -> Part {
        let generation = stream.generation;
        Part::File(stream, generation)
    }
}

/// Fact about a part that a person should know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Beside {
    /// The file holds several sessions; only the lines of this session are written.
    Mixed { path: PathBuf, session: String },
    /// The session is also stored in this other file.
    AlsoKept(PathBuf),
    /// The session also has this many rows of a database, which are not in the file.
    Rows(u64),
    /// The file was rewritten this many times; its newest generation is written.
    Rewritten(u64),
}

/// Returns the part that stands for a session, or for one of its sub-agents: its largest file, otherwise its rows,
/// otherwise its records. `NotFound` for an unknown session or sub-agent.
pub fn part_of_session(
    tx: &Read,
    agent_no: AgentNo,
    name: &str,
    lane: Option<&str>,
    generation: Option<i64>,
) -> Result<(Part, Vec<Beside>)> {
    let session = read::session_named(tx, agent_no, name)?;
    let stored = streams(tx, session.no)?;
    let of_form = |form: OriginForm| stored.iter().filter(|s| s.form == form).cloned().collect::<Vec<StreamRow>>();
    let (files, rows) = (of_form(OriginForm::File), of_form(OriginForm::Database));
    let mut of_lane: Vec<&StreamRow> = files.iter().filter(|s| s.lane == lane.unwrap_or_default()).collect();
    if of_lane.is_empty() && !rows.is_empty() {
        return Ok((
            Part::Rows(rows.into_iter().filter(|s| lane.is_none_or(|lane| s.lane == lane)).collect()),
            Vec::new(),
        ));
    }
    let Some(&first) = of_lane.first() else {
        // The session was passed in live, or its file mixes several sessions: the part is the records of this session.
        return match lane {
            None => Ok((Part::Records(session.no), Vec::new())),
            Some(lane) => {
                let known: Vec<&str> = files.iter().map(|s| s.lane.as_str()).filter(|l| !l.is_empty()).collect();
                let hint =
                    if known.is_empty() { "it has none".into() } else { format!("it has: {}", known.join(", ")) };
                Err(Error::not_found(format!("{} has no sub-agent {lane:?}", session.key)).hint(hint))
            }
        };
    };
    if is_mixed(tx, first.no)? {
        let beside = Beside::Mixed { path: first.path.clone(), session: session.key.as_str().to_owned() };
        return Ok((Part::Records(session.no), vec![beside]));
    }
    // If several files have the session (a copy, another folder), the one with the most bytes is written and the others
    // are named.
    of_lane.sort_by_key(|s| (Reverse(s.bytes), s.no));
    let mut beside: Vec<Beside> = of_lane[1..].iter().map(|other| Beside::AlsoKept(other.path.clone())).collect();
    if !rows.is_empty() {
        beside.push(Beside::Rows(rows.len() as u64));
    }
    let (part, rewritten) = of_file(of_lane[0].clone(), generation);
    beside.extend(rewritten);
    Ok((part, beside))
}

/// Returns the file that was read from this path, whatever sessions it contains. `None`: the file was never imported.
pub fn part_of_file(
    tx: &Read,
    agent_no: AgentNo,
    path: &Path,
    generation: Option<i64>,
) -> Result<Option<(Part, Vec<Beside>)>> {
    let stream = stream_of_file(tx, agent_no, path)?.map(|stream| of_file(stream, generation));
    Ok(stream.map(|(part, rewritten)| (part, Vec::from_iter(rewritten))))
}

/// Returns every file of a session, each in its newest generation.
pub fn files_of_session(tx: &Read, agent_no: AgentNo, name: &str) -> Result<Vec<StreamRow>> {
    let session = read::session_named(tx, agent_no, name)?;
    Ok(streams(tx, session.no)?.into_iter().filter(|s| s.form == OriginForm::File).collect())
}

/// Writes a part, byte for byte, without forgotten records. `progress` receives the number of bytes of each record.
pub fn write(tx: &Read, part: &Part, out: &mut dyn std::io::Write, progress: &mut dyn FnMut(u64)) -> Result<Written> {
    let opener = Opener::default();
    match part {
        Part::File(stream, generation) => write_stream(tx, &opener, stream, *generation, out, progress),
        Part::Rows(rows) => write_rows(tx, &opener, rows, out, progress),
        Part::Records(session) => write_session_records(tx, &opener, *session, out),
    }
}

fn of_file(stream: StreamRow, generation: Option<i64>) -> (Part, Option<Beside>) {
    let rewritten =
        (stream.generation > 0 && generation.is_none()).then_some(Beside::Rewritten(stream.generation as u64));
    let generation = generation.unwrap_or(stream.generation);
    (Part::File(stream, generation), rewritten)
}

//! Channel pairing: a peer asks for access on a channel, and a person accepts or refuses (R8.4).
//!
//! Nothing the peer says about itself is trusted. Channel and peer are identities: an identity with an invisible
//! character is refused and never corrected, because the corrected one could be taken for another. Name and detail are
//! cleaned and cut.

use rusqlite::{OptionalExtension, Row, params};
use schemars::JsonSchema;
use serde::Serialize;

use super::Change;
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::Read;
use crate::pages::{self, Happened};
use crate::scope::{AgentNo, RequestNo};
use crate::tree::AssistantHome;

const LONGEST_CHANNEL: usize = 64;
const LONGEST_PEER: usize = 200;
const LONGEST_NAME: usize = 200;
const LONGEST_DETAIL: usize = 2_000;

/// Most requests that may wait on one channel, so that invented peers cannot fill the ledger.
const MOST_WAITING: i64 = 1_000;

/// The state of a request for access.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    Pending,
    Approved,
    Denied,
}

impl Pairing {
    pub fn name(self) -> &'static str {
        match self {
            Pairing::Pending => "pending",
            Pairing::Approved => "approved",
            Pairing::Denied => "denied",
        }
    }

    fn parse(name: &str) -> Pairing {
        match name {
            "approved" => Pairing::Approved,
            "denied" => Pairing::Denied,
            _ => Pairing::Pending,
        }
    }
}

/// A row of the table of requests.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Event {
    #[serde(skip)]
    pub no: RequestNo,
    pub channel: String,
    pub peer: String,
    pub name: Option<String>,
    pub detail: Option<String>,
    pub state: Pairing,
    pub at: Millis,
    pub decided_at: Option<Millis>,
}

impl Event {
    /// Returns the id, such as `c:17`.
    pub fn id(&self) -> String {
        format!("c:{}", self.no)
    }
}

/// Records a request for access. Asking again while the request waits makes no second request, but replaces the name
/// and detail of the peer.
pub fn ask(
    at: &AssistantHome,
    channel: &str,
    peer: &str,
    name: Option<&str>,
    detail: Option<&str>,
) -> Result<(Event, Change)> {
    let channel = identity("channel", channel, LONGEST_CHANNEL)?;
    let peer = identity("peer", peer, LONGEST_PEER)?;
    let name = name.map(|n| plain(n, LONGEST_NAME)).filter(|n| !n.is_empty());
    let detail = detail.map(|d| plain(d, LONGEST_DETAIL)).filter(|d| !d.is_empty());
    if let Some(known) = at.read(|tx| pending(tx, at.agent_no, &channel, &peer))? {
        let unchanged = |new: &Option<String>, old: &Option<String>| new.is_none() || new == old;
        if unchanged(&name, &known.name) && unchanged(&detail, &known.detail) {
            return Ok((known, Change::Same));
        }
    }
    at.write("channel.ask", |tx| {
        let known = pending(tx, at.agent_no, &channel, &peer)?;
        let change = match known {
            Some(_) => Change::Changed,
            None => Change::New,
        };
        if change == Change::New {
            let waiting: i64 = tx
                .prepare_cached(
                    "SELECT count(*) FROM channel_events WHERE agent_no = ?1 AND channel = ?2 AND state = 'pending'",
                )?
                .query_row(params![at.agent_no, channel], |r| r.get(0))?;
            if waiting >= MOST_WAITING {
                return Err(Error::refused(format!("{MOST_WAITING} wait on {channel} already"))
                    .hint("approve or deny some: ⟨channel pending⟩"));
            }
        }
        tx.prepare_cached(
            "INSERT INTO channel_events (agent_no, channel, peer, name, detail, state, at)
             VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6)
             ON CONFLICT (agent_no, channel, peer) WHERE state = 'pending' DO UPDATE SET
               name = coalesce(excluded.name, name), detail = coalesce(excluded.detail, detail)",
        )?
        .execute(params![at.agent_no, channel, peer, name, detail, tx.now()])?;
        let gone = || Error::new(ErrorKind::Machine, "the request is not there after it was stored");
        let event = pending(tx, at.agent_no, &channel, &peer)?.ok_or_else(gone)?;
        pages::mark(tx, at.agent_no, &Happened::ChannelChanged { days: at.days_of([event.at]) })?;
        tx.note("event", event.no);
        Ok((event, change))
    })
}

/// Accepts or refuses requests: all of them or, if one cannot be decided, none. `which`: `17`, `c:17`, or channel and
/// peer as in `telegram/4711`.
pub fn decide(at: &AssistantHome, which: &[String], yes: bool) -> Result<Vec<(Event, Change)>> {
    let (wanted, action) = match yes {
        true => (Pairing::Approved, "channel.approve"),
        false => (Pairing::Denied, "channel.deny"),
    };
    let judge = |tx: &Read| -> Result<Vec<(Event, Change)>> {
        let mut out: Vec<(Event, Change)> = Vec::new();
        for name in which {
            let event = named(tx, at.agent_no, name)?;
            let change = match event.state {
                Pairing::Pending => Change::Changed,
                state if state == wanted => Change::Same,
                state => {
                    return Err(Error::refused(format!("{} was {} already", event.id(), state.name()))
                        .hint("nothing was changed; when they ask again there is something to decide"));
                }
            };
            if !out.iter().any(|(e, _)| e.no == event.no) {
                out.push((event, change));
            }
        }
        Ok(out)
    };
    let answered = at.read(judge)?;
    if answered.iter().all(|(_, change)| *change == Change::Same) {
        return Ok(answered);
    }
    at.write(action, |tx| {
        let mut answered = judge(tx)?;
        let mut moments = vec![tx.now()];
        for (event, change) in &mut answered {
            if *change == Change::Same {
                continue;
            }
            (event.state, event.decided_at) = (wanted, Some(tx.now()));
            tx.prepare_cached(
                "UPDATE channel_events SET state = ?3, decided_at = ?4 WHERE agent_no = ?1 AND event_no = ?2",
            )?
            .execute(params![at.agent_no, event.no, wanted.name(), event.decided_at])?;
            moments.push(event.at);
        }
        pages::mark(tx, at.agent_no, &Happened::ChannelChanged { days: at.days_of(moments) })?;
        tx.note("events", answered.iter().map(|(e, _)| e.no).collect::<Vec<_>>());
        Ok(answered)
    })
}

/// Returns requests, newest first: the waiting ones, or all; and their total number.
pub fn list(tx: &Read, agent_no: AgentNo, all: bool, limit: usize) -> Result<(Vec<Event>, u64)> {
    let which = if all { "1" } else { "state = 'pending'" };
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM channel_events WHERE agent_no = ?1 AND {which} ORDER BY event_no DESC LIMIT ?2"
    ))?;
    let events: Vec<Event> =
        statement.query_map(params![agent_no, limit as i64], event)?.collect::<rusqlite::Result<_>>()?;
    let count: i64 = tx
        .prepare_cached(&format!("SELECT count(*) FROM channel_events WHERE agent_no = ?1 AND {which}"))?
        .query_row([agent_no], |r| r.get(0))?;
    Ok((events, count as u64))
}

/// Returns the request a name refers to: by number, otherwise the waiting request of a channel and peer, otherwise
/// their last one.
pub fn named(tx: &Read, agent_no: AgentNo, name: &str) -> Result<Event> {
    let number = name.strip_prefix("c:").unwrap_or(name).parse::<i64>().ok();
    let found = match number {
        Some(no) => tx
            .prepare_cached(&format!("SELECT {COLUMNS} FROM channel_events WHERE agent_no = ?1 AND event_no = ?2"))?
            .query_row(params![agent_no, no], event)
            .optional()?,
        None => tx
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM channel_events WHERE agent_no = ?1 AND channel || '/' || peer = ?2
                 ORDER BY state = 'pending' DESC, event_no DESC LIMIT 1"
            ))?
            .query_row(params![agent_no, name], event)
            .optional()?,
    };
    let shown: String = name.chars().take(80).collect();
    found.ok_or_else(|| Error::not_found(format!("nobody has asked as {shown:?}")).hint("see ⟨channel pending⟩"))
}

const COLUMNS: &str = "event_no, channel, peer, name, detail, state, at, decided_at";

fn event(r: &Row) -> rusqlite::Result<Event> {
    Ok(Event {
        no: r.get(0)?,
        channel: r.get(1)?,
        peer: r.get(2)?,
        name: r.get(3)?,
        detail: r.get(4)?,
        state: Pairing::parse(&r.get::<_, String>(5)?),
        at: r.get(6)?,
        decided_at: r.get(7)?,
    })
}

fn pending(tx: &Read, agent_no: AgentNo, channel: &str, peer: &str) -> Result<Option<Event>> {
    Ok(tx
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM channel_events
             WHERE agent_no = ?1 AND channel = ?2 AND peer = ?3 AND state = 'pending'"
        ))?
        .query_row(params![agent_no, channel, peer], event)
        .optional()?)
}

/// Checks an identity: returned unchanged, or refused.
fn identity(what: &str, text: &str, longest: usize) -> Result<String> {
    let fault = if text.is_empty() {
        "it is empty".to_owned()
    } else if text.chars().count() > longest {
        format!("it is longer than {longest} characters")
    } else if text.chars().any(unseen) || text.trim() != text {
        "it has characters in it that cannot be seen".to_owned()
    } else {
        return Ok(text.to_owned());
    };
    let shown: String = text.chars().take(80).collect();
    Err(Error::usage(format!("{shown:?} is no {what}: {fault}")).hint("give it as the channel names it, on one line"))
}

/// Returns a text as one line without invisible characters, cut to a length.
fn plain(text: &str, longest: usize) -> String {
    let visible: String = text.chars().filter(|c| c.is_whitespace() || !unseen(*c)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(longest).collect()
}

/// Whether a character has no width, changes the direction of others, or is white space other than the blank.
fn unseen(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c as u32,
            0x00ad | 0x061c | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff
            | 0xfff9..=0xfffb | 0xe0000..=0xe01ef)
}

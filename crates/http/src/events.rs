//! Live changes as server-sent events, made from the rows of the audit. An event names what a client should read again
//! and never carries the content, so a client that misses events loses nothing. The id of an event is the number of its
//! audit row; a client that reconnects continues behind the last id it saw (`Last-Event-ID`). A client that is too far
//! behind gets the event `resync`: read everything again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use futures_util::stream;
use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, ErrorKind};
use heirloom_engine::ledger::audit::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::Api;
use crate::concurrency::Kind;
use crate::guard::Asker;
use crate::problem::Problem;

/// A client that is more audit rows behind than this gets `resync`.
const FURTHEST: u64 = 1_000;
/// Number of audit rows read in one query.
const AT_ONCE: usize = 200;
/// Interval of keep-alive messages, so that each side notices when the other is gone.
const ALIVE: Duration = Duration::from_secs(15);

/// Query of the event stream: where it begins.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Number of the audit row behind which the events begin; without it, only new events are sent. The header
    /// `Last-Event-ID` takes precedence.
    after: Option<i64>,
}

/// The data of an event.
#[derive(Serialize, JsonSchema)]
pub struct Changed {
    /// Kind of the changed thing: the part of the action before the dot.
    pub kind: String,
    /// Action that changed it, such as `memory.edit`.
    pub action: String,
    /// Ids of the changed things, where they belong to this agent.
    pub ids: Vec<String>,
    /// Agent whose things changed; null if the change concerns the whole home.
    pub agent: Option<String>,
}

pub fn served() -> MethodRouter<Api> {
    get(|State(api): State<Api>, Extension(asker): Extension<Asker>, headers: HeaderMap, uri: Uri| async move {
        open(api, asker.engine, &headers, &uri).await.unwrap_or_else(Problem::into_response)
    })
}

/// State of one connected event stream.
struct Listening {
    api: Api,
    engine: Engine,
    changes: watch::Receiver<u64>,
    /// Number of the last audit row this client has been sent.
    after: i64,
    waiting: VecDeque<Event>,
    _place: OwnedSemaphorePermit,
}

async fn open(api: Api, engine: Engine, headers: &HeaderMap, uri: &Uri) -> Result<Response, Problem> {
    let Query(EventsQuery { after }) = Query::try_from_uri(uri)
        .map_err(|e| Error::usage(e.body_text()).hint("the keys of each path are in /v1/openapi.json"))?;
    let after = match headers.get("last-event-id") {
        None => after,
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.trim().parse().ok());
            Some(id.ok_or_else(|| Error::usage("Last-Event-ID is a number of the audit"))?)
        }
    };
    let busy = || Error::new(ErrorKind::Busy, "too many programs listen already");
    let place = Arc::clone(&api.0.gates.listeners).try_acquire_owned().map_err(|_| busy())?;
    // The current value is marked as seen before the audit is read: a change in between wakes the stream.
    let mut changes = api.0.parts.changes.clone();
    changes.borrow_and_update();
    let asked = engine.clone();
    let newest = api.0.gates.run(Kind::Reads, move || asked.agent_no().and_then(|_| asked.newest_change())).await??;
    let from = after.unwrap_or(newest as i64);
    let mut waiting = VecDeque::new();
    let is_behind = from < 0 || from as u64 > newest || newest - from as u64 > FURTHEST;
    let after = if is_behind { newest as i64 } else { from };
    if is_behind {
        waiting.push_back(Event::default().id(newest.to_string()).event("resync").data("{}"));
    }
    let listening = Listening { api, engine, changes, after, waiting, _place: place };
    let events = stream::unfold(listening, |mut listening| async move {
        loop {
            if let Some(event) = listening.waiting.pop_front() {
                return Some((Ok::<_, Infallible>(event), listening));
            }
            if !listening.read().await && listening.changes.changed().await.is_err() {
                return None;
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response())
}

impl Listening {
    /// Reads the audit rows behind the last one sent and queues their events. Returns whether there may be more.
    async fn read(&mut self) -> bool {
        self.changes.borrow_and_update();
        let (engine, after) = (self.engine.clone(), self.after);
        let read = move || {
            let newest = engine.newest_change()? as i64;
            Ok::<_, Error>((newest, engine.changes_after(after, AT_ONCE)?.audit))
        };
        let Ok(Ok((newest, rows))) = self.api.0.gates.run(Kind::Reads, read).await else { return false };
        let all = rows.len() < AT_ONCE;
        let last = rows.last().map_or(after, |row| row.no);
        // Rows of other agents send nothing, so the position moves past them and they are not read again.
        self.after = if all { last.max(newest) } else { last };
        self.waiting.extend(rows.iter().filter(|row| is_told(row)).filter_map(event));
        !self.waiting.is_empty() || !all
    }
}

/// Returns whether an audit row becomes an event. Rows about queued jobs change nothing a client can read.
fn is_told(row: &Entry) -> bool {
    !matches!(row.action.as_str(), "job.enqueue" | "job.claim" | "job.done" | "job.fail")
}

fn event(row: &Entry) -> Option<Event> {
    let kind = row.action.split('.').next().unwrap_or_default().to_owned();
    // A row without an agent may name things of several agents, so its ids are not sent.
    let ids = if row.agent.is_some() { ids(&row.detail) } else { Vec::new() };
    let changed = Changed { kind, action: row.action.clone(), ids, agent: row.agent.clone() };
    Some(Event::default().id(row.no.to_string()).event("change").data(serde_json::to_string(&changed).ok()?))
}

/// Keys in a row's details whose values are ids of things.
const IDS: [&str; 14] = [
    "item", "items", "session", "sessions", "thread", "one", "other", "head", "node", "nodes", "proposal", "notices",
    "pair", "edit",
];

fn ids(detail: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for key in IDS {
        match &detail[key] {
            Value::String(id) => out.push(id.clone()),
            Value::Array(all) => out.extend(all.iter().filter_map(Value::as_str).map(str::to_owned)),
            _ => {}
        }
    }
    out
}

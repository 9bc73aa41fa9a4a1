//! History of changes: the audit, and the events made from it while it grows.

use axum::http::Method;
use heirloom_engine::ledger::audit::Entry;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Answer;
use crate::events::{self, EventsQuery};
use crate::page::{self, Page};
use crate::route::{Asked, Gives, Route, Takes, get, raw};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/audit", "audit", "Who changed what, newest first: one row for each transaction.", audit).list(),
        raw(
            Method::GET,
            "/v1/events",
            "events",
            "What changed, as it changes: server-sent events that say what to read again, never what it says.",
            (
                Takes::Nothing,
                Gives::Other("text/event-stream", "Events `change` and `resync`; each id is a number of the audit."),
            ),
            events::served,
        )
        .query::<EventsQuery>(),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditQuery {
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn audit(asked: &Asked, query: AuditQuery) -> Answer<Page<Entry>> {
    let size = page::size(query.limit)?;
    let before = page::key::<i64>("audit", query.cursor.as_deref())?;
    let mut found = asked.engine.audit(before, size + 1)?.audit;
    if !asked.asker.is_local() {
        // A row without an agent may name things of several agents: its details are only for local callers.
        found.iter_mut().filter(|row| row.agent.is_none()).for_each(|row| row.detail = serde_json::json!({}));
    }
    Ok(page::of_more("audit", found, size, |row| row.no))
}

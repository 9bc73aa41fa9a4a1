//! Heads: the pages programs read first, and the sections other programs write into them.

use std::cmp::Reverse;

use heirloom_engine::error::Error;
use heirloom_engine::pages::head_lease;
use heirloom_engine::render::head_commits::Change;
use heirloom_engine::report::heads::{
    HeadAcquired, HeadCommit, HeadCommitted, HeadDiff, HeadExplained, HeadGranted, HeadLog, HeadReleased, HeadReport,
    HeadRestored, HeadShown,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Answer;
use crate::page::{self, Page};
use crate::problem::Problem;
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/heads", "heads", "The heads, who is at work on them, and what waits.", heads).item(),
        get("/v1/heads/{head}", "head", "What a head says: the rendered block and the sections.", head).item(),
        get("/v1/heads/{head}/why", "head.why", "Why each line of a head is there, and what was left out.", why).item(),
        get("/v1/heads/{head}/log", "head.log", "The revisions of a head, newest first.", log).item(),
        get("/v1/heads/{head}/diff", "head.diff", "The lines in which two revisions differ.", diff).item(),
        post("/v1/heads/{head}/acquire", "head.acquire", "Take a head, to commit sections to it.", acquire),
        post("/v1/heads/{head}/commit", "head.commit", "Put a section in, replace it, or take it out.", commit),
        post("/v1/heads/{head}/release", "head.release", "Give a head back.", release),
        post(
            "/v1/heads/{head}/restore",
            "head.restore",
            "Bring the sections of a revision back, as a new one.",
            restore,
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HeadsQuery {
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn heads(asked: &Asked, query: HeadsQuery) -> Answer<Page<HeadReport>> {
    let all = asked.engine.heads()?.heads;
    page::of_all("heads", all, (query.limit, query.cursor.as_deref()), |head| Reverse(head.head.clone()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HeadQuery {
    /// Show the head as it was in this revision.
    revision: Option<i64>,
}

fn head(asked: &Asked, query: HeadQuery) -> Answer<HeadShown> {
    Ok(asked.engine.head(asked.at("head"), query.revision)?)
}

fn why(asked: &Asked, _: Nothing) -> Answer<HeadExplained> {
    Ok(asked.engine.explain_head(asked.at("head"))?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogQuery {
    /// Number of revisions: 1 to 500, default 50.
    limit: Option<u16>,
}

fn log(asked: &Asked, query: LogQuery) -> Answer<HeadLog> {
    Ok(asked.engine.head_log(asked.at("head"), page::size(query.limit)?)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiffQuery {
    /// The older revision.
    from: i64,
    /// The newer revision; default the newest there is.
    to: Option<i64>,
}

fn diff(asked: &Asked, query: DiffQuery) -> Answer<HeadDiff> {
    Ok(asked.engine.head_diff(asked.at("head"), query.from, query.to)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcquireBody {
    /// Name the caller chooses for itself: letters, digits and - _ . : @ /
    owner: String,
    /// Duration of the lease in seconds: 1 to 60.
    ttl: Option<i64>,
}

fn acquire(asked: &Asked, body: AcquireBody) -> Answer<HeadGranted> {
    let ttl_ms = match body.ttl {
        None => head_lease::TTL,
        Some(seconds @ 1..=60) => seconds * 1000,
        Some(_) => return Err(Error::usage("ttl is 1 to 60 seconds").into()),
    };
    match asked.engine.acquire_head(asked.at("head"), &body.owner, ttl_ms)? {
        HeadAcquired::Granted(granted) => Ok(granted),
        HeadAcquired::Held(held) => {
            Err(Problem::held(Some(held.holder), held.error.what, held.error.next, held.free_in_ms))
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommitBody {
    /// Name of the section: 1 to 40 of a-z, 0-9 and -.
    section: String,
    /// Owner name the lease was acquired with.
    owner: String,
    /// Epoch returned with the lease.
    epoch: i64,
    /// Revision the new content is based on.
    base: i64,
    /// New content of the section, at most 4 KiB; empty removes the section.
    content: String,
}

fn commit(asked: &Asked, body: CommitBody) -> Answer<HeadCommitted> {
    let change = Change { section: &body.section, owner: &body.owner, content: &body.content };
    match asked.engine.commit_head(asked.at("head"), &change, body.epoch, body.base)? {
        HeadCommit::Stands(stands) => Ok(stands),
        HeadCommit::Refused(refused) => {
            let current = serde_json::to_value(&refused).unwrap_or_default();
            let problem = Problem::held(refused.holder, refused.error.what, refused.error.next, refused.free_in_ms);
            Err(problem.with_current(current))
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReleaseBody {
    /// Owner name the lease was acquired with.
    owner: String,
    /// Epoch returned with the lease.
    epoch: i64,
}

fn release(asked: &Asked, body: ReleaseBody) -> Answer<HeadReleased> {
    Ok(asked.engine.release_head(asked.at("head"), &body.owner, body.epoch)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RestoreBody {
    /// Revision whose sections are restored.
    revision: i64,
}

fn restore(asked: &Asked, body: RestoreBody) -> Answer<HeadRestored> {
    Ok(asked.engine.restore_head(asked.at("head"), body.revision)?)
}

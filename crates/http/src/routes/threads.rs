//! Threads: lanes of work across sessions and programs.

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::Result;
use heirloom_engine::report::threads::{ListedThread, ThreadChanged, ThreadDetails, ThreadsChanged, goal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Answer;
use crate::page::{self, Page, Rank};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/threads", "threads", "What is being worked on, last worked in first.", threads).list(),
        get(
            "/v1/threads/{key}",
            "thread",
            "Where a thread stands: goal, what is open, people, sessions, nodes.",
            thread,
        )
        .item(),
        post(
            "/v1/threads/{key}/name",
            "thread.name",
            "Call a thread something else; old names lead to it still.",
            name,
        ),
        post("/v1/threads/{key}/merge", "thread.merge", "Make a thread part of another.", merge),
        post("/v1/threads/{key}/unmerge", "thread.unmerge", "Take a merged thread out again.", |asked, _: Nothing| {
            Ok::<ThreadChanged, _>(asked.engine.unmerge_thread(asked.at("key"))?)
        }),
        post(
            "/v1/threads/{key}/close",
            "thread.close",
            "Take a thread off the list, until something new begins in it.",
            |asked, _: Nothing| Ok::<ThreadChanged, _>(asked.engine.close_thread(asked.at("key"))?),
        ),
        post(
            "/v1/threads/{key}/reopen",
            "thread.reopen",
            "Put a closed thread back on the list.",
            |asked, _: Nothing| Ok::<ThreadChanged, _>(asked.engine.reopen_thread(asked.at("key"))?),
        ),
        post("/v1/threads/{key}/link", "thread.link", "Say that two threads may know of each other.", link),
        post("/v1/threads/{key}/unlink", "thread.unlink", "Take a link away.", unlink),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ThreadsQuery {
    /// Include closed and merged threads.
    #[serde(default)]
    all: bool,
    /// Only threads this session has turns in.
    session: Option<String>,
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

/// A thread in a list, and what it is about.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListedThread")]
struct ThreadInList {
    #[serde(flatten)]
    listed: ListedThread,
    /// Goal of the thread, else its newest item in progress, in one line; null if the thread has neither.
    goal: Option<String>,
}

fn threads(asked: &Asked, query: ThreadsQuery) -> Answer<Page<ThreadInList>> {
    let found = asked.engine.threads(query.all, query.session.as_deref(), usize::MAX)?.threads;
    let page = page::of_all("threads", found, (query.limit, query.cursor.as_deref()), |listed| {
        let row = &listed.thread.row;
        Rank(row.last_at.is_some(), row.last_at.map(rfc3339).unwrap_or_default(), row.key.clone())
    })?;
    // Of those that are shown only: each is read from its summaries.
    let items = asked.engine.read(|tx| {
        let with_goal = |listed: ListedThread| Ok(ThreadInList { goal: goal(tx, listed.thread.row.no)?, listed });
        page.items.into_iter().map(with_goal).collect::<Result<Vec<_>>>()
    })?;
    Ok(Page { items, next: page.next })
}

fn thread(asked: &Asked, _: Nothing) -> Answer<ThreadDetails> {
    Ok(asked.engine.thread(asked.at("key"))?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NameBody {
    /// New name in a few words.
    name: String,
}

fn name(asked: &Asked, body: NameBody) -> Answer<ThreadChanged> {
    Ok(asked.engine.rename_thread(asked.at("key"), &body.name)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MergeBody {
    /// Thread this one is merged into.
    into: String,
}

fn merge(asked: &Asked, body: MergeBody) -> Answer<ThreadChanged> {
    Ok(asked.engine.merge_thread(asked.at("key"), &body.into)?.1)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinkBody {
    /// The other thread.
    other: String,
    /// Relation between the two threads.
    why: Option<String>,
}

fn link(asked: &Asked, body: LinkBody) -> Answer<ThreadsChanged> {
    Ok(asked.engine.link_threads(asked.at("key"), &body.other, body.why.as_deref())?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UnlinkBody {
    /// The other thread.
    other: String,
}

fn unlink(asked: &Asked, body: UnlinkBody) -> Answer<ThreadsChanged> {
    Ok(asked.engine.unlink_threads(asked.at("key"), &body.other)?)
}

//! Durable memory: leaves, their search and changes.

use heirloom_engine::engine::{Engine, MemoryAct};
use heirloom_engine::error::Error;
use heirloom_engine::memory::{Class, NewLeaf, Scope, change, find, leaf};
use heirloom_engine::report::file::FileTextReport;
use heirloom_engine::report::memories::{
    ChangedMemories, ForgottenMemories, MemoryReport, MemorySearchReport, RememberedReport,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, project, project_id};
use crate::page::{self, Page, Rank};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/memory", "memory.list", "What is remembered, pinned first, then newest first.", list).item(),
        get("/v1/memory/search", "memory.search", "Memories with these words, best first.", search),
        get("/v1/memory/{id}", "memory", "A memory with its text, and whether it is still good.", one).item(),
        post("/v1/memory", "memory.add", "Remember something a person said to remember; programs propose.", add),
        post("/v1/memory/{id}/edit", "memory.edit", "Change a memory; the old text is kept as a revision.", edit)
            .conditional(),
        post("/v1/memory/{id}/verify", "memory.verify", "Say that it still holds.", |asked, _: Nothing| {
            changed(asked, MemoryAct::Verify)
        }),
        post("/v1/memory/{id}/pin", "memory.pin", "Keep it in front, or let go of it again.", pin),
        post(
            "/v1/memory/{id}/supersede",
            "memory.supersede",
            "Put something else in its place; it stays as history.",
            supersede,
        ),
        post(
            "/v1/memory/{id}/forget",
            "memory.forget",
            "Remove it without a trace; no program brings it back.",
            forget,
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Only leaves of this class.
    class: Option<String>,
    /// Only leaves of this project: its id, label or whole path.
    workspace: Option<String>,
    /// Only leaves with this tag.
    tag: Option<String>,
    /// List leaves that something newer superseded, instead of current ones.
    #[serde(default)]
    superseded: bool,
    /// Only leaves that are stale and should be reviewed.
    #[serde(default)]
    stale: bool,
    /// Only leaves that are pinned.
    #[serde(default)]
    pinned: bool,
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn filter(engine: &Engine, class: Option<&str>, workspace: Option<&str>, tag: Option<String>) -> Answer<find::Filter> {
    let scope = project_id(engine, workspace)?.map(Scope::Workspace);
    Ok(find::Filter { class: class.map(Class::parse).transpose()?, scope, tag, ..find::Filter::default() })
}

fn list(asked: &Asked, query: ListQuery) -> Answer<Page<MemoryReport>> {
    let filter = find::Filter {
        superseded: query.superseded,
        stale: query.stale,
        pinned: query.pinned,
        ..filter(&asked.engine, query.class.as_deref(), query.workspace.as_deref(), query.tag)?
    };
    let all = asked.engine.memories(&filter, usize::MAX)?.memories;
    page::of_all("memory", all, (query.limit, query.cursor.as_deref()), |memory| {
        let entry = &memory.file.entry;
        let time = leaf::observed_of(entry).unwrap_or(entry.stamp.modified_ns / 1_000_000);
        Rank(leaf::is_pinned(entry), format!("{time:020}"), entry.path.as_str().to_owned())
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchQuery {
    /// Words to find, in any order.
    q: String,
    /// Only leaves of this class.
    class: Option<String>,
    /// Only leaves of this project: its id, label or whole path.
    workspace: Option<String>,
    /// Only leaves with this tag.
    tag: Option<String>,
    /// Maximum number of hits: 1 to 500, default 50.
    limit: Option<u16>,
}

fn search(asked: &Asked, query: SearchQuery) -> Answer<MemorySearchReport> {
    let size = page::size(query.limit)?;
    let filter = filter(&asked.engine, query.class.as_deref(), query.workspace.as_deref(), query.tag)?;
    Ok(asked.engine.search_memories(&query.q, &filter, size)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneQuery {
    /// Refuse a leaf that belongs to another project than this one.
    workspace: Option<String>,
}

fn one(asked: &Asked, query: OneQuery) -> Answer<FileTextReport> {
    let within = project_id(&asked.engine, query.workspace.as_deref())?;
    let none = || Error::not_found("nothing is remembered yet").hint("POST /v1/memory");
    Ok(asked.engine.memory(asked.at("id"), within.as_deref())?.ok_or_else(none)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddBody {
    /// Text to remember, as Markdown.
    text: String,
    /// Title in a few words; default the first sentence. A new text under an existing title supersedes the older leaf.
    title: Option<String>,
    /// preference, identity, fact, procedure, blocker or reference; default fact in a project, preference elsewhere.
    class: Option<String>,
    /// Project the leaf belongs to: its id, label or whole path.
    workspace: Option<String>,
    /// Tags, for finding it.
    #[serde(default)]
    tags: Vec<String>,
    /// Subject of the leaf, if the title does not say it.
    subject: Option<String>,
    /// Confidence, from 0 to 1.
    confidence: Option<f64>,
}

fn add(asked: &Asked, body: AddBody) -> Answer<RememberedReport> {
    let (class, scope) = asked.engine.destination(body.class.as_deref(), project(body.workspace.as_deref())?)?;
    let AddBody { text, title, tags, subject, confidence, .. } = body;
    let new = NewLeaf { title, tags, subject, confidence, verified: true, ..NewLeaf::new(class, scope, text) };
    Ok(asked.engine.remember(&new)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditBody {
    /// The new text.
    text: Option<String>,
    /// New title; the file keeps its name.
    title: Option<String>,
    /// Summary shown in lists.
    summary: Option<String>,
    /// New list of tags; it replaces the present ones.
    tags: Option<Vec<String>>,
    /// Confidence, from 0 to 1.
    confidence: Option<f64>,
}

fn edit(asked: &Asked, body: EditBody) -> Answer<FileTextReport> {
    let EditBody { text, title, summary, tags, confidence } = body;
    let edit = change::Edit { text, title, summary, tags, confidence, verified: true };
    if edit == (change::Edit { verified: true, ..change::Edit::default() }) {
        return Err(Error::usage("say what to change").hint("text, title, summary, tags or confidence").into());
    }
    let name = asked.at("id");
    let done = asked.engine.act(|lock| {
        let entry = find::chosen_one(lock, name)?;
        let seen = FileTextReport::of_memory(lock.at, &entry, asked.engine.now())?;
        if let Err(problem) = asked.must_rest_on(&seen) {
            return Ok(Err(problem));
        }
        change::edit(lock, &entry, &edit).map(|_| Ok(entry.path))
    })?;
    let path = done?;
    let gone = || Error::not_found("it is gone meanwhile");
    Ok(asked.engine.memory(path.as_str(), None)?.ok_or_else(gone)?)
}

fn changed(asked: &Asked, what: MemoryAct) -> Answer<ChangedMemories> {
    Ok(asked.engine.change_memories(&[asked.at("id").to_owned()], what)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinBody {
    /// Remove the pin instead of setting it.
    #[serde(default)]
    off: bool,
}

fn pin(asked: &Asked, body: PinBody) -> Answer<ChangedMemories> {
    changed(asked, MemoryAct::Pin(!body.off))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SupersedeBody {
    /// Id of the leaf that holds instead.
    by: Option<String>,
    /// Text that holds now, if it is not remembered yet.
    text: Option<String>,
}

/// Result of superseding: the older leaf, or the new one that was remembered in its place.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Superseded {
    By(ChangedMemories),
    With(RememberedReport),
}

fn supersede(asked: &Asked, body: SupersedeBody) -> Answer<Superseded> {
    let old = asked.at("id");
    match (body.by, body.text) {
        (Some(by), None) => Ok(Superseded::By(asked.engine.supersede(old, &by)?.0)),
        (None, Some(text)) => Ok(Superseded::With(asked.engine.supersede_with(old, &text)?)),
        _ => Err(Error::usage("say what holds instead").hint("either `by`, an id, or `text`").into()),
    }
}

fn forget(asked: &Asked, _: Nothing) -> Answer<ForgottenMemories> {
    Ok(asked.engine.forget_memories(&[asked.at("id").to_owned()])?)
}

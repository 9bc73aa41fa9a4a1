//! Open loops: commitments that are not resolved yet.

use heirloom_engine::continuity::Item;
use heirloom_engine::continuity::open_loop::{self, NewLoop, Order};
use heirloom_engine::error::{Error, ErrorKind};
use heirloom_engine::report::file::FileTextReport;
use heirloom_engine::report::items::{EntryReport, UnfiledReport};
use heirloom_engine::tree::file_table::Kind;
use heirloom_engine::tree::provenance::{Origin, Provenance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, scope_of};
use crate::page::{self, Page};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/loops",
            "loops",
            "What is open: first what has a due date, the earliest first; then the newest, and open items of pages that \
             have no file yet last.",
            loops,
        )
        .item(),
        get("/v1/loops/{id}", "loop", "An open loop with its text.", one).item(),
        post("/v1/loops", "loop.add", "Open a loop; one of this title that is open already is added to.", add),
        post("/v1/loops/{id}/resolve", "loop.resolve", "Close a loop; its file goes to the archive.", resolve),
        post("/v1/loops/{id}/reopen", "loop.reopen", "Open a resolved loop again.", reopen),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoopsQuery {
    /// List resolved loops instead of open ones.
    #[serde(default)]
    resolved: bool,
    /// Only loops of this project: its id, label or whole path.
    workspace: Option<String>,
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

/// An open loop, which is a file, or an open item in a page that has no file yet.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum OpenItem {
    Filed(Box<EntryReport>),
    Unfiled(UnfiledReport),
}

/// An open loop with its text, or an open item that has no file yet.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum OneItem {
    Filed(Box<FileTextReport>),
    Unfiled(UnfiledReport),
}

fn loops(asked: &Asked, query: LoopsQuery) -> Answer<Page<OpenItem>> {
    let scope = scope_of(&asked.engine, query.workspace.as_deref())?;
    let report = asked.engine.loops(query.resolved, scope.as_deref(), usize::MAX)?;
    let filed = report.loops.into_iter().map(|entry| OpenItem::Filed(Box::new(entry)));
    let all = filed.chain(report.unfiled.into_iter().map(OpenItem::Unfiled)).collect();
    page::of_all("loops", all, (query.limit, query.cursor.as_deref()), |item| match item {
        OpenItem::Filed(e) => {
            let due = e.entry.field("due").filter(|_| !query.resolved);
            (due.is_some(), Order::of(due, open_loop::day(&e.entry)), true, e.path.clone())
        }
        OpenItem::Unfiled(item) => {
            (item.due.is_some(), Order::of(item.due.as_deref(), item.since.as_deref()), false, item.id.clone())
        }
    })
}

fn one(asked: &Asked, _: Nothing) -> Answer<OneItem> {
    let name = asked.at("id");
    let none = match asked.engine.file(Kind::OpenLoop, name) {
        Ok(Some(report)) => return Ok(OneItem::Filed(Box::new(report))),
        Ok(None) => Error::not_found("nothing is open yet").hint("POST /v1/loops"),
        Err(e) if e.kind() == ErrorKind::NotFound => e,
        Err(e) => return Err(e.into()),
    };
    match asked.engine.unfiled_loop(name)? {
        Some(item) => Ok(OneItem::Unfiled(item)),
        None => Err(none.into()),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddBody {
    /// Title in a few words; adding the same title again returns the same loop.
    title: String,
    /// Further text, as Markdown.
    text: Option<String>,
    /// Due date: YYYY-MM-DD.
    due: Option<String>,
    /// Project the loop belongs to: its id, label or whole path.
    workspace: Option<String>,
}

fn add(asked: &Asked, body: AddBody) -> Answer<Item> {
    let AddBody { title, text, due, workspace } = body;
    let scope = scope_of(&asked.engine, workspace.as_deref())?;
    let source = Provenance { origin: Origin::Program, ..Provenance::default() };
    Ok(asked.engine.add_loop(&NewLoop { title, text, due, scope, source, ..NewLoop::default() })?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResolveBody {
    /// Note on how the loop ended.
    note: Option<String>,
}

fn resolve(asked: &Asked, body: ResolveBody) -> Answer<Item> {
    let items = asked.engine.resolve_loops(&[asked.at("id").to_owned()], body.note.as_deref())?;
    only(items)
}

fn reopen(asked: &Asked, _: Nothing) -> Answer<Item> {
    only(asked.engine.reopen_loops(&[asked.at("id").to_owned()])?)
}

/// Returns the one item that an act on one item answers with.
pub fn only(items: Vec<Item>) -> Answer<Item> {
    items.into_iter().next().ok_or_else(|| Error::not_found("there is no such item").into())
}

//! Everything that waits for a person's yes: proposals, noticed statements, contradictions, and hand edits kept aside.

use heirloom_engine::continuity::Item;
use heirloom_engine::continuity::proposal::{self, NewProposal, Status};
use heirloom_engine::engine::Decision;
use heirloom_engine::error::{Error, ErrorKind};
use heirloom_engine::memory::leaf;
use heirloom_engine::memory::{Class, Scope};
use heirloom_engine::redact::redact;
use heirloom_engine::report::items::EntryReport;
use heirloom_engine::report::review::{DecidedReport, DecisionsReport, WaitingReport};
use heirloom_engine::review::inbox::{self, Answer as Verdict, Change};
use heirloom_engine::tree::provenance::{Origin, Provenance};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, project, project_id, scope_of};
use crate::page::{self, Page, Rank};
use crate::problem::{Problem, Wrong};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/proposals",
            "proposals",
            "Everything that waits for a yes: by kind, the newest of each first.",
            waiting,
        )
        .item(),
        get(
            "/v1/proposals/decided",
            "proposals.decided",
            "Proposals that were merged or rejected, newest first.",
            decided,
        )
        .of_files(),
        get("/v1/proposals/{id}", "proposal", "One of them: what it says, where that was said, what it replaces.", one)
            .item(),
        post("/v1/proposals", "proposal.add", "Propose memory; what waits under this title is added to.", add),
        post(
            "/v1/proposals/decide",
            "proposals.decide",
            "Say yes or no to several; what cannot be decided says why.",
            decide,
        ),
        post("/v1/proposals/undo", "proposals.undo", "Take decisions back; without ids, the last one.", undo),
        post("/v1/proposals/{id}/accept", "proposal.accept", "Say yes.", accept),
        post("/v1/proposals/{id}/reject", "proposal.reject", "Say no.", reject),
        post("/v1/proposals/{id}/undo", "proposal.undo", "Take a decision back.", undo_one),
        post("/v1/proposals/{id}/edit", "proposal.edit", "Change what would be remembered, before the yes.", edit)
            .conditional(),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitingQuery {
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

/// Kinds of waiting items; a person is asked about the last kind first.
const KINDS: [&str; 4] = ["edit", "proposal", "noticed", "supersession"];

fn waiting(asked: &Asked, query: WaitingQuery) -> Answer<Page<WaitingReport>> {
    let all = asked.engine.inbox()?.waiting;
    page::of_all("proposals", all, (query.limit, query.cursor.as_deref()), |w| {
        let kind = KINDS.iter().position(|kind| *kind == w.kind).unwrap_or_default();
        Rank(false, format!("{kind}{}", w.since.as_deref().unwrap_or_default()), w.id.clone())
    })
}

fn found(asked: &Asked) -> Answer<WaitingReport> {
    let id = asked.at("id");
    let mut all = asked.engine.inbox()?.waiting.into_iter();
    let found = all.find(|w| w.id == id);
    Ok(found.ok_or_else(|| Error::not_found("this does not wait").hint("GET /v1/proposals shows what does"))?)
}

fn one(asked: &Asked, _: Nothing) -> Answer<WaitingReport> {
    found(asked)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DecidedQuery {
    /// merged or rejected; default merged.
    status: Option<String>,
    /// Only proposals for this project: its id, label or whole path.
    workspace: Option<String>,
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn decided(asked: &Asked, query: DecidedQuery) -> Answer<Page<EntryReport>> {
    let status = match query.status.as_deref() {
        None | Some("merged") => Status::Merged,
        Some("rejected") => Status::Rejected,
        Some(_) => return Err(Error::usage("status is merged or rejected").into()),
    };
    let scope = scope_of(&asked.engine, query.workspace.as_deref())?;
    let all = asked.engine.proposals(status, scope.as_deref(), usize::MAX)?.proposals;
    page::of_all("decided", all, (query.limit, query.cursor.as_deref()), |entry| {
        let day = proposal::day(&entry.entry, status).unwrap_or_default();
        Rank(false, day.to_owned(), entry.path.clone())
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddBody {
    /// Title in a few words; default the first sentence. Adding the same title again returns the same proposal.
    title: Option<String>,
    /// Texts to remember; each becomes a leaf of its own.
    entries: Vec<String>,
    /// preference, identity, fact, procedure, blocker or reference; default fact in a project, preference elsewhere.
    class: Option<String>,
    /// Project the proposal belongs to: its id, label or whole path.
    workspace: Option<String>,
    /// Confidence, from 0 to 1.
    confidence: Option<f64>,
}

fn add(asked: &Asked, body: AddBody) -> Answer<Item> {
    let (class, scope) = asked.engine.destination(body.class.as_deref(), project(body.workspace.as_deref())?)?;
    let source = Provenance { origin: Origin::Program, ..Provenance::default() };
    let first = body.entries.first().ok_or_else(|| Error::usage("there is nothing in it to remember"))?;
    let title = body.title.unwrap_or_else(|| leaf::derived_title(&redact(first)));
    let (class, scope) = (class.name().to_owned(), scope.to_string());
    let new = NewProposal { title, entries: body.entries, class, scope, confidence: body.confidence, source };
    Ok(asked.engine.propose(&new)?.0)
}

/// A waiting item, in the version the person saw.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Seen {
    id: String,
    /// `version` of the item the person saw; the decision is refused if the item has changed since.
    version: Option<String>,
}

/// Answer to a waiting item.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum YesNo {
    Accept,
    Reject,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DecideBody {
    items: Vec<Seen>,
    answer: YesNo,
    /// With a yes: keep the leaf this item contradicts, too.
    #[serde(default)]
    both: bool,
    /// With a no: the reason.
    reason: Option<String>,
}

fn decide(asked: &Asked, body: DecideBody) -> Answer<DecisionsReport> {
    let items = body.items.into_iter().map(|seen| (seen.id, seen.version)).collect();
    let answer = match body.answer {
        YesNo::Accept => Verdict::Accept { both: body.both },
        YesNo::Reject => Verdict::Reject { reason: body.reason },
    };
    Ok(asked.engine.decide(&Decision::Answer { items, answer })?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoBody {
    /// Ids of decisions to undo; empty for the last decision.
    #[serde(default)]
    items: Vec<String>,
}

fn undo(asked: &Asked, body: UndoBody) -> Answer<DecisionsReport> {
    Ok(asked.engine.decide(&Decision::Undo { items: body.items })?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcceptBody {
    /// `version` of the item the person saw; the decision is refused if the item has changed since.
    version: Option<String>,
    /// Keep the leaf this item contradicts, too.
    #[serde(default)]
    both: bool,
}

fn accept(asked: &Asked, body: AcceptBody) -> Answer<DecidedReport> {
    answered(asked, body.version, Verdict::Accept { both: body.both })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RejectBody {
    /// `version` of the item the person saw; the decision is refused if the item has changed since.
    version: Option<String>,
    /// Reason, which is stored with a proposal.
    reason: Option<String>,
}

fn reject(asked: &Asked, body: RejectBody) -> Answer<DecidedReport> {
    answered(asked, body.version, Verdict::Reject { reason: body.reason })
}

fn answered(asked: &Asked, version: Option<String>, answer: Verdict) -> Answer<DecidedReport> {
    let id = asked.at("id").to_owned();
    let item = asked.engine.inbox()?.waiting.into_iter().find(|w| w.id == id);
    if let (Some(item), Some(seen)) = (&item, &version)
        && item.version != *seen
    {
        let next = "look at `current`, and answer with its version";
        let current = serde_json::to_value(item).unwrap_or_default();
        return Err(Problem::of(Wrong::NoMatch, "it says something else by now").next(next).with_current(current));
    }
    single(asked, &Decision::Answer { items: vec![(id, version)], answer })
}

fn undo_one(asked: &Asked, _: Nothing) -> Answer<DecidedReport> {
    single(asked, &Decision::Undo { items: vec![asked.at("id").to_owned()] })
}

/// Returns the outcome of a decision about one item; a refusal becomes an error.
fn single(asked: &Asked, decision: &Decision) -> Answer<DecidedReport> {
    let mut report = asked.engine.decide(decision)?;
    match (report.items.pop(), report.refused.pop()) {
        (Some(item), _) => Ok(item),
        (None, refused) => {
            let kind = refused.as_ref().map_or(ErrorKind::NotFound, |refused| refused.kind);
            let error = Error::new(kind, refused.as_ref().map_or("nothing was decided", |refused| &refused.what));
            Err(match refused.and_then(|refused| refused.next) {
                Some(next) => error.hint(next),
                None => error,
            }
            .into())
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditBody {
    /// New texts; a proposal with several leaves needs one for each.
    entries: Option<Vec<String>>,
    /// New class: preference, identity, fact, procedure, blocker or reference.
    class: Option<String>,
    /// `agent` if the leaf holds everywhere; otherwise `workspace` names the project.
    scope: Option<String>,
    /// Project the leaf belongs to: its id, label or whole path.
    workspace: Option<String>,
}

fn edit(asked: &Asked, body: EditBody) -> Answer<WaitingReport> {
    let class = body.class.as_deref().map(Class::parse).transpose()?;
    let scope = match (body.scope.as_deref(), project_id(&asked.engine, body.workspace.as_deref())?) {
        (None, None) => None,
        (Some("agent"), None) => Some(Scope::Agent),
        (None, Some(id)) => Some(Scope::Workspace(id)),
        _ => return Err(Error::usage("scope is agent, or workspace names a project").into()),
    };
    let change = Change { entries: body.entries, class, scope };
    if change == Change::default() {
        return Err(Error::usage("say what to change").hint("entries, class, scope or workspace").into());
    }
    let id = asked.at("id");
    asked.engine.act(|lock| {
        let seen = WaitingReport::from(inbox::one(lock.at, id)?);
        if let Err(problem) = asked.must_rest_on(&seen) {
            return Ok(Err(problem));
        }
        inbox::change(lock, id, &change)?;
        Ok(Ok(WaitingReport::from(inbox::one(lock.at, id)?)))
    })?
}

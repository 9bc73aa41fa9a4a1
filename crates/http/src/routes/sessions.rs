//! Sessions and their turns.

use heirloom_engine::clock::Millis;
use heirloom_engine::moment::Edge;
use heirloom_engine::redact::redact;
use heirloom_engine::render::titles;
use heirloom_engine::report::compact::CompactReport;
use heirloom_engine::report::sessions::{SessionDetails, SessionEnded, SessionReport};
use heirloom_engine::report::threads::SessionSwitched;
use heirloom_engine::report::turns::ShownTurn;
use heirloom_engine::scope::{LaneNo, RecordNo, SessionNo, TurnId};
use heirloom_engine::transcript::order::TurnPlace;
use heirloom_engine::transcript::read::SessionFilter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, project, time};
use crate::page::{self, Page};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/timeline", "timeline", "Sessions of a stretch of time, the one last worked in first.", sessions)
            .list(),
        get("/v1/sessions", "sessions", "Sessions of all programs, the one last worked in first.", sessions).list(),
        get("/v1/sessions/{key}", "session", "What is stored of one session: files, records, runs, results.", session)
            .item(),
        get(
            "/v1/sessions/{key}/turns",
            "session.turns",
            "What was said in a session, in its order: the main line, then each sub-agent. The transcript.",
            turns,
        )
        .list(),
        get(
            "/v1/sessions/{key}/outline",
            "session.outline",
            "How many turns a session has, in sections, and how long they are: what a reader needs before the words.",
            outline,
        )
        .list(),
        post("/v1/sessions/{key}/end", "session.end", "Mark a session as over.", end),
        post(
            "/v1/sessions/{key}/compact",
            "session.compact",
            "Let one handoff take the place of what was said; nothing is deleted.",
            compact,
        ),
        post(
            "/v1/sessions/{key}/switch",
            "session.switch",
            "From its next prompt on, let a session belong to a thread.",
            switch,
        ),
    ]
}

/// Limits of a list of sessions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionsQuery {
    /// Only in this project: its id, label or whole path.
    workspace: Option<String>,
    /// Only from this program.
    harness: Option<String>,
    /// Not before this time: 2026-11-21, 2026-11, yesterday, 7d.
    since: Option<String>,
    /// Not after this time.
    until: Option<String>,
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

/// A session in a list.
#[derive(Serialize, JsonSchema)]
struct ListedSession {
    #[serde(flatten)]
    session: SessionReport,
    /// Display name: the session's title, else its goal, else the first line said in it; empty if it has none of these.
    name: String,
}

/// Stored data of one session.
#[derive(Serialize, JsonSchema)]
struct StoredSession {
    #[serde(flatten)]
    details: SessionDetails,
    /// Display name: the session's title, else its goal, else the first line said in it; empty if it has none of these.
    name: String,
}

fn sessions(asked: &Asked, query: SessionsQuery) -> Answer<Page<ListedSession>> {
    let engine = &asked.engine;
    let size = page::size(query.limit)?;
    let after = page::key::<(Option<Millis>, i64)>("sessions", query.cursor.as_deref())?;
    let filter = SessionFilter {
        harness: query.harness,
        workspaces: project(query.workspace.as_deref())?.map(|w| engine.workspaces_named(w)).transpose()?,
        since: time(engine, query.since.as_deref(), Edge::Since)?,
        until: time(engine, query.until.as_deref(), Edge::Until)?,
        after: after.map(|(at, no)| (at, SessionNo(no))),
        limit: Some(size + 1),
    };
    let found = engine.sessions(&filter)?.sessions;
    let names = engine.read(|tx| titles::names_of(tx, found.iter().map(|session| &session.row)))?;
    let named = found.into_iter().zip(names).map(|(session, name)| ListedSession { session, name: redacted(&name) });
    Ok(page::of_more("sessions", named.collect(), size, |listed| (listed.session.row.last_at, listed.session.row.no.0)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionQuery {
    /// Only what a heading shows: `sources`, `records` and `runs`, of which a long session has thousands, are empty.
    #[serde(default)]
    brief: bool,
}

fn session(asked: &Asked, query: SessionQuery) -> Answer<StoredSession> {
    let key = asked.at("key");
    let details = if query.brief { asked.engine.session_heading(key) } else { asked.engine.session(key) }?;
    let name = redacted(&details.name);
    Ok(StoredSession { details, name })
}

fn redacted(name: &str) -> String {
    redact(name).into_owned()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TurnsQuery {
    /// Only turns of this sub-agent; empty for the main line.
    lane: Option<String>,
    /// 1 to 500, default 50. A page has at most 4 MiB of words, unless a single turn is longer.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn turns(asked: &Asked, query: TurnsQuery) -> Answer<Page<ShownTurn>> {
    let size = page::size(query.limit)?;
    let after = page::key::<(bool, i64, i64, i64)>("turns", query.cursor.as_deref())?;
    let after = after.map(|(sub, lane, record, turn)| (sub, LaneNo(lane), RecordNo(record), TurnId(turn)));
    let (items, next) = asked.engine.page_of_turns(asked.at("key"), query.lane.as_deref(), after, size)?;
    let next = next.map(|(sub, lane, record, turn)| page::cursor("turns", &(sub, lane.0, record.0, turn.0)));
    Ok(Page { items, next })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OutlineQuery {
    /// Id of a turn (t9c11); the answer names the section it is in.
    at: Option<String>,
}

/// The turns of a session, in sections.
#[derive(Serialize, JsonSchema)]
struct Outline {
    sections: Vec<OutlineSection>,
    /// Index, from 0, of the section with the requested turn; null if no section has it.
    at: Option<usize>,
}

/// A section: consecutive turns of a session.
#[derive(Serialize, JsonSchema)]
struct OutlineSection {
    /// Cursor of the section: sent as `cursor` to the session's turns, with `count` as `limit`, it returns these turns.
    /// Null for the first section.
    cursor: Option<String>,
    /// Id of the section's first turn.
    first: String,
    count: u64,
    /// Length of the turns' words in bytes.
    bytes: u64,
}

/// Number of turns in a section.
const SECTION: u64 = 50;

fn outline(asked: &Asked, query: OutlineQuery) -> Answer<Outline> {
    let wanted = query.at.as_deref().and_then(TurnId::parse);
    let sections = asked.engine.sections_of_turns(asked.at("key"), SECTION, wanted)?;
    let at = sections.iter().position(|section| section.has);
    let of = |(sub, lane, record, turn): TurnPlace| page::cursor("turns", &(sub, lane.0, record.0, turn.0));
    let sections = sections.into_iter().map(|section| OutlineSection {
        cursor: section.after.map(of),
        first: section.first.to_string(),
        count: section.count,
        bytes: section.bytes,
    });
    Ok(Outline { sections: sections.collect(), at })
}

fn end(asked: &Asked, _: Nothing) -> Answer<SessionEnded> {
    Ok(asked.engine.end_session(asked.at("key"))?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompactBody {
    /// Last turn the handoff replaces: a turn (t9c11) or the program's own id of one; default the whole session.
    until: Option<String>,
    /// Only show the handoff; store nothing.
    #[serde(default)]
    dry_run: bool,
}

fn compact(asked: &Asked, body: CompactBody) -> Answer<CompactReport> {
    Ok(asked.engine.compact(asked.at("key"), body.until.as_deref(), body.dry_run)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SwitchBody {
    /// The thread; a new key topic/… or lane/… creates it. Null: the thread Heirloom assigns by itself.
    thread: Option<String>,
}

fn switch(asked: &Asked, body: SwitchBody) -> Answer<SessionSwitched> {
    Ok(asked.engine.switch_session(asked.at("key"), body.thread.as_deref())?)
}

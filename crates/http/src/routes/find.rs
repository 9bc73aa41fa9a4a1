//! Finding again: search, recall, what a session is given, and where a reference leads.

use heirloom_engine::engine::{ContextRequest, RecallRequest, SearchRequest};
use heirloom_engine::error::Error;
use heirloom_engine::inject::{ContextId, Event, Replayed};
use heirloom_engine::moment::Edge;
use heirloom_engine::recall::expand::{MOST_TURNS, Reach, Reference, TURNS};
use heirloom_engine::redact::redact;
use heirloom_engine::report::Of;
use heirloom_engine::report::contexts::{ContextReport, ReplayReport};
use heirloom_engine::report::expanded::ExpandReport;
use heirloom_engine::report::recalled::RecallReport;
use heirloom_engine::report::search::SearchReport;
use heirloom_engine::report::turns::TurnsReport;
use heirloom_engine::scope::{NodeId, TurnId};
use heirloom_engine::tokens;
use heirloom_engine::transcript::role_parse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, project, project_id, time};
use crate::page::{self, Page};
use crate::route::{Asked, Nothing, Route, get, post};

pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/search",
            "search",
            "Find turns and visible files, best first: words, \"phrases\", begin*, times.",
            search,
        ),
        get(
            "/v1/recall",
            "recall",
            "The little that answers a question: memory, then summaries, then the words (the three tiers).",
            recall,
        ),
        post(
            "/v1/context",
            "context",
            "What a session is given at a start, with a prompt, after a compaction; recorded unless it is a dry run.",
            context,
        ),
        get("/v1/injections", "injections", "What was given to sessions, newest first, without the words.", injections)
            .list(),
        get("/v1/injections/{id}", "injection", "A context that was given, word for word, and why.", injection).item(),
        get(
            "/v1/expand",
            "expand",
            "What any reference stands for: above, below and around it, and its words.",
            expand,
        )
        .item(),
        get("/v1/nodes/{id}", "node", "A summary, what it was made of, and what was made of it.", node).item(),
        get(
            "/v1/nodes/{id}/expand",
            "node.expand",
            "A summary with more levels below it, and with its words.",
            reached,
        )
        .item(),
        get("/v1/turns/{id}", "turn", "Something that was said, with turns before and behind it.", turn).item(),
        get(
            "/v1/turns/{id}/record",
            "turn.record",
            "What its program wrote for a turn, as text: at most 1 MiB, credentials redacted.",
            record,
        )
        .item(),
    ]
}

/// What is looked for, and where.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchQuery {
    /// Words, "phrases", begin*, times in words.
    q: String,
    /// How many hits, of files and of turns each: 1 to 500, else 8.
    limit: Option<u16>,
    /// Only in this project: its id, label or whole path.
    workspace: Option<String>,
    /// Only in this thread: its key or a name.
    thread: Option<String>,
    /// Only from this program.
    harness: Option<String>,
    /// Only in this session.
    session: Option<String>,
    /// Only what this role said: user, assistant, tool, system.
    role: Option<String>,
    /// Only these kinds, with commas between: turn, memory, loop, proposal, daily, artifact, rollup, page, head, index,
    /// note, skill.
    kind: Option<String>,
    /// Only memory of this class.
    class: Option<String>,
    /// Resolved loops and decided proposals, too.
    #[serde(default)]
    archived: bool,
    /// Not before this time: 2026-11-21, 2026-11, yesterday, 7d.
    since: Option<String>,
    /// Not after this time.
    until: Option<String>,
    /// With how the query was understood and what each score is made of.
    #[serde(default)]
    explain: bool,
}

fn search(asked: &Asked, query: SearchQuery) -> Answer<SearchReport> {
    let engine = &asked.engine;
    let limits = limits_of(&query);
    let kinds: Vec<String> = query.kind.iter().flat_map(|all| all.split(',')).map(|k| k.trim().to_owned()).collect();
    let role = query.role.as_deref().map(|name| {
        role_parse(name).ok_or_else(|| Error::usage("there is no such role").hint("user, assistant, tool or system"))
    });
    let request = SearchRequest {
        query: query.q,
        class: query.class,
        archived: query.archived,
        workspace: project(query.workspace.as_deref())?.map(str::to_owned),
        thread: query.thread,
        harness: query.harness,
        session: query.session,
        role: role.transpose()?,
        since: time(engine, query.since.as_deref(), Edge::Since)?,
        until: time(engine, query.until.as_deref(), Edge::Until)?,
        limit: query.limit.map_or(Ok(8), |limit| page::size(Some(limit)))?,
        ..SearchRequest::default()
    }
    .of_kinds(&kinds)?;
    let mut report = engine.search(&request)?;
    if query.explain {
        report = report.explained(&limits);
    }
    report.less.extend(engine.without_model().map(|e| format!("by words only: {e}")));
    report.degraded |= !report.less.is_empty();
    Ok(report)
}

/// What a search was limited to, by the names an explanation has for it.
fn limits_of(query: &SearchQuery) -> Vec<(&'static str, String)> {
    let given = [
        ("in project", &query.workspace),
        ("in thread", &query.thread),
        ("in program", &query.harness),
        ("in session", &query.session),
        ("said by", &query.role),
        ("of kind", &query.kind),
        ("of class", &query.class),
        ("since", &query.since),
        ("until", &query.until),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
}

/// What is asked, and where it may be told: without session, workspace and thread it is told to the person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RecallQuery {
    /// The question.
    q: String,
    /// How many items: 1 to 200, else 8.
    limit: Option<u16>,
    /// As that session would be told.
    session: Option<String>,
    /// As a session in that project would be told.
    workspace: Option<String>,
    /// As a session in that thread would be told.
    thread: Option<String>,
    /// The words themselves, too, even where something above answers.
    #[serde(default)]
    deep: bool,
    /// With how the question was understood.
    #[serde(default)]
    explain: bool,
}

fn recall(asked: &Asked, query: RecallQuery) -> Answer<RecallReport> {
    let engine = &asked.engine;
    if query.session.is_some() && (query.workspace.is_some() || query.thread.is_some()) {
        return Err(Error::usage("a session is in its project and thread already")
            .hint("leave out one of the two")
            .into());
    }
    let limit = usize::from(query.limit.unwrap_or(8));
    if !(1..=200).contains(&limit) {
        return Err(Error::usage("limit is 1 to 200").into());
    }
    let request = RecallRequest {
        query: query.q,
        limit,
        deep: query.deep,
        explain: query.explain,
        session: query.session,
        workspace: project_id(engine, query.workspace.as_deref())?,
        thread: query.thread,
    };
    let mut report = engine.recall(&request)?;
    report.degraded.extend(engine.without_model().map(|e| format!("by words only: {e}")));
    Ok(report)
}

/// Which context is asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContextBody {
    /// The session: program:id, or the beginning of one that is stored.
    session: String,
    /// start, resume, clear, compact or prompt; else prompt with a prompt, and start without.
    event: Option<String>,
    /// What the person says.
    prompt: Option<String>,
    /// The most tokens.
    budget: Option<u32>,
    /// The project of a session nothing is stored of yet: its id, label or whole path.
    workspace: Option<String>,
    /// The thread it belongs to.
    thread: Option<String>,
    /// The program keeps nothing of what it is given: everything of this epoch is given again.
    #[serde(default)]
    for_one_call: bool,
    /// The program keeps no turns: the newest are given, too.
    #[serde(default)]
    with_tail: bool,
    /// Only show what would be given.
    #[serde(default)]
    dry_run: bool,
    /// With how the prompt was understood and what was recalled for it.
    #[serde(default)]
    explain: bool,
}

fn context(asked: &Asked, body: ContextBody) -> Answer<ContextReport> {
    let event = match (body.event.as_deref(), &body.prompt) {
        (Some(event), _) => Event::parse(event)?,
        (None, Some(_)) => Event::Prompt,
        (None, None) => Event::Start,
    };
    if event == Event::Prompt && body.prompt.is_none() {
        return Err(Error::usage("a prompt event needs the prompt").hint("send `prompt`").into());
    }
    if body.budget.is_some_and(|n| !(50..=1_000_000).contains(&n)) {
        return Err(Error::usage("budget is 50 to 1000000 tokens").into());
    }
    let mut request = ContextRequest {
        prompt: body.prompt,
        budget: body.budget.map(|n| n as usize),
        workspace: project_id(&asked.engine, body.workspace.as_deref())?,
        thread: body.thread,
        dry_run: body.dry_run,
        explain: body.explain,
        ..ContextRequest::new(body.session, event, "http")
    };
    request.can.channel = "http".into();
    request.can.stores = !body.for_one_call;
    request.can.keeps_tail = !body.with_tail;
    Ok(asked.engine.context(&request)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InjectionsQuery {
    /// Only what this session was given.
    session: Option<String>,
    /// 1 to 500, else 50.
    limit: Option<u16>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

fn injections(asked: &Asked, query: InjectionsQuery) -> Answer<Page<Of<Replayed>>> {
    let size = page::size(query.limit)?;
    let before = page::key::<i64>("injections", query.cursor.as_deref())?.map(ContextId);
    let found = asked.engine.contexts(query.session.as_deref(), before, size + 1)?.contexts;
    Ok(page::of_more("injections", found, size, |given| given.id.0))
}

/// A context that was given, with what its lines cost.
#[derive(Serialize, JsonSchema)]
struct Injection {
    #[serde(flatten)]
    given: ReplayReport,
    /// The tokens of each line of the block, by the estimate budgets are kept by.
    line_tokens: Vec<usize>,
}

fn injection(asked: &Asked, _: Nothing) -> Answer<Injection> {
    let id = asked.at("id");
    let id = ContextId::parse(id).ok_or_else(|| no_such(id, "context", "GET /v1/injections lists them"))?;
    let given = asked.engine.replay(id)?;
    let line_tokens = given.block().unwrap_or_default().lines().map(tokens::tokens).collect();
    Ok(Injection { given, line_tokens })
}

/// A reference, and how far it is followed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExpandQuery {
    /// What stands in a bracket: a node (n7f3a), a turn (t9c11), an item (l:… p:… m:… a:…), u:17, c:17, j:NAME, q:17,
    /// x:17, a file of the assistant home with or without a line, a session, a thread.
    id: String,
    /// Levels below a node: 0 to 16, else 1.
    depth: Option<u8>,
    /// The words, too.
    #[serde(default)]
    transcript: bool,
    /// Turns of a page of words: 1 to 1000, else 20.
    limit: Option<u16>,
    /// The `next` of the page of words before.
    cursor: Option<String>,
}

/// How far a node is followed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReachQuery {
    /// Levels below it: 0 to 16, else 1.
    depth: Option<u8>,
    /// The words, too.
    #[serde(default)]
    transcript: bool,
    /// Turns of a page of words: 1 to 1000, else 20.
    limit: Option<u16>,
    /// The `next` of the page of words before.
    cursor: Option<String>,
}

fn expand(asked: &Asked, query: ExpandQuery) -> Answer<ExpandReport> {
    let ExpandQuery { id, depth, transcript, limit, cursor } = query;
    followed(asked, &Reference::parse(&id)?, ReachQuery { depth, transcript, limit, cursor })
}

fn node(asked: &Asked, _: Nothing) -> Answer<ExpandReport> {
    reached(asked, ReachQuery { depth: None, transcript: false, limit: None, cursor: None })
}

fn reached(asked: &Asked, query: ReachQuery) -> Answer<ExpandReport> {
    let id = asked.at("id");
    let node = NodeId::parse(id).ok_or_else(|| no_such(id, "node", "ids of nodes look like n7f3a"))?;
    followed(asked, &Reference::Node(node), query)
}

fn followed(asked: &Asked, reference: &Reference, query: ReachQuery) -> Answer<ExpandReport> {
    let (depth, limit) = (query.depth.map_or(1, usize::from), query.limit.map_or(TURNS, usize::from));
    if depth > 16 || !(1..=MOST_TURNS).contains(&limit) {
        return Err(Error::usage(format!("depth is 0 to 16, limit 1 to {MOST_TURNS}")).into());
    }
    let reach = Reach { depth, transcript: query.transcript, limit, cursor: query.cursor };
    Ok(asked.engine.expand(reference, &reach)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TurnQuery {
    /// So many turns of its lane before it and behind it: 0 to 20, else 0.
    around: Option<u8>,
}

fn turn(asked: &Asked, query: TurnQuery) -> Answer<TurnsReport> {
    let around = usize::from(query.around.unwrap_or(0));
    if around > 20 {
        return Err(Error::usage("around is 0 to 20")
            .hint("GET /v1/sessions/{key}/turns goes through a session")
            .into());
    }
    let id = asked.at("id");
    let id = TurnId::parse(id).ok_or_else(|| no_such(id, "turn", "ids of turns look like t9c11"))?;
    Ok(asked.engine.turns(id, around)?)
}

/// What a program wrote for a turn.
#[derive(Serialize, JsonSchema)]
struct RecordText {
    turn: String,
    /// How many bytes it has.
    bytes: usize,
    /// There is more of it than is given: `heirloom show --raw` gives all of it, byte for byte.
    cut: bool,
    text: String,
}

/// The most bytes of a record that are given as text.
const MOST_OF_RECORD: usize = 1 << 20;

fn record(asked: &Asked, _: Nothing) -> Answer<RecordText> {
    let id = asked.at("id");
    let id = TurnId::parse(id).ok_or_else(|| no_such(id, "turn", "ids of turns look like t9c11"))?;
    let bytes = asked.engine.turn_bytes(id)?;
    let given = &bytes[..bytes.len().min(MOST_OF_RECORD)];
    let text = redact(&String::from_utf8_lossy(given)).into_owned();
    Ok(RecordText { turn: id.to_string(), bytes: bytes.len(), cut: given.len() < bytes.len(), text })
}

/// What has no such form is nowhere: the same answer as for what is not there.
fn no_such(id: &str, noun: &str, hint: &str) -> Error {
    let shown: String = id.chars().take(80).collect();
    Error::not_found(format!("there is no {noun} {shown}")).hint(hint)
}

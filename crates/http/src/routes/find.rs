//! Finding: search, recall, the context given to a session, and what a reference leads to.

use std::time::Duration;

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

/// Time for which searches rely on the last scan of the visible files: a page searches at every letter, and each scan of
/// 2,000 files takes 2,000 `stat`s.
const SCAN_HOLDS: Duration = Duration::from_secs(2);

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

/// A search: its words and its limits.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchQuery {
    /// Words, "phrases", begin*, times in words.
    q: String,
    /// Maximum number of hits on a page, counted for files and turns separately: 1 to 500, default 8.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page of the same search.
    cursor: Option<String>,
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
    /// Include resolved loops and decided proposals.
    #[serde(default)]
    archived: bool,
    /// Not before this time: 2026-11-21, 2026-11, yesterday, 7d.
    since: Option<String>,
    /// Not after this time.
    until: Option<String>,
    /// Include how the query was understood and how each score was computed.
    #[serde(default)]
    explain: bool,
}

/// A page of what a search found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SearchPage")]
struct Found {
    #[serde(flatten)]
    report: SearchReport,
    /// Cursor of the next page, to be sent as `cursor` with the same search; null on the last page.
    next: Option<String>,
}

/// Hits of earlier pages of a search. The places of hits change with what is stored meanwhile, so a page is not cut at a
/// place: it has the best hits that no earlier page had.
#[derive(Serialize, Deserialize)]
struct Seen {
    /// Digest of the search, so that a cursor is used with its own search only.
    of: u32,
    turns: Vec<u64>,
    /// Digests of the files' paths.
    files: Vec<u32>,
}

/// Maximum number of hits on all pages of a search together; they have to fit into the cursor. One page more may follow.
const MOST_SEEN: usize = 2_000;

/// Number of hits read beyond a page, because turns that say the same become one hit.
const SPARE: usize = 16;

fn digest(text: &str) -> u32 {
    let digest = blake3::hash(text.as_bytes());
    digest.as_bytes()[..4].iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

impl Seen {
    /// Returns the hits before the page that a cursor begins.
    fn before(cursor: Option<&str>, of: u32) -> Answer<Seen> {
        match page::key::<Seen>("search", cursor)? {
            None => Ok(Seen { of, turns: Vec::new(), files: Vec::new() }),
            Some(seen) if seen.of == of && seen.turns.len() + seen.files.len() <= 2 * MOST_SEEN => Ok(seen),
            Some(_) => Err(Error::usage("this cursor is of another search")
                .hint("send it with the query and limits of its page, or leave it out")
                .into()),
        }
    }

    /// Number of hits of each sort to look for, so that a page of this size is full and shows whether another follows.
    fn wanted(&self, size: usize) -> usize {
        self.turns.len().max(self.files.len()) + size + 1 + if self.turns.is_empty() { 0 } else { SPARE }
    }

    /// Reduces a report to the next page, and returns the cursor of the page behind it.
    fn page(mut self, report: &mut SearchReport, size: usize) -> Option<String> {
        let number = |turn: &str| TurnId::parse(turn).and_then(|turn| u64::try_from(turn.0).ok());
        let had = |turn: &String| number(turn).is_some_and(|turn| self.turns.contains(&turn));
        // A hit stands for other turns that say the same; each of them may have been the hit of an earlier page.
        report.hits.retain(|hit| !std::iter::once(&hit.turn).chain(&hit.others).any(had));
        report.files.retain(|file| !self.files.contains(&digest(&file.path)));
        let more = report.hits.len() > size || report.files.len() > size;
        report.hits.truncate(size);
        report.files.truncate(size);
        self.turns.extend(report.hits.iter().filter_map(|hit| number(&hit.turn)));
        self.files.extend(report.files.iter().map(|file| digest(&file.path)));
        let fits = self.turns.len() + self.files.len() <= MOST_SEEN;
        (more && fits).then(|| page::cursor("search", &self))
    }
}

fn search(asked: &Asked, query: SearchQuery) -> Answer<Found> {
    let engine = &asked.engine;
    let limits = limits_of(&query);
    let size = query.limit.map_or(Ok(8), |limit| page::size(Some(limit)))?;
    let seen = Seen::before(query.cursor.as_deref(), digest(&format!("{:?} {} {limits:?}", query.q, query.archived)))?;
    let kinds: Vec<String> = query.kind.iter().flat_map(|all| all.split(',')).map(|k| k.trim().to_owned()).collect();
    let role = query.role.as_deref().map(|name| {
        role_parse(name).ok_or_else(|| Error::usage("there is no such role").hint("user, assistant, tool or system"))
    });
    let request = SearchRequest {
        scan_holds: SCAN_HOLDS,
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
        limit: seen.wanted(size),
        ..SearchRequest::default()
    }
    .of_kinds(&kinds)?;
    let mut report = engine.search(&request)?;
    let next = seen.page(&mut report, size);
    if query.explain {
        report = report.explained(&limits);
    }
    report.less.extend(engine.without_model().map(|e| format!("by words only: {e}")));
    report.degraded |= !report.less.is_empty();
    Ok(Found { report, next })
}

/// Returns the limits of a search, by the names an explanation has for them.
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

/// A question, and the place the answer is for: without session, workspace and thread it is for the person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RecallQuery {
    /// The question.
    q: String,
    /// Maximum number of items: 1 to 200, default 8.
    limit: Option<u16>,
    /// Answer with what may be told in this session.
    session: Option<String>,
    /// Answer with what may be told in a session of this project.
    workspace: Option<String>,
    /// Answer with what may be told in a session of this thread.
    thread: Option<String>,
    /// Include the turns themselves even if summaries or files already answer.
    #[serde(default)]
    deep: bool,
    /// Include how the question was understood.
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

/// A request for the context a session is given.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContextBody {
    /// The session: program:id, or the beginning of the id of a stored session.
    session: String,
    /// start, resume, clear, compact or prompt; default prompt if `prompt` is set, start otherwise.
    event: Option<String>,
    /// The person's prompt.
    prompt: Option<String>,
    /// Maximum number of tokens.
    budget: Option<u32>,
    /// Project of a session of which nothing is stored yet: its id, label or whole path.
    workspace: Option<String>,
    /// Thread the session belongs to.
    thread: Option<String>,
    /// The program does not keep the context it is given: everything of this epoch is given again.
    #[serde(default)]
    for_one_call: bool,
    /// The program does not keep turns: the newest ones are given as well.
    #[serde(default)]
    with_tail: bool,
    /// Only show what would be given; store nothing.
    #[serde(default)]
    dry_run: bool,
    /// Include how the prompt was understood and what was recalled for it.
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
    /// Only contexts given to this session.
    session: Option<String>,
    /// Page size: 1 to 500, default 50.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page.
    cursor: Option<String>,
}

fn injections(asked: &Asked, query: InjectionsQuery) -> Answer<Page<Of<Replayed>>> {
    let size = page::size(query.limit)?;
    let before = page::key::<i64>("injections", query.cursor.as_deref())?.map(ContextId);
    let found = asked.engine.contexts(query.session.as_deref(), before, size + 1)?.contexts;
    Ok(page::of_more("injections", found, size, |given| given.id.0))
}

/// A context that was given, with the token count of each line.
#[derive(Serialize, JsonSchema)]
struct Injection {
    #[serde(flatten)]
    given: ReplayReport,
    /// Tokens of each line of the block, by the estimate that budgets use.
    line_tokens: Vec<usize>,
}

fn injection(asked: &Asked, _: Nothing) -> Answer<Injection> {
    let id = asked.at("id");
    let id = ContextId::parse(id).ok_or_else(|| no_such(id, "context", "GET /v1/injections lists them"))?;
    let given = asked.engine.replay(id)?;
    let line_tokens = given.block().unwrap_or_default().lines().map(tokens::tokens).collect();
    Ok(Injection { given, line_tokens })
}

/// A reference, and how far to follow it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExpandQuery {
    /// A reference as it stands in brackets: a node (n7f3a), a turn (t9c11), an item (l:… p:… m:… a:…), u:17, o:17, c:17,
    /// j:NAME, q:17, x:17, a file of the assistant home with or without a line, a session, a thread.
    id: String,
    /// Levels below a node: 0 to 16, default 1.
    depth: Option<u8>,
    /// Include the turns' words.
    #[serde(default)]
    transcript: bool,
    /// Turns in a page of words: 1 to 1000, default 20.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page of words.
    cursor: Option<String>,
}

/// How far to follow a node.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReachQuery {
    /// Levels below the node: 0 to 16, default 1.
    depth: Option<u8>,
    /// Include the turns' words.
    #[serde(default)]
    transcript: bool,
    /// Turns in a page of words: 1 to 1000, default 20.
    limit: Option<u16>,
    /// Cursor: the `next` of the previous page of words.
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
    /// Number of turns of the same lane shown before and after this one: 0 to 20, default 0.
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

/// Text of the record a program stored for a turn.
#[derive(Serialize, JsonSchema)]
struct RecordText {
    turn: String,
    /// Size of the whole record in bytes.
    bytes: usize,
    /// True if the text is only the record's beginning; `heirloom show --raw` prints all of it, byte for byte.
    cut: bool,
    text: String,
}

/// Maximum number of bytes of a record that are returned as text.
const MOST_OF_RECORD: usize = 1 << 20;

fn record(asked: &Asked, _: Nothing) -> Answer<RecordText> {
    let id = asked.at("id");
    let id = TurnId::parse(id).ok_or_else(|| no_such(id, "turn", "ids of turns look like t9c11"))?;
    let bytes = asked.engine.turn_bytes(id)?;
    let given = &bytes[..bytes.len().min(MOST_OF_RECORD)];
    let text = redact(&String::from_utf8_lossy(given)).into_owned();
    Ok(RecordText { turn: id.to_string(), bytes: bytes.len(), cut: given.len() < bytes.len(), text })
}

/// Returns the not-found error for an id. An id in the wrong form gets the same answer as an id that does not exist.
fn no_such(id: &str, noun: &str, hint: &str) -> Error {
    let shown: String = id.chars().take(80).collect();
    Error::not_found(format!("there is no {noun} {shown}")).hint(hint)
}

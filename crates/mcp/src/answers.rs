//! Answers of the tools.

use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::continuity::proposal::NewProposal;
use heirloom_engine::continuity::{Change, Item};
use heirloom_engine::engine::{Engine, RecallRequest, SearchRequest};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::lineage::Node;
use heirloom_engine::memory::{Class, Scope, leaf};
use heirloom_engine::moment::{self, Edge};
use heirloom_engine::next_step::worded;
use heirloom_engine::recall::expand::{Reach, Reference, Subject};
use heirloom_engine::redact::redact;
use heirloom_engine::render;
use heirloom_engine::report::expanded::ExpandReport;
use heirloom_engine::report::heads::HeadShown;
use heirloom_engine::review;
use heirloom_engine::scope::TurnId;
use heirloom_engine::source::private::mask_text;
use heirloom_engine::tokens::tokens;
use heirloom_engine::transcript::read::SessionFilter;
use heirloom_engine::transcript::role_parse;
use heirloom_engine::tree::provenance::{Origin, Provenance};
use rmcp::model::JsonObject;

use crate::ask::{self, Act, Found, View, arguments, budget, start};
use crate::memory::Memory;
use crate::words::{Answer, MOST, day, day_of, one_line, short};

/// Maximum number of bytes of a hit.
const HIT: usize = 240;
/// Default number of tokens of an answer.
const USUAL: usize = 1_200;

/// Calls a tool. `NotFound` for an unknown name.
pub fn call(memory: &Memory, tool: &str, given: Option<JsonObject>) -> Result<String> {
    match tool {
        "recall_memory" => recall(memory, &arguments(tool, given)?),
        "search_past_conversations" => search(memory, &arguments(tool, given)?),
        "open_reference" => open(memory, &arguments(tool, given)?),
        "current_work" => work(memory, &arguments(tool, given)?),
        "recent_sessions" => sessions(memory, &arguments(tool, given)?),
        "remember" => remember(memory, arguments(tool, given)?),
        "open_loops" => loops(memory, arguments(tool, given)?),
        other => Err(Error::not_found(format!("there is no tool {other:?}"))),
    }
}

fn recall(memory: &Memory, asked: &ask::Recall) -> Result<String> {
    let engine = memory.engine()?;
    let zone = engine.zone();
    let workspace = if asked.everywhere { None } else { memory.workspace(&engine) };
    let request = RecallRequest { query: asked.question.clone(), limit: 20, workspace, ..RecallRequest::default() };
    let report = engine.recall(&request)?;
    if report.items.is_empty() {
        let wider = if asked.everywhere { "" } else { " `everywhere: true` looks in other projects." };
        return Ok(format!("Nothing is known that answers this.{wider} search_past_conversations finds words."));
    }
    let mut answer = Answer::new(budget(asked.budget));
    let mut left = 0;
    for item in &report.items {
        let item = &item.what;
        let marks = item.marks.iter().map(|m| format!(" ({m})")).collect::<String>();
        let thread = item.thread.as_deref().map(|t| format!(" · {}", one_line(t))).unwrap_or_default();
        let line = format!(
            "- {}{marks} · {}{thread} · {} [{}]",
            one_line(&item.text),
            item.kind,
            day(item.at, &zone),
            item.id
        );
        left += usize::from(!answer.line(&line));
    }
    let mut after: Vec<String> = report.degraded.iter().map(|why| format!("less than it could be: {why}")).collect();
    if left > 0 {
        after.push(format!("{left} more: a larger budget"));
    }
    Ok(answer.finish(&after))
}

fn search(memory: &Memory, asked: &ask::Search) -> Result<String> {
    let engine = memory.engine()?;
    let zone = engine.zone();
    let now = engine.now();
    let first = start(asked.cursor.as_deref())?;
    let most = asked.limit.unwrap_or(8).clamp(1, 25);
    let role = match asked.role.as_deref() {
        Some(role) => Some(role_parse(role).ok_or_else(|| Error::usage(format!("{role:?} is no role")))?),
        None => None,
    };
    let time = |text: &Option<String>, edge| text.as_deref().map(|t| moment::parse(t, now, &zone, edge)).transpose();
    let of_turns = asked.program.is_some() || role.is_some();
    let request = SearchRequest {
        query: asked.query.clone(),
        turns: asked.kind != Some(Found::File),
        files: asked.kind != Some(Found::Turn) && !of_turns && first == 0,
        workspace: asked.workspace.clone(),
        harness: asked.program.clone(),
        role,
        since: time(&asked.since, Edge::Since)?,
        until: time(&asked.until, Edge::Until)?,
        limit: first + most + 1,
        ..SearchRequest::default()
    };
    let report = engine.search(&request)?;
    if report.hits.is_empty() && report.files.is_empty() {
        return Ok("Nothing was found. Try fewer or other words, a beginning (migrat*), or recall_memory.".into());
    }
    let mut answer = Answer::new(USUAL);
    for file in report.files.iter().take(most) {
        let id = file.id.as_deref().unwrap_or(&file.path);
        answer.line(&format!("- {}: {} · {} [{id}]", one_line(&file.title), short(&file.snippet, HIT), file.kind));
    }
    let mut shown = 0;
    for hit in report.hits.iter().skip(first).take(most) {
        let place = hit.workspace.as_deref().unwrap_or("no project");
        let line = format!(
            "- {} · {} · {place} · {} {} [{}]",
            short(&hit.snippet, HIT),
            day_of(hit.at.as_deref(), &zone),
            hit.harness,
            hit.speaker.as_deref().or(hit.tool.as_deref()).unwrap_or(hit.role),
            hit.turn
        );
        if !answer.line(&line) {
            break;
        }
        shown += 1;
    }
    let mut after: Vec<String> = report.less.clone();
    if report.hits.len() > first + shown {
        after.push(format!("next: cursor {}", first + shown));
    }
    Ok(answer.finish(&after))
}

fn open(memory: &Memory, asked: &ask::Open) -> Result<String> {
    let engine = memory.engine()?;
    let reference = Reference::parse(&asked.id)?;
    let mut answer = Answer::new(budget(asked.budget));
    if asked.view == View::Raw {
        return raw(&engine, &reference, asked);
    }
    if let (View::Around, Reference::Turn(id)) = (asked.view, &reference) {
        let report = engine.turns(*id, 3)?;
        let zone = engine.zone();
        for turn in &report.turns {
            let turn = &turn.turn;
            answer.line(&format!("[{}] {} · {}", turn.id, who(turn), day(turn.at, &zone)));
            // Each turn gets an equal share of the budget, so that a long turn does not hide the ones after it.
            let text = heirloom_engine::tokens::cut(&turn.text, budget(asked.budget) / report.turns.len().max(1));
            answer.lines(&text);
        }
        return Ok(whole(answer));
    }
    if let Reference::Turn(id) = &reference
        && let Some(page) = part_of_turn(&engine, *id, asked)?
    {
        return Ok(page);
    }
    let reach = Reach {
        transcript: asked.view != View::Summary || matches!(reference, Reference::Turn(_)),
        cursor: asked.cursor.clone(),
        ..Reach::default()
    };
    let report = engine.expand(&reference, &reach)?;
    if asked.cursor.is_none() {
        subject(&engine, &report, &mut answer);
    }
    let mut after = Vec::new();
    if let Some(words) = &report.found.transcript {
        let zone = engine.zone();
        let mut last = None;
        for passage in &words.turns {
            let turn = &passage.turn;
            answer.line(&format!("[{}] {} · {}", turn.id, who(turn), day(turn.at, &zone)));
            let text = if passage.forgotten { "(forgotten)" } else { turn.text.as_str() };
            if answer.lines(text) {
                last = Some(turn.id);
            }
        }
        match (&words.next, answer.is_full(), last) {
            (Some(next), false, _) => after.push(format!("next: cursor {next}")),
            (_, true, _) => after.push("cut: a larger budget, or open the turns one by one".into()),
            _ => {}
        }
    } else if answer.is_full() {
        after.push(CUT.into());
    }
    Ok(answer.finish(&after))
}

/// Returns a page of a turn whose text does not fit the budget. `None` if it fits.
fn part_of_turn(engine: &Engine, id: TurnId, asked: &ask::Open) -> Result<Option<String>> {
    let report = engine.turns(id, 0)?;
    let Some(turn) = report.turns.iter().map(|shown| &shown.turn).find(|turn| turn.id == id) else { return Ok(None) };
    let budget = budget(asked.budget);
    // Half of the budget is enough for the heading and the turns beside it.
    if asked.cursor.is_none() && tokens(&turn.text) <= budget / 2 {
        return Ok(None);
    }
    let first = asked.cursor.as_deref().map(place).transpose()?.unwrap_or(0);
    let heading = format!("[{id}] {} · {}\n", who(turn), day(turn.at, &engine.zone()));
    Ok(Some(page(&redact(&turn.text), &heading, first, budget)))
}

/// Finishes an answer, with a note if something did not fit.
fn whole(answer: Answer) -> String {
    let after = if answer.is_full() { vec![CUT.to_owned()] } else { Vec::new() };
    answer.finish(&after)
}

const CUT: &str = "cut: a larger budget, or view words with its cursor";

fn who(turn: &heirloom_engine::transcript::read::Turn) -> String {
    let role = heirloom_engine::transcript::role_name(turn.role);
    turn.speaker
        .clone()
        .or_else(|| turn.tool.as_ref().map(|t| format!("{role} {t}")))
        .unwrap_or_else(|| role.to_owned())
}

/// Returns the stored bytes of a turn's record as text, page by page.
fn raw(engine: &Engine, reference: &Reference, asked: &ask::Open) -> Result<String> {
    let Reference::Turn(id) = reference else {
        return Err(
            Error::usage("only a turn has stored bytes of its own").hint("open it with view words, then a turn of it")
        );
    };
    let bytes = engine.turn_bytes(*id)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = redact(&text);
    let first = asked.cursor.as_deref().map(place).transpose()?.unwrap_or(0);
    Ok(page(&text, "", first, budget(asked.budget)))
}

/// Returns the place in a text that a cursor of [`page`] names.
fn place(cursor: &str) -> Result<usize> {
    cursor.parse::<usize>().map_err(|_| Error::usage("this cursor is from no earlier answer"))
}

/// Returns a page of a text from a place on, with the cursor of the next page.
fn page(text: &str, heading: &str, first: usize, budget: usize) -> String {
    let begin = text.floor_char_boundary(first.min(text.len()));
    // A page has three bytes per token of the budget: text without blanks has fewer bytes per token than prose.
    let most = (3 * budget).min(MOST - 1024);
    let end = text.floor_char_boundary((begin + most).min(text.len()));
    let mut answer = Answer::new(usize::MAX);
    answer.line(&format!("{heading}{}", &text[begin..end]));
    let after = if end < text.len() { vec![format!("next: cursor {end} of {}", text.len())] } else { Vec::new() };
    answer.finish(&after)
}

/// Writes the subject of a reference, in lines.
fn subject(engine: &Engine, report: &ExpandReport, answer: &mut Answer) {
    let zone = engine.zone();
    let node_line = |node: &Node| {
        let (first, last) = node.turns;
        format!("- {} · {} [{}] over {first}–{last}", short(&node.summary, HIT), day(node.times.1, &zone), node.id)
    };
    match &report.found.subject {
        Subject::Node(view) => {
            answer.line(&node_line(&view.node));
            for (name, items) in view.node.distillate.lists() {
                if !items.is_empty() {
                    answer.line(&format!("{}:", name.replace('_', " ")));
                }
                for item in items {
                    let id = item.file.clone().or_else(|| item.turns.last().map(TurnId::to_string)).unwrap_or_default();
                    answer.line(&format!("- {} [{id}]", item.text));
                }
            }
            for child in &view.children {
                answer.line(&format!("below {}", node_line(&child.node)));
            }
        }
        Subject::Turn(view) => {
            let ids = |turns: &[TurnId]| turns.iter().map(|t| format!("[{t}]")).collect::<Vec<_>>().join(" ");
            answer.line(&format!("before {} · after {}", ids(&view.before), ids(&view.after)));
        }
        Subject::File(view) => {
            answer.lines(&view.text);
        }
        Subject::Session(view) => {
            let title = view.session.title.as_deref().unwrap_or("no title");
            answer.line(&format!(
                "{} · {} turns · {}",
                one_line(title),
                view.session.turns,
                day(view.session.last_at, &zone)
            ));
            view.nodes.iter().for_each(|n| _ = answer.line(&node_line(n)));
        }
        Subject::Thread(view) => {
            answer.line(&one_line(&view.thread.label));
            view.nodes.iter().for_each(|n| _ = answer.line(&node_line(n)));
        }
        // These subjects have no wording of their own here: their report is shown as JSON.
        Subject::Pending(_)
        | Subject::Matter(_)
        | Subject::Channel(_)
        | Subject::Job(_)
        | Subject::Context(_)
        | Subject::Quarantine(_) => {
            let value = serde_json::to_string_pretty(&report.subject).unwrap_or_default();
            answer.lines(&value);
        }
    }
}

fn work(memory: &Memory, asked: &ask::Work) -> Result<String> {
    let engine = memory.engine()?;
    engine.agent_no()?;
    let name = asked.thread.as_deref().unwrap_or("active");
    let shown = engine.looked(|at| {
        let page = at.read(|tx| render::shared::named(tx, at.agent_no, name))?;
        HeadShown::of(at, &page, None).map(Some)
    })?;
    let mut answer = Answer::new(USUAL);
    match &shown {
        Some(head) => answer.lines(head.text.trim()),
        None => answer.line("Nothing is known yet."),
    };
    if asked.thread.is_none() {
        let threads = engine.threads(false, None, 12)?;
        for listed in &threads.threads {
            answer.line(&format!("- thread {} · {}", listed.thread.row.key, one_line(&listed.thread.row.label)));
        }
    }
    Ok(whole(answer))
}

fn sessions(memory: &Memory, asked: &ask::Sessions) -> Result<String> {
    let engine = memory.engine()?;
    let zone = engine.zone();
    let first = start(asked.cursor.as_deref())?;
    let most = asked.limit.unwrap_or(10).clamp(1, 50);
    let since = asked.since.as_deref().map(|t| moment::parse(t, engine.now(), &zone, Edge::Since)).transpose()?;
    let workspace = asked.workspace.as_deref().map(|name| engine.workspace_id(name)).transpose()?;
    let filter = SessionFilter { since, ..SessionFilter::default() };
    let report = engine.sessions(&filter)?;
    let of = |id: &Option<String>| workspace.is_none() || *id == workspace;
    let found: Vec<_> = report.sessions.iter().filter(|s| of(&s.row.workspace_id)).collect();
    if found.is_empty() {
        return Ok("There are no such sessions.".into());
    }
    let mut answer = Answer::new(USUAL);
    let mut shown = 0;
    for session in found.iter().skip(first).take(most) {
        let row = &session.row;
        let resume = session.resume.as_deref().map(|r| format!(" · resume: {r}")).unwrap_or_default();
        let line = format!(
            "- {} · {} · {} · {} turns{resume} [{}]",
            short(row.title.as_deref().unwrap_or("no title"), 80),
            row.workspace.as_deref().unwrap_or("no project"),
            day(row.last_at, &zone),
            row.turns,
            row.key.as_str()
        );
        if !answer.line(&line) {
            break;
        }
        shown += 1;
    }
    let more = found.len() > first + shown;
    Ok(answer.finish(&if more { vec![format!("next: cursor {}", first + shown)] } else { Vec::new() }))
}

fn remember(memory: &Memory, asked: ask::Remember) -> Result<String> {
    let engine = memory.engine()?;
    let project = match &asked.about {
        Some(name) => Some(engine.workspace_id(name)?),
        None => memory.workspace(&engine),
    };
    let class = match asked.class.as_deref() {
        Some(class) => Class::parse(class)?,
        None if project.is_some() => Class::Fact,
        None => Class::Preference,
    };
    let scope = match (class.of_workspace(), project) {
        (false, _) => Scope::Agent,
        (true, Some(id)) => Scope::Workspace(id),
        (true, None) => {
            return Err(Error::usage(format!("a {class} belongs to a project, and this client works in none"))
                .hint("name the project with `about`"));
        }
    };
    scope.holds(class)?;
    let source = Provenance { origin: Origin::Program, ..Provenance::default() };
    let title = leaf::derived_title(&redact(&asked.text));
    let (class, scope) = (class.name().to_owned(), scope.to_string());
    let new = NewProposal { title, entries: vec![asked.text], class, scope, confidence: None, source };
    let (item, _) = engine.act(|lock| review::propose(lock, &new))?;
    let how = match item.change {
        Change::New => "proposed",
        Change::Changed => "added to what was proposed",
        Change::Same => "was proposed already",
    };
    Ok(format!("{how}: {} [{}] · waits for the person's yes (heirloom review)", one_line(&item.title), item.id))
}

fn loops(memory: &Memory, asked: ask::Loops) -> Result<String> {
    let engine = memory.engine()?;
    match asked.action {
        Act::List => list_loops(memory, &engine),
        Act::Add => {
            let title = asked.title.filter(|t| !t.trim().is_empty());
            let title = title.ok_or_else(|| Error::usage("open_loops: add needs a `title`"))?;
            let scope = memory.workspace(&engine).map(|id| format!("workspace/{id}"));
            let source = Provenance { origin: Origin::Program, ..Provenance::default() };
            let (title, text) = (mask_text(&title).into_owned(), asked.note.map(|note| mask_text(&note).into_owned()));
            let new = NewLoop { title, text, scope, source, ..NewLoop::default() };
            let item = engine.act(|lock| open_loop::add(lock, &new))?;
            Ok(changed(&[item], "open"))
        }
        Act::Resolve => {
            let id = asked.id.or(asked.title).ok_or_else(|| Error::usage("open_loops: resolve needs an `id`"))?;
            let items = engine.resolve_loops(&[id], asked.note.as_deref())?;
            Ok(changed(&items, "resolved"))
        }
    }
}

fn list_loops(memory: &Memory, engine: &Engine) -> Result<String> {
    let here = memory.workspace(engine).map(|id| format!("workspace/{id}"));
    let report = engine.loops(false, None, 50)?;
    let zone = engine.zone();
    let files = report.loops.iter().map(|l| {
        let due = l.entry.field("due").map(|d| format!(" · due {d}")).unwrap_or_default();
        let opened = day_of(open_loop::day(&l.entry), &zone);
        (
            l.entry.scope.clone(),
            format!("- {}{due} · since {opened} [{}]", one_line(&l.title), l.id.clone().unwrap_or_default()),
        )
    });
    let said = report.unfiled.iter().map(|u| {
        let due = u.due.as_deref().map(|d| format!(" · due {d}")).unwrap_or_default();
        (None, format!("- {}{due} · {} [{}]", one_line(&u.title), one_line(&u.thread), u.id))
    });
    let mut all: Vec<(Option<String>, String)> = files.chain(said).collect();
    if all.is_empty() {
        return Ok("Nothing is open.".into());
    }
    // Items of this project come first.
    all.sort_by_key(|(scope, _)| *scope != here);
    let mut answer = Answer::new(USUAL);
    let shown = all.iter().filter(|(_, line)| answer.line(line)).count();
    let left = report.all.saturating_sub(shown);
    Ok(answer.finish(&if left > 0 { vec![format!("{left} more: {}", worded("⟨loop list⟩"))] } else { Vec::new() }))
}

fn changed(items: &[Item], how: &str) -> String {
    items.iter().map(|i| format!("{how}: {} [{}]", one_line(&i.title), i.id)).collect::<Vec<_>>().join("\n")
}

/// Lists what can be read without knowing an id: the heads, and the newest sessions.
pub fn resources(memory: &Memory) -> Result<Vec<(String, String)>> {
    let engine = memory.engine()?;
    let mut found = vec![
        ("heirloom://head/active".to_owned(), "What matters now".to_owned()),
        ("heirloom://head/memory".to_owned(), "MEMORY.md".to_owned()),
    ];
    for listed in engine.threads(false, None, 20)?.threads {
        let row = listed.thread.row;
        found.push((format!("heirloom://head/{}", row.key), one_line(&row.label)));
    }
    let newest = SessionFilter { limit: Some(20), ..SessionFilter::default() };
    for session in engine.sessions(&newest)?.sessions {
        let title = short(session.row.title.as_deref().unwrap_or("no title"), 80);
        found.push((format!("heirloom://session/{}", session.row.key.as_str()), title));
    }
    Ok(found)
}

/// Returns the text of the resource `heirloom://KIND/ID`.
pub fn resource(memory: &Memory, uri: &str) -> Result<String> {
    let unknown =
        || Error::not_found(format!("{uri} is no resource")).hint("heirloom://turn/t9c11, node, session, memory, head");
    let (kind, id) = uri.strip_prefix("heirloom://").and_then(|rest| rest.split_once('/')).ok_or_else(unknown)?;
    match kind {
        "head" => work(memory, &ask::Work { thread: Some(id.to_owned()) }),
        "turn" | "node" | "session" | "memory" => {
            let view = if kind == "turn" { View::Words } else { View::Summary };
            open(memory, &ask::Open { id: id.to_owned(), view, cursor: None, budget: Some(4_000) })
        }
        _ => Err(unknown()),
    }
}

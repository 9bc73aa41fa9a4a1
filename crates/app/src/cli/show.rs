//! `heirloom show`

use std::collections::VecDeque;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::event::{Role, TurnKind};
use heirloom_engine::inject::ContextId;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::redact::redact;
use heirloom_engine::scope::{AgentNo, QuarantineId, RevisionNo, TurnId};
use heirloom_engine::transcript::read::{self, SessionRow, Turn};
use heirloom_engine::transcript::{kind_name, role_name};
use heirloom_engine::tree::address;
use serde_json::{Value, json};

use super::shown::{self, Part};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Print a turn, a file, a whole session, or what was set aside
///
/// Credentials are shown as [redacted:KIND]; --raw prints the exact bytes.
// [redacted:KIND] is what is printed, and no link.
#[allow(rustdoc::broken_intra_doc_links)]
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A turn (t9c11), an item (l:… p:… m:… a:…), a file in the assistant home (memory/preference/tea.md, or tea.md:12
    /// for what stands around a line), a session, something set aside (q:17), or a context a program was given (x:17)
    #[arg(value_name = "ID", required_unless_present_any = ["session", "quarantine", "revisions", "revision"])]
    id: Option<String>,

    /// A whole session
    #[arg(long, value_name = "KEY", conflicts_with = "id")]
    session: Option<String>,

    /// Only this sub-agent of the session
    #[arg(long, value_name = "LANE", requires = "session")]
    lane: Option<String>,

    /// Turns before and after the one named; of a file with a line, lines (3 if not given)
    #[arg(long, short = 'C', value_name = "N")]
    around: Option<usize>,

    /// Tool output, reasoning and machine prompts of a session in full
    #[arg(long)]
    full: bool,

    /// The exact bytes of the source record or of the file
    #[arg(long, conflicts_with = "quarantine")]
    raw: bool,

    /// Earlier states of the file that were kept; without a file, of all of them
    #[arg(long, conflicts_with_all = ["session", "revision"])]
    revisions: bool,

    /// One of them, by its number
    #[arg(long, value_name = "N", conflicts_with = "session")]
    revision: Option<i64>,

    /// Everything that was set aside because it could not be decoded
    #[arg(long, conflicts_with_all = ["id", "session"])]
    quarantine: bool,
}

/// Lines of a tool's output that a session shows; `--full` shows all.
const TOOL_LINES: usize = 6;

/// Lines shown before and after the one named.
const LINES_AROUND: usize = 3;

/// How many of the things set aside people are shown, newest first.
const QUARANTINE_LINES: usize = 200;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    if args.quarantine {
        return list_quarantine(&context, agent_no);
    }
    if let Some(name) = &args.session {
        return show_session(&context, agent_no, name, args.lane.as_deref(), args.full);
    }
    let Some(id) = args.id.as_deref() else { return shown::kept(&context, args.revision.map(RevisionNo), args.raw) };
    let around = args.around.unwrap_or(0);
    let of_a_file = args.revisions || args.revision.is_some();
    let is_file = address::is_address(id);
    if let Some(q) = QuarantineId::parse(id)
        && !of_a_file
    {
        return show_quarantined(&context, agent_no, q, args.raw);
    }
    if let Some(given) = ContextId::parse(id)
        && !of_a_file
    {
        return super::context::show(&context, agent_no, given, false);
    }
    if let Some(turn) = TurnId::parse(id)
        && !of_a_file
    {
        return show_turn(&context, agent_no, turn, around, args.raw);
    }
    // A session's name may look like that of a file; the file comes first.
    let in_a_file = if is_file || of_a_file {
        let part = match (args.revisions, args.revision) {
            (true, _) => Part::Revisions,
            (_, Some(no)) => Part::Revision(RevisionNo(no)),
            _ => Part::Now { around: args.around.unwrap_or(LINES_AROUND) },
        };
        shown::find_and_show(&context, id, &part, args.raw)
    } else {
        Err(Error::usage(format!(
            "{:?} is no turn (t9c11), item, file, session, set-aside id (q:17) or context (x:17)",
            print::cut(id, 80)
        ))
        .hint("find turns and files with heirloom search, sessions with heirloom session list"))
    };
    if in_a_file.is_err()
        && !of_a_file
        && let Ok(session) = context.read(|tx| read::session_named(tx, agent_no, id))
    {
        return show_session(&context, agent_no, session.key.as_str(), None, args.full);
    }
    in_a_file
}

fn show_turn(context: &Context, agent_no: AgentNo, id: TurnId, around: usize, raw: bool) -> Result<Exit> {
    let opener = Opener::default();
    let turn = context.read(|tx| read::turn(tx, &opener, agent_no, id))?;
    if raw {
        let bytes = context.read(|tx| read::record_bytes(tx, &opener, turn.record))?;
        return Ok(print::raw(&bytes));
    }
    let turns = if around == 0 { vec![turn] } else { neighbours(context, &turn, around)? };
    if context.json {
        let list: Vec<Value> = turns.iter().map(turn_json).collect();
        print::line(&json!({"turns": list}).to_string());
        return Ok(Exit::Ok);
    }
    let paint = Paint::stdout();
    let now = context.now();
    for turn in &turns {
        let here = if around > 0 && turn.id == id { paint.bold("▶ ") } else { String::new() };
        print::line(&format!("{here}{}", heading(turn, now, paint)));
        print::line(&turn.forgotten.map_or_else(|| print::safe(&redact(&turn.text)), |at| forgotten(at, now)));
        print::line("");
    }
    let first = &turns[0];
    let mut foot = vec![format!("session {}", first.session), format!("entry {}", first.entry)];
    if let Some(resume) = programs::resume(&first.session, first.cwd.as_deref()) {
        foot.push(format!("resume: {resume}"));
    }
    foot.push(format!("heirloom show --session {}", first.session));
    print::line(&paint.dim(&foot.join(" · ")));
    Ok(Exit::Ok)
}

/// The turn and its neighbours in its lane.
fn neighbours(context: &Context, turn: &Turn, around: usize) -> Result<Vec<Turn>> {
    let opener = Opener::default();
    let agent_no = context.agent_no()?;
    let mut window: VecDeque<Turn> = VecDeque::new();
    let mut after = 0;
    let mut seen = false;
    context.read(|tx| {
        let session = read::session_named(tx, agent_no, turn.session.as_str())?;
        read::session_turns(tx, &opener, &session, Some(&turn.lane), |t| {
            if seen && after >= around {
                return Ok(());
            }
            after += usize::from(seen);
            seen |= t.id == turn.id;
            window.push_back(t);
            if !seen && window.len() > around {
                window.pop_front();
            }
            Ok(())
        })
    })?;
    Ok(window.into())
}

fn show_session(context: &Context, agent_no: AgentNo, name: &str, lane: Option<&str>, full: bool) -> Result<Exit> {
    let opener = Opener::default();
    let now = context.now();
    let paint = Paint::stdout();
    let session = context.read(|tx| read::session_named(tx, agent_no, name))?;
    if context.json {
        let mut turns = Vec::new();
        context.read(|tx| {
            read::session_turns(tx, &opener, &session, lane, |t| {
                turns.push(turn_json(&t));
                Ok(())
            })
        })?;
        print::line(&json!({"session": session_json(&session), "turns": turns}).to_string());
        return Ok(Exit::Ok);
    }
    let lanes = context.read(|tx| read::lanes(tx, session.no))?;
    if let Some(lane) = lane
        && !lanes.iter().any(|l| l.lane == lane)
    {
        let known: Vec<&str> = lanes.iter().map(|l| l.lane.as_str()).filter(|l| !l.is_empty()).collect();
        return Err(Error::not_found(format!("{} has no sub-agent {lane:?}", session.key)).hint(if known.is_empty() {
            "it has none".into()
        } else {
            format!("it has: {}", known.join(", "))
        }));
    }
    let name = context.read(|tx| programs::name_of(tx, &opener, &session))?;
    print::line(&paint.bold(if name.is_empty() { session.key.as_str() } else { &name }));
    let mut facts = vec![programs::title(&session.key).to_owned(), print::when(session.started_at, now)];
    facts.extend(session.workspace.clone());
    facts.push(print::counted(session.turns + session.shared_turns, "turn"));
    print::line(&paint.dim(&facts.join(" · ")));
    print::line("");
    let mut hidden = 0u64;
    let mut last_lane = lane.unwrap_or("").to_owned();
    context.read(|tx| {
        read::session_turns(tx, &opener, &session, lane, |turn| {
            let aside = matches!(turn.kind, TurnKind::Thinking | TurnKind::MachinePrompt);
            if aside && !full {
                hidden += 1;
                return Ok(());
            }
            if turn.lane != last_lane {
                let name = if turn.lane.is_empty() { "main line" } else { &turn.lane };
                print::line(&paint.dim(&format!("── {} ──", print::safe_line(name))));
                last_lane.clone_from(&turn.lane);
            }
            print::line(&heading(&turn, now, paint));
            print::line(&turn.forgotten.map_or_else(|| body(&turn, full), |at| forgotten(at, now)));
            print::line("");
            Ok(())
        })
    })?;
    if hidden > 0 {
        print::line(
            &paint.dim(&format!(
                "{} of reasoning and machine prompts not shown (--full)",
                print::counted(hidden, "turn")
            )),
        );
    }
    Ok(Exit::Ok)
}

/// Who speaks, when, and under which id.
pub fn heading(turn: &Turn, now: i64, paint: Paint) -> String {
    let who = match (turn.role, turn.kind) {
        (_, TurnKind::CompactSummary) => "Compaction summary".to_owned(),
        (_, TurnKind::MachinePrompt) => "Machine prompt".to_owned(),
        (_, TurnKind::Thinking) => "Reasoning".to_owned(),
        (_, TurnKind::ToolCall) => format!("Calls {}", turn.tool.as_deref().unwrap_or("a tool")),
        (_, TurnKind::ToolResult) => {
            let state = if turn.failed { " failed" } else { "" };
            format!("{}{state}", turn.tool.as_deref().unwrap_or("Tool"))
        }
        (Role::User, _) => turn.speaker.clone().unwrap_or_else(|| "You".into()),
        (Role::Assistant, _) => turn.speaker.clone().unwrap_or_else(|| programs::title(&turn.session).to_owned()),
        _ => turn.speaker.clone().unwrap_or_else(|| role_name(turn.role).to_owned()),
    };
    let who = print::safe_line(&who);
    let who = if turn.role == Role::User { paint.accent(&who) } else { paint.bold(&who) };
    let mut side = vec![print::when(turn.at, now), turn.id.to_string()];
    if turn.revision > 0 {
        side.push("rewritten".into());
    }
    format!("{who}  {}", paint.dim(&side.join(" · ")))
}

/// In the place of words that were forgotten.
fn forgotten(at: i64, now: i64) -> String {
    Paint::stdout().dim(&format!("[forgotten {}]", print::when(Some(at), now)))
}

fn body(turn: &Turn, full: bool) -> String {
    let text = print::safe(redact(&turn.text).trim_end());
    let tool = matches!(turn.kind, TurnKind::ToolCall | TurnKind::ToolResult);
    if full || !tool {
        return text;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = lines.iter().take(TOOL_LINES).map(|l| format!("  {}", print::cut(l, 160))).collect();
    if lines.len() > TOOL_LINES {
        out.push(format!(
            "  … {} (heirloom show {})",
            print::counted((lines.len() - TOOL_LINES) as u64, "more line"),
            turn.id
        ));
    }
    out.join("\n")
}

fn list_quarantine(context: &Context, agent_no: AgentNo) -> Result<Exit> {
    let most = if context.json { usize::MAX >> 1 } else { QUARANTINE_LINES };
    let all = context.read(|tx| read::quarantine(tx, agent_no, None, most))?;
    if context.json {
        let list: Vec<Value> = all.iter().map(quarantined_json).collect();
        print::line(&json!({"set_aside": list}).to_string());
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        print::line("Nothing was set aside: every record could be decoded.");
    }
    for q in &all {
        print::line(&format!("{}  {}", q.id, place(q)));
        let gone = if q.forgotten.is_some() { ", forgotten" } else { "" };
        print::line(&format!("      {}, {}{gone}", print::safe_line(&q.reason), print::bytes(q.length as u64)));
    }
    if all.len() == QUARANTINE_LINES {
        print::line("These are the newest; all of them: --json");
    }
    Ok(Exit::Ok)
}

fn show_quarantined(context: &Context, agent_no: AgentNo, id: QuarantineId, raw: bool) -> Result<Exit> {
    let opener = Opener::default();
    let found = context.read(|tx| read::quarantine(tx, agent_no, Some(id), 1))?;
    let Some(q) = found.into_iter().next() else {
        return Err(Error::not_found(format!("nothing was set aside as {id}")).hint("see heirloom show --quarantine"));
    };
    let bytes = context.read(|tx| read::record_bytes(tx, &opener, q.record))?;
    if raw {
        return Ok(print::raw(&bytes));
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = redact(&text);
    if context.json {
        let mut value = quarantined_json(&q);
        value["text"] = json!(text);
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    let paint = Paint::stdout();
    print::line(&format!("{}  {}", paint.bold(&q.id.to_string()), place(&q)));
    print::line(&format!("{}\n", print::safe_line(&q.reason)));
    let shown = &text[..text.floor_char_boundary(4000)];
    print::line(&print::safe(shown));
    if text.len() > shown.len() {
        print::line(&paint.dim(&format!("… {} in all", print::bytes(bytes.len() as u64))));
    }
    Ok(Exit::Ok)
}

fn place(q: &read::Quarantined) -> String {
    let path = print::safe_line(&q.path.display().to_string());
    match (q.key.as_str(), q.line) {
        ("", Some(line)) => format!("{path}  line {line} (byte {})", q.position),
        ("", None) => format!("{path}  byte {}", q.position),
        (key, _) => format!("{path}#{}", print::safe_line(key)),
    }
}

/// What was set aside, for programs.
pub fn quarantined_json(q: &read::Quarantined) -> Value {
    json!({"id": q.id.to_string(), "path": q.path.display().to_string(), "key": q.key, "offset": q.position,
           "length": q.length, "line": q.line, "reason": q.reason, "session": q.session, "forgotten": q.forgotten.map(rfc3339)})
}

/// A turn, for programs; without credentials.
pub fn turn_json(t: &Turn) -> Value {
    json!({
        "turn": t.id.to_string(), "session": t.session.as_str(), "lane": t.lane, "entry": t.entry, "revision": t.revision,
        "parent": t.parent, "role": role_name(t.role), "kind": kind_name(t.kind), "at": t.at.map(rfc3339),
        "workspace": t.workspace, "speaker": t.speaker, "model": t.model, "tool": t.tool, "call": t.call,
        "failed": t.failed, "usage": t.usage, "thread": t.thread, "run": t.run, "text": redact(&t.text),
        "forgotten": t.forgotten.map(rfc3339),
    })
}

/// A session, for programs.
pub fn session_json(s: &SessionRow) -> Value {
    json!({
        "session": s.key.as_str(), "harness": s.key.harness(), "title": s.title.as_deref().map(redact), "workspace": s.workspace,
        "workspace_id": s.workspace_id, "cwd": s.cwd, "version": s.version, "fork_of": s.fork_of,
        "started_at": s.started_at.map(rfc3339), "last_at": s.last_at.map(rfc3339), "ended_at": s.ended_at.map(rfc3339),
        "ended_by": s.ended_by, "turns": s.turns, "shared_turns": s.shared_turns, "resume": programs::resume(&s.key, s.cwd.as_deref()),
    })
}

//! `heirloom show`

use heirloom_engine::clock::Millis;
use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::event::{Role, TurnKind};
use heirloom_engine::inject::ContextId;
use heirloom_engine::report::turns::ShownTurn;
use heirloom_engine::scope::{QuarantineId, TurnId};
use heirloom_engine::transcript::read::{self, Quarantined, Turn};
use heirloom_engine::transcript::role_name;
use heirloom_engine::tree::address;

use super::shown::{self, Part};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Print a turn, a file, a whole session, or a record that was set aside
///
/// Credentials are shown as [redacted:KIND]; --raw prints the exact bytes.
// `[redacted:KIND]` is the text that is printed; rustdoc takes it for a link.
#[allow(rustdoc::broken_intra_doc_links)]
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A turn (t9c11), an item (l:… p:… m:… a:…), a file in the assistant home (memory/preference/tea.md, or tea.md:12
    /// for the lines around line 12), a session, a record that was set aside (q:17), or a context a program was given
    /// (x:17)
    #[arg(value_name = "ID", required_unless_present_any = ["session", "quarantine", "revisions", "revision"])]
    id: Option<String>,

    /// A whole session
    #[arg(long, value_name = "KEY", conflicts_with = "id")]
    session: Option<String>,

    /// Only this sub-agent of the session
    #[arg(long, value_name = "LANE", requires = "session")]
    lane: Option<String>,

    /// Number of turns before and after the named one; for a file with a line, number of lines (3 if not given)
    #[arg(long, short = 'C', value_name = "N")]
    around: Option<usize>,

    /// Tool output, reasoning and machine prompts of a session in full
    #[arg(long)]
    full: bool,

    /// The exact bytes of the source record or of the file
    #[arg(long, conflicts_with = "quarantine")]
    raw: bool,

    /// List the kept earlier states of the file, or of all files if none is named
    #[arg(long, conflicts_with_all = ["session", "revision"])]
    revisions: bool,

    /// Print one of these states, by its number
    #[arg(long, value_name = "N", conflicts_with = "session")]
    revision: Option<i64>,

    /// List every record that was set aside because it could not be decoded
    #[arg(long, conflicts_with_all = ["id", "session"])]
    quarantine: bool,
}

/// Number of lines of a tool's output that a session shows; `--full` shows all.
const TOOL_LINES: usize = 6;

/// Number of lines shown before and after the named line.
const LINES_AROUND: usize = 3;

/// Maximum number of quarantined records printed, newest first.
const QUARANTINE_LINES: usize = 200;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let engine = context.acting_as("cli show");
    let agent_no = engine.agent_no()?;
    if args.quarantine {
        return list_quarantine(&engine, global);
    }
    if let Some(name) = &args.session {
        return show_session(&engine, global, name, args.lane.as_deref(), args.full);
    }
    let Some(id) = args.id.as_deref() else { return shown::kept(&engine, global, args.revision, args.raw) };
    let around = args.around.unwrap_or(0);
    let of_a_file = args.revisions || args.revision.is_some();
    let is_file = address::is_address(id);
    if let Some(q) = QuarantineId::parse(id)
        && !of_a_file
    {
        return show_quarantined(&engine, global, q, args.raw);
    }
    if let Some(given) = ContextId::parse(id)
        && !of_a_file
    {
        return super::context::show(&engine, global, given, false);
    }
    if let Some(turn) = TurnId::parse(id)
        && !of_a_file
    {
        return show_turn(&engine, global, turn, around, args.raw);
    }
    // The name of a session may look like a path; a file with that name takes precedence.
    let in_a_file = if is_file || of_a_file {
        let part = match (args.revisions, args.revision) {
            (true, _) => Part::Revisions,
            (_, Some(no)) => Part::Revision(no),
            _ => Part::Now { around: args.around.unwrap_or(LINES_AROUND) },
        };
        shown::find_and_show(&context, &engine, id, &part, args.raw)
    } else {
        Err(Error::usage(format!(
            "{:?} is no turn (t9c11), item, file, session, set-aside id (q:17) or context (x:17)",
            print::cut(id, 80)
        ))
        .hint("find turns and files with heirloom search, sessions with heirloom session list"))
    };
    if in_a_file.is_err()
        && !of_a_file
        && let Ok(session) = engine.read(|tx| read::session_named(tx, agent_no, id))
    {
        return show_session(&engine, global, session.key.as_str(), None, args.full);
    }
    in_a_file
}

fn show_turn(engine: &Engine, global: &Global, id: TurnId, around: usize, raw: bool) -> Result<Exit> {
    if raw {
        return Ok(print::raw(&engine.turn_bytes(id)?));
    }
    let report = engine.turns(id, around)?;
    Ok(print::answer(global.json, &report, || {
        let paint = Paint::stdout();
        let now = engine.now();
        for shown in &report.turns {
            let turn = &shown.turn;
            let here = if around > 0 && turn.id == id { paint.bold("▶ ") } else { String::new() };
            print::line(&format!("{here}{}", heading(turn, now, paint)));
            print::line(&turn.forgotten.map_or_else(|| print::safe(&turn.text), |at| forgotten(at, now)));
            print::line("");
        }
        if let Some(ShownTurn { turn: first, .. }) = report.turns.first() {
            let mut foot = vec![format!("session {}", first.session), format!("entry {}", first.entry)];
            foot.extend(report.resume.as_ref().map(|resume| format!("resume: {resume}")));
            foot.push(format!("heirloom show --session {}", first.session));
            print::line(&paint.dim(&foot.join(" · ")));
        }
    }))
}

fn show_session(engine: &Engine, global: &Global, name: &str, lane: Option<&str>, full: bool) -> Result<Exit> {
    let report = engine.session_turns(name, lane)?;
    if global.json {
        print::report(&report);
        return Ok(Exit::Ok);
    }
    let (now, paint) = (engine.now(), Paint::stdout());
    let session = &report.session.row;
    print::line(&paint.bold(&print::safe_line(if report.name.is_empty() {
        session.key.as_str()
    } else {
        &report.name
    })));
    let mut facts = vec![programs::title(&session.key).to_owned(), print::when(session.started_at, now)];
    facts.extend(session.workspace.clone());
    facts.push(print::counted(session.turns + session.shared_turns, "turn"));
    print::line(&paint.dim(&facts.join(" · ")));
    print::line("");
    let mut hidden = 0u64;
    let mut last_lane = lane.unwrap_or("").to_owned();
    for shown in &report.turns {
        let turn = &shown.turn;
        if matches!(turn.kind, TurnKind::Thinking | TurnKind::MachinePrompt) && !full {
            hidden += 1;
            continue;
        }
        if turn.lane != last_lane {
            let name = if turn.lane.is_empty() { "main line" } else { &turn.lane };
            print::line(&paint.dim(&format!("── {} ──", print::safe_line(name))));
            last_lane.clone_from(&turn.lane);
        }
        print::line(&heading(turn, now, paint));
        print::line(&turn.forgotten.map_or_else(|| body(shown, full), |at| forgotten(at, now)));
        print::line("");
    }
    if hidden > 0 {
        let turns = print::counted(hidden, "turn");
        print::line(&paint.dim(&format!("{turns} of reasoning and machine prompts not shown (--full)")));
    }
    Ok(Exit::Ok)
}

/// Returns the heading of a turn: speaker, time and id.
pub fn heading(turn: &Turn, now: Millis, paint: Paint) -> String {
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

/// Returns the placeholder printed for the text of a forgotten turn.
fn forgotten(at: Millis, now: Millis) -> String {
    Paint::stdout().dim(&format!("[forgotten {}]", print::when(Some(at), now)))
}

fn body(shown: &ShownTurn, full: bool) -> String {
    let turn = &shown.turn;
    let text = print::safe(turn.text.trim_end());
    let tool = matches!(turn.kind, TurnKind::ToolCall | TurnKind::ToolResult);
    if full || !tool {
        return text;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = lines.iter().take(TOOL_LINES).map(|l| format!("  {}", print::cut(l, 160))).collect();
    if lines.len() > TOOL_LINES {
        let more = print::counted((lines.len() - TOOL_LINES) as u64, "more line");
        out.push(format!("  … {more} (heirloom show {})", turn.id));
    }
    out.join("\n")
}

fn list_quarantine(engine: &Engine, global: &Global) -> Result<Exit> {
    let most = if global.json { usize::MAX >> 1 } else { QUARANTINE_LINES };
    let report = engine.quarantine(most)?;
    Ok(print::answer(global.json, &report, || {
        let all = &report.set_aside;
        if all.is_empty() {
            print::line("Nothing was set aside: every record could be decoded.");
        }
        for q in all {
            print::line(&format!("{}  {}", q.id, place(q)));
            let gone = if q.forgotten.is_some() { ", forgotten" } else { "" };
            print::line(&format!("      {}, {}{gone}", print::safe_line(&q.reason), print::bytes(q.length as u64)));
        }
        if all.len() == QUARANTINE_LINES {
            print::line("These are the newest; all of them: --json");
        }
    }))
}

fn show_quarantined(engine: &Engine, global: &Global, id: QuarantineId, raw: bool) -> Result<Exit> {
    let (report, bytes) = engine.set_aside(id)?;
    if raw {
        return Ok(print::raw(&bytes));
    }
    Ok(print::answer(global.json, &report, || {
        let (paint, q, text) = (Paint::stdout(), &report.quarantined, &report.text);
        print::line(&format!("{}  {}", paint.bold(&q.id.to_string()), place(q)));
        print::line(&format!("{}\n", print::safe_line(&q.reason)));
        let shown = &text[..text.floor_char_boundary(4000)];
        print::line(&print::safe(shown));
        if text.len() > shown.len() {
            print::line(&paint.dim(&format!("… {} in all", print::bytes(bytes.len() as u64))));
        }
    }))
}

fn place(q: &Quarantined) -> String {
    let path = print::safe_line(&q.path.display().to_string());
    match (q.key.as_str(), q.line) {
        ("", Some(line)) => format!("{path}  line {line} (byte {})", q.position),
        ("", None) => format!("{path}  byte {}", q.position),
        (key, _) => format!("{path}#{}", print::safe_line(key)),
    }
}

//! `heirloom search`

use std::time::Instant;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::recall::{self, Filter, Hit, Searched, snippet};
use heirloom_engine::transcript::{kind_name, read, role_name, role_parse};
use serde_json::json;

use super::times::{self, Edge};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Find turns: what people and models said, tool calls and their results
///
/// Words are joined by OR and ranked; "a phrase" must occur as it stands; word* finds beginnings. Names with signs in
/// them (orders_test.rs, E0277) are looked for whole and in their parts. Nothing is a syntax error.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What to look for
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    /// How many hits
    #[arg(long, short = 'n', value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,

    /// Only in this project: its id, label or path (. is the current one)
    #[arg(long, value_name = "W")]
    workspace: Option<String>,

    /// Only from this program
    #[arg(long, value_name = "NAME", value_parser = ["claude-code", "codex", "opencode", "openclaw", "turns"])]
    harness: Option<String>,

    /// Only in the session named
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// Only what this role said
    #[arg(long, value_name = "ROLE", value_parser = ["user", "assistant", "tool", "system"])]
    role: Option<String>,

    /// Not before this time: 2026-11-21, 2026-11, yesterday, 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Not after this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let started = Instant::now();
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let now = context.ledger.now();
    let filter = Filter {
        workspaces: args.workspace.as_deref().map(|name| workspaces(&context, agent_no, name)).transpose()?,
        harness: args.harness,
        session: args
            .session
            .as_deref()
            .map(|name| context.ledger.read(|tx| Ok(read::session_named(tx, agent_no, name)?.no)))
            .transpose()?,
        role: args.role.as_deref().and_then(role_parse),
        since: args.since.as_deref().map(|t| times::parse(t, now, Edge::Since)).transpose()?,
        until: args.until.as_deref().map(|t| times::parse(t, now, Edge::Until)).transpose()?,
        limit: args.limit.into(),
    };
    if let (Some(since), Some(until)) = (filter.since, filter.until)
        && since > until
    {
        return Err(Error::usage("--since lies after --until"));
    }
    let mut index = context.caught_up_index()?;
    let query = args.query.join(" ");
    let found = recall::search(&context.ledger, &mut index, context.agent(), &query, &filter)?;
    let ms = started.elapsed().as_secs_f64() * 1000.0;
    if global.json {
        print::line(&to_json(&query, &found, ms).to_string());
    } else {
        people(&query, &found, now);
    }
    Ok(Exit::Ok)
}

/// The workspaces a name stands for; a path that is no project of its own stands for the one it lies in.
pub fn workspaces(context: &Context, agent_no: i64, name: &str) -> Result<Vec<i64>> {
    let path = std::path::Path::new(name);
    let home = crate::config::user_home();
    let looks_like_path = name == "." || name.contains('/') || path.is_dir();
    let project = looks_like_path
        .then(|| std::path::absolute(path).ok())
        .flatten()
        .and_then(|p| heirloom_engine::source::project::project_root(&p, home.as_deref()));
    context.ledger.read(|tx| match &project {
        Some(project) => read::workspace_named(tx, agent_no, &project.workspace_id).map_err(|_| {
            Error::not_found(format!("nothing is stored for the project {}", project.path.display()))
                .hint("see heirloom workspace list")
        }),
        None => read::workspace_named(tx, agent_no, name),
    })
}

fn people(query: &str, found: &Searched, now: i64) {
    let paint = Paint::stdout();
    if found.hits.is_empty() {
        print::line(&format!("Nothing found for {}.", print::safe_line(query)));
        print::line("Try fewer or other words, a beginning (migrat*), or heirloom timeline.");
    }
    let width = print::width();
    for (n, hit) in found.hits.iter().enumerate() {
        let turn = &hit.turn;
        let mut head = vec![
            paint.bold(&format!("{:>2}", n + 1)),
            print::when(turn.at, now),
            paint.accent(&print::safe_line(turn.workspace.as_deref().unwrap_or("no project"))),
            programs::title(&turn.session).to_owned(),
            who(hit),
        ];
        if !turn.lane.is_empty() {
            head.push("sub-agent".into());
        }
        print::line(&head.join("  "));
        for line in wrap(&marked(&hit.passage), width.saturating_sub(4)) {
            print::line(&format!("    {}", painted(&line, paint)));
        }
        let why = match hit.beside {
            Some(beside) => format!("next to {beside}"),
            None => format!("{} of {} terms", hit.matched, hit.of),
        };
        let mut foot = vec![turn.id.to_string(), why];
        if let Some(resume) = programs::resume(&turn.session, turn.cwd.as_deref()) {
            foot.push(format!("resume: {resume}"));
        }
        foot.push(format!("heirloom show {}", turn.id));
        print::line(&format!("    {}", paint.dim(&foot.join(" · "))));
    }
    let mut notes = Vec::new();
    if !found.too_frequent.is_empty() {
        notes.push(format!("too frequent to help, left out: {}", print::safe_line(&found.too_frequent.join(", "))));
    }
    if found.not_indexed > 0 {
        notes.push(format!("{} not searched yet: heirloom work", print::counted(found.not_indexed, "new turn")));
    }
    if found.cut_short {
        notes.push("broken off after 5 seconds: name a project, a session or a time".into());
    }
    if found.query_cut {
        notes.push("the query is too long; only its beginning was used".into());
    }
    for note in notes {
        print::note(&note);
    }
}

fn who(hit: &Hit) -> String {
    let turn = &hit.turn;
    match (&turn.speaker, &turn.tool) {
        (Some(speaker), _) => print::safe_line(speaker),
        (None, Some(tool)) => format!("{} {}", kind_name(turn.kind), print::safe_line(tool)),
        _ => role_name(turn.role).to_owned(),
    }
}

/// Marks that survive wrapping: each marked word on its own.
fn marked(passage: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in passage.chars() {
        match c {
            snippet::MATCH_START => {
                inside = true;
                out.push(c);
            }
            snippet::MATCH_END => {
                inside = false;
                out.push(c);
            }
            ' ' if inside => out.push_str(&format!("{} {}", snippet::MATCH_END, snippet::MATCH_START)),
            c => out.push(c),
        }
    }
    out
}

fn painted(line: &str, paint: Paint) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(snippet::MATCH_START) {
        out.push_str(&print::safe(&rest[..start]));
        rest = &rest[start + 1..];
        let end = rest.find(snippet::MATCH_END).unwrap_or(rest.len());
        out.push_str(&paint.found(&print::safe(&rest[..end])));
        rest = rest.get(end + 1..).unwrap_or("");
    }
    out.push_str(&print::safe(rest));
    out
}

/// At most three lines of words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let visible = |s: &str| s.chars().filter(|c| !matches!(*c, snippet::MATCH_START | snippet::MATCH_END)).count();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && visible(last) + 1 + visible(word) > width {
            if lines.len() == 3 {
                lines[2].push('…');
                break;
            }
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

fn to_json(query: &str, found: &Searched, ms: f64) -> serde_json::Value {
    let plain = |p: &str| p.replace([snippet::MATCH_START, snippet::MATCH_END], "");
    let hits: Vec<_> = found
        .hits
        .iter()
        .map(|hit| {
            let turn = &hit.turn;
            json!({
                "turn": turn.id.to_string(),
                "session": turn.session.as_str(),
                "entry": turn.entry,
                "lane": turn.lane,
                "at": turn.at.map(rfc3339),
                "workspace": turn.workspace,
                "harness": turn.session.harness(),
                "role": role_name(turn.role),
                "kind": kind_name(turn.kind),
                "speaker": turn.speaker,
                "tool": turn.tool,
                "snippet": plain(&hit.passage),
                "matches": matches(&hit.passage),
                "score": (hit.score * 1000.0).round() / 1000.0,
                "why": {"matched": hit.matched, "of": hit.of, "beside": hit.beside.map(|t| t.to_string())},
                "resume": programs::resume(&turn.session, turn.cwd.as_deref()),
                "show": format!("heirloom show {}", turn.id),
            })
        })
        .collect();
    json!({
        "query": query,
        "looked_for": found.looked_for,
        "hits": hits,
        "too_frequent": found.too_frequent,
        "not_indexed": found.not_indexed,
        "degraded": found.cut_short || found.not_indexed > 0 || found.query_cut,
        "ms": (ms * 10.0).round() / 10.0,
    })
}

/// Where the matches stand in the plain snippet, in characters: `[start, end]`.
fn matches(passage: &str) -> Vec<[usize; 2]> {
    let (mut out, mut at, mut start) = (Vec::new(), 0, None);
    for c in passage.chars() {
        match c {
            snippet::MATCH_START => start = Some(at),
            snippet::MATCH_END => {
                if let Some(from) = start.take() {
                    out.push([from, at]);
                }
            }
            _ => at += 1,
        }
    }
    out
}

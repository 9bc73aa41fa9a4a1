//! `heirloom search`

use std::time::Instant;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::lineage::marks;
use heirloom_engine::recall::{self, FileFilter, FilesFound, Filter, Hit, Query, Searched, snippet};
use heirloom_engine::thread;
use heirloom_engine::transcript::{kind_name, read, role_name, role_parse};
use serde_json::json;

use super::explained::{self, Limits};
use super::notes::{self, Wanted};
use super::times::{self, Edge};
use super::understood::{self, Understood};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Find notes and turns: memory, open loops and other visible files; what people and models said, tool calls and results
///
/// Files come first, each with the line that answers, as it stands on disk now. Words are joined by OR and ranked; "a phrase" must occur as it stands; word* finds beginnings. Names with signs in
/// them (orders_test.rs, E0277) are looked for whole and in their parts. Times are understood, in English and German: "last week", "in May 2025" and "two weeks ago" bring what was said then forward; "since June", "before 2025", "between March and May" and 2025-05-03 leave everything else out, as long as something is found. A time alone finds what was said then. Nothing is a syntax error.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What to look for
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    /// How many hits, of files and of turns each
    #[arg(long, short = 'n', value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,

    /// Only in this project: its id, label or path (. is the current one)
    #[arg(long, value_name = "W")]
    workspace: Option<String>,

    /// Only in this thread: its key, a name, or what was merged into it (heirloom thread list). Of turns, those said in it;
    /// of files, its page and what is owed in it
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,

    /// Only from this program
    #[arg(long, value_name = "NAME", value_parser = ["claude-code", "codex", "opencode", "openclaw", "turns"])]
    harness: Option<String>,

    /// Only in the session named
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// Only what this role said
    #[arg(long, value_name = "ROLE", value_parser = ["user", "assistant", "tool", "system"])]
    role: Option<String>,

    /// Only this kind of file, or only turns; may be given more than once
    #[arg(long = "kind", value_name = "KIND", value_parser = notes::KINDS)]
    kinds: Vec<String>,

    /// Only memory of this class: preference, identity, fact, procedure, blocker, reference
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,

    /// Resolved loops and decided proposals, too
    #[arg(long)]
    archived: bool,

    /// Not before this time: 2026-11-21, 2026-11, yesterday, 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Not after this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Say how the query was understood, what each score is made of, and what was left out
    #[arg(long)]
    explain: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let started = Instant::now();
    let only_turns = args.session.is_some() || args.role.is_some() || args.harness.is_some();
    let wanted = Wanted::of(&args.kinds, only_turns, args.class.is_some(), args.archived)?;
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let now = context.now();
    let place = args.workspace.as_deref().map(|name| place(&context, agent_no, name, wanted.files)).transpose()?;
    let thread = args
        .thread
        .as_deref()
        .map(|name| {
            context.read(|tx| {
                let row = thread::named(tx, agent_no, name)?;
                Ok((thread::members(tx, row.no)?, row.key))
            })
        })
        .transpose()?;
    let limits = limits_of(&args, thread.as_ref().map(|(_, key)| key.as_str()));
    let filter = Filter {
        legs: recall::Legs::Fused,
        workspaces: place.as_ref().map(|p| p.numbers.clone()),
        harness: args.harness,
        sessions: args
            .session
            .as_deref()
            .map(|name| context.read(|tx| Ok(vec![read::session_named(tx, agent_no, name)?.no])))
            .transpose()?,
        threads: thread.as_ref().map(|(members, _)| members.clone()),
        role: args.role.as_deref().and_then(role_parse),
        since: args.since.as_deref().map(|t| times::parse(t, now, Edge::Since)).transpose()?,
        until: args.until.as_deref().map(|t| times::parse(t, now, Edge::Until)).transpose()?,
        limit: args.limit.into(),
        light: false,
    };
    if let (Some(since), Some(until)) = (filter.since, filter.until)
        && since > until
    {
        return Err(Error::usage("--since lies after --until"));
    }
    let looked = match wanted.files.then(|| context.look_at_assistant("cli search")) {
        // Pages out of reach must not keep anybody from what was said.
        Some(Err(e)) if wanted.turns && matches!(e.kind(), ErrorKind::Refused | ErrorKind::NotFound) => {
            print::note(&format!("notes were left out: {}", super::visible::out_of_reach(&e)));
            None
        }
        looked => looked.transpose()?.flatten(),
    };
    let at = looked.as_ref().map(|(at, _)| at);
    let mut index = context.instance().caught_up_index(at)?;
    let query = args.query.join(" ");
    let mut understood = understood::understand(&context, &query)?;
    let file_filter = FileFilter {
        kinds: wanted.kinds,
        class: args.class,
        workspaces: place.as_ref().map(|p| p.ids.clone()),
        threads: filter.threads.clone(),
        archived: args.archived,
        since: filter.since,
        until: filter.until,
        limit: filter.limit,
    };
    let mut look = |query: &Query| -> Result<(Searched, FilesFound)> {
        let mut found = Searched::default();
        let mut files = FilesFound::default();
        if let Some(at) = at {
            files = recall::search_files(at, &mut index, query, &file_filter)?;
            found.looked_for.clone_from(&files.looked_for);
            found.query_cut = files.query_cut;
        }
        if wanted.turns {
            found = recall::search(context.ledger(), &mut index, context.agent(), query, &filter)?;
        }
        Ok((found, files))
    };
    let (mut found, mut files) = look(&understood.query)?;
    // A time somebody remembers wrongly must not hide what there is.
    if found.hits.is_empty()
        && files.hits.is_empty()
        && let Some(wider) = understood.widen()
    {
        (found, files) = look(&wider)?;
    }
    if let Some(unknown) = place.and_then(|p| p.unknown)
        && files.hits.is_empty()
    {
        return Err(unknown);
    }
    if context.json {
        // People were told when the index was opened.
        found.less.extend(context.instance().without_model().map(|e| format!("by words only: {e}")));
    }
    if filter.threads.is_some() {
        let due = context.read(|tx| Ok(marks::counts(tx, now, Some(agent_no))?.0))?;
        if due > 0 {
            found.less.push(format!("{} not put into threads yet: heirloom work", print::counted(due, "session")));
        }
    }
    understood.widened |= found.other_times;
    found.cut_short |= files.cut_short;
    let ms = started.elapsed().as_secs_f64() * 1000.0;
    if global.json {
        let mut value = to_json(&query, &found, ms);
        value["understood"] = understood.to_json();
        value["files"] = json!(at.map(|at| notes::to_json(at, &files)).unwrap_or_default());
        value["files_not_indexed"] = json!(files.not_indexed);
        if args.explain {
            value["explain"] = explained::to_json(&understood, &found, &files, at, &limits);
        }
        print::line(&value.to_string());
    } else {
        if args.explain {
            explained::people(&understood, Some((&found, &files)), &limits);
        }
        notes::people(at, &files, !found.hits.is_empty(), args.explain);
        let asked = Asked { query: &query, understood: &understood, limits: &limits, now, explain: args.explain };
        people(&asked, &found, &files);
    }
    Ok(Exit::Ok)
}

/// What the options limit a search to, as they were given; a thread by its key.
fn limits_of(args: &Args, thread: Option<&str>) -> Limits {
    let kinds = (!args.kinds.is_empty()).then(|| args.kinds.join(", "));
    let given = [
        ("in project", args.workspace.clone()),
        ("in thread", thread.map(str::to_owned)),
        ("in program", args.harness.clone()),
        ("in session", args.session.clone()),
        ("said by", args.role.clone()),
        ("of kind", kinds),
        ("of class", args.class.clone()),
        ("since", args.since.clone()),
        ("until", args.until.clone()),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A project, as turns and as files know it.
struct Place {
    numbers: Vec<i64>,
    ids: Vec<String>,
    /// Nothing was said there; what is written there may be found all the same.
    unknown: Option<Error>,
}

fn place(context: &Context, agent_no: i64, name: &str, with_files: bool) -> Result<Place> {
    match workspaces(context, agent_no, name) {
        Ok(numbers) => {
            let all = context.read(|tx| read::workspaces(tx, agent_no))?;
            let ids = all.into_iter().filter(|w| numbers.contains(&w.no)).map(|w| w.id).collect();
            Ok(Place { numbers, ids, unknown: None })
        }
        Err(e) if with_files && e.kind() == ErrorKind::NotFound => match context.workspace_id(Some(name)) {
            Ok(id) => Ok(Place { numbers: Vec::new(), ids: vec![id], unknown: Some(e) }),
            Err(_) => Err(e),
        },
        Err(e) => Err(e),
    }
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
    context.read(|tx| match &project {
        Some(project) => read::workspace_named(tx, agent_no, &project.workspace_id).map_err(|_| {
            Error::not_found(format!("nothing is stored for the project {}", project.path.display()))
                .hint("see heirloom workspace list")
        }),
        None => read::workspace_named(tx, agent_no, name),
    })
}

/// A search as people asked for it.
struct Asked<'a> {
    query: &'a str,
    understood: &'a Understood,
    limits: &'a Limits,
    now: i64,
    explain: bool,
}

fn people(asked: &Asked, found: &Searched, files: &FilesFound) {
    let Asked { query, understood, now, explain, .. } = *asked;
    let paint = Paint::stdout();
    if found.hits.is_empty() && files.hits.is_empty() {
        print::line(&format!("Nothing found for {}.", print::safe_line(query)));
        let limits: Vec<String> =
            asked.limits.iter().map(|(name, value)| format!("{name} {}", print::safe_line(value))).collect();
        match limits.as_slice() {
            [] => print::line("Try fewer or other words, a beginning (migrat*), or heirloom timeline."),
            _ => print::line(&format!("Looked at only: {}. Without that there may be more.", limits.join(" · "))),
        }
    }
    let width = print::width();
    let mut resumed: Vec<&str> = Vec::new();
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
        passage(&hit.passage, width, paint);
        let why = match hit.beside {
            Some(beside) => format!("next to {beside}"),
            None if hit.of == 0 => String::new(),
            None if hit.matched == 0 && hit.trace.words > 0.0 => "a part of it".to_owned(),
            None if hit.matched == 0 && hit.cosine.is_some() => "near in meaning".to_owned(),
            None => format!("{} of {}", hit.matched, print::counted(hit.of as u64, "term")),
        };
        let mut foot = vec![format!("heirloom show {}", turn.id), why];
        foot.retain(|part| !part.is_empty());
        // Once a session: it is the longest thing on the screen and says the same each time.
        if !resumed.contains(&turn.session.as_str())
            && let Some(resume) = programs::resume(&turn.session, turn.cwd.as_deref())
        {
            resumed.push(turn.session.as_str());
            foot.push(format!("resume: {resume}"));
        }
        print::line(&format!("    {}", paint.dim(&foot.join(" · "))));
        if explain {
            print::line(&format!("    {}", paint.dim(&explained::line(hit.score, &hit.trace))));
        }
    }
    let mut notes: Vec<String> = understood.note().filter(|_| !explain).into_iter().collect();
    notes.extend(found.less.iter().map(|why| print::safe_line(why)));
    if !explain && !found.too_frequent.is_empty() {
        notes.push(format!("too frequent to help, left out: {}", print::safe_line(&found.too_frequent.join(", "))));
    }
    if files.not_indexed > 0 {
        notes.push(format!(
            "{} not searched yet: heirloom work",
            print::counted(files.not_indexed, "new or changed file")
        ));
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

/// A passage in at most three lines, its matches painted.
pub fn passage(passage: &str, width: usize, paint: Paint) {
    for line in wrap(&marked(passage), width.saturating_sub(4)) {
        print::line(&format!("    {}", painted(&line, paint)));
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
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
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
                "why": {"matched": hit.matched, "of": hit.of, "beside": hit.beside.map(|t| t.to_string()), "cosine": hit.cosine},
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
        "less": found.less,
        "degraded": found.cut_short || found.not_indexed > 0 || found.query_cut || !found.less.is_empty(),
        "ms": (ms * 10.0).round() / 10.0,
    })
}

/// A passage without its marks.
pub fn plain(passage: &str) -> String {
    passage.replace([snippet::MATCH_START, snippet::MATCH_END], "")
}

/// Where the matches stand in the plain snippet, in characters: `[start, end]`.
pub fn matches(passage: &str) -> Vec<[usize; 2]> {
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

//! `heirloom search`

use heirloom_engine::clock::Millis;
use heirloom_engine::engine::SearchRequest;
use heirloom_engine::error::Result;
use heirloom_engine::recall::{Hit, snippet};
use heirloom_engine::report::search::SearchReport;
use heirloom_engine::transcript::{kind_name, role_name, role_parse};

use super::explained::{self, Limits};
use super::notes;
use super::times::{self, Edge};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Find notes and turns: memory, open loops and other visible files; what people and models said, tool calls and results
///
/// Visible files come first, each with the line that answers, as it stands on disk now; pages rendered from files and
/// conversations come last. Hits with the same text are one hit. Words are joined by OR and ranked. "A phrase" alone
/// must occur as it stands; among other words it only ranks its matches higher. word* finds beginnings. Names with
/// signs in them (orders_test.rs, E0277) are looked for whole and in their parts; a word is found inside others (refund
/// in openRefundDialog, Vorlage in Rechnungsvorlage); emoji are words. Times are understood in English and German, the
/// most usual ones in French and Spanish: "last week", "in week 19", "on the 12th around 21:04", "vorgestern abend"
/// rank turns of that time higher; "since June", "before 2025", "vom 3. bis 5. Mai" and 2025-05-03 leave out everything
/// else, as long as something is found. A time alone finds what was said then. A question about what you said, asked,
/// wanted or decided ranks your words and the answers to them higher, and a question that names a project or a thread
/// ("in bluebird") ranks what was said there higher. No query is a syntax error.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Words to look for
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    /// Maximum number of hits, counted for files and turns separately
    #[arg(long, short = 'n', value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,

    /// Only in this project: its id, label or path (. is the current one)
    #[arg(long, value_name = "W")]
    workspace: Option<String>,

    /// Only in this thread: its key, a name, or a name of a thread merged into it (heirloom thread list). It finds the
    /// turns of the thread, its page and its open loops
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
    #[arg(long = "kind", value_name = "KIND", value_parser = SearchRequest::KINDS)]
    kinds: Vec<String>,

    /// Only memory of this class: preference, identity, fact, procedure, blocker, reference
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,

    /// Include resolved loops and decided proposals
    #[arg(long)]
    archived: bool,

    /// Not before this time: 2026-11-21, 2026-11, yesterday, 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Not after this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Print how the query was understood, how each score was computed, and what was left out
    #[arg(long)]
    explain: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let engine = context.acting_as("cli search");
    let now = engine.now();
    let request = SearchRequest {
        query: args.query.join(" "),
        class: args.class.clone(),
        archived: args.archived,
        workspace: args.workspace.clone(),
        thread: args.thread.clone(),
        harness: args.harness.clone(),
        session: args.session.clone(),
        role: args.role.as_deref().and_then(role_parse),
        since: args.since.as_deref().map(|t| times::parse(t, now, Edge::Since)).transpose()?,
        until: args.until.as_deref().map(|t| times::parse(t, now, Edge::Until)).transpose()?,
        limit: args.limit.into(),
        ..SearchRequest::default()
    }
    .of_kinds(&args.kinds)?;
    let limits = limits_of(&args);
    let mut report = engine.search(&request)?;
    if args.explain {
        report = report.explained(&limits);
    }
    if global.json {
        // People are told about a missing model when the index is opened; the JSON report carries the same note.
        report.less.extend(engine.without_model().map(|e| format!("by words only: {e}")));
        report.degraded |= !report.less.is_empty();
        print::report(&report);
        return Ok(Exit::Ok);
    }
    if args.explain {
        explained::people(&report.understood, Some(&report), &limits);
    }
    let any = notes::people(&report.files, ("Notes", false), args.explain);
    let more = report.files.iter().any(|found| found.rendered);
    if (any || more) && !report.hits.is_empty() {
        print::line(&Paint::stdout().dim("Conversations"));
    }
    people(&report, &limits, now, args.explain);
    // Pages come last: they repeat what conversations above say.
    notes::people(&report.files, ("Pages", true), args.explain);
    advise(&report, args.explain);
    Ok(Exit::Ok)
}

/// Returns the filters of a search as name and value, for the explanation and for the message when nothing is found.
fn limits_of(args: &Args) -> Limits {
    let kinds = (!args.kinds.is_empty()).then(|| args.kinds.join(", "));
    let given = [
        ("in project", args.workspace.clone()),
        ("in thread", args.thread.clone()),
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

fn people(report: &SearchReport, limits: &Limits, now: Millis, explain: bool) {
    let paint = Paint::stdout();
    if report.hits.is_empty() && report.files.is_empty() {
        print::line(&format!("Nothing found for {}.", print::safe_line(&report.query)));
        let limits: Vec<String> =
            limits.iter().map(|(name, value)| format!("{name} {}", print::safe_line(value))).collect();
        match limits.as_slice() {
            [] => print::line("Try fewer or other words, a beginning (migrat*), or heirloom timeline."),
            _ => print::line(&format!("Looked at only: {}. Without that there may be more.", limits.join(" · "))),
        }
    }
    let width = print::width();
    let mut resumed: Vec<&str> = Vec::new();
    for (n, found) in report.hits.iter().enumerate() {
        let hit = &found.hit;
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
        let others = match found.others.as_slice() {
            [] => String::new(),
            [one] => format!("{one} says the same"),
            [one, rest @ ..] => format!("{one} and {} more say the same", rest.len()),
        };
        let mut foot = vec![found.show.to_string(), why, others];
        foot.retain(|part| !part.is_empty());
        // The resume command is printed once per session, because it is long and always the same.
        if !resumed.contains(&found.session.as_str())
            && let Some(resume) = &found.resume
        {
            resumed.push(&found.session);
            foot.push(format!("resume: {resume}"));
        }
        print::line(&format!("    {}", paint.dim(&foot.join(" · "))));
        if explain {
            print::line(&format!("    {}", paint.dim(&explained::line(hit.score, &hit.trace))));
        }
    }
}

/// Prints notes on how times were understood and why results may be incomplete.
fn advise(report: &SearchReport, explain: bool) {
    let mut notes: Vec<String> = explained::note(&report.understood).filter(|_| !explain).into_iter().collect();
    notes.extend(report.less.iter().map(|why| print::safe_line(why)));
    if !explain && !report.too_frequent.is_empty() {
        notes.push(format!("too frequent to help, left out: {}", print::safe_line(&report.too_frequent.join(", "))));
    }
    for (n, what) in [(report.files_not_indexed, "new or changed file"), (report.not_indexed, "new turn")] {
        if n > 0 {
            notes.push(format!("{} not searched yet: heirloom work", print::counted(n, what)));
        }
    }
    if report.cut_short {
        notes.push("broken off after 5 seconds: name a project, a session or a time".into());
    }
    if report.query_cut {
        notes.push("the query is too long; only its beginning was used".into());
    }
    for note in notes {
        print::note(&note);
    }
}

/// Prints a passage in at most three lines, its matches highlighted.
pub fn passage(passage: &str, width: usize, paint: Paint) {
    for line in wrap(&marked(passage), width.saturating_sub(4), 3) {
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

/// Marks each matched word separately, so that marks survive line breaks.
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

/// Breaks a text into lines, at most `most`.
pub(super) fn wrap(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let visible = |s: &str| s.chars().filter(|c| !matches!(*c, snippet::MATCH_START | snippet::MATCH_END)).count();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let count = lines.len();
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && visible(last) + 1 + visible(word) > width {
            if count == most {
                last.push('…');
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

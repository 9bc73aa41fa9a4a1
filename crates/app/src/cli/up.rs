//! `heirloom up`: the first minute (R13.5).

use std::collections::BTreeSet;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::Result;
use heirloom_engine::render::memory::{self, Section, Tier1Line};
use heirloom_engine::transcript::read::{self, SessionFilter};
use heirloom_harness::HostPaths;
use serde_json::json;

use super::connect::{self, Ask};
use super::import::{self, Plan};
use super::report;
use crate::connection::{self, State, Target};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::{config, demo, programs, retention};

/// Find every session on this machine, import it, and say what is there
///
/// Looks for Claude Code, Codex, OpenCode and OpenClaw at their usual places, reads only what is new, and never changes
/// their files; then offers to connect each of them, as heirloom connect does. Running it again is cheap and changes
/// nothing.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Show it with sample sessions, in a throw-away home under the cache folder
    #[arg(long)]
    demo: bool,

    /// Connect every program that was found without asking
    #[arg(long, short, conflicts_with = "demo")]
    yes: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let paint = Paint::stdout();
    // Also for the demo: its samples lie below the user's cache folder, and nothing of theirs is read.
    let user_home = config::user_home().unwrap_or_default();
    let (global, host) = if args.demo {
        let demo = demo::write_out()?;
        (Global { home: Some(demo.home), ..global.clone() }, demo.host)
    } else {
        (global.clone(), config::host())
    };
    if !global.json {
        print::line("Looking for agent programs …");
    }
    let found = programs::look(&host, None);
    let rule = retention::claude_code(&host);
    let mut table = Vec::new();
    let mut programs_json = Vec::new();
    for f in &found {
        let title = f.harness.spec().title;
        let soon = match f.harness.spec().name {
            "claude-code" if !args.demo => retention::soon_deleted(&f.files, &rule),
            _ => 0,
        };
        programs_json.push(json!({
            "program": f.harness.spec().name, "root": f.root.as_ref().map(|r| r.display().to_string()),
            "stores": f.files.len(), "bytes": f.bytes, "soon_deleted": soon,
        }));
        table.push(match &f.root {
            None => vec![format!("  {title}"), "not found".into()],
            Some(root) => vec![
                format!("  {title}"),
                programs::tilde(root, &user_home),
                print::counted(
                    f.files.len() as u64,
                    if f.harness.foreign().is_some() { "store" } else { "session file" },
                ),
                print::bytes(f.bytes),
                if soon > 0 {
                    format!("{} will be deleted by {title} within {} days", print::count(soon), retention::SOON_DAYS)
                } else {
                    String::new()
                },
            ],
        });
    }
    if !global.json {
        print::out(&print::table(&table));
    }
    let anything = found.iter().any(|f| !f.files.is_empty());
    let mut plan = Plan::default();
    for f in found {
        plan.take(f);
    }
    if args.demo {
        plan.demo_turns(&host.home);
    }
    if !anything && !args.demo && Context::open(&global).is_err() {
        return nothing_here(&global, &programs_json, &host, args.yes);
    }
    let context = Context::create(&global)?;
    let done = import::import(&context, plan, if args.demo { "cli up --demo" } else { "cli up" })?;
    let agents = context.read(read::agents)?;
    let agent_no = context.read(|tx| read::agent_no(tx, context.agent()))?;
    let (totals, sessions) = context.read(|tx| match agent_no {
        Some(no) => Ok((read::totals(tx, no)?, read::sessions(tx, no, &SessionFilter::default())?)),
        None => Ok(Default::default()),
    })?;
    let threads = match agent_no {
        Some(no) => context.read(|tx| heirloom_engine::thread::list(tx, no))?.len() as u64,
        None => 0,
    };
    if global.json {
        let now: Vec<_> = worked_on(&context)?
            .iter()
            .map(|l| json!({"text": l.text, "reference": l.reference, "open": l.open}))
            .collect();
        let offered = if args.demo { Offered::default() } else { offer(&global, &host, args.yes)? };
        let value = json!({
            "threads": threads, "now": now,
            "home": context.home().root().display().to_string(), "programs": programs_json,
            "import": report::to_json(&done.totals, &done.problems, done.seconds),
            "stored": {"sessions": totals.sessions, "turns": totals.turns, "workspaces": totals.workspaces,
                       "source_bytes": totals.source_bytes, "first_at": totals.first_at.map(rfc3339),
                       "last_at": totals.last_at.map(rfc3339)},
            "connect": offered.programs,
        });
        print::line(&value.to_string());
        return Ok(worse(done.exit(), offered.exit));
    }
    print::line("");
    let t = &done.totals;
    if t.turns + t.records == 0 {
        print::line("Nothing new since the last time.");
    } else {
        print::line(&format!("Imported   {}", report::summary(t, done.seconds)));
    }
    let kept = match t.quarantined {
        0 => "every record kept byte for byte".to_owned(),
        n => format!(
            "every record kept byte for byte · {} set aside (heirloom show --quarantine)",
            print::counted(n, "damaged line")
        ),
    };
    print::line(&format!("           {kept}"));
    if !done.problems.is_empty() {
        done.print_problems();
    }
    print::line("");
    let used: BTreeSet<&str> = sessions.iter().map(|s| programs::title(&s.key)).collect();
    let span = match (totals.first_at, totals.last_at) {
        (Some(a), Some(b)) => format!(", {}", print::days(a, b)),
        _ => String::new(),
    };
    if totals.sessions == 0 {
        print::line("No sessions on this machine yet.");
    } else {
        print::line(&format!(
            "{}, {}, {} from {}{span}. Last worked on:",
            print::counted(totals.workspaces, "project"),
            print::counted(totals.sessions, "session"),
            print::counted(totals.turns, "turn"),
            used.into_iter().collect::<Vec<_>>().join(", "),
        ));
    }
    let now = context.now();
    let mut shown = BTreeSet::new();
    let mut rows = Vec::new();
    for s in &sessions {
        let label = s.workspace.clone().unwrap_or_else(|| "no project".into());
        if !shown.insert(label.clone()) || rows.len() >= 6 {
            continue;
        }
        rows.push(vec![
            format!("  {}", paint.accent(&print::cut(&print::safe_line(&label), 28))),
            print::cut(&last_words(&context, s)?, 60),
            print::when(s.last_at, now),
            programs::title(&s.key).to_owned(),
        ]);
    }
    print::out(&print::table(&rows));
    let open = worked_on(&context)?;
    if !open.is_empty() {
        print::line(&format!("\n{}. Now:", print::counted(threads, "thread")));
        let rows = open.iter().map(|l| {
            let text = print::safe_line(&heirloom_engine::redact::redact(&l.text.replace("**", "")));
            vec![format!("  {}", print::cut(&text, 84)), print::safe_line(l.reference.as_deref().unwrap_or_default())]
        });
        print::out(&print::table(&rows.collect::<Vec<_>>()));
    }
    let others: Vec<&str> = agents
        .iter()
        .filter(|a| a.agent != context.agent().as_str() && a.sessions > 0)
        .map(|a| a.agent.as_str())
        .collect();
    if !others.is_empty() {
        print::line(&format!("Other agents have memories of their own: {} (--agent ID)", others.join(", ")));
    }
    print::line("");
    let at = |what: &str, how: &str| print::line(&format!("{what:12} {how}"));
    let (home, example) = if args.demo {
        (format!("--home {} ", context.home().root().display()), "why did we drop redis")
    } else {
        (String::new(), "a word you remember")
    };
    if let Ok(at_home) = context.assistant("cli up") {
        let page = at_home.files.shown().join("MEMORY.md");
        at("Your memory", &format!("{}  (yours to edit)", programs::tilde(&page, &user_home)));
    }
    at("Search it", &format!("heirloom {home}search \"{example}\""));
    at("Read it", &format!("heirloom {home}timeline"));
    at("Check it", &format!("heirloom {home}verify"));
    at("It lives in", &context.home().root().display().to_string());
    if args.demo {
        print::line("\nThese were sample sessions. Your own: heirloom up");
        return Ok(done.exit());
    }
    let offered = offer(&global, &host, args.yes)?;
    if offered.open {
        at("Connect it", "heirloom connect  (shows what it would change, asks, and can undo it)");
    }
    Ok(worse(done.exit(), offered.exit))
}

/// What became of the offer to connect.
struct Offered {
    programs: Vec<serde_json::Value>,
    exit: Exit,
    /// Something could be connected, and nobody could be asked.
    open: bool,
}

impl Default for Offered {
    fn default() -> Offered {
        Offered { programs: Vec::new(), exit: Exit::Ok, open: false }
    }
}

/// Offers to connect the programs on this machine that are not: asks at a terminal, does it where that was said, else
/// touches nothing.
fn offer(global: &Global, host: &HostPaths, yes: bool) -> Result<Offered> {
    let (mut offered, mut told) = (Offered::default(), false);
    let how = match connection::installed(global) {
        Ok(how) => how,
        Err(e) => {
            print::note(&format!("No program can be connected: {e}"));
            return Ok(offered);
        }
    };
    for harness in connection::connectable().filter(|h| connection::is_here(*h, host)) {
        let state = Target::look(harness, host, &how).and_then(|target| target.state());
        let state = match state {
            Ok(State::Connected | State::Otherwise(_)) => "connected".to_owned(),
            _ if yes || connect::can_ask(global) => {
                if !told && !global.json {
                    print::line(
                        "\nFrom now on as it happens, and remembered in them (heirloom disconnect takes it back):",
                    );
                    told = true;
                }
                let ask = Ask { dry_run: false, yes, trust: false, diff: false, global };
                let outcome = connect::connect(harness, host, &how, &ask)?;
                if outcome.exit != Exit::Ok {
                    offered.exit = Exit::Problems;
                }
                outcome.json["state"].as_str().unwrap_or_default().to_owned()
            }
            _ => {
                offered.open = true;
                "not connected".to_owned()
            }
        };
        offered.programs.push(json!({"program": harness.spec().name, "state": state}));
    }
    Ok(offered)
}

fn worse(one: Exit, other: Exit) -> Exit {
    if one == Exit::Ok { other } else { one }
}

/// What is being worked on, as MEMORY.md says it.
fn worked_on(context: &Context) -> Result<Vec<Tier1Line>> {
    let Ok(at) = context.assistant("cli up") else { return Ok(Vec::new()) };
    let lines = at.read(|tx| memory::tier1(&at, tx))?;
    Ok(lines.into_iter().filter(|l| l.section == Section::Now && l.left_out.is_none()).take(6).collect())
}

fn nothing_here(global: &Global, programs: &[serde_json::Value], host: &HostPaths, yes: bool) -> Result<Exit> {
    if !global.json {
        print::line("\nNo sessions on this machine yet; nothing was stored.");
        print::line("See it with sample sessions:  heirloom up --demo");
        print::line("Import from elsewhere:        heirloom import PATH…");
    }
    let offered = offer(global, host, yes)?;
    if global.json {
        print::line(&json!({"programs": programs, "import": null, "connect": offered.programs}).to_string());
    } else if offered.open {
        print::line("Keep what comes:              heirloom connect");
    }
    Ok(offered.exit)
}

/// What a person last said in a session, or its title.
fn last_words(context: &Context, session: &read::SessionRow) -> Result<String> {
    let opener = heirloom_engine::ledger::blocks::Opener::default();
    let agent_no = context.agent_no()?;
    let prompt = context.read(|tx| {
        let runs = read::runs(tx, session.no)?;
        let last = runs.iter().rev().filter(|r| r.lane.is_empty()).find_map(|r| r.prompt);
        last.map(|id| read::turn(tx, &opener, agent_no, id)).transpose()
    })?;
    let words = prompt.filter(|t| t.role == heirloom_engine::event::Role::User).map(|t| t.text);
    let words = words.or_else(|| session.title.clone()).unwrap_or_default();
    Ok(print::safe_line(&heirloom_engine::redact::redact(&words)))
}

//! `heirloom up`: the first minute (R13.5).

use std::path::Path;

use heirloom_engine::clock::Millis;
use heirloom_engine::error::Result;
use heirloom_engine::redact::redact;
use heirloom_engine::report::import::Imported;
use heirloom_engine::report::status::{Lately, NowLine, Overview};
use heirloom_harness::HostPaths;
use serde::Serialize;

use super::connect::{self, Ask};
use super::import::{self, Plan};
use super::report;
use crate::connection::{self, State, Target};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::{config, demo, programs, retention};

/// Find every session on this machine, import it, and print a summary
///
/// Looks for Claude Code, Codex, OpenCode and OpenClaw at their usual places, reads only what is new, and never changes
/// their files; then offers to connect each of them, as heirloom connect does. Without sessions the memory is empty,
/// and ready for those that come. Running it again is cheap and changes nothing; a running service hands over to a new
/// build in its place.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Show this with sample sessions, in a temporary home under the cache folder
    #[arg(long)]
    demo: bool,

    /// Connect every program that was found without asking
    #[arg(long, short, conflicts_with = "demo")]
    yes: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
struct UpReport {
    #[serde(flatten)]
    overview: Overview,
    programs: Vec<ProgramFound>,
    import: Imported,
    connect: Vec<Offer>,
}

/// A program's sessions on this machine.
#[derive(Serialize)]
struct ProgramFound {
    program: &'static str,
    /// The folder that contains them, if it exists.
    root: Option<String>,
    stores: usize,
    bytes: u64,
    /// Number of sessions the program will soon delete.
    soon_deleted: u64,
}

/// Whether a program is connected.
#[derive(Serialize)]
struct Offer {
    program: &'static str,
    state: String,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    // The demo needs the user's home, too: its samples are in the cache folder there. No file of the user is read.
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
    let programs = programs_found(&found, &host, args.demo);
    if !global.json {
        let rows =
            found.iter().zip(&programs).map(|(found, program)| program_row(found, program.soon_deleted, &user_home));
        print::out(&print::table(&rows.collect::<Vec<_>>()));
    }
    let mut plan = Plan::default();
    for f in found {
        plan.take(f);
    }
    if args.demo {
        plan.demo_turns(&host.home);
    }
    let context = Context::create(&global)?;
    let engine = context.acting_as(if args.demo { "cli up --demo" } else { "cli up" });
    let done = plan.import(&engine)?;
    if !args.demo {
        // Hooks and commands of a new build do without a service of an older one.
        crate::service::hand_over(context.home());
    }
    let overview = engine.overview()?;
    let exit = import::exit(&done);
    let offer = || if args.demo { Ok(Offered::default()) } else { offer(&global, &host, args.yes) };
    if global.json {
        let offered = offer()?;
        print::report(&UpReport { overview, programs, import: done, connect: offered.programs });
        return Ok(worse(exit, offered.exit));
    }
    match overview.stored.sessions {
        0 if done.problems.is_empty() && done.set_aside == 0 => print::line(""),
        _ => imported(&done),
    }
    people(&overview, context.now());
    next_steps(&overview, args.demo, &user_home);
    let offered = offer()?;
    if !args.demo && !global.json && crate::service::look(context.home()).is_none() {
        step("By itself", "heirloom service install  (notices what is written as it is; nothing needs it)");
    }
    if offered.open {
        step("Connect it", "heirloom connect  (shows what it would change, asks, and can undo it)");
    }
    Ok(worse(exit, offered.exit))
}

fn programs_found(found: &[programs::Found], host: &HostPaths, is_demo: bool) -> Vec<ProgramFound> {
    let rule = retention::claude_code(host);
    let program = |f: &programs::Found| ProgramFound {
        program: f.harness.spec().name,
        root: f.root.as_ref().map(|root| root.display().to_string()),
        stores: f.files.len(),
        bytes: f.bytes,
        soon_deleted: match f.harness.spec().name {
            "claude-code" if !is_demo => retention::soon_deleted(&f.files, &rule),
            _ => 0,
        },
    };
    found.iter().map(program).collect()
}

fn program_row(found: &programs::Found, soon: u64, user_home: &Path) -> Vec<String> {
    let title = found.harness.spec().title;
    let Some(root) = &found.root else { return vec![format!("  {title}"), "not found".into()] };
    let store = if found.harness.foreign().is_some() { "store" } else { "session file" };
    let deleted = match soon {
        0 => String::new(),
        n => format!("{} will be deleted by {title} within {} days", print::count(n), retention::SOON_DAYS),
    };
    vec![
        format!("  {title}"),
        programs::tilde(root, user_home),
        print::counted(found.files.len() as u64, store),
        print::bytes(found.bytes),
        deleted,
    ]
}

/// Prints the result of the import.
fn imported(done: &Imported) {
    print::line("");
    if done.turns.new + done.records == 0 {
        print::line("Nothing new since the last time.");
    } else {
        print::line(&format!("Imported   {}", report::summary(done)));
    }
    let aside = match done.set_aside {
        0 => String::new(),
        n => format!(" · {} set aside (heirloom show --quarantine)", print::counted(n, "damaged line")),
    };
    print::line(&format!("           every record kept byte for byte{aside}"));
    report::incomplete(done);
    print::line("");
}

fn people(overview: &Overview, now: Millis) {
    let stored = &overview.stored;
    if stored.sessions == 0 {
        print::line("No sessions on this machine yet. The memory is ready for them.");
    } else {
        let span = stored.span().map_or(String::new(), |(first, last)| format!(", {}", print::days(first, last)));
        print::line(&format!(
            "{}, {}, {} from {}{span}. Last worked on:",
            print::counted(stored.workspaces, "project"),
            print::counted(stored.sessions, "session"),
            print::counted(stored.turns, "turn"),
            overview.programs.join(", "),
        ));
    }
    let row = |l: &Lately| {
        let project = print::safe_line(l.project.as_deref().unwrap_or("no project"));
        vec![
            format!("  {}", Paint::stdout().accent(&print::cut(&project, 28))),
            print::cut(&print::safe_line(&l.words), 60),
            print::when(l.at, now),
            l.program.clone(),
        ]
    };
    print::out(&print::table(&overview.lately.iter().map(row).collect::<Vec<_>>()));
    if !overview.now.is_empty() {
        print::line(&format!("\n{}. Now:", print::counted(overview.threads, "thread")));
        let row = |l: &NowLine| {
            let text = print::safe_line(&redact(&l.text.replace("**", "")));
            vec![format!("  {}", print::cut(&text, 84)), print::safe_line(l.reference.as_deref().unwrap_or_default())]
        };
        print::out(&print::table(&overview.now.iter().map(row).collect::<Vec<_>>()));
    }
    if !overview.others.is_empty() {
        print::line(&format!("Other agents have memories of their own: {} (--agent ID)", overview.others.join(", ")));
    }
    print::line("");
}

/// Prints possible next steps.
fn next_steps(overview: &Overview, is_demo: bool, user_home: &Path) {
    let (home, example) = if is_demo {
        (format!("--home {} ", overview.home), "why did we drop redis")
    } else {
        (String::new(), "a word you remember")
    };
    if let Some(pages) = &overview.pages {
        let page = programs::tilde(&pages.join("MEMORY.md"), user_home);
        step("Your memory", &format!("{page}  (yours to edit)"));
    }
    if overview.stored.sessions == 0 {
        step("See a sample", "heirloom up --demo");
        step("Elsewhere", "heirloom import PATH…");
    } else {
        step("Search it", &format!("heirloom {home}search \"{example}\""));
        step("Read it", &format!("heirloom {home}timeline"));
        step("Check it", &format!("heirloom {home}verify"));
    }
    step("It lives in", &overview.home);
    if is_demo {
        print::line("\nThese were sample sessions. Your own: heirloom up");
    }
}

fn step(what: &str, how: &str) {
    print::line(&format!("{what:12} {how}"));
}

/// The result of offering to connect programs.
struct Offered {
    programs: Vec<Offer>,
    exit: Exit,
    /// True if a program could be connected, but there was no person to ask.
    open: bool,
}

impl Default for Offered {
    fn default() -> Offered {
        Offered { programs: Vec::new(), exit: Exit::Ok, open: false }
    }
}

/// Offers to connect the programs on this machine that are not connected: with `yes` it connects them, at a terminal it
/// asks, otherwise it changes nothing.
fn offer(global: &Global, host: &HostPaths, yes: bool) -> Result<Offered> {
    let (mut offered, mut is_explained) = (Offered::default(), false);
    let how = match connection::installed(global) {
        Ok(how) => how,
        Err(e) => {
            print::note(&format!("No program can be connected: {e}"));
            return Ok(offered);
        }
    };
    for program in connection::hooked().filter(|program| program.is_here(host)) {
        let state = Target::look(program, host, &how).and_then(|target| target.state());
        let state = match state {
            Ok(State::Connected | State::Otherwise(_)) => "connected".to_owned(),
            _ if yes || connect::can_ask(global) => {
                if !is_explained && !global.json {
                    print::line(
                        "\nFrom now on as it happens, and remembered in them (heirloom disconnect takes it back):",
                    );
                    is_explained = true;
                }
                let ask = Ask { dry_run: false, yes, trust: false, diff: false, global };
                let outcome = connect::connect(program, host, &how, &ask)?;
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
        offered.programs.push(Offer { program: program.name(), state });
    }
    Ok(offered)
}

fn worse(one: Exit, other: Exit) -> Exit {
    if one == Exit::Ok { other } else { one }
}

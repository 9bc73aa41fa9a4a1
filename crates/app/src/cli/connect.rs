//! `heirloom connect` (R12.2)

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::home::{Home, HomeOptions};
use heirloom_harness::install::trust::Trusted;
use heirloom_harness::{HostPaths, claude_code};
use serde_json::{Value, json};

use crate::connection::{self, FileChange, Program, Record, State, Target};
use crate::context::Global;
use crate::error::{Exit, kind_name};
use crate::print::{self, Paint};
use crate::{config, programs};

/// Connect agent programs: they report their conversations to Heirloom and are given what it remembers
///
/// Shows the changes to a program's own settings, asks, and writes all of them or none. Everything you or others wrote
/// there stays as it is to the byte; `heirloom disconnect` removes the changes again. Running the command again changes
/// nothing. Without a terminal nothing is written unless --yes is given.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// claude-code, codex, opencode, openclaw; over MCP only: claude-desktop, cursor, gemini, vscode, zed [default: those
    /// on this machine]
    program: Vec<String>,

    /// Show the changes and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// Codex: also record that you trust these hooks; without it, open codex, type /hooks and trust them there
    #[arg(long)]
    trust: bool,

    /// Leave out MCP, over which a program can ask Heirloom by itself in addition to its hooks
    #[arg(long)]
    no_mcp: bool,

    /// Only MCP, without hooks
    #[arg(long, conflicts_with = "no_mcp")]
    mcp: bool,

    /// Claude Code: write the hooks as a plugin into this folder instead, for claude plugin marketplace add
    #[arg(long, value_name = "DIR")]
    plugin: Option<PathBuf>,
}

/// The result of connecting one program.
pub struct Outcome {
    pub json: Value,
    pub exit: Exit,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    if let Some(folder) = &args.plugin {
        return plugin(global, &args, folder);
    }
    let host = config::host();
    let programs = chosen(&args, &host)?;
    let how = connection::installed(global)?;
    let mut all = Vec::new();
    let mut exit = Exit::Ok;
    for program in programs {
        let ask = Ask { dry_run: args.dry_run, yes: args.yes, trust: args.trust, diff: true, global };
        let mut outcome = match program {
            // An error in one program's settings is reported for that program; the others are still connected.
            Program::Hooked(_) if !args.mcp => {
                connect(program, &host, &how, &ask).unwrap_or_else(|e| refused(program, None, &e, global))
            }
            _ => Outcome { json: json!({"program": program.name()}), exit: Exit::Ok },
        };
        if !args.no_mcp && outcome.exit == Exit::Ok {
            match Target::look_mcp(program, &host, &how) {
                Ok(Some(target)) => {
                    // The sentence that was printed for the hooks is not repeated.
                    let is_said = outcome.json["state"] == "connected";
                    let mcp = let_ask(target, &ask, is_said)?;
                    outcome.json["mcp"] = mcp.json;
                    outcome.exit = mcp.exit;
                }
                Ok(None) => {}
                Err(e) => outcome = refused(program, None, &e, global),
            }
        }
        // The first refusal decides the exit code of the command.
        exit = if exit == Exit::Ok { outcome.exit } else { exit };
        all.push(outcome.json);
    }
    if global.json {
        print::line(&json!({"programs": all}).to_string());
    } else if exit == Exit::Refused && !args.yes && !args.dry_run && !can_ask(global) {
        let names: String = args.program.iter().map(|name| format!(" {name}")).collect();
        let trust = if args.trust { " --trust" } else { "" };
        print::note(&format!(
            "Nothing was written: there is no terminal to ask at. To go on: heirloom connect{names} --yes{trust}"
        ));
    }
    Ok(exit)
}

/// Returns the programs named by the caller, or all that are installed on this machine.
fn chosen(args: &Args, host: &HostPaths) -> Result<Vec<Program>> {
    let has_something = |program: &Program| matches!(program, Program::Hooked(_)) || !args.no_mcp;
    if !args.program.is_empty() {
        let named = connection::named(&args.program)?;
        return match named.iter().find(|program| !has_something(program)) {
            Some(program) => {
                Err(Error::usage(format!("{} has no hooks of Heirloom's: it asks over MCP", program.title()))
                    .hint(format!("heirloom connect {}", program.name())))
            }
            None => Ok(named),
        };
    }
    let here: Vec<Program> =
        connection::connectable().filter(|program| program.is_here(host) && has_something(program)).collect();
    if here.is_empty() {
        return Err(Error::not_found("no agent program was found on this machine")
            .hint("start one once, or name it: heirloom connect claude-code"));
    }
    Ok(here)
}

/// The options for asking the user, and for showing the changes first.
pub struct Ask<'g> {
    pub dry_run: bool,
    pub yes: bool,
    pub trust: bool,
    /// Show the changes line by line.
    pub diff: bool,
    pub global: &'g Global,
}

/// Shows the changes, asks, and connects one program. If its files or its user prevent that, the outcome says so.
pub fn connect(
    program: Program,
    host: &HostPaths,
    how: &heirloom_harness::install::Installed,
    ask: &Ask,
) -> Result<Outcome> {
    let record = record(ask.global);
    let target = match Target::look(program, host, how) {
        Ok(target) => target,
        Err(e) => return Ok(refused(program, None, &e, ask.global)),
    };
    let changes = match target.connect(&record, ask.trust) {
        Ok(changes) => changes,
        Err(e) => return Ok(refused_of(program, Some(&target), &e, ask.global, ask.trust)),
    };
    let title = program.title();
    let paint = Paint::stdout();
    let loud = !ask.global.json;
    if changes.is_empty() {
        let how = match target.state()? {
            State::Otherwise(how) => how,
            _ => "already connected",
        };
        if loud {
            print::line(&format!("{}: {how}", paint.bold(title)));
            say_trust(&target)?;
        }
        return Ok(outcome(&target, "already connected", &[], Exit::Ok));
    }
    if loud {
        print::line(&paint.bold(title));
        show(&changes, ask.diff && !ask.yes);
        if !target.plan.permits.is_empty() {
            print::line(&format!("  This lets Heirloom {}.", target.plan.permits.join(", and ")));
        }
    }
    if ask.dry_run {
        return Ok(outcome(&target, "would be connected", &changes, Exit::Ok));
    }
    if !ask.yes && !can_ask(ask.global) {
        return Ok(outcome(&target, "not connected", &changes, Exit::Refused));
    }
    if !ask.yes && !confirm(&format!("Connect {title}?")) {
        print::line("  left as it is");
        return Ok(outcome(&target, "not connected", &changes, Exit::Ok));
    }
    if let Err(e) = target.apply(&home(ask.global)?, &changes) {
        return Ok(refused(program, Some(&target), &e, ask.global));
    }
    let target = Target::look(program, host, how)?;
    if loud {
        print::line(&format!("  connected; {}", target.plan.then));
        say_trust(&target)?;
        say_obstacle(&target);
    }
    Ok(outcome(&target, "connected", &changes, Exit::Ok))
}

/// Adds Heirloom as an MCP server to a program's settings, unless its files or its user prevent that. `is_said`: whether
/// it has been said just now when changes of this program take effect.
fn let_ask(target: Target, ask: &Ask, is_said: bool) -> Result<Outcome> {
    let of = |state: &str, changes: &[FileChange], exit: Exit| Outcome {
        json: json!({"state": state, "files": files_json(changes)}),
        exit,
    };
    let program = target.program;
    let title = program.title();
    let loud = !ask.global.json;
    let is_all = matches!(program, Program::Asking(_));
    let changes = match target.connect(&record(ask.global), false) {
        Ok(changes) => changes,
        Err(e) if is_all => return Ok(refused(program, Some(&target), &e, ask.global)),
        Err(e) => {
            // The hooks work without MCP: an unreadable MCP settings file does not fail the command.
            if loud {
                print::note(&format!("  {title} is not offered MCP: {e}"));
                if is_by_hand(&e) {
                    show_by_hand(&target.by_hand(false));
                }
            }
            return Ok(of("refused", &[], Exit::Ok));
        }
    };
    if changes.is_empty() {
        if loud && is_all {
            print::line(&format!("{}: already connected", Paint::stdout().bold(title)));
        }
        return Ok(of("already connected", &[], Exit::Ok));
    }
    if loud {
        if is_all {
            print::line(&Paint::stdout().bold(title));
        }
        show(&changes, ask.diff && !ask.yes);
    }
    if ask.dry_run {
        return Ok(of("would be connected", &changes, Exit::Ok));
    }
    if !ask.yes && !can_ask(ask.global) {
        return Ok(of("not connected", &changes, Exit::Refused));
    }
    if !ask.yes && !confirm(&format!("Let {title} ask Heirloom by itself (MCP)?")) {
        print::line("  left as it is");
        return Ok(of("not connected", &changes, Exit::Ok));
    }
    if let Err(e) = target.apply(&home(ask.global)?, &changes) {
        if is_all {
            return Ok(refused(program, Some(&target), &e, ask.global));
        }
        if loud {
            print::note(&format!("  {title} is not offered MCP: {e}"));
        }
        return Ok(of("refused", &changes, Exit::of(&e)));
    }
    if loud {
        match is_said {
            true => print::line("  can ask by itself, too"),
            false => print::line(&format!("  can ask by itself; {}", target.plan.then)),
        }
    }
    Ok(of("connected", &changes, Exit::Ok))
}

/// Returns the record of changes from the home; empty if there is no home.
pub fn record(global: &Global) -> Record {
    let at = config::home(global.home.as_deref());
    let options = HomeOptions { allow_network_fs: config::allow_network_fs() };
    at.and_then(|at| Home::open_with(&at.value, &options)).map(|home| Record::load(&home)).unwrap_or_default()
}

/// Opens the home, which stores the record of changes; creates it if there is none.
pub fn home(global: &Global) -> Result<Home> {
    let at = config::home(global.home.as_deref())?;
    Home::create_with(&at.value, &HomeOptions { allow_network_fs: config::allow_network_fs() })
}

/// Lists changes; with `diff`, every changed line.
pub fn show(changes: &[FileChange], diff: bool) {
    let user = config::user_home().unwrap_or_default();
    for change in changes {
        print::line(&format!("  {}  {}", programs::tilde(&change.path, &user), change.meaning));
        if diff {
            for line in change.diff().lines() {
                let paint = Paint::stdout();
                let line = match line.as_bytes().first() {
                    Some(b'+') => paint.accent(line),
                    Some(b'-') => paint.warn(line),
                    _ => line.to_owned(),
                };
                print::line(&format!("    {line}"));
            }
        }
    }
}

/// Returns the changes as JSON.
pub fn files_json(changes: &[FileChange]) -> Vec<Value> {
    let one = |c: &FileChange| json!({"path": c.path.display().to_string(), "change": c.kind(), "meaning": c.meaning, "diff": c.diff()});
    changes.iter().map(one).collect()
}

/// Returns the result for a program whose files were not changed, with the reason.
pub fn refused(program: Program, target: Option<&Target>, e: &Error, global: &Global) -> Outcome {
    refused_of(program, target, e, global, false)
}

/// [`refused`] where the user's trust was to be written, too.
fn refused_of(program: Program, target: Option<&Target>, e: &Error, global: &Global, trust: bool) -> Outcome {
    // A file with a syntax error, a concurrent save or a full disk: the user has to act first.
    let by_hand = target.filter(|_| is_by_hand(e)).map(|target| target.by_hand(trust)).unwrap_or_default();
    if !global.json {
        print::line(&format!("{}: nothing was changed", Paint::stdout().bold(program.title())));
        print::note(&format!("  {e}"));
        if let Some(next) = e.next_step() {
            print::note(&format!("  {next}"));
        }
        show_by_hand(&by_hand);
    }
    let by_hand: Vec<Value> =
        by_hand.iter().map(|(p, t)| json!({"path": p.display().to_string(), "text": t})).collect();
    let json = json!({
        "program": program.name(), "state": "refused", "files": [], "permits": [], "trust": null, "then": null,
        "refused": {"kind": kind_name(e.kind()), "what": e.to_string(), "next": e.next_step(), "by_hand": by_hand},
    });
    Outcome { json, exit: Exit::of(e) }
}

/// Whether a person may still do by hand what Heirloom may not.
fn is_by_hand(e: &Error) -> bool {
    e.was_caused_by::<connection::ByHand>()
}

fn show_by_hand(by_hand: &[(PathBuf, String)]) {
    for (path, text) in by_hand {
        print::line(&format!("  By hand, into {}:", path.display()));
        for line in text.lines() {
            print::line(&format!("    {line}"));
        }
    }
}

fn outcome(target: &Target, state: &str, changes: &[FileChange], exit: Exit) -> Outcome {
    let trust = target.trusted().ok().flatten().map(trust_word);
    let json = json!({
        "program": target.program.name(), "state": state, "files": files_json(changes),
        "permits": target.plan.permits, "trust": trust, "then": target.plan.then, "refused": null,
    });
    Outcome { json, exit }
}

/// Returns the name of a trust state in JSON.
pub fn trust_word(trust: Trusted) -> &'static str {
    match trust {
        Trusted::Yes => "trusted",
        Trusted::Modified => "modified",
        Trusted::No => "untrusted",
        Trusted::Off => "off",
    }
}

/// Prints the remaining step for the user if the program still needs their trust in the hooks.
fn say_trust(target: &Target) -> Result<()> {
    let title = target.program.title();
    match target.trusted()? {
        None | Some(Trusted::Yes) => {}
        Some(Trusted::Off) => print::line(&format!("  {title} has some of these hooks switched off; see /hooks there")),
        Some(Trusted::No | Trusted::Modified) => print::line(&format!(
            "  {title} runs them once you trust them: open codex, type /hooks and trust Heirloom's, or run \
             heirloom connect codex --trust"
        )),
    }
    Ok(())
}

fn say_obstacle(target: &Target) {
    if let Some((what, next)) = target.obstacle() {
        print::note(&format!("  but {what}: {next}"));
    }
    if let Some((what, next)) = target.remark() {
        print::note(&format!("  {what}: {next}"));
    }
}

/// Returns whether a person can be asked: input and output are a terminal, and JSON was not requested.
pub fn can_ask(global: &Global) -> bool {
    !global.json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks a question; any answer but yes counts as no.
pub fn confirm(question: &str) -> bool {
    print::out(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Writes Claude Code's hooks as a plugin folder, in the layout of its marketplaces.
fn plugin(global: &Global, args: &Args, folder: &Path) -> Result<Exit> {
    let is_claude = |program: &Program| program.name() == "claude-code";
    if !connection::named(&args.program)?.iter().all(is_claude) || args.trust {
        return Err(Error::usage("only Claude Code takes its hooks as a plugin folder")
            .hint("heirloom connect claude-code --plugin DIR"));
    }
    let folder = std::path::absolute(folder).map_err(|e| Error::io("find", folder, e))?;
    let how = connection::installed(global)?;
    let files = claude_code::install::plugin(&how, env!("CARGO_PKG_VERSION"));
    // Files we wrote earlier may be replaced; all others belong to the user.
    let is_ours = |text: &str| text.contains("\"heirloom\"") || text.contains("heirloom hook claude-code ");
    let home = if args.dry_run { None } else { Some(home(global)?) };
    let changed = connection::own_folder(home.as_ref(), &config::host().home, &folder, &files, is_ours)?;
    let quoted = programs::quoted(&folder.display().to_string());
    let then =
        [format!("claude plugin marketplace add {quoted}"), "claude plugin install heirloom@heirloom".to_owned()];
    if global.json {
        let files: Vec<String> = changed.iter().map(|p| p.display().to_string()).collect();
        print::line(&json!({"plugin": folder.display().to_string(), "written": files, "then": then}).to_string());
        return Ok(Exit::Ok);
    }
    for path in &changed {
        print::line(&format!("{}  {}", if args.dry_run { "would write" } else { "wrote" }, path.display()));
    }
    if changed.is_empty() {
        print::line("The plugin is there already.");
    }
    print::line("To install it:");
    then.iter().for_each(|command| print::line(&format!("  {command}")));
    Ok(Exit::Ok)
}

//! The command line: one file per command, each with its arguments (whose comments are the help) and a `run`.

mod agent;
mod append;
mod artifact;
mod audit;
mod backup;
mod channel;
mod compact;
mod completions;
mod connect;
mod context;
mod disconnect;
mod doctor;
mod draft;
mod embed;
mod evolve;
mod expand;
mod explained;
mod export;
mod files;
mod forget;
mod head;
pub mod hook;
mod import;
mod job;
mod judge;
mod mcp;
mod memory;
mod model;
mod notes;
mod noticed;
mod open_loop;
mod profile;
mod proposal;
mod recall;
mod reindex;
mod remember;
mod report;
mod restore;
mod review;
mod run;
mod search;
mod serve;
mod service;
mod session;
mod show;
mod shown;
mod skill;
mod speed;
mod status;
mod thread;
mod timeline;
mod times;
mod token;
mod ui;
mod up;
mod verify;
mod visible;
mod work;
mod workspace;

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use heirloom_engine::error::Result;

use crate::context::Global;
use crate::error::Exit;

/// One memory under Claude Code, Codex, OpenCode and OpenClaw: every conversation kept byte for byte and found again in
/// milliseconds, what is owed and known as files you can edit; on this machine only.
///
/// Exit codes: 0 ok · 1 found problems · 2 usage · 3 refused · 4 not found · 5 damaged · 75 busy
#[derive(Parser, Debug)]
#[command(name = "heirloom", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    command: Command,
}

/// The frequent commands, with the same definitions as in [`Cli`]. Building the parser for all commands takes a tenth
/// of the time of a search.
#[derive(Parser, Debug)]
#[command(name = "heirloom", disable_help_subcommand = true)]
struct Frequent {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: FrequentCommand,
}

#[derive(Subcommand, Debug)]
enum FrequentCommand {
    Search(search::Args),
    Recall(recall::Args),
    Show(show::Args),
}

/// Parses the arguments. Only frequent commands and the question for the version use a small parser; help, usage errors
/// and all other commands go to the full one.
pub fn parse(arguments: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    let names = ["search", "recall", "show"];
    if arguments.iter().skip(1).any(|argument| names.iter().any(|name| argument == name))
        && let Ok(Frequent { global, command }) = Frequent::try_parse_from(arguments)
    {
        let command = match command {
            FrequentCommand::Search(args) => Command::Search(args),
            FrequentCommand::Recall(args) => Command::Recall(args),
            FrequentCommand::Show(args) => Command::Show(args),
        };
        return Ok(Cli { global, command });
    }
    // Programs that look for this one ask it for its version.
    if let [_, option] = arguments
        && (option == "--version" || option == "-V")
    {
        let alone = clap::Command::new("heirloom").version(env!("CARGO_PKG_VERSION"));
        // The answer is an error of the parser, as its help is.
        alone.try_get_matches_from(arguments)?;
    }
    Cli::try_parse_from(arguments)
}

/// The comment of each command's arguments is its help.
#[derive(Subcommand, Debug)]
enum Command {
    Up(up::Args),
    Import(import::Args),
    Append(append::Args),
    Connect(connect::Args),
    Disconnect(disconnect::Args),
    Run(run::Args),
    Search(search::Args),
    Recall(recall::Args),
    Show(show::Args),
    Expand(expand::Args),
    Timeline(timeline::Args),
    Remember(remember::Args),
    Memory(memory::Args),
    Review(review::Args),
    Evolve(evolve::Args),
    Skill(skill::Args),
    Judge(judge::Args),
    Proposal(proposal::Args),
    Loop(open_loop::Args),
    Compact(compact::Args),
    Context(context::Args),
    Head(head::Args),
    Hook(hook::Args),
    Mcp(mcp::Args),
    Serve(serve::Args),
    Service(service::Args),
    Ui(ui::Args),
    Profile(profile::Args),
    Artifact(artifact::Args),
    Job(job::Args),
    Channel(channel::Args),
    Draft(draft::Args),
    Status(status::Args),
    Doctor(doctor::Args),
    Export(export::Args),
    Forget(forget::Args),
    Verify(verify::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Session(session::Args),
    Thread(thread::Args),
    Workspace(workspace::Args),
    Agent(agent::Args),
    Audit(audit::Args),
    Token(token::Args),
    Reindex(reindex::Args),
    Embed(embed::Args),
    Model(model::Args),
    Work(work::Args),
    Completions(completions::Args),
}

/// Runs the command.
pub fn run(cli: Cli) -> Result<Exit> {
    let global = &cli.global;
    match cli.command {
        Command::Up(args) => up::run(global, args),
        Command::Import(args) => import::run(global, args),
        Command::Append(args) => append::run(global, args),
        Command::Connect(args) => connect::run(global, args),
        Command::Disconnect(args) => disconnect::run(global, args),
        Command::Run(args) => run::run(global, args),
        Command::Search(args) => search::run(global, args),
        Command::Recall(args) => recall::run(global, args),
        Command::Show(args) => show::run(global, args),
        Command::Expand(args) => expand::run(global, args),
        Command::Timeline(args) => timeline::run(global, args),
        Command::Remember(args) => remember::run(global, args),
        Command::Memory(args) => memory::run(global, args),
        Command::Review(args) => review::run(global, args),
        Command::Evolve(args) => evolve::run(global, args),
        Command::Skill(args) => skill::run(global, args),
        Command::Judge(args) => judge::run(global, args),
        Command::Proposal(args) => proposal::run(global, args),
        Command::Profile(args) => profile::run(global, args),
        Command::Loop(args) => open_loop::run(global, args),
        Command::Compact(args) => compact::run(global, args),
        Command::Context(args) => context::run(global, args),
        Command::Head(args) => head::run(global, args),
        Command::Hook(args) => hook::run(global, &args),
        Command::Mcp(args) => mcp::run(global, args),
        Command::Serve(args) => serve::run(global, args),
        Command::Service(args) => service::run(global, args),
        Command::Ui(args) => ui::run(global, args),
        Command::Artifact(args) => artifact::run(global, args),
        Command::Job(args) => job::run(global, args),
        Command::Channel(args) => channel::run(global, args),
        Command::Draft(args) => draft::run(global, args),
        Command::Status(args) => status::run(global, args),
        Command::Doctor(args) => doctor::run(global, args),
        Command::Export(args) => export::run(global, args),
        Command::Forget(args) => forget::run(global, args),
        Command::Verify(args) => verify::run(global, args),
        Command::Backup(args) => backup::run(global, args),
        Command::Restore(args) => restore::run(global, args),
        Command::Session(args) => session::run(global, args),
        Command::Thread(args) => thread::run(global, args),
        Command::Workspace(args) => workspace::run(global, args),
        Command::Agent(args) => agent::run(global, args),
        Command::Audit(args) => audit::run(global, args),
        Command::Token(args) => token::run(global, args),
        Command::Reindex(args) => reindex::run(global, args),
        Command::Embed(args) => embed::run(global, args),
        Command::Model(args) => model::run(global, args),
        Command::Work(args) => work::run(global, args),
        Command::Completions(args) => completions::run(global, args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_commands_are_parsed_as_by_the_whole_parser() {
        let calls = [
            "search why redis",
            "--json search redis --limit 3 --explain",
            "search --home /h redis --agent a",
            "--home search search redis",
            "--home search status",
            "recall what --deep --session s",
            "show t30 -C 3 --json",
            "search",
            "search --limit nothing",
            "search redis --no-such-option",
            "search --help",
            "show --version",
            "--version",
            "-V",
            "--version --json",
            "status search",
            "loop add search",
            "recall show",
        ];
        for call in calls {
            let words: Vec<OsString> = std::iter::once("heirloom").chain(call.split(' ')).map(OsString::from).collect();
            let (whole, few) = (Cli::try_parse_from(&words), parse(&words));
            let said = |parsed: std::result::Result<Cli, clap::Error>| match parsed {
                Ok(cli) => format!("{cli:?}"),
                Err(e) => format!("{:?}: {e}", e.kind()),
            };
            assert_eq!(said(few), said(whole), "{call}");
        }
    }
}

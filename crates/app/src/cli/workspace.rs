//! `heirloom workspace`

use heirloom_engine::error::Result;
use heirloom_engine::transcript::workspaces::WorkspaceRow;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Projects: list them, join a moved one to its history
///
/// A repository with its worktrees and subfolders is one project; two folders with the same name are different
/// projects.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List all projects
    List,
    /// Record that a project has moved: sessions of OLD now belong to NEW
    Alias {
        /// Id or path of the old place
        #[arg(value_name = "OLD")]
        old: String,
        /// Id or path of the new place; it must already have a stored session
        #[arg(value_name = "NEW")]
        new: String,
    },
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List => list(global),
        Command::Alias { old, new } => alias(global, &old, &new),
    }
}

fn list(global: &Global) -> Result<Exit> {
    let context = Context::open(global)?;
    let report = context.projects()?;
    Ok(print::answer(global.json, &report, || {
        if report.workspaces.is_empty() {
            print::line("No projects yet.");
        }
        let now = context.now();
        let row = |w: &WorkspaceRow| {
            vec![
                print::safe_line(&w.label),
                print::counted(w.sessions, "session"),
                print::when(w.last_at, now),
                w.id.clone(),
                print::safe_line(&w.root.display().to_string()),
                w.alias_of.as_ref().map_or(String::new(), |id| format!("now {id}")),
            ]
        };
        print::out(&print::table(&report.workspaces.iter().map(row).collect::<Vec<_>>()));
    }))
}

fn alias(global: &Global, old: &str, new: &str) -> Result<Exit> {
    let joined = Context::open(global)?.acting_as("cli workspace").join_project(old, new)?;
    Ok(print::answer(global.json, &joined, || print::line(&format!("{old} now counts as {new}."))))
}

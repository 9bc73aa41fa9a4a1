//! `heirloom draft`

use heirloom_engine::continuity::draft::{self, Draft, Form};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::drafts::DiscardedReport;

use super::open_loop::print_items;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Drafts: files that programs left in runtime/ for you to keep or to delete
///
/// A draft is never part of the memory. A promoted draft becomes an artifact.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List drafts, by name
    List,
    /// Turn drafts into artifacts
    Promote {
        /// Drafts, as listed: HARNESS/FILE
        #[arg(value_name = "FILE", required = true)]
        files: Vec<String>,
        /// Title of the artifact [default: the file's name]
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
    },
    /// Delete drafts
    Discard {
        /// Drafts, as listed: HARNESS/FILE
        #[arg(value_name = "FILE", required = true)]
        files: Vec<String>,
    },
}

const ACTOR: &str = "cli draft";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List => list(global),
        Command::Promote { files, title } => {
            if title.is_some() && files.len() > 1 {
                return Err(Error::usage("one title for several drafts").hint("promote them one by one"));
            }
            let engine = Context::open(global)?.acting_as(ACTOR);
            let (items, failed) = engine.act(|lock| Ok(draft::promote_all(lock, &files, title.as_deref())))?;
            match failed {
                // The drafts removed before the error are reported to people; JSON has room for the error only.
                Some(e) if global.json => Err(e),
                Some(e) => {
                    print_items(global, &items, "Kept");
                    Err(e)
                }
                None => Ok(print_items(global, &items, "Kept")),
            }
        }
        Command::Discard { files } => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            // No page shows drafts, so nothing is rendered afterwards.
            let at = engine.assistant()?;
            let lock = at.lock()?;
            for file in &files {
                draft::discard(&lock, file)?;
                if !global.json {
                    print::line(&format!("Deleted: {}", print::safe_line(file)));
                }
            }
            if global.json {
                print::report(&DiscardedReport { discarded: files });
            }
            Ok(Exit::Ok)
        }
    }
}

fn list(global: &Global) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let report = engine.drafts()?;
    let exit = if report.problems.is_empty() { Exit::Ok } else { Exit::Problems };
    if global.json {
        print::report(&report);
        return Ok(exit);
    }
    if report.drafts.is_empty() {
        print::line("No drafts.");
    }
    let now = engine.now();
    let row = |d: &Draft| {
        let form = match d.form {
            Form::Binary => "binary, cannot be promoted",
            Form::Large => "too long to be promoted",
            other => other.name(),
        };
        vec![print::safe_line(&d.name), print::bytes(d.size), print::when(Some(d.modified_at), now), form.to_owned()]
    };
    print::out(&print::table(&report.drafts.iter().map(row).collect::<Vec<_>>()));
    for problem in &report.problems {
        print::note(&format!("{}: {}", problem.place, problem.what));
    }
    Ok(exit)
}

//! `heirloom draft`

use heirloom_engine::continuity::draft::{self, Draft, Form};
use heirloom_engine::error::{Error, Result};
use serde_json::{Value, json};

use super::open_loop::print_items;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Drafts: what programs left in runtime/ for you to keep or to throw away
///
/// A draft is never part of the memory. Promoted, it becomes an artifact.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// What was left, by name
    List,
    /// Make artifacts of drafts
    Promote {
        /// Drafts, as listed: HARNESS/FILE
        #[arg(value_name = "FILE", required = true)]
        files: Vec<String>,
        /// What the artifact is called [default: the file's name]
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
            let context = Context::open(global)?;
            let at = context.assistant(ACTOR)?;
            let (mut items, mut failed) = (Vec::new(), None);
            {
                let lock = at.lock()?;
                for file in &files {
                    match draft::promote(&lock, file, title.as_deref()) {
                        Ok(item) => items.push(item),
                        Err(e) => {
                            failed = Some(e);
                            break;
                        }
                    }
                }
            }
            context.instance().settle(&at);
            match failed {
                // What was done before it is said where the error leaves room for it.
                Some(e) if global.json => Err(e),
                Some(e) => print_items(global, &items, "Kept").and(Err(e)),
                None => print_items(global, &items, "Kept"),
            }
        }
        Command::Discard { files } => {
            let context = Context::open(global)?;
            let at = context.assistant(ACTOR)?;
            let lock = at.lock()?;
            for file in &files {
                draft::discard(&lock, file)?;
                if !global.json {
                    print::line(&format!("Deleted: {}", print::safe_line(file)));
                }
            }
            if global.json {
                print::line(&json!({"discarded": files}).to_string());
            }
            Ok(Exit::Ok)
        }
    }
}

fn list(global: &Global) -> Result<Exit> {
    let context = Context::open(global)?;
    let (drafts, problems) = match context.look_at_assistant(ACTOR)? {
        Some((at, _)) => draft::list(&at)?,
        None => (Vec::new(), Vec::new()),
    };
    if global.json {
        let one =
            |d: &Draft| json!({"draft": d.name, "form": d.form.name(), "bytes": d.size, "modified_at": d.modified_at});
        let list: Vec<Value> = drafts.iter().map(one).collect();
        let problems: Vec<Value> = problems.iter().map(|p| json!({"place": p.place, "what": p.what})).collect();
        print::line(&json!({"drafts": list, "problems": problems}).to_string());
        return Ok(if problems.is_empty() { Exit::Ok } else { Exit::Problems });
    }
    if drafts.is_empty() {
        print::line("No drafts.");
    }
    let now = context.now();
    let row = |d: &Draft| {
        let form = match d.form {
            Form::Binary => "binary, cannot be promoted".to_owned(),
            Form::Large => "too long to be promoted".to_owned(),
            other => other.name().to_owned(),
        };
        vec![print::safe_line(&d.name), print::bytes(d.size), print::when(Some(d.modified_at), now), form]
    };
    print::out(&print::table(&drafts.iter().map(row).collect::<Vec<_>>()));
    for problem in &problems {
        print::note(&problem.to_string());
    }
    Ok(if problems.is_empty() { Exit::Ok } else { Exit::Problems })
}

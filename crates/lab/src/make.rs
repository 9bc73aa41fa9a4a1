//! `heirloom-lab make`: makes a synthetic home that is kept, for people who want to look at it or measure something
//! else.

use std::path::{Path, PathBuf};

use heirloom_engine::clock::Clock;
use heirloom_engine::error::{Error, Result};
use serde_json::{Value, json};

use crate::home::LabHome;
use crate::sources::Sources;
use crate::story::Story;
use crate::{make_dir, print, synthetic};

/// Make a synthetic home that is kept: its session files, and the home they were imported into
///
/// The same size gives the same words on every machine.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Folder to write to, empty or new. It gets `sessions` and `home`
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Number of turns
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    turns: u64,

    /// Kind of text in the sessions
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Kind::Work)]
    text: Kind,

    /// Only write the session files; do not import them
    #[arg(long)]
    sessions_only: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Kind {
    /// People ask, decide and owe; programs change files and run tests: the text that `lineage` measures
    Work,
    /// Random words by frequency, in no order: the text that `speed` measures
    Words,
}

pub fn run(args: &Args, for_people: bool) -> Result<Value> {
    if std::fs::read_dir(&args.folder).is_ok_and(|mut there| there.next().is_some()) {
        return Err(Error::refused(format!("{} is not empty", args.folder.display()))
            .hint("name a folder that is empty or not there yet"));
    }
    // The engine names files by their absolute path.
    let folder = make_dir(&args.folder)?.canonicalize().map_err(|e| Error::io("find", &args.folder, e))?;
    let sessions = make_dir(&folder.join("sessions"))?;
    print::progress(&format!("writing sessions with {}", print::counted(args.turns, "turn")));
    match args.text {
        Kind::Work => Story::new().write(&sessions, args.turns, args.turns, Clock::System.now()).map(drop)?,
        Kind::Words => synthetic::write(&sessions, args.turns).map(drop)?,
    }
    let home = folder.join("home");
    let made = if args.sessions_only { None } else { Some(fill(&home, &sessions)?) };
    if for_people {
        print::line(&format!("Sessions: {}", sessions.display()));
        if made.is_some() {
            print::line(&format!("Home:     {}", home.display()));
        }
    }
    Ok(json!({"sessions": sessions, "home": made.map(|_| &home), "turns": made.unwrap_or(args.turns)}))
}

/// Imports the sessions. Returns the number of turns stored.
fn fill(home: &Path, sessions: &Path) -> Result<u64> {
    print::progress("importing");
    let done = LabHome::create(home)?.import(&Sources::of(&[sessions.to_owned()])?)?;
    match done.problems.first() {
        None => Ok(done.turns.new),
        Some(problem) => Err(Error::usage(format!("the sessions were not imported whole: {problem}"))),
    }
}

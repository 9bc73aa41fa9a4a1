//! `heirloom profile`

use heirloom_engine::error::Result;
use heirloom_engine::profile::{self, Value};
use heirloom_engine::report::profile::ProfileChange;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Your profile, which every session may know: name, time zone, language
///
/// Keys: name, pronouns, language, timezone, location, role, organization, and any of your own. The time zone also
/// decides where the days of the daily notes begin.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Show all values
    Show,
    /// Set a value
    Set {
        /// name, pronouns, language, timezone, location, role, organization, or one of your own
        #[arg(value_name = "KEY")]
        key: String,
        /// One line of at most 500 characters
        #[arg(value_name = "VALUE")]
        value: String,
    },
    /// Remove a value
    Unset {
        /// Key of the value
        #[arg(value_name = "KEY")]
        key: String,
    },
}

const ACTOR: &str = "cli profile";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::Show => show(global),
        Command::Set { key, value } => {
            // Checked first: an invalid value must not create a home.
            let key = profile::sound_key(&key)?;
            let value = profile::sound_value(&key, &value)?;
            let engine = Context::create(global)?.acting_as(ACTOR);
            let changed = engine.act_unlocked(|at| profile::set(at, &key, &value, "user"))?;
            let verb = if changed { "is now" } else { "is already" };
            let line = format!("{key} {verb} {}", print::safe_line(&value));
            print_change(global, &ProfileChange { key, value: Some(value), changed }, &line)
        }
        Command::Unset { key } => {
            let key = profile::sound_key(&key)?;
            Context::open(global)?.acting_as(ACTOR).act_unlocked(|at| profile::unset(at, &key))?;
            let line = format!("{key} is no longer in your profile");
            print_change(global, &ProfileChange { key, value: None, changed: true }, &line)
        }
    }
}

fn print_change(global: &Global, change: &ProfileChange, line: &str) -> Result<Exit> {
    if global.json {
        print::report(change)
    } else {
        print::line(line)
    }
    Ok(Exit::Ok)
}

fn show(global: &Global) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let report = engine.profile()?;
    Ok(print::answer(global.json, &report, || {
        let now = engine.now();
        let row = |v: &Value| vec![v.key.clone(), print::safe_line(&v.value), print::when(Some(v.set_at), now)];
        print::out(&print::table(&report.profile.iter().map(row).collect::<Vec<_>>()));
        let open: Vec<String> = profile::KNOWN
            .iter()
            .filter(|(key, _)| report.profile.iter().all(|v| v.key != *key))
            .map(|(key, what)| format!("{key} ({what})"))
            .collect();
        if !open.is_empty() {
            print::line(&Paint::stdout().dim(&format!("Not said: {}", open.join(", "))));
        }
    }))
}

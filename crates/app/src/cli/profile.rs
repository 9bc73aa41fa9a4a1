//! `heirloom profile`

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::Result;
use heirloom_engine::profile;
use serde_json::{Value, json};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// What every session may know of you: name, time zone, language
///
/// Keys: name, pronouns, language, timezone, location, role, organization, and any of your own. The time zone also says
/// whose days the daily notes are.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// All of it
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
    /// Take a value out
    Unset {
        /// Its key
        #[arg(value_name = "KEY")]
        key: String,
    },
}

const ACTOR: &str = "cli profile";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::Show => show(global),
        Command::Set { key, value } => {
            let (key, value) = (profile::sound_key(&key)?, profile::sound_value(&key, &value)?);
            let context = Context::create(global)?;
            let at = context.assistant(ACTOR)?;
            let changed = profile::set(&at, &key, &value, "user")?;
            context.instance().settle(&at);
            if global.json {
                print::line(&json!({"key": key, "value": value, "changed": changed}).to_string());
            } else {
                let said = if changed { "is now" } else { "is already" };
                print::line(&format!("{key} {said} {}", print::safe_line(&value)));
            }
            Ok(Exit::Ok)
        }
        Command::Unset { key } => {
            let key = profile::sound_key(&key)?;
            let context = Context::open(global)?;
            let at = context.assistant(ACTOR)?;
            profile::unset(&at, &key)?;
            context.instance().settle(&at);
            if global.json {
                print::line(&json!({"key": key, "changed": true}).to_string());
            } else {
                print::line(&format!("{key} is no longer in your profile"));
            }
            Ok(Exit::Ok)
        }
    }
}

fn show(global: &Global) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let values = context.read(|tx| profile::show(tx, agent_no))?;
    if global.json {
        let list: Vec<Value> = values
            .iter()
            .map(|v| json!({"key": v.key, "value": v.value, "source": v.source, "set": rfc3339(v.set_at)}))
            .collect();
        print::line(&json!({"profile": list}).to_string());
        return Ok(Exit::Ok);
    }
    let now = context.now();
    let rows: Vec<Vec<String>> = values
        .iter()
        .map(|v| vec![v.key.clone(), print::safe_line(&v.value), print::when(Some(v.set_at), now)])
        .collect();
    print::out(&print::table(&rows));
    let open: Vec<String> = profile::KNOWN
        .iter()
        .filter(|(key, _)| values.iter().all(|v| v.key != *key))
        .map(|(key, what)| format!("{key} ({what})"))
        .collect();
    if !open.is_empty() {
        print::line(&Paint::stdout().dim(&format!("Not said: {}", open.join(", "))));
    }
    Ok(Exit::Ok)
}

//! `heirloom loop`

use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::continuity::{Change, Item};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::redact::redact;
use heirloom_engine::tree::file_table::{self, Entry, Kind, State};
use heirloom_engine::tree::provenance::{Origin, Provenance};
use serde_json::{Value, json};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Open loops: what is promised and not done yet
///
/// Each is a file in continuity/open-loops/ that you can edit by hand; its name is made from its title and stays.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// What is open, newest first
    List {
        /// What was resolved, instead
        #[arg(long)]
        resolved: bool,
        /// Only of this project: its id, label or path (. is the current one)
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Open a loop; one of this title that is open already is added to
    Add {
        /// A few words; the same title is the same loop
        #[arg(value_name = "TITLE")]
        title: String,
        /// What else there is to say, as Markdown
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        text: Option<String>,
        /// By when: YYYY-MM-DD
        #[arg(long, value_name = "DATE")]
        due: Option<String>,
        /// It belongs to this project: its id, label or path (. is the current one)
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
    /// The file, as it stands
    Show {
        /// Its id (l:…), title or file
        #[arg(value_name = "LOOP")]
        name: String,
    },
    /// Close loops; their files go to the archive
    Resolve {
        /// Ids (l:…), titles or files
        #[arg(value_name = "LOOP", required = true)]
        names: Vec<String>,
        /// How it ended
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        note: Option<String>,
    },
    /// Open resolved loops again
    Reopen {
        /// Ids (l:…), titles or files
        #[arg(value_name = "LOOP", required = true)]
        names: Vec<String>,
    },
}

const ACTOR: &str = "cli loop";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List { resolved, workspace, limit } => list(global, resolved, workspace.as_deref(), limit),
        Command::Show { name } => show(global, &name),
        Command::Add { title, text, due, workspace } => {
            if let Some(due) = &due {
                due.parse::<jiff::civil::Date>().map_err(|e| {
                    Error::usage(format!("{due:?} is no date")).because(e).hint("write it as 2026-11-30")
                })?;
            }
            let context = Context::create(global)?;
            let scope = match workspace {
                Some(name) => Some(format!("workspace/{}", context.workspace_id(Some(&name))?)),
                None => None,
            };
            let at = context.assistant(ACTOR)?;
            let new = NewLoop {
                title,
                text,
                scope,
                due,
                source: Provenance { origin: Origin::User, ..Provenance::default() },
                ..NewLoop::default()
            };
            let item = open_loop::add(&at.lock()?, &new)?;
            context.instance().settle(&at);
            let said = match item.change {
                Change::New => "Open now",
                Change::Changed => "Was open; added to it",
                Change::Same => "Was open already, just so",
            };
            told(global, &[item], said)
        }
        Command::Resolve { names, note } => {
            let context = Context::open(global)?;
            let at = context.assistant(ACTOR)?;
            let items = open_loop::resolve(&at.lock()?, &names, note.as_deref())?;
            context.instance().settle(&at);
            told(global, &items, "Resolved")
        }
        Command::Reopen { names } => {
            let context = Context::open(global)?;
            let at = context.assistant(ACTOR)?;
            let items = open_loop::reopen(&at.lock()?, &names)?;
            context.instance().settle(&at);
            told(global, &items, "Open again")
        }
    }
}

/// What an act did, for people and programs.
pub fn told(global: &Global, items: &[Item], said: &str) -> Result<Exit> {
    if global.json {
        let list: Vec<Value> = items.iter().map(item_json).collect();
        print::line(&json!({"items": list}).to_string());
    } else {
        for item in items {
            print::line(&format!("{said}: {} · {}", print::safe_line(&item.title), item.id));
            print::line(&Paint::stdout().dim(&format!("  {}", item.path)));
        }
    }
    Ok(Exit::Ok)
}

/// An item after an act, for programs.
pub fn item_json(item: &Item) -> Value {
    json!({"id": item.id, "title": item.title, "path": item.path.as_str(), "change": item.change.name()})
}

/// A file table row, for programs.
pub fn entry_json(entry: &Entry) -> Value {
    json!({"id": entry.item, "title": redact(&entry.title), "path": entry.path.as_str(), "status": entry.status, "class": entry.class,
           "scope": entry.scope, "fields": super::files::redacted(Value::Object(entry.fields.clone())), "problem": entry.problem, "by_hand": entry.by_hand()})
}

fn list(global: &Global, resolved: bool, workspace: Option<&str>, limit: usize) -> Result<Exit> {
    let context = Context::open(global)?;
    let state = if resolved { State::Archived } else { State::Active };
    let scope = workspace.map(|w| context.workspace_id(Some(w)).map(|id| format!("workspace/{id}"))).transpose()?;
    let mut entries = match context.look_at_assistant(ACTOR)? {
        Some((at, _)) => at.read(|tx| file_table::list(tx, at.agent_no, Kind::OpenLoop, state))?,
        None => Vec::new(),
    };
    entries.retain(|e| scope.is_none() || e.scope == scope);
    let day = |e: &Entry| e.field("resolved").or_else(|| e.field("opened")).map(str::to_owned).unwrap_or_default();
    entries.sort_by_key(|e| std::cmp::Reverse(day(e)));
    let all = entries.len();
    entries.truncate(limit);
    if global.json {
        let list: Vec<Value> = entries.iter().map(entry_json).collect();
        print::line(&json!({"loops": list, "all": all}).to_string());
        return Ok(Exit::Ok);
    }
    if entries.is_empty() {
        print::line(if resolved { "Nothing was resolved yet." } else { "Nothing is open." });
    }
    let now = context.now();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            let when = heirloom_engine::clock::parse_rfc3339(&day(e));
            let due = e.field("due").map(|d| format!("due {d}")).unwrap_or_default();
            vec![
                e.item.clone().unwrap_or_default(),
                print::cut(&print::safe_line(&e.title), 60),
                print::when(when, now),
                print::safe_line(&due),
            ]
        })
        .collect();
    print::list(&rows, all);
    Ok(Exit::Ok)
}

fn show(global: &Global, name: &str) -> Result<Exit> {
    let none = Error::not_found("nothing is open yet").hint("heirloom loop add \"…\"");
    super::files::show_named(&Context::open(global)?, ACTOR, Kind::OpenLoop, name, none)
}

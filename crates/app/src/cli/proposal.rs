//! `heirloom proposal`

use heirloom_engine::clock::parse_rfc3339;
use heirloom_engine::continuity::Change;
use heirloom_engine::continuity::proposal::{self, NewProposal};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::memory::{Class, Scope, leaf};
use heirloom_engine::redact::redact;
use heirloom_engine::review;
use heirloom_engine::tree::file_table::{self, Entry, Kind, State};
use heirloom_engine::tree::provenance::{Origin, Provenance};
use serde_json::{Value, json};

use super::remember;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Memory that waits for your yes
///
/// Each is a file in continuity/proposals/memory/ that you can edit by hand before you say yes; its lines (- …) become
/// one memory each.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// What waits, newest first
    List {
        /// What was merged, instead
        #[arg(long, conflicts_with = "rejected")]
        merged: bool,
        /// What was rejected, instead
        #[arg(long)]
        rejected: bool,
        /// Only for this project: its id, label or path (. is the current one)
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Propose memory; a proposal of this title that waits already is added to
    Add {
        /// A few words; the same title is the same proposal
        #[arg(value_name = "TITLE")]
        title: String,
        /// What is to be remembered; can be given more than once
        #[arg(long = "entry", value_name = "TEXT", allow_hyphen_values = true, required = true)]
        entries: Vec<String>,
        /// What kind of thing it is: preference, identity, fact, procedure, blocker or reference [default: fact]
        #[arg(long, value_name = "C")]
        class: Option<String>,
        /// Where it holds: workspace or agent [default: what the class says]
        #[arg(long, value_name = "S")]
        scope: Option<String>,
        /// The project it belongs to: its id, label or path [default: the current one]
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
    /// The file, as it stands
    Show {
        /// Its id (p:…), title or file
        #[arg(value_name = "PROPOSAL")]
        name: String,
    },
    /// Change a proposal before the decision; without options its file is opened in your editor
    Edit {
        /// Its id (p:…), title or file
        #[arg(value_name = "PROPOSAL")]
        name: String,
        /// What it proposes from now on; can be given more than once
        #[arg(long = "entry", value_name = "TEXT", allow_hyphen_values = true)]
        entries: Vec<String>,
        /// Its class: preference, identity, fact, procedure, blocker or reference
        #[arg(long, value_name = "C")]
        class: Option<String>,
        /// Where it holds: workspace or agent
        #[arg(long, value_name = "S")]
        scope: Option<String>,
        /// The project it belongs to: its id, label or path (. is the current one)
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
    /// Say yes: each entry becomes a memory; of several proposals all are merged, or none
    Merge {
        /// Ids (p:…), titles or files
        #[arg(value_name = "PROPOSAL", required = true)]
        names: Vec<String>,
    },
    /// Say no; the file goes to the archive
    Reject {
        /// Ids (p:…), titles or files
        #[arg(value_name = "PROPOSAL", required = true)]
        names: Vec<String>,
        /// Why not; it is kept with the proposal
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        reason: Option<String>,
    },
    /// Take a yes or a no back; memories that were changed since keep it from being undone
    Undo {
        /// Its id (p:…), title or file
        #[arg(value_name = "PROPOSAL")]
        name: String,
    },
}

const ACTOR: &str = "cli proposal";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List { merged, rejected, workspace, limit } => {
            let status = if merged {
                "merged"
            } else if rejected {
                "rejected"
            } else {
                "pending"
            };
            list(global, status, workspace.as_deref(), limit)
        }
        Command::Add { title, entries, class, scope, workspace } => {
            let context = Context::create(global)?;
            let named = class.as_deref().map(Class::parse).transpose()?;
            let agent_wide = scope.as_deref() == Some("agent") && workspace.is_none();
            let class = named.unwrap_or(if agent_wide { Class::Preference } else { Class::Fact });
            let scope = match scope_of(&context, scope.as_deref(), workspace.as_deref())? {
                Some(scope) => scope,
                None => remember::place(&context, Some(class.name()), None)?.1,
            };
            // What could not be merged is not proposed.
            scope.holds(class)?;
            let source = Provenance { origin: Origin::User, ..Provenance::default() };
            let (class, scope) = (class.name().to_owned(), scope.to_string());
            let new = NewProposal { title, entries, class, scope, confidence: None, source };
            remember::propose(global, &context, ACTOR, &new)
        }
        Command::Show { name } => show(global, &name),
        Command::Edit { name, entries, class, scope, workspace } => {
            let context = Context::open(global)?;
            let class = class.as_deref().map(Class::parse).transpose()?.map(|c| c.name().to_owned());
            let scope = scope_of(&context, scope.as_deref(), workspace.as_deref())?.map(|s| s.to_string());
            for text in &entries {
                leaf::check_text(text)?;
            }
            let entries = (!entries.is_empty()).then_some(entries);
            edit(&context, &name, &proposal::Edit { entries, class, scope })
        }
        Command::Merge { names } => merge(global, &names),
        Command::Reject { names, reason } => {
            let context = Context::open(global)?;
            let at = context.assistant(ACTOR)?;
            let items = review::reject(&at.lock()?, &names, reason.as_deref())?;
            context.instance().settle(&at);
            super::open_loop::print_items(global, &items, "Rejected")
        }
        Command::Undo { name } => undo(global, &name),
    }
}

/// The scope somebody asked for; `None`: nobody did.
fn scope_of(context: &Context, scope: Option<&str>, workspace: Option<&str>) -> Result<Option<Scope>> {
    match (scope, workspace) {
        (None, None) => Ok(None),
        (Some("agent"), None) => Ok(Some(Scope::Agent)),
        (Some("agent"), Some(_)) => {
            Err(Error::usage("--scope agent holds in every project").hint("leave out --workspace"))
        }
        (Some("workspace") | None, name) => Ok(Some(Scope::Workspace(context.workspace_id(name)?))),
        (Some(other), None) => match Scope::parse(other, None)? {
            Scope::Workspace(id) => Ok(Some(Scope::Workspace(context.workspace_id(Some(&id))?))),
            agent => Ok(Some(agent)),
        },
        (Some(_), Some(_)) => Err(Error::usage("give either --scope or --workspace")),
    }
}

fn list(global: &Global, status: &str, workspace: Option<&str>, limit: usize) -> Result<Exit> {
    let context = Context::open(global)?;
    let scope = workspace.map(|w| context.workspace_id(Some(w)).map(|id| format!("workspace/{id}"))).transpose()?;
    let state = if status == "pending" { State::Active } else { State::Archived };
    let mut entries = match context.look_at_assistant(ACTOR)? {
        Some((at, _)) => at.read(|tx| file_table::list(tx, at.agent_no, Kind::Proposal, state))?,
        None => Vec::new(),
    };
    entries.retain(|e| e.status.as_deref() == Some(status) && (scope.is_none() || e.scope == scope));
    let day = |e: &Entry| e.field(status).or_else(|| e.field("proposed")).map(str::to_owned).unwrap_or_default();
    entries.sort_by_key(|e| std::cmp::Reverse(day(e)));
    let all = entries.len();
    entries.truncate(limit);
    if global.json {
        let list: Vec<Value> = entries.iter().map(super::open_loop::entry_json).collect();
        print::line(&json!({"proposals": list, "all": all}).to_string());
        return Ok(Exit::Ok);
    }
    if entries.is_empty() {
        print::line(if status == "pending" { "No memory is proposed." } else { "Nothing of the kind." });
    }
    let now = context.now();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            let project = e.scope.as_deref().and_then(|s| s.strip_prefix("workspace/")).map(remember::project);
            let kind = [e.class.as_deref(), project].into_iter().flatten().collect::<Vec<_>>().join(" · ");
            vec![
                e.item.clone().unwrap_or_default(),
                print::safe_line(&kind),
                print::cut(&print::safe_line(&redact(&e.title)), 60),
                print::when(parse_rfc3339(&day(e)), now),
            ]
        })
        .collect();
    print::list(&rows, all);
    Ok(Exit::Ok)
}

fn show(global: &Global, name: &str) -> Result<Exit> {
    let none = Error::not_found("no memory is proposed yet").hint("heirloom proposal add \"…\" --entry \"…\"");
    super::files::show_named(&Context::open(global)?, ACTOR, Kind::Proposal, name, none)
}

fn edit(context: &Context, name: &str, edit: &proposal::Edit) -> Result<Exit> {
    let at = context.assistant(ACTOR)?;
    let lock = at.lock()?;
    let find = || at.read(|tx| file_table::named(tx, at.agent_no, Kind::Proposal, State::Active, name));
    let entry = find()?;
    let change = if *edit == proposal::Edit::default() {
        drop(lock);
        super::files::edit(context, &at, &entry)?
    } else {
        let change = proposal::edit(&lock, &entry, edit)?;
        drop(lock);
        context.instance().settle(&at);
        change == Change::Changed
    };
    if context.json {
        print::line(&json!({"id": entry.item, "path": entry.path.as_str(), "changed": change}).to_string());
    } else {
        let said = if change { "Changed" } else { "Says so already" };
        print::line(&format!("{said}: {} · {}", print::safe_line(&entry.title), entry.item.unwrap_or_default()));
    }
    Ok(Exit::Ok)
}

fn merge(global: &Global, names: &[String]) -> Result<Exit> {
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let merged = review::merge(&at.lock()?, names, None)?;
    context.instance().settle(&at);
    if global.json {
        let list: Vec<Value> = merged
            .iter()
            .map(|m| {
                let leaves: Vec<Value> = m.leaves.iter().map(remember::added_json).collect();
                json!({"proposal": super::open_loop::item_json(&m.proposal), "memories": leaves})
            })
            .collect();
        print::line(&json!({"merged": list}).to_string());
        return Ok(Exit::Ok);
    }
    for m in &merged {
        print::line(&format!("Merged: {} · {}", print::safe_line(&m.proposal.title), m.proposal.id));
        for leaf in &m.leaves {
            print::line(&format!("  {}", remember::sentence(leaf)));
            if !leaf.superseded.is_empty() {
                print::line(&format!("    in place of {}, which stays as history", leaf.superseded.join(", ")));
            }
        }
        print::line(&Paint::stdout().dim(&format!("  to take it back: heirloom proposal undo {}", m.proposal.id)));
    }
    Ok(Exit::Ok)
}

fn undo(global: &Global, name: &str) -> Result<Exit> {
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let undone = review::undo(&at.lock()?, name, None)?;
    context.instance().settle(&at);
    if global.json {
        let proposal = super::open_loop::item_json(&undone.proposal);
        print::line(&json!({"proposal": proposal, "removed": undone.removed, "restored": undone.restored}).to_string());
        return Ok(Exit::Ok);
    }
    print::line(&format!("Waits again: {} · {}", print::safe_line(&undone.proposal.title), undone.proposal.id));
    for (ids, said) in [(&undone.removed, "gone again"), (&undone.restored, "counts again")] {
        for id in ids {
            print::line(&format!("  {said}: {id}"));
        }
    }
    Ok(Exit::Ok)
}

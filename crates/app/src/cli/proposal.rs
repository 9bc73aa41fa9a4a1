//! `heirloom proposal`

use heirloom_engine::clock::parse_rfc3339;
use heirloom_engine::continuity::proposal::{self, NewProposal, Status};
use heirloom_engine::engine::{Engine, Verdict};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::memory::{Class, Scope};
use heirloom_engine::report::items::{EditedReport, EntryReport};
use heirloom_engine::review;
use heirloom_engine::tree::file_table::Kind;
use heirloom_engine::tree::provenance::{Origin, Provenance};

use super::{noticed, remember};
use crate::context::{Context, Global, label_of};
use crate::error::Exit;
use crate::print;

/// Proposals: memory that waits for your yes; heirloom review shows them with everything else that waits
///
/// Each proposal is a file in continuity/proposals/memory/ that you can edit by hand before you say yes; each of its
/// lines (- …) becomes a memory of its own.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List waiting proposals, newest first
    List {
        /// List merged proposals instead
        #[arg(long, conflicts_with = "rejected")]
        merged: bool,
        /// List rejected proposals instead
        #[arg(long)]
        rejected: bool,
        /// Only proposals for this project: its id, label or path (. is the current one)
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
        /// Maximum number of proposals
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Propose memory; entries for a title that waits already are added to that proposal
    Add {
        /// Title in a few words; the same title is the same proposal
        #[arg(value_name = "TITLE")]
        title: String,
        /// Text to remember; can be given more than once
        #[arg(long = "entry", value_name = "TEXT", allow_hyphen_values = true, required = true)]
        entries: Vec<String>,
        /// Class of the memory: preference, identity, fact, procedure, blocker or reference [default: fact]
        #[arg(long, value_name = "C")]
        class: Option<String>,
        /// Scope: workspace or agent [default: depends on the class]
        #[arg(long, value_name = "S")]
        scope: Option<String>,
        /// Project it belongs to: its id, label or path [default: the current one]
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
    /// Print a proposal's file
    Show {
        /// Id (p:…), title or file
        #[arg(value_name = "PROPOSAL")]
        name: String,
    },
    /// Change a proposal before the decision; without options its file is opened in your editor
    Edit {
        /// Id (p:…), title or file
        #[arg(value_name = "PROPOSAL")]
        name: String,
        /// New entries, which replace the present ones; can be given more than once
        #[arg(long = "entry", value_name = "TEXT", allow_hyphen_values = true)]
        entries: Vec<String>,
        /// New class: preference, identity, fact, procedure, blocker or reference
        #[arg(long, value_name = "C")]
        class: Option<String>,
        /// Scope: workspace or agent
        #[arg(long, value_name = "S")]
        scope: Option<String>,
        /// Project it belongs to: its id, label or path (. is the current one)
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
    /// Accept: each entry becomes a memory; of several proposals all are merged, or none
    Merge {
        /// Ids (p:…), titles or files
        #[arg(value_name = "PROPOSAL", required = true)]
        names: Vec<String>,
    },
    /// Reject; the file goes to the archive
    Reject {
        /// Ids (p:…), titles or files
        #[arg(value_name = "PROPOSAL", required = true)]
        names: Vec<String>,
        /// Reason, which is kept with the proposal
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        reason: Option<String>,
    },
    /// Undo a yes or a no; refused if memories made from it were changed since
    Undo {
        /// Id (p:…), title or file
        #[arg(value_name = "PROPOSAL")]
        name: String,
    },
}

const ACTOR: &str = "cli proposal";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List { merged, rejected, workspace, limit } => {
            let status = match (merged, rejected) {
                (true, _) => Status::Merged,
                (_, true) => Status::Rejected,
                _ => Status::Pending,
            };
            list(global, status, workspace.as_deref(), limit)
        }
        Command::Add { title, entries, class, scope, workspace } => {
            let engine = Context::create(global)?.acting_as(ACTOR);
            let named = class.as_deref().map(Class::parse).transpose()?;
            let agent_wide = scope.as_deref() == Some("agent") && workspace.is_none();
            let class = named.unwrap_or(if agent_wide { Class::Preference } else { Class::Fact });
            let scope = match scope_of(&engine, scope.as_deref(), workspace.as_deref())? {
                Some(scope) => scope,
                None => remember::destination(&engine, Some(class.name()), None)?.1,
            };
            // A scope that cannot hold this class is refused now, because the proposal could never be merged.
            scope.holds(class)?;
            let source = Provenance { origin: Origin::User, ..Provenance::default() };
            let (class, scope) = (class.name().to_owned(), scope.to_string());
            remember::propose(global, &engine, &NewProposal { title, entries, class, scope, confidence: None, source })
        }
        Command::Show { name } => {
            let none = Error::not_found("no memory is proposed yet").hint("heirloom proposal add \"…\" --entry \"…\"");
            super::files::show_named(global, ACTOR, Kind::Proposal, &name, none)
        }
        Command::Edit { name, entries, class, scope, workspace } => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            let class = class.as_deref().map(Class::parse).transpose()?.map(|c| c.name().to_owned());
            let scope = scope_of(&engine, scope.as_deref(), workspace.as_deref())?.map(|s| s.to_string());
            let entries = (!entries.is_empty()).then_some(entries);
            edit(global, &engine, &name, &proposal::Edit { entries, class, scope })
        }
        Command::Merge { names } => noticed::review(global, ACTOR, &Verdict::Merge { proposals: names }),
        Command::Reject { names, reason } => {
            noticed::review(global, ACTOR, &Verdict::Reject { proposals: names, reason })
        }
        Command::Undo { name } => noticed::review(global, ACTOR, &Verdict::Undo { proposal: name }),
    }
}

/// Returns the scope given by the options; `None` if they name none.
pub fn scope_of(engine: &Engine, scope: Option<&str>, workspace: Option<&str>) -> Result<Option<Scope>> {
    let project = |name: &str| Ok(Some(Scope::Workspace(engine.workspace_id(name)?)));
    match (scope, workspace) {
        (None, None) => Ok(None),
        (Some("agent"), None) => Ok(Some(Scope::Agent)),
        (Some("agent"), Some(_)) => {
            Err(Error::usage("--scope agent holds in every project").hint("leave out --workspace"))
        }
        (Some("workspace") | None, name) => project(name.unwrap_or(".")),
        (Some(other), None) => match Scope::parse(other, None)? {
            Scope::Workspace(id) => project(&id),
            Scope::Agent => Ok(Some(Scope::Agent)),
        },
        (Some(_), Some(_)) => Err(Error::usage("give either --scope or --workspace")),
    }
}

fn list(global: &Global, status: Status, workspace: Option<&str>, limit: usize) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let scope = workspace.map(|name| super::open_loop::scope_of(&engine, name)).transpose()?;
    let report = engine.proposals(status, scope.as_deref(), limit)?;
    Ok(print::answer(global.json, &report, || {
        if report.proposals.is_empty() {
            print::line(if status == Status::Pending { "No memory is proposed." } else { "Nothing of the kind." });
        }
        let now = engine.now();
        let row = |report: &EntryReport| {
            let e = &report.entry;
            let project = e.scope.as_deref().and_then(|s| s.strip_prefix("workspace/")).map(label_of);
            let kind = [e.class.as_deref(), project].into_iter().flatten().collect::<Vec<_>>().join(" · ");
            vec![
                e.item.clone().unwrap_or_default(),
                print::safe_line(&kind),
                print::cut(&print::safe_line(&report.title), 60),
                print::when(proposal::day(e, status).and_then(parse_rfc3339), now),
            ]
        };
        print::list(&report.proposals.iter().map(row).collect::<Vec<_>>(), report.all);
    }))
}

fn edit(global: &Global, engine: &Engine, name: &str, edit: &proposal::Edit) -> Result<Exit> {
    let in_editor = *edit == proposal::Edit::default();
    let (entry, written) = engine.act(|lock| {
        let entry = review::waiting(lock, name)?;
        let written = !in_editor && review::amend(lock, &entry, edit)?;
        Ok((entry, written))
    })?;
    let changed = if in_editor { super::files::edit(global, engine, &entry)? } else { written };
    let report = EditedReport { id: entry.item, path: entry.path, changed };
    Ok(print::answer(global.json, &report, || {
        let verb = if changed { "Changed" } else { "Says so already" };
        let id = report.id.as_deref().unwrap_or_default();
        print::line(&format!("{verb}: {} · {id}", print::safe_line(&entry.title)));
    }))
}

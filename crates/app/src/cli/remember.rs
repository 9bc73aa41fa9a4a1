//! `heirloom remember`

use std::io::Read;

use heirloom_engine::continuity::Change;
use heirloom_engine::continuity::proposal::NewProposal;
use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::memory::{Added, Class, LARGEST_TEXT, NewLeaf, Outcome, Scope, leaf};
use heirloom_engine::redact::redact;
use heirloom_engine::report::memories::RememberedReport;
use heirloom_engine::tree::file_table::Entry;
use heirloom_engine::tree::provenance::{Origin, Provenance};

use crate::config;
use crate::context::{Context, Global, label_of};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Remember something for good
///
/// In a project the text becomes a fact of that project, elsewhere a preference of yours; --class overrides this. The
/// same words are remembered once. Programs use --propose: the text then waits for your yes (heirloom proposal list).
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Text to remember; - reads it from standard input
    #[arg(value_name = "TEXT")]
    text: String,
    /// Class of the memory: preference, identity, fact, procedure, blocker or reference
    #[arg(long, value_name = "C")]
    class: Option<String>,
    /// Project the memory belongs to: its id, label or path [default: the current one]
    #[arg(long, value_name = "W")]
    workspace: Option<String>,
    /// Only propose it; it is remembered once you say yes
    #[arg(long)]
    propose: bool,
}

const ACTOR: &str = "cli remember";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let text = text_of(&args.text)?;
    let engine = Context::create(global)?.acting_as(ACTOR);
    let (class, scope) = destination(&engine, args.class.as_deref(), args.workspace.as_deref())?;
    if args.propose {
        scope.holds(class)?;
        let source = Provenance { origin: Origin::Program, ..Provenance::default() };
        let title = leaf::derived_title(&redact(&text));
        let (class, scope) = (class.name().to_owned(), scope.to_string());
        let new = NewProposal { title, entries: vec![text], class, scope, confidence: None, source };
        return propose(global, &engine, &new);
    }
    let report = engine.remember(&NewLeaf { verified: true, ..NewLeaf::new(class, scope, text) })?;
    print_remembered(global, &report, args.class.is_none())
}

/// Adds a proposal and prints the result.
pub fn propose(global: &Global, engine: &Engine, new: &NewProposal) -> Result<Exit> {
    let (item, waits) = engine.propose(new)?;
    let message = match item.change {
        Change::New => "Proposed",
        Change::Changed => "Was proposed; added to it",
        Change::Same => "Was proposed already, just so",
    };
    let exit = super::open_loop::print_items(global, std::slice::from_ref(&item), message);
    let is = |e: &Entry| e.class.as_deref() == Some(&*new.class) && e.scope.as_deref() == Some(&*new.scope);
    if let Some(entry) = waits.filter(|e| !is(e)) {
        let scope = entry.scope.as_deref().map(|s| s.strip_prefix("workspace/").map_or("everything", label_of));
        print::note(&format!(
            "it waits as a {} of {}, as before; to change that: heirloom proposal edit {} --class C, --scope agent or --workspace W",
            entry.class.as_deref().unwrap_or("memory"),
            scope.unwrap_or("no project yet"),
            item.id
        ));
    }
    if !global.json {
        print::line(&Paint::stdout().dim(&format!("  to say yes: heirloom proposal merge {}", item.id)));
    }
    Ok(exit)
}

/// Returns the text of an argument, or of standard input if the argument is `-`.
pub fn text_of(text: &str) -> Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut read = Vec::new();
    let most = LARGEST_TEXT as u64 + 1;
    std::io::stdin()
        .lock()
        .take(most)
        .read_to_end(&mut read)
        .map_err(|e| Error::usage("standard input cannot be read").because(e))?;
    if read.len() > LARGEST_TEXT {
        // A text that is too long is refused for its length first: reading stopped at the limit, perhaps inside a
        // character.
        leaf::check_text(&String::from_utf8_lossy(&read))?;
    }
    String::from_utf8(read).map_err(|e| Error::usage("standard input is not UTF-8").because(e))
}

/// Returns the class and scope of a memory: from the options, otherwise from the current folder.
pub fn destination(engine: &Engine, class: Option<&str>, workspace: Option<&str>) -> Result<(Class, Scope)> {
    let class = class.map(Class::parse).transpose()?;
    let project = in_project();
    let class = class.unwrap_or(if workspace.is_some() || project { Class::Fact } else { Class::Preference });
    let scope = match workspace {
        Some(name) => Scope::Workspace(engine.workspace_id(name)?),
        None if !class.of_workspace() => Scope::Agent,
        None if project => Scope::Workspace(engine.workspace_id(".")?),
        None => {
            return Err(Error::usage(format!("a {class} belongs to a project, and this is your home directory"))
                .hint("say which (--workspace W), or run it in the project"));
        }
    };
    Ok((class, scope))
}

/// Returns whether the current folder is in a project. The home directory and its parents are in none.
fn in_project() -> bool {
    let Ok(here) = std::env::current_dir() else { return false };
    let Some(home) = config::user_home() else { return here.parent().is_some() };
    !home.canonicalize().unwrap_or(home).starts_with(&here)
}

/// Prints the result of remembering. `guessed` is true if no class was given.
pub fn print_remembered(global: &Global, report: &RememberedReport, guessed: bool) -> Result<Exit> {
    Ok(print::answer(global.json, report, || {
        for item in &report.items {
            print::line(&sentence(item));
            if let Some(path) = &item.path {
                print::line(&Paint::stdout().dim(&format!("  {path}")));
            }
            if !item.superseded.is_empty() {
                print::line(&format!("  in place of {}, which stays as history", item.superseded.join(", ")));
            }
            if guessed && item.outcome == Outcome::New {
                let other = match item.scope {
                    Scope::Agent => "in one project only: --workspace W",
                    Scope::Workspace(_) => "everywhere: --class preference",
                };
                let id = &item.id;
                let line = format!(
                    "  change it: heirloom memory edit {id}\n  take it back: heirloom memory forget {id}\n  {other}"
                );
                print::line(&Paint::stdout().dim(&line));
            }
        }
    }))
}

/// Describes an added memory: `Remembered as a fact of heirloom-api: Push rule · m:push-rule-3f2a91`.
pub fn sentence(added: &Added) -> String {
    let kind = match &added.scope {
        Scope::Agent => format!("{} for everywhere", article(added.class)),
        Scope::Workspace(id) => format!("{} of {}", article(added.class), label_of(id)),
    };
    let title = print::safe_line(&added.title);
    match added.outcome {
        Outcome::New => format!("Remembered as {kind}: {title} · {}", added.id),
        Outcome::Same => format!("Remembered already, as {kind}: {title} · {}", added.id),
        Outcome::Forgotten => format!("Was forgotten, and stays so: {title}"),
        Outcome::Outranked => format!("Left as you put it: {title} · {}", added.id),
    }
}

fn article(class: Class) -> String {
    let an = if class == Class::Identity { "part of your" } else { "a" };
    format!("{an} {class}")
}

//! `heirloom memory`

use heirloom_engine::clock::parse_rfc3339;
use heirloom_engine::engine::{Engine, MemoryAct, Verdict};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::memory::{Class, NewLeaf, Scope, change, find, leaf};
use heirloom_engine::report::memories::{ChangedMemories, MemoryReport};
use heirloom_engine::tree::file_table::Entry;
use heirloom_engine::tree::provenance::Provenance;

use super::{files, noticed, remember};
use crate::context::{Context, Global, label_of};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Durable memory: one file per thing remembered, with its history
///
/// Each memory is a file in memory/ that you can edit by hand. A newer memory that contradicts an older one supersedes
/// it, and the older one stays as history.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args, Debug)]
struct Filter {
    /// Only memories of this class: preference, identity, fact, procedure, blocker or reference
    #[arg(long, value_name = "C")]
    class: Option<String>,
    /// Only memories of this project: its id, label or path (. is the current one)
    #[arg(long, value_name = "W")]
    workspace: Option<String>,
    /// Only memories with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List memories, pinned first, then newest first
    List {
        #[command(flatten)]
        filter: Filter,
        /// List memories that something newer superseded, instead of current ones
        #[arg(long)]
        superseded: bool,
        /// Only memories that are stale and should be reviewed
        #[arg(long)]
        stale: bool,
        /// Only pinned memories
        #[arg(long)]
        pinned: bool,
        /// Maximum number of memories
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Print a memory's file, and whether it is still fresh
    Show {
        /// Id (m:…), title, or path below memory/
        #[arg(value_name = "MEMORY")]
        name: String,
        /// Refuse a memory of another project than this one
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
    /// Remember something (like heirloom remember, with all options)
    Add {
        /// Text to remember, as Markdown; - reads it from standard input
        #[arg(value_name = "TEXT")]
        text: String,
        /// Title in a few words; a new text under an existing title supersedes the older memory [default: the first
        /// sentence]
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// Class of the memory: preference, identity, fact, procedure, blocker or reference
        #[arg(long, value_name = "C")]
        class: Option<String>,
        /// Project the memory belongs to: its id, label or path [default: the current one]
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
        /// A tag, for finding the memory; can be given more than once
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// Subject of the memory, if the title does not say it
        #[arg(long, value_name = "WORDS")]
        subject: Option<String>,
        /// Confidence, from 0 to 1
        #[arg(long, value_name = "P")]
        confidence: Option<f64>,
    },
    /// Change a memory; without options its file is opened in your editor
    Edit {
        /// Id (m:…), title, or path below memory/
        #[arg(value_name = "MEMORY")]
        name: String,
        /// The new text; - reads it from standard input
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        text: Option<String>,
        /// New title; the file keeps its name
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// Summary shown in lists
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        summary: Option<String>,
        /// New tags, which replace the present ones; can be given more than once, "" removes all
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// Confidence, from 0 to 1
        #[arg(long, value_name = "P")]
        confidence: Option<f64>,
    },
    /// Confirm that memories still hold: they count as fresh again
    Verify {
        /// Ids (m:…), titles, or paths below memory/
        #[arg(value_name = "MEMORY", required = true)]
        names: Vec<String>,
    },
    /// Supersede one memory with another; both stay as files
    Supersede {
        /// The memory that no longer holds
        #[arg(value_name = "OLD")]
        old: String,
        /// The memory that holds instead
        #[arg(value_name = "NEW", required_unless_present = "text")]
        new: Option<String>,
        /// Text that holds now, if it is not remembered yet; - reads it from standard input
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "new")]
        text: Option<String>,
    },
    /// Pin memories, so that they come first
    Pin {
        /// Ids (m:…), titles, or paths below memory/
        #[arg(value_name = "MEMORY", required = true)]
        names: Vec<String>,
        /// Remove the pin
        #[arg(long)]
        off: bool,
    },
    /// List which vectors of old, unimportant chunks are dropped, and why; the words stay and are found
    ///
    /// Off unless the section [decay] of config.toml says on = true. Chunks that a pinned memory came from keep their
    /// vectors; dropped vectors are made again when the policy is switched off.
    Decay {
        /// List every chunk with its reason
        #[arg(long)]
        explain: bool,
    },
    /// Remove memories without a trace; no program brings them back
    Forget {
        /// Ids (m:…), titles, or paths below memory/
        #[arg(value_name = "MEMORY", required = true)]
        names: Vec<String>,
    },
    /// Find memories with these words, best first
    Search {
        /// Words to find, in any order
        #[arg(value_name = "WORDS", required = true)]
        words: Vec<String>,
        #[command(flatten)]
        filter: Filter,
        /// Maximum number of memories
        #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
        limit: usize,
    },
    /// List preferences and facts about you that were found in your prompts and wait for your decision; heirloom review lists
    /// them, too
    Pending {
        /// Include notices that were decided
        #[arg(long)]
        all: bool,
    },
    /// Accept noticed facts or preferences
    Accept {
        /// Ids (u:…)
        #[arg(value_name = "NOTICED", required = true)]
        ids: Vec<String>,
    },
    /// Dismiss noticed facts or preferences; they are not asked about again
    Dismiss {
        /// Ids (u:…)
        #[arg(value_name = "NOTICED", required = true)]
        ids: Vec<String>,
    },
}

const ACTOR: &str = "cli memory";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List { filter, superseded, stale, pinned, limit } => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            let filter = find::Filter { superseded, stale, pinned, ..filter_of(&engine, filter)? };
            list(global, &engine, &filter, limit)
        }
        Command::Show { name, workspace } => show(global, &name, workspace.as_deref()),
        Command::Add { text, title, class, workspace, tags, subject, confidence } => {
            let text = remember::text_of(&text)?;
            let engine = Context::create(global)?.acting_as(ACTOR);
            let (kind, scope) = remember::destination(&engine, class.as_deref(), workspace.as_deref())?;
            let new = NewLeaf { title, tags, subject, confidence, verified: true, ..NewLeaf::new(kind, scope, text) };
            remember::print_remembered(global, &engine.remember(&new)?, class.is_none())
        }
        Command::Edit { name, text, title, summary, tags, confidence } => {
            let text = text.as_deref().map(remember::text_of).transpose()?;
            let tags = (!tags.is_empty()).then_some(tags);
            edit(global, &name, &change::Edit { text, title, summary, tags, confidence, verified: true })
        }
        Command::Verify { names } => each(global, &names, "Still holds", MemoryAct::Verify),
        Command::Pin { names, off } => {
            let message = if off { "No longer pinned" } else { "Pinned" };
            each(global, &names, message, MemoryAct::Pin(!off))
        }
        Command::Supersede { old, new, text } => supersede(global, &old, new.as_deref(), text.as_deref()),
        Command::Decay { explain } => decay(global, explain),
        Command::Forget { names } => forget(global, &names),
        Command::Search { words, filter, limit } => search(global, &words.join(" "), filter, limit),
        Command::Pending { all } => noticed::list(global, ACTOR, all),
        Command::Accept { ids } => noticed::review(global, ACTOR, &Verdict::Accept { notices: ids }),
        Command::Dismiss { ids } => noticed::review(global, ACTOR, &Verdict::Dismiss { notices: ids }),
    }
}

fn decay(global: &Global, explain: bool) -> Result<Exit> {
    let report = Context::open(global)?.acting_as(ACTOR).explain_decay()?;
    Ok(print::answer(global.json, &report, || {
        let goes = report.chunks.iter().filter(|c| !c.spared).count() as u64;
        let state = if report.on { "on" } else { "off: nothing goes; [decay] on = true in config.toml switches it on" };
        print::line(&format!("The policy is {state}."));
        print::line(&format!(
            "Quiet for {} days and of less importance than {}: {}, {} with vectors now, {} dropped so far",
            report.after_days,
            report.below,
            print::counted(goes, "chunk"),
            print::counted(report.vectors, "turn"),
            print::counted(report.dropped, "chunk")
        ));
        if explain {
            for c in &report.chunks {
                let category = c.category.map_or("nothing in particular", |c| c.name());
                print::line(&format!("  {} to {} of {}: {category}", c.first_turn, c.last_turn, c.session));
                print::line(&Paint::stdout().dim(&print::safe_line(&format!("      {}", c.why))));
            }
        } else if !report.chunks.is_empty() {
            print::line(&Paint::stdout().dim("why, chunk by chunk: heirloom memory decay --explain"));
        }
    }))
}

fn filter_of(engine: &Engine, filter: Filter) -> Result<find::Filter> {
    let scope = filter.workspace.map(|w| engine.workspace_id(&w).map(Scope::Workspace)).transpose()?;
    let class = filter.class.as_deref().map(Class::parse).transpose()?;
    Ok(find::Filter { class, scope, tag: filter.tag, ..find::Filter::default() })
}

fn marks(memory: &MemoryReport) -> String {
    let entry = &memory.file.entry;
    let mut marks = Vec::new();
    if entry.fields.get("pinned") == Some(&true.into()) {
        marks.push("pinned".to_owned());
    }
    if memory.age.stale {
        marks.push("stale".to_owned());
    }
    if let Some(by) = leaf::superseded_by(entry) {
        marks.push(format!("superseded by {by}"));
    }
    if entry.problem.is_some() {
        marks.push("see the file".to_owned());
    }
    marks.extend(Provenance::from_value(entry.fields.get("source")).model.map(|model| format!("by {model}")));
    print::safe_line(&marks.join(", "))
}

fn kind_of(entry: &Entry) -> String {
    let class = entry.class.as_deref().unwrap_or_default();
    match leaf::scope_of(entry) {
        Scope::Agent => class.to_owned(),
        Scope::Workspace(id) => format!("{class} · {}", label_of(&id)),
    }
}

fn list(global: &Global, engine: &Engine, filter: &find::Filter, limit: usize) -> Result<Exit> {
    let report = engine.memories(filter, limit)?;
    Ok(print::answer(global.json, &report, || {
        if report.memories.is_empty() {
            print::line("Nothing of the kind is remembered.");
        }
        let now = engine.now();
        let row = |memory: &MemoryReport| {
            let observed = memory.file.entry.field("verified").or_else(|| memory.file.entry.field("observed"));
            vec![
                memory.file.id.clone().unwrap_or_default(),
                kind_of(&memory.file.entry),
                print::cut(&print::safe_line(&memory.file.title), 60),
                print::when(observed.and_then(parse_rfc3339), now),
                marks(memory),
            ]
        };
        print::list(&report.memories.iter().map(row).collect::<Vec<_>>(), report.all);
        for problem in report.problems.iter().filter(|p| p.place.contains("/memory/")) {
            print::note(&problem.to_string());
        }
    }))
}

fn none_yet() -> Error {
    Error::not_found("nothing is remembered yet").hint("heirloom remember \"…\"")
}

fn show(global: &Global, name: &str, workspace: Option<&str>) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let within = workspace.map(|w| engine.workspace_id(w)).transpose()?;
    let report = engine.memory(name, within.as_deref())?.ok_or_else(none_yet)?;
    let foot = report.memory.as_ref().and_then(|memory| {
        let age = &memory.staleness;
        let until = age.after.map(|after| print::day(age.since.saturating_add(after)))?;
        let id = report.file.entry.id.as_deref().unwrap_or_default();
        Some(match age.stale {
            true => format!("stale since {until}: check it, then heirloom memory verify {id}"),
            false => format!("good until {until}"),
        })
    });
    files::print_file(global.json, &report, foot)
}

/// Applies a change to the memories with these names under the tree lock, and prints the result.
fn each(global: &Global, names: &[String], message: &str, what: MemoryAct) -> Result<Exit> {
    let report = Context::open(global)?.acting_as(ACTOR).change_memories(names, what)?;
    print_changed(global, &report, message)
}

fn print_changed(global: &Global, report: &ChangedMemories, message: &str) -> Result<Exit> {
    Ok(print::answer(global.json, report, || {
        for memory in &report.items {
            let id = memory.file.id.as_deref().unwrap_or_default();
            print::line(&format!("{message}: {} · {id}", print::safe_line(&memory.file.title)));
        }
    }))
}

fn edit(global: &Global, name: &str, edit: &change::Edit) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let in_editor = *edit == change::Edit { verified: true, ..change::Edit::default() };
    let (entry, written) = engine.act(|lock| {
        let entry = find::chosen_one(lock, name)?;
        let written = in_editor || change::edit(lock, &entry, edit)?;
        Ok((entry, written))
    })?;
    if in_editor {
        files::edit(global, &engine, &entry)?;
    } else if !written && !global.json {
        print::line("It says so already; nothing was written.");
        return Ok(Exit::Ok);
    }
    let report = engine.looked(|at| Ok(Some(ChangedMemories::of(at, &[entry]))))?.ok_or_else(none_yet)?;
    print_changed(global, &report, "Changed")
}

fn supersede(global: &Global, old: &str, new: Option<&str>, text: Option<&str>) -> Result<Exit> {
    let text = text.map(remember::text_of).transpose()?;
    let engine = Context::open(global)?.acting_as(ACTOR);
    if let Some(text) = text {
        return remember::print_remembered(global, &engine.supersede_with(old, &text)?, false);
    }
    let (report, written) = engine.supersede(old, new.unwrap_or_default())?;
    print_changed(global, &report, if written { "Superseded" } else { "Was superseded already" })
}

fn forget(global: &Global, names: &[String]) -> Result<Exit> {
    let report = Context::open(global)?.acting_as(ACTOR).forget_memories(names)?;
    Ok(print::answer(global.json, &report, || {
        for id in &report.forgotten {
            print::line(&format!("Forgotten: {}", id.as_deref().unwrap_or_default()));
        }
        if report.with > 0 {
            print::line(&format!(
                "With it {} that said the same.",
                print::counted(report.with as u64, "archived proposal")
            ));
        }
        print::line(&Paint::stdout().dim("The conversations it came from still have the words."));
    }))
}

fn search(global: &Global, words: &str, filter: Filter, limit: usize) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let filter = filter_of(&engine, filter)?;
    let report = engine.search_memories(words, &filter, limit)?;
    Ok(print::answer(global.json, &report, || {
        if report.hits.is_empty() {
            print::line("No memory has any of these words.");
        }
        for hit in &report.hits {
            let memory = &hit.memory;
            let (id, title) = (memory.file.id.as_deref().unwrap_or_default(), print::safe_line(&memory.file.title));
            let marks = marks(memory);
            let marks = if marks.is_empty() { marks } else { format!(" · {marks}") };
            print::line(&format!("{} · {id} · {}{marks}", Paint::stdout().bold(&title), kind_of(&memory.file.entry)));
            super::search::passage(&hit.passage, print::width(), Paint::stdout());
        }
        super::explained::note(&report.understood).iter().for_each(|note| print::note(note));
        if !report.too_frequent.is_empty() {
            let words = print::safe_line(&report.too_frequent.join(", "));
            print::note(&format!("too frequent to help, left out: {words}"));
        }
        if report.files_not_indexed > 0 {
            let files = print::counted(report.files_not_indexed, "changed file");
            print::note(&format!("{files} not searched yet: heirloom work"));
        }
    }))
}

//! `heirloom memory`

use heirloom_engine::clock::{Millis, parse_rfc3339, rfc3339};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::memory::staleness::staleness;
use heirloom_engine::memory::{self, Class, NewLeaf, Scope, change, find, leaf};
use heirloom_engine::recall::{self, FileFilter, FilesFound};
use heirloom_engine::redact::redact;
use heirloom_engine::tree::file_table::{Entry, Kind};
use heirloom_engine::tree::{AssistantHome, TreeLock};
use serde_json::{Value, json};

use super::{noticed, remember};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// What is remembered for good: one file per thing, with its history
///
/// Each is a file in memory/ that you can edit by hand. What contradicts an older memory takes its place, and the older
/// one stays as history.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args, Debug)]
struct Filter {
    /// Only of this class: preference, identity, fact, procedure, blocker or reference
    #[arg(long, value_name = "C")]
    class: Option<String>,
    /// Only of this project: its id, label or path (. is the current one)
    #[arg(long, value_name = "W")]
    workspace: Option<String>,
    /// Only with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// What is remembered, pinned first, then newest first
    List {
        #[command(flatten)]
        filter: Filter,
        /// What something newer has taken the place of, instead
        #[arg(long)]
        superseded: bool,
        /// Only what should be looked at again
        #[arg(long)]
        stale: bool,
        /// Only what is pinned
        #[arg(long)]
        pinned: bool,
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// The file, as it stands, and whether it is still good
    Show {
        /// Its id (m:…), title, or path below memory/
        #[arg(value_name = "MEMORY")]
        name: String,
        /// Refuse what belongs to any other project than this
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
    /// Remember something (heirloom remember, with everything there is to say)
    Add {
        /// What is to be remembered, as Markdown; - reads it from standard input
        #[arg(value_name = "TEXT")]
        text: String,
        /// A few words; another text of this title takes this one's place [default: the first sentence]
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// What kind of thing it is: preference, identity, fact, procedure, blocker or reference
        #[arg(long, value_name = "C")]
        class: Option<String>,
        /// The project it belongs to: its id, label or path [default: the current one]
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
        /// A word to find it by; can be given more than once
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// What it is about, where the title does not say
        #[arg(long, value_name = "WORDS")]
        subject: Option<String>,
        /// How sure it is, from 0 to 1
        #[arg(long, value_name = "P")]
        confidence: Option<f64>,
    },
    /// Change a memory; without options its file is opened in your editor
    Edit {
        /// Its id (m:…), title, or path below memory/
        #[arg(value_name = "MEMORY")]
        name: String,
        /// What it says from now on; - reads it from standard input
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        text: Option<String>,
        /// A new title; the file keeps its name
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
        /// What lists show of it
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        summary: Option<String>,
        /// Its tags from now on; can be given more than once, "" takes them out
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// How sure it is, from 0 to 1
        #[arg(long, value_name = "P")]
        confidence: Option<f64>,
    },
    /// Say that memories still hold: they count as fresh again
    Verify {
        /// Ids (m:…), titles, or paths below memory/
        #[arg(value_name = "MEMORY", required = true)]
        names: Vec<String>,
    },
    /// Put one memory in the place of another; both stay
    Supersede {
        /// The one that no longer holds
        #[arg(value_name = "OLD")]
        old: String,
        /// The one that does
        #[arg(value_name = "NEW", required_unless_present = "text")]
        new: Option<String>,
        /// What holds now, where it is not remembered yet; - reads it from standard input
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "new")]
        text: Option<String>,
    },
    /// Keep memories in front
    Pin {
        /// Ids (m:…), titles, or paths below memory/
        #[arg(value_name = "MEMORY", required = true)]
        names: Vec<String>,
        /// Let go of them again
        #[arg(long)]
        off: bool,
    },
    /// Remove memories without a trace; no program brings them back
    Forget {
        /// Ids (m:…), titles, or paths below memory/
        #[arg(value_name = "MEMORY", required = true)]
        names: Vec<String>,
    },
    /// Memories with these words, best first
    Search {
        /// Words in any order
        #[arg(value_name = "WORDS", required = true)]
        words: Vec<String>,
        #[command(flatten)]
        filter: Filter,
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
        limit: usize,
    },
    /// What was noticed about you and waits for your yes
    Pending {
        /// What was decided, too
        #[arg(long)]
        all: bool,
    },
    /// Say yes to something noticed
    Accept {
        /// Ids (u:…)
        #[arg(value_name = "NOTICED", required = true)]
        ids: Vec<String>,
    },
    /// Say no to something noticed; you are not asked again
    Dismiss {
        /// Ids (u:…)
        #[arg(value_name = "NOTICED", required = true)]
        ids: Vec<String>,
    },
}

const ACTOR: &str = "cli memory";

/// Memories looked at before those a caller may not see, or did not ask for, are left out.
const CANDIDATES: usize = 200;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List { filter, superseded, stale, pinned, limit } => {
            let context = Context::open(global)?;
            let filter = find::Filter { superseded, stale, pinned, ..filter_of(&context, filter)? };
            list(&context, &filter, limit)
        }
        Command::Show { name, workspace } => show(global, &name, workspace.as_deref()),
        Command::Add { text, title, class, workspace, tags, subject, confidence } => {
            let text = remember::text_of(&text)?;
            let context = Context::create(global)?;
            let (kind, scope) = remember::place(&context, class.as_deref(), workspace.as_deref())?;
            let new = NewLeaf { title, tags, subject, confidence, verified: true, ..NewLeaf::new(kind, scope, text) };
            let at = context.assistant(ACTOR)?;
            let added = memory::add(&at.lock()?, &new)?;
            context.instance().settle(&at);
            remember::told(global, &[added], class.is_none())
        }
        Command::Edit { name, text, title, summary, tags, confidence } => {
            let text = text.as_deref().map(remember::text_of).transpose()?;
            let tags = (!tags.is_empty()).then_some(tags);
            edit(global, &name, &change::Edit { text, title, summary, tags, confidence, verified: true })
        }
        Command::Verify { names } => each(global, &names, "Still holds", change::verify),
        Command::Pin { names, off } => {
            let said = if off { "No longer pinned" } else { "Pinned" };
            each(global, &names, said, |lock, all| change::pin(lock, all, !off))
        }
        Command::Supersede { old, new, text } => supersede(global, &old, new.as_deref(), text.as_deref()),
        Command::Forget { names } => forget_all(global, &names),
        Command::Search { words, filter, limit } => search(global, &words.join(" "), filter, limit),
        Command::Pending { all } => noticed::list(global, all),
        Command::Accept { ids } => noticed::accept(global, &ids),
        Command::Dismiss { ids } => noticed::dismiss(global, &ids),
    }
}

fn filter_of(context: &Context, filter: Filter) -> Result<find::Filter> {
    let scope = filter.workspace.map(|w| context.workspace_id(Some(&w)).map(Scope::Workspace)).transpose()?;
    let class = filter.class.as_deref().map(Class::parse).transpose()?;
    Ok(find::Filter { class, scope, tag: filter.tag, ..find::Filter::default() })
}

/// A row for programs: with what the class makes of its age.
fn leaf_json(entry: &Entry, now: Millis) -> Value {
    let mut value = super::open_loop::entry_json(entry);
    let age = staleness(entry, now);
    value["stale"] = json!(age.stale);
    value["verification"] = json!(age.verification.name());
    value["staleness"] = json!(age.policy.name());
    value["fresh_until"] = json!(age.after.map(|after| rfc3339(age.since.saturating_add(after))));
    value
}

fn marks(entry: &Entry, now: Millis) -> String {
    let mut marks = Vec::new();
    if entry.fields.get("pinned") == Some(&true.into()) {
        marks.push("pinned".to_owned());
    }
    if memory::is_stale(entry, now) {
        marks.push("stale".to_owned());
    }
    if let Some(by) = entry.field("superseded_by") {
        marks.push(format!("superseded by {by}"));
    }
    if entry.problem.is_some() {
        marks.push("see the file".to_owned());
    }
    print::safe_line(&marks.join(", "))
}

fn kind_of(entry: &Entry) -> String {
    let class = entry.class.as_deref().unwrap_or_default();
    match leaf::scope_of(entry) {
        Scope::Agent => class.to_owned(),
        Scope::Workspace(id) => format!("{class} · {}", remember::project(&id)),
    }
}

fn observed(entry: &Entry) -> Option<Millis> {
    entry.field("verified").or_else(|| entry.field("observed")).and_then(parse_rfc3339)
}

fn list(context: &Context, filter: &find::Filter, limit: usize) -> Result<Exit> {
    let now = context.now();
    let (mut entries, problems) = match context.look_at_assistant(ACTOR)? {
        Some((at, problems)) => (at.read(|tx| find::list(tx, at.agent_no, filter, now))?, problems),
        None => (Vec::new(), Vec::new()),
    };
    let all = entries.len();
    entries.truncate(limit);
    if context.json {
        let list: Vec<Value> = entries.iter().map(|e| leaf_json(e, now)).collect();
        print::line(&json!({"memories": list, "all": all}).to_string());
        return Ok(Exit::Ok);
    }
    if entries.is_empty() {
        print::line("Nothing of the kind is remembered.");
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            vec![
                e.item.clone().unwrap_or_default(),
                kind_of(e),
                print::cut(&print::safe_line(&redact(&e.title)), 60),
                print::when(observed(e), now),
                marks(e, now),
            ]
        })
        .collect();
    print::list(&rows, all);
    for problem in problems.iter().filter(|p| p.place.contains("/memory/")) {
        print::note(&problem.to_string());
    }
    Ok(Exit::Ok)
}

fn none_yet() -> Error {
    Error::not_found("nothing is remembered yet").hint("heirloom remember \"…\"")
}

fn show(global: &Global, name: &str, workspace: Option<&str>) -> Result<Exit> {
    let context = Context::open(global)?;
    let within = workspace.map(|w| context.workspace_id(Some(w))).transpose()?;
    let Some((at, _)) = context.look_at_assistant(ACTOR)? else { return Err(none_yet()) };
    let entry = at.read(|tx| find::named(tx, at.agent_no, name, within.as_deref()))?;
    if entry.kind != Kind::Leaf {
        return super::files::show(&context, &at, &entry);
    }
    let now = context.now();
    let age = staleness(&entry, now);
    let mut more = leaf_json(&entry, now);
    more["text"] = json!(redact(&leaf::text_of(&leaf::read(&at, &entry.path)?)));
    let foot = match (age.stale, age.after) {
        (true, _) => Some(format!(
            "stale since {}: check it, then heirloom memory verify {}",
            print::day(age.since.saturating_add(age.after.unwrap_or(0))),
            entry.item.as_deref().unwrap_or_default()
        )),
        (false, Some(after)) => Some(format!("good until {}", print::day(age.since.saturating_add(after)))),
        (false, None) => None,
    };
    super::files::show_with(&context, &at, &entry, more, foot)
}

/// Takes the tree lock, finds the leaves, changes them, says so.
fn each(
    global: &Global,
    names: &[String],
    said: &str,
    act: impl FnOnce(&TreeLock, &[Entry]) -> Result<()>,
) -> Result<Exit> {
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let entries = {
        let lock = at.lock()?;
        let entries = at.read(|tx| find::all_named(tx, at.agent_no, names, None))?;
        act(&lock, &entries)?;
        entries
    };
    context.instance().settle(&at);
    changed(&context, &at, &entries, said)
}

fn changed(context: &Context, at: &AssistantHome, entries: &[Entry], said: &str) -> Result<Exit> {
    let now = context.now();
    let mut list = Vec::new();
    for entry in entries {
        let entry = at.read(|tx| find::named(tx, at.agent_no, entry.path.as_str(), None)).unwrap_or(entry.clone());
        if context.json {
            list.push(leaf_json(&entry, now));
        } else {
            let id = entry.item.as_deref().unwrap_or_default();
            print::line(&format!("{said}: {} · {id}", print::safe_line(&entry.title)));
        }
    }
    if context.json {
        print::line(&json!({"items": list}).to_string());
    }
    Ok(Exit::Ok)
}

fn edit(global: &Global, name: &str, edit: &change::Edit) -> Result<Exit> {
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let find = || at.read(|tx| find::all_named(tx, at.agent_no, &[name.to_owned()], None));
    let nothing = change::Edit { verified: true, ..change::Edit::default() };
    let entries = if *edit == nothing {
        let entries = {
            let _desk = at.lock()?;
            find()?
        };
        super::files::edit(&context, &at, &entries[0])?;
        entries
    } else {
        let lock = at.lock()?;
        let entries = find()?;
        let written = change::edit(&lock, &entries[0], edit)?;
        drop(lock);
        context.instance().settle(&at);
        if !written && !context.json {
            print::line("It says so already; nothing was written.");
            return Ok(Exit::Ok);
        }
        entries
    };
    changed(&context, &at, &entries, "Changed")
}

fn supersede(global: &Global, old: &str, new: Option<&str>, text: Option<&str>) -> Result<Exit> {
    let text = text.map(remember::text_of).transpose()?;
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let lock = at.lock()?;
    let find = |name: &str| {
        at.read(|tx| find::all_named(tx, at.agent_no, &[name.to_owned()], None)).map(|mut found| found.remove(0))
    };
    let old = find(old)?;
    if let Some(text) = text {
        let class = leaf::class_of(&old).ok_or_else(none_yet)?;
        let new = NewLeaf { verified: true, ..NewLeaf::new(class, leaf::scope_of(&old), text) };
        let added = change::supersede_with(&lock, &old, &new)?;
        drop(lock);
        context.instance().settle(&at);
        return remember::told(global, &[added], false);
    }
    let new = find(new.unwrap_or_default())?;
    let written = change::supersede(&lock, &old, &new)?;
    drop(lock);
    context.instance().settle(&at);
    let said = if written { "Superseded" } else { "Was superseded already" };
    changed(&context, &at, &[old], said)
}

fn forget_all(global: &Global, names: &[String]) -> Result<Exit> {
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let (entries, also) = {
        let lock = at.lock()?;
        let entries = at.read(|tx| find::all_named(tx, at.agent_no, names, None))?;
        let also = heirloom_engine::forget::leaves(&lock, &entries)?;
        (entries, also)
    };
    context.instance().settle(&at);
    context.instance().erase(&at);
    if context.json {
        let ids: Vec<Option<&String>> = entries.iter().map(|e| e.item.as_ref()).collect();
        print::line(&json!({"forgotten": ids, "with": also.len()}).to_string());
        return Ok(Exit::Ok);
    }
    for entry in &entries {
        print::line(&format!("Forgotten: {}", entry.item.as_deref().unwrap_or_default()));
    }
    if !also.is_empty() {
        print::line(&format!("With it {} that said the same.", print::counted(also.len() as u64, "archived proposal")));
    }
    print::line(&Paint::stdout().dim("The conversations it came from still have the words."));
    Ok(Exit::Ok)
}

fn search(global: &Global, words: &str, filter: Filter, limit: usize) -> Result<Exit> {
    let context = Context::open(global)?;
    let filter = filter_of(&context, filter)?;
    let now = context.now();
    let mut found = FilesFound::default();
    let mut understood = context.understand(words)?;
    if let Some((at, _)) = context.look_at_assistant(ACTOR)? {
        let mut index = context.instance().caught_up_index(Some(&at))?;
        let wanted = FileFilter { kinds: vec![Kind::Leaf], limit: CANDIDATES.max(limit), ..FileFilter::default() };
        let allowed = at.read(|tx| find::list(tx, at.agent_no, &filter, now))?;
        let mut look = |query: &recall::Query| -> Result<FilesFound> {
            let mut found = recall::search_files(&at, &mut index, query, &wanted)?;
            found.hits.retain(|hit| allowed.iter().any(|e| e.file_no == hit.entry.file_no));
            Ok(found)
        };
        found = look(&understood.query)?;
        // A time somebody remembers wrongly must not hide what there is.
        if found.hits.is_empty()
            && let Some(wider) = understood.widen()
        {
            found = look(&wider)?;
        }
        found.hits.truncate(limit);
    }
    if context.json {
        let hits: Vec<Value> = found
            .hits
            .iter()
            .map(|hit| {
                let mut value = leaf_json(&hit.entry, now);
                value["score"] = json!((hit.score * 1000.0).round() / 1000.0);
                value["line"] = json!(hit.line);
                value["snippet"] = json!(heirloom_engine::report::hits::plain(&hit.passage));
                value["why"] = json!({"matched": hit.matched, "of": hit.of});
                value
            })
            .collect();
        let value = json!({
            "query": words, "looked_for": found.looked_for, "understood": json!(understood), "hits": hits,
            "too_frequent": found.too_frequent, "files_not_indexed": found.not_indexed,
        });
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    if found.hits.is_empty() {
        print::line("No memory has any of these words.");
    }
    for hit in &found.hits {
        let (id, title) = (hit.entry.item.as_deref().unwrap_or_default(), print::safe_line(&redact(&hit.entry.title)));
        let marks = marks(&hit.entry, now);
        let marks = if marks.is_empty() { marks } else { format!(" · {marks}") };
        print::line(&format!("{} · {id} · {}{marks}", Paint::stdout().bold(&title), kind_of(&hit.entry)));
        super::search::passage(&hit.passage, print::width(), Paint::stdout());
    }
    super::explained::note(&understood).iter().for_each(|note| print::note(note));
    if !found.too_frequent.is_empty() {
        let words = print::safe_line(&found.too_frequent.join(", "));
        print::note(&format!("too frequent to help, left out: {words}"));
    }
    if found.not_indexed > 0 {
        print::note(&format!("{} not searched yet: heirloom work", print::counted(found.not_indexed, "changed file")));
    }
    Ok(Exit::Ok)
}

//! `heirloom review`

use std::io::IsTerminal;

use console::{Key, Term};
use heirloom_engine::engine::{Decision, Engine};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::memory::{Class, leaf};
use heirloom_engine::report::review::{DecidedReport, DecisionsReport, InboxReport, WaitingReport};
use heirloom_engine::review::inbox::{Answer, Change};
use heirloom_engine::skill;
use heirloom_engine::tree::file_table::Kind;

use super::{proposal, remember};
use crate::context::{Context, Global, label_of};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Everything that waits for your yes, in one place
///
/// The entries are sentences you asked to remember, preferences and facts found in your prompts, memory that programs
/// propose, memories that contradict each other, procedures that could become skills, a language model's findings about
/// open loops, and edits of pages that were kept aside. On a terminal each is shown as a card and answered with one
/// key; anywhere else they are listed.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List the entries that wait for your decision, one line each
    List {
        /// Maximum number of entries
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show one entry: its text, where it was said, and what it would supersede
    Show {
        /// Id (p:…, u:…, s:…, k:…, o:…, r:…)
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Accept entries
    Accept {
        /// Ids (p:…, u:…, s:…, k:…, o:…, r:…)
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// Accept every waiting entry
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// Keep the memory it contradicts active, too, instead of superseding it
        #[arg(long)]
        both: bool,
        /// For a skill (k:…), the folder to write to: claude (.claude/skills of the project), agents (.agents/skills),
        /// workspace (the project's folder of the memory); can be given more than once
        #[arg(long, value_name = "PLACE", conflicts_with_all = ["all", "both"])]
        into: Vec<super::skill::Place>,
    },
    /// Change what an entry would remember, before you say yes
    Edit {
        /// Id (p:… or u:…)
        #[arg(value_name = "ID")]
        id: String,
        /// New text; a proposal with several memories takes it once for each
        #[arg(long = "text", value_name = "TEXT", allow_hyphen_values = true)]
        texts: Vec<String>,
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
    /// Reject entries; of two memories that contradict each other, both are kept
    Reject {
        /// Ids (p:…, u:…, s:…, k:…, o:…, r:…)
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// Reject every waiting entry
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// Reason, which is kept with a proposal
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        reason: Option<String>,
    },
    /// Undo a decision; without an id, the last one
    Undo {
        /// Ids (p:…, u:…, s:…, k:…, o:…, r:…)
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
}

const ACTOR: &str = "cli review";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        None => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
            match terminal && !global.json {
                true => cards(&engine),
                false => list(global, &engine, 50),
            }
        }
        Some(Command::List { limit }) => list(global, &Context::open(global)?.acting_as(ACTOR), limit),
        Some(Command::Show { id }) => show(global, &id),
        Some(Command::Accept { ids, all, both, into }) => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            let into: Vec<skill::Into> = into.into_iter().map(Into::into).collect();
            let said = if into.is_empty() { Answer::Accept { both } } else { Answer::Place { into } };
            answer(global, &engine, ids, all, said)
        }
        Some(Command::Reject { ids, all, reason }) => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            answer(global, &engine, ids, all, Answer::Reject { reason })
        }
        Some(Command::Undo { ids }) => {
            let report = Context::open(global)?.acting_as(ACTOR).decide(&Decision::Undo { items: ids })?;
            Ok(print_decisions(global, &report))
        }
        Some(Command::Edit { id, texts, class, scope, workspace }) => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            let class = class.as_deref().map(Class::parse).transpose()?;
            let scope = proposal::scope_of(&engine, scope.as_deref(), workspace.as_deref())?;
            let change = Change { entries: (!texts.is_empty()).then_some(texts), class, scope };
            if change == Change::default() {
                let exit = in_editor(global, &engine, &id)?;
                return Ok(exit);
            }
            Ok(print_decisions(global, &engine.decide(&Decision::Change { item: id, change })?))
        }
    }
}

fn found<'r>(report: &'r InboxReport, id: &str) -> Result<&'r WaitingReport> {
    let mut fits = report.waiting.iter().filter(|w| w.id == id || id.len() >= 4 && w.id.starts_with(id));
    fits.next().ok_or_else(|| Error::not_found(format!("{id} does not wait")).hint("heirloom review list"))
}

/// Opens the file of a proposal in the editor; other kinds of entries have no file of their own.
fn in_editor(global: &Global, engine: &Engine, id: &str) -> Result<Exit> {
    let inbox = engine.inbox()?;
    let item = found(&inbox, id)?;
    if item.kind != "proposal" {
        return Err(Error::usage("say what to change: --text, --class, --scope or --workspace"));
    }
    let entry = engine.act(|lock| heirloom_engine::review::waiting(lock, &item.id))?;
    debug_assert_eq!(entry.kind, Kind::Proposal);
    let changed = super::files::edit(global, engine, &entry)?;
    print::line(if changed { "Changed." } else { "Nothing was changed." });
    Ok(Exit::Ok)
}

fn answer(global: &Global, engine: &Engine, ids: Vec<String>, all: bool, answer: Answer) -> Result<Exit> {
    let items = match all {
        true => engine.inbox()?.waiting.into_iter().map(|w| (w.id, Some(w.version))).collect(),
        false => ids.into_iter().map(|id| (id, None)).collect::<Vec<_>>(),
    };
    if items.is_empty() && !global.json {
        print::line("Nothing waits for your yes.");
        return Ok(Exit::Ok);
    }
    Ok(print_decisions(global, &engine.decide(&Decision::Answer { items, answer })?))
}

/// Returns the class and place of an entry: `fact of barn`, `preference`, `your profile`.
fn kind_of(w: &WaitingReport) -> String {
    let class = match w.class.as_deref() {
        Some("profile") => "your profile",
        Some(class) => class,
        None => return w.path.clone().unwrap_or_default(),
    };
    let project = w.scope.as_deref().and_then(|s| s.strip_prefix("workspace/")).map(label_of);
    project.map_or_else(|| class.to_owned(), |project| format!("{class} of {project}"))
}

/// Returns the heading of each kind of entry in the list.
fn heading(kind: &str) -> &'static str {
    match kind {
        "supersession" => "Contradictions: does the newer one take the older one's place?",
        "noticed" => "Asked to remember, or noticed about you",
        "proposal" => "Proposed memory",
        "skill" => "Procedures that recur: shall they become skills?",
        "matter" => "What a language model says of open loops",
        _ => "Words of yours that were kept aside",
    }
}

fn list(global: &Global, engine: &Engine, limit: usize) -> Result<Exit> {
    let report = engine.inbox()?;
    Ok(print::answer(global.json, &report, || {
        if report.waiting.is_empty() {
            print::line("Nothing waits for your yes.");
            return;
        }
        let now = engine.now();
        let mut shown = 0;
        for kind in ["supersession", "noticed", "proposal", "skill", "matter", "edit"] {
            let of: Vec<&WaitingReport> = report.waiting.iter().filter(|w| w.kind == kind).collect();
            let of = &of[..of.len().min(limit - shown)];
            if of.is_empty() {
                continue;
            }
            if shown > 0 {
                print::line("");
            }
            shown += of.len();
            print::line(&Paint::stdout().bold(heading(kind)));
            let width = print::width().saturating_sub(40).max(40);
            for w in of {
                let text = if w.kind == "skill" { &w.title } else { w.entries.first().unwrap_or(&w.title) };
                let more = w.entries.len().saturating_sub(1);
                let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                let line = format!("{}{more}", print::cut(&print::safe_line(text), width));
                let by = w.model.as_ref().map(|model| format!("by {model}"));
                let about: Vec<String> =
                    [Some(kind_of(w)), by, Some(print::when(w.since_ms, now))].into_iter().flatten().collect();
                let about = about.join(", ");
                print::line(&format!("  {}  {line}  {}", w.id, Paint::stdout().dim(&print::safe_line(&about))));
                for older in &w.replaces {
                    let text = print::cut(&print::safe_line(&older.text), width);
                    print::line(&Paint::stdout().dim(&format!("      in place of: {text} · {}", older.id)));
                }
                if let Some(problem) = &w.problem {
                    print::line(&Paint::stdout().warn(&format!("      {}", print::safe_line(problem))));
                }
            }
        }
        if shown < report.waiting.len() {
            print::line(&Paint::stdout().dim(&format!("… and {} more: -n", report.waiting.len() - shown)));
        }
        print::line("");
        print::line(&Paint::stdout().dim("heirloom review accept ID… · reject ID… · edit ID · show ID · undo"));
    }))
}

fn show(global: &Global, id: &str) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let inbox = engine.inbox()?;
    let item = found(&inbox, id)?;
    Ok(print::answer(global.json, item, || card(&engine, item)))
}

/// Prints one entry in full.
fn card(engine: &Engine, w: &WaitingReport) {
    let paint = Paint::stdout();
    let when = print::when(w.since_ms, engine.now());
    let what = match w.kind {
        "supersession" => "contradiction",
        "edit" => "kept aside",
        kind => kind,
    };
    print::line(&paint.dim(&print::safe_line(&format!("{} · {what} · {} · {when}", w.id, kind_of(w)))));
    let draft = w.entries.iter().filter(|_| w.kind == "skill").flat_map(|text| text.lines());
    draft.for_each(|line| print::line(&format!("  {}", print::safe_line(line))));
    for entry in w.entries.iter().filter(|_| w.kind != "skill") {
        print::line(&format!("  {}", paint.bold(&print::safe_line(entry))));
    }
    for older in &w.replaces {
        print::line(&format!("  in place of: {} · {}", print::safe_line(&older.text), older.id));
    }
    for piece in &w.evidence {
        print::line(&paint.dim(&print::safe_line(&format!("  seen: {piece}"))));
    }
    if let Some(model) = &w.model {
        print::line(&paint.dim(&print::safe_line(&format!("  found by {model}"))));
    }
    let mut evidence = Vec::new();
    evidence.extend(w.session.as_deref().map(|s| format!("said in {s}")));
    if !w.turns.is_empty() {
        evidence.push(format!("heirloom expand {}", w.turns[0]));
    }
    evidence.extend(w.seen.filter(|n| *n > 1).map(|n| format!("{n} times")));
    evidence.extend(w.path.as_ref().filter(|_| w.kind != "edit").cloned());
    if !evidence.is_empty() {
        print::line(&paint.dim(&print::safe_line(&format!("  {}", evidence.join(" · ")))));
    }
    if let Some(problem) = &w.problem {
        print::line(&paint.warn(&print::safe_line(&format!("  {problem}"))));
    }
}

/// Prints the outcome of decisions. If one was refused, the exit code says so.
fn print_decisions(global: &Global, report: &DecisionsReport) -> Exit {
    let exit = print::answer(global.json, report, || people(report));
    if report.refused.is_empty() { exit } else { Exit::Refused }
}

fn people(report: &DecisionsReport) {
    for item in &report.items {
        decided(item);
    }
    for refused in &report.refused {
        print::note(&format!("{}: {}", refused.id, print::safe_line(&refused.what)));
        if let Some(next) = &refused.next {
            print::note(&format!("  {}", print::safe_line(next)));
        }
    }
}

fn decided(item: &DecidedReport) {
    let title = print::safe_line(&item.title);
    let said = match item.outcome {
        "accepted" if item.profile.is_some() => "Set in your profile",
        "accepted" if item.path.is_some() => "Put back",
        "accepted" if !item.placed.is_empty() => "Written",
        "accepted" if item.id.starts_with("o:") => "Done",
        "accepted" if item.memories.is_empty() && item.superseded.is_empty() => "Both hold",
        "accepted" => "Accepted",
        "rejected" if item.id.starts_with("s:") => "Both hold",
        "rejected" => "Rejected",
        "changed" => "Changed",
        _ if !item.placed.is_empty() => "Accepted, as it was",
        _ => "Waits again",
    };
    print::line(&format!("{said}: {title} · {}", item.id));
    let dim = |text: String| print::line(&Paint::stdout().dim(&format!("  {text}")));
    item.memories.iter().for_each(|memory| dim(remember::sentence(memory)));
    item.superseded.iter().for_each(|id| dim(format!("in place of {id}, which stays as history")));
    item.placed.iter().for_each(|path| dim(format!("to {}", print::safe_line(path))));
    item.path.iter().for_each(|path| dim(format!("in {}", print::safe_line(path))));
    item.removed.iter().for_each(|id| dim(format!("gone again: {id}")));
    item.restored.iter().for_each(|id| dim(format!("counts again: {id}")));
}

const KEYS: &str = "a accept · e edit · r reject · s skip · u undo · q quit";

/// Shows one card after the other and answers each with a key.
fn cards(engine: &Engine) -> Result<Exit> {
    let term = Term::stdout();
    let mut passed: Vec<String> = Vec::new();
    let mut count = 0;
    loop {
        let inbox = engine.inbox()?;
        let Some(item) = inbox.waiting.iter().find(|w| !passed.contains(&w.id)) else {
            let left = inbox.waiting.len();
            print::line(&match (left, count) {
                (0, 0) => "Nothing waits for your yes.".to_owned(),
                (0, _) => "That was all.".to_owned(),
                (left, _) => format!("{} still waiting.", print::counted(left as u64, "item")),
            });
            return Ok(Exit::Ok);
        };
        let left = inbox.waiting.iter().filter(|w| !passed.contains(&w.id)).count();
        print::line(&Paint::stdout().dim(&format!("{left} to go")));
        card(engine, item);
        print::line(&Paint::stdout().dim(KEYS));
        let one = vec![(item.id.clone(), Some(item.version.clone()))];
        let key = term.read_key().map_err(|e| Error::usage("the terminal cannot be read").because(e))?;
        let decision = match key {
            Key::Char('a' | 'A' | 'y') | Key::Enter if item.kind == "skill" => match place(&term)? {
                Some(into) => Decision::Answer { items: one, answer: Answer::Place { into: vec![into] } },
                None => continue,
            },
            Key::Char('a' | 'A' | 'y') | Key::Enter => {
                Decision::Answer { items: one, answer: Answer::Accept { both: false } }
            }
            Key::Char('r' | 'R' | 'n') => Decision::Answer { items: one, answer: Answer::Reject { reason: None } },
            Key::Char('u' | 'U') => Decision::Undo { items: Vec::new() },
            Key::Char('s' | 'S') => {
                passed.push(item.id.clone());
                print::line("");
                continue;
            }
            Key::Char('e' | 'E') => match edited(&term, item)? {
                Some(change) => Decision::Change { item: item.id.clone(), change },
                None => continue,
            },
            Key::Char('q' | 'Q') | Key::Escape | Key::CtrlC | Key::UnknownEscSeq(_) => return Ok(Exit::Ok),
            _ => continue,
        };
        count += 1;
        match engine.decide(&decision) {
            Ok(report) => {
                people(&report);
                // An undone entry is shown again; an entry that cannot be decided is not shown a second time.
                report.items.iter().filter(|i| i.outcome == "undone").for_each(|i| passed.retain(|p| *p != i.id));
                passed.extend(report.refused.into_iter().map(|r| r.id));
            }
            Err(e) => print::note(&e.to_string()),
        }
        print::line("");
    }
}

/// Asks with a key where a skill is written; `None` if the person postpones it.
fn place(term: &Term) -> Result<Option<skill::Into>> {
    print::line(
        "Where to? c .claude/skills · a .agents/skills · w the project's folder of the memory · any other key: not yet",
    );
    let key = term.read_key().map_err(|e| Error::usage("the terminal cannot be read").because(e))?;
    Ok(match key {
        Key::Char('c' | 'C') => Some(super::skill::Place::Claude.into()),
        Key::Char('a' | 'A') => Some(super::skill::Place::Agents.into()),
        Key::Char('w' | 'W') => Some(super::skill::Place::Workspace.into()),
        _ => None,
    })
}

/// Asks for the new text of an entry on one line; `None` if it stays.
fn edited(term: &Term, item: &WaitingReport) -> Result<Option<Change>> {
    if !matches!(item.kind, "proposal" | "noticed") {
        print::note("nothing to edit here: accept or reject it");
        return Ok(None);
    }
    if item.entries.len() != 1 {
        print::note(&format!("it has several lines: heirloom review edit {}", item.id));
        return Ok(None);
    }
    let old = &item.entries[0];
    let own =
        old.split_once(": ").filter(|_| item.class.as_deref() == Some("profile")).map_or(old.as_str(), |(_, v)| v);
    print::line(&format!("New text in place of {:?}; nothing leaves it as it is:", print::safe_line(own)));
    let text = term.read_line().map_err(|e| Error::usage("the terminal cannot be read").because(e))?;
    let text = text.trim();
    if text.is_empty() || text == own {
        return Ok(None);
    }
    leaf::check_text(text)?;
    Ok(Some(Change { entries: Some(vec![text.to_owned()]), ..Change::default() }))
}

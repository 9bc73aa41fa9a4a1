//! `heirloom thread`

use std::collections::HashMap;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::distill::state::{self, State};
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::ledger::{Read, Write};
use heirloom_engine::lineage::Node;
use heirloom_engine::lineage::distillate::Item;
use heirloom_engine::pages::PageKey;
use heirloom_engine::redact::redact;
use heirloom_engine::scope::{AgentNo, SessionKey, ThreadKey, ThreadNo};
use heirloom_engine::thread::{self, Counts, Link, Participants, SessionIn, Stretch, ThreadRow, reading};
use heirloom_engine::transcript::read;
use serde_json::{Value, json};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Threads: what you work on, across sessions and programs
///
/// A thread is a project, a person, a topic or a conversation of several people. T is its key, a name it has or had, or
/// the beginning of what stands behind the slash of its key, from six characters on.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// What is being worked on, newest first
    List {
        /// Closed and merged ones, too
        #[arg(long)]
        all: bool,
        /// Only those one session was in, with its turns
        #[arg(long, value_name = "KEY")]
        session: Option<String>,
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Where a thread stands: goal, what is open, who takes part, its sessions, nodes and links
    Show {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
    },
    /// Call a thread something else; its old names lead to it still
    Name {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
        /// A few words
        #[arg(value_name = "NAME", allow_hyphen_values = true)]
        name: String,
    },
    /// Make a thread part of another
    Merge {
        /// The thread that becomes part
        #[arg(value_name = "FROM")]
        from: String,
        /// The thread it becomes part of
        #[arg(value_name = "INTO")]
        into: String,
    },
    /// Take a merged thread out again
    Unmerge {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
    },
    /// Take a thread off the list, until something new begins in it
    Close {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
    },
    /// Put a closed thread back on the list
    Reopen {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
    },
    /// Say that two threads may know of each other
    Link {
        #[arg(value_name = "A", help = HELP_T)]
        one: String,
        #[arg(value_name = "B", help = HELP_T)]
        other: String,
        /// What they have to do with each other
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        why: Option<String>,
    },
    /// Take a link away
    Unlink {
        #[arg(value_name = "A", help = HELP_T)]
        one: String,
        #[arg(value_name = "B", help = HELP_T)]
        other: String,
    },
    /// From its next prompt on, let a session belong to a thread
    Switch {
        /// The thread; a key topic/… or lane/… that is new begins one
        #[arg(value_name = "T", required_unless_present = "auto")]
        thread: Option<String>,
        /// The one it belongs to by itself, instead
        #[arg(long, conflicts_with = "thread")]
        auto: bool,
        /// The session; the beginning of its id is enough
        #[arg(long, value_name = "KEY")]
        session: String,
    },
}

const HELP_T: &str = "A thread: its key, name or the beginning of its key";

const ACTOR: &str = "cli thread";

/// So many sessions, nodes and lines of a kind are shown of a thread.
const SESSIONS: usize = 10;
const NODES: usize = 5;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List { all, session, limit } => list(global, all, session.as_deref(), limit),
        Command::Show { thread } => show(global, &thread),
        Command::Name { thread, name } => {
            let row = act(global, "thread.rename", |tx, agent| {
                let no = thread::named(tx, agent, &thread)?.no;
                thread::rename(tx, agent, no, &name)
            })?;
            told(global, &row, true, &format!("{} is now called {}", row.key, label(&row)))
        }
        Command::Merge { from, into } => {
            let (part, row) = act(global, "thread.merge", |tx, agent| {
                let part = thread::called(tx, agent, &from)?;
                let into = thread::named(tx, agent, &into)?.no;
                let row = thread::merge(tx, agent, part.no, into)?;
                Ok((part, row))
            })?;
            told(global, &row, true, &format!("{} is now part of {}", part.key, row.key))
        }
        Command::Unmerge { thread } => {
            let row = act(global, "thread.unmerge", |tx, agent| {
                let no = thread::called(tx, agent, &thread)?.no;
                thread::unmerge(tx, agent, no)
            })?;
            told(global, &row, true, &format!("{} is a thread of its own again", row.key))
        }
        Command::Close { thread } => {
            let (row, changed) = act(global, "thread.close", |tx, agent| {
                let no = thread::named(tx, agent, &thread)?.no;
                let changed = thread::close(tx, agent, no)?;
                Ok((thread::row(tx, agent, no)?, changed))
            })?;
            told(
                global,
                &row,
                changed,
                &format!("{} {}", row.key, if changed { "is closed" } else { "was closed already" }),
            )
        }
        Command::Reopen { thread } => {
            let (row, changed) = act(global, "thread.reopen", |tx, agent| {
                let no = thread::named(tx, agent, &thread)?.no;
                let changed = thread::reopen(tx, agent, no)?;
                Ok((thread::row(tx, agent, no)?, changed))
            })?;
            told(global, &row, changed, &format!("{} {}", row.key, if changed { "is open again" } else { "is open" }))
        }
        Command::Link { one, other, why } => {
            let (rows, changed) = act(global, "thread.link", |tx, agent| {
                let rows = [thread::named(tx, agent, &one)?, thread::named(tx, agent, &other)?];
                let changed = thread::link(tx, agent, rows[0].no, rows[1].no, why.as_deref())?;
                Ok((rows, changed))
            })?;
            told_both(global, &rows, changed, if changed { "are linked now" } else { "are linked already" })
        }
        Command::Unlink { one, other } => {
            let rows = act(global, "thread.unlink", |tx, agent| {
                let rows = [thread::named(tx, agent, &one)?, thread::named(tx, agent, &other)?];
                thread::unlink(tx, agent, rows[0].no, rows[1].no)?;
                Ok(rows)
            })?;
            told_both(global, &rows, true, "are no longer linked")
        }
        Command::Switch { thread, session, .. } => switch(global, thread.as_deref(), &session),
    }
}

/// One transaction with its audit row, then the pages that show it.
fn act<T>(global: &Global, action: &'static str, f: impl FnOnce(&mut Write, AgentNo) -> Result<T>) -> Result<T> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let at = context.assistant(ACTOR)?;
    let done = at.write(action, |tx| f(tx, agent_no))?;
    context.instance().settle(&at);
    Ok(done)
}

fn switch(global: &Global, name: Option<&str>, session: &str) -> Result<Exit> {
    let (session, row) = act(global, "thread.switch", |tx, agent| {
        let session = read::session_named(tx, agent, session)?;
        let row = name.map(|name| meant_or_new(tx, agent, name)).transpose()?;
        thread::switch_session(tx, agent, session.no, row.as_ref().map(|row| row.no))?;
        Ok((session.key, row))
    })?;
    if global.json {
        let row = row.as_ref().map(row_json).transpose()?;
        print::line(&json!({"session": session.as_str(), "thread": row}).to_string());
    } else {
        let to =
            row.map_or("the thread it belongs to by itself".into(), |row| format!("{} · {}", label(&row), row.key));
        print::line(&format!("From its next prompt on {session} belongs to {to}"));
    }
    Ok(Exit::Ok)
}

/// The thread of a name. A topic or a conversation may begin here; projects, people and sessions are what they are.
fn meant_or_new(tx: &mut Write, agent_no: AgentNo, name: &str) -> Result<ThreadRow> {
    let key = ThreadKey::parse(name).ok().filter(|key| matches!(key.kind(), "topic" | "lane"));
    match (thread::named(tx, agent_no, name), key) {
        (Err(e), Some(key)) if e.kind() == ErrorKind::NotFound => thread::begin(tx, agent_no, &key),
        (Err(e), None) if e.kind() == ErrorKind::NotFound => {
            Err(Error::not_found(e.to_string()).hint("see heirloom thread list, or begin one: topic/a-few-words"))
        }
        (found, _) => found,
    }
}

fn told(global: &Global, row: &ThreadRow, changed: bool, said: &str) -> Result<Exit> {
    if global.json {
        let row = row_json(row)?;
        print::line(&json!({"thread": row, "changed": changed}).to_string());
    } else {
        print::line(&format!("{}.", print::safe_line(said)));
    }
    Ok(Exit::Ok)
}

fn told_both(global: &Global, rows: &[ThreadRow; 2], changed: bool, said: &str) -> Result<Exit> {
    if global.json {
        let rows = rows.iter().map(row_json).collect::<Result<Vec<_>>>()?;
        print::line(&json!({"threads": rows, "changed": changed}).to_string());
    } else {
        print::line(&format!("{} and {} {said}.", print::safe_line(&rows[0].key), print::safe_line(&rows[1].key)));
    }
    Ok(Exit::Ok)
}

fn label(row: &ThreadRow) -> String {
    print::safe_line(&redact(&row.label))
}

/// The page of a thread, below the assistant home.
fn page(row: &ThreadRow) -> Result<String> {
    Ok(PageKey::Thread(row.file.clone()).path()?.as_str().to_owned())
}

/// A thread, for programs.
fn row_json(row: &ThreadRow) -> Result<Value> {
    Ok(json!({
        "thread": row.key, "kind": row.key()?.kind(), "label": redact(&row.label), "state": row.state, "page": page(row)?,
        "created_at": rfc3339(row.created_at), "last_at": row.last_at.map(rfc3339),
    }))
}

fn stretch_json(stretch: &Stretch) -> Value {
    json!({"lane": stretch.lane, "runs": stretch.runs, "first": stretch.turns.0, "last": stretch.turns.1})
}

fn list(global: &Global, all: bool, session: Option<&str>, limit: usize) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let (mut rows, counts, stretches) = context.read(|tx| {
        let rows = if all { thread::list_all(tx, agent_no)? } else { thread::list(tx, agent_no)? };
        let stretches = match session {
            Some(name) => Some(thread::stretches(tx, read::session_named(tx, agent_no, name)?.no)?),
            None => None,
        };
        Ok((rows, reading::counts(tx, agent_no)?, stretches))
    })?;
    // What a session was in is told whether or not it has been closed since.
    match &stretches {
        Some(of) => rows.retain(|row| of.iter().any(|s| s.thread_no == row.no)),
        None => rows.retain(|row| all || row.state == "active"),
    }
    let within =
        |row: &ThreadRow| -> Vec<&Stretch> { stretches.iter().flatten().filter(|s| s.thread_no == row.no).collect() };
    let keys: HashMap<ThreadNo, String> = rows.iter().map(|row| (row.no, row.key.clone())).collect();
    let into = |row: &ThreadRow| row.merged_into.and_then(|no| keys.get(&no));
    let count = rows.len();
    let count_of = |row: &ThreadRow| counts.get(&row.no).copied().unwrap_or_default();
    let shown = &rows[..count.min(limit)];
    if global.json {
        let list = shown.iter().map(|row| {
            let (mut value, Counts { sessions, runs }) = (row_json(row)?, count_of(row));
            value["merged_into"] = json!(into(row));
            value["sessions"] = json!(sessions);
            value["runs"] = json!(runs);
            value["in_session"] = within(row).into_iter().map(stretch_json).collect();
            Ok(value)
        });
        print::line(&json!({"threads": list.collect::<Result<Vec<_>>>()?, "all": count}).to_string());
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        print::line(match (session, all) {
            (Some(_), _) => "It is in no thread yet.",
            (None, true) => "No threads yet.",
            (None, false) => "Nothing is being worked on.",
        });
    }
    let now = context.now();
    let table: Vec<Vec<String>> = shown
        .iter()
        .map(|row| {
            let Counts { sessions, runs } = count_of(row);
            let spans: Vec<String> = within(row).iter().map(|s| format!("{} to {}", s.turns.0, s.turns.1)).collect();
            let note = match into(row) {
                Some(key) => format!("part of {}", print::safe_line(key)),
                None if row.state == "closed" => "closed".into(),
                None => print::cut(&spans.join(", "), 60),
            };
            vec![
                print::when(row.last_at, now),
                print::cut(&label(row), 40),
                print::counted(sessions, "session"),
                print::counted(runs, "run"),
                print::safe_line(&row.key),
                note,
            ]
        })
        .collect();
    print::list(&table, count);
    Ok(Exit::Ok)
}

/// All that is shown of a thread.
struct Shown {
    row: ThreadRow,
    counts: Counts,
    turns: u64,
    names: Vec<String>,
    merged: Vec<ThreadRow>,
    participants: Participants,
    /// With what each session is called.
    sessions: Vec<(SessionIn, String)>,
    links: Vec<(ThreadRow, Link)>,
    state: State,
}

fn gather(tx: &Read, agent_no: AgentNo, name: &str) -> Result<Shown> {
    let row = thread::named(tx, agent_no, name)?;
    let members = thread::members(tx, row.no)?;
    let opener = Opener::default();
    let sessions = thread::sessions(tx, &members, SESSIONS)?.into_iter().map(|s| {
        let title = programs::name_of(tx, &opener, &read::session_named(tx, agent_no, s.session.as_str())?)?;
        Ok((s, title))
    });
    let links = thread::links(tx, row.no)?.into_iter().map(|l| Ok((thread::row(tx, agent_no, l.thread_no)?, l)));
    let merged = members.iter().filter(|no| **no != row.no).map(|no| thread::row(tx, agent_no, *no));
    let names = reading::names(tx, agent_no, &members)?;
    Ok(Shown {
        counts: reading::counts_of(tx, &members)?,
        turns: reading::turns(tx, &members)?,
        names: names.into_iter().filter(|name| !name.eq_ignore_ascii_case(&row.label)).collect(),
        merged: merged.collect::<Result<_>>()?,
        participants: thread::participants(tx, agent_no, &members)?,
        sessions: sessions.collect::<Result<_>>()?,
        links: links.collect::<Result<_>>()?,
        state: state::of_thread(tx, &members)?,
        row,
    })
}

fn item_json(item: &Item) -> Value {
    json!({"text": redact(&item.text), "turns": item.turns})
}

fn node_json(node: &Node) -> Value {
    json!({"node": node.id.to_string(), "kind": node.kind.name(), "depth": node.depth, "first": node.turns.0,
           "last": node.turns.1, "last_at": node.times.1.map(rfc3339), "summary": redact(&node.summary)})
}

fn shown_json(shown: &Shown) -> Result<Value> {
    let mut thread = row_json(&shown.row)?;
    thread["sessions"] = json!(shown.counts.sessions);
    thread["runs"] = json!(shown.counts.runs);
    thread["turns"] = json!(shown.turns);
    let items = |items: &[Item]| items.iter().map(item_json).collect::<Vec<_>>();
    let said = &shown.state.distillate;
    let sessions = shown.sessions.iter().map(|(s, title)| {
        json!({"session": s.session.as_str(), "title": title, "runs": s.runs, "first": s.turns.0, "last": s.turns.1,
               "last_at": s.last_at.map(rfc3339)})
    });
    let links = shown.links.iter().map(|(row, link)| {
        json!({"thread": row.key, "label": redact(&row.label), "why": link.why.as_deref().map(redact), "at": rfc3339(link.at)})
    });
    Ok(json!({
        "thread": thread, "names": shown.names.iter().map(|n| redact(n)).collect::<Vec<_>>(),
        "merged": shown.merged.iter().map(|row| json!({"thread": row.key, "label": redact(&row.label)})).collect::<Vec<_>>(),
        "people": shown.participants.people.iter().map(|n| redact(n)).collect::<Vec<_>>(), "programs": shown.participants.programs,
        "state": {"goal": said.goal.as_ref().map(item_json), "open": items(&said.open_loops), "next": items(&said.next_steps)},
        "sessions": sessions.collect::<Vec<_>>(), "links": links.collect::<Vec<_>>(),
        "nodes": shown.state.nodes.iter().take(NODES).map(node_json).collect::<Vec<_>>(),
    }))
}

fn show(global: &Global, name: &str) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let shown = context.read(|tx| gather(tx, agent_no, name))?;
    if global.json {
        print::line(&shown_json(&shown)?.to_string());
        return Ok(Exit::Ok);
    }
    let (now, paint) = (context.now(), Paint::stdout());
    let Shown { row, counts, .. } = &shown;
    print::line(&paint.bold(&label(row)));
    let mut rows = vec![
        vec!["Thread".to_owned(), print::safe_line(&row.key)],
        vec!["State".into(), format!("{}, last worked in: {}", row.state, print::when(row.last_at, now))],
        vec![
            "Holds".into(),
            format!(
                "{} in {}, {}",
                print::counted(counts.runs, "run"),
                print::counted(counts.sessions, "session"),
                print::counted(shown.turns, "turn")
            ),
        ],
    ];
    let mut add = |what: &str, words: Vec<String>| {
        if !words.is_empty() {
            rows.push(vec![what.to_owned(), words.join(", ")]);
        }
    };
    let clean = |text: &String| print::safe_line(&redact(text));
    add("People", shown.participants.people.iter().map(clean).collect());
    let titles = shown.participants.programs.iter().map(|name| programs::title(&SessionKey::new(name, "")).to_owned());
    add("Programs", titles.collect());
    add("Also called", shown.names.iter().map(clean).collect());
    add("Merged into it", shown.merged.iter().map(|m| print::safe_line(&m.key)).collect());
    add("Page", vec![page(row)?]);
    print::out(&print::table(&rows));
    let said = &shown.state.distillate;
    for (title, items) in [("Goal", said.goal.as_slice()), ("Open", &said.open_loops), ("Next", &said.next_steps)] {
        let lines = items.iter().map(|item| {
            let from = item.turns.first().map(|t| t.to_string()).unwrap_or_default();
            vec![format!("  {}", print::cut(&clean(&item.text), 100)), from]
        });
        section(title, lines.collect());
    }
    let links = shown.links.iter().map(|(other, link)| {
        vec![
            format!("  {}", label(other)),
            print::safe_line(&other.key),
            link.why.as_ref().map(clean).unwrap_or_default(),
        ]
    });
    section("Linked", links.collect());
    let sessions = shown.sessions.iter().map(|(s, title)| {
        vec![
            format!("  {}", print::when(s.last_at, now)),
            print::counted(s.runs, "run"),
            print::safe_line(s.session.as_str()),
            print::cut(title, 48),
        ]
    });
    section("Sessions", sessions.collect());
    let nodes = shown.state.nodes.iter().take(NODES).map(|n| {
        vec![
            format!("  {}", n.id),
            n.kind.name().to_owned(),
            print::when(n.times.1, now),
            print::cut(&clean(&n.summary), 72),
        ]
    });
    section("Newest nodes", nodes.collect());
    Ok(Exit::Ok)
}

/// A titled table, unless it is empty.
fn section(title: &str, rows: Vec<Vec<String>>) {
    if !rows.is_empty() {
        print::line(&format!("\n{title}"));
        print::out(&print::table(&rows));
    }
}

//! Forgets a session, turns, or every occurrence of some words (R14.2). Storey 4.
//!
//! [`plan`] finds what has to be removed and reports it without changing anything. [`carry_out`] removes it under the
//! tree lock: stars replace the words in Heirloom's logs and in unreadable calls ([`beside`]); one transaction erases the
//! words from the ledger ([`erase`]), remakes the nodes made from them ([`nodes`]) and stores which files to remove; then
//! the files are removed. [`finish`] does what no transaction can: it renders pages again and removes the words from the
//! search index, unused database pages, logs and copies made before a migration. A ledger row per agent, without any of the words, marks the forget as unfinished; so after a
//! kill at any moment either nothing but stars in those files has happened, or the next command finishes the work.
//!
//! The addresses of forgotten records stay, so that [`transcript::append()`](crate::transcript::append()) refuses to
//! store them again. The programs' own files are listed and not changed.

mod beside;
mod derived;
mod erase;
mod find;
mod leaves;
mod names;
mod nodes;
mod slugs;
mod strays;
mod visible;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, params};
use serde::{Serialize, Serializer};

use self::derived::Marks;
use self::erase::Erasure;
use self::find::Found;
use self::names::Names;
use self::strays::Strays;
use self::visible::{Files, Title};
use self::words::Words;
use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{Kind, RelPath, layout};
use crate::index::Index;
use crate::inject;
use crate::ledger::{Ledger, Read};
use crate::memory;
use crate::redact::redact;
use crate::render::{self, Occasion, Refreshed};
use crate::scope::{AgentNo, NodeId, SessionNo, TurnId};
use crate::transcript::prepare::OriginForm;
use crate::tree::file_table::{self, Entry};
use crate::tree::journal::{Act, Step, hex};
use crate::tree::{AssistantHome, TreeLock};

/// Key prefix of the `meta` row which marks an agent's forget as unfinished; its value is the time of the next attempt.
const PENDING: &str = "forgetting/";

/// Key of the `meta` row which says that the index contains forgotten names, so that it has to be made anew.
const IN_INDEX: &str = "forgotten_names_in_index";

/// Time after a failed attempt (a full disk, a permanent reader) in which other commands do not try again.
const PAUSE_MS: Millis = 10 * 60 * 1000;

/// Number of times a page that was saved a moment ago is waited for: in all a little longer than a file must be
/// unchanged before it is written.
const WAITS: usize = 4;
const WAIT: std::time::Duration = std::time::Duration::from_millis(700);

/// The thing a person asks to forget.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wish {
    /// A session, by its key or the beginning of its id.
    Session(String),
    Turns(Vec<TurnId>),
    /// A person: the turns they said, and every place that contains the name as a whole word, in upper or lower case.
    Person(String),
    /// A project, by its id, label or whole path: its sessions, its memory, and every place that contains one of these
    /// as a whole word.
    Project(String),
    /// A thread: what was said in it, and its names where they name it. Words outside it that happen to contain such a
    /// name stay; they are listed.
    Thread(String),
    /// All turns and records that contain a text, literally or as quoted in JSON; with a time range only the turns in
    /// it.
    Match {
        text: String,
        ignore_case: bool,
        since: Option<Millis>,
        until: Option<Millis>,
    },
}

/// A wish, with a fact about programs that the engine does not know.
pub struct Request<'r> {
    pub wish: Wish,
    /// Whether entry ids of a program are unique across sessions.
    pub global_ids: &'r dyn Fn(&str) -> bool,
}

/// Counts and lists of what would be removed and what would stay. Apart from file names, it contains none of the
/// forgotten words.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Preview {
    pub turns: u64,
    /// Source records whose bytes are erased; some make no turn.
    pub records: u64,
    pub bytes: u64,
    /// Number of unterminated file ends that are erased.
    #[serde(rename = "unterminated")]
    pub ends: u64,
    /// Number of texts that no row points to and that are erased as well.
    pub strays: u64,
    /// Number of forgotten turns by session; 0 where only other records of a session are erased.
    #[serde(serialize_with = "as_sessions")]
    pub sessions: BTreeMap<String, u64>,
    /// Number of sessions that lose their title.
    pub titles: u64,
    /// Open loops, proposals, memories and artifacts that are removed.
    pub items: Vec<ItemGone>,
    /// Pages that show the words now and are rendered again.
    pub pages: Vec<String>,
    /// Files with the words that people or other programs wrote, and the settings: they are listed, never changed.
    pub by_hand: Vec<String>,
    /// Logs and unreadable calls of hooks, in which stars replace the words.
    pub masked: Vec<String>,
    /// Ids of agents that contain the words, and stay: they name the folder of the agent's tree and its lock.
    pub agent_names: Vec<String>,
    /// Ids of the other agents that have the words. A forget is of one agent, so they keep them.
    pub other_agents: Vec<String>,
    /// Folders beside the home in which a restore set an older state of it aside. They may have the words, and stay.
    #[serde(serialize_with = "as_shown")]
    pub set_aside: Vec<PathBuf>,
    /// Files outside a forgotten thread that say its name, and stay.
    pub kept: Vec<String>,
    /// Nodes that become tombstones and are remade from what is left.
    pub nodes: Vec<NodeId>,
    /// Number of other ledger rows that are removed or lose their text, by table.
    #[serde(serialize_with = "as_map")]
    pub rows: Vec<(&'static str, u64)>,
    /// Number of rows with the words in a name, an id, an address or a path, by table: a mark replaces the words.
    #[serde(serialize_with = "as_names")]
    pub names: Vec<(String, u64)>,
    /// Copies of the ledger made before a migration, which are removed.
    #[serde(serialize_with = "as_shown")]
    pub backups: Vec<PathBuf>,
    /// The programs' own stores, which still contain the turns and are not changed.
    #[serde(serialize_with = "as_shown")]
    pub not_ours: Vec<PathBuf>,
    /// Turns that have the same words, or say the name of a forgotten thread, and stay: the wish does not name them.
    #[serde(rename = "other_turns")]
    pub others: Vec<TurnId>,
}

/// A visible file that is removed.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ItemGone {
    pub id: String,
    pub kind: &'static str,
    pub path: String,
}

fn as_sessions<S: Serializer>(sessions: &BTreeMap<String, u64>, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_seq(sessions.iter().map(|(key, turns)| serde_json::json!({"session": key, "turns": turns})))
}

fn as_map<S: Serializer>(rows: &[(&'static str, u64)], to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(rows.iter().copied())
}

fn as_names<S: Serializer>(rows: &[(String, u64)], to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(rows.iter().map(|(table, n)| (table, n)))
}

fn as_shown<S: Serializer>(paths: &[PathBuf], to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| path.display().to_string()))
}

/// Everything that a wish removes.
pub struct Plan {
    pub preview: Preview,
    found: Found,
    words: Words,
    ids: HashSet<String>,
    named: bool,
    nodes: Vec<NodeId>,
    files: Files,
    titles: BTreeSet<SessionNo>,
    names: Names,
    strays: Strays,
    /// State of the ledger when it was searched.
    seen: Reached,
}

impl Plan {
    /// Whether there is nothing left to forget.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
            && self.files.items.is_empty()
            && self.files.gone.is_empty()
            && self.nodes.is_empty()
            && self.preview.rows.is_empty()
            && self.preview.names.is_empty()
            && self.titles.is_empty()
            && self.preview.strays == 0
            && self.preview.masked.is_empty()
    }

    /// Whether this agent itself has something to forget, or a person wrote the words into its tree. What all agents
    /// share does not count: names of the audit, logs, left-over texts, the settings.
    pub fn is_of(&self, at: &AssistantHome) -> bool {
        let names = self.preview.names.iter().any(|(table, _)| !["audit", "names"].contains(&table.as_str()));
        let tree = at.files.shown();
        names
            || !self.found.is_empty()
            || !self.files.items.is_empty()
            || !self.files.pages.is_empty()
            || !self.files.gone.is_empty()
            || !self.nodes.is_empty()
            || !self.preview.rows.is_empty()
            || !self.titles.is_empty()
            || self.files.by_hand.iter().any(|path| Path::new(path).starts_with(tree))
    }
}

/// Finds what has to be removed. Changes nothing. `progress` receives the number of bytes searched. `NotFound` if a
/// session or turn is not the agent's, `Usage` for an empty text.
pub fn plan(at: &AssistantHome, request: &Request, progress: &mut dyn FnMut(u64)) -> Result<Plan> {
    let agent = at.agent_no;
    let mut title = None;
    let (words, names, named) = match &request.wish {
        Wish::Person(name) if name.trim().is_empty() => return Err(Error::usage("a person without a name")),
        Wish::Person(name) => (Words::names([name.trim()], true), Names::whole([name.as_str()], true), true),
        Wish::Project(name) => {
            let all = at.read(|tx| find::names_of_project(tx, agent, name))?;
            let all = || all.iter().map(String::as_str);
            (Words::names(all(), false), Names::whole(all(), false), true)
        }
        Wish::Thread(name) => {
            let (all, page) = at.read(|tx| find::names_of_thread(tx, agent, name))?;
            let names = Names::of_thread(&all, page.as_deref())?;
            title = Some(Title { words: Words::names(all.iter().map(String::as_str), false), page });
            (Words::default(), names, false)
        }
        Wish::Match { text, .. } if text.trim().is_empty() => {
            return Err(Error::usage("there is nothing to look for in an empty text"));
        }
        Wish::Match { text, ignore_case, since, until } => {
            let names = match (since, until) {
                (None, None) => Names::new([text.as_str()], *ignore_case),
                _ => Names::default(),
            };
            (Words::given([text.as_str()], *ignore_case), names, true)
        }
        _ => (Words::default(), Names::default(), false),
    };
    let (found, seen) = at.read(|tx| {
        let mut found = find::find(tx, agent, request, &words, progress)?;
        if let Some(title) = &title {
            find::say_name(tx, agent, &title.words, &mut found)?;
        }
        Ok((found, reached(tx)?))
    })?;
    // If no words were named, derived data is searched for the texts of the turns.
    let words = if named { words } else { Words::stored(found.texts.iter().map(String::as_str)) };
    let mut ids: HashSet<String> = find::names(&found.turns).into_iter().collect();
    let sessions: Vec<String> = at.read(|tx| keys_of(tx, &found.whole))?;
    let nodes = at.read(|tx| nodes::affected(tx, agent, &found.turns, &words))?;
    ids.extend(nodes.iter().map(NodeId::to_string));
    let files =
        visible::look(at, &Marks { words: &words, ids: ids.clone() }, &sessions, named, title.as_ref(), names.slugs())?;
    ids.extend(files.items.iter().filter_map(|e| e.item.clone()));
    let marks = Marks { words: &words, ids };
    let (titles, strays, preview) = at.read(|tx| {
        let titles = erase::titles(tx, agent, &found, &marks)?;
        let strays = strays::all(tx)?;
        // A stretch does not show which turn it repeats: if no words were named, each of them may be meant.
        let shown = strays::count(tx, &strays, |text| !named || marks.words.are_quoted_in(text))?;
        let mut preview = Preview {
            turns: found.turns.len() as u64,
            records: found.records.len() as u64,
            ends: found.pending.len() as u64,
            sessions: find::by_session(tx, &found)?,
            titles: titles.len() as u64,
            nodes: nodes.clone(),
            rows: rows(tx, agent, &found, &marks, named)?,
            names: names.count(tx, agent)?,
            others: found.others.iter().copied().collect(),
            not_ours: not_ours(tx, &found)?,
            strays: shown,
            ..Preview::default()
        };
        let mut length = tx.prepare_cached("SELECT length FROM records WHERE record_no = ?1")?;
        for record in &found.records {
            preview.bytes += length.query_row([record], |r| r.get::<_, i64>(0))? as u64;
        }
        Ok((titles, strays, preview))
    })?;
    let of_item = |e: &crate::tree::file_table::Entry| ItemGone {
        id: redact(e.item.as_deref().unwrap_or_default()).into_owned(),
        kind: e.kind.name(),
        path: redact(e.path.as_str()).into_owned(),
    };
    let shown = |path: &RelPath| redact(&at.home().root().join(path.as_str()).display().to_string()).into_owned();
    let preview = Preview {
        items: files.items.iter().map(of_item).collect(),
        pages: files.pages.iter().map(|e| e.path.as_str().to_owned()).collect(),
        by_hand: files.by_hand.iter().map(|path| redact(path).into_owned()).collect(),
        kept: files.kept.iter().map(|path| redact(path).into_owned()).collect(),
        masked: {
            let left = beside::left_in_tree(at, marks.words);
            let left = left.iter().map(|path| redact(&at.shown(path)).into_owned());
            beside::own(at.home(), marks.words, named).iter().map(shown).chain(left).collect()
        },
        agent_names: if named { agents_named(at, marks.words)? } else { Vec::new() },
        set_aside: beside::set_aside(at.home()),
        backups: backups(at)?,
        ..preview
    };
    Ok(Plan { preview, found, ids: marks.ids, words, named, nodes, files, titles, names, strays, seen })
}

/// Carries out a plan. `Busy` if something was stored after the plan was made: plan again. [`finish`] does the rest
/// afterwards. Returns the files that were to be removed but were saved by a person meanwhile.
pub fn carry_out(lock: &TreeLock, plan: &Plan) -> Result<Vec<String>> {
    let mut act = Act::new("transcript.forget");
    for entry in &plan.files.items {
        act = act.step(Step::Forget { path: entry.path.as_str().into(), digest: hex(&entry.digest) });
    }
    // The ledger keeps no words by which a later command could finish this, so it comes first.
    beside::blank(lock.at, &plan.words, plan.named)?;
    let marks = Marks { words: &plan.words, ids: plan.ids.clone() };
    let gone_files: Vec<String> = plan.files.gone.clone();
    lock.perform(act, |tx| {
        if reached(tx)? != plan.seen {
            return Err(Error::new(ErrorKind::Busy, "something was stored or forgotten while it was looked for"));
        }
        Erasure {
            agent_no: lock.at.agent_no,
            found: &plan.found,
            marks: &marks,
            named: plan.named,
            nodes: &plan.nodes,
            gone_files: &gone_files,
            titles: &plan.titles,
            names: &plan.names,
            strays: &plan.strays,
        }
        .run(tx)
    })?;
    let mut kept = Vec::new();
    for entry in &plan.files.items {
        if lock.at.files.stat(&entry.path)?.is_some() {
            kept.push(lock.at.shown(&entry.path));
        }
    }
    Ok(kept)
}

/// Returns the agents whose forget is unfinished and due for another attempt.
pub fn unfinished(ledger: &Ledger) -> Result<Vec<AgentNo>> {
    let now = ledger.now();
    ledger.read(|tx| {
        let mut statement = tx.prepare_cached(
            "SELECT CAST(substr(key, length(?1) + 1) AS INTEGER) FROM meta
             WHERE key >= ?1 AND key < ?1 || '~' AND CAST(value AS INTEGER) <= ?2",
        )?;
        let rows = statement.query_map(params![PENDING, now], |r| r.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}

/// Whether the words of a forget may still stand outside the ledger.
pub fn is_unfinished(tx: &Read) -> Result<bool> {
    Ok(tx.prepare_cached("SELECT 1 FROM meta WHERE key >= ?1 AND key < ?1 || '~'")?.exists([PENDING])?)
}

/// Removes forgotten words from everything beside the ledger's rows: files of an interrupted act, rendered pages, the
/// index, copies, unused pages and logs. Idempotent; one process at a time. After an error another command tries again:
/// the next one, or, with `pause`, one in ten minutes. Returns what happened to the pages.
pub fn finish(at: &AssistantHome, index: Option<&mut Index>, pause: bool) -> Result<Refreshed> {
    let _alone = at.home().lock("forget")?;
    let key = format!("{PENDING}{}", at.agent_no);
    let Some(asked) = pending(at, &key)? else { return Ok(Refreshed::default()) };
    let done = everywhere(at, index);
    match &done {
        Ok(_) => {
            // Another forget may have set a newer value meanwhile; that forget is still to be finished.
            at.write("transcript.forgotten", |tx| {
                // The files are gone by now; their names and ids are made of their words.
                inject::forget_unknown(tx, at.agent_no)?;
                file_table::forget_unlisted_revisions(tx, at.agent_no)?;
                tx.execute("DELETE FROM meta WHERE key = ?1", [IN_INDEX])?;
                Ok(tx.execute("DELETE FROM meta WHERE key = ?1 AND value = ?2", [&key, &asked]).map(drop)?)
            })?;
            at.ledger.empty_log()?;
        }
        Err(e) => {
            let again = at.ledger.now() + if pause { PAUSE_MS } else { 0 };
            let kind = format!("{:?}", e.kind()).to_lowercase();
            at.write("transcript.forget_again", |tx| {
                tx.execute("UPDATE meta SET value = ?2 WHERE key = ?1", params![key, again.to_string()])?;
                tx.note("because", kind);
                Ok(())
            })?;
        }
    }
    done
}

fn pending(at: &AssistantHome, key: &str) -> Result<Option<String>> {
    at.read(|tx| {
        let value = tx.query_row("SELECT value FROM meta WHERE key = ?1", [key], |r| r.get(0)).optional()?;
        Ok(value)
    })
}

/// Whether the index has to be made anew before [`finish`], because it contains forgotten names.
pub fn names_are_in_index(ledger: &Ledger) -> Result<bool> {
    ledger.read(|tx| Ok(tx.prepare_cached("SELECT 1 FROM meta WHERE key = ?1")?.exists([IN_INDEX])?))
}

/// Removes empty folders of projects the ledger does not know: a folder's name is the name of its project.
fn empty_folders(at: &AssistantHome) -> Result<()> {
    fn remove(at: &AssistantHome, folder: &RelPath) -> Result<()> {
        for entry in at.files.list(folder)? {
            if let (Kind::Directory, Some(name)) = (entry.kind, entry.name.to_str()) {
                remove(at, &folder.join(name)?)?;
            }
        }
        at.files.remove_empty_dir(folder).map(drop)
    }
    let known: HashSet<String> = at.read(|tx| {
        let mut statement = tx.prepare("SELECT workspace_id FROM workspaces WHERE agent_no = ?1")?;
        let rows = statement.query_map([at.agent_no], |r| r.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })?;
    let folders = match at.files.list(&layout::WORKSPACE_MEMORY) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    for entry in folders {
        if let (Kind::Directory, Some(name)) = (entry.kind, entry.name.to_str())
            && !known.contains(name)
        {
            remove(at, &layout::WORKSPACE_MEMORY.join(name)?)?;
        }
    }
    Ok(())
}

fn everywhere(at: &AssistantHome, index: Option<&mut Index>) -> Result<Refreshed> {
    let refreshed = pages(at)?;
    empty_folders(at)?;
    let scratch = at.home().open_dir(&layout::SCRATCH)?;
    if let Some(index) = index {
        index.erase_gone_files(at)?;
        index.erase_forgotten(at.ledger, scratch.shown())?;
    }
    let folder = at.home().open_dir(&layout::BACKUPS)?;
    for path in backups(at)? {
        if let Some(name) = path.file_name().and_then(|n| n.to_str()) {
            folder.remove(&RelPath::parse(name)?)?;
        }
    }
    // Removes copies of other programs' stores and of this home, which killed commands left. A process that has one of
    // these files open keeps it until it ends.
    for entry in scratch.entries()? {
        if entry.kind == Kind::File
            && let Some(Ok(name)) = entry.name.to_str().map(RelPath::parse)
        {
            scratch.remove(&name)?;
        } else if entry.kind == Kind::Directory {
            let folder = scratch.shown().join(&entry.name);
            std::fs::remove_dir_all(&folder).map_err(|e| Error::io("remove", &folder, e))?;
        }
    }
    at.ledger.rewrite(scratch.shown())?;
    Ok(refreshed)
}

/// Renders the pages that contain the words. A page saved a moment ago still has the words, so it is waited for.
fn pages(at: &AssistantHome) -> Result<Refreshed> {
    let mut refreshed = render::refresh_at(&at.lock()?, Occasion::Act)?;
    for _ in 0..WAITS {
        if refreshed.deferred.is_empty() {
            break;
        }
        std::thread::sleep(WAIT);
        let written = std::mem::take(&mut refreshed.written);
        refreshed = render::refresh_at(&at.lock()?, Occasion::Act)?;
        refreshed.written.extend(written);
    }
    match (refreshed.deferred.first(), refreshed.failed.first()) {
        (Some(page), _) => Err(Error::new(ErrorKind::Busy, format!("{} is being edited", at.shown(page)))
            .hint("let its editor come to rest and run the command again")),
        (_, Some(problem)) => Err(Error::new(ErrorKind::Machine, problem.to_string())),
        _ => Ok(refreshed),
    }
}

/// Highest numbers in the ledger, which show whether a plan is still right: something may have been stored, or
/// forgotten by another command.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reached {
    record: i64,
    turn: i64,
    node: i64,
    forgets: i64,
}

fn reached(tx: &Read) -> Result<Reached> {
    Ok(tx.query_row(
        "SELECT (SELECT coalesce(max(record_no), 0) FROM records), (SELECT coalesce(max(turn_no), 0) FROM turns),
                (SELECT coalesce(max(node_no), 0) FROM nodes),
                (SELECT count(*) FROM audit WHERE action = 'transcript.forget')",
        [],
        |r| Ok(Reached { record: r.get(0)?, turn: r.get(1)?, node: r.get(2)?, forgets: r.get(3)? }),
    )?)
}

/// Returns the ids of all agents that contain the words.
fn agents_named(at: &AssistantHome, words: &Words) -> Result<Vec<String>> {
    at.read(|tx| {
        let mut statement = tx.prepare_cached("SELECT agent_id FROM agents ORDER BY agent_no")?;
        let all = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
        Ok(all.into_iter().filter(|id| words.are_in(id.as_bytes())).collect())
    })
}

fn keys_of(tx: &Read, sessions: &BTreeSet<SessionNo>) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached("SELECT session_key FROM sessions WHERE session_no = ?1")?;
    sessions.iter().map(|no| Ok(statement.query_row([no], |r| r.get(0))?)).collect()
}

/// Counts the ledger rows that are removed or lose their text, including notices from these turns.
fn rows(tx: &Read, agent: AgentNo, found: &Found, marks: &Marks, named: bool) -> Result<Vec<(&'static str, u64)>> {
    let mut noticed: BTreeSet<i64> = BTreeSet::new();
    for turn in &found.turns {
        noticed.extend(derived::noticed(tx, *turn, None)?);
    }
    for session in &found.whole {
        noticed.extend(derived::noticed(tx, TurnId(0), Some(*session))?);
    }
    let mut rows = derived::count(tx, agent, marks, named)?;
    if !noticed.is_empty() {
        match rows.iter_mut().find(|(table, _)| *table == "pending_memory") {
            Some((_, n)) => *n = (*n).max(noticed.len() as u64),
            None => rows.push(("pending_memory", noticed.len() as u64)),
        }
    }
    Ok(rows)
}

/// Returns the stores these records were read from, if they still exist.
fn not_ours(tx: &Read, found: &Found) -> Result<Vec<PathBuf>> {
    const LIVE: i64 = OriginForm::Live as i64;
    let mut statement = tx.prepare_cached(&format!(
        "SELECT path FROM records JOIN streams USING (stream_no) JOIN sources USING (source_no)
         WHERE record_no = ?1 AND form != {LIVE}"
    ))?;
    let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
    for record in &found.records {
        let path: Option<Vec<u8>> = statement.query_row([record], |r| r.get(0)).optional()?;
        paths.extend(path.map(|p| PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(p))));
    }
    Ok(paths.into_iter().filter(|p| p.exists()).collect())
}

/// Returns the copies of the ledger made before a migration.
fn backups(at: &AssistantHome) -> Result<Vec<PathBuf>> {
    let folder = at.home().open_dir(&layout::BACKUPS)?;
    let ours = |name: &str| name.starts_with("runtime-") && (name.ends_with(".db") || name.contains(".db-"));
    let entries = folder.entries()?;
    let names = entries.iter().filter_map(|e| e.name.to_str()).filter(|name| ours(name));
    Ok(names.map(|name| folder.shown().join(name)).collect())
}

/// Forgets memory leaves, all or none, together with the contexts programs were given. Returns the paths of other files
/// that were removed with them. The words stay in the conversations the leaves came from.
pub fn leaves(lock: &TreeLock, entries: &[Entry]) -> Result<Vec<String>> {
    let agent_no = lock.at.agent_no;
    memory::forget::forget(lock, entries, |tx| {
        inject::forget_given(tx, agent_no)?;
        inject::forget_items(tx, agent_no, entries.iter().filter_map(|e| e.item.as_deref()))
    })
}

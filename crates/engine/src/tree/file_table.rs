//! The file table: one row for every visible file, so that listing needs no file to be opened (D1, R9.2). The table is
//! derived from the files: deleting its rows loses nothing.

use rusqlite::{OptionalExtension, Row, params};
use serde_json::{Map, Value};

use crate::document::{Document, Front};
use crate::error::{Error, Result};
use crate::home::{Digest, MemoryPath, RelPath, Stamp};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened, PageKey, Period, RuntimePage};
use crate::redact::redact;
use crate::scope::{AgentNo, ChangeNo, FileNo, named};
use crate::title::{TitleKey, active_name, short_of_file};

named! {
    /// The kind of a visible file, decided by its path.
    pub enum Kind {
        /// IDENTITY, SOUL, AGENTS, USER: written once by bootstrap and owned by the human afterwards.
        Page = "page",
        /// MEMORY.md, ACTIVE.md and thread pages: part of the file is rendered.
        Head = "head",
        OpenLoop = "loop",
        Proposal = "proposal",
        Daily = "daily",
        Artifact = "artifact",
        Rollup = "rollup",
        /// `memory/MEMORY.md` and the index of each workspace.
        Index = "index",
        /// One durable memory.
        Leaf = "memory",
        /// Rendered pages about the recent runs of a workspace.
        Runtime = "runtime",
        /// A skill candidate.
        Skill = "skill",
        /// Any other Markdown file a person keeps in the tree.
        Note = "note",
    }
}

impl Kind {
    /// Whether a file of this kind is rendered from other files and turns. People may write around its rendered blocks.
    pub fn is_rendered(self) -> bool {
        matches!(self, Kind::Head | Kind::Daily | Kind::Rollup | Kind::Index | Kind::Runtime)
    }

    /// Returns the letter before the colon of an item id: `l:`, `p:`, `m:`, `a:`.
    pub fn prefix(self) -> Option<char> {
        match self {
            Kind::OpenLoop => Some('l'),
            Kind::Proposal => Some('p'),
            Kind::Leaf => Some('m'),
            Kind::Artifact => Some('a'),
            _ => None,
        }
    }
}

named! {
    /// Whether a file is current, archived, or gone.
    pub enum State {
        Active = "active",
        Archived = "archived",
        Gone = "gone",
    }
}

impl State {
    fn parse(name: &str) -> State {
        State::named(name).unwrap_or(State::Gone)
    }
}

/// Returns the kind and state of the file at a path; `None` for files that are not tracked (hidden files, anything but
/// Markdown).
pub fn classify(path: &RelPath) -> Option<(Kind, State)> {
    let parts: Vec<&str> = path.components().collect();
    if !path.name().ends_with(".md") || parts.iter().any(|p| p.starts_with('.')) {
        return None;
    }
    let kind = match parts.as_slice() {
        ["IDENTITY.md" | "SOUL.md" | "AGENTS.md" | "USER.md"] => Kind::Page,
        ["MEMORY.md"] | ["continuity", "ACTIVE.md"] | ["continuity", "threads", _] => Kind::Head,
        ["continuity", "open-loops", "archive", ..] => return Some((Kind::OpenLoop, State::Archived)),
        ["continuity", "open-loops", _] => Kind::OpenLoop,
        ["continuity", "proposals", "memory", "archive", ..] => return Some((Kind::Proposal, State::Archived)),
        ["continuity", "proposals", "memory", _] => Kind::Proposal,
        ["continuity", "daily", ..] => Kind::Daily,
        ["continuity", "artifacts", ..] => Kind::Artifact,
        ["continuity", "rollups", "README.md"] => Kind::Note,
        ["continuity", "rollups", ..] => Kind::Rollup,
        ["memory", "MEMORY.md"] | ["memory", "workspace", _, "MEMORY.md"] => Kind::Index,
        ["memory", "preference" | "identity", _] => Kind::Leaf,
        ["memory", "workspace", _, "knowledge", "facts" | "procedures" | "blockers" | "references", _] => Kind::Leaf,
        ["memory", "workspace", _, "runtime", ..] => Kind::Runtime,
        ["memory", "workspace", _, "evolve", "skills", ..] => Kind::Skill,
        _ => Kind::Note,
    };
    Some((kind, State::Active))
}

/// A row of the file table.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub file_no: FileNo,
    pub path: RelPath,
    pub kind: Kind,
    pub state: State,
    pub stamp: Stamp,
    pub digest: Digest,
    /// Digest of Heirloom's last write to the file; if it differs from `digest`, a person has edited the file.
    pub published: Option<Digest>,
    /// Id of the item, `l:…`, `p:…`, `m:…`: derived from the file name.
    pub item: Option<String>,
    pub title: String,
    pub class: Option<String>,
    /// `agent` or `workspace/<id>`.
    pub scope: Option<String>,
    pub status: Option<String>,
    /// Front matter, or the `- Key: value` lines of a file without front matter.
    pub fields: Map<String, Value>,
    /// Problem with the file, if there is one.
    pub problem: Option<String>,
    /// Grows with every change of any file of the agent.
    pub change_no: ChangeNo,
}

impl Entry {
    pub fn field(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    /// Whether a person edited the file after Heirloom last wrote it, or Heirloom never wrote it.
    pub fn by_hand(&self) -> bool {
        self.published != Some(self.digest)
    }
}

/// Values read from a file's own text.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Described {
    pub item: Option<String>,
    pub title: String,
    pub class: Option<String>,
    pub scope: Option<String>,
    pub status: Option<String>,
    pub fields: Map<String, Value>,
    pub problem: Option<String>,
}

/// The longest title kept in a row; longer ones are cut.
const LONGEST_TITLE: usize = 300;

/// Keys that acts add to a file that had no front matter before.
const BY_ACTS: &[&str] = &[
    "status",
    "flush",
    "resolved",
    "resolution",
    "reopened",
    "merged",
    "leaves",
    "known",
    "rejected",
    "reason",
    "class",
    "scope",
    "due",
    "thread",
    "pinned",
    "verified",
    "supersedes",
    "superseded_by",
    "beside",
];

/// Keys of `- Key: value` lines that are metadata rather than content.
const METADATA: &[&str] = &["id", "status", "class", "scope", "source", "confidence", "proposed", "format"];

/// Returns the `- Key: value` lines that are metadata. Only a file without front matter has such lines, and they stay
/// metadata when an act has added its own front matter keys above them.
pub(crate) fn metadata_bullets(doc: &Document) -> Vec<(String, String)> {
    let bullets = doc.bullets();
    let certain = |key: &str| METADATA.contains(&key.to_lowercase().as_str());
    let had_none = doc.fields().keys().all(|key| BY_ACTS.contains(&key.as_str()));
    let told = || doc.fields().contains_key("flush") && bullets.iter().any(|(key, _)| certain(key));
    match doc.fields().is_empty() || (had_none && told()) {
        true => bullets,
        false => Vec::new(),
    }
}

pub(super) fn describe(path: &RelPath, kind: Kind, state: State, doc: &Document) -> Described {
    let mut problem = match doc.front() {
        Front::Damaged(why) => {
            Some(format!("its front matter cannot be read: {why}; mend it by hand, till then it is left alone"))
        }
        _ => None,
    };
    let bullets = metadata_bullets(doc).into_iter();
    let mut fields: Map<String, Value> =
        bullets.map(|(key, value)| (key.trim().to_lowercase().replace(' ', "_"), Value::String(value))).collect();
    fields.extend(doc.fields().clone());
    let field = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let stem = path.name().strip_suffix(".md").unwrap_or(path.name());
    let title = field("title").or_else(|| doc.heading()).unwrap_or_else(|| stem.to_owned());
    // Every list, page and answer shows the title, and a title typed by hand passes no other redaction.
    let mut title = redact(&title).into_owned();
    if let Some((at, _)) = title.char_indices().nth(LONGEST_TITLE) {
        title.truncate(at);
    }
    let item = kind.prefix().map(|p| format!("{p}:{}", short_of_file(path.name())));
    if problem.is_none() {
        problem = field("id").and_then(|named| identity_problem(path, kind, item.as_deref(), &named));
    }
    let parts: Vec<&str> = path.components().collect();
    let (mut class, mut scope) = (field("class"), field("scope"));
    if kind == Kind::Leaf {
        let (stands, within) = match parts.as_slice() {
            ["memory", "workspace", id, "knowledge", folder, _] => {
                (folder.strip_suffix('s').unwrap_or(folder), format!("workspace/{id}"))
            }
            ["memory", class, _] => (*class, "agent".to_owned()),
            _ => ("", String::new()),
        };
        for (says, is) in [(&class, stands), (&scope, within.as_str())] {
            if let Some(says) = says
                && says != is
                && problem.is_none()
            {
                problem = Some(format!(
                    "it says {says} and stands where {is} belongs; the place counts: correct the line, or move the file"
                ));
            }
        }
        if let Err(e) = MemoryPath::parse(path.as_str().strip_prefix("memory/").unwrap_or_default(), None)
            && problem.is_none()
        {
            problem = Some(format!("it is not listed, since {e}; rename it"));
        }
        (class, scope) = (Some(stands.to_owned()), Some(within));
    }
    let status = match (kind, state) {
        (Kind::OpenLoop, State::Archived) => Some("resolved".into()),
        (Kind::OpenLoop, _) => Some("open".into()),
        (Kind::Proposal, State::Archived) if parts.contains(&"merged") => Some("merged".into()),
        (Kind::Proposal, State::Archived) => Some("rejected".into()),
        (Kind::Proposal, _) => Some("pending".into()),
        (Kind::Leaf, _) if field("superseded_by").is_some() => Some("superseded".into()),
        (Kind::Leaf, _) => Some("active".into()),
        _ => field("status"),
    };
    Described { item, title, class, scope, status, fields, problem }
}

/// Returns a problem if the id in a file belongs to another item than the file's name and path.
fn identity_problem(path: &RelPath, kind: Kind, item: Option<&str>, named: &str) -> Option<String> {
    let (letter, _) = named.split_once(':')?;
    let says = Kind::ALL.iter().find(|k| k.prefix().is_some_and(|p| p.to_string() == letter))?;
    if item == Some(named) || (item.is_none() && kind != Kind::Note) {
        return None;
    }
    Some(if *says == kind {
        format!(
            "it is called {} and says it is {named}: a renamed or copied file; give it back its name, or remove its id line to make it an item of its own",
            active_name(path.name())
        )
    } else {
        let what = kind_in_words(*says);
        format!(
            "it says it is the {what} {named} and does not stand where one belongs; move it back, or remove its id line"
        )
    })
}

/// Returns the event that a change of a file means for the pages that show it. Editing a rendered page marks that page
/// itself.
pub(super) fn happened_to(path: &RelPath, kind: Kind) -> Option<Happened> {
    let parts: Vec<&str> = path.components().collect();
    Some(match (kind, parts.as_slice()) {
        (Kind::OpenLoop, _) => Happened::LoopChanged,
        (Kind::Proposal, _) => Happened::ProposalChanged,
        (Kind::Artifact, _) => Happened::ArtifactChanged,
        (Kind::Leaf, ["memory", "workspace", id, ..]) => Happened::MemoryEdited { workspace: Some((*id).to_owned()) },
        (Kind::Leaf, _) => Happened::MemoryEdited { workspace: None },
        _ => Happened::PageEdited(page_at(kind, &parts)?),
    })
}

/// Returns the page whose file is at this path, if editing that file marks the page.
fn page_at(kind: Kind, parts: &[&str]) -> Option<PageKey> {
    match (kind, parts) {
        (Kind::Head, ["continuity", "ACTIVE.md"]) => Some(PageKey::Active),
        (Kind::Head, ["MEMORY.md"]) => Some(PageKey::Memory),
        (Kind::Index, ["memory", "MEMORY.md"]) => Some(PageKey::AgentIndex),
        (Kind::Index, ["memory", "workspace", id, _]) => Some(PageKey::WorkspaceIndex((*id).to_owned())),
        // A note at any other path is not the page of its day, and must not create one.
        (Kind::Daily, ["continuity", "daily", year, month, name]) => {
            let date = name.strip_suffix(".md").filter(|date| date.starts_with(&format!("{year}-{month}-")))?;
            Some(PageKey::Daily(date.parse().ok()?))
        }
        (Kind::Rollup, ["continuity", "rollups", year, name]) => {
            let period = name.strip_suffix(".md").filter(|period| period.starts_with(&format!("{year}-")))?;
            Some(PageKey::Rollup(Period::parse(period)?))
        }
        (Kind::Runtime, ["memory", "workspace", id, "runtime", name]) => {
            Some(PageKey::Runtime((*id).to_owned(), RuntimePage::parse(name.strip_suffix(".md")?)?))
        }
        _ => None,
    }
}

/// Returns the event for a page of a session, whose key cannot be derived from the path alone. Only pages that were
/// rendered before are found.
pub(super) fn session_page(tx: &Read, agent_no: AgentNo, path: &RelPath) -> Result<Option<Happened>> {
    let parts: Vec<&str> = path.components().collect();
    let ["memory", "workspace", id, "runtime", "session-memory", name] = parts.as_slice() else { return Ok(None) };
    let Some(stem) = name.strip_suffix(".md") else { return Ok(None) };
    Ok(pages::known_session(tx, agent_no, id, stem)?.map(Happened::PageEdited))
}

/// Returns the page files of the thread with this key, and of the thread it was merged into.
fn thread_files(tx: &Read, agent_no: AgentNo, key: &str) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached(
        "SELECT file FROM threads WHERE agent_no = ?1 AND (thread_key = ?2 OR thread_no =
           (SELECT merged_into FROM threads WHERE agent_no = ?1 AND thread_key = ?2))",
    )?;
    let rows = statement.query_map(params![agent_no, key], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the ids of the workspaces that have memory files.
pub(crate) fn workspaces_of_memory(tx: &Read, agent_no: AgentNo) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT scope FROM catalogue WHERE agent_no = ?1 AND kind = 'memory' AND state != 'gone'",
    )?;
    let rows = statement.query_map([agent_no], |r| r.get::<_, Option<String>>(0))?;
    let scopes: Vec<Option<String>> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(scopes.iter().flatten().filter_map(|s| s.strip_prefix("workspace/")).map(str::to_owned).collect())
}

/// The state of a file as read from disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub stamp: Stamp,
    /// When the file was read.
    pub seen_ns: i64,
    pub digest: Digest,
    /// Digest of a version that the caller has just published.
    pub published: Option<Digest>,
}

/// Values of the row before the change.
struct Before {
    digest: Vec<u8>,
    state: String,
    published: Option<Vec<u8>>,
    /// Thread a loop or a proposal belonged to.
    thread: Option<String>,
}

/// Stores the state of a file in its row. Returns whether anything relevant has changed.
pub(super) fn store(
    tx: &Write,
    agent_no: AgentNo,
    path: &RelPath,
    (kind, state): (Kind, State),
    seen: &Seen,
    said: &Described,
) -> Result<bool> {
    let Seen { stamp, seen_ns, digest, published } = *seen;
    let known = tx
        .prepare_cached(
            "SELECT digest, state, published, iif(kind IN ('loop', 'proposal'), fields ->> 'thread', NULL) FROM catalogue
             WHERE agent_no = ?1 AND path = ?2",
        )?
        .query_row(params![agent_no, path.as_str()], |r| {
            Ok(Before { digest: r.get(0)?, state: r.get(1)?, published: r.get(2)?, thread: r.get(3)? })
        })
        .optional()?;
    let same = known.as_ref().is_some_and(|k| k.digest == digest && k.state == state.name());
    // The previous thread no longer shows the item; the new thread is looked up when pages are rendered.
    if let Some(thread) = known.as_ref().and_then(|k| k.thread.as_deref())
        && said.fields.get("thread").and_then(Value::as_str) != Some(thread)
    {
        let threads = thread_files(tx, agent_no, thread)?;
        pages::mark(tx, agent_no, &Happened::OwedLeft { threads })?;
    }
    let published = published.map(|p| p.to_vec()).or_else(|| known.and_then(|k| k.published));
    if same {
        tx.prepare_cached(
            "UPDATE catalogue SET size = ?3, modified_ns = ?4, changed_ns = ?5, inode = ?6, seen_ns = ?7, published = ?8
             WHERE agent_no = ?1 AND path = ?2",
        )?
        .execute(params![
            agent_no, path.as_str(), stamp.size as i64, stamp.modified_ns, stamp.changed_ns, stamp.inode as i64, seen_ns,
            published
        ])?;
        return Ok(false);
    }
    tx.prepare_cached(
        "INSERT INTO catalogue (agent_no, path, kind, state, size, modified_ns, changed_ns, inode, seen_ns, digest, published,
                                item, title, class, scope, status, fields, problem, change_no)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                 (SELECT coalesce(max(change_no), 0) + 1 FROM catalogue WHERE agent_no = ?1))
         ON CONFLICT (agent_no, path) DO UPDATE SET
           kind = excluded.kind, state = excluded.state, size = excluded.size, modified_ns = excluded.modified_ns,
           changed_ns = excluded.changed_ns, inode = excluded.inode, seen_ns = excluded.seen_ns, digest = excluded.digest,
           published = excluded.published, item = excluded.item, title = excluded.title, class = excluded.class,
           scope = excluded.scope, status = excluded.status, fields = excluded.fields, problem = excluded.problem,
           change_no = excluded.change_no",
    )?
    .execute(params![
        agent_no, path.as_str(), kind.name(), state.name(), stamp.size as i64, stamp.modified_ns, stamp.changed_ns,
        stamp.inode as i64, seen_ns, digest.as_slice(), published, said.item, said.title, said.class, said.scope,
        said.status, Value::Object(said.fields.clone()).to_string(), said.problem
    ])?;
    Ok(true)
}

/// Selects memories that name their successor: file, folder, status, and whether the successor exists.
const WITH_SUCCESSOR: &str = "SELECT file_no, path, status, EXISTS (
         SELECT 1 FROM catalogue n WHERE n.agent_no = c.agent_no AND n.item = c.fields ->> 'superseded_by'
           AND n.kind = 'memory' AND n.state = 'active')
     FROM catalogue c WHERE c.agent_no = ?1 AND c.kind = 'memory' AND c.state = 'active'
       AND c.fields ->> 'superseded_by' LIKE 'm:%'";

/// Updates the status of superseded memories: a memory whose successor is gone without having been forgotten counts
/// again, until the successor is back. Returns the events of the changed memories.
pub(super) fn settle_successors(tx: &Write, agent_no: AgentNo) -> Result<Vec<Happened>> {
    let mut statement = tx.prepare_cached(WITH_SUCCESSOR)?;
    let rows = statement.query_map([agent_no], |r| {
        let superseded = r.get::<_, Option<String>>(2)?.as_deref() == Some("superseded");
        Ok((r.get::<_, FileNo>(0)?, r.get::<_, String>(1)?, superseded, r.get::<_, bool>(3)?))
    })?;
    let rows: Vec<_> = rows.collect::<rusqlite::Result<_>>()?;
    let mut changes = Vec::new();
    for (file_no, path, _, there) in rows.into_iter().filter(|(_, _, superseded, there)| superseded != there) {
        tx.prepare_cached(
            "UPDATE catalogue SET status = ?3, change_no = (SELECT max(change_no) + 1 FROM catalogue WHERE agent_no = ?1)
             WHERE agent_no = ?1 AND file_no = ?2",
        )?
        .execute(params![agent_no, file_no, if there { "superseded" } else { "active" }])?;
        changes.extend(happened_to(&RelPath::parse(&path)?, Kind::Leaf));
    }
    Ok(changes)
}

/// Whether [`settle_successors`] has anything to do.
pub(super) fn successors_differ(tx: &Read, agent_no: AgentNo) -> Result<bool> {
    let mut statement = tx.prepare_cached(WITH_SUCCESSOR)?;
    let mut rows = statement.query([agent_no])?;
    while let Some(r) = rows.next()? {
        if (r.get::<_, Option<String>>(2)?.as_deref() == Some("superseded")) != r.get::<_, bool>(3)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Records that a file no longer exists.
pub(super) fn gone(tx: &Write, agent_no: AgentNo, path: &str) -> Result<()> {
    tx.prepare_cached(
        "UPDATE catalogue SET state = 'gone',
                change_no = (SELECT max(change_no) + 1 FROM catalogue WHERE agent_no = ?1)
         WHERE agent_no = ?1 AND path = ?2 AND state != 'gone'",
    )?
    .execute(params![agent_no, path])?;
    Ok(())
}

/// Deletes every word of a removed file, its name included, from its row and its revisions. The row's number stays, so
/// that readers of [`changes`] drop their copies.
pub(crate) fn forget(tx: &Write, agent_no: AgentNo, path: &str) -> Result<()> {
    tx.prepare_cached("DELETE FROM file_revisions WHERE agent_no = ?1 AND path = ?2")?
        .execute(params![agent_no, path])?;
    tx.prepare_cached(
        "UPDATE catalogue SET path = 'forgotten/' || file_no || '.md', item = NULL, title = '', class = NULL, scope = NULL, fields = '{}',
                problem = NULL, digest = zeroblob(32), published = NULL, size = 0,
                change_no = (SELECT max(change_no) + 1 FROM catalogue WHERE agent_no = ?1)
         WHERE agent_no = ?1 AND path = ?2 AND state = 'gone'",
    )?
    .execute(params![agent_no, path])?;
    Ok(())
}

/// Deletes the revisions of paths that the file table does not have under any state.
pub(crate) fn forget_unlisted_revisions(tx: &Write, agent_no: AgentNo) -> Result<()> {
    tx.prepare_cached(
        "DELETE FROM file_revisions WHERE agent_no = ?1
           AND path NOT IN (SELECT path FROM catalogue WHERE agent_no = ?1)",
    )?
    .execute([agent_no])?;
    Ok(())
}

/// Does the same as [`forget`] for every path an item once had.
pub(crate) fn forget_gone(tx: &Write, agent_no: AgentNo, item: &str) -> Result<()> {
    let mut statement =
        tx.prepare_cached("SELECT path FROM catalogue WHERE agent_no = ?1 AND item = ?2 AND state = 'gone'")?;
    let rows = statement.query_map(params![agent_no, item], |r| r.get::<_, String>(0))?;
    let paths: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
    paths.iter().try_for_each(|path| forget(tx, agent_no, path))
}

const COLUMNS: &str =
    "file_no, path, kind, state, size, modified_ns, changed_ns, inode, digest, published, item, title,
                       class, scope, status, fields, problem, change_no";

fn entry(r: &Row) -> rusqlite::Result<Entry> {
    let digest_of = |bytes: Vec<u8>| -> Digest { bytes.try_into().unwrap_or_default() };
    Ok(Entry {
        file_no: r.get(0)?,
        // Every path was a valid `RelPath` when it was stored.
        path: RelPath::parse(&r.get::<_, String>(1)?).unwrap_or(RelPath::literal("unknown.md")),
        kind: Kind::named(&r.get::<_, String>(2)?).unwrap_or(Kind::Note),
        state: State::parse(&r.get::<_, String>(3)?),
        stamp: Stamp {
            size: r.get::<_, i64>(4)? as u64,
            modified_ns: r.get(5)?,
            changed_ns: r.get(6)?,
            inode: r.get::<_, i64>(7)? as u64,
        },
        digest: digest_of(r.get(8)?),
        published: r.get::<_, Option<Vec<u8>>>(9)?.map(digest_of),
        item: r.get(10)?,
        title: r.get(11)?,
        class: r.get(12)?,
        scope: r.get(13)?,
        status: r.get(14)?,
        fields: match serde_json::from_str(&r.get::<_, String>(15)?) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        },
        problem: r.get(16)?,
        change_no: r.get(17)?,
    })
}

/// Returns the rows of one kind in one state, by path.
pub fn list(tx: &Read, agent_no: AgentNo, kind: Kind, state: State) -> Result<Vec<Entry>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND kind = ?2 AND state = ?3 ORDER BY path"
    ))?;
    let rows = statement.query_map(params![agent_no, kind.name(), state.name()], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the rows of [`list`] whose files may belong to certain threads: those that name one of these keys or names,
/// or no thread.
pub fn list_in(tx: &Read, agent_no: AgentNo, kind: Kind, state: State, threads: &[String]) -> Result<Vec<Entry>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND kind = ?2 AND state = ?3
           AND (json_type(fields, '$.thread') IS NOT 'text' OR trim(fields ->> 'thread') = ''
                OR trim(fields ->> 'thread') IN (SELECT value FROM json_each(?4))) ORDER BY path"
    ))?;
    let names = Value::from(threads).to_string();
    let rows = statement.query_map(params![agent_no, kind.name(), state.name(), names], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the files of these kinds that changed after `change_no`, oldest first, including removed files; and how many
/// changes of any kind were examined, with the number of the last one.
pub fn changes_of(
    tx: &Read,
    agent_no: AgentNo,
    change_no: ChangeNo,
    kinds: &[Kind],
) -> Result<(Vec<Entry>, usize, ChangeNo)> {
    let mut statement = tx.prepare_cached(
        "SELECT change_no, kind, file_no FROM catalogue WHERE agent_no = ?1 AND change_no > ?2 ORDER BY change_no",
    )?;
    let mut rows = statement.query((agent_no, change_no))?;
    let (mut out, mut looked, mut last) = (Vec::new(), 0, change_no);
    while let Some(r) = rows.next()? {
        (looked, last) = (looked + 1, r.get(0)?);
        if Kind::named(r.get_ref(1)?.as_str().unwrap_or_default()).is_some_and(|kind| kinds.contains(&kind)) {
            out.extend(numbered(tx, agent_no, r.get(2)?)?);
        }
    }
    Ok((out, looked, last))
}

/// Returns every file that exists, by path.
pub fn all(tx: &Read, agent_no: AgentNo) -> Result<Vec<Entry>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND state != 'gone' ORDER BY path"
    ))?;
    let rows = statement.query_map([agent_no], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the ids of the workspaces that files belong to or name.
pub fn workspaces(tx: &Read, agent_no: AgentNo) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT substr(scope, 11) FROM catalogue
         WHERE agent_no = ?1 AND state != 'gone' AND scope GLOB 'workspace/?*'
           AND substr(scope, 11) NOT GLOB '*[^a-z0-9-]*' ORDER BY 1",
    )?;
    let rows = statement.query_map([agent_no], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the number of existing files.
pub fn count(tx: &Read, agent_no: AgentNo) -> Result<u64> {
    let files: i64 = tx
        .prepare_cached("SELECT count(*) FROM catalogue WHERE agent_no = ?1 AND state != 'gone'")?
        .query_row([agent_no], |r| r.get(0))?;
    Ok(files as u64)
}

/// Returns the files that changed after `change_no`, oldest first, including removed files.
pub fn changes(tx: &Read, agent_no: AgentNo, change_no: ChangeNo, limit: usize) -> Result<Vec<Entry>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND change_no > ?2 ORDER BY change_no LIMIT ?3"
    ))?;
    let rows = statement.query_map(params![agent_no, change_no, limit as i64], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the current files of one kind, newest first by one of their date fields, and their total number.
pub fn newest(tx: &Read, agent_no: AgentNo, kind: Kind, field: &str, limit: usize) -> Result<(Vec<Entry>, u64)> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND kind = ?2 AND state = 'active'
         ORDER BY coalesce(fields ->> ?3, '') DESC, path DESC LIMIT ?4"
    ))?;
    let rows = statement.query_map(params![agent_no, kind.name(), field, limit as i64], entry)?;
    let rows: Vec<Entry> = rows.collect::<rusqlite::Result<_>>()?;
    let all: i64 = tx
        .prepare_cached("SELECT count(*) FROM catalogue WHERE agent_no = ?1 AND kind = ?2 AND state = 'active'")?
        .query_row(params![agent_no, kind.name()], |r| r.get(0))?;
    Ok((rows, all as u64))
}

/// Returns the number of current files of each kind, superseded memories excluded.
pub fn counts(tx: &Read, agent_no: AgentNo) -> Result<Vec<(Kind, u64)>> {
    let mut statement = tx.prepare_cached(
        "SELECT kind, count(*) FROM catalogue
         WHERE agent_no = ?1 AND state = 'active' AND coalesce(status, '') != 'superseded' GROUP BY kind",
    )?;
    let rows = statement.query_map([agent_no], |r| Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)? as u64)))?;
    let found: Vec<(String, u64)> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().filter_map(|(kind, n)| Some((Kind::named(&kind)?, n))).collect())
}

/// Returns the open loops due on or before a day, the longest overdue first, and their total number.
pub fn due(tx: &Read, agent_no: AgentNo, by: &str, limit: usize) -> Result<(Vec<Entry>, u64)> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM catalogue
         WHERE agent_no = ?1 AND kind = 'loop' AND state = 'active' AND fields ->> 'due' <= ?2
         ORDER BY fields ->> 'due', path"
    ))?;
    let rows: Vec<Entry> = statement.query_map(params![agent_no, by], entry)?.collect::<rusqlite::Result<_>>()?;
    let all = rows.len() as u64;
    Ok((rows.into_iter().take(limit).collect(), all))
}

/// Returns the newest change number among an agent's files.
pub fn last_change(tx: &Read, agent_no: AgentNo) -> Result<ChangeNo> {
    Ok(tx
        .prepare_cached("SELECT coalesce(max(change_no), 0) FROM catalogue WHERE agent_no = ?1")?
        .query_row([agent_no], |r| r.get(0))?)
}

/// Returns the existing files that have a problem.
pub fn troubled(tx: &Read, agent_no: AgentNo) -> Result<Vec<Entry>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND state != 'gone' AND problem IS NOT NULL ORDER BY path"
    ))?;
    let rows = statement.query_map([agent_no], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the file at a path, if it exists.
pub fn at(tx: &Read, agent_no: AgentNo, path: &RelPath) -> Result<Option<Entry>> {
    Ok(tx
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND path = ?2 AND state != 'gone'"
        ))?
        .query_row(params![agent_no, path.as_str()], entry)
        .optional()?)
}

/// Returns the file with an item id: the current one, otherwise the newest archived one.
pub fn item(tx: &Read, agent_no: AgentNo, item: &str) -> Result<Option<Entry>> {
    Ok(tx
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND item = ?2 AND state != 'gone'
             ORDER BY state = 'active' DESC, change_no DESC LIMIT 1"
        ))?
        .query_row(params![agent_no, item], entry)
        .optional()?)
}

/// Returns the file with a number, in any state.
pub fn numbered(tx: &Read, agent_no: AgentNo, file_no: FileNo) -> Result<Option<Entry>> {
    Ok(tx
        .prepare_cached(&format!("SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND file_no = ?2"))?
        .query_row(params![agent_no, file_no], entry)
        .optional()?)
}

/// Returns the files that have the id of an act.
pub(super) fn bearing(tx: &Read, agent_no: AgentNo, flush_id: &str) -> Result<Vec<Entry>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM catalogue WHERE agent_no = ?1 AND state != 'gone' AND fields ->> 'flush' = ?2"
    ))?;
    let rows = statement.query_map(params![agent_no, flush_id], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the one file of a kind that `name` refers to: by its id (with or without the leading letter, or the
/// beginning of it), title, file name or path. In an archive the newest match is taken. `NotFound` and `Usage` errors
/// say what to do.
pub fn named(tx: &Read, agent_no: AgentNo, kind: Kind, state: State, name: &str) -> Result<Entry> {
    let entries = list(tx, agent_no, kind, state)?;
    let prefix = kind.prefix().map_or(String::new(), |p| format!("{p}:"));
    let bare = name.strip_prefix(&prefix).unwrap_or(name);
    let id_of =
        |e: &Entry| e.item.as_deref().map(|i| i.strip_prefix(&prefix).unwrap_or(i).to_owned()).unwrap_or_default();
    // Credentials were redacted from the title when it was written, so redact the name before comparing.
    let clean = redact(name);
    let title = TitleKey::of(&clean).ok();
    // The row keeps only the beginning of a long title; the file name is derived from the whole title.
    let named_after = title.as_ref().map(TitleKey::file_name);
    let same_title = |e: &Entry| title.is_some() && TitleKey::of(&e.title).ok() == title;
    let file = name.rsplit('/').next().unwrap_or(name);
    let tests: [&dyn Fn(&Entry) -> bool; 6] = [
        &|e| e.path.as_str() == name,
        &|e| id_of(e) == bare,
        &|e| e.path.name() == file || e.path.name().strip_suffix(".md") == Some(file),
        &|e| named_after.as_deref() == Some(&*active_name(e.path.name())),
        &same_title,
        &|e| bare.len() >= 3 && id_of(e).starts_with(bare),
    ];
    for test in tests {
        let mut found: Vec<&Entry> = entries.iter().filter(|e| test(e)).collect();
        if state == State::Archived && found.len() > 1 {
            // The name of an archived file ends in a time.
            let newest = found.iter().max_by_key(|e| e.path.name().rsplit("--").next().map(str::to_owned));
            if let Some(newest) = newest.filter(|n| found.iter().all(|e| e.item == n.item)) {
                return Ok((*newest).clone());
            }
        }
        match found.len() {
            0 => {}
            1 => return Ok(found.remove(0).clone()),
            several => {
                let ids: Vec<String> = found.iter().take(6).filter_map(|e| e.item.clone()).collect();
                return Err(Error::usage(format!("{clean:?} stands for {several} of them"))
                    .hint(format!("say which: {}", ids.join(", "))));
            }
        }
    }
    let shown: String = clean.chars().take(80).collect();
    Err(Error::not_found(format!("there is no {} {} called {shown:?}", state.name(), kind_in_words(kind)))
        .hint(format!("see ⟨{} list⟩", kind.name())))
}

pub fn kind_in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::OpenLoop => "open loop",
        Kind::Leaf => "memory",
        other => other.name(),
    }
}

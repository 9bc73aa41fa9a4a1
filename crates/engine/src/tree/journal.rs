//! The file journal: an act changes files and the ledger in three steps (R6.4).
//!
//! 1. One transaction stores the plan, with everything needed to finish it and the reason, together with the act's
//!    changes to the ledger. From here on the act is committed.
//! 2. The files are published one after the other. Every step is idempotent: a file that already carries the act's id,
//!    at its path or in an archive, is not written again.
//! 3. One transaction brings the file table up to date, marks the pages that show the files, and marks the plan done.
//!
//! A crash in between leaves a stored plan, which the next holder of the tree lock completes. Anything that can be
//! refused is refused before the first step.

use rusqlite::params;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::revise::{BY_COMMAND, Now, Patience, Revised};
use super::{LARGEST_FILE, TreeLock, file_table, restore};
use crate::document::{Document, Front};
use crate::error::{Error, ErrorKind, Result};
use crate::home::{self, RelPath, Renamed};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened, PageKey};
use crate::redact::redact;
use crate::scope::AgentNo;
use crate::title::{active_name, flush_id};

/// One change of one file.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Step {
    /// Creates a file.
    Create { path: String, text: String },
    /// Sets and removes front matter keys and, if given, replaces the whole body. `base`: digest of the file the new
    /// body was made for; if the file has changed since, the body is not replaced.
    Edit {
        path: String,
        #[serde(default)]
        set: Map<String, Value>,
        #[serde(default)]
        unset: Vec<String>,
        #[serde(default)]
        body: Option<String>,
        #[serde(default)]
        base: Option<String>,
    },
    /// Adds lines at the end of the file as it is when the step runs, and sets front matter keys.
    Append {
        path: String,
        #[serde(default)]
        set: Map<String, Value>,
        text: String,
        /// Whether a blank line goes before the added lines.
        #[serde(default)]
        apart: bool,
    },
    /// Sets front matter keys and the heading; no other byte of the text changes.
    Entitle { path: String, set: Map<String, Value>, unset: Vec<String>, heading: String },
    /// Moves a file unchanged, then edits its front matter.
    Move {
        from: String,
        to: String,
        #[serde(default)]
        set: Map<String, Value>,
        #[serde(default)]
        unset: Vec<String>,
    },
    /// Removes a file if its digest is still this one.
    Remove { path: String, digest: String },
    /// Removes a file if its digest is still this one, and deletes its words from its row and its revisions.
    Forget { path: String, digest: String },
}

impl Step {
    /// Returns the paths of the files the step is about.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, to) = match self {
            Step::Create { path, .. }
            | Step::Edit { path, .. }
            | Step::Append { path, .. }
            | Step::Entitle { path, .. }
            | Step::Remove { path, .. }
            | Step::Forget { path, .. } => (path, None),
            Step::Move { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(path).chain(to).map(String::as_str)
    }
}

/// The steps of an act, and its action for the audit.
#[derive(Clone, Debug)]
pub struct Act {
    pub action: &'static str,
    pub steps: Vec<Step>,
    /// Pages that show the changed files; they are marked when the act is finished.
    pub heads: Vec<PageKey>,
    /// Details for the audit; never contains text of the files.
    pub note: Map<String, Value>,
}

impl Act {
    pub fn new(action: &'static str) -> Act {
        Act { action, steps: Vec::new(), heads: Vec::new(), note: Map::new() }
    }

    pub fn step(mut self, step: Step) -> Act {
        self.steps.push(step);
        self
    }

    /// Adds an event, so that the pages that show it are marked when the act is finished.
    pub fn tells(mut self, what: &Happened) -> Act {
        for page in pages::cadence::pages(what) {
            if !self.heads.contains(&page) {
                self.heads.push(page);
            }
        }
        self
    }

    pub fn note(mut self, key: &str, value: impl Into<Value>) -> Act {
        self.note.insert(key.to_owned(), value.into());
        self
    }
}

/// A plan as stored in the ledger.
#[derive(Clone, Serialize, Deserialize, Debug)]
struct Plan {
    steps: Vec<Step>,
    /// [`PageKey`]s in their written form.
    heads: Vec<String>,
}

/// A plan that is not finished yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfinished {
    pub flush_id: String,
    pub action: String,
    pub attempts: i64,
    pub last_error: Option<String>,
    pub created_at: i64,
}

/// The change an edit makes to the text after the front matter.
#[derive(Clone, Copy)]
enum Body<'a> {
    Keep,
    /// Replaces the text; the digest is that of the file it was made for.
    Replace(&'a str, Option<&'a str>),
    /// Adds lines at the end, after a blank line if the flag is set.
    Append(&'a str, bool),
    /// Replaces the heading.
    Heading(&'a str),
}

/// A file after a step; `None`: it no longer exists.
type Touched = (RelPath, Option<(Now, Vec<u8>)>);

impl TreeLock<'_> {
    /// Performs an act. `also` makes the act's changes to the ledger, in the transaction that stores the plan. Returns
    /// the result of `also` and the act's id.
    pub fn perform<T>(&self, act: Act, also: impl FnOnce(&mut Write) -> Result<T>) -> Result<(T, String)> {
        self.perform_as(&flush_id(), act, also).map(|out| (out.0, out.1))
    }

    /// Performs an act like [`TreeLock::perform`], under an id the caller made with [`flush_id`]: rows that have the id
    /// become visible when the act is finished.
    pub fn perform_as<T>(&self, id: &str, act: Act, also: impl FnOnce(&mut Write) -> Result<T>) -> Result<(T, String)> {
        let id = id.to_owned();
        let heads = act.heads.iter().map(PageKey::to_string).collect();
        let mut plan = Plan { steps: act.steps, heads };
        for step in &mut plan.steps {
            redact_step(step);
            self.check(step)?;
        }
        let stored = serde_json::to_string(&plan).map_err(|e| Error::usage("the plan cannot be stored").because(e))?;
        let out = self.at.write(act.action, |tx| {
            tx.prepare_cached(
                "INSERT INTO flushes (flush_id, agent_no, action, plan, state, created_at) VALUES (?1, ?2, ?3, ?4, 'planned', ?5)",
            )?
            .execute(params![id, self.at.agent_no, act.action, stored, tx.now()])?;
            tx.note("flush", id.as_str());
            for (key, value) in act.note {
                tx.note(&key, value);
            }
            also(tx)
        })?;
        let aside = self.finish(&id, &plan).map_err(|e| {
            let hint = format!(
                "it is planned and will be finished by the next command{}",
                e.next_step().map_or(String::new(), |n| format!("; {n}"))
            );
            e.hint(hint)
        })?;
        if let Some(path) = aside.first() {
            let said = format!("{} was saved while this command ran; what was saved stays", self.at.shown(path));
            return Err(Error::refused(said).hint(format!(
                "what you asked for is kept: ⟨show --revisions {path}⟩; look at both and run it again"
            )));
        }
        Ok((out, id))
    }

    /// Runs steps two and three of the act. Returns the files that a person changed first: the text meant for them is
    /// stored as a revision.
    fn finish(&self, id: &str, plan: &Plan) -> Result<Vec<RelPath>> {
        let (mut touched, mut aside) = (Vec::new(), Vec::new());
        for step in &plan.steps {
            touched.extend(self.run_step(id, step, &mut aside)?);
        }
        self.at.write("flush.done", |tx| {
            for (path, now) in &touched {
                match now {
                    Some((now, bytes)) => self.at.seen(tx, path, *now, bytes)?,
                    None => {
                        file_table::gone(tx, self.at.agent_no, path.as_str())?;
                        restore::removed(tx, self.at.agent_no, path.as_str())?;
                    }
                }
            }
            for step in &plan.steps {
                if let Step::Forget { path, .. } = step
                    && touched.iter().any(|(p, now)| p.as_str() == path && now.is_none())
                {
                    file_table::forget(tx, self.at.agent_no, path)?;
                }
            }
            let marked: Vec<PageKey> = plan.heads.iter().filter_map(|head| PageKey::parse(head)).collect();
            pages::mark_pages(tx, self.at.agent_no, &marked)?;
            let done = tx
                .prepare_cached("UPDATE flushes SET state = 'done', plan = NULL, done_at = ?2, last_error = NULL WHERE flush_id = ?1")?
                .execute(params![id, tx.now()])?;
            tx.note("flush", id);
            tx.note("files", touched.len());
            // The audit has the history of finished plans, so only the newest plans are kept in this table.
            tx.prepare_cached(
                "DELETE FROM flushes WHERE agent_no = ?1 AND state = 'done' AND flush_id <= (
                   SELECT flush_id FROM flushes WHERE agent_no = ?1 AND state = 'done' ORDER BY flush_id DESC LIMIT 1 OFFSET 200)",
            )?
            .execute([self.at.agent_no])?;
            debug_assert_eq!(done, 1);
            Ok(())
        })?;
        Ok(aside)
    }

    /// Refuses a step that cannot be done, before the act begins.
    fn check(&self, step: &Step) -> Result<()> {
        let files = &self.at.files;
        match step {
            Step::Create { path, .. } => {
                let path = RelPath::parse(path)?;
                match files.stat(&path)? {
                    Some(entry) if entry.kind == home::Kind::Symlink => Ok(()),
                    Some(_) => {
                        files.read_with_stamp(&path, LARGEST_FILE)?;
                        Err(Error::refused(format!("{} exists already", self.at.shown(&path)))
                            .hint("look at it; give this one another title, or move that one away"))
                    }
                    None => Ok(()),
                }
            }
            Step::Edit { path, set, unset, body, .. } => {
                let body = body.as_deref().map_or(Body::Keep, |text| Body::Replace(text, None));
                self.editable(&RelPath::parse(path)?, set, unset, body)
            }
            Step::Append { path, set, text, apart } => {
                self.editable(&RelPath::parse(path)?, set, &[], Body::Append(text, *apart))
            }
            Step::Entitle { path, set, unset, heading } => {
                self.editable(&RelPath::parse(path)?, set, unset, Body::Heading(heading))
            }
            Step::Move { from, to, set, unset } => {
                let (from, to) = (RelPath::parse(from)?, RelPath::parse(to)?);
                self.editable(&from, set, unset, Body::Keep)?;
                match files.stat(&to)? {
                    Some(_) => Err(Error::refused(format!("{} exists already", self.at.shown(&to)))
                        .hint("move it away and run the command again")),
                    None => Ok(()),
                }
            }
            Step::Remove { path, .. } | Step::Forget { path, .. } => {
                let path = RelPath::parse(path)?;
                files.read_with_stamp(&path, LARGEST_FILE)?.map(|_| ()).ok_or_else(|| missing(self, &path))
            }
        }
    }

    /// Tries the change without storing it: valid front matter may still be written in a form that cannot be edited
    /// line by line, and finding that out after a move would leave the act half done.
    fn editable(&self, path: &RelPath, set: &Map<String, Value>, unset: &[String], body: Body) -> Result<()> {
        let Some((bytes, _)) = self.at.files.read_with_stamp(path, LARGEST_FILE)? else {
            return Err(missing(self, path));
        };
        let mut doc = Document::parse(bytes);
        if let Front::Damaged(why) = doc.front() {
            return Err(Error::refused(format!("{}: its front matter cannot be read: {why}", self.at.shown(path)))
                .hint("nothing was changed; mend the lines between the two --- by hand"));
        }
        changed(&mut doc, "01000000-0000-7000-8000-000000000000", set, unset, body).map_err(|e| {
            let hint = format!("nothing was changed; {}", e.next_step().unwrap_or("change the file by hand"));
            Error::refused(format!("{}: {e}", self.at.shown(path))).hint(hint)
        })
    }

    /// Performs one step, unless it is already done.
    fn run_step(&self, id: &str, step: &Step, aside: &mut Vec<RelPath>) -> Result<Vec<Touched>> {
        match step {
            Step::Create { path, text } => {
                let path = RelPath::parse(path)?;
                let mut doc = Document::parse(text.as_bytes().to_vec());
                doc.set("flush", &Value::from(id))?;
                let bytes = doc.print().to_vec();
                if self.has_created(id, &path)? {
                    // The file was written before a crash: if it has not changed since, it is Heirloom's own.
                    let found = self.at.files.read_with_stamp(&path, LARGEST_FILE)?.filter(|(b, _)| *b == bytes);
                    let now = found.map(|(_, stamp)| Now { stamp, digest: home::digest(&bytes) });
                    return Ok(now.map(|now| (path, Some((now, bytes)))).into_iter().collect());
                }
                let revised = self.revise(&path, None, Patience::Wait, |current| {
                    // If a person has created a file of that name meanwhile, that file stays.
                    Ok(if current.is_some_and(|c| c != bytes) { None } else { Some(bytes.clone()) })
                })?;
                match revised {
                    Revised::Written(now) | Revised::Unchanged(now) => Ok(vec![(path, Some((now, bytes)))]),
                    Revised::LeftAlone | Revised::Deferred { .. } => {
                        self.at.keep_revision(&path, &bytes, "could not be written: a file of this name was there")?;
                        aside.push(path);
                        Ok(Vec::new())
                    }
                }
            }
            Step::Edit { path, set, unset, body, base } => {
                let path = RelPath::parse(path)?;
                let own = self.own(&path)?;
                let body = body.as_deref().map_or(Body::Keep, |text| Body::Replace(text, base.as_deref()));
                Ok(self.edit(id, &path, own, (set, unset), body, aside)?.into_iter().collect())
            }
            Step::Append { path, set, text, apart } => {
                let path = RelPath::parse(path)?;
                let own = self.own(&path)?;
                Ok(self.edit(id, &path, own, (set, &[]), Body::Append(text, *apart), aside)?.into_iter().collect())
            }
            Step::Entitle { path, set, unset, heading } => {
                let path = RelPath::parse(path)?;
                let own = self.own(&path)?;
                Ok(self.edit(id, &path, own, (set, unset), Body::Heading(heading), aside)?.into_iter().collect())
            }
            Step::Move { from, to, set, unset } => {
                let (from, to) = (RelPath::parse(from)?, RelPath::parse(to)?);
                // The digest of Heirloom's last write is known for the old path. Without it, the file at the new path
                // would look as if a person had just saved it, and the edit would wait.
                let own = self.own(&to)?.or(self.own(&from)?);
                match self.at.files.rename_new(&self.lock, &from, &to)? {
                    // The move was made before a crash; a file that is at the old path now is new.
                    Renamed::Done | Renamed::TargetExists => {}
                    // The file was moved before a crash, or removed by a person: nothing is left to do.
                    Renamed::SourceMissing if self.at.files.stat(&to)?.is_none() => return Ok(vec![(from, None)]),
                    Renamed::SourceMissing => {}
                }
                let mut touched: Vec<Touched> =
                    self.edit(id, &to, own, (set, unset), Body::Keep, aside)?.into_iter().collect();
                if self.at.files.stat(&from)?.is_none() {
                    touched.push((from, None));
                }
                Ok(touched)
            }
            Step::Remove { path, digest } | Step::Forget { path, digest } => {
                let path = RelPath::parse(path)?;
                let Some((bytes, _)) = self.at.files.read_with_stamp(&path, LARGEST_FILE)? else {
                    return Ok(vec![(path, None)]);
                };
                let found = home::digest(&bytes);
                // If a person has edited the file since, it stays.
                let gone = hex(&found) == *digest
                    && self.at.files.remove_exactly(&self.lock, &path, found, &mut |newer| {
                        self.at.keep_revision(&path, newer, "saved while it was being removed")
                    })?;
                Ok(if gone { vec![(path, None)] } else { Vec::new() })
            }
        }
    }

    fn edit(
        &self,
        id: &str,
        path: &RelPath,
        own: Option<home::Digest>,
        (set, unset): (&Map<String, Value>, &[String]),
        body: Body,
        aside: &mut Vec<RelPath>,
    ) -> Result<Option<Touched>> {
        let mut written = Vec::new();
        let revised = self.revise(path, own, Patience::Wait, |current| {
            let Some(current) = current else { return Ok(None) };
            let mut doc = Document::parse(current.to_vec());
            if doc.text("flush") == Some(id) {
                written = current.to_vec();
                return Ok(Some(current.to_vec()));
            }
            changed(&mut doc, id, set, unset, body)?;
            if !matches!(body, Body::Keep) {
                if let Body::Replace(_, base) = body
                    && base.is_some_and(|base| base != hex(&home::digest(current)))
                {
                    self.at.keep_revision(path, doc.print(), "asked for; somebody had saved the file meanwhile")?;
                    aside.push(path.clone());
                    return Ok(None);
                }
                // The old contents are stored before they are replaced, so that a crash in between does not lose them.
                self.at.keep_revision(path, current, BY_COMMAND)?;
            }
            written = doc.print().to_vec();
            Ok(Some(written.clone()))
        })?;
        Ok(match revised {
            Revised::Written(now) | Revised::Unchanged(now) => Some((path.clone(), Some((now, written)))),
            Revised::LeftAlone | Revised::Deferred { .. } => None,
        })
    }

    /// Returns the digest of Heirloom's last write to a file.
    fn own(&self, path: &RelPath) -> Result<Option<home::Digest>> {
        Ok(self.at.read(|tx| file_table::at(tx, self.at.agent_no, path))?.and_then(|e| e.published))
    }

    /// Whether the file this act created exists, at its path or in an archive.
    fn has_created(&self, id: &str, path: &RelPath) -> Result<bool> {
        let bearing = self.at.read(|tx| file_table::bearing(tx, self.at.agent_no, id))?;
        Ok(bearing.iter().any(|e| active_name(e.path.name()) == path.name()))
    }
}

/// Applies an act's change to a document.
fn changed(doc: &mut Document, id: &str, set: &Map<String, Value>, unset: &[String], body: Body) -> Result<()> {
    for (key, value) in set {
        doc.set(key, value)?;
    }
    for key in unset {
        doc.unset(key)?;
    }
    doc.set("flush", &Value::from(id))?;
    match body {
        Body::Keep => Ok(()),
        Body::Append(text, apart) => doc.append(text, apart),
        Body::Replace(text, _) => doc.set_body(text),
        Body::Heading(heading) => doc.set_heading(heading),
    }
}

fn missing(lock: &TreeLock, path: &RelPath) -> Error {
    Error::not_found(format!("{} is not there any more", lock.at.shown(path))).hint("run the command again")
}

/// Redacts credentials from a step, because no credential is written into a visible file (R14.2).
fn redact_step(step: &mut Step) {
    let clean_text = |text: &mut String| {
        if let std::borrow::Cow::Owned(clean) = redact(text) {
            *text = clean;
        }
    };
    let clean_map = |map: &mut Map<String, Value>| {
        for value in map.values_mut() {
            if let Value::String(text) = value {
                clean_text(text);
            }
        }
    };
    match step {
        Step::Create { text, .. } => clean_text(text),
        Step::Edit { set, body, .. } => {
            clean_map(set);
            if let Some(body) = body {
                clean_text(body);
            }
        }
        Step::Append { set, text, .. } => {
            clean_map(set);
            clean_text(text);
        }
        Step::Entitle { set, heading, .. } => {
            clean_map(set);
            clean_text(heading);
        }
        Step::Move { set, .. } => clean_map(set),
        Step::Remove { .. } | Step::Forget { .. } => {}
    }
}

/// Completes acts that a crash or a full disk left unfinished. An act that still cannot be completed stays planned and
/// is listed by [`unfinished`]; it does not block other work.
pub(super) fn recover(lock: &TreeLock) -> Result<()> {
    let open: Vec<(String, Option<String>)> = lock.at.read(|tx| {
        let mut statement = tx.prepare_cached(
            "SELECT flush_id, plan FROM flushes WHERE agent_no = ?1 AND state = 'planned' ORDER BY created_at, flush_id",
        )?;
        let rows = statement.query_map([lock.at.agent_no], |r| Ok((r.get(0)?, r.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })?;
    for (id, stored) in open {
        let plan: Result<Plan> = serde_json::from_str(stored.as_deref().unwrap_or_default())
            .map_err(|e| Error::damaged(format!("the plan {id} cannot be read")).because(e));
        // A step that is found done must not rest on a name that only the killed process made and never synced.
        let synced = plan.and_then(|plan| {
            for path in plan.steps.iter().flat_map(Step::paths) {
                lock.at.files.sync_names_beside(&RelPath::parse(path)?)?;
            }
            Ok(plan)
        });
        let done = synced.and_then(|plan| lock.finish(&id, &plan));
        if let Err(e) = done {
            // A ledger that cannot be written is the error to report.
            if matches!(e.kind(), ErrorKind::Busy | ErrorKind::Damaged) {
                return Err(e);
            }
            lock.at.write("flush.retry", |tx| {
                tx.prepare_cached("UPDATE flushes SET attempts = attempts + 1, last_error = ?2 WHERE flush_id = ?1")?
                    .execute(params![id, e.to_string()])?;
                tx.note("flush", id.as_str());
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Whether any act is unfinished. This is a single index lookup.
pub fn is_unfinished(tx: &Read, agent_no: AgentNo) -> Result<bool> {
    Ok(tx
        .prepare_cached("SELECT 1 FROM flushes WHERE agent_no = ?1 AND state = 'planned' LIMIT 1")?
        .exists([agent_no])?)
}

/// Returns acts that are committed but not finished, oldest first.
pub fn unfinished(tx: &Read, agent_no: AgentNo) -> Result<Vec<Unfinished>> {
    let mut statement = tx.prepare_cached(
        "SELECT flush_id, action, attempts, last_error, created_at FROM flushes
         WHERE agent_no = ?1 AND state = 'planned' ORDER BY created_at, flush_id",
    )?;
    let rows = statement.query_map([agent_no], |r| {
        Ok(Unfinished {
            flush_id: r.get(0)?,
            action: r.get(1)?,
            attempts: r.get(2)?,
            last_error: r.get(3)?,
            created_at: r.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Writes a digest in the form in which plans store it: hexadecimal.
pub fn hex(digest: &[u8]) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

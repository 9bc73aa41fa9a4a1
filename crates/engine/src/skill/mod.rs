//! Skills: procedures that recur become drafts, and a draft becomes a file after an explicit yes (R11.4). Storey 3.
//!
//! [`mine`] finds procedures in the steps of sessions, [`draft`] writes a SKILL.md for one. A person looks at the draft
//! and its evidence and says where it goes: into a folder of skills in the project, which programs read, or into the
//! project's folder of the memory. Files that Heirloom did not write, or that were edited since, are never touched;
//! symlinks are refused.

pub mod draft;
pub mod mine;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusqlite::{OptionalExtension, params};

use self::draft::Draft;
use self::mine::{Mined, Step};
use crate::clock::{Clock, Millis};
use crate::error::{Error, ErrorKind, Result};
use crate::home::{self, Home, Kind, Publication, Published, RelPath, Rooted, layout};
use crate::ledger::{Read, Write};
use crate::redact::redact;
use crate::scope::{AgentNo, SessionNo, TurnId, named};
use crate::transcript::workspaces;
use crate::tree::{LARGEST_FILE, TreeLock};

named! {
    /// The state of a candidate.
    pub enum State {
        Draft = "draft",
        Accepted = "accepted",
        Rejected = "rejected",
    }
}

/// The place an accepted skill is written to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Into {
    /// A folder of skills in the project, relative to its root. Only the caller knows which program reads it.
    Project(String),
    /// The project's folder of the memory.
    Workspace,
}

/// A file that was written after a yes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    pub path: String,
    digest: String,
}

/// A candidate for a skill: a procedure that recurs, with the decision about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Skill {
    pub no: i64,
    pub workspace: String,
    pub name: String,
    pub steps: Vec<String>,
    /// Steps as a draft shows them: with the names of those that are left out.
    pub shown: Vec<String>,
    pub sessions: usize,
    pub runs: usize,
    pub succeeded: usize,
    /// Sessions, newest first, with the turns of the steps.
    pub evidence: Vec<(String, Vec<TurnId>)>,
    pub state: State,
    pub placed: Vec<Placed>,
    pub changed_at: Millis,
}

impl Skill {
    /// Returns the id, such as `k:7`.
    pub fn id(&self) -> String {
        draft::id(self.no)
    }

    /// Returns the SKILL.md that a yes would write.
    pub fn text(&self) -> Result<String> {
        let turns = self.evidence.iter().flat_map(|(_, turns)| turns.iter().map(TurnId::to_string)).collect();
        let project = self.workspace.rsplit_once("--").map_or(self.workspace.as_str(), |(label, _)| label).to_owned();
        let draft = Draft {
            name: self.name.clone(),
            candidate: self.no,
            project,
            steps: self.shown.clone(),
            sessions: self.sessions,
            runs: self.runs,
            succeeded: self.succeeded,
            turns,
        };
        draft.text()
    }
}

/// Stores the steps of a session, in place of its earlier ones.
pub fn put_steps(tx: &Write, agent_no: AgentNo, session_no: SessionNo, steps: &[Step]) -> Result<()> {
    tx.prepare_cached("DELETE FROM skill_steps WHERE session_no = ?1")?.execute([session_no])?;
    // A procedure has at least three steps.
    if steps.len() >= 3 {
        let rows: Vec<(String, &str, bool)> =
            steps.iter().map(|s| (s.turn.to_string(), s.text.as_str(), s.succeeded)).collect();
        let json = serde_json::to_string(&rows).map_err(|e| Error::usage("steps cannot be stored").because(e))?;
        tx.prepare_cached("INSERT INTO skill_steps (session_no, agent_no, steps) VALUES (?1, ?2, ?3)")?
            .execute(params![session_no, agent_no, json])?;
    }
    Ok(())
}

/// Sessions with their steps, the oldest first.
type Sessions = Vec<(SessionNo, Vec<Step>)>;

/// Returns the steps of the sessions of each project.
fn steps(tx: &Read, agent_no: AgentNo) -> Result<BTreeMap<String, Sessions>> {
    let mut statement = tx.prepare_cached(
        "SELECT w.workspace_id, k.session_no, k.steps FROM skill_steps k JOIN sessions s USING (session_no)
         JOIN workspaces v ON v.workspace_no = s.workspace_no
         JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
         WHERE k.agent_no = ?1 ORDER BY s.last_at, k.session_no",
    )?;
    let mut rows = statement.query([agent_no])?;
    let mut out: BTreeMap<String, Sessions> = BTreeMap::new();
    while let Some(r) = rows.next()? {
        let stored: Vec<(String, String, bool)> = serde_json::from_str(&r.get::<_, String>(2)?).unwrap_or_default();
        let steps = stored
            .into_iter()
            .filter_map(|(turn, text, succeeded)| Some(Step { turn: TurnId::parse(&turn)?, text, succeeded }));
        out.entry(r.get(0)?).or_default().push((r.get(1)?, steps.collect()));
    }
    Ok(out)
}

/// Updates the candidates to the steps of all sessions. Returns the number of new ones.
pub fn find(lock: &TreeLock) -> Result<u64> {
    let at = lock.at;
    let (steps, known) = at.read(|tx| Ok((steps(tx, at.agent_no)?, list(tx, at.agent_no)?)))?;
    let mut names: Vec<String> = known.iter().map(|s| s.name.clone()).collect();
    let mut changes: Vec<(String, String, Mined, Option<String>)> = Vec::new();
    for (workspace, sessions) in &steps {
        for mined in mine::mine(sessions) {
            let key = mined.steps.join("\n");
            let old = known.iter().find(|s| s.workspace == *workspace && s.steps == mined.steps);
            let same =
                |s: &Skill| s.sessions == mined.evidence.len() && s.runs == mined.runs && s.shown == mined.shown();
            if old.is_some_and(|s| s.state != State::Draft || same(s)) {
                continue;
            }
            // A procedure that a person has decided about does not return with a step more or less.
            // Older candidates have their scripts without "./".
            let name = |step: &String| step.replace("./", "");
            let within = |a: &[String], b: &[String]| {
                b.windows(a.len().max(1)).any(|w| w.iter().map(name).eq(a.iter().map(name)))
            };
            let refused = |s: &&Skill| s.workspace == *workspace && s.state != State::Draft;
            if old.is_none()
                && known
                    .iter()
                    .filter(refused)
                    .any(|s| within(&s.steps, &mined.steps) || within(&mined.steps, &s.steps))
            {
                continue;
            }
            let name = old.is_none().then(|| {
                let label = workspace.rsplit_once("--").map_or(workspace.as_str(), |(label, _)| label);
                let first = draft::name(label, &mined.steps);
                let more = (2..).map(|n| draft::slug(&format!("{}-{n}", &first[..first.len().min(60)])));
                let name = std::iter::once(first.clone()).chain(more).find(|name| !names.contains(name));
                let name = name.unwrap_or(first);
                names.push(name.clone());
                name
            });
            changes.push((workspace.clone(), key, mined, name));
        }
    }
    // A draft that the sessions no longer show is deleted.
    let shown =
        |s: &Skill| steps.get(&s.workspace).is_some_and(|all| mine::mine(all).iter().any(|m| m.steps == s.steps));
    let gone: Vec<i64> = known.iter().filter(|s| s.state == State::Draft && !shown(s)).map(|s| s.no).collect();
    if changes.is_empty() && gone.is_empty() {
        return Ok(0);
    }
    let new = changes.iter().filter(|(.., name)| name.is_some()).count() as u64;
    at.write("skill.find", |tx| {
        for (workspace, key, mined, name) in &changes {
            put(tx, at.agent_no, workspace, key, mined, name.as_deref())?;
        }
        for no in &gone {
            tx.prepare_cached("DELETE FROM skill_candidates WHERE candidate_no = ?1")?.execute([no])?;
        }
        tx.note("new", new);
        Ok(())
    })?;
    Ok(new)
}

fn put(tx: &Write, agent_no: AgentNo, workspace: &str, key: &str, mined: &Mined, name: Option<&str>) -> Result<()> {
    let mut of_session = tx.prepare_cached("SELECT session_key FROM sessions WHERE session_no = ?1")?;
    let mut evidence: Vec<(String, Vec<String>)> = Vec::new();
    for (session, turns) in mined.evidence.iter().rev().take(5) {
        let key: Option<String> = of_session.query_row([session], |r| r.get(0)).optional()?;
        evidence.extend(key.map(|key| (key, turns.iter().map(TurnId::to_string).collect())));
    }
    let json = |value: &serde_json::Value| value.to_string();
    tx.prepare_cached(
        "INSERT INTO skill_candidates (agent_no, workspace_id, key, name, steps, sessions, runs, succeeded, evidence, state,
                                       created_at, changed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'draft', ?10, ?10)
         ON CONFLICT (agent_no, workspace_id, key) DO UPDATE SET sessions = excluded.sessions, runs = excluded.runs,
           succeeded = excluded.succeeded, steps = excluded.steps, evidence = excluded.evidence, changed_at = excluded.changed_at",
    )?
    .execute(params![
        agent_no,
        workspace,
        key,
        name.unwrap_or_default(),
        json(&serde_json::json!(mined.shown())),
        mined.evidence.len() as i64,
        mined.runs as i64,
        mined.succeeded as i64,
        json(&serde_json::json!(evidence)),
        tx.now()
    ])?;
    Ok(())
}

/// Returns the candidates of an agent, drafts first, then by the number of sessions that show them.
pub fn list(tx: &Read, agent_no: AgentNo) -> Result<Vec<Skill>> {
    let mut statement = tx.prepare_cached(
        "SELECT candidate_no, workspace_id, name, steps, sessions, runs, succeeded, evidence, state, placed, changed_at
         FROM skill_candidates WHERE agent_no = ?1 ORDER BY state != 'draft', sessions DESC, candidate_no",
    )?;
    let mut rows = statement.query([agent_no])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let text = |column: usize| r.get::<_, String>(column);
        let evidence: Vec<(String, Vec<String>)> = serde_json::from_str(&text(7)?).unwrap_or_default();
        let turns = |ids: Vec<String>| ids.iter().filter_map(|id| TurnId::parse(id)).collect();
        let shown: Vec<String> = serde_json::from_str(&text(3)?).unwrap_or_default();
        let placed: Vec<(String, String)> = serde_json::from_str(&text(9)?).unwrap_or_default();
        out.push(Skill {
            no: r.get(0)?,
            workspace: r.get(1)?,
            name: r.get(2)?,
            steps: shown.iter().filter(|s| !s.starts_with(mine::LEFT_OUT)).cloned().collect(),
            shown,
            sessions: r.get::<_, i64>(4)? as usize,
            runs: r.get::<_, i64>(5)? as usize,
            succeeded: r.get::<_, i64>(6)? as usize,
            evidence: evidence.into_iter().map(|(session, ids)| (session, turns(ids))).collect(),
            state: State::named(&text(8)?).unwrap_or(State::Draft),
            placed: placed.into_iter().map(|(path, digest)| Placed { path, digest }).collect(),
            changed_at: r.get(10)?,
        });
    }
    Ok(out)
}

/// Returns the candidate with this id (`k:7`) or name.
pub fn one(tx: &Read, agent_no: AgentNo, name: &str) -> Result<Skill> {
    let mut all = list(tx, agent_no)?.into_iter().filter(|s| s.id() == name || s.name == name);
    all.next().ok_or_else(|| {
        let shown: String = name.chars().take(60).collect();
        Error::not_found(format!("no skill candidate is called {shown:?}")).hint("see ⟨skill list⟩")
    })
}

/// Carries out a person's yes: writes the skill to the places they named. All places are checked before the first file
/// is written.
pub fn accept(lock: &TreeLock, name: &str, places: &[Into]) -> Result<Skill> {
    let at = lock.at;
    if places.is_empty() {
        return Err(Error::usage("say where the skill goes").hint("name at least one place: --into"));
    }
    let skill = at.read(|tx| one(tx, at.agent_no, name))?;
    let text = skill.text()?;
    if redact(&text) != text {
        return Err(
            Error::refused(format!("{} would contain a credential", skill.name)).hint("reject it: ⟨skill reject⟩")
        );
    }
    let mut targets = Vec::new();
    for into in places {
        targets.push(target(lock, &skill, into)?);
    }
    let held = at.home().lock("skills")?;
    let mut placed = skill.placed.clone();
    for t in &targets {
        let digest = t.publish(&held, text.as_bytes())?;
        placed.retain(|p| p.path != t.shown);
        placed.push(Placed { path: t.shown.clone(), digest });
    }
    record(lock, skill.no, State::Accepted, &placed, "skill.accept")?;
    at.read(|tx| one(tx, at.agent_no, &skill.id()))
}

/// Records a person's no. Files written before stay; the person may remove them.
pub fn reject(lock: &TreeLock, name: &str) -> Result<Skill> {
    let at = lock.at;
    let skill = at.read(|tx| one(tx, at.agent_no, name))?;
    record(lock, skill.no, State::Rejected, &skill.placed, "skill.reject")?;
    at.read(|tx| one(tx, at.agent_no, &skill.id()))
}

/// A candidate that waits for a decision.
#[derive(Clone, PartialEq, Debug)]
pub struct Waiting {
    no: i64,
    pub name: String,
    pub made_at: Millis,
}

impl Waiting {
    /// Returns the id, such as `k:7`.
    pub fn id(&self) -> String {
        draft::id(self.no)
    }
}

/// Returns the candidates that wait for a decision, oldest first.
pub fn drafts(tx: &Read, agent_no: AgentNo) -> Result<Vec<Waiting>> {
    let mut statement = tx.prepare_cached(
        "SELECT candidate_no, name, created_at FROM skill_candidates WHERE agent_no = ?1 AND state = 'draft'
         ORDER BY candidate_no",
    )?;
    let one = |r: &rusqlite::Row| Ok(Waiting { no: r.get(0)?, name: r.get(1)?, made_at: r.get(2)? });
    Ok(statement.query_map([agent_no], one)?.collect::<rusqlite::Result<_>>()?)
}

/// Takes drafts back: they count as rejected, so that the next pass does not make them again, and can be reopened.
pub fn withdraw(tx: &Write, drafts: &[Waiting]) -> Result<()> {
    let mut statement =
        tx.prepare_cached("UPDATE skill_candidates SET state = ?2, changed_at = ?3 WHERE candidate_no = ?1")?;
    for draft in drafts {
        statement.execute(params![draft.no, State::Rejected.name(), tx.now()])?;
    }
    Ok(())
}

/// Undoes a no: the candidate waits again, or is accepted as it was where its files are written. A yes is not undone, because the written files belong to the person.
pub fn reopen(lock: &TreeLock, name: &str) -> Result<Skill> {
    let at = lock.at;
    let skill = at.read(|tx| one(tx, at.agent_no, name))?;
    match skill.state {
        State::Rejected => {
            let before = if skill.placed.is_empty() { State::Draft } else { State::Accepted };
            record(lock, skill.no, before, &skill.placed, "skill.reopen")?;
        }
        State::Draft => return Err(Error::refused(format!("{} waits", skill.id())).hint("nothing was changed")),
        State::Accepted => {
            let files: Vec<&str> = skill.placed.iter().map(|p| p.path.as_str()).collect();
            return Err(Error::refused(format!("the skill {} is written and yours", skill.name))
                .hint(format!("nothing was changed; to be rid of it delete {}", files.join(" and "))));
        }
    }
    at.read(|tx| one(tx, at.agent_no, &skill.id()))
}

fn record(lock: &TreeLock, no: i64, state: State, placed: &[Placed], action: &'static str) -> Result<()> {
    let rows: Vec<(&str, &str)> = placed.iter().map(|p| (p.path.as_str(), p.digest.as_str())).collect();
    let json = serde_json::json!(rows).to_string();
    lock.at.write(action, |tx| {
        tx.note("skill", draft::id(no));
        tx.prepare_cached(
            "UPDATE skill_candidates SET state = ?2, placed = ?3, changed_at = ?4 WHERE candidate_no = ?1",
        )?
        .execute(params![no, state.name(), json, tx.now()])?;
        Ok(())
    })
}

/// A place a skill is written to.
struct Target {
    root: Rooted,
    path: RelPath,
    shown: String,
    /// Digest of our file that is there now, if nobody edited it since.
    base: Option<home::Digest>,
}

/// Checks a place. Refused if a foreign file is there, if our file was edited, or if a symlink is on the path.
fn target(lock: &TreeLock, skill: &Skill, into: &Into) -> Result<Target> {
    let at = lock.at;
    let (root, folder): (Rooted, String) = match into {
        Into::Workspace => {
            at.files.create_dir_all(&layout::WORKSPACE_MEMORY)?;
            (at.files.open_dir(&layout::WORKSPACE_MEMORY)?, format!("{}/evolve/skills", skill.workspace))
        }
        Into::Project(folder) => {
            if !folder.ends_with("/skills") || !folder.starts_with('.') {
                return Err(Error::usage(format!("{folder:?} is no folder of skills")).hint("such as .agents/skills"));
            }
            (Home::foreign(&project_root(lock, &skill.workspace)?)?, folder.clone())
        }
    };
    let path = RelPath::parse(&format!("{folder}/{}/SKILL.md", skill.name))?;
    let shown = root.shown().join(path.as_str()).display().to_string();
    // Check every folder on the path, and the file.
    let mut so_far = String::new();
    for name in path.components() {
        so_far = if so_far.is_empty() { name.to_owned() } else { format!("{so_far}/{name}") };
        let here = RelPath::parse(&so_far)?;
        match root.stat(&here) {
            Ok(Some(entry)) if entry.kind == Kind::Symlink => {
                return Err(Error::refused(format!("{} is a symlink", root.shown().join(&so_far).display()))
                    .hint("nothing was written; name a place that is a folder of its own"));
            }
            Ok(None) => break,
            Err(e) if e.kind() == ErrorKind::NotFound => break,
            Err(e) => return Err(e),
            Ok(_) => {}
        }
    }
    let taken = |what: &str| {
        Error::refused(format!("{shown} {what}"))
            .hint("nothing was written; what is there stays as it is, move it away if this one is wanted")
    };
    let found = match root.read(&path, LARGEST_FILE) {
        Ok(found) => found,
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    let base = match found {
        None => {
            let folder = RelPath::parse(&format!("{folder}/{}", skill.name))?;
            if root.stat(&folder).ok().flatten().is_some() {
                return Err(taken("belongs to a folder that is there already"));
            }
            None
        }
        Some(bytes) => {
            let digest = home::digest(&bytes);
            let own = skill.placed.iter().find(|p| p.path == shown);
            match own {
                Some(p) if p.digest == hex(&digest) => Some(digest),
                Some(_) => return Err(taken("was edited by hand since it was written")),
                None => return Err(taken("is there already and was not written by Heirloom")),
            }
        }
    };
    Ok(Target { root, path, shown, base })
}

impl Target {
    /// Writes the file, through the one function that publishes files. Returns its digest.
    fn publish(&self, held: &home::HomeLock, bytes: &[u8]) -> Result<String> {
        if let Some(folder) = self.path.parent() {
            self.root.create_dir_all(&folder)?;
        }
        let what = Publication { path: &self.path, bytes, base: self.base, own: self.base };
        match self.root.publish(held, &what, Clock::System.now(), &mut |_| {
            Err(Error::refused(format!("{} was saved while it was written", self.shown)))
        })? {
            Published::Written(_) | Published::Unchanged(_) => Ok(hex(&home::digest(bytes))),
            Published::Moved | Published::Deferred { .. } | Published::Displaced(_) => {
                Err(Error::new(ErrorKind::Busy, format!("{} is being edited", self.shown))
                    .hint("let its editor come to rest and run the command again"))
            }
        }
    }
}

fn hex(digest: &home::Digest) -> String {
    crate::tree::journal::hex(digest)
}

/// Returns the folder of a project, as its sessions reported it.
fn project_root(lock: &TreeLock, workspace: &str) -> Result<PathBuf> {
    let all = lock.at.read(|tx| workspaces::workspaces(tx, lock.at.agent_no))?;
    let found = all.into_iter().find(|w| w.id == workspace).map(|w| w.root);
    match found {
        Some(root) if root.is_absolute() && root.is_dir() => Ok(root),
        Some(root) => Err(Error::not_found(format!("the project's folder is not there: {}", root.display()))
            .hint("choose --into workspace, or bring the folder back")),
        None => Err(Error::not_found(format!("no project is called {workspace}")).hint("see ⟨workspace list⟩")),
    }
}

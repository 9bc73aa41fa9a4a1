//! Notices: statements about the user found in the user's own words, and things the user asked to remember, which wait
//! to be accepted (R9.5). They are rows of the ledger; no files.
//!
//! Finding the same statement again only increments its count; accepted or dismissed statements are not offered again,
//! and forgotten ones are not recorded. Accepting happens in `review`, because it writes memories and sets the profile.

use rusqlite::{OptionalExtension, Row, params};

use super::leaf::{self, lowered};
use super::{Class, Scope, tombstone};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened};
use crate::redact::redact;
use crate::scope::{AgentNo, PendingNo, SessionNo, TurnId};
use crate::tree::{AssistantHome, file_table};

/// The kind of thing that accepting a notice would store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoticeKind {
    Preference,
    Identity,
    /// A value of the operator profile.
    Profile {
        key: String,
        value: String,
    },
    /// Something to remember of one project.
    Project {
        class: Class,
        /// The workspace id.
        workspace: String,
    },
}

impl NoticeKind {
    pub fn name(&self) -> &'static str {
        match self {
            NoticeKind::Preference => "preference",
            NoticeKind::Identity => "identity",
            NoticeKind::Profile { .. } => "profile",
            NoticeKind::Project { class, .. } => class.name(),
        }
    }

    /// Returns the scope of the memory that an accepted notice becomes.
    pub fn scope(&self) -> Scope {
        match self {
            NoticeKind::Project { workspace, .. } => Scope::Workspace(workspace.clone()),
            _ => Scope::Agent,
        }
    }

    /// Returns the class of the memory that an accepted notice becomes; `None` for a value of the profile.
    pub fn class(&self) -> Option<Class> {
        match self {
            NoticeKind::Preference => Some(Class::Preference),
            NoticeKind::Identity => Some(Class::Identity),
            NoticeKind::Profile { .. } => None,
            NoticeKind::Project { class, .. } => Some(*class),
        }
    }
}

/// A statement found in a prompt.
#[derive(Clone, PartialEq, Debug)]
pub struct Notice {
    pub kind: NoticeKind,
    pub title: String,
    pub text: String,
    pub confidence: f64,
}

/// State of a notice: waiting, or decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Pending,
    Accepted,
    Dismissed,
}

impl State {
    /// Returns the name as it is stored and shown.
    pub fn name(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Accepted => "accepted",
            State::Dismissed => "dismissed",
        }
    }

    fn parse(name: &str) -> State {
        match name {
            "accepted" => State::Accepted,
            "dismissed" => State::Dismissed,
            _ => State::Pending,
        }
    }
}

/// A stored notice.
#[derive(Clone, PartialEq, Debug)]
pub struct Pending {
    pub no: PendingNo,
    pub kind: NoticeKind,
    pub title: String,
    pub text: String,
    pub confidence: f64,
    pub state: State,
    /// The number of turns in which it was found.
    pub seen: i64,
    pub turn: Option<TurnId>,
    pub session: Option<String>,
    pub created_at: Millis,
    pub decided_at: Option<Millis>,
    /// Id of the memory or profile value that the accepted notice became: `m:…` or `profile:…`.
    pub result: Option<String>,
    /// Earlier value of the profile that the accepted notice replaced.
    pub replaced: Option<String>,
}

impl Pending {
    /// Returns the id that people use, such as `u:17`.
    pub fn id(&self) -> String {
        format!("u:{}", self.no)
    }
}

/// Parses `u:17` or `17`.
pub fn parse_id(text: &str) -> Result<PendingNo> {
    let number = text.strip_prefix("u:").unwrap_or(text);
    number.parse().ok().filter(|n| *n > 0).map(PendingNo).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        Error::usage(format!("{shown:?} is no id of something noticed")).hint("ids look like u:17: ⟨memory pending⟩")
    })
}

/// Records the notices of a turn, in the transaction that stores the turn. Recording the same turn again changes
/// nothing. Returns how many notices are new.
pub fn capture(
    tx: &mut Write,
    agent_no: AgentNo,
    turn_no: Option<TurnId>,
    session_no: Option<SessionNo>,
    notices: &[Notice],
) -> Result<usize> {
    let mut new = 0;
    for notice in notices {
        let (title, text) = (redact(notice.title.trim()).into_owned(), redact(notice.text.trim()).into_owned());
        let (key, text) = match &notice.kind {
            NoticeKind::Profile { key, value } => {
                let value = redact(value.trim()).into_owned();
                if value.is_empty() || profile_says(tx, agent_no, key)?.as_deref() == Some(&value) {
                    continue;
                }
                (format!("profile:{key}:{}", lowered(&value)), value)
            }
            kind => {
                let (class, scope) = (kind.class().unwrap_or(Class::Preference), kind.scope());
                let key = lowered(&title);
                let empty = key.is_empty() || lowered(&text).is_empty();
                if empty || is_known_in(tx, agent_no, class, &scope, &title, &text)? {
                    continue;
                }
                (if scope == Scope::Agent { key } else { format!("{scope}:{key}") }, text)
            }
        };
        let kind = notice.kind.name();
        let known: Option<(PendingNo, String, Option<TurnId>)> = tx
            .prepare_cached(
                "SELECT pending_no, state, turn_no FROM pending_memory WHERE agent_no = ?1 AND kind = ?2 AND key = ?3",
            )?
            .query_row(params![agent_no, kind, key], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .optional()?;
        match known {
            Some((no, state, last))
                if State::parse(&state) == State::Pending && (turn_no.is_none() || turn_no > last) =>
            {
                tx.prepare_cached(
                    "UPDATE pending_memory SET seen = seen + 1, turn_no = coalesce(?2, turn_no),
                            session_no = coalesce(?3, session_no), confidence = max(confidence, ?4) WHERE pending_no = ?1",
                )?
                .execute(params![no, turn_no, session_no, notice.confidence])?;
            }
            Some(_) => {}
            None => {
                tx.prepare_cached(
                    "INSERT INTO pending_memory (agent_no, kind, key, title, text, confidence, state, turn_no, session_no, created_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending', ?7, ?8, ?9)",
                )?
                .execute(params![agent_no, kind, key, title, text, notice.confidence, turn_no, session_no, tx.now()])?;
                new += 1;
            }
        }
    }
    if new > 0 {
        pages::mark(tx, agent_no, &Happened::NoticeChanged)?;
        tx.note("noticed", new);
    }
    Ok(new)
}

/// Whether a text is already remembered in this class and scope, or was forgotten there.
pub(crate) fn is_known_in(
    tx: &Read,
    agent_no: AgentNo,
    class: Class,
    scope: &Scope,
    title: &str,
    text: &str,
) -> Result<bool> {
    if !tombstone::of(tx, agent_no, class, scope, text)?.is_empty() {
        return Ok(true);
    }
    let derived = leaf::derived_title(text);
    for title in [title, derived.as_str()] {
        let (file, _) = leaf::name(class, scope, title, text, 0);
        if file_table::at(tx, agent_no, &scope.folder(class)?.join(&file)?)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn profile_says(tx: &Read, agent_no: AgentNo, key: &str) -> Result<Option<String>> {
    Ok(tx
        .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = ?2")?
        .query_row(params![agent_no, key], |r| r.get(0))
        .optional()?)
}

const COLUMNS: &str =
    "pending_no, kind, key, p.title, text, confidence, state, seen, p.turn_no, session_key, p.created_at,
                       decided_at, result";

fn row(r: &Row) -> rusqlite::Result<Pending> {
    let (kind, key, text): (String, String, String) = (r.get(1)?, r.get(2)?, r.get(4)?);
    let kind = match kind.as_str() {
        "profile" => {
            let key = key.split(':').nth(1).unwrap_or_default().to_owned();
            NoticeKind::Profile { key, value: text.clone() }
        }
        "identity" => NoticeKind::Identity,
        name => {
            let workspace = key.strip_prefix("workspace/").and_then(|rest| rest.split_once(':'));
            match (Class::parse(name), workspace) {
                (Ok(class), Some((id, _))) if class.of_workspace() => {
                    NoticeKind::Project { class, workspace: id.to_owned() }
                }
                _ => NoticeKind::Preference,
            }
        }
    };
    let result: Option<String> = r.get(12)?;
    let (result, replaced) = match result {
        Some(text) => match text.split_once('\n') {
            Some((result, replaced)) => (Some(result.to_owned()), Some(replaced.to_owned())),
            None => (Some(text), None),
        },
        None => (None, None),
    };
    Ok(Pending {
        no: r.get(0)?,
        kind,
        title: r.get(3)?,
        text,
        confidence: r.get(5)?,
        state: State::parse(&r.get::<_, String>(6)?),
        seen: r.get(7)?,
        turn: r.get(8)?,
        session: r.get(9)?,
        created_at: r.get(10)?,
        decided_at: r.get(11)?,
        result,
        replaced,
    })
}

/// Returns the waiting notices, highest confidence first; with `decided`, also those accepted or dismissed.
pub fn list(tx: &Read, agent_no: AgentNo, decided: bool) -> Result<Vec<Pending>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM pending_memory p LEFT JOIN sessions s USING (session_no)
         WHERE p.agent_no = ?1 AND (?2 OR state = 'pending') ORDER BY state = 'pending' DESC, confidence DESC, pending_no DESC"
    ))?;
    let rows = statement.query_map(params![agent_no, decided], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the number of waiting notices.
pub fn count(tx: &Read, agent_no: AgentNo) -> Result<u64> {
    let waiting: i64 = tx
        .prepare_cached("SELECT count(*) FROM pending_memory WHERE agent_no = ?1 AND state = 'pending'")?
        .query_row([agent_no], |r| r.get(0))?;
    Ok(waiting as u64)
}

/// Returns one waiting notice; an error if it was decided already.
pub fn waiting(tx: &Read, agent_no: AgentNo, no: PendingNo) -> Result<Pending> {
    let found = any(tx, agent_no, no)?;
    match found {
        Some(found) if found.state == State::Pending => Ok(found),
        Some(found) => {
            Err(Error::refused(format!("u:{no} was {} already", found.state.name())).hint("nothing was changed"))
        }
        None => Err(Error::not_found(format!("nothing noticed has the id u:{no}")).hint("see ⟨memory pending⟩")),
    }
}

/// Returns one notice, whatever was decided about it.
pub fn find(tx: &Read, agent_no: AgentNo, no: PendingNo) -> Result<Pending> {
    any(tx, agent_no, no)?
        .ok_or_else(|| Error::not_found(format!("nothing noticed has the id u:{no}")).hint("see ⟨review --all⟩"))
}

fn any(tx: &Read, agent_no: AgentNo, no: PendingNo) -> Result<Option<Pending>> {
    Ok(tx
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM pending_memory p LEFT JOIN sessions s USING (session_no)
             WHERE p.agent_no = ?1 AND pending_no = ?2"
        ))?
        .query_row(params![agent_no, no], row)
        .optional()?)
}

/// Sets a notice to waiting again.
pub fn reopen(tx: &Write, agent_no: AgentNo, no: PendingNo) -> Result<()> {
    tx.prepare_cached(
        "UPDATE pending_memory SET state = 'pending', decided_at = NULL, result = NULL
         WHERE agent_no = ?1 AND pending_no = ?2",
    )?
    .execute(params![agent_no, no])?;
    pages::mark(tx, agent_no, &Happened::NoticeChanged)
}

/// Changes what a waiting notice would become: its text, or the class and scope of the memory. The words in which it
/// was found stay stored, so that the same words said again make no second notice.
pub fn amend(at: &AssistantHome, no: PendingNo, text: Option<&str>, place: Option<(Class, Scope)>) -> Result<()> {
    at.write("memory.amend", |tx| {
        let waits = waiting(tx, at.agent_no, no)?;
        if let Some(text) = text {
            let text = redact(text.trim()).into_owned();
            leaf::check_text(&text)?;
            let title = match &waits.kind {
                NoticeKind::Profile { key, .. } => format!("{key} is {text}"),
                _ => leaf::derived_title(&text),
            };
            tx.prepare_cached(
                "UPDATE pending_memory SET title = ?3, text = ?4 WHERE agent_no = ?1 AND pending_no = ?2",
            )?
            .execute(params![at.agent_no, no, title, text])?;
        }
        if let Some((class, scope)) = place {
            scope.holds(class)?;
            let key: String = tx
                .prepare_cached("SELECT key FROM pending_memory WHERE agent_no = ?1 AND pending_no = ?2")?
                .query_row(params![at.agent_no, no], |r| r.get(0))?;
            let bare = key.strip_prefix("workspace/").and_then(|k| k.split_once(':')).map_or(key.as_str(), |(_, k)| k);
            let key = if scope == Scope::Agent { bare.to_owned() } else { format!("{scope}:{bare}") };
            let taken = tx
                .prepare_cached(
                    "SELECT 1 FROM pending_memory WHERE agent_no = ?1 AND kind = ?2 AND key = ?3 AND pending_no != ?4",
                )?
                .exists(params![at.agent_no, class.name(), key, no])?;
            if taken {
                return Err(Error::refused(format!("the same was noticed as a {class} of {scope} before"))
                    .hint("nothing was changed; reject this one"));
            }
            tx.prepare_cached("UPDATE pending_memory SET kind = ?3, key = ?4 WHERE agent_no = ?1 AND pending_no = ?2")?
                .execute(params![at.agent_no, no, class.name(), key])?;
        }
        pages::mark(tx, at.agent_no, &Happened::NoticeChanged)?;
        tx.note("items", [format!("u:{no}")]);
        Ok(())
    })
}

/// Records the decision on a notice, if the notice is still waiting.
pub fn decide(tx: &Write, agent_no: AgentNo, no: PendingNo, state: State, result: Option<&str>) -> Result<()> {
    let done = tx
        .prepare_cached(
            "UPDATE pending_memory SET state = ?3, decided_at = ?4, result = ?5
             WHERE agent_no = ?1 AND pending_no = ?2 AND state = 'pending'",
        )?
        .execute(params![agent_no, no, state.name(), tx.now(), result])?;
    if done == 0 {
        return Err(Error::refused(format!("u:{no} was decided meanwhile")).hint("see ⟨memory pending --all⟩"));
    }
    Ok(())
}

/// Dismisses notices; all of them or none.
pub fn dismiss(at: &AssistantHome, numbers: &[PendingNo]) -> Result<Vec<Pending>> {
    at.write("memory.dismiss", |tx| {
        let mut out: Vec<Pending> = Vec::new();
        for no in numbers {
            if out.iter().any(|p| p.no == *no) {
                continue;
            }
            out.push(waiting(tx, at.agent_no, *no)?);
            decide(tx, at.agent_no, *no, State::Dismissed, None)?;
        }
        pages::mark(tx, at.agent_no, &Happened::NoticeChanged)?;
        tx.note("items", numbers.iter().map(|n| format!("u:{n}")).collect::<Vec<_>>());
        Ok(out)
    })
}

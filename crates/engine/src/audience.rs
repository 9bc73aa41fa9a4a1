//! Who asks, and what may be told there (R10.3): what holds for the agent always, what belongs to the session's own thread,
//! to threads explicitly linked to it and to its project; another thread's words never, unless it is named. Storey 3.

use rusqlite::{OptionalExtension, params};

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::render::memory::Scope;
use crate::scope::{AgentNo, SessionKey, SessionNo, ThreadKey, ThreadNo};
use crate::thread::{self, ThreadRow};
use crate::tree::AssistantHome;

/// What a caller knows of a session the ledger knows nothing of yet: programs ask before their first line is written.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Hint {
    /// The id of the project it runs in.
    pub workspace: Option<String>,
    /// A thread, by its number.
    pub thread: Option<ThreadNo>,
}

/// A session that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    pub no: SessionNo,
    pub last_at: Option<Millis>,
}

/// What a session's model has in its context without us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keeps {
    /// The turns since its context was cut last: its program keeps them, and sends them with every request.
    pub turns: bool,
    /// Of what was cut, too, the person's own words.
    pub words: bool,
}

impl Default for Keeps {
    /// As most programs do.
    fn default() -> Keeps {
        Keeps { turns: true, words: false }
    }
}

/// A cut of a session's context, as a hook told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToldCut {
    pub at: Millis,
    /// It was summarised, and not cleared.
    pub is_compaction: bool,
}

/// The place a question comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Audience {
    pub agent_no: AgentNo,
    pub session: SessionKey,
    /// `None`: nothing of it is stored yet.
    pub known: Option<Known>,
    pub thread: Option<ThreadRow>,
    /// Threads explicitly linked to it, by number.
    pub linked: Vec<ThreadNo>,
    /// The id of its project: of one with several names, the one they are aliases of.
    pub workspace: Option<String>,
    /// As a program keeps its sessions usually; who knows more of the program sets it.
    pub keeps: Keeps,
    /// The last cut of its context that a hook told of; set by who has heard of it.
    pub cut: Option<ToldCut>,
}

impl Audience {
    /// [`Audience::of`] in a read of its own.
    pub fn at(at: &AssistantHome, session: &SessionKey, hint: &Hint) -> Result<Audience> {
        at.read(|tx| Audience::of(tx, at.agent_no, session, hint))
    }

    /// Where a session is: in the thread of its newest prompt; before its first one in that of its project.
    pub fn of(tx: &Read, agent_no: AgentNo, session: &SessionKey, hint: &Hint) -> Result<Audience> {
        let found = tx
            .prepare_cached(
                "SELECT s.session_no, s.last_at, w.workspace_id FROM sessions s
                 LEFT JOIN workspaces v ON v.workspace_no = s.workspace_no
                 LEFT JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
                 WHERE s.agent_no = ?1 AND s.session_key = ?2 AND s.forgotten IS NULL",
            )?
            .query_row(params![agent_no, session.as_str()], |r| {
                Ok((Known { no: r.get(0)?, last_at: r.get(1)? }, r.get::<_, Option<String>>(2)?))
            })
            .optional()?;
        let (known, workspace) = match found {
            Some((known, workspace)) => (Some(known), workspace.or_else(|| hint.workspace.clone())),
            None => (None, hint.workspace.clone()),
        };
        let mut no = match (&known, hint.thread) {
            (_, Some(no)) => Some(thread::canonical(tx, no)?),
            (Some(known), None) => thread::of_session(tx, known.no)?,
            (None, None) => None,
        };
        if no.is_none()
            && let Some(id) = &workspace
        {
            let key = ThreadKey::new("project", id);
            let of_project: Option<ThreadNo> = tx
                .prepare_cached("SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2")?
                .query_row(params![agent_no, key.as_str()], |r| r.get(0))
                .optional()?;
            no = of_project.map(|no| thread::canonical(tx, no)).transpose()?;
        }
        let thread = no.map(|no| thread::row(tx, agent_no, no)).transpose()?;
        let linked = match &thread {
            Some(row) => thread::links(tx, row.no)?.into_iter().map(|l| l.thread_no).collect(),
            None => Vec::new(),
        };
        let keeps = Keeps::default();
        Ok(Audience { agent_no, session: session.clone(), known, thread, linked, workspace, keeps, cut: None })
    }

    /// Its own thread and those linked to it.
    pub fn threads(&self) -> Vec<ThreadNo> {
        self.thread.iter().map(|t| t.no).chain(self.linked.iter().copied()).collect()
    }

    /// Whether the words of an item of this scope may be told here.
    pub fn may_hear(&self, scope: &Scope) -> bool {
        match scope {
            Scope::AgentWide => true,
            Scope::Thread(no, _) => self.threads().contains(no),
            Scope::Workspace(id) => self.workspace.as_deref() == Some(id.as_str()),
        }
    }
}

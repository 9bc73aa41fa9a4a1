//! The audience of a text: who asks, and which memory may be told to them (R10.3). Told are items that hold for the
//! agent everywhere, and items of the session's own thread, of threads explicitly linked to it, and of its project.
//! Words of another thread are never told, unless the thread is named. Storey 3.

use rusqlite::{OptionalExtension, params};

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::render::memory::Scope;
use crate::scope::{AgentNo, SessionKey, SessionNo, ThreadKey, ThreadNo};
use crate::thread::{self, ThreadRow};
use crate::tree::AssistantHome;

/// Facts a caller knows about a session that the ledger does not know yet: programs ask before the first line of a
/// session is written.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Hint {
    /// Id of the project the session runs in.
    pub workspace: Option<String>,
    /// Number of a thread.
    pub thread: Option<ThreadNo>,
}

/// A session that is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    pub no: SessionNo,
    pub last_at: Option<Millis>,
}

/// Parts of a session that its program keeps in the model's context by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keeps {
    /// Whether the turns since the context was last cut are in it: the program keeps them, and sends them with every
    /// request.
    pub turns: bool,
    /// Whether the person's own words stay in the context even when it is cut.
    pub words: bool,
}

impl Default for Keeps {
    /// Returns the behaviour of most programs: the turns stay in the context, and no words survive a cut.
    fn default() -> Keeps {
        Keeps { turns: true, words: false }
    }
}

/// A cut of a session's context, as a hook reported it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToldCut {
    pub at: Millis,
    /// Whether the context was summarised and not cleared.
    pub is_compaction: bool,
}

/// The session a question comes from, with its thread and project.
#[derive(Clone, PartialEq, Debug)]
pub struct Audience {
    pub agent_no: AgentNo,
    pub session: SessionKey,
    /// The stored session; `None`: nothing of the session is stored yet.
    pub known: Option<Known>,
    pub thread: Option<ThreadRow>,
    /// Numbers of threads that are explicitly linked to the session's thread.
    pub linked: Vec<ThreadNo>,
    /// Id of the session's project; of a project with several names, the main one.
    pub workspace: Option<String>,
    /// Parts of the session in the context. The default is that of most programs; a caller that knows the program sets
    /// it.
    pub keeps: Keeps,
    /// Last cut of the context that a hook reported; set by the caller.
    pub cut: Option<ToldCut>,
}

impl Audience {
    /// Makes the audience like [`Audience::of`], in a read of its own.
    pub fn at(at: &AssistantHome, session: &SessionKey, hint: &Hint) -> Result<Audience> {
        at.read(|tx| Audience::of(tx, at.agent_no, session, hint))
    }

    /// Makes the audience of a session: in the thread of its newest prompt; before its first prompt, in the thread of
    /// its project.
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

    /// Returns the session's own thread and the threads linked to it.
    pub fn threads(&self) -> Vec<ThreadNo> {
        self.thread.iter().map(|t| t.no).chain(self.linked.iter().copied()).collect()
    }

    /// Whether the words of an item with this scope may be told to this audience.
    pub fn may_hear(&self, scope: &Scope) -> bool {
        match scope {
            Scope::AgentWide => true,
            Scope::Thread(no, _) => self.threads().contains(no),
            Scope::Workspace(id) => self.workspace.as_deref() == Some(id.as_str()),
        }
    }
}

//! Settings of a home, as values. The caller takes them from options, the environment or a file; the engine reads none
//! of these.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::budget::Budget;
use crate::distill::advance::Limits;
use crate::error::{Error, Result};
use crate::index::Embedder;
use crate::judge;
use crate::model::Model;
use crate::scope::AgentId;

/// Settings of an opened home.
pub struct Settings {
    /// Default agent, used where no agent is named.
    pub agent: AgentId,
    /// Limits for chunks and compaction. An error here is returned only by verbs that need the limits, so that hooks
    /// and searches still work.
    pub limits: Result<Limits, Wrong>,
    /// The machine's time zone; the zone in the operator's profile takes precedence.
    pub zone: TimeZone,
    /// The user's home directory, which never counts as a project.
    pub user_home: Option<PathBuf>,
    pub embeddings: Embeddings,
    /// The language model; everything works without one (D5).
    pub model: Option<LanguageModel>,
    /// Importance of each category of messages, and the policy for dropping vectors of old ones.
    pub judge: Result<(judge::Weights, judge::decay::Policy), Wrong>,
}

/// A language model of the settings, and its daily budget.
pub struct LanguageModel {
    /// Makes the model when it is first needed. Its errors are returned only by verbs that need it.
    pub load: Box<dyn Fn() -> Result<Arc<dyn Model>> + Send + Sync>,
    pub budget: Budget,
    /// Digest of its settings: after a refusal the model is asked again once they change.
    pub digest: [u8; 16],
}

impl Default for Settings {
    /// Returns the agent `main`, UTC, the usual limits and no model, so that only words are searched.
    fn default() -> Settings {
        Settings {
            agent: AgentId::main(),
            limits: Ok(Limits::default()),
            zone: TimeZone::UTC,
            user_home: None,
            embeddings: Embeddings::none(),
            model: None,
            judge: Ok(Default::default()),
        }
    }
}

/// A problem with a setting, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    pub what: String,
    pub hint: Option<String>,
}

impl From<&Error> for Wrong {
    fn from(error: &Error) -> Wrong {
        Wrong { what: error.to_string(), hint: error.next_step().map(str::to_owned) }
    }
}

impl From<&Wrong> for Error {
    fn from(wrong: &Wrong) -> Error {
        let error = Error::usage(&wrong.what);
        match &wrong.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// A function that makes the model when it is first needed.
type Load = dyn Fn() -> Result<Arc<dyn Embedder>> + Send + Sync;

/// The embedding model (R10.8).
pub struct Embeddings {
    load: Option<Box<Load>>,
    /// Models that may have made the existing vectors; they are used until the new model has made its own.
    older: Vec<Box<Load>>,
    /// Contradiction in the settings; verbs that need the index return it as an error.
    wrong: Option<Wrong>,
    /// Whether a hook may use the model: it is there at once, without a connection or a file to read (R12.5).
    pub(crate) for_hooks: bool,
    /// Where the model runs, for people: `built in`.
    pub(crate) shown: String,
}

impl Embeddings {
    /// Returns no model: only words are searched.
    pub fn none() -> Embeddings {
        Embeddings { load: None, older: Vec::new(), wrong: None, for_hooks: false, shown: "none".into() }
    }

    /// Returns a model that is made when it is first needed. `shown`: where it runs, for people. `for_hooks`: whether
    /// it is there at once.
    pub fn load(
        shown: impl Into<String>,
        for_hooks: bool,
        load: impl Fn() -> Result<Arc<dyn Embedder>> + Send + Sync + 'static,
    ) -> Embeddings {
        Embeddings { load: Some(Box::new(load)), older: Vec::new(), wrong: None, for_hooks, shown: shown.into() }
    }

    /// Adds a model that the home may have used before: its vectors are searched until the new model has made its own.
    pub fn or_older(mut self, load: impl Fn() -> Result<Arc<dyn Embedder>> + Send + Sync + 'static) -> Embeddings {
        self.older.push(Box::new(load));
        self
    }

    /// Returns settings that contradict themselves; verbs that need the index report that.
    pub fn wrong(wrong: Wrong) -> Embeddings {
        Embeddings { wrong: Some(wrong), ..Embeddings::none() }
    }

    /// Fails with `Usage` if the settings contradict themselves.
    pub(crate) fn check(&self) -> Result<()> {
        self.wrong.as_ref().map_or(Ok(()), |wrong| Err(wrong.into()))
    }

    /// Returns the older models that can be loaded.
    pub(crate) fn older(&self) -> impl Iterator<Item = Arc<dyn Embedder>> {
        self.older.iter().filter_map(|load| load().ok())
    }

    /// Returns the model; `None` if the settings name none.
    pub(crate) fn model(&self) -> Option<Result<Arc<dyn Embedder>>> {
        self.load.as_ref().map(|load| load())
    }
}

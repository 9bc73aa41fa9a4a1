//! What the caller decides: values it took from options, the environment or a file. The engine reads none of these.

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
    /// The default agent: whose memory it is where nothing else is said.
    pub agent: AgentId,
    /// How conversations are cut and compacted. What is wrong with it is an error of whatever needs it, and of nothing
    /// else: a hook and a search go on.
    pub limits: Result<Limits, Wrong>,
    /// The machine's time zone. What the operator's profile says comes before it.
    pub zone: TimeZone,
    /// The user's home directory, which is no project.
    pub user_home: Option<PathBuf>,
    pub embeddings: Embeddings,
    /// The language model; without one everything works (D5).
    pub model: Option<LanguageModel>,
    /// How important each category of messages is, and when vectors of old ones go.
    pub judge: Result<(judge::Weights, judge::decay::Policy), Wrong>,
}

/// A language model of the settings, and what it may be asked in a day.
pub struct LanguageModel {
    /// Makes it, when it is first needed. Its errors are those of whatever needs it, and of nothing else.
    pub load: Box<dyn Fn() -> Result<Arc<dyn Model>> + Send + Sync>,
    pub budget: Budget,
    /// A digest of its settings: after a refusal it is asked again when they change.
    pub digest: [u8; 16],
}

impl Default for Settings {
    /// The agent `main`, UTC, the usual limits, and no model: words alone are searched.
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

/// What is wrong with a setting, and what to do about it.
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

/// Makes the model, when it is first needed.
type Load = dyn Fn() -> Result<Arc<dyn Embedder>> + Send + Sync;

/// The model that places texts in space (R10.8).
pub struct Embeddings {
    load: Option<Box<Load>>,
    /// Models that may have made the vectors there are, until the wanted one has made its own.
    older: Vec<Box<Load>>,
    /// The settings contradict themselves: an error of whatever needs the index.
    wrong: Option<Wrong>,
    /// A hook may use it: it is there at once, without a connection or a file to read (R12.5).
    pub(crate) for_hooks: bool,
    /// Where it is, for people: `built in`.
    pub(crate) shown: String,
}

impl Embeddings {
    /// No model: words alone are searched.
    pub fn none() -> Embeddings {
        Embeddings { load: None, older: Vec::new(), wrong: None, for_hooks: false, shown: "none".into() }
    }

    /// A model that is made when it is first needed. `shown`: where it is, for people. `for_hooks`: whether it is there
    /// at once.
    pub fn load(
        shown: impl Into<String>,
        for_hooks: bool,
        load: impl Fn() -> Result<Arc<dyn Embedder>> + Send + Sync + 'static,
    ) -> Embeddings {
        Embeddings { load: Some(Box::new(load)), older: Vec::new(), wrong: None, for_hooks, shown: shown.into() }
    }

    /// Another model that the home may have had: its vectors go on answering while those of the wanted one are made.
    pub fn or_older(mut self, load: impl Fn() -> Result<Arc<dyn Embedder>> + Send + Sync + 'static) -> Embeddings {
        self.older.push(Box::new(load));
        self
    }

    /// Settings that contradict themselves.
    pub fn wrong(wrong: Wrong) -> Embeddings {
        Embeddings { wrong: Some(wrong), ..Embeddings::none() }
    }

    /// `Usage` where the settings contradict themselves.
    pub(crate) fn check(&self) -> Result<()> {
        self.wrong.as_ref().map_or(Ok(()), |wrong| Err(wrong.into()))
    }

    /// The older models that can be had.
    pub(crate) fn older(&self) -> impl Iterator<Item = Arc<dyn Embedder>> {
        self.older.iter().filter_map(|load| load().ok())
    }

    /// The model; `None` where none is wanted.
    pub(crate) fn model(&self) -> Option<Result<Arc<dyn Embedder>>> {
        self.load.as_ref().map(|load| load())
    }
}

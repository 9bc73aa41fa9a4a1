//! The engine behind the tools: opened by the first call, closed when nobody asks.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heirloom_engine::engine::Engine;
use heirloom_engine::error::Result;

/// Opens the memory.
pub type Opening = Arc<dyn Fn() -> Result<Engine> + Send + Sync>;

/// How long an engine nobody asks stays open. A client may live for days and ask twice.
const REST: Duration = Duration::from_secs(60);

/// Where the client works: what is told is what a session there would be told.
enum Place {
    Nowhere,
    Folder(PathBuf),
    /// A project, by its id.
    Project(String),
}

/// A memory that is open while it is asked.
pub struct Memory {
    opening: Opening,
    place: Place,
    /// In whose name tools act.
    actor: String,
    open: Mutex<Option<(Engine, Instant)>>,
}

impl Memory {
    /// `folder`: the client's; `None` for one that works in no project.
    pub fn new(opening: Opening, folder: Option<PathBuf>) -> Memory {
        let place = folder.map_or(Place::Nowhere, Place::Folder);
        Memory { opening, place, actor: "mcp".into(), open: Mutex::new(None) }
    }

    /// A memory that is open already, for a client that works in this project; it acts in the engine's name.
    pub fn over(engine: Engine, project: Option<String>) -> Memory {
        let place = project.map_or(Place::Nowhere, Place::Project);
        let actor = format!("mcp {}", engine.actor());
        Memory { opening: Arc::new(move || Ok(engine.clone())), place, actor, open: Mutex::new(None) }
    }

    /// The engine, acting in the name of the tools.
    pub fn engine(&self) -> Result<Engine> {
        let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
        let engine = match open.take() {
            Some((engine, _)) => engine,
            None => (self.opening)()?.acting_as(&self.actor),
        };
        *open = Some((engine.clone(), Instant::now()));
        Ok(engine)
    }

    /// Closes an engine that was not asked for a minute.
    pub fn rest(&self) {
        let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
        if open.as_ref().is_some_and(|(_, asked)| asked.elapsed() >= REST) {
            *open = None;
        }
    }

    /// The id of the client's project; `None` where its folder is no place for one.
    pub fn workspace(&self, engine: &Engine) -> Option<String> {
        match &self.place {
            Place::Nowhere => None,
            Place::Folder(folder) => engine.workspace_id(&format!("{}/", folder.to_str()?.trim_end_matches('/'))).ok(),
            Place::Project(id) => Some(id.clone()),
        }
    }
}

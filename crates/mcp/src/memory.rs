//! The engine behind the tools: opened by the first call, and closed when it is not used.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heirloom_engine::engine::Engine;
use heirloom_engine::error::Result;

/// Function that opens the engine.
pub type Opening = Arc<dyn Fn() -> Result<Engine> + Send + Sync>;

/// Time after which an unused engine is closed. A client may run for days and ask twice.
const REST: Duration = Duration::from_secs(60);

/// The client's place of work: answers contain what a session there may be told.
enum Place {
    Nowhere,
    Folder(PathBuf),
    /// A project, by its id.
    Project(String),
}

/// A memory whose engine is open only while it is used.
pub struct Memory {
    opening: Opening,
    place: Place,
    /// Name under which the tools act, for the audit.
    actor: String,
    open: Mutex<Option<(Engine, Instant)>>,
}

impl Memory {
    /// Makes a memory that is opened by its first call. `folder` is the client's; `None` for a client that works in no
    /// project.
    pub fn new(opening: Opening, folder: Option<PathBuf>) -> Memory {
        let place = folder.map_or(Place::Nowhere, Place::Folder);
        Memory { opening, place, actor: "mcp".into(), open: Mutex::new(None) }
    }

    /// Makes a memory over an open engine, for a client that works in this project; it acts in the engine's name.
    pub fn over(engine: Engine, project: Option<String>) -> Memory {
        let place = project.map_or(Place::Nowhere, Place::Project);
        let actor = format!("mcp {}", engine.actor());
        Memory { opening: Arc::new(move || Ok(engine.clone())), place, actor, open: Mutex::new(None) }
    }

    /// Returns the engine, acting under the tools' name.
    pub fn engine(&self) -> Result<Engine> {
        let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
        let engine = match open.take() {
            Some((engine, _)) => engine,
            None => (self.opening)()?.acting_as(&self.actor),
        };
        *open = Some((engine.clone(), Instant::now()));
        Ok(engine)
    }

    /// Closes an engine that was not used for a minute.
    pub fn rest(&self) {
        let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
        if open.as_ref().is_some_and(|(_, asked)| asked.elapsed() >= REST) {
            *open = None;
        }
    }

    /// Returns the id of the client's project; `None` if its folder belongs to no project.
    pub fn workspace(&self, engine: &Engine) -> Option<String> {
        match &self.place {
            Place::Nowhere => None,
            Place::Folder(folder) => engine.workspace_id(&format!("{}/", folder.to_str()?.trim_end_matches('/'))).ok(),
            Place::Project(id) => Some(id.clone()),
        }
    }
}

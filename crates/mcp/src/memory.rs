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

/// A memory that is open while it is asked.
pub struct Memory {
    opening: Opening,
    /// The folder the client works in: what is told is what a session there would be told.
    folder: Option<PathBuf>,
    open: Mutex<Option<(Engine, Instant)>>,
}

impl Memory {
    /// `folder`: the client's; `None` for one that works in no project.
    pub fn new(opening: Opening, folder: Option<PathBuf>) -> Memory {
        Memory { opening, folder, open: Mutex::new(None) }
    }

    /// The engine, acting in the name of the tools.
    pub fn engine(&self) -> Result<Engine> {
        let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
        let engine = match open.take() {
            Some((engine, _)) => engine,
            None => (self.opening)()?.acting_as("mcp"),
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
        let folder = self.folder.as_ref()?;
        engine.workspace_id(&format!("{}/", folder.to_str()?.trim_end_matches('/'))).ok()
    }
}

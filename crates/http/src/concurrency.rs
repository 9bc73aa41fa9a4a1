//! Limits on how many calls of the engine run at once, on threads beside the event loop.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::problem::Problem;

/// Kind of an engine call; each kind has its own limit of concurrent calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A call that only reads; three at once.
    Reads,
    /// A call that changes something; one at a time.
    Writes,
    /// A program's hook, whose caller waits a fraction of a second at most; four at once.
    Hook,
    /// An import of session stores, which may take minutes and commits in between; one at a time.
    Imports,
}

/// Number of threads all gates together may use at once; the runtime must allow as many blocking threads.
pub const THREADS: usize = 3 + 1 + 4 + 1;

/// Maximum number of clients that may listen for events at once.
const LISTENERS: usize = 64;

pub struct Gates {
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    hooks: Arc<Semaphore>,
    imports: Arc<Semaphore>,
    /// Places for clients that listen for events; a listening client uses no thread while nothing happens.
    pub listeners: Arc<Semaphore>,
}

impl Default for Gates {
    fn default() -> Gates {
        let of = |n| Arc::new(Semaphore::new(n));
        Gates { reads: of(3), writes: of(1), hooks: of(4), imports: of(1), listeners: of(LISTENERS) }
    }
}

impl Gates {
    /// Runs `f` on a blocking thread once a place of this kind is free. A caller that disconnects while waiting gives
    /// up its place in the queue; a call that has begun runs to its end, so that nothing is left half done.
    pub async fn run<T: Send + 'static>(
        &self,
        kind: Kind,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let place = self.place(kind).await?;
        let run = spawn_blocking(move || {
            let out = f();
            drop(place);
            out
        });
        run.await.map_err(|_| Problem::stopped())
    }

    /// Waits for a free place of this kind. Dropping the permit frees the place.
    pub async fn place(&self, kind: Kind) -> Result<OwnedSemaphorePermit, Problem> {
        let gate = match kind {
            Kind::Reads => &self.reads,
            Kind::Writes => &self.writes,
            Kind::Hook => &self.hooks,
            Kind::Imports => &self.imports,
        };
        Arc::clone(gate).acquire_owned().await.map_err(|_| Problem::stopped())
    }
}

//! How many calls of the engine run at once, beside the event loop.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::problem::Problem;

/// What a call is, for what may run beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It looks; three at once.
    Reads,
    /// It changes something; one at a time.
    Writes,
    /// It is a program's hook, which waits a fraction of a second at most; four at once.
    Hook,
    /// It reads session stores, for minutes perhaps, and lets others in between; one at a time.
    Imports,
}

/// The threads the gates may take at once, all together: what the runtime must allow.
pub const THREADS: usize = 3 + 1 + 4 + 1;

/// The most clients that listen for events at once.
const LISTENERS: usize = 64;

pub struct Gates {
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    hooks: Arc<Semaphore>,
    imports: Arc<Semaphore>,
    /// Clients that listen for events; they take no thread while nothing happens.
    pub listeners: Arc<Semaphore>,
}

impl Default for Gates {
    fn default() -> Gates {
        let of = |n| Arc::new(Semaphore::new(n));
        Gates { reads: of(3), writes: of(1), hooks: of(4), imports: of(1), listeners: of(LISTENERS) }
    }
}

impl Gates {
    /// Runs `f` on a thread of its own when its turn comes. A caller that leaves before that takes its place with it; what
    /// has begun goes on to its end, so that nothing is left half done.
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

    /// Waits for a place, which is given back when it is dropped.
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

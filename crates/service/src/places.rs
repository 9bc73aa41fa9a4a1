//! Places for clients. If all places are taken, the client that has kept the service waiting longest gives up its
//! place: one that only connected, sends half a request, or is silent between two requests. A client whose request is
//! being answered keeps its place.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Maximum number of open connections, for the socket and for the port each.
pub const MOST: usize = 256;

/// Time after which a place is looked for again if every client with a place is being answered.
const AGAIN: Duration = Duration::from_millis(50);

/// State of a client whose request is being answered.
const ANSWERED: u64 = 0;
/// State of a client that gave up its place.
const GONE: u64 = u64::MAX;

/// The places of one listener.
pub struct Places {
    free: Arc<Semaphore>,
    taken: Mutex<Vec<Arc<Place>>>,
    since: Instant,
}

/// The place of one client.
pub struct Place {
    /// [`ANSWERED`], [`GONE`], or the time since which the client has kept the service waiting.
    state: AtomicU64,
    gone: Notify,
    since: Instant,
}

/// A place that is free again when this is dropped.
pub struct Taken {
    pub place: Arc<Place>,
    places: Arc<Places>,
    _free: OwnedSemaphorePermit,
}

impl Places {
    pub fn new() -> Arc<Places> {
        Places::of(MOST)
    }

    fn of(most: usize) -> Arc<Places> {
        Arc::new(Places { free: Arc::new(Semaphore::new(most)), taken: Mutex::default(), since: Instant::now() })
    }

    /// Takes a place for a client that was accepted. If there is none, the client that has kept us waiting longest gives
    /// up its place; if there is no such client, this waits.
    pub async fn take(self: &Arc<Places>) -> Option<Taken> {
        let free = loop {
            if let Ok(free) = Arc::clone(&self.free).try_acquire_owned() {
                break free;
            }
            self.send_one_away();
            if let Ok(free) = timeout(AGAIN, Arc::clone(&self.free).acquire_owned()).await {
                break free.ok()?;
            }
        };
        let place = Arc::new(Place { state: AtomicU64::new(ANSWERED), gone: Notify::new(), since: self.since });
        place.waits();
        self.taken().push(Arc::clone(&place));
        Some(Taken { place, places: Arc::clone(self), _free: free })
    }

    fn send_one_away(&self) {
        let taken = self.taken();
        let state = |place: &Place| place.state.load(Ordering::Relaxed);
        let waits = taken.iter().map(|place| (state(place), place)).filter(|(at, _)| !matches!(*at, ANSWERED | GONE));
        let Some((since, place)) = waits.min_by_key(|(since, _)| *since) else { return };
        // If its request has just come, it keeps its place, and another client is looked for.
        if place.state.compare_exchange(since, GONE, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            place.gone.notify_one();
        }
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Place>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.places.taken().retain(|place| !Arc::ptr_eq(place, &self.place));
    }
}

impl Place {
    /// Notes that we wait for the client from now on.
    pub fn waits(&self) {
        let now = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(GONE - 2) + 1;
        self.becomes(now);
    }

    /// Notes that the client's request is there. Returns false if the client gave up its place before.
    pub fn is_answered(&self) -> bool {
        self.becomes(ANSWERED)
    }

    /// Waits until the client has to give up its place.
    pub async fn gone(&self) {
        self.gone.notified().await;
    }

    fn becomes(&self, new: u64) -> bool {
        let alive = |state| (state != GONE).then_some(new);
        self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, alive).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_that_keeps_us_waiting_longest_goes_first() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let later = || tokio::time::sleep(Duration::from_millis(2));
            let places = Places::of(3);
            let mut taken = Vec::new();
            for _ in 0..3 {
                taken.push(places.take().await.unwrap());
                later().await;
            }
            // The first is being answered, and the second was answered just now: the third is silent for longest.
            assert!(taken[0].place.is_answered());
            taken[1].place.waits();
            let of = Arc::clone(&places);
            let next = tokio::spawn(async move { of.take().await });
            taken[2].place.gone().await;
            assert!(!taken[2].place.is_answered(), "its request came too late");
            taken.pop();
            taken.push(next.await.unwrap().unwrap());
            assert!(taken.iter().all(|taken| taken.place.is_answered()));
            // While all are answered, a new client waits until one of them is.
            let mut waiting = std::pin::pin!(places.take());
            assert!(timeout(4 * AGAIN, waiting.as_mut()).await.is_err());
            taken[0].place.waits();
            let sent_away = async {
                taken[0].place.gone().await;
                drop(taken.remove(0));
            };
            let (last, ()) = tokio::join!(waiting, sent_away);
            assert!(last.is_some() && taken.iter().all(|taken| taken.place.is_answered()));
        });
    }
}

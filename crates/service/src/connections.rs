//! Connections: accepted, served by the router, and closed if their client is too slow or has to make room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Extensions, Request};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::time::timeout;
use tower_service::Service as _;

use crate::hints::Hints;
use crate::patience::{Answer, BODY, Patient, Timed};
use crate::places::{Place, Places, Taken};
use crate::serve::Via;

/// Time limit for the head of a request, and for the pause between two requests of a connection.
const HEAD: Duration = Duration::from_secs(5);

/// Time in which a new client must send its first byte.
const FIRST: Duration = Duration::from_secs(2);

/// Maximum size of a request's head, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// State shared by all connections.
pub struct Shared {
    pub router: Router,
    pub mark: fn(Via, &mut Extensions),
    pub hints: Arc<Hints>,
    /// Set to true when no more requests are accepted.
    pub stop: watch::Receiver<bool>,
    pub open: Arc<AtomicU64>,
}

/// Accepts connections on the socket until `stop` is set. Processes of other users are refused.
pub async fn on_socket(listener: UnixListener, shared: Arc<Shared>) {
    let us = rustix::process::geteuid().as_raw();
    let places = Places::new();
    let mut stop = shared.stop.clone();
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if stream.peer_cred().is_ok_and(|peer| peer.uid() == us) => {
                let Some(taken) = place(&places, &mut stop).await else { return };
                let shared = Arc::clone(&shared);
                tokio::spawn(while_it_has(taken, move |place| async move {
                    if timeout(FIRST, stream.readable()).await.is_ok() {
                        serve(stream, Via::Socket, &shared, &place).await;
                    }
                }));
            }
            Ok(_) => {}
            Err(_) => pause().await,
        }
    }
}

/// Accepts connections on the port until `stop` is set.
pub async fn on_port(listener: TcpListener, port: u16, shared: Arc<Shared>) {
    let places = Places::new();
    let mut stop = shared.stop.clone();
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                let Some(taken) = place(&places, &mut stop).await else { return };
                let shared = Arc::clone(&shared);
                tokio::spawn(while_it_has(taken, move |place| async move {
                    if timeout(FIRST, stream.readable()).await.is_ok() {
                        serve(stream, Via::Tcp { port }, &shared, &place).await;
                    }
                }));
            }
            Err(_) => pause().await,
        }
    }
}

/// Takes a place for an accepted client; `None` if no more clients are served.
async fn place(places: &Arc<Places>, stop: &mut watch::Receiver<bool>) -> Option<Taken> {
    tokio::select! {
        _ = stop.wait_for(|stop| *stop) => None,
        taken = places.take() => taken,
    }
}

/// Serves a client as long as it has its place.
async fn while_it_has<F: Future<Output = ()>>(taken: Taken, served: impl FnOnce(Arc<Place>) -> F) {
    let place = Arc::clone(&taken.place);
    tokio::select! {
        () = taken.place.gone() => {}
        () = served(place) => {}
    }
}

/// Waits before accepting again: accepting fails while no file descriptors are free.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Counts a connection as open until this is dropped.
struct Open<'s>(&'s AtomicU64);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    via: Via,
    shared: &Arc<Shared>,
    place: &Arc<Place>,
) {
    shared.open.fetch_add(1, Ordering::Relaxed);
    let _open = Open(&shared.open);
    let (asked, held) = (Arc::clone(shared), Arc::clone(place));
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        asked.hints.asked();
        // `via` is for the service's own routes; `mark` sets the router's equivalent.
        let mut request = request.map(|body| Body::new(Timed::new(body, BODY, Arc::clone(&held))));
        request.extensions_mut().insert(via);
        (asked.mark)(via, request.extensions_mut());
        let (mut router, held) = (asked.router.clone(), Arc::clone(&held));
        async move {
            let answered = router.call(request).await;
            answered.map(|response| response.map(|body| Body::new(Answer::new(body, held))))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        .half_close(false)
        .serve_connection(TokioIo::new(Patient::new(stream)), service);
    tokio::pin!(connection);
    let mut stop = shared.stop.clone();
    // A client that is gone or too slow is not an error of the service.
    let is_told = tokio::select! {
        _ = connection.as_mut() => false,
        _ = stop.wait_for(|stop| *stop) => true,
    };
    if is_told {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

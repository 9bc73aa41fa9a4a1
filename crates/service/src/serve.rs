//! The life of a service: it opens its sockets, serves requests, and ends in order.
//!
//! | event | reaction |
//! |---|---|
//! | SIGTERM, SIGINT | new requests are refused, begun ones answered, jobs released; ends within five seconds |
//! | a second signal | ends at once |
//! | a new build in its place, changed settings | answers requests for two seconds, then the new build takes the sockets |
//! | changed settings that make no sense | says so and keeps the settings it has |
//! | the home was moved or deleted | says so and ends |

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use axum::http::{Extensions, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use heirloom_engine::clock::Millis;
use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::HomeLock;
use heirloom_engine::ledger::SCHEMA_VERSION;
use heirloom_engine::program::Program;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::connections::{self, Shared};
use crate::hints::Hints;
use crate::keeper::Keeper;
use crate::running::{self, Running};
use crate::settings::{Check, InUse};
use crate::sockets::{Sockets, Tcp};
use crate::supervisor;
use crate::upgrade::{Executable, Handed};

/// Time in which begun requests are answered after a signal.
const ENDING: Duration = Duration::from_secs(4);

/// Time in which begun requests are answered when a new build waits to take over.
const REPLACING: Duration = Duration::from_secs(2);

/// Number of threads for calls of the engine. It has one writer and a few readers; more threads would only wait.
const THREADS: usize = 12;

/// Number of file descriptors the event loop needs: for waiting, and for signals.
const FILES: usize = 8;

/// Writes a line to the service's log.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Everything a service is made of.
pub struct Service {
    /// The engine, opened for writing.
    pub engine: Engine,
    pub programs: Vec<Arc<dyn Program>>,
    pub tcp: Tcp,
    /// Build of this binary: `<schema of the ledger>.<version>`.
    pub build: String,
    /// Digest of the settings that hooks must share with the service.
    pub environment: String,
    /// Poll for changes instead of watching.
    pub poll: bool,
    /// Makes the router that answers requests.
    pub router: Box<dyn FnOnce(Wires) -> Router>,
    /// Marks a request with the way it came in.
    pub mark: fn(Via, &mut Extensions),
    pub say: Say,
    /// Checks settings that were changed while the service runs; it keeps those it has if they make no sense.
    pub check: Check,
    /// Recurring work of the application, such as backups.
    pub chore: Option<Chore>,
}

type Due = dyn Fn(&Engine) -> Option<Millis> + Send + Sync;
type Run = dyn Fn(&Engine) -> Result<Option<String>> + Send + Sync;

/// Work of the application that falls due from time to time and may take long, such as a backup. It runs on its own
/// thread; if the service ends meanwhile, the next service starts the work again.
#[derive(Clone)]
pub struct Chore {
    /// Returns the time at which the work is due; `None` if it is not due for now.
    pub due: Arc<Due>,
    /// Does the work. Returns a line for the log, if any.
    pub run: Arc<Run>,
}

/// Connections between the service and its router.
pub struct Wires {
    /// Called when a newer build asks this one to end.
    pub retire: Arc<dyn Fn() + Send + Sync>,
    /// Newest row number of the audit; updated whenever it grows. The channel closes when the service ends.
    pub changes: watch::Receiver<u64>,
}

/// The way a request came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// The socket, used by a process of the same user.
    Socket,
    Tcp {
        port: u16,
    },
}

/// Reason for the process to end or to be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Start again from the executable file that is in our place now.
    Replace(&'static str),
    HomeGone,
    /// A newer build asked this one to end.
    Retire,
    /// A signal asked the process to end.
    End,
}

/// Reason why a service ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Asked,
    /// The home's folder is gone or was moved.
    HomeGone,
    /// The ledger was migrated by a newer build.
    Retired,
}

/// Serves until it is told to end. `lock` is the one taken by [`running::claim`].
pub fn serve(service: Service, lock: HomeLock) -> Result<Ended> {
    let executable = Executable::ours().map(Arc::new);
    let sockets = Sockets::open(service.engine.home(), service.tcp)?;
    if let Some(refused) = &sockets.refused {
        (service.say)(&format!("{refused}; goes on where it listened"));
    }
    let handed = Handed::of(&sockets).map_err(|e| machine("the sockets cannot be copied", e))?;
    there_is_room().map_err(|e| machine("no more files can be opened", e))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(Duration::from_secs(5))
        .build()
        .map_err(|e| machine("no event loop", e))?;
    let engine = service.engine.clone();
    let say = Arc::clone(&service.say);
    let (order, handed) = runtime.block_on(run(service, sockets, handed, executable.clone()))?;
    // Begun calls of the engine are short, except imports, which lose nothing when they are cut off.
    runtime.shutdown_timeout(Duration::from_millis(500));
    if let Err(e) = engine.release_jobs() {
        say(&e.to_string());
    }
    engine.rest();
    if let (Order::Replace(why), Some(executable), Some(handed)) = (order, &executable, handed) {
        say(&format!("{why}: begins again"));
        let failed = executable.replace_us(handed);
        return Err(machine("the new build cannot be started", failed));
    }
    running::forget(engine.home());
    drop(lock);
    Ok(match order {
        Order::HomeGone => Ended::HomeGone,
        Order::Retire => Ended::Retired,
        _ => Ended::Asked,
    })
}

/// Checks that enough file descriptors are free: the event loop panics if it cannot open them.
fn there_is_room() -> std::io::Result<()> {
    (0..FILES).map(|_| std::fs::File::open("/dev/null")).collect::<std::io::Result<Vec<_>>>().map(drop)
}

/// Serves. Returns the reason for the end, with the sockets if a new build takes them over.
async fn run(
    service: Service,
    sockets: Sockets,
    handed: Handed,
    executable: Option<Arc<Executable>>,
) -> Result<(Order, Option<Handed>)> {
    let signals = |kind| signal(kind).map_err(|e| machine("signals cannot be heard", e));
    let (mut term, mut int) = (signals(SignalKind::terminate())?, signals(SignalKind::interrupt())?);
    let (orders, mut ordered) = mpsc::unbounded_channel();
    let (stop, stopped) = watch::channel(false);
    let (changes, changed) = watch::channel(0);
    let hints = Arc::new(Hints::default());
    let open = Arc::new(AtomicU64::new(0));
    let running = Running {
        since: service.engine.now(),
        build: service.build.clone(),
        environment: service.environment,
        socket: sockets.path.clone(),
        port: sockets.address().map(|at| at.port()),
        address: sockets.address(),
        old_settings: sockets.refused.clone(),
        ..Running::new()
    };
    // Read before anybody can learn that the service runs and change the settings for it.
    let settings = Arc::new(InUse::new(service.engine.home(), service.check));
    running.write(service.engine.home())?;
    let (home, engine, say) = (service.engine.home().root().to_owned(), service.engine.clone(), service.say.clone());
    let retire = orders.clone();
    let wires = Wires {
        retire: Arc::new(move || {
            let _ = retire.send(Order::Retire);
        }),
        changes: changed,
    };
    let router = (service.router)(wires).merge(about(home, Arc::clone(&open)));
    let shared = Arc::new(Shared {
        router,
        mark: service.mark,
        hints: Arc::clone(&hints),
        stop: stopped,
        open: Arc::clone(&open),
    });
    let listening = |e: std::io::Error| machine("the sockets cannot be used", e);
    sockets.unix.set_nonblocking(true).map_err(listening)?;
    let unix = tokio::net::UnixListener::from_std(sockets.unix).map_err(listening)?;
    let mut accepting = vec![tokio::spawn(connections::on_socket(unix, Arc::clone(&shared)))];
    if let (Some(tcp), Some(port)) = (sockets.tcp, running.port) {
        tcp.set_nonblocking(true).map_err(listening)?;
        let tcp = tokio::net::TcpListener::from_std(tcp).map_err(listening)?;
        accepting.push(tokio::spawn(connections::on_port(tcp, port, Arc::clone(&shared))));
    }
    drop(shared);
    let port = running.url().map_or(String::new(), |url| format!(" and {url}"));
    say(&format!("listens on {}{port}", sockets.path.display()));
    let keeper = Keeper {
        engine: service.engine,
        programs: service.programs,
        hints: Arc::clone(&hints),
        changes,
        orders,
        running,
        poll: service.poll,
        executable: executable.clone(),
        say: Arc::clone(&say),
        settings: Arc::clone(&settings),
        chore: service.chore,
    };
    let keeping = std::thread::Builder::new().name("keeper".into()).spawn(move || keeper.keep());
    let keeping = keeping.map_err(|e| machine("no thread for the keeper", e))?;
    supervisor::ready();

    let order = loop {
        let order = tokio::select! {
            _ = term.recv() => Order::End,
            _ = int.recv() => Order::End,
            Some(order) = ordered.recv() => order,
        };
        match order {
            Order::Retire => match make_room(&engine, executable.clone(), Arc::clone(&settings)).await {
                Some(order) => break order,
                None => continue,
            },
            Order::Replace(why) if executable.is_none() => say(&format!("{why}: start the service again")),
            order => break order,
        }
    };
    let (ending, handed) = match order {
        Order::Replace(_) => (REPLACING, Some(handed)),
        _ => {
            supervisor::stopping();
            // Once the last copy of the socket is closed, clients are refused at once and do without the service.
            let _ = std::fs::remove_file(&handed.path);
            (ENDING, None)
        }
    };
    // First, no more connections are accepted, and listeners for events learn that the stream ends.
    stop.send_replace(true);
    hints.leave(|seen| seen.stop = true);
    for accepting in accepting {
        let _ = accepting.await;
    }
    let until = Instant::now() + ending;
    let busy = || open.load(Ordering::Relaxed) > 0 || !keeping.is_finished();
    while busy() && Instant::now() < until {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
            () = again(&mut term, &mut int) => std::process::exit(1),
        }
    }
    Ok((order, handed))
}

/// Waits for a second signal.
async fn again(term: &mut Signal, int: &mut Signal) {
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// Decides how to make room for a newer build. `None` if no newer build is there.
async fn make_room(engine: &Engine, executable: Option<Arc<Executable>>, settings: Arc<InUse>) -> Option<Order> {
    let engine = engine.clone();
    let decided = tokio::task::spawn_blocking(move || {
        // With settings that make no sense, the new build would end as soon as it begins.
        if executable.is_some_and(|ours| ours.was_replaced()) && settings.wrong(engine.home()).is_none() {
            return Some(Order::Replace("a new build asks for room"));
        }
        let schema = engine.read(|tx| Ok(tx.query_row("PRAGMA user_version", [], |r| r.get::<_, i64>(0))?));
        schema.is_ok_and(|schema| schema > SCHEMA_VERSION).then_some(Order::Retire)
    });
    decided.await.ok().flatten()
}

/// Serves `GET /v1/daemon`, on the socket only: the service's description of itself, and its number of connections.
fn about(home: std::path::PathBuf, open: Arc<AtomicU64>) -> Router {
    let said = move |via: Extension<Via>| async move { answer(&home, &open, via.0) };
    Router::new().route("/v1/daemon", get(said))
}

fn answer(home: &std::path::Path, open: &AtomicU64, via: Via) -> Response {
    let running = Running::read(home).and_then(|running| serde_json::to_value(running).ok());
    match running {
        Some(mut running) if via == Via::Socket => {
            running["connections"] = open.load(Ordering::Relaxed).into();
            ([("content-type", "application/json")], running.to_string()).into_response()
        }
        _ => {
            let problem = serde_json::json!({
                "type": "urn:heirloom:not-found",
                "title": "There is no such thing",
                "status": 404,
                "detail": "only the socket says how the service runs",
                "exit": 4,
                "next": "run heirloom service status on the machine",
            });
            (StatusCode::NOT_FOUND, [("content-type", "application/problem+json")], problem.to_string()).into_response()
        }
    }
}

fn machine(what: &str, e: std::io::Error) -> Error {
    Error::new(ErrorKind::Machine, what).because(e)
}

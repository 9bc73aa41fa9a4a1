//! The life of a service: it opens its sockets, serves, and ends in order.
//!
//! | what comes | what happens |
//! |---|---|
//! | SIGTERM, SIGINT | no new requests; those that came are answered; jobs are given back; gone within five seconds |
//! | the same again | gone at once |
//! | a new build in our place, other settings | requests are answered for two seconds, then the new build goes on with the sockets |
//! | the home was moved or deleted | gone, with a word |

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
use crate::sockets::{Sockets, Tcp};
use crate::supervisor;
use crate::upgrade::{Executable, Handed};

/// How long requests that came are answered after a signal.
const ENDING: Duration = Duration::from_secs(4);

/// The same where a new build waits to go on.
const REPLACING: Duration = Duration::from_secs(2);

/// Threads for calls of the engine. It has one writer and a few readers; more would only wait.
const THREADS: usize = 12;

/// Files of the event loop: those it waits with, and those through which signals come.
const FILES: usize = 8;

/// Says a line to whoever reads the log.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// What a service is made of.
pub struct Service {
    /// The memory, opened to store.
    pub engine: Engine,
    pub programs: Vec<Arc<dyn Program>>,
    pub tcp: Tcp,
    /// `<schema of the ledger>.<version>`
    pub build: String,
    /// What hooks must have in common with it.
    pub environment: String,
    /// Look for changes instead of being told.
    pub poll: bool,
    /// Makes what is answered.
    pub router: Box<dyn FnOnce(Wires) -> Router>,
    /// Marks a request with the way it came.
    pub mark: fn(Via, &mut Extensions),
    pub say: Say,
    /// What the application does from time to time.
    pub chore: Option<Chore>,
}

type Due = dyn Fn(&Engine) -> Option<Millis> + Send + Sync;
type Run = dyn Fn(&Engine) -> Result<Option<String>> + Send + Sync;

/// Something of the application's that falls due from time to time and may take long: a backup. It has a thread of its
/// own; where the service ends meanwhile, it is begun again by the next one.
#[derive(Clone)]
pub struct Chore {
    /// When it is due; `None`: not for now.
    pub due: Arc<Due>,
    /// Does it. Returns what there is to say.
    pub run: Arc<Run>,
}

/// What the router is connected to.
pub struct Wires {
    /// A newer build asks this one to make room.
    pub retire: Arc<dyn Fn() + Send + Sync>,
    /// The newest number of the audit, whenever it grows. It ends with the service.
    pub changes: watch::Receiver<u64>,
}

/// The way a request came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// The socket, from a process of the same user.
    Socket,
    Tcp {
        port: u16,
    },
}

/// Why the process is to change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Begin again, as the file that is in our place now.
    Replace(&'static str),
    HomeGone,
    /// A newer build asks for room.
    Retire,
    /// A signal.
    End,
}

/// How a service ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Asked,
    /// The home is not where it was.
    HomeGone,
    /// The ledger is of a newer build.
    Retired,
}

/// Serves until it is told to end. `lock`: that of [`running::claim`].
pub fn serve(service: Service, lock: HomeLock) -> Result<Ended> {
    let executable = Executable::ours().map(Arc::new);
    let sockets = Sockets::open(service.engine.home(), service.tcp)?;
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
    // Calls of the engine that have begun are short, but for imports, which lose nothing.
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

/// Whether as many files can be opened as the event loop begins with: it panics where they cannot.
fn there_is_room() -> std::io::Result<()> {
    (0..FILES).map(|_| std::fs::File::open("/dev/null")).collect::<std::io::Result<Vec<_>>>().map(drop)
}

/// Serves. Returns why it ended, with the sockets where a new build goes on with them.
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
        port: sockets.port(),
        ..Running::new()
    };
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
    let port = running.port.map_or(String::new(), |port| format!(" and http://127.0.0.1:{port}"));
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
            Order::Retire => match make_room(&engine, executable.clone()).await {
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
            // With the last copy of a socket, whoever comes is refused, and does without us.
            let _ = std::fs::remove_file(&handed.path);
            (ENDING, None)
        }
    };
    // First of all: nobody comes in any more, and who waits for changes learns that there are none.
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

/// A second signal.
async fn again(term: &mut Signal, int: &mut Signal) {
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// What to do for a newer build that asks for room. `None`: it is not newer.
async fn make_room(engine: &Engine, executable: Option<Arc<Executable>>) -> Option<Order> {
    let engine = engine.clone();
    let decided = tokio::task::spawn_blocking(move || {
        if executable.is_some_and(|ours| ours.was_replaced()) {
            return Some(Order::Replace("a new build asks for room"));
        }
        let schema = engine.read(|tx| Ok(tx.query_row("PRAGMA user_version", [], |r| r.get::<_, i64>(0))?));
        schema.is_ok_and(|schema| schema > SCHEMA_VERSION).then_some(Order::Retire)
    });
    decided.await.ok().flatten()
}

/// `GET /v1/daemon`, on the socket only: what the service says of itself, and how many connections it has.
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
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn machine(what: &str, e: std::io::Error) -> Error {
    Error::new(ErrorKind::Machine, what).because(e)
}

//! The memory over HTTP (R13.2): a router over the engine's door, and the OpenAPI document that describes it. This
//! crate runs no process: its caller listens, accepts connections and drains them.
//!
//! Reading order: [`Parts`] is what the caller supplies; [`guard`] decides who may ask; [`route`] defines a route,
//! which cannot be made without its description; [`routes`] lists all of them, by noun; [`problem`] is the form of an
//! error; [`shell`] serves the files of the page, [`script`] makes its modules short; [`document`] makes OpenAPI from the descriptions and [`typescript`]
//! the types for programs.
//!
//! The body of an answer is the report that `--json` prints, or a page of its items. Calls of the engine run beside the
//! event loop: at most one writer, three readers, four hooks and one import at a time. A request whose client
//! disconnects while it waits is never begun; a request that has begun runs to its end.
//!
//! The crate listens on nothing, starts no thread, and knows no outside program.

mod concurrency;
mod document;
mod events;
mod guard;
mod mcp;
mod page;
mod problem;
mod raw;
mod route;
mod routes;
mod script;
mod sessions;
mod shell;
mod tag;
mod tokens;
mod typescript;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use heirloom_engine::engine::Engine;
use heirloom_engine::error::Result;
use heirloom_engine::report::import::Imported;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

pub use concurrency::THREADS;
pub use document::openapi;
pub use guard::{AGENT, BUILD, WORKSPACE};
pub use raw::HOOK_ID;
pub use route::{Described, described};
pub use tokens::{Issued, Listed, Tokens, TokensReport};
pub use typescript::types;

/// A call of a program's hook, as it arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookRequest {
    pub program: String,
    pub event: String,
    /// Id of the call; a repeated call has the same id.
    pub hook_id: Option<String>,
    /// Bytes the program wrote to the hook's standard input, unchanged: at most 16 MiB.
    pub payload: Vec<u8>,
}

/// Bytes the hook prints; empty if it prints nothing.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HookReply {
    pub body: Vec<u8>,
}

/// Session stores to import.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ImportRequest {
    /// Names of the programs whose stores are read; empty for all programs.
    pub programs: Vec<String>,
    /// Files and folders to read in place of the programs' own stores; only a local caller may name them.
    pub paths: Vec<PathBuf>,
}

/// Handles a hook call; blocking.
pub type Hooks = Arc<dyn Fn(HookRequest) -> HookReply + Send + Sync>;

/// Reads session stores for the engine's agent, as `heirloom import` does; blocking.
pub type Import = Arc<dyn Fn(&Engine, ImportRequest) -> Result<Imported> + Send + Sync>;

/// Results of the checks on this machine: the home, the service, the programs and their connections.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct ChecksReport {
    /// True if no check found anything a person must fix.
    pub ok: bool,
    pub checks: Vec<Check>,
}

/// Result of one check.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct Check {
    /// Part of the home, or title of the program, that was checked.
    pub subject: String,
    pub ok: bool,
    pub what: String,
    /// Next step for the person, if there is one.
    pub next: Option<String>,
}

/// Checks home and machine, as `heirloom doctor` does; blocking.
pub type Doctor = Arc<dyn Fn(&Engine) -> Result<ChecksReport> + Send + Sync>;

/// Everything the router needs from its caller.
#[derive(Clone)]
pub struct Parts {
    /// The engine, opened for writing (`How::Existing`).
    pub engine: Engine,
    pub hooks: Hooks,
    pub import: Import,
    pub doctor: Doctor,
    /// Tokens that may be used over TCP.
    pub tokens: Tokens,
    /// Called by `POST /v1/daemon/retire`: a newer build asks this process to end.
    pub retire: Arc<dyn Fn() + Send + Sync>,
    /// Newest row number of the audit; updated whenever the audit grows, by any process.
    pub changes: watch::Receiver<u64>,
    /// `<schema>.<version>`, sent with every answer as the header `heirloom-build`.
    pub build: String,
}

/// The way a connection came in. The server sets it on every request, as an extension or as `ConnectInfo`; a request
/// without it is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caller {
    /// The unix socket, used by a process of the same user: opens every agent, without a token.
    Socket,
    /// TCP on the loopback at this port: needs a token, and the exact host names of the port.
    Tcp { port: u16 },
}

/// The API, made of its parts.
#[derive(Clone)]
pub struct Api(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub parts: Parts,
    pub gates: concurrency::Gates,
    pub sessions: sessions::Sessions,
}

impl Api {
    pub fn new(parts: Parts) -> Api {
        Api(Arc::new(Inner { parts, gates: concurrency::Gates::default(), sessions: sessions::Sessions::default() }))
    }
}

/// Returns the router with every route below `/v1`, the Model Context Protocol at `/mcp` and the page at `/`. Every
/// request must carry a [`Caller`].
pub fn router(api: Api) -> Router {
    let mut router: Router<Api> = Router::new();
    for route in routes::all() {
        router = router.route(route.path, route.served());
    }
    router
        .route("/mcp", mcp::served())
        .merge(shell::routes())
        .fallback(raw::no_such_path)
        .method_not_allowed_fallback(raw::no_such_method)
        .layer(from_fn_with_state(api.clone(), guard::guard))
        .with_state(api)
}

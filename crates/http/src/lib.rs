//! The memory over HTTP (R13.2): a router over the engine's door, and the document that describes it. No process: who
//! listens, accepts and drains is its caller's business.
//!
//! Reading order: [`Parts`] is what the caller brings; [`guard`] decides who may ask; [`route`] is what a route is, which
//! cannot be made without its description; [`routes`] are all of them, by noun; [`problem`] is what an error looks like; [`shell`] are the files of the page;
//! [`document`] makes OpenAPI of the descriptions and [`typescript`] the types of programs.
//!
//! A body is the report that `--json` prints, or a page of its items. Calls of the engine run beside the event loop: one
//! writer and three readers at a time, four hooks, one import. A request that its client gives up before it began is not
//! begun; one that began goes on to its end.
//!
//! Listens to nothing, starts no thread, and knows no outside program.

mod document;
mod events;
mod gate;
mod guard;
mod mcp;
mod page;
mod problem;
mod raw;
mod route;
mod routes;
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

pub use document::openapi;
pub use gate::THREADS;
pub use guard::{AGENT, BUILD, WORKSPACE};
pub use raw::HOOK_ID;
pub use route::{Described, described};
pub use tokens::{Issued, Listed, Tokens, TokensReport};
pub use typescript::types;

/// A program's hook, as it was called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookRequest {
    pub program: String,
    pub event: String,
    /// The same call again has the same id.
    pub hook_id: Option<String>,
    /// What the program wrote to the hook, byte for byte: at most 16 MiB.
    pub payload: Vec<u8>,
}

/// What the hook prints; empty where it prints nothing.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HookReply {
    pub body: Vec<u8>,
}

/// Which session stores are to be read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ImportRequest {
    /// Programs by name; none: all of them.
    pub programs: Vec<String>,
    /// Files and folders, in place of the programs' own; only a local caller may name them.
    pub paths: Vec<PathBuf>,
}

/// Does what a hook calls for; blocking.
pub type Hooks = Arc<dyn Fn(HookRequest) -> HookReply + Send + Sync>;

/// Reads session stores for the engine's agent, as `heirloom import` does; blocking.
pub type Import = Arc<dyn Fn(&Engine, ImportRequest) -> Result<Imported> + Send + Sync>;

/// What was looked at on this machine: the home, the service, the programs and what connects them.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct ChecksReport {
    /// Nothing needs a person.
    pub ok: bool,
    pub checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Clone, Serialize, JsonSchema, Debug)]
pub struct Check {
    /// A part of the home, or a program by its title.
    pub subject: String,
    pub ok: bool,
    pub what: String,
    /// What to do about it, where something is to be done.
    pub next: Option<String>,
}

/// Looks at home and machine, as `heirloom doctor` does; blocking.
pub type Doctor = Arc<dyn Fn(&Engine) -> Result<ChecksReport> + Send + Sync>;

/// What the router is made of.
#[derive(Clone)]
pub struct Parts {
    /// The memory, opened to store (`How::Existing`).
    pub engine: Engine,
    pub hooks: Hooks,
    pub import: Import,
    pub doctor: Doctor,
    /// Who may ask over TCP.
    pub tokens: Tokens,
    /// Somebody newer asked this process to make room: `POST /v1/daemon/retire`.
    pub retire: Arc<dyn Fn() + Send + Sync>,
    /// The newest number of the audit, whenever it grows; whoever wrote.
    pub changes: watch::Receiver<u64>,
    /// `<schema>.<version>`, sent with every answer as the header `heirloom-build`.
    pub build: String,
}

/// How a connection came in. The caller sets it on every request, as an extension or as `ConnectInfo`; a request without
/// it is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caller {
    /// The unix socket, by a process of the same user: every agent, no token.
    Socket,
    /// TCP on the loopback, at this port: a token, and the exact names of the port.
    Tcp { port: u16 },
}

/// The API, made of its parts.
#[derive(Clone)]
pub struct Api(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub parts: Parts,
    pub gates: gate::Gates,
    pub sessions: sessions::Sessions,
}

impl Api {
    pub fn new(parts: Parts) -> Api {
        Api(Arc::new(Inner { parts, gates: gate::Gates::default(), sessions: sessions::Sessions::default() }))
    }
}

/// The router of everything below `/v1`, of the Model Context Protocol at `/mcp`, and of the page at `/`. Requests carry a
/// [`Caller`].
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

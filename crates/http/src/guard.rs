//! Access control (R14.1). The unix socket is for processes of the same user, which the listener has checked: it opens
//! every agent without a token. TCP is for programs with a token and refuses pages of other origins: the `Host` must be
//! the exact name and port we listen on, the origin absent or ours, and a bearer token must be for the agent asked for.
//! There are no cookies and no CORS. A request for an agent the token does not cover gets the same answer as one for an
//! agent that does not exist.

use axum::extract::{ConnectInfo, Request, State};
use axum::http::Method;
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use heirloom_engine::engine::{Engine, unknown_agent};
use heirloom_engine::scope::AgentId;

use crate::problem::{Problem, Wrong};
use crate::shell;
use crate::tokens::Grant;
use crate::{Api, Caller};

/// The header that names the agent.
pub const AGENT: &str = "heirloom-agent";
/// The header that names the project a client of the Model Context Protocol works in.
pub const WORKSPACE: &str = "heirloom-workspace";
/// The response header that names the build of the server.
pub const BUILD: &str = "heirloom-build";
/// The route where a page exchanges its code for a token.
pub const SESSION: &str = "/v1/session";
const FETCH_SITE: &str = "sec-fetch-site";

/// The caller of a request, after the guard has let it in.
#[derive(Clone)]
pub struct Asker {
    /// The engine, acting for the agent asked for and recording the caller's name in the audit.
    pub engine: Engine,
    pub caller: Caller,
    /// Agents this caller may ask for; `None` for all of them.
    pub agents: Option<Vec<AgentId>>,
}

/// Admits a request or answers with a problem, and adds the headers every answer carries.
pub async fn guard(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().copied();
    let caller = caller.or_else(|| request.extensions().get::<ConnectInfo<Caller>>().map(|info| info.0));
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let headers = request.headers().clone();
    // Only two requests over TCP need no token: the exchange of a code for a token, and the page's own files.
    let brings_code = request.method() == Method::POST && request.uri().path() == SESSION;
    let is_open = brings_code || shell::is_asked_for(request.method(), request.uri().path());
    let mut response = match admit(&api, caller, &headers, authority, is_open).await {
        Ok(asker) => {
            request.extensions_mut().insert(asker);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    if let Ok(build) = HeaderValue::from_str(&api.0.parts.build) {
        headers.insert(HeaderName::from_static(BUILD), build);
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
    headers.insert(VARY, HeaderValue::from_static("authorization, heirloom-agent"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn admit(
    api: &Api,
    caller: Option<Caller>,
    headers: &HeaderMap,
    authority: Option<String>,
    is_open: bool,
) -> Result<Asker, Problem> {
    let engine = &api.0.parts.engine;
    match caller {
        // The server that uses this router did not set a `Caller`; the request is refused.
        None => Err(Problem::of(Wrong::Forbidden, "how this connection came in is not known")),
        Some(Caller::Socket) => {
            let agent = asked_for(headers)?.unwrap_or_else(|| engine.agent().clone());
            Ok(Asker { engine: engine.for_agent(agent).acting_as("http local"), caller: Caller::Socket, agents: None })
        }
        Some(caller @ Caller::Tcp { port }) => {
            from_here(headers, authority.as_deref(), port)?;
            if is_open {
                return Ok(Asker { engine: engine.acting_as("http page"), caller, agents: Some(Vec::new()) });
            }
            let token = bearer(headers)?.to_owned();
            let found = match api.0.sessions.who(&token) {
                Some(grant) => Some(grant),
                None => {
                    let tokens = api.0.parts.tokens.clone();
                    api.0.gates.run(crate::concurrency::Kind::Reads, move || tokens.who(&token)).await??
                }
            };
            let Grant { name, agents } =
                found.ok_or_else(|| Problem::unauthorized("this token is not known, or was revoked"))?;
            let agent = asked_for(headers)?.unwrap_or_else(|| agents[0].clone());
            if !agents.contains(&agent) {
                return Err(unknown_agent(&agent).into());
            }
            let engine = engine.for_agent(agent).acting_as(&format!("http {name}"));
            Ok(Asker { engine, caller, agents: Some(agents) })
        }
    }
}

/// Returns the agent a request names. `Usage` if the header's value is not an agent id.
fn asked_for(headers: &HeaderMap) -> Result<Option<AgentId>, Problem> {
    let malformed = || {
        Problem::of(Wrong::Malformed, format!("{AGENT} is sent once, as text"))
            .next("heirloom agent list names the agents")
    };
    match one(headers, AGENT).map_err(|()| malformed())? {
        None => Ok(None),
        Some(name) => Ok(Some(AgentId::parse(name)?)),
    }
}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let given = one(headers, AUTHORIZATION.as_str()).ok().flatten();
    let given = given.ok_or_else(|| Problem::unauthorized("a token is needed"))?;
    match given.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() => Ok(token),
        _ => Err(Problem::unauthorized("only bearer tokens are known here")),
    }
}

impl Asker {
    /// Returns whether the caller is a process of the same user on the socket, which needs no token.
    pub fn is_local(&self) -> bool {
        self.caller == Caller::Socket
    }
}

/// The next step for a page of another origin.
const OWN_PAGE: &str = "open the page that heirloom ui shows, or ask from a program, without Origin";

/// Returns the names this machine's loopback has at a port.
pub fn local_names(port: u16) -> [String; 3] {
    ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"))
}

/// Refuses requests for another host or port, and requests from pages of another origin. A page of an attacker can make
/// its own host name resolve to this machine (DNS rebinding); such a name is not one of ours.
fn from_here(headers: &HeaderMap, authority: Option<&str>, port: u16) -> Result<(), Problem> {
    let names = local_names(port);
    let ours = |host: &str| names.iter().any(|name| name.eq_ignore_ascii_case(host));
    let refuse = |what: &str, next: &str| Err(Problem::of(Wrong::Forbidden, what).next(next));
    match one(headers, HOST.as_str()) {
        Ok(Some(host)) if ours(host) && authority.is_none_or(ours) => {}
        _ => {
            let what = format!("the host is not one of {}", names.join(", "));
            return refuse(&what, &format!("ask http://{}, with that name as the only Host", names[0]));
        }
    }
    match one(headers, ORIGIN.as_str()) {
        Ok(None) => {}
        Ok(Some(origin)) if origin.strip_prefix("http://").is_some_and(ours) => {}
        _ => return refuse("another origin may not ask", OWN_PAGE),
    }
    match one(headers, FETCH_SITE) {
        // A page on another port of this machine counts as "same-site", but is not this server's page.
        Ok(None | Some("same-origin" | "none")) => Ok(()),
        _ => refuse("another site may not ask", OWN_PAGE),
    }
}

/// Returns the only value of a header. An error if the header is repeated or is not text.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, ()> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        _ => Err(()),
    }
}

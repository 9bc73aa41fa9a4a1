//! Who may ask (R14.1). The socket is for processes of the same user, which its owner has checked: every agent, no token.
//! TCP is for programs with a token, and for no page of another origin: the exact name and port we listen on, an origin
//! that is absent or ours, a bearer token for the agent asked for. No cookie, no CORS. An agent a token is not for looks
//! like one there is nothing of.

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
use crate::tokens::Grant;
use crate::{Api, Caller};

/// The header that names the agent.
pub const AGENT: &str = "heirloom-agent";
/// The header that names the project a client of the Model Context Protocol works in.
pub const WORKSPACE: &str = "heirloom-workspace";
/// The header of every answer that says which build gave it.
pub const BUILD: &str = "heirloom-build";
/// Where a page brings its code.
pub const SESSION: &str = "/v1/session";
const FETCH_SITE: &str = "sec-fetch-site";

/// Who asks, after the guard has let them in.
#[derive(Clone)]
pub struct Asker {
    /// Acting for the agent that was asked for, in the caller's name.
    pub engine: Engine,
    pub caller: Caller,
    /// The agents that may be asked for; `None`: all of them.
    pub agents: Option<Vec<AgentId>>,
}

/// Lets a request through or answers with a problem; adds the headers of every answer.
pub async fn guard(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().copied();
    let caller = caller.or_else(|| request.extensions().get::<ConnectInfo<Caller>>().map(|info| info.0));
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let headers = request.headers().clone();
    // The only request over TCP without a token: it brings the code for one.
    let brings_code = request.method() == Method::POST && request.uri().path() == SESSION;
    let mut response = match admit(&api, caller, &headers, authority, brings_code).await {
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
    brings_code: bool,
) -> Result<Asker, Problem> {
    let engine = &api.0.parts.engine;
    match caller {
        // Whoever serves this router forgot to say; nobody is let in.
        None => Err(Problem::of(Wrong::Forbidden, "how this connection came in is not known", "")),
        Some(Caller::Socket) => {
            let agent = asked_for(headers)?.unwrap_or_else(|| engine.agent().clone());
            Ok(Asker { engine: engine.for_agent(agent).acting_as("http local"), caller: Caller::Socket, agents: None })
        }
        Some(caller @ Caller::Tcp { port }) => {
            from_here(headers, authority.as_deref(), port)?;
            if brings_code {
                return Ok(Asker { engine: engine.acting_as("http page"), caller, agents: Some(Vec::new()) });
            }
            let token = bearer(headers)?.to_owned();
            let found = match api.0.sessions.who(&token) {
                Some(grant) => Some(grant),
                None => {
                    let tokens = api.0.parts.tokens.clone();
                    api.0.gates.run(crate::gate::Kind::Reads, move || tokens.who(&token)).await??
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

/// The agent a request names. `Usage` where the header is none.
fn asked_for(headers: &HeaderMap) -> Result<Option<AgentId>, Problem> {
    let malformed = || Problem::of(Wrong::Malformed, format!("{AGENT} is sent once, as text"), "");
    match one(headers, AGENT).map_err(|()| malformed())? {
        None => Ok(None),
        Some(name) => Ok(Some(AgentId::parse(name)?)),
    }
}

/// The bearer token of a request.
fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let given = one(headers, AUTHORIZATION.as_str()).ok().flatten();
    let given = given.ok_or_else(|| Problem::unauthorized("a token is needed"))?;
    match given.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() => Ok(token),
        _ => Err(Problem::unauthorized("only bearer tokens are known here")),
    }
}

impl Asker {
    /// A process of the same user on the socket, without a token.
    pub fn is_local(&self) -> bool {
        self.caller == Caller::Socket
    }
}

/// What this machine is called at a port.
pub fn local_names(port: u16) -> [String; 3] {
    ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"))
}

/// Refuses what was not meant for this port, or comes from a page of another origin. A name that an attacker's page lets
/// point to this machine is not one of ours (DNS rebinding).
fn from_here(headers: &HeaderMap, authority: Option<&str>, port: u16) -> Result<(), Problem> {
    let names = local_names(port);
    let ours = |host: &str| names.iter().any(|name| name.eq_ignore_ascii_case(host));
    let refuse = |what: &str| Err(Problem::of(Wrong::Forbidden, what, ""));
    match one(headers, HOST.as_str()) {
        Ok(Some(host)) if ours(host) && authority.is_none_or(ours) => {}
        _ => return refuse(&format!("the host is not one of {}", names.join(", "))),
    }
    match one(headers, ORIGIN.as_str()) {
        Ok(None) => {}
        Ok(Some(origin)) if origin.strip_prefix("http://").is_some_and(ours) => {}
        _ => return refuse("another origin may not ask"),
    }
    match one(headers, FETCH_SITE) {
        // Another port of this machine is the same site, and none of ours.
        Ok(None | Some("same-origin" | "none")) => Ok(()),
        _ => refuse("another site may not ask"),
    }
}

/// The only value of a header. An error where there are several, or it is not text.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, ()> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        _ => Err(()),
    }
}

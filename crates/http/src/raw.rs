//! Routes that handle the raw request: hooks, the OpenAPI document, and the answer for unknown paths.

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use heirloom_engine::error::Error;

use crate::concurrency::Kind;
use crate::guard::Asker;
use crate::problem::{Problem, Wrong};
use crate::route::{LARGE_BODY, read};
use crate::{Api, HookRequest};

/// The header with the id of a hook call.
pub const HOOK_ID: &str = "heirloom-hook-id";

pub async fn no_such_path() -> Problem {
    Error::not_found("there is no such path").hint("the paths are in /v1/openapi.json").into()
}

/// Returns the problem for a path whose parts are no text.
pub fn no_text(detail: &str) -> Problem {
    Problem::of(Wrong::Malformed, detail).next("percent-encode the path as UTF-8")
}

pub async fn no_such_method(_: Method) -> Problem {
    Problem::no_method("")
}

/// Serves a program's hook. Answers the bytes the hook prints; 204 if it prints nothing.
pub fn hook() -> MethodRouter<Api> {
    post(
        |State(api): State<Api>,
         Extension(asker): Extension<Asker>,
         at: Result<Path<(String, String)>, PathRejection>,
         request: Request| async move {
            let at = at.map_err(|e| no_text(&e.body_text()));
            let answer = async { hooked(api, asker, at?, request).await };
            answer.await.unwrap_or_else(Problem::into_response)
        },
    )
}

async fn hooked(
    api: Api,
    asker: Asker,
    Path((program, event)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    if !asker.is_local() {
        // The payload itself names the agent it is for, and the hook runs on this machine: only local callers may send
        // one.
        let what = "hooks are called through the socket";
        return Err(Problem::of(Wrong::Forbidden, what).next("run heirloom hook PROGRAM EVENT"));
    }
    let (parts, body) = request.into_parts();
    let hook_id = match parts.headers.get(HOOK_ID).map(|id| id.to_str()) {
        None => None,
        Some(Ok(id)) if (1..=64).contains(&id.len()) => Some(id.to_owned()),
        Some(_) => {
            return Err(Problem::of(Wrong::Malformed, "the id of a hook is 1 to 64 characters").next("send a new UUID"));
        }
    };
    let payload = read(&parts.headers, body, LARGE_BODY).await?.to_vec();
    let hooks = api.0.parts.hooks.clone();
    let call = HookRequest { program, event, hook_id, payload };
    let reply = api.0.gates.run(Kind::Hook, move || hooks(call)).await?;
    if reply.body.is_empty() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let mut response = Response::new(reply.body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    Ok(response)
}

/// Serves the OpenAPI document, which is generated at its first use.
pub fn openapi() -> MethodRouter<Api> {
    get(|| async {
        let mut response = Response::new(Body::from(crate::document::text()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    })
}

//! The tools of the Model Context Protocol at `/mcp`. They act for the agent of the token; the header
//! `heirloom-workspace` names the project the client works in. What the SDK would refuse in plain text is answered as
//! an error of the protocol where there is a message to answer, and as a problem elsewhere.

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use heirloom_engine::error::Error;
use heirloom_mcp::{Asked, Memory, answering, faults};
use http_body_util::BodyExt as _;
use serde_json::Value;

use crate::concurrency::Kind;
use crate::guard::{Asker, WORKSPACE, local_names};
use crate::problem::{Problem, Wrong};
use crate::route::{BODY, is_json, read};
use crate::{Api, Caller};

/// The header that names the revision of the protocol.
const REVISION: &str = "mcp-protocol-version";
/// Media types a client of the protocol accepts; answers are always of the first.
const ACCEPTS: &str = "application/json, text/event-stream";

pub fn served() -> MethodRouter<Api> {
    any(|State(api): State<Api>, Extension(asker): Extension<Asker>, request: Request| async move {
        answer(api, asker, request).await.unwrap_or_else(Problem::into_response)
    })
}

async fn answer(api: Api, asker: Asker, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    if parts.method != Method::POST {
        let next = "send each message as a POST: there is no session to end, and nothing is pushed";
        return Err(Problem::no_method("POST").next(next));
    }
    if !accepts_json(&parts.headers) {
        return Err(Problem::of(Wrong::NotAcceptable, "answers are JSON").next(&format!("send `Accept: {ACCEPTS}`")));
    }
    if !is_json(&parts.headers) {
        return Err(Problem::of(Wrong::MediaType, "a message is JSON, and does not say so"));
    }
    // The SDK wants to see both types, even though every answer is of the first.
    parts.headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTS));
    let body = read(&parts.headers, body, BODY).await?;
    let revision = match parts.headers.get(REVISION).map(HeaderValue::to_str) {
        None => None,
        Some(Ok(revision)) => Some(revision.to_owned()),
        Some(Err(_)) => return Err(Problem::of(Wrong::Malformed, format!("{REVISION} is no text"))),
    };
    let message = match faults::message(&body) {
        Ok(message) => message,
        Err(fault) => return Ok(json(StatusCode::BAD_REQUEST, &fault)),
    };
    if let Some(fault) = revision.as_deref().and_then(|revision| faults::unknown_revision(revision, &message)) {
        return Ok(json(StatusCode::BAD_REQUEST, &fault));
    }
    let project = match parts.headers.get(WORKSPACE).map(|name| name.to_str().map(str::to_owned)) {
        None => None,
        Some(Err(_)) => return Err(Error::usage(format!("{WORKSPACE} is a project's id, label or path")).into()),
        Some(Ok(name)) => {
            let engine = asker.engine.clone();
            let id = move || crate::routes::project_id(&engine, Some(&name));
            api.0.gates.run(Kind::Reads, id).await??
        }
    };
    let names = match asker.caller {
        Caller::Tcp { port } => local_names(port).to_vec(),
        // Only processes of this user can reach the socket, so any host name is accepted there.
        Caller::Socket => {
            parts.headers.get("host").and_then(|host| host.to_str().ok()).map(str::to_owned).into_iter().collect()
        }
    };
    let origins: Vec<String> = names.iter().map(|name| format!("http://{name}")).collect();
    let asked = answering(Memory::over(asker.engine, project), &names, &origins);
    let Value::Array(batch) = message else { return one(&api, &asked, &parts, body, &message).await };
    if !faults::has_batches(revision.as_deref()) {
        return Ok(json(StatusCode::BAD_REQUEST, &faults::no_batch()));
    }
    let mut answers = Vec::new();
    for message in &batch {
        let body = Bytes::from(serde_json::to_vec(message).unwrap_or_default());
        let answered = one(&api, &asked, &parts, body, message).await?;
        let bytes = answered.into_body().collect().await.map_err(|_| Problem::stopped())?.to_bytes();
        // A notification has no answer.
        answers.extend(serde_json::from_slice::<Value>(&bytes).ok());
    }
    Ok(match answers.is_empty() {
        true => StatusCode::ACCEPTED.into_response(),
        false => json(StatusCode::OK, &Value::Array(answers)),
    })
}

/// Answers one message.
async fn one(api: &Api, asked: &Asked, parts: &Parts, body: Bytes, message: &Value) -> Result<Response, Problem> {
    let kind = if heirloom_mcp::may_write(&body) { Kind::Writes } else { Kind::Reads };
    let place = api.0.gates.place(kind).await?;
    let answered = asked.handle(Request::from_parts(parts.clone(), Body::from(body))).await;
    drop(place);
    let status = answered.status();
    if !(status.is_client_error() || status.is_server_error()) || is_json(answered.headers()) {
        return Ok(answered.map(Body::new));
    }
    // The media type was checked before, so this is JSON that is no message.
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return Ok(json(StatusCode::BAD_REQUEST, &faults::no_message(message)));
    }
    let said = answered.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    Err(match status {
        StatusCode::FORBIDDEN => Problem::of(Wrong::Forbidden, said),
        StatusCode::PAYLOAD_TOO_LARGE => Problem::of(Wrong::TooLarge, said),
        _ if status.is_client_error() => Problem::of(Wrong::Malformed, said),
        _ => Problem::stopped(),
    })
}

fn json(status: StatusCode, value: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Returns whether a client accepts JSON; one that says nothing does.
fn accepts_json(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().peekable();
    if accepted.peek().is_none() {
        return true;
    }
    let kinds = accepted.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let mut kinds = kinds.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    kinds.any(|kind| matches!(kind.as_str(), "application/json" | "application/*" | "*/*"))
}

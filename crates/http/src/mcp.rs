//! The tools of the Model Context Protocol at `/mcp`. They act for the agent of the token; the header
//! `heirloom-workspace` names the project the client works in.

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use heirloom_engine::error::Error;
use heirloom_mcp::{Memory, answering};

use crate::concurrency::Kind;
use crate::guard::{Asker, WORKSPACE, local_names};
use crate::problem::Problem;
use crate::route::{BODY, read};
use crate::{Api, Caller};

pub fn served() -> MethodRouter<Api> {
    any(|State(api): State<Api>, Extension(asker): Extension<Asker>, request: Request| async move {
        answer(api, asker, request).await.unwrap_or_else(Problem::into_response)
    })
}

async fn answer(api: Api, asker: Asker, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let body = read(&parts.headers, body, BODY).await?;
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
    let kind = if heirloom_mcp::may_write(&body) { Kind::Writes } else { Kind::Reads };
    let place = api.0.gates.place(kind).await?;
    let asked = answering(Memory::over(asker.engine, project), &names, &origins);
    let answered = asked.handle(Request::from_parts(parts, Body::from(body))).await;
    drop(place);
    Ok(answered.map(Body::new))
}

//! The state of the memory and of the process that serves it.

use axum::http::Method;
use heirloom_engine::report::home::{AgentsReport, ProjectsReport};
use heirloom_engine::report::status::{Overview, StatusReport};
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;
use crate::problem::{Problem, Wrong};
use crate::raw;
use crate::route::{Asked, Gives, Nothing, Route, Takes, get, post, raw as raw_route};

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/status", "status", "What is stored, how big, what is pending, what is wrong.", status),
        get("/v1/health", "health", "Whether somebody is at home.", health),
        get("/v1/now", "now", "What was worked on, and what is being worked on now.", now).item(),
        get("/v1/agents", "agents", "The agents that may be asked for.", agents).item(),
        get("/v1/workspaces", "workspaces", "The agent's projects, the one last worked in first.", workspaces).item(),
        post(
            "/v1/daemon/retire",
            "retire",
            "Ask the process to make room for a newer one. Only through the socket.",
            retire,
        ),
        raw_route(
            Method::GET,
            "/v1/openapi.json",
            "openapi",
            "This document.",
            (Takes::Nothing, Gives::Other("application/json", "OpenAPI 3.1.")),
            raw::openapi,
        ),
    ]
}

/// Whether somebody is at home.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// Always true; no answer is the other case.
    ok: bool,
    /// `<schema>.<version>` of the process.
    build: String,
    /// Whom it answers for where a request names nobody.
    agent: String,
    /// The newest number of the audit.
    newest: u64,
}

/// A request to make room was heard.
#[derive(Serialize, JsonSchema)]
struct Retiring {
    retiring: bool,
}

fn status(asked: &Asked, _: Nothing) -> Answer<StatusReport> {
    Ok(asked.engine.status()?)
}

fn now(asked: &Asked, _: Nothing) -> Answer<Overview> {
    Ok(asked.engine.overview()?)
}

fn health(asked: &Asked, _: Nothing) -> Answer<Health> {
    Ok(Health {
        ok: true,
        build: asked.api.0.parts.build.clone(),
        agent: asked.engine.agent().to_string(),
        newest: asked.engine.newest_change()?,
    })
}

fn agents(asked: &Asked, _: Nothing) -> Answer<AgentsReport> {
    let mut report = asked.engine.agents()?;
    if let Some(allowed) = &asked.asker.agents {
        report.agents.retain(|row| allowed.iter().any(|agent| agent.as_str() == row.agent));
    }
    Ok(report)
}

fn workspaces(asked: &Asked, _: Nothing) -> Answer<ProjectsReport> {
    Ok(asked.engine.projects()?)
}

fn retire(asked: &Asked, _: Nothing) -> Answer<Retiring> {
    if !asked.asker.local {
        return Err(Problem::of(Wrong::Forbidden, "only a process on the socket may ask this", ""));
    }
    (asked.api.0.parts.retire)();
    Ok(Retiring { retiring: true })
}

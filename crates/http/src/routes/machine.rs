//! The state of the memory and of the process that serves it.

use heirloom_engine::report::status::StatusReport;
use schemars::JsonSchema;
use serde::Serialize;

use crate::route::{Asked, Nothing, Route, get, post};

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

pub fn routes() -> Vec<Route> {
    vec![
        get("/v1/status", "status", "What is stored, how big, what is pending, what is wrong.", |asked, _: Nothing| {
            Ok::<StatusReport, _>(asked.engine.status()?)
        }),
        get("/v1/health", "health", "Whether somebody is at home.", health),
        post(
            "/v1/daemon/retire",
            "retire",
            "Ask the process to make room for a newer one. Only through the socket.",
            retire,
        ),
    ]
}

fn health(asked: &Asked, _: Nothing) -> Result<Health, crate::problem::Problem> {
    Ok(Health {
        ok: true,
        build: asked.api.0.parts.build.clone(),
        agent: asked.engine.agent().to_string(),
        newest: asked.engine.newest_change()?,
    })
}

fn retire(asked: &Asked, _: Nothing) -> Result<Retiring, crate::problem::Problem> {
    use crate::problem::{Problem, Wrong};
    if !asked.asker.local {
        return Err(Problem::of(Wrong::Forbidden, "only a process on the socket may ask this", ""));
    }
    (asked.api.0.parts.retire)();
    Ok(Retiring { retiring: true })
}

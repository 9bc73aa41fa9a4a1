//! All routes, one file per noun. A route parses its arguments, calls one verb of the engine, and cuts a list into
//! pages.

mod channels;
mod find;
mod heads;
mod history;
mod intake;
mod kept;
mod learned;
mod loops;
mod machine;
mod memory;
mod proposals;
mod sessions;
mod threads;

use heirloom_engine::clock::Millis;
use heirloom_engine::engine::Engine;
use heirloom_engine::error::Error;
use heirloom_engine::moment::{self, Edge};

use crate::problem::Problem;
use crate::route::Route;

type Answer<T> = Result<T, Problem>;

/// Returns every route, in the order of the OpenAPI document.
pub fn all() -> Vec<Route> {
    let nouns = [
        machine::routes(),
        find::routes(),
        sessions::routes(),
        threads::routes(),
        loops::routes(),
        proposals::routes(),
        memory::routes(),
        heads::routes(),
        kept::routes(),
        learned::routes(),
        channels::routes(),
        history::routes(),
        intake::routes(),
    ];
    nouns.into_iter().flatten().collect()
}

/// Checks the name a request gives for a project. `Usage` for a relative path: the server does not run in the caller's
/// folder.
fn project(name: Option<&str>) -> Answer<Option<&str>> {
    match name {
        Some(path) if path == "." || path.contains('/') && !path.starts_with('/') => {
            Err(Error::usage("a project is named by its id, its label or a whole path")
                .hint("GET /v1/workspaces shows ids and labels")
                .into())
        }
        name => Ok(name),
    }
}

/// Returns the id of the project a request names.
pub fn project_id(engine: &Engine, name: Option<&str>) -> Answer<Option<String>> {
    Ok(project(name)?.map(|name| engine.workspace_id(name)).transpose()?)
}

/// Returns `workspace/<id>` for the project a request names.
fn scope_of(engine: &Engine, name: Option<&str>) -> Answer<Option<String>> {
    Ok(project_id(engine, name)?.map(|id| format!("workspace/{id}")))
}

/// Parses a time as people write it, in the agent's time zone.
fn time(engine: &Engine, text: Option<&str>, edge: Edge) -> Answer<Option<Millis>> {
    let zone = engine.zone();
    Ok(text.map(|text| moment::parse(text, engine.now(), &zone, edge)).transpose()?)
}

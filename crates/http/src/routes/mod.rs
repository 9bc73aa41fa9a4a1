//! All routes, a file for each noun. A route is arguments, one verb of the engine, and a page where it is a list.

mod machine;

use axum::http::Method;

use crate::raw;
use crate::route::{Gives, Route, Takes, raw as raw_route};

/// Every route there is.
pub fn all() -> Vec<Route> {
    let mut routes = machine::routes();
    routes.push(raw_route(
        Method::POST,
        "/v1/hooks/{program}/{event}",
        "hook",
        "A program's hook: its payload as it is; answers what the hook prints. Only through the socket.",
        (
            Takes::Bytes("application/octet-stream", "What the program wrote to its hook, at most 16 MiB."),
            Gives::Other("application/octet-stream", "What the hook prints; 204 where it prints nothing."),
        ),
        raw::hook,
    ));
    routes.push(raw_route(
        Method::GET,
        "/v1/openapi.json",
        "openapi",
        "This document.",
        (Takes::Nothing, Gives::Other("application/json", "OpenAPI 3.1.")),
        raw::openapi,
    ));
    routes
}

//! OpenAPI 3.1 document of the routes: the description of each route, with the schemas of its parameters, body and
//! answer.

use std::sync::OnceLock;

use axum::http::Method;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::guard::AGENT;
use crate::problem::Form;
use crate::raw::HOOK_ID;
use crate::route::{Gives, Route, Takes};
use crate::routes;
use crate::tag::Tag;

const DESCRIPTION: &str = "The memory of agent programs on this machine: every conversation word for word, what is owed and \
known as files people edit. Bodies are the reports that the command line prints with --json; lists are pages of their items. \
How to ask, and what is promised, stands in docs/API.md.";

/// Returns the OpenAPI document as JSON.
pub fn openapi() -> Value {
    let mut answers = generator(SchemaSettings::draft2020_12().for_serialize());
    let mut paths: Map<String, Value> = Map::new();
    let problem = value(answers.subschema_for::<Form>());
    for route in routes::all() {
        let described = operation(&route, &mut answers);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = described;
    }
    let schemas = answers.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Heirloom",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": { "name": "Apache License 2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:7347" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Problem": {
                    "description": "It went wrong; `type` says how (RFC 9457).",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
            "parameters": {
                "agent": {
                    "name": AGENT, "in": "header", "required": false, "schema": { "type": "string" },
                    "description": "Whose memory; else the first agent of the token, or on the socket the home's own.",
                },
            },
            "securitySchemes": {
                "token": {
                    "type": "http", "scheme": "bearer",
                    "description": "A token of `heirloom token new`. The unix socket needs none.",
                },
            },
        },
    })
}

/// Returns the OpenAPI document as text; it is generated at the first call and kept.
pub fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| openapi().to_string())
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings
        .with(|s| {
            s.definitions_path = "/components/schemas".into();
            s.meta_schema = None;
        })
        .into_generator()
}

/// Returns the schema of a route's query or body, inlined: only this route uses it, so it gets no shared name.
fn taken(shape: crate::route::Shape) -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|s| s.inline_subschemas = true);
    let mut schema = value(shape(&mut generator(settings)));
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
        fields.remove("description");
    }
    schema
}

fn value(schema: Schema) -> Value {
    schema.to_value()
}

fn operation(route: &Route, answers: &mut SchemaGenerator) -> Value {
    let mut parameters = vec![json!({ "$ref": "#/components/parameters/agent" })];
    parameters.extend(route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).map(at));
    if let Some(shape) = route.query {
        let schema = taken(shape);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, about) in schema["properties"].as_object().into_iter().flatten() {
            let mut about = about.clone();
            let description = about.as_object_mut().and_then(|fields| fields.remove("description"));
            // A query parameter that is optional is left out, never sent as null: `null` is taken out of its types.
            if let Some(kinds) = about["type"].as_array() {
                about["type"] = kinds.iter().find(|kind| **kind != "null").cloned().unwrap_or_default();
            }
            parameters.push(json!({
                "name": name, "in": "query", "required": required.contains(&name.as_str()),
                "description": description.unwrap_or_default(), "schema": about,
            }));
        }
    }
    let header = |name: &str, required: bool, about: &str| json!({ "name": name, "in": "header", "required": required, "description": about, "schema": { "type": "string" } });
    if route.tag != Tag::None {
        parameters.push(header("If-None-Match", false, "The ETag that is there already: 304 where nothing changed."));
    }
    if route.conditional {
        let about = "The ETag the edit rests on: 428 without, 412 with what there is by now where that is another.";
        parameters.push(header("If-Match", true, about));
    }
    match route.name {
        "hook" => parameters.push(header(HOOK_ID, false, "The id of this call: the same call again has the same.")),
        "events" => parameters.push(header("Last-Event-ID", false, "The last event that was seen.")),
        _ => {}
    }
    let (kind, schema, about) = match &route.gives {
        Gives::Json(shape) => ("application/json", value(shape(answers)), "It is so."),
        Gives::Other("application/json", about) => ("application/json", json!({ "type": "object" }), *about),
        Gives::Other(kind, about) => (*kind, json!({ "type": "string" }), *about),
    };
    let mut answered = json!({ "description": about, "content": { kind: { "schema": schema } } });
    if route.tag != Tag::None {
        answered["headers"] = json!({ "ETag": { "schema": { "type": "string" } } });
    }
    let mut responses = json!({ "200": answered, "default": { "$ref": "#/components/responses/Problem" } });
    if route.tag != Tag::None {
        responses["304"] = json!({ "description": "It is what the client has." });
    }
    if route.name == "hook" {
        responses["204"] = json!({ "description": "The hook prints nothing." });
    }
    let noun = route.path.split('/').nth(2).unwrap_or_default();
    let mut described = json!({
        "operationId": route.name.replace('.', "_"),
        "tags": [noun],
        "summary": route.about,
        "parameters": parameters,
        "responses": responses,
    });
    match &route.takes {
        Takes::Nothing => {}
        Takes::Json(shape) => {
            let schema = taken(*shape);
            let is_needed = schema["required"].as_array().is_some_and(|all| !all.is_empty());
            let content = json!({ "application/json": { "schema": schema } });
            described["requestBody"] = json!({ "required": is_needed, "content": content });
        }
        Takes::Bytes(kind, about) => {
            let content = json!({ *kind: { "schema": { "type": "string" } } });
            described["requestBody"] = json!({ "required": true, "description": about, "content": content });
        }
    }
    debug_assert!(route.method != Method::GET || matches!(route.takes, Takes::Nothing));
    described
}

/// Describes one parameter of a path.
fn at(name: &str) -> Value {
    let about = match name {
        "key" => "Its key, or the beginning of it; of a thread, its key or a name. A slash in it is written %2F.",
        "head" => "memory, active, threads, or a thread's key or name. A slash in it is written %2F.",
        "program" => "The program's name: claude-code, codex, opencode, openclaw.",
        "event" => "The program's own name of what happened.",
        "name" => "Its name.",
        _ => "Its id.",
    };
    json!({ "name": name, "in": "path", "required": true, "description": about, "schema": { "type": "string" } })
}

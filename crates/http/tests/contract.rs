//! The API contract: the OpenAPI document, and a check that it changes only on purpose.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use heirloom_http::{described, openapi, types};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// Compares a text with a file of the repository; `BLESS=1` writes the file.
fn golden(path: &str, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(root().join(path), text).unwrap();
    }
    assert!(read(path) == text, "{path} is not what the code says; BLESS=1 writes it, and the review sees the change");
}

#[test]
fn the_document_and_its_types_are_in_the_repository() {
    let document = openapi();
    golden("docs/openapi.json", &format!("{}\n", serde_json::to_string_pretty(&document).unwrap()));
    golden("docs/api.d.ts", &types(&document));
}

#[test]
fn every_route_is_in_the_document_once_and_says_what_it_is() {
    let document = openapi();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["title"], "Heirloom");
    assert_eq!(document["info"]["license"]["identifier"], "Apache-2.0");
    let mut names = BTreeSet::new();
    let mut routes = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, route) in methods.as_object().unwrap() {
            routes += 1;
            assert!(names.insert(route["operationId"].as_str().unwrap().to_owned()), "{path}");
            assert!(
                route["summary"].as_str().is_some_and(|s| s.ends_with('.') || s.ends_with(").")),
                "{method} {path}"
            );
            let parameters = route["parameters"].as_array().unwrap();
            let wanted: BTreeSet<&str> =
                path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
            let of = |place: &str| -> BTreeSet<&str> {
                parameters.iter().filter(|p| p["in"] == place).map(|p| p["name"].as_str().unwrap()).collect()
            };
            assert_eq!(of("path"), wanted, "{path}");
            assert!(of("query").is_disjoint(&wanted), "{path}");
            for parameter in parameters.iter().filter(|p| p["in"] == "query") {
                assert!(parameter["description"].as_str().is_some_and(|d| !d.is_empty()), "{path}: {parameter}");
            }
            assert!(route["responses"]["default"].is_object() && route["responses"]["200"].is_object(), "{path}");
        }
    }
    assert_eq!(routes, described().len());
    // Generators of OpenAPI documents easily list a query key as a path parameter; this checks one.
    let query = &document["paths"]["/v1/search"]["get"]["parameters"];
    let q = query.as_array().unwrap().iter().find(|p| p["name"] == "q").unwrap();
    assert_eq!((&q["in"], &q["required"]), (&"query".into(), &true.into()));
}

#[test]
fn every_reference_leads_to_a_schema_of_one_name() {
    fn references<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
        match value {
            Value::Object(fields) => {
                out.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|field| references(field, out));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, out)),
            _ => {}
        }
    }
    let document = openapi();
    let mut all = Vec::new();
    references(&document, &mut all);
    for reference in all {
        let found = document.pointer(reference.strip_prefix('#').unwrap());
        assert!(found.is_some(), "{reference} leads nowhere");
    }
    // Two types with the same name would get numbered names, whose numbers depend on the order of the routes.
    let numbered: Vec<&String> = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
        .filter(|name| name.ends_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert!(numbered.is_empty(), "give these a name of their own: {numbered:?}");
}

/// Returns the changes that break a program written for the older document. Only what programs rely on is compared:
/// paths, required parameters, accepted parameters, and answers.
fn breaking(old: &Value, new: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for (path, methods) in old["paths"].as_object().unwrap() {
        for (method, was) in methods.as_object().unwrap() {
            let now = &new["paths"][path][method];
            let place = format!("{} {path}", method.to_uppercase());
            if now.is_null() {
                out.push(format!("{place} is gone"));
                continue;
            }
            let named = |route: &Value, name: &Value, at: &Value| {
                let mut all = route["parameters"].as_array().into_iter().flatten();
                all.find(|p| p["name"] == *name && p["in"] == *at).cloned()
            };
            for p in was["parameters"].as_array().into_iter().flatten().filter(|p| p["name"].is_string()) {
                match named(now, &p["name"], &p["in"]) {
                    None => out.push(format!("{place} takes no {} any more", p["name"])),
                    Some(n) => takes(&place, (old, &p["schema"]), (new, &n["schema"]), &mut out),
                }
            }
            for p in now["parameters"].as_array().into_iter().flatten().filter(|p| p["required"] == true) {
                if named(was, &p["name"], &p["in"]).is_none_or(|was| was["required"] != true) {
                    out.push(format!("{place} needs {}", p["name"]));
                }
            }
            let content = |route: &Value| {
                route["content"]
                    .as_object()
                    .and_then(|all| all.iter().next().map(|(k, v)| (k.clone(), v["schema"].clone())))
            };
            match (content(&was["requestBody"]), content(&now["requestBody"])) {
                (Some((a, was)), Some((b, now))) if a == b => takes(&place, (old, &was), (new, &now), &mut out),
                (None, None) => {}
                (None, Some(_)) if now["requestBody"]["required"] != true => {}
                _ => out.push(format!("{place} takes another body")),
            }
            if let (Some((_, was)), Some((_, now))) =
                (content(&was["responses"]["200"]), content(&now["responses"]["200"]))
            {
                gives(&place, (old, &was), (new, &now), 0, &mut out);
            }
        }
    }
    out
}

fn resolved<'v>((document, schema): (&'v Value, &'v Value)) -> &'v Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap_or(&Value::Null),
        None => schema,
    }
}

fn list(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(all) => all.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    }
}

/// Reports breaking changes of input. Input may accept more; no key may disappear or become required, and no value or
/// type may disappear.
fn takes(place: &str, was: (&Value, &Value), now: (&Value, &Value), out: &mut Vec<String>) {
    let (old, new) = (resolved(was), resolved(now));
    for what in ["enum", "type"] {
        let (before, after) = (list(&old[what]), list(&new[what]));
        let lost: Vec<_> = before.iter().filter(|value| !after.contains(value)).collect();
        if !after.is_empty() && !lost.is_empty() {
            out.push(format!("{place} takes {lost:?} no more"));
        }
    }
    for key in list(&new["required"]) {
        if !list(&old["required"]).contains(&key) {
            out.push(format!("{place} needs {key}"));
        }
    }
    for (key, value) in old["properties"].as_object().into_iter().flatten() {
        match new["properties"].get(key) {
            None => out.push(format!("{place} takes no {key} any more")),
            Some(now_value) => takes(&format!("{place} {key}"), (was.0, value), (now.0, now_value), out),
        }
    }
}

/// Reports breaking changes of output. Output may grow; no field may disappear, become optional or change its type.
fn gives(place: &str, was: (&Value, &Value), now: (&Value, &Value), depth: usize, out: &mut Vec<String>) {
    if depth > 12 {
        return;
    }
    let (old, new) = (resolved(was), resolved(now));
    let (before, after) = (list(&old["type"]), list(&new["type"]));
    if after.iter().any(|kind| !before.contains(kind)) || before.is_empty() != after.is_empty() {
        out.push(format!("{place} is {after:?} and was {before:?}"));
    }
    for key in list(&old["required"]) {
        if !list(&new["required"]).contains(&key) {
            out.push(format!("{place} may lack {key}"));
        }
    }
    for (key, value) in old["properties"].as_object().into_iter().flatten() {
        match new["properties"].get(key) {
            None => out.push(format!("{place} gives no {key} any more")),
            Some(now_value) => gives(&format!("{place}.{key}"), (was.0, value), (now.0, now_value), depth + 1, out),
        }
    }
    if old["items"].is_object() {
        gives(&format!("{place}[]"), (was.0, &old["items"]), (now.0, &new["items"]), depth + 1, out);
    }
    for either in ["anyOf", "oneOf", "allOf"] {
        let (before, after) = (list(&old[either]), list(&new[either]));
        if before.len() > after.len() {
            out.push(format!("{place} has fewer forms"));
        }
        for (n, (a, b)) in before.iter().zip(&after).enumerate() {
            gives(&format!("{place}/{n}"), (was.0, a), (now.0, b), depth + 1, out);
        }
    }
}

#[test]
fn what_the_last_release_promised_still_holds_or_is_told() {
    let place = "crates/http/tests/openapi.released.json";
    if std::env::var_os("RELEASE").is_some() {
        std::fs::write(root().join(place), format!("{}\n", openapi())).unwrap();
    }
    let old: Value = serde_json::from_str(&read(place)).unwrap();
    let found = breaking(&old, &openapi());
    let log = read("CHANGELOG.md");
    let unreleased = log.split("\n## ").nth(1).unwrap();
    assert!(found.is_empty() || unreleased.contains("breaking"), "say in the CHANGELOG what is breaking: {found:#?}");
}

#[test]
fn a_breaking_change_is_noticed() {
    let old = openapi();
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        breaking(&old, &new)
    };
    assert!(broken(&|_| {}).is_empty());
    // Additions do not break the contract.
    assert!(broken(&|d| d["paths"]["/v1/new"] = serde_json::json!({ "get": {} })).is_empty());
    assert!(
        broken(&|d| d["components"]["schemas"]["StatusReport"]["properties"]["new"] = serde_json::json!({})).is_empty()
    );
    let path = broken(&|d| drop(d["paths"].as_object_mut().unwrap().remove("/v1/loops")));
    assert_eq!(path, ["GET /v1/loops is gone", "POST /v1/loops is gone"]);
    let field = broken(&|d| {
        let status = &mut d["components"]["schemas"]["StatusReport"]["properties"];
        status.as_object_mut().unwrap().remove("turns");
    });
    assert_eq!(field, ["GET /v1/status gives no turns any more"]);
    let deep = broken(&|d| {
        let hit = &mut d["components"]["schemas"]["TurnHit"]["properties"];
        hit["score"] = serde_json::json!({ "type": "string" });
    });
    assert!(deep.iter().any(|what| what.starts_with("GET /v1/search.hits[].score is")), "{deep:?}");
    let key = broken(&|d| {
        let body = &mut d["paths"]["/v1/loops"]["post"]["requestBody"]["content"]["application/json"]["schema"];
        body["required"].as_array_mut().unwrap().push("due".into());
    });
    assert_eq!(key, ["POST /v1/loops needs \"due\""]);
    let value = broken(&|d| {
        let route =
            &mut d["paths"]["/v1/proposals/decide"]["post"]["requestBody"]["content"]["application/json"]["schema"];
        route["properties"]["answer"]["enum"] = serde_json::json!(["accept"]);
    });
    assert_eq!(value.len(), 1, "{value:?}");
    let query = broken(&|d| {
        let all = d["paths"]["/v1/search"]["get"]["parameters"].as_array_mut().unwrap();
        all.retain(|p| p["name"] != "since");
        all.push(serde_json::json!({ "name": "must", "in": "query", "required": true, "schema": {} }));
    });
    assert_eq!(query, ["GET /v1/search takes no \"since\" any more", "GET /v1/search needs \"must\""]);
}

/// Returns the rows of the table in API.md that maps each act to its commands, routes and tools, with the reason for
/// gaps.
fn table() -> Vec<[String; 4]> {
    let page = read("docs/API.md");
    let table = page.split("\n## What is where\n").nth(1).expect("the chapter");
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|line| {
        let cells: Vec<String> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        cells.try_into().unwrap_or_else(|cells| panic!("{cells:?}"))
    })
    .collect()
}

/// Returns the texts between backticks.
fn spans(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_command_path_and_tool_has_its_place_in_the_table() {
    let table = table();
    let column = |n: usize| -> Vec<String> { table.iter().flat_map(|row| spans(&row[n])).collect() };
    let unique = |all: &[String], what: &str| {
        let set: BTreeSet<&String> = all.iter().collect();
        assert_eq!(set.len(), all.len(), "a {what} stands twice");
    };
    let (commands, routes) = (column(0), column(1));
    unique(&commands, "command");
    unique(&routes, "path");
    // docs/CLI.md is generated from the binary and docs/mcp.json from the tools; tests beside both check that they
    // match.
    let known: BTreeSet<String> =
        read("docs/CLI.md").lines().filter_map(|line| line.strip_prefix("## heirloom ")).map(str::to_owned).collect();
    assert_eq!(commands.into_iter().collect::<BTreeSet<_>>(), known, "commands");
    let served: BTreeSet<String> = described().iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    assert_eq!(routes.into_iter().collect::<BTreeSet<_>>(), served, "paths");
    let tools: Value = serde_json::from_str(&read("docs/mcp.json")).unwrap();
    let tools: BTreeSet<String> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(column(2).into_iter().collect::<BTreeSet<_>>(), tools, "tools");
    for row in &table {
        let missing = row[..3].iter().any(|cell| spans(cell).is_empty());
        assert!(!missing || !row[3].is_empty(), "say why: {row:?}");
    }
}

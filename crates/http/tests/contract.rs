//! The contract: what the document says, and that it changes only where somebody means it to.

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

/// Compares with a file of the repository; `BLESS=1` writes it.
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
    // A query key is a query key; utilities that make documents have got this wrong.
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
    // Two types of one name get numbers, and which one gets which depends on the order of routes.
    let numbered: Vec<&String> = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
        .filter(|name| name.ends_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert!(numbered.is_empty(), "give these a name of their own: {numbered:?}");
}

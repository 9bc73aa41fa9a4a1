//! Checks a value against a schema of the document; only the part of JSON Schema that the document uses is supported.

use serde_json::{Map, Value};

/// Returns the deviations of a value from its schema; empty if it conforms.
pub fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    check(document, schema, value, "", &mut out);
    out
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    let Some(fields) = schema.as_object() else { return };
    if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
        let found = document.pointer(&reference[1..]).unwrap_or_else(|| panic!("{reference}"));
        check(document, found, value, at, out);
    }
    if let Some(kind) = fields.get("type")
        && !kinds(kind).iter().any(|kind| is(kind, value))
    {
        out.push(format!("{at}: {value} is not {kind}"));
    }
    if let Some(allowed) = fields.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        out.push(format!("{at}: {value} is not among {allowed:?}"));
    }
    if let Some(constant) = fields.get("const")
        && constant != value
    {
        out.push(format!("{at}: {value} is not {constant}"));
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(list) = fields.get(name).and_then(Value::as_array) {
            let fits = list.iter().filter(|one| faults(document, one, value).is_empty()).count();
            if fits == 0 || name == "oneOf" && fits > 1 {
                out.push(format!("{at}: {value} fits {fits} of {name}"));
            }
        }
    }
    for one in fields.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        check(document, one, value, at, out);
    }
    match value {
        Value::Object(map) => object(document, fields, map, at, out),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                let one = fields.get("prefixItems").and_then(|all| all.get(n)).or_else(|| fields.get("items"));
                if let Some(one) = one {
                    check(document, one, item, &format!("{at}/{n}"), out);
                }
            }
        }
        _ => {}
    }
}

fn object(document: &Value, schema: &Map<String, Value>, map: &Map<String, Value>, at: &str, out: &mut Vec<String>) {
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(name) {
            out.push(format!("{at}: {name} is missing"));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    for (name, value) in map {
        if let Some(one) = known.and_then(|known| known.get(name)) {
            check(document, one, value, &format!("{at}/{name}"), out);
        } else if let Some(one) = schema.get("additionalProperties") {
            check(document, one, value, &format!("{at}/{name}"), out);
        }
    }
}

fn kinds(kind: &Value) -> Vec<&str> {
    match kind {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[test]
fn a_value_of_another_form_is_found() {
    let document = serde_json::json!({ "s": { "type": "object", "required": ["a"], "properties": { "a": { "type": ["string", "null"] } } } });
    let schema = serde_json::json!({ "$ref": "#/s" });
    assert!(faults(&document, &schema, &serde_json::json!({ "a": null })).is_empty());
    assert_eq!(faults(&document, &schema, &serde_json::json!({ "a": 1 })).len(), 1);
    assert_eq!(faults(&document, &schema, &serde_json::json!({})).len(), 1);
}

//! TypeScript types from the OpenAPI document, for plugins and pages: one type per schema, and for each route its
//! parameters and its answer.

use serde_json::{Map, Value};

const HEAD: &str =
    "// The types of Heirloom's HTTP API, made from openapi.json: BLESS=1 cargo test -p heirloom-http\n\n";

/// Returns the TypeScript types of an OpenAPI document.
pub fn types(document: &Value) -> String {
    let mut out = String::from(HEAD);
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        comment(&mut out, schema, "");
        out.push_str(&format!("export type {} = {};\n\n", identifier(name), of(schema, "")));
    }
    out.push_str("/** What each route takes and answers. A problem is answered with another status than 2xx. */\n");
    out.push_str("export interface Routes {\n");
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, route) in methods.as_object().into_iter().flatten() {
            if let Some(summary) = route["summary"].as_str() {
                out.push_str(&format!("  /** {} */\n", summary.replace("*/", "* /")));
            }
            let parameters = |place: &str| {
                let all = route["parameters"].as_array().into_iter().flatten().filter(|p| p["in"] == place);
                let fields: Vec<String> = all
                    .map(|p| {
                        let optional = if p["required"] == true { "" } else { "?" };
                        format!(
                            "{}{optional}: {}",
                            key(p["name"].as_str().unwrap_or_default()),
                            of(&p["schema"], "    ")
                        )
                    })
                    .collect();
                if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join("; ")) }
            };
            let content = |at: &Value| {
                at["content"].as_object().and_then(|kinds| kinds.iter().next().map(|(k, v)| (k.clone(), v.clone())))
            };
            let body = content(&route["requestBody"]);
            let body = body.map_or("never".to_owned(), |(_, body)| of(&body["schema"], "    "));
            let reply = content(&route["responses"]["200"]);
            let reply = reply.map_or("never".to_owned(), |(_, reply)| of(&reply["schema"], "    "));
            out.push_str(&format!(
                "  \"{} {path}\": {{\n    path: {};\n    query: {};\n    body: {body};\n    reply: {reply};\n  }};\n",
                method.to_uppercase(),
                parameters("path"),
                parameters("query"),
            ));
        }
    }
    out.push_str("}\n");
    out
}

/// Returns the TypeScript type of a schema. `indent` is the indentation of the current line.
fn of(schema: &Value, indent: &str) -> String {
    let Some(fields) = schema.as_object() else { return "unknown".into() };
    if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
        return identifier(name.rsplit('/').next().unwrap_or_default());
    }
    if let Some(constant) = fields.get("const") {
        return constant.to_string();
    }
    if let Some(values) = fields.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    let either = |name: &str| {
        let list = fields.get(name)?.as_array()?;
        let kinds: Vec<String> = list.iter().map(|one| of(one, indent)).collect();
        Some(kinds.join(" | "))
    };
    let own = (fields.contains_key("properties") || fields.contains_key("type")).then(|| typed(fields, indent));
    let either = either("anyOf").or_else(|| either("oneOf"));
    match (own, either) {
        (Some(own), Some(either)) => format!("{own} & ({either})"),
        (Some(own), None) => own,
        (None, Some(either)) => either,
        (None, None) => match fields.get("allOf").and_then(Value::as_array) {
            Some(all) => all.iter().map(|one| of(one, indent)).collect::<Vec<_>>().join(" & "),
            None => "unknown".into(),
        },
    }
}

fn typed(fields: &Map<String, Value>, indent: &str) -> String {
    let kinds: Vec<&str> = match fields.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec!["object"],
    };
    let one = |kind: &str| match kind {
        "string" => "string".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "null" => "null".to_owned(),
        "array" => match fields.get("prefixItems").and_then(Value::as_array) {
            Some(items) => format!("[{}]", items.iter().map(|item| of(item, indent)).collect::<Vec<_>>().join(", ")),
            None => {
                let item = fields.get("items").map_or("unknown".to_owned(), |item| of(item, indent));
                if item.contains(' ') && !item.starts_with('{') { format!("({item})[]") } else { format!("{item}[]") }
            }
        },
        _ => object(fields, indent),
    };
    kinds.into_iter().map(one).collect::<Vec<_>>().join(" | ")
}

fn object(fields: &Map<String, Value>, indent: &str) -> String {
    let Some(properties) = fields.get("properties").and_then(Value::as_object) else {
        return match fields.get("additionalProperties") {
            Some(kind) if kind.is_object() => format!("Record<string, {}>", of(kind, indent)),
            Some(Value::Bool(false)) => "{}".into(),
            _ => "Record<string, unknown>".into(),
        };
    };
    let required: Vec<&str> = fields
        .get("required")
        .and_then(Value::as_array)
        .map_or(Vec::new(), |all| all.iter().filter_map(Value::as_str).collect());
    let inner = format!("{indent}  ");
    let mut out = String::from("{\n");
    for (name, schema) in properties {
        comment(&mut out, schema, &inner);
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        out.push_str(&format!("{inner}{}{optional}: {};\n", key(name), of(schema, &inner)));
    }
    out.push_str(&format!("{indent}}}"));
    out
}

fn comment(out: &mut String, schema: &Value, indent: &str) {
    if let Some(about) = schema["description"].as_str() {
        let line = about.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "* /");
        out.push_str(&format!("{indent}/** {line} */\n"));
    }
}

fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// Returns a field name, quoted if TypeScript needs it.
fn key(name: &str) -> String {
    let plain = !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if plain { name.to_owned() } else { format!("{name:?}") }
}

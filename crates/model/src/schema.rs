//! The part of JSON Schema that a kind of model accepts, and the check of an answer against the whole schema.
//!
//! Strict forms of structured output refuse lengths, patterns and optional fields. They get a reduced schema
//! ([`dialect`]): the missing rules are written into the descriptions, and optional fields may be null. The answer is
//! checked against the full schema ([`fitted`]).

use serde_json::{Map, Value, json};

/// Keywords that strict forms refuse, each with the words that replace it. An empty text: the keyword is dropped.
const TOLD: &[(&str, &str)] = &[
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("exclusiveMinimum", "more than {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("pattern", "of the form {}"),
    ("format", "a {}"),
    ("uniqueItems", ""),
    ("minProperties", ""),
    ("maxProperties", ""),
    ("default", ""),
    ("examples", ""),
    ("title", ""),
    ("$schema", ""),
    ("$id", ""),
    ("$comment", ""),
];

/// Returns the schema in the form that strict structured output accepts: every field required, optional ones may be
/// null, no others allowed, no lengths, ranges or patterns. Descriptions beside a reference move into the object that
/// holds it. Pure.
pub fn dialect(schema: &Value) -> Value {
    narrowed(schema, schema)
}

fn narrowed(schema: &Value, root: &Value) -> Value {
    let Value::Object(from) = schema else { return schema.clone() };
    if let Some(reference) = from.get("$ref") {
        return json!({"$ref": reference});
    }
    let mut to = Map::new();
    let mut said: Vec<String> = Vec::from_iter(from.get("description").and_then(Value::as_str).map(str::to_owned));
    for (keyword, value) in from {
        match keyword.as_str() {
            "description" | "required" | "additionalProperties" => {}
            "properties" => drop(to.insert(keyword.clone(), properties(from, value, root, &mut said))),
            "$defs" | "definitions" => {
                let each = value.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), narrowed(v, root)));
                to.insert(keyword.clone(), Value::Object(each.collect()));
            }
            "items" => drop(to.insert(keyword.clone(), narrowed(value, root))),
            "anyOf" | "oneOf" => {
                let forms: Vec<Value> =
                    value.as_array().into_iter().flatten().map(|form| narrowed(form, root)).collect();
                to.insert("anyOf".into(), forms.into());
            }
            other => match TOLD.iter().find(|(known, _)| *known == other) {
                None => drop(to.insert(keyword.clone(), value.clone())),
                Some((_, "")) => {}
                Some((_, words)) => said.push(words.replace("{}", &plain(value))),
            },
        }
    }
    if to.contains_key("enum") && !to.contains_key("type") {
        to.insert("type".into(), json!("string"));
    }
    if to.get("type") == Some(&json!("object")) {
        let properties = to.entry("properties").or_insert_with(|| json!({}));
        let names: Vec<Value> = properties.as_object().into_iter().flat_map(Map::keys).map(|k| json!(k)).collect();
        to.insert("required".into(), names.into());
        to.insert("additionalProperties".into(), json!(false));
    }
    if !said.is_empty() {
        to.insert("description".into(), json!(said.join("; ")));
    }
    Value::Object(to)
}

fn properties(of: &Map<String, Value>, properties: &Value, root: &Value, said: &mut Vec<String>) -> Value {
    let required = of.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let mut to = Map::new();
    for (name, value) in properties.as_object().into_iter().flatten() {
        if let (Some(_), Some(words)) = (value.get("$ref"), value.get("description").and_then(Value::as_str)) {
            said.push(format!("{name}: {words}"));
        }
        // An empty list means the same as a missing one, so such a list can be required.
        let must_be_there = required.contains(&name.as_str()) || may_be_an_empty_list(value, root);
        let form = narrowed(value, root);
        to.insert(name.clone(), if must_be_there { form } else { json!({"anyOf": [form, {"type": "null"}]}) });
    }
    Value::Object(to)
}

fn may_be_an_empty_list(schema: &Value, root: &Value) -> bool {
    let referred = schema.get("$ref").and_then(Value::as_str).and_then(|r| root.pointer(r.strip_prefix('#')?));
    let schema = referred.unwrap_or(schema);
    schema.get("type") == Some(&json!("array")) && schema.get("minItems").is_none()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reason why an answer does not fit the schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unfit {
    /// For the model: the fault, and its place. May contain names from its answer, but no values.
    pub told: String,
    /// For people and logs: contains nothing from the answer.
    pub shown: String,
}

/// Words that end the thoughts of a model in its answer, where its server does not take them out. The beginning is
/// missing if the server put it into the question.
const THOUGHT_ENDS: &str = "</think>";

/// Longest description of a fault that a model is told, in bytes.
const LONGEST_TOLD: usize = 400;

/// Returns the answer as plain JSON, if it fits the schema: without the fence some models put around it, and without
/// fields that are null because the dialect required them.
pub(crate) fn fitted(schema: &Value, answer: &str) -> Result<String, Unfit> {
    let unfit = |why: String| Unfit { told: why.clone(), shown: why };
    let found = json_in(answer).ok_or_else(|| unfit("it is no JSON object".into()))?;
    // Models that think aloud may have braces in their thoughts.
    let said = answer.rsplit_once(THOUGHT_ENDS).and_then(|(_, said)| serde_json::from_str(json_in(said)?).ok());
    let mut value: Value = match (serde_json::from_str(found), said) {
        (Ok(value), _) | (Err(_), Some(value)) => value,
        (Err(e), None) => {
            return Err(unfit(format!("it is no JSON (line {}, column {})", e.line(), e.column())));
        }
    };
    let validator =
        jsonschema::validator_for(schema).map_err(|_| unfit("the schema of the question is broken".into()))?;
    if !validator.is_valid(&value) {
        without_nulls(&mut value);
    }
    match validator.iter_errors(&value).next() {
        None => Ok(value.to_string()),
        Some(error) => {
            let told = format!("at {}/: {}", error.instance_path(), error.masked());
            Err(Unfit {
                told: told[..told.floor_char_boundary(LONGEST_TOLD)].to_owned(),
                // The path within the schema has only names from our schema.
                shown: format!("it does not fit the schema ({})", error.schema_path()),
            })
        }
    }
}

/// Returns the text from the first brace to the last.
fn json_in(answer: &str) -> Option<&str> {
    let (from, to) = (answer.find('{')?, answer.rfind('}')?);
    answer.get(from..=to)
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, v| !v.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heirloom_engine::distill::schema::SCHEMA;

    fn distillate() -> Value {
        serde_json::from_str(SCHEMA).unwrap()
    }

    /// Calls `f` with every object of a schema.
    fn every<'v>(schema: &'v Value, f: &mut impl FnMut(&'v Map<String, Value>)) {
        match schema {
            Value::Object(fields) => {
                f(fields);
                fields.values().for_each(|v| every(v, f));
            }
            Value::Array(items) => items.iter().for_each(|v| every(v, f)),
            _ => {}
        }
    }

    #[test]
    fn a_strict_form_has_nothing_strict_forms_refuse() {
        let narrow = dialect(&distillate());
        every(&narrow, &mut |fields| {
            for keyword in ["minLength", "maxLength", "minItems", "maxItems", "pattern", "$schema"] {
                assert!(!fields.contains_key(keyword), "{keyword} in {fields:?}");
            }
            if fields.get("type") == Some(&json!("object")) {
                let names: Vec<&str> = fields["properties"].as_object().unwrap().keys().map(String::as_str).collect();
                let required: Vec<&str> =
                    fields["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                assert_eq!((names, &fields["additionalProperties"]), (required, &json!(false)));
            }
            assert!(!fields.contains_key("$ref") || fields.len() == 1, "{fields:?}");
            assert!(!fields.contains_key("enum") || fields.contains_key("type"), "{fields:?}");
        });
        let of = &narrow["properties"]["distillate"];
        assert_eq!(of["properties"]["goal"], json!({"anyOf": [{"$ref": "#/$defs/item"}, {"type": "null"}]}));
        assert_eq!(of["properties"]["done"], json!({"$ref": "#/$defs/items"}));
        assert!(
            of["description"]
                .as_str()
                .unwrap()
                .contains("constraints: Directives and preferences, in the user's words only.")
        );
        assert!(narrow["$defs"]["turns"]["description"].as_str().unwrap().contains("at least 1 items"));
        assert_eq!(dialect(&narrow), narrow);
    }

    #[test]
    fn what_a_strict_form_lets_through_is_made_to_fit_the_whole() {
        let item = json!({"text": "a", "turns": ["t1"]});
        let lists = "constraints requirements done in_progress blocked fixed decisions open_loops next_steps context files proposals";
        let mut inside: Map<String, Value> = lists.split(' ').map(|name| (name.to_owned(), json!([]))).collect();
        inside.insert("goal".into(), Value::Null);
        inside.insert("done".into(), json!([item]));
        let answer = json!({"summary": "s", "distillate": inside});
        let narrow = jsonschema::validator_for(&dialect(&distillate())).unwrap();
        assert!(narrow.is_valid(&answer));
        let fits = fitted(&distillate(), &format!("Here it is:\n```json\n{answer}\n```")).unwrap();
        assert!(!fits.contains("null") && fits.contains("\"done\":[{"), "{fits}");
    }

    #[test]
    fn thoughts_before_the_answer_are_left_out() {
        let schema = json!({"type": "object", "required": ["says"], "properties": {"says": {"type": "string"}}});
        let fits = |answer: &str| fitted(&schema, answer).map_err(|unfit| unfit.shown);
        let good = r#"{"says":"done"}"#;
        for thought in ["<think>\n\n</think>", "<think>A set {1, 2}, or {\"says\": 1}?</think>", "Or {so}?\n</think>"] {
            assert_eq!(fits(&format!("{thought}\n\n{good}")).as_deref(), Ok(good), "{thought}");
        }
        let about = r#"{"says":"the tag </think> ends {thoughts}"}"#;
        assert_eq!(fits(about).as_deref(), Ok(about));
        assert!(fits("<think>{}</think> I would rather not.").is_err());
    }

    #[test]
    fn an_answer_that_does_not_fit_is_told_where() {
        let schema = distillate();
        let said = |answer: &str| fitted(&schema, answer).unwrap_err();
        assert_eq!(said("I would rather not.").shown, "it is no JSON object");
        assert_eq!(said("{\"summary\": tomorrow}").shown, "it is no JSON (line 1, column 14)");
        let secret = r#"{"summary":"s","distillate":{"done":[{"text":7,"turns":["t1"]}],"my secret":1}}"#;
        let unfit = said(secret);
        assert!(
            !unfit.shown.contains("secret") && unfit.shown.starts_with("it does not fit the schema (/"),
            "{unfit:?}"
        );
        let unfit = said(r#"{"summary":"s","distillate":{"done":[{"text":7,"turns":["t1"]}]}}"#);
        assert!(unfit.told.starts_with("at /distillate/done/0/text/: value is not"), "{unfit:?}");
        assert!(said(&format!("{{\"{}\": 1}}", "é".repeat(5_000))).told.len() <= LONGEST_TOLD);
    }
}

//! Replaces one section of `config.toml`; every other byte stays as it is.

use heirloom_engine::error::{Error, Result};
use toml::{Table, Value};

/// Returns the text with these values in the section `name`, in their order; without values, the section is removed.
/// `Usage` if the file is not TOML, or if it writes the section in a form that cannot be replaced without touching the
/// rest.
pub fn replaced(text: &str, name: &str, values: &[(&str, Value)]) -> Result<String> {
    let parse = |text: &str| {
        toml::from_str::<Table>(text)
            .map_err(|e| Error::usage(format!("config.toml cannot be read: {}", e.message())).hint("correct it first"))
    };
    let mut wanted = parse(text)?;
    let section: Table = values.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    wanted.remove(name);
    let header = format!("[{name}]");
    let mut kept: Vec<&str> = Vec::new();
    let mut at = None;
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let bare = line.split('#').next().unwrap_or_default().trim();
        if bare.starts_with('[') {
            inside = bare == header;
            if inside && at.is_none() {
                at = Some(kept.len());
                continue;
            }
        }
        // Comments and empty lines between the values were written by people and stay.
        if !inside || bare.is_empty() {
            kept.push(line);
        }
    }
    let mut lines: String = String::new();
    if !section.is_empty() {
        lines = format!("{header}\n");
        for (key, value) in values {
            lines.push_str(&format!("{key} = {}\n", shown(value)));
        }
    }
    let at = at.unwrap_or(kept.len());
    let mut out: String = kept[..at].concat();
    if !lines.is_empty() && !out.is_empty() && !out.ends_with("\n\n") {
        out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
    }
    out.push_str(&lines);
    out.push_str(&kept[at..].concat());
    if !section.is_empty() {
        wanted.insert(name.to_owned(), Value::Table(section));
    }
    match parse(&out) {
        Ok(found) if found == wanted => Ok(out),
        _ => {
            Err(Error::usage(format!("the section {name} of config.toml is written in a way that cannot be replaced"))
                .hint(format!("take it out by hand, or write it as {header} with one value a line")))
        }
    }
}

/// Formats a number, a text (with quoting that TOML and JSON share), or a list of these.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => serde_json::json!(text).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Array(values) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, values: &[(&str, &str)]) -> String {
        let values: Vec<(&str, Value)> = values.iter().map(|(k, v)| (*k, Value::String((*v).to_owned()))).collect();
        replaced(text, "embeddings", &values).unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn only_the_section_changes() {
        let folder = [("model_folder", "/m")];
        let section = "[embeddings]\nmodel_folder = \"/m\"\n";
        assert_eq!(of("", &folder), section);
        assert_eq!(of("a = 1", &folder), format!("a = 1\n\n{section}"));
        let before = "# mine\n[daemon]\nworkspace = \"main\" # [embeddings]\n\n";
        assert_eq!(of(before, &folder), format!("{before}{section}"));
        let old = "[embeddings]\n# why\nendpoint = \"http://x\"\nmodel = \"y\"\n\n[lineage]\nchunk_turns = 9\n";
        assert_eq!(of(old, &folder), format!("{section}# why\n\n[lineage]\nchunk_turns = 9\n"));
        assert_eq!(of(old, &[]), "# why\n\n[lineage]\nchunk_turns = 9\n");
        assert_eq!(of(section, &[]), "");
    }

    #[test]
    fn what_cannot_be_replaced_is_left_to_people() {
        for text in ["embeddings = { model = \"x\" }\n", "embeddings.model = \"x\"\n", "[embeddings.more]\na = 1\n"] {
            assert!(of(text, &[("model_folder", "/m")]).contains("cannot be replaced"), "{text}");
        }
        assert!(of("= broken", &[]).contains("cannot be read"));
    }

    #[test]
    fn values_are_quoted() {
        assert_eq!(of("", &[("model_folder", "/a \"b\"\\c")]), "[embeddings]\nmodel_folder = \"/a \\\"b\\\"\\\\c\"\n");
    }
}

//! Heirloom as an MCP server in a program's settings: one entry under the name `heirloom`, in JSON or in TOML. An entry
//! of that name that starts another program belongs to somebody else, and is left alone.

use serde_json::{Value as Json, json};

use super::draft::Draft;
use super::json::{self, SettingsError};
use super::{Standing, trust};

/// The name of the server.
pub const NAME: &str = "heirloom";

/// Command that starts the server, in words.
pub type Words = Vec<String>;

/// The entry in a JSON file.
#[derive(Clone, PartialEq, Debug)]
pub struct JsonServer {
    /// Keys that lead to the program's servers; Heirloom's entry is below them, under its name.
    pub path: &'static [&'static str],
    pub value: Json,
}

/// The entry in Codex's `config.toml`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TomlServer {
    pub words: Words,
}

impl JsonServer {
    fn place(&self) -> Vec<&'static str> {
        self.path.iter().copied().chain([NAME]).collect()
    }

    fn there(&self, text: &str) -> Result<Option<Json>, SettingsError> {
        if json::is_blank(text) {
            return Ok(None);
        }
        Ok(json::find(text, &self.place())?.map(|node| node.json()))
    }

    pub fn standing(&self, text: &str) -> Result<Standing, SettingsError> {
        Ok(match self.there(text)? {
            Some(value) if value == self.value => Standing::Current,
            Some(value) if is_ours(&words_of(&value)) => Standing::Older,
            _ => Standing::Absent,
        })
    }

    pub fn put(&self, draft: &mut Draft) -> Result<Vec<String>, SettingsError> {
        match self.there(draft.text())? {
            None => json::insert(draft, &self.place(), &self.value),
            Some(value) if value != self.value && is_ours(&words_of(&value)) => {
                if let Some(node) = json::find(draft.text(), &self.place())? {
                    json::replace(draft, &node, &self.value);
                }
                Ok(Vec::new())
            }
            Some(_) => Ok(Vec::new()),
        }
    }

    /// Removes the entry, and the containers in `made` that are then empty.
    pub fn take(&self, draft: &mut Draft, made: Option<&[String]>) -> Result<(), SettingsError> {
        match self.there(draft.text())? {
            Some(value) if is_ours(&words_of(&value)) => json::remove_member(draft, &self.place())?,
            _ => return Ok(()),
        };
        for length in (1..=self.path.len()).rev() {
            let path = &self.path[..length];
            let is_empty = json::find(draft.text(), path)?.is_some_and(|node| {
                let inside = &draft.text()[node.span.start + 1..node.span.end - 1];
                inside.trim().is_empty()
            });
            if is_empty && made.is_some_and(|made| made.contains(&path.join("."))) {
                json::remove_member(draft, path)?;
            }
        }
        Ok(())
    }

    pub fn calls(&self, text: &str) -> Vec<String> {
        let words = self.there(text).ok().flatten().map(|value| words_of(&value)).unwrap_or_default();
        words.into_iter().take(1).collect()
    }

    pub fn by_hand(&self) -> String {
        let mut draft = Draft::new("");
        match self.put(&mut draft) {
            Ok(_) => draft.text().to_owned(),
            Err(_) => String::new(),
        }
    }
}

/// Returns the words of an entry: a command and its arguments, or both in one list.
fn words_of(value: &Json) -> Words {
    let list = |value: &Json| -> Words {
        value.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    match &value["command"] {
        Json::String(command) => [vec![command.clone()], list(&value["args"])].concat(),
        command => list(command),
    }
}

/// Whether the words start Heirloom's MCP server.
fn is_ours(words: &[String]) -> bool {
    let Some((binary, rest)) = words.split_first() else { return false };
    let name = std::path::Path::new(binary).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("heirloom") && rest.iter().any(|word| word == "mcp")
}

impl TomlServer {
    fn value(&self) -> Json {
        let (command, args) = self.words.split_first().map_or((String::new(), &[][..]), |(c, a)| (c.clone(), a));
        json!({"command": command, "args": args})
    }

    fn there(text: &str) -> Result<Option<Json>, SettingsError> {
        let table = trust::values(text)?;
        let entry = table.get("mcp_servers").and_then(|servers| servers.get(NAME));
        Ok(entry.and_then(|entry| serde_json::to_value(entry).ok()))
    }

    pub fn standing(&self, text: &str) -> Result<Standing, SettingsError> {
        Ok(match TomlServer::there(text)? {
            Some(value) if value == self.value() => Standing::Current,
            Some(value) if is_ours(&words_of(&value)) => Standing::Older,
            _ => Standing::Absent,
        })
    }

    fn block(&self, nl: &str) -> String {
        let words: Vec<String> = self.words.iter().map(|word| trust::quoted(word)).collect();
        let (command, args) = words.split_first().map_or((String::new(), &[][..]), |(c, a)| (c.clone(), a));
        format!("[mcp_servers.{NAME}]{nl}command = {command}{nl}args = [{}]{nl}", args.join(", "))
    }

    pub fn put(&self, draft: &mut Draft) -> Result<Vec<String>, SettingsError> {
        match TomlServer::there(draft.text())? {
            Some(value) if value != self.value() && is_ours(&words_of(&value)) => self.take(draft)?,
            Some(_) => return Ok(Vec::new()),
            None => {}
        }
        let before = trust::values(draft.text())?;
        let text = draft.text();
        let nl = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => nl,
            _ => &[nl, nl].concat(),
        };
        let (end, block) = (text.len(), self.block(nl));
        draft.replace(end..end, &format!("{gap}{block}"));
        // Settings of others must not have changed.
        let is_so = TomlServer::others(draft.text()).is_ok_and(|others| others == without_ours(before))
            && TomlServer::there(draft.text())? == Some(self.value());
        if is_so { Ok(Vec::new()) } else { Err(cannot()) }
    }

    fn others(text: &str) -> Result<toml::Table, SettingsError> {
        Ok(without_ours(trust::values(text)?))
    }

    /// Removes the table, if it is written as one block.
    pub fn take(&self, draft: &mut Draft) -> Result<(), SettingsError> {
        match TomlServer::there(draft.text())? {
            Some(value) if is_ours(&words_of(&value)) => {}
            _ => return Ok(()),
        }
        let before = TomlServer::others(draft.text())?;
        let text = draft.text().to_owned();
        let header = format!("[mcp_servers.{NAME}]");
        let mut at = 0;
        let mut cut = None;
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim();
            match cut {
                None if trimmed == header => cut = Some((at, text.len())),
                Some((begin, end))
                    if end == text.len()
                        && trimmed.starts_with('[')
                        && !trimmed.starts_with("[mcp_servers.heirloom.") =>
                {
                    cut = Some((begin, at));
                }
                _ => {}
            }
            at += line.len();
        }
        let Some((begin, end)) = cut else { return Err(cannot()) };
        // The blank line before the table was added with it; a blank line after it stays between the remaining tables.
        let above = text[..begin].strip_suffix('\n').map(|above| above.strip_suffix('\r').unwrap_or(above));
        let begin = match above {
            Some(above) if above.is_empty() || above.ends_with('\n') => above.len(),
            _ => begin,
        };
        let tail = &text[begin..end];
        let kept = tail.len() - tail.trim_end().len();
        let line_end = if tail.trim_end().len() < tail.len() {
            tail[tail.trim_end().len()..].find('\n').map_or(0, |n| n + 1)
        } else {
            0
        };
        let end = if end == text.len() { end } else { end - kept + line_end };
        draft.replace(begin..end, "");
        let is_so = TomlServer::others(draft.text()).is_ok_and(|others| others == before)
            && TomlServer::there(draft.text())?.is_none();
        if is_so { Ok(()) } else { Err(cannot()) }
    }

    pub fn calls(&self, text: &str) -> Vec<String> {
        let words = TomlServer::there(text).ok().flatten().map(|value| words_of(&value)).unwrap_or_default();
        words.into_iter().take(1).collect()
    }

    pub fn by_hand(&self) -> String {
        self.block("\n")
    }
}

fn cannot() -> SettingsError {
    SettingsError::WrongType("tables others can add to", "mcp_servers".to_owned())
}

fn without_ours(mut table: toml::Table) -> toml::Table {
    if let Some(toml::Value::Table(servers)) = table.get_mut("mcp_servers") {
        servers.remove(NAME);
        if servers.is_empty() {
            table.remove("mcp_servers");
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        ["/usr/bin/heirloom", "--home", "/h \"x\"", "mcp"].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_table_is_put_behind_those_of_others_and_taken_back() {
        let server = TomlServer { words: words() };
        let ours =
            "[mcp_servers.heirloom]\ncommand = \"/usr/bin/heirloom\"\nargs = [\"--home\", \"/h \\\"x\\\"\", \"mcp\"]\n";
        for before in [
            "",
            "model = \"m\"\n",
            "# only this",
            "[mcp_servers.other]\ncommand = \"x\"\n",
            "a = 1\r\n[b]\r\nc = 2\r\n",
        ] {
            let mut draft = Draft::new(before);
            server.put(&mut draft).unwrap();
            assert!(draft.text().replace("\r\n", "\n").ends_with(ours), "{}", draft.text());
            assert_eq!(server.standing(draft.text()).unwrap(), Standing::Current);
            let put = draft.text().to_owned();
            server.put(&mut draft).unwrap();
            assert_eq!(draft.text(), put, "once");
            server.take(&mut draft).unwrap();
            assert_eq!(draft.text().trim_end(), before.trim_end());
            assert_eq!(server.standing(draft.text()).unwrap(), Standing::Absent);
        }
        // The table of an older build is in the middle of the file, with another table after it.
        let text = "a = 1\n\n[mcp_servers.heirloom]\ncommand = \"/old/heirloom\"\nargs = [\"mcp\"]\n\n[z]\nb = 2\n";
        let mut draft = Draft::new(text);
        assert_eq!(server.standing(text).unwrap(), Standing::Older);
        server.put(&mut draft).unwrap();
        assert_eq!(draft.text(), format!("a = 1\n\n[z]\nb = 2\n\n{ours}"));
        // An entry of somebody else, and a table to which nothing can be added.
        let theirs = "[mcp_servers.heirloom]\ncommand = \"node\"\n";
        let mut draft = Draft::new(theirs);
        server.put(&mut draft).unwrap();
        server.take(&mut draft).unwrap();
        assert_eq!(draft.text(), theirs);
        assert!(server.put(&mut Draft::new("mcp_servers = {}\n")).is_err());
        assert!(server.put(&mut Draft::new("not toml")).is_err());
    }

    #[test]
    fn an_entry_is_put_among_those_of_others_and_taken_back() {
        let server =
            JsonServer { path: &["mcp", "servers"], value: json!({"command": "/usr/bin/heirloom", "args": ["mcp"]}) };
        for before in
            ["{\n  \"a\": 1\n}\n", "{\n  // kept\n  \"mcp\": {\"servers\": {\"x\": {\"command\": \"y\"}}}\n}\n"]
        {
            let mut draft = Draft::new(before);
            let made = server.put(&mut draft).unwrap();
            assert_eq!(server.standing(draft.text()).unwrap(), Standing::Current);
            assert_eq!(server.calls(draft.text()), ["/usr/bin/heirloom"]);
            server.take(&mut draft, Some(&made)).unwrap();
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(plain(draft.text()), plain(before));
        }
        let theirs = r#"{"mcp": {"servers": {"heirloom": {"command": "node", "args": ["mcp"]}}}}"#;
        let mut draft = Draft::new(theirs);
        server.put(&mut draft).unwrap();
        server.take(&mut draft, None).unwrap();
        assert_eq!(draft.text(), theirs);
        let older = r#"{"mcp": {"servers": {"heirloom": {"command": ["/old/heirloom", "mcp"]}}}}"#;
        assert_eq!(server.standing(older).unwrap(), Standing::Older);
    }
}

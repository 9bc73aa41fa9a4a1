//! Finds the tool calls in a turn. Codex wraps them in a script in which the tools are functions.

use std::borrow::Cow;

use super::input::plain_tool;

/// Maximum bytes of a script that are read, and maximum number of calls taken from one script.
const MOST_SCRIPT: usize = 2 * 1024 * 1024;
const MOST_CALLS: usize = 64;

/// A call of one tool: its plain name and its input as `key: value` lines.
pub type Asked<'r> = (String, Cow<'r, str>);

/// Returns the calls inside a call; most calls contain only themselves.
pub fn unwrapped<'r>(tool: &str, input: &'r str) -> Vec<Asked<'r>> {
    let tool = plain_tool(tool);
    if matches!(tool.as_str(), "exec" | "javascript" | "js" | "codemode") && input.contains("tools.") {
        let inner = Script::new(input).calls();
        if !inner.is_empty() {
            return inner;
        }
    }
    vec![(tool, Cow::Borrowed(input))]
}

/// A value of a script that is written as a literal.
#[derive(Clone)]
enum Value {
    Text(String),
    Fields(Vec<(String, String)>),
}

/// Reads a small script: literals assigned to names, and calls of `tools.NAME(…)`. The script is never run.
struct Script<'r> {
    text: &'r str,
    at: usize,
    names: Vec<(&'r str, Value)>,
}

impl<'r> Script<'r> {
    fn new(text: &'r str) -> Script<'r> {
        Script { text: &text[..text.floor_char_boundary(MOST_SCRIPT)], at: 0, names: Vec::new() }
    }

    fn calls(mut self) -> Vec<Asked<'r>> {
        let mut found = Vec::new();
        while let Some(c) = self.rest().chars().next() {
            if found.len() == MOST_CALLS {
                break;
            }
            if matches!(c, '"' | '\'' | '`') {
                self.literal();
            } else if self.rest().starts_with("//") {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if c.is_alphabetic() || c == '_' || c == '$' {
                let word = self.word();
                if matches!(word, "const" | "let" | "var") {
                    self.blanks();
                    let name = self.word();
                    self.blanks();
                    if self.eat('=')
                        && let Some(value) = self.value()
                    {
                        self.names.push((name, value));
                    }
                } else if word == "tools" && self.eat('.') {
                    let name = self.word();
                    if self.eat('(') {
                        let input = match self.value() {
                            Some(Value::Text(text)) => text,
                            Some(Value::Fields(fields)) => {
                                fields.iter().map(|(k, v)| format!("{k}: {v}")).collect::<Vec<_>>().join("\n")
                            }
                            None => String::new(),
                        };
                        found.push((plain_tool(name), Cow::Owned(input)));
                    }
                }
            } else {
                self.at += c.len_utf8();
            }
        }
        found
    }

    fn rest(&self) -> &'r str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, c: char) -> bool {
        let there = self.rest().starts_with(c);
        self.at += if there { c.len_utf8() } else { 0 };
        there
    }

    fn word(&mut self) -> &'r str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn value(&mut self) -> Option<Value> {
        self.blanks();
        match self.rest().chars().next()? {
            '"' | '\'' | '`' => Some(Value::Text(self.literal())),
            '{' => self.fields().map(Value::Fields),
            c if c.is_alphabetic() || c == '_' => {
                let before = self.at;
                let name = self.word();
                if name == "String" && self.rest().starts_with(".raw`") {
                    self.at += 4;
                    return Some(Value::Text(self.literal()));
                }
                let known = self.names.iter().rev().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
                if known.is_none() {
                    self.at = before;
                }
                known
            }
            _ => None,
        }
    }

    /// Reads the fields of an object: `{"cmd":"…", workdir: dir, yield_time_ms: 1000}`. Nested values are returned as
    /// written.
    fn fields(&mut self) -> Option<Vec<(String, String)>> {
        let mut found = Vec::new();
        self.at += 1;
        loop {
            self.blanks();
            while self.eat(',') {
                self.blanks();
            }
            if self.eat('}') || found.len() > 40 {
                return Some(found);
            }
            let key = match self.rest().chars().next()? {
                '"' | '\'' => self.literal(),
                _ => self.word().to_owned(),
            };
            if key.is_empty() {
                return None;
            }
            self.blanks();
            let value = if self.eat(':') {
                self.blanks();
                match self.rest().chars().next()? {
                    '"' | '\'' | '`' => self.literal(),
                    _ => self.nested(),
                }
            } else {
                key.clone()
            };
            // A variable's name is replaced by its value.
            let known = self.names.iter().rev().find(|(n, _)| *n == value);
            let value = match known {
                Some((_, Value::Text(text))) => text.clone(),
                _ => value,
            };
            found.push((key, value));
        }
    }

    /// Returns a value up to the comma or bracket that ends it.
    fn nested(&mut self) -> String {
        let (from, mut depth) = (self.at, 0_usize);
        while let Some(c) = self.rest().chars().next() {
            match c {
                '"' | '\'' | '`' => {
                    self.literal();
                    continue;
                }
                '{' | '[' | '(' => depth += 1,
                '}' | ']' | ')' if depth == 0 => break,
                '}' | ']' | ')' => depth -= 1,
                ',' if depth == 0 => break,
                _ => {}
            }
            self.at += c.len_utf8();
        }
        self.text[from..self.at].trim().to_owned()
    }

    /// Returns the text of a quoted string, which ends with the quote it began with.
    fn literal(&mut self) -> String {
        let mut out = String::new();
        let mut chars = self.rest().char_indices();
        let Some((_, quote)) = chars.next() else { return out };
        let mut end = self.rest().len();
        while let Some((i, c)) = chars.next() {
            match c {
                c if c == quote => {
                    end = i + c.len_utf8();
                    break;
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('r' | '\n') | None => {}
                    Some('u') => {
                        let code: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        out.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
                    }
                    Some(c) => out.push(c),
                },
                c => out.push(c),
            }
        }
        self.at += end;
        out
    }
}

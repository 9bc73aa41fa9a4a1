//! Settings files in JSON, read with the place of everything in them and changed by putting text in or taking it out:
//! comments, order, indentation, trailing commas and line ends of others stay as they are. Reads JSON5, which holds
//! plain JSON and JSON with comments; writes only what plain JSON allows, so that a file keeps the form it had.

use std::ops::Range;

use serde_json::Value as Json;

use super::draft::Draft;

/// No settings file is nested like this; the parser calls itself.
const DEEPEST: usize = 200;

/// A value and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub span: Range<usize>,
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    String(String),
    /// A number as it is written.
    Number(String),
    /// `null`, `true`, `false`.
    Plain(Option<bool>),
}

/// A member of an object.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    pub key: String,
    /// From the first byte of the key to the last of the value.
    pub span: Range<usize>,
    pub value: Node,
}

/// Why a text is no JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// One-based.
    pub line: usize,
    pub what: &'static str,
}

/// Why a text, though it is JSON, is not changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Odd {
    Malformed(Malformed),
    /// A key on the way stands there twice: which one counts is the program's business.
    Twice(String),
    /// Something on the way is not what the program says it is.
    NotA(&'static str, String),
    /// This part of the settings comes from another file.
    Elsewhere(String),
}

impl From<Malformed> for Odd {
    fn from(what: Malformed) -> Odd {
        Odd::Malformed(what)
    }
}

impl Node {
    /// The members of an object, the children of an array as spans, in order.
    fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|m| m.span.clone()).collect(),
            Kind::Array(items) => items.iter().map(|i| i.span.clone()).collect(),
            _ => Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.children().is_empty()
    }

    /// The value of a key that stands there at most once.
    pub fn get(&self, key: &str) -> Result<Option<&Member>, Odd> {
        let Kind::Object(members) = &self.kind else { return Err(Odd::NotA("an object", key.to_owned())) };
        let mut found = members.iter().filter(|m| m.key == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Odd::Twice(key.to_owned())),
            (one, None) => Ok(one),
        }
    }

    /// What it says, for comparing.
    pub fn json(&self) -> Json {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|m| (m.key.clone(), m.value.json())).collect(),
            Kind::Array(items) => items.iter().map(Node::json).collect(),
            Kind::String(text) => Json::String(text.clone()),
            Kind::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| Json::String(format!("number {text}"))),
            Kind::Plain(Some(yes)) => Json::Bool(*yes),
            Kind::Plain(None) => Json::Null,
        }
    }
}

/// The value along a path of keys; `None` where one of them is missing. Everything on the way is an object.
pub fn at<'n>(root: &'n Node, path: &[&str]) -> Result<Option<&'n Node>, Odd> {
    let mut node = root;
    for (i, key) in path.iter().enumerate() {
        if !matches!(node.kind, Kind::Object(_)) {
            return Err(Odd::NotA("an object", if i == 0 { "the file".into() } else { path[..i].join(".") }));
        }
        if node.get("$include")?.is_some() {
            return Err(Odd::Elsewhere(if i == 0 { "the file".into() } else { path[..i].join(".") }));
        }
        match node.get(key)? {
            Some(member) => node = &member.value,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

/// Puts a value under a path of keys, making the objects on the way; the member must not be there. Returns the paths of
/// the containers that had to be made.
pub fn insert(draft: &mut Draft, path: &[&str], value: &Json) -> Result<Vec<String>, Odd> {
    let root = whole(draft)?;
    let mut have = 0;
    let mut node = &root;
    while have + 1 < path.len() {
        match at(node, &path[have..=have])? {
            Some(next) => node = next,
            None => break,
        }
        have += 1;
    }
    // Also looks at the innermost object: its last key must not be there, and it may come from elsewhere.
    if at(node, &path[have..=have])?.is_some() {
        return Err(Odd::Twice(path.join(".")));
    }
    let mut wrapped = value.clone();
    for key in path[have + 1..].iter().rev() {
        wrapped = Json::Object([((*key).to_owned(), wrapped)].into_iter().collect());
    }
    append(draft, node, Some(path[have]), &wrapped);
    let mut made: Vec<String> = (have + 1..path.len()).map(|n| path[..n].join(".")).collect();
    if value.is_array() {
        made.push(path.join("."));
    }
    Ok(made)
}

/// Puts a value at the end of the array under a path, making it where it is missing. Returns what had to be made.
pub fn push(draft: &mut Draft, path: &[&str], value: &Json) -> Result<Vec<String>, Odd> {
    let root = whole(draft)?;
    match at(&root, path)? {
        None => insert(draft, path, &Json::Array(vec![value.clone()])),
        Some(array) if matches!(array.kind, Kind::Array(_)) => {
            append(draft, array, None, value);
            Ok(Vec::new())
        }
        Some(_) => Err(Odd::NotA("a list", path.join("."))),
    }
}

/// Puts a value in the place of another one.
pub fn replace(draft: &mut Draft, node: &Node, value: &Json) {
    let style = Style::of(draft.text());
    let text = draft.text();
    let indent = Style::indent_at(text, node.span.start);
    let wide = text[node.span.clone()].contains('\n');
    let written = if wide { style.wide(value, &indent) } else { style.narrow(value) };
    draft.replace(node.span.clone(), &written);
}

/// Takes a child out of a container: the child, the comma it no longer needs, and the white space before it.
pub fn remove(draft: &mut Draft, container: &Node, index: usize) {
    let text = draft.text();
    let children = container.children();
    let Some(child) = children.get(index).cloned() else { return };
    let floor = if index == 0 { container.span.start + 1 } else { children[index - 1].end };
    let space = text[floor..child.start].trim_end_matches(is_space).len() + floor;
    let next = skip(text, child.end);
    let comma = text[next..].starts_with(',');
    let mut cuts = Vec::new();
    let mut end = child.end;
    if comma && next == child.end {
        end = next + 1;
    } else if comma {
        cuts.push(next..next + 1);
    } else if index > 0 {
        // The last one: the comma before it goes with it.
        let before = skip(text, children[index - 1].end);
        if text[before..].starts_with(',') && before < space {
            cuts.push(before..before + 1);
        }
    }
    let rest = &text[end..];
    let line_ends = rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
    let begin = match text[floor..space].rfind("//") {
        // A comment up to the end of the line must keep an end of line.
        Some(_) if !line_ends => child.start,
        _ if index == 0 && !text[space..child.start].contains('\n') => {
            end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            child.start
        }
        _ => space,
    };
    if children.len() == 1 && is_blank(&text[container.span.start + 1..child.start]) {
        let after = &text[end..container.span.end - 1];
        if is_blank(after) {
            // Nothing is left in it.
            let inside = container.span.start + 1..container.span.end - 1;
            return draft.replace(inside, "");
        }
    }
    cuts.push(begin..end);
    cuts.sort_by_key(|c| std::cmp::Reverse(c.start));
    for cut in cuts {
        draft.replace(cut, "");
    }
}

/// Takes the member under a path out, if it is there.
pub fn remove_member(draft: &mut Draft, path: &[&str]) -> Result<bool, Odd> {
    let root = parse(draft.text())?;
    let Some((key, above)) = path.split_last() else { return Ok(false) };
    let Some(object) = at(&root, above)? else { return Ok(false) };
    let Some(member) = object.get(key)? else { return Ok(false) };
    let Kind::Object(members) = &object.kind else { return Ok(false) };
    let index = members.iter().position(|m| m.span == member.span).unwrap_or(0);
    remove(draft, object, index);
    Ok(true)
}

/// The tree of a draft; an empty text becomes an object first.
fn whole(draft: &mut Draft) -> Result<Node, Odd> {
    if is_blank(draft.text().trim_start_matches('\u{feff}')) {
        let end = draft.text().len();
        draft.replace(end..end, "{}\n");
    }
    let root = parse(draft.text())?;
    match root.kind {
        Kind::Object(_) => Ok(root),
        _ => Err(Odd::NotA("an object", "the file".into())),
    }
}

/// Puts a child at the end of a container.
fn append(draft: &mut Draft, container: &Node, key: Option<&str>, value: &Json) {
    let text = draft.text();
    let style = Style::of(text);
    let name = |colon: &str| key.map_or(String::new(), |k| format!("{}{colon}", Json::from(k)));
    let children = container.children();
    let nl = style.line_end;
    let Some(last) = children.last() else {
        let inside = &text[container.span.start + 1..container.span.end - 1];
        let at = container.span.start + 1 + end_of_words(inside);
        let outer = Style::indent_at(text, container.span.start);
        let inner = format!("{outer}{}", style.unit);
        if text[at..container.span.end - 1].contains('\n') {
            let put = format!("{nl}{inner}{}{}", name(": "), style.wide(value, &inner));
            draft.replace(at..at, &put);
        } else if style.narrow_file {
            let put = format!("{}{}", name(style.colon), style.narrow(value));
            draft.replace(at..at, &put);
        } else {
            // What is in between is blanks, so the closing bracket gets a line of its own.
            let put = format!("{nl}{inner}{}{}{nl}{outer}", name(": "), style.wide(value, &inner));
            draft.replace(at..at, &put);
        }
        return;
    };
    let next = skip(text, last.end);
    let trailing = text[next..].starts_with(',');
    let first = &children[0];
    let wide = text[container.span.start..first.start].contains('\n');
    if !wide {
        let gap = if style.narrow_file { style.gap } else { " " };
        let written = format!("{}{}", name(if style.narrow_file { style.colon } else { ": " }), style.narrow(value));
        match trailing {
            true => draft.replace(next + 1..next + 1, &format!("{gap}{written},")),
            false => draft.replace(last.end..last.end, &format!(",{gap}{written}")),
        }
        return;
    }
    let indent = Style::indent_at(text, last.start);
    let put = format!("{nl}{indent}{}{}", name(": "), style.wide(value, &indent));
    if trailing {
        let at = end_of_line_comment(text, next + 1);
        draft.replace(at..at, &format!("{put},"));
        return;
    }
    let at = end_of_line_comment(text, last.end);
    if at == last.end {
        draft.replace(at..at, &format!(",{put}"));
    } else {
        draft.replace(at..at, &put);
        draft.replace(last.end..last.end, ",");
    }
}

/// How a file is laid out.
struct Style {
    line_end: &'static str,
    unit: String,
    /// All in one line.
    narrow_file: bool,
    colon: &'static str,
    gap: &'static str,
}

impl Style {
    fn of(text: &str) -> Style {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let body = text.trim_matches(|c: char| is_space(c) || c == '\u{feff}');
        let narrow_file = !body.contains('\n') && body.len() > 2;
        let spaced = body.contains(": ");
        let indented = text.lines().find_map(|line| {
            let space: String = line.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
            let word = line[space.len()..].chars().next()?;
            (!space.is_empty() && (word.is_alphabetic() || "\"'_$".contains(word))).then_some(space)
        });
        // Tabs are one each, and no file is indented by more than eight.
        let unit = match indented {
            Some(space) if space.starts_with('\t') => "\t".to_owned(),
            Some(space) if space.len() <= 8 => space,
            _ => "  ".to_owned(),
        };
        Style {
            line_end,
            unit,
            narrow_file,
            colon: if spaced { ": " } else { ":" },
            gap: if spaced { " " } else { "" },
        }
    }

    /// The white space a line with something at this place begins with, or would.
    fn indent_at(text: &str, place: usize) -> String {
        let line = text[..place].rfind('\n').map_or(0, |n| n + 1);
        text[line..place].chars().take_while(|c| *c == ' ' || *c == '\t').collect()
    }

    fn narrow(&self, value: &Json) -> String {
        let (colon, gap) = if self.narrow_file { (self.colon, self.gap) } else { (": ", " ") };
        let comma = format!(",{gap}");
        match value {
            Json::Object(map) => {
                let one = |(k, v): (&String, &Json)| format!("{}{colon}{}", Json::from(k.as_str()), self.narrow(v));
                format!("{{{}}}", in_order(map).into_iter().map(one).collect::<Vec<_>>().join(&comma))
            }
            Json::Array(items) => {
                format!("[{}]", items.iter().map(|v| self.narrow(v)).collect::<Vec<_>>().join(&comma))
            }
            other => other.to_string(),
        }
    }

    fn wide(&self, value: &Json, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let nl = self.line_end;
        let lines: Vec<String> = match value {
            Json::Object(map) => {
                let one =
                    |(k, v): (&String, &Json)| format!("{inner}{}: {}", Json::from(k.as_str()), self.wide(v, &inner));
                in_order(map).into_iter().map(one).collect()
            }
            Json::Array(items) => items.iter().map(|v| format!("{inner}{}", self.wide(v, &inner))).collect(),
            other => return other.to_string(),
        };
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        if lines.is_empty() {
            return format!("{open}{close}");
        }
        format!("{open}{nl}{}{nl}{indent}{close}", lines.join(&format!(",{nl}")))
    }
}

/// The members as people write them: what a thing is comes first.
fn in_order(map: &serde_json::Map<String, Json>) -> Vec<(&String, &Json)> {
    let mut members: Vec<(&String, &Json)> = map.iter().collect();
    let rank = |key: &str| ["enabled", "type", "command"].iter().position(|k| *k == key).unwrap_or(usize::MAX);
    members.sort_by_key(|(key, _)| rank(key));
    members
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// The first byte at or after a place that is neither white space nor comment. The text was parsed before.
fn skip(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start_matches(is_space);
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find(is_line_end).unwrap_or(trimmed.len());
        } else if let Some(body) = trimmed.strip_prefix("/*") {
            at += body.find("*/").map_or(trimmed.len(), |n| n + 4);
        } else {
            return at;
        }
    }
}

/// Where the last comment between two brackets ends; 0 where there is none.
fn end_of_words(inside: &str) -> usize {
    let mut end = 0;
    let mut at = 0;
    loop {
        let rest = &inside[at..];
        let trimmed = rest.trim_start_matches(is_space);
        if trimmed.is_empty() {
            return end;
        }
        at += rest.len() - trimmed.len();
        at += match trimmed.starts_with("//") {
            true => trimmed.find(is_line_end).unwrap_or(trimmed.len()),
            false => trimmed.get(2..).and_then(|t| t.find("*/")).map_or(trimmed.len(), |n| n + 4),
        };
        end = at;
    }
}

/// The end of the comments that stand behind a place in its line; the place itself where there is none.
fn end_of_line_comment(text: &str, from: usize) -> usize {
    let (mut at, mut end) = (from, from);
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start_matches([' ', '\t']);
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            return at + trimmed.find(is_line_end).unwrap_or(trimmed.len());
        }
        let Some(body) = trimmed.strip_prefix("/*") else { return end };
        let Some(len) = body.find("*/") else { return end };
        if body[..len].contains('\n') {
            return end;
        }
        at += len + 4;
        // A comment in front of another member on the same line is that one's.
        let rest = text[at..].trim_start_matches([' ', '\t']);
        if rest.is_empty() || rest.starts_with(['\n', '\r']) || rest.starts_with("//") || rest.starts_with("/*") {
            end = at;
        } else {
            return end;
        }
    }
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Reads JSON5. A byte-order mark at the beginning is skipped.
pub fn parse(text: &str) -> Result<Node, Malformed> {
    let mut parser = Parser { text, at: 0 };
    let node = parser.value(0)?;
    parser.space()?;
    if parser.at < text.len() { parser.wrong("there is something behind the end") } else { Ok(node) }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn wrong<T>(&self, what: &'static str) -> Result<T, Malformed> {
        Err(Malformed { line: self.text[..self.at].matches('\n').count() + 1, what })
    }

    fn space(&mut self) -> Result<(), Malformed> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(is_space);
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find(is_line_end).unwrap_or(trimmed.len());
            } else if let Some(body) = trimmed.strip_prefix("/*") {
                match body.find("*/") {
                    Some(end) => self.at += end + 4,
                    None => return self.wrong("a comment has no end"),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Malformed> {
        if depth > DEEPEST {
            return self.wrong("it is nested too deep");
        }
        self.space()?;
        let begin = self.at;
        let kind = match self.peek() {
            Some('{') => Kind::Object(self.object(depth)?),
            Some('[') => Kind::Array(self.array(depth)?),
            Some('"' | '\'') => Kind::String(self.string()?),
            Some(c) if c.is_ascii_digit() || "+-.".contains(c) => self.number()?,
            Some(c) if c.is_alphabetic() => {
                let word: String = self.rest().chars().take_while(|c| c.is_alphanumeric()).collect();
                self.at += word.len();
                match word.as_str() {
                    "true" => Kind::Plain(Some(true)),
                    "false" => Kind::Plain(Some(false)),
                    "null" => Kind::Plain(None),
                    "NaN" | "Infinity" => Kind::Number(word),
                    _ => return self.wrong("a word that is no value"),
                }
            }
            Some(_) => return self.wrong("a character that begins no value"),
            None => return self.wrong("the end comes too early"),
        };
        Ok(Node { span: begin..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, Malformed> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.space()?;
            let begin = self.at;
            let key = match self.peek() {
                Some('}') => {
                    self.at += 1;
                    return Ok(members);
                }
                Some('"' | '\'') => self.string()?,
                Some(c) if is_name(c) && !c.is_ascii_digit() => {
                    let name: String = self.rest().chars().take_while(|c| is_name(*c)).collect();
                    self.at += name.len();
                    name
                }
                Some(_) => return self.wrong("a key was expected"),
                None => return self.wrong("an object has no end"),
            };
            self.space()?;
            if self.peek() != Some(':') {
                return self.wrong("a colon was expected");
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            members.push(Member { key, span: begin..value.span.end, value });
            self.separator('}')?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node>, Malformed> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.space()?;
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    return Ok(items);
                }
                Some(_) => items.push(self.value(depth + 1)?),
                None => return self.wrong("a list has no end"),
            }
            self.separator(']')?;
        }
    }

    /// A comma, or the closing bracket, which stays.
    fn separator(&mut self, close: char) -> Result<(), Malformed> {
        self.space()?;
        match self.peek() {
            Some(',') => {
                self.at += 1;
                Ok(())
            }
            Some(c) if c == close => Ok(()),
            _ => self.wrong("a comma or a closing bracket was expected"),
        }
    }

    fn number(&mut self) -> Result<Kind, Malformed> {
        let plain = |c: &char| c.is_ascii_alphanumeric() || "+-.".contains(*c);
        let text: String = self.rest().chars().take_while(plain).collect();
        let digits = text.trim_start_matches(['+', '-']);
        let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let good = match hex {
            Some(hex) => !hex.is_empty() && hex.chars().all(|c| c.is_ascii_hexdigit()),
            None if digits == "NaN" || digits == "Infinity" => true,
            None => digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') && digits.parse::<f64>().is_ok(),
        };
        if !good || text.len() - digits.len() > 1 {
            return self.wrong("a number that is none");
        }
        self.at += text.len();
        Ok(Kind::Number(text))
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let quote = self.peek().unwrap_or('"');
        self.at += 1;
        let mut out = String::new();
        let mut units: Vec<u16> = Vec::new();
        loop {
            let Some(c) = self.peek() else { return self.wrong("a string has no end") };
            if !(c == '\\' && self.rest().starts_with("\\u")) {
                out.extend(char::decode_utf16(units.drain(..)).map(|u| u.unwrap_or('\u{fffd}')));
            }
            self.at += c.len_utf8();
            match c {
                c if c == quote => return Ok(out),
                '\n' | '\r' => return self.wrong("a line ends inside a string"),
                '\\' => {
                    let Some(c) = self.peek() else { return self.wrong("a string has no end") };
                    self.at += c.len_utf8();
                    match c {
                        'n' => out.push('\n'),
                        't' => out.push('\t'),
                        'r' => out.push('\r'),
                        'b' => out.push('\u{8}'),
                        'f' => out.push('\u{c}'),
                        'v' => out.push('\u{b}'),
                        '0' => out.push('\0'),
                        'u' => units.push(self.hex(4)? as u16),
                        'x' => out.extend(char::from_u32(self.hex(2)?)),
                        // A line that goes on in the next one.
                        '\r' if self.peek() == Some('\n') => self.at += 1,
                        c if is_line_end(c) => {}
                        c => out.push(c),
                    }
                }
                c => out.push(c),
            }
        }
    }

    fn hex(&mut self, digits: usize) -> Result<u32, Malformed> {
        let number = self.rest().get(..digits).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(number) = number.and_then(|d| u32::from_str_radix(d, 16).ok()) else {
            return self.wrong("an escape that is none");
        };
        self.at += digits;
        Ok(number)
    }
}

/// Whether a key without quotes may hold it.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '\u{200c}' | '\u{200d}')
}

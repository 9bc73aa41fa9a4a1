//! Reads settings files in JSON with the position of every value. Accepts JSON5, which includes plain JSON and JSON
//! with comments. Edits are in `json/edit.rs`.
//!
//! The text is parsed by `jsonc-parser`. Its editor (the feature `cst`) is not used, because it changes bytes of
//! others: it breaks a file of one line into several, refuses a byte-order mark and adds trailing commas, and its
//! result is a whole text, while disconnecting needs to know which bytes were inserted ([`super::draft`]).

mod edit;

use std::ops::Range;

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions};
use serde_json::Value as Json;

pub use edit::{insert, push, remove, remove_member, replace};

/// A value and its position.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub span: Range<usize>,
    pub kind: Kind,
}

/// The contents of a value.
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

/// Reason why a text is not JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Line number, from 1.
    pub line: usize,
    pub what: String,
}

/// Reason why a valid JSON file is not changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsError {
    Malformed(Malformed),
    /// A key on the path occurs twice, so it is unknown which one the program uses.
    DuplicateKey(String),
    /// A value on the path does not have the type the program documents.
    WrongType(&'static str, String),
    /// This part of the settings is included from another file.
    Included(String),
}

impl From<Malformed> for SettingsError {
    fn from(what: Malformed) -> SettingsError {
        SettingsError::Malformed(what)
    }
}

impl Node {
    /// Returns the spans of an object's members or an array's children, in order.
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

    /// Returns the member with a key, which may occur at most once.
    pub fn get(&self, key: &str) -> Result<Option<&Member>, SettingsError> {
        let Kind::Object(members) = &self.kind else {
            return Err(SettingsError::WrongType("an object", key.to_owned()));
        };
        let mut found = members.iter().filter(|m| m.key == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(SettingsError::DuplicateKey(key.to_owned())),
            (one, None) => Ok(one),
        }
    }

    /// Returns the value without positions, for comparing.
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

/// Returns the value along a path of keys; `None` where one of them is missing. Every value on the way must be an
/// object.
pub fn at<'n>(root: &'n Node, path: &[&str]) -> Result<Option<&'n Node>, SettingsError> {
    let mut node = root;
    for (i, key) in path.iter().enumerate() {
        if !matches!(node.kind, Kind::Object(_)) {
            return Err(SettingsError::WrongType(
                "an object",
                if i == 0 { "the file".into() } else { path[..i].join(".") },
            ));
        }
        if node.get("$include")?.is_some() {
            return Err(SettingsError::Included(if i == 0 { "the file".into() } else { path[..i].join(".") }));
        }
        match node.get(key)? {
            Some(member) => node = &member.value,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

/// Returns the value along a path of keys in a file; `None` also where the file is blank.
pub fn find(text: &str, path: &[&str]) -> Result<Option<Node>, SettingsError> {
    match is_blank(text) {
        true => Ok(None),
        false => Ok(at(&parse(text)?, path)?.cloned()),
    }
}

/// Whether a file contains nothing yet.
pub fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// Parses JSON5. Byte-order marks at the beginning are skipped.
pub fn parse(text: &str) -> Result<Node, Malformed> {
    // jsonc-parser reads a byte-order mark as a word.
    let body = text.trim_start_matches('\u{feff}');
    let start = text.len() - body.len();
    let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    let options = ParseOptions { allow_missing_commas: false, ..ParseOptions::default() };
    let parsed = jsonc_parser::parse_to_ast(body, &collect, &options)
        .map_err(|e| Malformed { line: e.line_display(), what: wording(e.kind()) })?;
    if let Some((at, what)) = beyond_json5(body, &parsed.tokens.unwrap_or_default()) {
        return Err(Malformed { line: body[..at].matches('\n').count() + 1, what: what.to_owned() });
    }
    match parsed.value {
        Some(value) => Ok(node(&value, start)),
        None => Err(Malformed { line: 1, what: "there is no value".to_owned() }),
    }
}

/// Returns a parser error in words for people.
fn wording(kind: &ParseErrorKind) -> String {
    let plain = match kind {
        ParseErrorKind::ExpectedComma => "a comma or a closing bracket was expected",
        ParseErrorKind::ExpectedColonAfterObjectKey => "a colon was expected",
        ParseErrorKind::UnexpectedTokenInObject => "a key was expected",
        ParseErrorKind::UnexpectedWord => "a word that is no value",
        ParseErrorKind::UnterminatedObject => "an object has no end",
        ParseErrorKind::UnterminatedArray => "a list has no end",
        ParseErrorKind::UnterminatedCommentBlock => "a comment has no end",
        ParseErrorKind::MultipleRootJsonValues => "there is something behind the end",
        ParseErrorKind::NestingDepthExceeded => "it is nested too deep",
        other => return other.to_string(),
    };
    plain.to_owned()
}

/// Returns the first construct that jsonc-parser accepts and JSON5 does not allow, with its position. A program may
/// read such a file differently or not at all, so the file is left alone.
fn beyond_json5(text: &str, tokens: &[TokenAndRange]) -> Option<(usize, &'static str)> {
    let mut key = "";
    for TokenAndRange { token, range } in tokens {
        let raw = &text[range.start..range.end];
        let wrong = match token {
            Token::CommentLine(_) if raw.contains(['\u{2028}', '\u{2029}']) => "a line separator in a comment",
            Token::CommentLine(_) | Token::CommentBlock(_) => continue,
            Token::String(_) if has_line_end(raw) => "a line ends inside a string",
            Token::Colon if !key.starts_with(['"', '\'']) && !is_name(key) => "a key that needs quotes",
            _ => {
                key = raw;
                continue;
            }
        };
        return Some((range.start, wrong));
    }
    None
}

/// Whether a string's source contains an end of line that is not escaped by a backslash.
fn has_line_end(raw: &str) -> bool {
    raw.contains(['\n', '\r']) && {
        let escaped = ["\\\\", "\\\r\n", "\\\n", "\\\r"];
        escaped.iter().fold(raw.to_owned(), |raw, pair| raw.replace(pair, "")).contains(['\n', '\r'])
    }
}

/// Whether a key needs no quotes.
fn is_name(key: &str) -> bool {
    !key.starts_with(|c: char| c.is_ascii_digit()) && key.chars().all(|c| c.is_alphanumeric() || "_$".contains(c))
}

/// Converts a value of the syntax tree, with positions counted from the beginning of the file.
fn node(value: &Value, start: usize) -> Node {
    let span = |range: jsonc_parser::common::Range| start + range.start..start + range.end;
    let kind = match value {
        Value::Object(object) => {
            let member = |prop: &ObjectProp| Member {
                key: prop.name.as_str().to_owned(),
                span: span(prop.range),
                value: node(&prop.value, start),
            };
            Kind::Object(object.properties.iter().map(member).collect())
        }
        Value::Array(array) => Kind::Array(array.elements.iter().map(|item| node(item, start)).collect()),
        Value::StringLit(text) => Kind::String(text.value.to_string()),
        Value::NumberLit(number) => Kind::Number(number.value.to_owned()),
        Value::BooleanLit(yes) => Kind::Plain(Some(yes.value)),
        Value::NullKeyword(_) => Kind::Plain(None),
    };
    Node { span: span(value.range()), kind }
}

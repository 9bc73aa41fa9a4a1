//! Edits a JSON settings file by inserting or removing text at a value's position. Comments, order, indentation,
//! trailing commas and line ends written by others stay as they are. Inserts only plain JSON, so that the file keeps
//! the form it had.

use std::ops::Range;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use serde_json::Value as Json;

use super::{Kind, Node, SettingsError, at, find, is_blank, parse};
use crate::install::draft::Draft;

/// Inserts a value under a path of keys and creates the objects on the way; the member must not exist. Returns the
/// paths of the containers it created.
pub fn insert(draft: &mut Draft, path: &[&str], value: &Json) -> Result<Vec<String>, SettingsError> {
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
    // This also checks the innermost object: its last key must be missing, and the object may be included from another
    // file.
    if at(node, &path[have..=have])?.is_some() {
        return Err(SettingsError::DuplicateKey(path.join(".")));
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

/// Appends a value to the array under a path, creating it if missing. Returns the paths of the containers it created.
pub fn push(draft: &mut Draft, path: &[&str], value: &Json) -> Result<Vec<String>, SettingsError> {
    let root = whole(draft)?;
    match at(&root, path)? {
        None => insert(draft, path, &Json::Array(vec![value.clone()])),
        Some(array) if matches!(array.kind, Kind::Array(_)) => {
            append(draft, array, None, value);
            Ok(Vec::new())
        }
        Some(_) => Err(SettingsError::WrongType("a list", path.join("."))),
    }
}

/// Replaces a value.
pub fn replace(draft: &mut Draft, node: &Node, value: &Json) {
    let style = Style::of(draft.text());
    let text = draft.text();
    let indent = Style::indent_at(text, node.span.start);
    let wide = text[node.span.clone()].contains('\n');
    let written = if wide { style.wide(value, &indent) } else { style.narrow(value) };
    draft.replace(node.span.clone(), &written);
}

/// Removes a child from a container, with the comma it no longer needs and the white space before it.
pub fn remove(draft: &mut Draft, container: &Node, index: usize) {
    let text = draft.text();
    let children = container.children();
    let Some(child) = children.get(index).cloned() else { return };
    let floor = if index == 0 { container.span.start + 1 } else { children[index - 1].end };
    let space = text[floor..child.start].trim_end().len() + floor;
    let (_, next) = comments(text, child.end);
    let comma = text[next..].starts_with(',');
    let mut cuts = Vec::new();
    let mut end = child.end;
    if comma && next == child.end {
        end = next + 1;
    } else if comma {
        cuts.push(next..next + 1);
    } else if index > 0 {
        // The last child: the comma before it is removed too.
        let (_, before) = comments(text, children[index - 1].end);
        if text[before..].starts_with(',') && before < space {
            cuts.push(before..before + 1);
        }
    }
    let rest = &text[end..];
    let line_ends = rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
    let begin = match text[floor..space].rfind("//") {
        // A line comment must keep its end of line.
        Some(_) if !line_ends => child.start,
        _ if index == 0 && !text[space..child.start].contains('\n') => {
            end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            child.start
        }
        _ => space,
    };
    let inside = container.span.start + 1..container.span.end - 1;
    let blank = |part: Range<usize>| text[part].trim().is_empty();
    if children.len() == 1 && blank(inside.start..child.start) && blank(end..inside.end) {
        return draft.replace(inside, "");
    }
    cuts.push(begin..end);
    cuts.sort_by_key(|c| std::cmp::Reverse(c.start));
    for cut in cuts {
        draft.replace(cut, "");
    }
}

/// Removes the member under a path, if it is there.
pub fn remove_member(draft: &mut Draft, path: &[&str]) -> Result<bool, SettingsError> {
    let Some((key, above)) = path.split_last() else { return Ok(false) };
    let Some(object) = find(draft.text(), above)? else { return Ok(false) };
    let (Some(_), Kind::Object(members)) = (object.get(key)?, &object.kind) else { return Ok(false) };
    let index = members.iter().position(|m| m.key == *key).unwrap_or_default();
    remove(draft, &object, index);
    Ok(true)
}

/// Returns the syntax tree of a draft; a blank text becomes an object first.
fn whole(draft: &mut Draft) -> Result<Node, SettingsError> {
    if is_blank(draft.text()) {
        let end = draft.text().len();
        draft.replace(end..end, "{}\n");
    }
    let root = parse(draft.text())?;
    match root.kind {
        Kind::Object(_) => Ok(root),
        _ => Err(SettingsError::WrongType("an object", "the file".into())),
    }
}

/// Appends a child to a container.
fn append(draft: &mut Draft, container: &Node, key: Option<&str>, value: &Json) {
    let text = draft.text();
    let style = Style::of(text);
    let name = |colon: &str| key.map_or(String::new(), |k| format!("{}{colon}", Json::from(k)));
    let children = container.children();
    let nl = style.line_end;
    let Some(last) = children.last() else {
        let begin = container.span.start + 1;
        let at = comments(text, begin).0.last().map_or(begin, |comment| comment.end);
        let outer = Style::indent_at(text, container.span.start);
        let inner = format!("{outer}{}", style.unit);
        if text[at..container.span.end - 1].contains('\n') {
            let put = format!("{nl}{inner}{}{}", name(": "), style.wide(value, &inner));
            draft.replace(at..at, &put);
        } else if style.narrow_file {
            let put = format!("{}{}", name(style.colon), style.narrow(value));
            draft.replace(at..at, &put);
        } else {
            // There are only blanks in between, so the closing bracket gets a line of its own.
            let put = format!("{nl}{inner}{}{}{nl}{outer}", name(": "), style.wide(value, &inner));
            draft.replace(at..at, &put);
        }
        return;
    };
    let (_, next) = comments(text, last.end);
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

/// The layout of a file.
struct Style {
    line_end: &'static str,
    unit: String,
    /// Whether the whole file is on one line.
    narrow_file: bool,
    colon: &'static str,
    gap: &'static str,
}

impl Style {
    fn of(text: &str) -> Style {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let body = text.trim_start_matches('\u{feff}').trim();
        let narrow_file = !body.contains('\n') && body.len() > 2;
        let spaced = body.contains(": ");
        let indented = text.lines().find_map(|line| {
            let space: String = line.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
            let word = line[space.len()..].chars().next()?;
            (!space.is_empty() && (word.is_alphabetic() || "\"'_$".contains(word))).then_some(space)
        });
        // A tab counts as one character, and no file is indented by more than eight.
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

    /// Returns the indentation of the line at this position.
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

/// Returns the members in the order people write them, the one that identifies an object first.
fn in_order(map: &serde_json::Map<String, Json>) -> Vec<(&String, &Json)> {
    let mut members: Vec<(&String, &Json)> = map.iter().collect();
    let rank = |key: &str| ["enabled", "type", "command"].iter().position(|k| *k == key).unwrap_or(usize::MAX);
    members.sort_by_key(|(key, _)| rank(key));
    members
}

/// Returns the comments from a position up to the next other token, and the position of that token.
fn comments(text: &str, from: usize) -> (Vec<Range<usize>>, usize) {
    let mut scanner = Scanner::new(&text[from..], &ScannerOptions::default());
    let mut found = Vec::new();
    while let Ok(Some(Token::CommentLine(_) | Token::CommentBlock(_))) = scanner.scan() {
        found.push(from + scanner.token_start()..from + scanner.token_end());
    }
    (found, from + scanner.token_start())
}

/// Returns the end of the comments that follow a position on its line; the position itself if there are none, or if
/// further text follows them on that line, to which they belong.
fn end_of_line_comment(text: &str, from: usize) -> usize {
    let (found, _) = comments(text, from);
    let on_line = |comment: &&Range<usize>| !text[from..comment.end].contains(['\n', '\r']);
    let Some(last) = found.iter().take_while(on_line).last() else { return from };
    let rest = text[last.end..].trim_start_matches([' ', '\t']);
    if rest.is_empty() || rest.starts_with(['\n', '\r', '/']) { last.end } else { from }
}

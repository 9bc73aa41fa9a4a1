//! Finds open items in the project's own documents, as tools write or read them: `- [ ]` lines, the points under "Next
//! steps" in a document about the state of the work, and blanks to fill in.

use std::collections::HashMap;

use super::tasks::{Status, Task};
use super::{item, line};
use crate::lineage::distillate::Item;
use crate::scope::TurnId;
use crate::text::headings::{Topic, topic};

const MOST_FILES: usize = 40;
const MOST_LINES: usize = 60;
/// Maximum bytes of a document that are read.
const LARGEST: usize = 512 * 1024;
/// Maximum number of points under one heading; more of them are a catalogue, not remaining work.
const MOST_POINTS: usize = 12;

/// Parts of the names of documents that contain lists of work.
const KEEPS_LISTS: [&str; 9] = ["todo", "plan", "task", "roadmap", "notes", "progress", "backlog", "checklist", "next"];

/// Parts of the names of documents that tell the state of the work. Their points count only when the session writes
/// them, because such documents are read for many reasons.
const TELLS_STATE: [&str; 4] = ["state", "status", "handoff", "handover"];

/// A `- [ ]` line of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkbox {
    pub task: Task,
    /// The heading it stands under; empty if there is none.
    pub section: String,
}

/// A line with a box, or a point, as it stands in a text.
struct Line {
    done: bool,
    text: String,
    section: String,
}

#[derive(Debug, Default)]
pub struct Lists {
    files: Vec<(String, Vec<Checkbox>)>,
    blanks: Vec<(String, String, TurnId)>,
}

impl Lists {
    /// Notes that a tool wrote `new` into a file, in place of `old` if it was an edit.
    pub fn wrote(&mut self, path: &str, new: &str, old: Option<&str>, turn: TurnId) {
        if !is_document(path) {
            return;
        }
        let whole = old.is_none();
        // An item whose line was replaced and does not appear in the new text is gone.
        let tells_state = is_named(path, &KEEPS_LISTS) || is_named(path, &TELLS_STATE);
        let found = |text: &str| {
            let mut found = boxes(text);
            let points = points(text).into_iter().filter(|_| tells_state);
            found.extend(points.map(|text| Line { done: false, text, section: String::new() }));
            found
        };
        let now = found(new);
        for Line { text, .. } in old.map(found).unwrap_or_default() {
            if !now.iter().any(|l| l.text == text) {
                self.lines(path).retain(|b| b.task.item.text != text);
            }
        }
        self.put(path, now, whole, turn);
        let blank = |text: &str| blanks(text);
        if whole {
            self.blanks.retain(|(p, _, _)| p != path);
        }
        for text in old.map(blank).unwrap_or_default() {
            self.blanks.retain(|(p, t, _)| p != path || *t != text);
        }
        for text in blank(new) {
            if self.blanks.len() < MOST_LINES && !self.blanks.iter().any(|(p, t, _)| p == path && *t == text) {
                self.blanks.push((path.to_owned(), text, turn));
            }
        }
    }

    /// Notes that a tool read a file.
    pub fn read(&mut self, path: &str, text: &str, turn: TurnId) {
        if is_document(path) && is_named(path, &KEEPS_LISTS) {
            self.told(path, text, turn);
        }
    }

    /// Notes that a document or a ticket was printed.
    pub fn told(&mut self, path: &str, text: &str, turn: TurnId) {
        self.put(path, boxes(text), false, turn);
    }

    fn lines(&mut self, path: &str) -> &mut Vec<Checkbox> {
        if let Some(at) = self.files.iter().position(|(p, _)| p == path) {
            return &mut self.files[at].1;
        }
        if self.files.len() == MOST_FILES {
            self.files.remove(0);
        }
        self.files.push((path.to_owned(), Vec::new()));
        let last = self.files.len() - 1;
        &mut self.files[last].1
    }

    fn put(&mut self, path: &str, found: Vec<Line>, whole: bool, turn: TurnId) {
        if found.is_empty() && !whole {
            return;
        }
        let lines = self.lines(path);
        if whole {
            lines.retain(|b| found.iter().any(|l| l.text == b.task.item.text));
        }
        for Line { done, text, section } in found {
            let status = if done { Status::Done } else { Status::Open };
            match lines.iter().position(|b| b.task.item.text == text) {
                Some(at) => {
                    // An edit of a line does not show the heading above it.
                    if !section.is_empty() {
                        lines[at].section = section;
                    }
                    let task = &mut lines[at].task;
                    if task.status != status && task.item.turns.last() != Some(&turn) {
                        task.item.turns.push(turn);
                    }
                    task.status = status;
                }
                None if lines.len() < MOST_LINES => {
                    let task = item(&text, &[turn]).map(|item| Task { item, status });
                    lines.extend(task.map(|task| Checkbox { task, section }));
                }
                None => {}
            }
        }
    }

    /// Returns the boxes by file and line, and the blanks still to fill in.
    pub fn into_parts(self, short: &dyn Fn(&str) -> String) -> (Vec<(String, Vec<Checkbox>)>, Vec<Item>) {
        let mut by_file: HashMap<String, (Vec<String>, Vec<TurnId>)> = HashMap::new();
        let mut order = Vec::new();
        for (path, text, turn) in self.blanks {
            let entry = by_file.entry(path.clone()).or_insert_with(|| {
                order.push(path);
                Default::default()
            });
            entry.0.push(text);
            if !entry.1.contains(&turn) {
                entry.1.push(turn);
            }
        }
        let blanks = order.iter().filter_map(|path| {
            let (texts, turns) = by_file.remove(path)?;
            let texts: Vec<String> = texts.iter().take(5).map(|t| crate::text::plain::cut(t, 90)).collect();
            item(
                &format!("To fill in in {}: {}", short(path), texts.join("; ")),
                &turns[turns.len().saturating_sub(4)..],
            )
        });
        let blanks = blanks.collect();
        let files = self.files.into_iter().filter(|(_, l)| !l.is_empty()).map(|(p, l)| (short(&p), l));
        (files.collect(), blanks)
    }
}

/// Whether a file is prose, by its name.
pub fn is_document(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, end)| matches!(end, "md" | "mdx" | "txt" | "org" | "rst" | "adoc" | "markdown"))
}

/// Whether the file's name contains one of these parts.
fn is_named(path: &str, parts: &[&str]) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    parts.iter().any(|part| name.contains(part))
}

/// Returns the points listed under a heading, or under a line with a colon, that announces open or next work.
fn points(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut is_open, mut from) = (false, 0);
    for l in text[..text.floor_char_boundary(LARGEST)].lines() {
        let trimmed = l.trim();
        let is_title = l.starts_with('#') || trimmed.ends_with([':', '：']) && one_point(l).is_none();
        if is_title {
            is_open = matches!(topic(trimmed.trim_matches(['#', '*', ':', ' '])), Topic::Open | Topic::Next);
            from = found.len();
        } else if is_open {
            match one_point(l) {
                Some(point) => found.push(point),
                // A paragraph ends the list; an indented line belongs to the point above it.
                None if !trimmed.is_empty() && !l.starts_with([' ', '\t']) => is_open = false,
                None => {}
            }
            if found.len() - from > MOST_POINTS {
                found.truncate(from);
                is_open = false;
            }
        }
    }
    found.truncate(MOST_LINES);
    found
}

/// Returns the text of a point (`- text`, `2. text`) without a box, unless it is struck out or ticked.
fn one_point(l: &str) -> Option<String> {
    let l = l.trim_end();
    // An indented line is a detail of the point above it.
    if l.starts_with([' ', '\t']) || one_box(l).is_some() {
        return None;
    }
    let numbered = l.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match l.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None if numbered.len() < l.len() => numbered.strip_prefix(['.', ')'])?,
        None => return None,
    };
    let rest = rest.strip_prefix(' ')?.trim();
    let is_over = rest.starts_with(['~', '✅', '✓', '✔', '☑']);
    let text = line(rest);
    let is_empty = matches!(text.trim_end_matches('.').to_ascii_lowercase().as_str(), "none" | "n/a" | "-" | "nothing");
    (!is_over && !is_empty && text.split_whitespace().count() > 2).then_some(text)
}

/// Returns the lines with boxes, each with the heading above it.
fn boxes(text: &str) -> Vec<Line> {
    let mut section = "";
    let read = |l| {
        // Tools print lines with numbers: `  12→- [ ] x`.
        let rest = str::trim_start(l).trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.trim_start_matches(['→', '\t', '|', ':', ' ']);
        if rest.starts_with("# ") || rest.starts_with("##") {
            section = rest.trim_start_matches('#');
        }
        let (done, text) = one_box(rest).or_else(|| one_box(l))?;
        Some(Line { done, text, section: line(section) })
    };
    text[..text.floor_char_boundary(LARGEST)].lines().filter_map(read).take(MOST_LINES).collect()
}

/// Reads a line with a box: `- [ ] text`, `* [x] text`, `1. [ ] text`. Returns whether it is ticked, and its text.
fn one_box(text: &str) -> Option<(bool, String)> {
    let rest = text
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start_matches(['-', '*', '+', '.', ')', '>']);
    let rest = rest.trim_start().strip_prefix('[')?;
    let (mark, rest) = rest.split_once("] ")?;
    let done = match mark {
        " " | "" => false,
        "x" | "X" | "✓" | "✔" => true,
        _ => return None,
    };
    let text = line(rest);
    text.chars().any(char::is_alphanumeric).then_some((done, text))
}

/// Returns lines with something to fill in: `End: <TBD>`, `URL: TODO`, `[to be added]`.
fn blanks(text: &str) -> Vec<String> {
    let holds = |l: &str| {
        let marks =
            ["<TBD>", "<TODO>", "[TBD]", "[TODO]", "(TBD)", "(TODO)", "<tbd>", "<todo>", "TBD", "<YOUR_", "<your-"];
        let marked = marks.iter().any(|m| {
            l.match_indices(m).any(|(at, m)| {
                let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
                edge(l[..at].chars().next_back()) && (m.ends_with(['_', '-']) || edge(l[at + m.len()..].chars().next()))
            })
        });
        let value = l.split_once(": ").map_or("", |(_, v)| v.trim().trim_matches(['*', '`', '_']));
        marked || matches!(value, "TODO" | "FIXME" | "???" | "<fill in>" | "...")
    };
    text[..text.floor_char_boundary(LARGEST)]
        .lines()
        .filter(|l| l.len() < 400 && one_box(l).is_none() && holds(l))
        .map(line)
        .filter(|l| !l.is_empty())
        .take(20)
        .collect()
}

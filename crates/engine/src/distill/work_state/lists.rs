//! What stands open in the project's own documents: `- [ ]` lines and blanks to fill in, as tools write or read them.

use std::collections::HashMap;

use super::tasks::{Status, Task};
use super::{item, line};
use crate::lineage::distillate::Item;
use crate::scope::TurnId;

const MOST_FILES: usize = 40;
const MOST_LINES: usize = 60;
/// The most bytes of a document that are read.
const LARGEST: usize = 512 * 1024;

#[derive(Debug, Default)]
pub struct Lists {
    files: Vec<(String, Vec<Task>)>,
    blanks: Vec<(String, String, TurnId)>,
}

impl Lists {
    /// A tool wrote `new` into a file, in place of `old` if it was an edit.
    pub fn wrote(&mut self, path: &str, new: &str, old: Option<&str>, turn: TurnId) {
        if !is_document(path) {
            return;
        }
        let whole = old.is_none();
        // A line that was replaced and does not come back is gone.
        let now = boxes(new);
        for (_, text) in old.map(boxes).unwrap_or_default() {
            if !now.iter().any(|(_, t)| *t == text) {
                self.lines(path).retain(|t| t.item.text != text);
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

    /// A tool read a file.
    pub fn read(&mut self, path: &str, text: &str, turn: TurnId) {
        let stem = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let kept = ["todo", "plan", "task", "roadmap", "notes", "progress", "backlog", "checklist", "next"];
        if is_document(path) && kept.iter().any(|k| stem.contains(k)) {
            self.told(path, text, turn);
        }
    }

    /// A document or a ticket was printed.
    pub fn told(&mut self, path: &str, text: &str, turn: TurnId) {
        let found: Vec<(bool, String)> = text[..text.floor_char_boundary(LARGEST)]
            .lines()
            .filter_map(|l| {
                // Numbered lines: `  12→- [ ] x`.
                let l = l.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
                one_box(l.trim_start_matches(['→', '\t', '|', ':', ' ']))
            })
            .take(MOST_LINES)
            .collect();
        self.put(path, found, false, turn);
    }

    fn lines(&mut self, path: &str) -> &mut Vec<Task> {
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

    fn put(&mut self, path: &str, found: Vec<(bool, String)>, whole: bool, turn: TurnId) {
        if found.is_empty() && !whole {
            return;
        }
        let lines = self.lines(path);
        if whole {
            lines.retain(|t| found.iter().any(|(_, text)| *text == t.item.text));
        }
        for (done, text) in found {
            let status = if done { Status::Done } else { Status::Open };
            match lines.iter().position(|t| t.item.text == text) {
                Some(at) => {
                    let task = &mut lines[at];
                    if task.status != status && task.item.turns.last() != Some(&turn) {
                        task.item.turns.push(turn);
                    }
                    task.status = status;
                }
                None if lines.len() < MOST_LINES => {
                    lines.extend(item(&text, &[turn]).map(|item| Task { item, status }));
                }
                None => {}
            }
        }
    }

    /// The boxes by file and line, and the blanks still to fill in.
    pub fn into_parts(self, short: &dyn Fn(&str) -> String) -> (Vec<(String, Vec<Task>)>, Vec<Item>) {
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

fn boxes(text: &str) -> Vec<(bool, String)> {
    text[..text.floor_char_boundary(LARGEST)].lines().filter_map(one_box).take(MOST_LINES).collect()
}

/// `- [ ] text`, `* [x] text`, `1. [ ] text`.
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

/// Lines with something to fill in: `End: <TBD>`, `URL: TODO`, `[to be added]`.
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

//! Task lists the assistant keeps with a tool: a list of entries with a status, whatever the tool is called.

use serde_json::Value;

use super::list::Noted;
use crate::scope::TurnId;

/// The most bytes of a list that is read.
const LARGEST: usize = 256 * 1024;
/// The most entries of a list.
const MOST: usize = 100;

/// The status of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Open,
    Begun,
    Done,
}

/// The newest task list.
#[derive(Debug, Default)]
pub struct Tasks {
    entries: Vec<(Option<String>, Noted, Status)>,
}

impl Tasks {
    /// Reads a tool call that may contain such a list. Returns the entries newly done.
    pub fn call(&mut self, tool: &str, input: &str, turn: TurnId, seq: usize) -> Vec<Noted> {
        match tool {
            "todowrite" | "updateplan" | "todo" | "plan" | "writetodos" | "managetodolist" | "setplan" | "taskplan"
            | "updatetodos" | "updatetodolist" => {
                let Some(list) = list_in(input) else { return Vec::new() };
                self.replace(&list, turn, seq)
            }
            "taskcreate" => {
                if let (Some(subject), true) = (field(input, "subject"), self.entries.len() < MOST)
                    && let Some(noted) = Noted::new(subject, turn, 3, seq)
                {
                    let id = (self.entries.len() + 1).to_string();
                    self.entries.push((Some(id), noted, Status::Open));
                }
                Vec::new()
            }
            "taskupdate" => {
                let (Some(id), status) =
                    (field(input, "taskId").or_else(|| field(input, "id")), field(input, "status"))
                else {
                    return Vec::new();
                };
                let Some(at) = self.entries.iter().position(|e| e.0.as_deref() == Some(id)) else { return Vec::new() };
                if status == Some("deleted") {
                    self.entries.remove(at);
                    return Vec::new();
                }
                let Some(status) = status.map(status_of) else { return Vec::new() };
                let entry = &mut self.entries[at];
                let became = status == Status::Done && entry.2 != Status::Done;
                entry.2 = status;
                entry.1.also(&[turn]);
                entry.1.seq = seq;
                if became { vec![entry.1.clone()] } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    fn replace(&mut self, list: &[Value], turn: TurnId, seq: usize) -> Vec<Noted> {
        let old = std::mem::take(&mut self.entries);
        let mut became = Vec::new();
        for entry in list.iter().take(MOST) {
            let text = ["content", "step", "title", "text", "subject", "task", "description", "name"]
                .iter()
                .find_map(|k| entry.get(k)?.as_str());
            let text = text.or_else(|| entry.as_str());
            let status = entry
                .get("status")
                .or_else(|| entry.get("state"))
                .and_then(Value::as_str)
                .map_or(Status::Open, status_of);
            let status = if entry.get("completed").or_else(|| entry.get("done")) == Some(&Value::Bool(true)) {
                Status::Done
            } else {
                status
            };
            let Some(mut noted) = text.and_then(|t| Noted::new(t, turn, 3, seq)) else { continue };
            let known = old.iter().find(|(_, n, _)| n.item.text == noted.item.text);
            if let Some((_, before, was)) = known {
                // The turn that added the entry, and the one that changed its status.
                if *was == status {
                    noted.item.turns = before.item.turns.clone();
                    noted.seq = before.seq;
                } else {
                    noted.also(&before.item.turns);
                }
            }
            if status == Status::Done && known.is_none_or(|(_, _, was)| *was != Status::Done) {
                became.push(noted.clone());
            }
            self.entries.push((None, noted, status));
        }
        became
    }

    /// The entries with a status.
    pub fn of(&self, status: Status) -> impl Iterator<Item = &Noted> {
        self.entries.iter().filter(move |e| e.2 == status).map(|e| &e.1)
    }

    /// Removes open entries settled elsewhere.
    pub fn settle(&mut self, done: &crate::text::similarity::Bag) {
        for entry in self.entries.iter_mut().filter(|e| e.2 == Status::Open) {
            if done.settles(&entry.1.bag) && entry.1.bag.len() >= 2 {
                entry.2 = Status::Done;
            }
        }
    }
}

fn status_of(word: &str) -> Status {
    match word.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "completed" | "complete" | "done" | "finished" | "closed" | "cancelled" | "canceled" | "skipped" => {
            Status::Done
        }
        "in_progress" | "inprogress" | "active" | "started" | "doing" | "current" | "working" => Status::Begun,
        _ => Status::Open,
    }
}

/// The value of a `key: value` line.
pub fn field<'t>(input: &'t str, key: &str) -> Option<&'t str> {
    input
        .lines()
        .take(200)
        .find_map(|l| l.strip_prefix(key)?.strip_prefix(": "))
        .map(str::trim)
        .filter(|v| !v.is_empty())
}

fn list_in(input: &str) -> Option<Vec<Value>> {
    if input.len() > LARGEST {
        return None;
    }
    let keys = ["todos: ", "plan: ", "todoList: ", "items: ", "tasks: ", "steps: ", "entries: "];
    let value = input.lines().find_map(|l| keys.iter().find_map(|k| l.strip_prefix(k))).unwrap_or(input).trim();
    serde_json::from_str(value).ok()
}

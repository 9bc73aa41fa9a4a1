//! Tracks the task lists that the assistant keeps with a tool: entries with a status, whatever the tool is called.

use serde_json::{Value, json};

use super::input::{field, list};
use super::{item, line};
use crate::lineage::distillate::Item;
use crate::scope::TurnId;

/// Maximum number of entries in a list.
const MOST: usize = 100;

/// The status of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Open,
    Begun,
    Done,
    /// The entry is no longer in the list, or was given up.
    Dropped,
}

/// An entry of a list. Its text names its id in the program's list, if it has one, so that a later range recognises
/// the entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    pub item: Item,
    pub status: Status,
}

#[derive(Debug)]
struct Entry {
    id: Option<String>,
    task: Task,
    /// Whether the entry was open in an earlier range and no turn here mentioned it.
    carried: bool,
}

impl Entry {
    /// Returns the entry as a tool's list has it; `None` if it was dropped.
    fn listed(&self) -> Option<Value> {
        let status = match self.task.status {
            Status::Open => "pending",
            Status::Begun => "in_progress",
            Status::Done => "completed",
            Status::Dropped => return None,
        };
        Some(json!({"content": self.task.item.text, "status": status}))
    }
}

/// The newest task list.
#[derive(Debug, Default)]
pub struct Tasks {
    entries: Vec<Entry>,
    /// The newest plan the user approved, and a proposed one that was not begun yet.
    plan: Option<Item>,
    proposed: Option<Item>,
}

impl Tasks {
    /// Takes over an open item of an earlier range if it names a task's id.
    pub fn carry(&mut self, carried: &Item, status: Status) -> bool {
        let Some(id) = id_in(&carried.text) else { return false };
        let (id, task) = (Some(id.to_owned()), Task { item: carried.clone(), status });
        self.entries.push(Entry { id, task, carried: true });
        true
    }

    /// Reads a finished call that may contain such a list. Returns the entries it newly marks as done.
    pub fn call(&mut self, tool: &str, input: &str, output: &str, turn: TurnId) -> Vec<Item> {
        match tool {
            "todowrite" | "updateplan" | "todo" | "plan" | "writetodos" | "managetodolist" | "setplan" | "taskplan"
            | "updatetodos" | "updatetodolist" => {
                const KEYS: [&str; 8] =
                    ["todos", "plan", "todoList", "items", "tasks", "steps", "entries", "finalTodos"];
                let told = list(input, &KEYS).or_else(|| json_list(output, "finalTodos"));
                match told {
                    Some(list) => self.replace(&list, turn),
                    None => self.update(&marked_list(output), turn),
                }
            }
            "taskcreate" => {
                let id = created(output).map(str::to_owned);
                let text = field(input, "subject").or_else(|| field(input, "title"));
                let text = text.map(|t| match &id {
                    Some(id) => format!("{} (task {id})", line(t)),
                    None => t.to_owned(),
                });
                if let Some(item) = text.and_then(|t| item(&t, &[turn])) {
                    // A list that was started anew counts its ids from the beginning, so the old entry with this id
                    // goes.
                    self.entries.retain(|e| e.id.is_none() || e.id != id);
                    self.push(Entry { id, task: Task { item, status: Status::Open }, carried: false });
                }
                Vec::new()
            }
            "taskupdate" => {
                let id = ["taskId", "task_id", "id"].iter().find_map(|k| field(input, k));
                let status =
                    field(input, "status").map(|s| if s == "deleted" { Status::Dropped } else { status_of(s) });
                let (Some(id), Some(status)) = (id, status) else { return Vec::new() };
                self.set(id.trim_start_matches('#'), status, None, turn).into_iter().collect()
            }
            // The output has rows like `#3 [in_progress] Write the parser`.
            "tasklist" => {
                let mut became = Vec::new();
                for row in output.lines().take(MOST) {
                    let Some((id, rest)) = row.trim().strip_prefix('#').and_then(|r| r.split_once(" [")) else {
                        continue;
                    };
                    let Some((status, text)) = rest.split_once("] ") else { continue };
                    became.extend(self.set(id.trim_end_matches('.'), status_of(status), Some(text), turn));
                }
                became
            }
            _ => Vec::new(),
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.entries.len() >= MOST {
            let done = self.entries.iter().position(|e| matches!(e.task.status, Status::Done | Status::Dropped));
            self.entries.remove(done.unwrap_or(0));
        }
        self.entries.push(entry);
    }

    fn set(&mut self, id: &str, status: Status, text: Option<&str>, turn: TurnId) -> Option<Item> {
        let Some(at) = self.entries.iter().position(|e| e.id.as_deref() == Some(id)) else {
            // This task was not carried over from an earlier range, so its text is known only from its row.
            let item = item(&format!("{} (task {id})", line(text?)), &[turn])?;
            self.push(Entry { id: Some(id.to_owned()), task: Task { item, status }, carried: false });
            return None;
        };
        let entry = &mut self.entries[at];
        entry.carried = false;
        if entry.task.status == status {
            return None;
        }
        let became = status == Status::Done;
        entry.task.status = status;
        also(&mut entry.task.item, &[turn]);
        became.then(|| entry.task.item.clone())
    }

    /// Reads a list that an imported history has as lines with boxes. It may have only the entries that changed, so the
    /// others stay if the list is known.
    fn update(&mut self, list: &[Value], turn: TurnId) -> Vec<Item> {
        if list.is_empty() {
            return Vec::new();
        }
        let named = |entry: &Entry| list.iter().any(|v| v["content"].as_str() == Some(&entry.task.item.text));
        let others: Vec<Value> = match self.entries.iter().any(named) {
            true => self.entries.iter().filter(|e| e.id.is_none() && !named(e)).filter_map(Entry::listed).collect(),
            false => Vec::new(),
        };
        self.replace(&[&others[..], list].concat(), turn)
    }

    fn replace(&mut self, list: &[Value], turn: TurnId) -> Vec<Item> {
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
            let checked = entry.get("completed").or_else(|| entry.get("done")) == Some(&Value::Bool(true));
            let status = if checked { Status::Done } else { status };
            let Some(mut item) = text.and_then(|t| item(t, &[turn])) else { continue };
            let known = old.iter().find(|e| e.task.item.text == item.text);
            if let Some(before) = known {
                // An entry names the turn that added it, and the one that changed its status.
                if before.task.status == status {
                    item.turns.clone_from(&before.task.item.turns);
                } else {
                    also(&mut item, &before.task.item.turns);
                }
            }
            if status == Status::Done && known.is_none_or(|e| e.task.status != Status::Done) {
                became.push(item.clone());
            }
            self.entries.push(Entry { id: None, task: Task { item, status }, carried: false });
        }
        // Entries with ids belong to another list and stay; entries of the old list that the new one lacks were
        // dropped.
        for mut entry in old {
            let kept = entry.id.is_some() || matches!(entry.task.status, Status::Done | Status::Dropped);
            if self.entries.iter().any(|e| e.task.item.text == entry.task.item.text) || self.entries.len() >= 2 * MOST {
                continue;
            }
            entry.task.status = if kept { entry.task.status } else { Status::Dropped };
            self.entries.push(entry);
        }
        became
    }

    /// Notes that a message proposed a plan.
    pub fn proposed(&mut self, plan: &str, turn: TurnId) {
        let before = self.plan.take();
        self.planned(plan, turn);
        self.proposed = std::mem::replace(&mut self.plan, before);
    }

    /// Notes that the work began: the plan proposed before counts as agreed.
    pub fn began(&mut self) {
        self.plan = self.proposed.take().or(self.plan.take());
    }

    /// Notes a plan the user approved: its title and first steps.
    pub fn planned(&mut self, plan: &str, turn: TurnId) {
        let mut lines = plan.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("```"));
        let Some(title) = lines.next().map(|l| l.trim_start_matches(['#', ' '])) else { return };
        let steps: Vec<String> = lines
            .filter_map(|l| {
                let rest = l.trim_start_matches(|c: char| c.is_ascii_digit());
                let numbered = rest.len() < l.len() && rest.starts_with(['.', ')']);
                let headed = l.strip_prefix("##").is_some();
                let step = l
                    .trim_start_matches(['#', '-', '*', ' '])
                    .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '));
                (numbered || headed || l.starts_with("- [")).then(|| line(step.trim_start_matches("[ ] ")))
            })
            .filter(|s| !s.is_empty())
            .take(8)
            .collect();
        let text = if steps.is_empty() { title.to_owned() } else { format!("{title}: {}", steps.join("; ")) };
        self.plan = item(&text, &[turn]);
    }

    pub fn into_parts(self) -> (Vec<Task>, Option<Item>) {
        (self.entries.into_iter().map(|e| e.task).collect(), self.plan)
    }
}

/// Returns the id of a task in the text of its item: `Write the parser (task 3)`.
pub fn id_in(text: &str) -> Option<&str> {
    let id = text.strip_suffix(')')?.rsplit_once(" (task ")?.1;
    (id.len() <= 12 && !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')).then_some(id)
}

/// Returns the id in the output of a tool that made a task: `Task #3 created successfully: …`, or an object with an id.
fn created(output: &str) -> Option<&str> {
    let head = &output[..output.floor_char_boundary(400)];
    if let Some((_, rest)) = head.split_once('#') {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        return Some(&rest[..end]).filter(|id| !id.is_empty() && id.len() <= 12);
    }
    let rest = head.split_once("\"id\":")?.1.trim_start().trim_start_matches('"');
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|id| !id.is_empty() && id.len() <= 12)
}

/// Returns the list under a key of a JSON object in a fence.
fn json_list(text: &str, key: &str) -> Option<Vec<Value>> {
    let json = super::blocks::fences(text).map(|(_, json)| json).find(|j| j.contains(key))?;
    let value: Value = serde_json::from_str(json).ok()?;
    value.get(key)?.as_array().cloned()
}

/// Returns the entries of a list written as lines with boxes: `- [x] done`, `- [-] in progress`, `- [ ] open`.
fn marked_list(text: &str) -> Vec<Value> {
    let entry = |l: &str| {
        let (mark, text) = l.trim().strip_prefix("- [")?.split_once("] ")?;
        let status = match mark {
            " " | "" => "pending",
            "x" | "X" => "completed",
            "-" | "/" | ">" => "in_progress",
            "~" => "cancelled",
            _ => return None,
        };
        Some(json!({"content": line(text), "status": status}))
    };
    text.lines().filter_map(entry).take(MOST).collect()
}

fn also(item: &mut Item, turns: &[TurnId]) {
    item.turns.extend(turns);
    item.turns.sort();
    item.turns.dedup();
    let over = item.turns.len().saturating_sub(8);
    if over > 0 {
        item.turns.drain(1..=over);
    }
}

pub fn status_of(word: &str) -> Status {
    match word.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "completed" | "complete" | "done" | "finished" | "closed" | "resolved" | "merged" => Status::Done,
        "cancelled" | "canceled" | "skipped" | "deleted" | "wontfix" | "dropped" => Status::Dropped,
        "in_progress" | "inprogress" | "active" | "started" | "doing" | "current" | "working" => Status::Begun,
        _ => Status::Open,
    }
}

//! Heirloom's entries in a JSON settings file of a program, found, inserted and removed: hook groups with our command,
//! our name in a list, our own entry. The rest of the file is not examined.

use serde_json::{Value as Json, json};

use super::draft::Draft;
use super::json::{self, Kind, Node, SettingsError};
use super::{Standing, command_is_ours, words};

/// All of Heirloom's entries in one file.
#[derive(Clone, PartialEq, Debug)]
pub struct Merge {
    /// The program, as our hook commands name it.
    pub harness: &'static str,
    /// Command hooks under `hooks.<event>`, in this order.
    pub hooks: Vec<Hook>,
    /// Strings that must be in a list.
    pub items: Vec<Item>,
    /// Members of our own object: its path and its contents.
    pub entry: Option<Entry>,
}

/// A command that a program runs on an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hook {
    pub event: &'static str,
    pub command: String,
    /// The program's time limit for the hook, in seconds.
    pub timeout: u64,
}

/// A string in a list.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub path: &'static [&'static str],
    pub value: String,
    /// Ending of every value Heirloom adds or ever added.
    pub ending: &'static str,
    /// Whether to add the value only if the list exists: a missing list means something else than an empty one.
    pub only_if_there: bool,
}

/// An object under our own name.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub path: &'static [&'static str],
    /// Paths below it, and the values they must have.
    pub members: &'static [(&'static [&'static str], bool)],
}

impl Hook {
    /// Returns the hook group as written in the file.
    fn group(&self) -> Json {
        json!({"hooks": [{"type": "command", "command": self.command, "timeout": self.timeout}]})
    }
}

/// Position of one of Heirloom's hooks: event, group, index in the group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookPosition {
    pub event: String,
    pub group: usize,
    pub hook: usize,
    pub command: String,
    pub timeout: Option<u64>,
    pub matcher: Option<String>,
    /// Whether the group contains this hook and nothing else.
    alone: bool,
}

impl Merge {
    /// Returns how many of these entries the file has.
    pub fn standing(&self, text: &str) -> Result<Standing, SettingsError> {
        let mut draft = Draft::new(text);
        let found = self.found(text)?;
        let other = self.items.iter().any(|item| self.item_at(text, item).is_ok_and(|i| !i.is_empty()))
            || match &self.entry {
                Some(entry) => json::find(text, entry.path)?.is_some(),
                None => false,
            };
        self.put(&mut draft)?;
        if draft.text() == text {
            return Ok(Standing::Current);
        }
        if found.is_empty() && !other {
            return Ok(Standing::Absent);
        }
        let missing = self.hooks.iter().any(|hook| !found.iter().any(|p| p.event == hook.event));
        Ok(if missing || found.is_empty() { Standing::Partly } else { Standing::Older })
    }

    /// Adds each entry once, and updates entries of ours that have another form. Returns the paths of the containers it
    /// created.
    pub fn put(&self, draft: &mut Draft) -> Result<Vec<String>, SettingsError> {
        let mut made = Vec::new();
        // Remove hooks that an older version installed and this one does not.
        let wanted: Vec<&str> = self.hooks.iter().map(|h| h.event).collect();
        for place in self.found(draft.text())?.iter().filter(|p| !wanted.contains(&p.event.as_str())) {
            self.take_hooks(draft, &place.event)?;
        }
        for hook in &self.hooks {
            let found = self.found(draft.text())?;
            let found: Vec<HookPosition> = found.into_iter().filter(|p| p.event == hook.event).collect();
            match found.as_slice() {
                [one] if one.alone => {
                    let groups = json::find(draft.text(), &["hooks", hook.event])?;
                    let Some(Kind::Array(groups)) = groups.map(|node| node.kind) else { continue };
                    if groups[one.group].json() != hook.group() {
                        json::replace(draft, &groups[one.group], &hook.group());
                    }
                    continue;
                }
                [] => {}
                _ => self.take_hooks(draft, hook.event)?,
            }
            made.extend(json::push(draft, &["hooks", hook.event], &hook.group())?);
        }
        for item in &self.items {
            made.extend(self.put_item(draft, item)?);
        }
        if let Some(entry) = &self.entry {
            made.extend(put_entry(draft, entry)?);
        }
        Ok(made)
    }

    /// Removes all of Heirloom's entries, and the containers in `made` that are then empty. Without a list: those that
    /// are empty now and were not before.
    pub fn take(&self, draft: &mut Draft, made: Option<&[String]>) -> Result<(), SettingsError> {
        if json::is_blank(draft.text()) {
            return Ok(());
        }
        let before = draft.text().to_owned();
        let mut events: Vec<String> = self.found(&before)?.into_iter().map(|p| p.event).collect();
        events.dedup();
        for event in &events {
            self.take_hooks(draft, event)?;
        }
        for item in &self.items {
            while let Some(index) = self.item_at(draft.text(), item)?.first() {
                if let Some(list) = json::find(draft.text(), item.path)? {
                    json::remove(draft, &list, *index);
                }
            }
        }
        if let Some(entry) = &self.entry {
            json::remove_member(draft, entry.path)?;
        }
        // Inner containers first.
        let mut containers: Vec<Vec<&str>> = Vec::new();
        if !events.is_empty() {
            containers.push(vec!["hooks"]);
        }
        containers.extend(events.iter().map(|e| vec!["hooks", e.as_str()]));
        let paths = self.items.iter().map(|i| i.path).chain(self.entry.iter().map(|e| &e.path[..e.path.len() - 1]));
        for path in paths {
            containers.extend((1..=path.len()).map(|n| path[..n].to_vec()));
        }
        containers.sort();
        containers.dedup();
        containers.sort_by_key(|c| std::cmp::Reverse(c.len()));
        let old = json::parse(&before)?;
        for path in containers {
            let empty = json::find(draft.text(), &path)?.is_some_and(|node| {
                matches!(node.kind, Kind::Object(_) | Kind::Array(_)) && {
                    // A comment in it was written by others.
                    let inside = &draft.text()[node.span.start + 1..node.span.end - 1];
                    inside.trim().is_empty()
                }
            });
            let ours = match made {
                Some(made) => made.contains(&path.join(".")),
                None => json::at(&old, &path)?.is_some_and(|node| !node.is_empty()),
            };
            if empty && ours {
                json::remove_member(draft, &path)?;
            }
        }
        Ok(())
    }

    /// Returns the binaries that Heirloom's hooks in the file call.
    pub fn calls(&self, text: &str) -> Vec<String> {
        let found = self.found(text).unwrap_or_default();
        found.iter().filter_map(|p| words(&p.command)?.into_iter().next()).collect()
    }

    /// Returns the members of Heirloom's entry that lack their required value, if there is an entry.
    pub fn lacks(&self, text: &str) -> Vec<String> {
        let Some(entry) = &self.entry else { return Vec::new() };
        let Ok(Some(node)) = json::find(text, entry.path) else { return Vec::new() };
        let given = |path: &[&str], yes: bool| {
            json::at(&node, path).is_ok_and(|n| n.is_some_and(|n| n.kind == Kind::Plain(Some(yes))))
        };
        entry.members.iter().filter(|(path, yes)| !given(path, *yes)).map(|(path, _)| path.join(".")).collect()
    }

    /// Whether a group of others follows one of Heirloom's, so that removing ours changes its index.
    pub fn moves_others(&self, text: &str) -> bool {
        let found = self.found(text).unwrap_or_default();
        found.iter().any(|place| {
            let groups = json::find(text, &["hooks", place.event.as_str()]);
            let Ok(Some(Kind::Array(groups))) = groups.map(|n| n.map(|n| n.kind)) else { return false };
            let ours = |g: usize| found.iter().any(|p| p.event == place.event && p.group == g);
            (place.group + 1..groups.len()).any(|g| !ours(g))
        })
    }

    /// Returns the entries a person must add by hand: the contents of a file with nothing else in it.
    pub fn by_hand(&self) -> String {
        let mut draft = Draft::new("");
        match self.put(&mut draft) {
            Ok(_) => draft.text().to_owned(),
            Err(_) => String::new(),
        }
    }

    /// Returns the positions of Heirloom's hooks. Without hooks of ours nothing is read: the program may use that key
    /// for something else.
    fn found(&self, text: &str) -> Result<Vec<HookPosition>, SettingsError> {
        match self.hooks.is_empty() || json::is_blank(text) {
            true => Ok(Vec::new()),
            false => hook_positions(&json::parse(text)?, self.harness),
        }
    }

    fn take_hooks(&self, draft: &mut Draft, event: &str) -> Result<(), SettingsError> {
        loop {
            let root = json::parse(draft.text())?;
            let found = hook_positions(&root, self.harness)?;
            let Some(place) = found.iter().rev().find(|p| p.event == event) else { return Ok(()) };
            let Some(groups) = json::at(&root, &["hooks", event])? else { return Ok(()) };
            if place.alone {
                json::remove(draft, groups, place.group);
                continue;
            }
            let Kind::Array(items) = &groups.kind else { return Ok(()) };
            let Some(hooks) = items[place.group].get("hooks")? else { return Ok(()) };
            json::remove(draft, &hooks.value, place.hook);
        }
    }

    /// Returns the positions of Heirloom's values in a list.
    fn item_at(&self, text: &str, item: &Item) -> Result<Vec<usize>, SettingsError> {
        let Some(list) = json::find(text, item.path)? else { return Ok(Vec::new()) };
        let Kind::Array(items) = &list.kind else {
            return Err(SettingsError::WrongType("a list", item.path.join(".")));
        };
        let ours = |node: &Node| match &node.kind {
            Kind::String(text) => *text == item.value || (item.ending.len() > 1 && text.ends_with(item.ending)),
            _ => false,
        };
        Ok(items.iter().enumerate().filter(|(_, node)| ours(node)).map(|(i, _)| i).collect())
    }

    fn put_item(&self, draft: &mut Draft, item: &Item) -> Result<Vec<String>, SettingsError> {
        let found = self.item_at(draft.text(), item)?;
        let value = Json::from(item.value.as_str());
        let Some((first, more)) = found.split_first() else {
            let missing = json::find(draft.text(), item.path)?.is_none();
            return if missing && item.only_if_there { Ok(Vec::new()) } else { json::push(draft, item.path, &value) };
        };
        for index in more.iter().rev() {
            if let Some(list) = json::find(draft.text(), item.path)? {
                json::remove(draft, &list, *index);
            }
        }
        if let Some(list) = json::find(draft.text(), item.path)?
            && let Kind::Array(items) = &list.kind
            && items[*first].json() != value
        {
            json::replace(draft, &items[*first], &value);
        }
        Ok(Vec::new())
    }
}

fn put_entry(draft: &mut Draft, entry: &Entry) -> Result<Vec<String>, SettingsError> {
    if json::find(draft.text(), entry.path)?.is_none() {
        let mut value = json!({});
        for (path, yes) in entry.members {
            let mut place = &mut value;
            for key in *path {
                place = &mut place[*key];
            }
            *place = json!(yes);
        }
        return json::insert(draft, entry.path, &value);
    }
    for (below, yes) in entry.members {
        let path: Vec<&str> = entry.path.iter().chain(*below).copied().collect();
        match json::find(draft.text(), &path)? {
            Some(node) if node.kind == Kind::Plain(Some(*yes)) => {}
            Some(node) => json::replace(draft, &node, &json!(yes)),
            None => drop(json::insert(draft, &path, &json!(yes))?),
        }
    }
    Ok(Vec::new())
}

/// Returns the hooks that call Heirloom, in order. Fails if the structure above them is not the documented one.
pub fn hook_positions(root: &Node, harness: &str) -> Result<Vec<HookPosition>, SettingsError> {
    let mut found = Vec::new();
    let Some(hooks) = json::at(root, &["hooks"])? else { return Ok(found) };
    let Kind::Object(events) = &hooks.kind else { return Err(SettingsError::WrongType("an object", "hooks".into())) };
    for (n, event) in events.iter().enumerate() {
        if events[..n].iter().any(|e| e.key == event.key) {
            return Err(SettingsError::DuplicateKey(format!("hooks.{}", event.key)));
        }
        let Kind::Array(groups) = &event.value.kind else { continue };
        for (g, group) in groups.iter().enumerate() {
            let Kind::Object(_) = &group.kind else { continue };
            let Ok(Some(list)) = group.get("hooks") else { continue };
            let Kind::Array(list) = &list.value.kind else { continue };
            let matcher = match group.get("matcher") {
                Ok(Some(m)) => match &m.value.kind {
                    Kind::String(text) => Some(text.clone()),
                    _ => None,
                },
                _ => None,
            };
            for (h, hook) in list.iter().enumerate() {
                let hook = hook.json();
                let Some(command) = hook["command"].as_str().filter(|c| command_is_ours(c, harness)) else { continue };
                found.push(HookPosition {
                    event: event.key.clone(),
                    group: g,
                    hook: h,
                    command: command.to_owned(),
                    timeout: hook["timeout"].as_u64(),
                    matcher: matcher.clone(),
                    alone: list.len() == 1,
                });
            }
        }
    }
    Ok(found)
}

//! Codex runs a hook only when the user trusts it. Trust is stored in `config.toml` as one digest per hook, under a key
//! of file, event and the hook's position in it. This module computes the digests, looks them up and, if the user asked
//! for it, writes them. Nothing else in the file is touched.
//!
//! `toml` parses the file and gives the positions; the edits are made in the text. `toml_edit` is not used: it writes
//! every line end as LF, drops a byte-order mark and ends the last line, and so changes bytes of others.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::draft::Draft;
use super::insert::{self, HookPosition};
use super::json::{self, Malformed, SettingsError};

/// The digest that makes Codex run a hook, and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trust {
    /// `<hooks.json>:<event>:<group>:<hook>`
    pub key: String,
    /// `sha256:<hex>`
    pub digest: String,
}

/// State of a hook in Codex's settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trusted {
    Yes,
    /// The user trusted another hook at this position.
    Modified,
    No,
    /// The hook is switched off, whether trusted or not.
    Off,
}

/// Longest time in seconds that Codex waits for a hook at the end of a session, whatever the settings say.
const SHORT: u64 = 3;
/// Default waiting times of Codex in seconds: at the end of a session, and otherwise.
const DEFAULTS: (u64, u64) = (1, 600);

/// Returns the digests of our hooks in a `hooks.json`.
pub fn of_hooks(hooks_json: &str, path: &str, harness: &str) -> Result<Vec<Trust>, SettingsError> {
    if json::is_blank(hooks_json) {
        return Ok(Vec::new());
    }
    let found = insert::hook_positions(&json::parse(hooks_json)?, harness)?;
    Ok(found.iter().map(|place| of(place, path)).collect())
}

fn of(place: &HookPosition, path: &str) -> Trust {
    let event = snake(&place.event);
    let short = matches!(place.event.as_str(), "SessionEnd" | "Interrupt");
    let timeout = place.timeout.unwrap_or(if short { DEFAULTS.0 } else { DEFAULTS.1 });
    let timeout = if short { timeout.min(SHORT) } else { timeout };
    let text = |s: &str| serde_json::Value::from(s).to_string();
    let matcher = place.matcher.as_deref().map_or(String::new(), |m| format!(",\"matcher\":{}", text(m)));
    // Compact, keys in order: Codex hashes exactly these bytes.
    let identity = format!(
        "{{\"event_name\":{},\"hooks\":[{{\"async\":false,\"command\":{},\"timeout\":{timeout},\"type\":\"command\"}}]{matcher}}}",
        text(&event),
        text(&place.command)
    );
    let digest = format!("sha256:{}", super::sha256(&identity));
    Trust { key: format!("{path}:{event}:{}:{}", place.group, place.hook), digest }
}

/// Returns how `config.toml` treats these hooks.
pub fn standing(config: &str, wanted: &[Trust]) -> Result<Vec<Trusted>, SettingsError> {
    let table = parse(config)?;
    Ok(wanted
        .iter()
        .map(|trust| {
            let Some(state) = table.get_ref().get("hooks").and_then(|t| below(t, "state")) else { return Trusted::No };
            let Some(entry) = below(state, &trust.key) else { return Trusted::No };
            if below(entry, "enabled").is_some_and(|e| matches!(e.get_ref(), DeValue::Boolean(false))) {
                return Trusted::Off;
            }
            match below(entry, "trusted_hash").and_then(|v| v.get_ref().as_str()) {
                Some(digest) if digest == trust.digest => Trusted::Yes,
                Some(_) => Trusted::Modified,
                None => Trusted::No,
            }
        })
        .collect())
}

/// Whether the file disables all hooks.
pub fn hooks_are_off(config: &str) -> bool {
    let Ok(table) = parse(config) else { return false };
    let features = table.get_ref().get("features");
    features.and_then(|f| below(f, "hooks")).is_some_and(|v| matches!(v.get_ref(), DeValue::Boolean(false)))
}

/// Whether the file has hooks of its own, beside the trust digests.
pub fn has_hooks(config: &str) -> bool {
    let Ok(table) = parse(config) else { return false };
    let hooks = table.get_ref().get("hooks").and_then(|hooks| hooks.get_ref().as_table());
    hooks.is_some_and(|hooks| hooks.keys().any(|key| key.get_ref() != "state"))
}

/// Writes the digests.
pub fn put(draft: &mut Draft, wanted: &[Trust]) -> Result<(), SettingsError> {
    let before = values(draft.text())?;
    for trust in wanted {
        let table = parse(draft.text())?;
        let entry = entry_of(&table, &trust.key);
        let digest = entry.and_then(|e| below(e, "trusted_hash"));
        let span = digest.map(Spanned::span);
        let same = digest.and_then(|d| d.get_ref().as_str()).is_some_and(|d| d == trust.digest);
        let elsewhere = entry.is_some() && span.is_none();
        drop(table);
        match span {
            _ if same => {}
            Some(span) => draft.replace(span, &quoted(&trust.digest)),
            None if elsewhere => {
                return Err(SettingsError::WrongType("a table with a digest", format!("hooks.state of {}", trust.key)));
            }
            None => {
                let text = draft.text();
                let nl = if text.contains("\r\n") { "\r\n" } else { "\n" };
                let gap = match text {
                    "" => "",
                    t if t.ends_with('\n') => nl,
                    _ => &[nl, nl].concat(),
                };
                let put = format!(
                    "{gap}[hooks.state.{}]{nl}trusted_hash = {}{nl}",
                    quoted(&trust.key),
                    quoted(&trust.digest)
                );
                let end = text.len();
                draft.replace(end..end, &put);
            }
        }
    }
    // Settings of others must not have changed.
    let mut after = values(draft.text())
        .map_err(|_| SettingsError::WrongType("a table others can add to", "hooks.state".to_owned()))?;
    let mut before = before;
    for trust in wanted {
        forget(&mut after, &trust.key);
        forget(&mut before, &trust.key);
    }
    match after == before {
        true => Ok(()),
        false => Err(SettingsError::WrongType("a table others can add to", "hooks.state".to_owned())),
    }
}

/// Removes the digests of Heirloom's hooks. Returns how many remain because they are written in another form.
pub fn take(draft: &mut Draft, known: &[Trust]) -> Result<usize, SettingsError> {
    let mut left = 0;
    for trust in known {
        let table = parse(draft.text())?;
        let Some(entry) = entry_of(&table, &trust.key) else { continue };
        let Some(digest) = below(entry, "trusted_hash") else { continue };
        if digest.get_ref().as_str() != Some(trust.digest.as_str()) {
            continue;
        }
        let span = digest.span();
        let only = entry.get_ref().as_table().is_some_and(|t| t.len() == 1);
        drop(table);
        match block(draft.text(), span, &trust.key).filter(|_| only) {
            Some(cut) => draft.replace(cut, ""),
            None => left += 1,
        }
    }
    Ok(left)
}

/// Returns the lines of a table that contains one digest: its header, the digest, and the blank line before them.
fn block(text: &str, digest: Range<usize>, key: &str) -> Option<Range<usize>> {
    let line = text[..digest.start].rfind('\n')? + 1;
    if text[line..digest.start].trim_end().strip_suffix('=')?.trim() != "trusted_hash" {
        return None;
    }
    let end = digest.end + text[digest.end..].find('\n').map_or(text.len() - digest.end, |n| n + 1);
    if !text[digest.end..end].trim().is_empty() {
        return None;
    }
    let header = text[..line - 1].rfind('\n').map_or(0, |n| n + 1);
    let alone = parse(text[header..line].trim_end()).ok()?;
    entry_of(&alone, key)?;
    // The blank line that we, or the program, put before it.
    let above = &text[..header];
    let begin = match above.strip_suffix('\n').map(|a| a.strip_suffix('\r').unwrap_or(a)) {
        Some(a) if a.is_empty() || a.ends_with('\n') => a.len(),
        _ => header,
    };
    Some(begin..end)
}

type Table<'t> = Spanned<DeTable<'t>>;

fn parse(config: &str) -> Result<Table<'_>, SettingsError> {
    DeTable::parse(config).map_err(|e| {
        let line = e.span().map_or(1, |s| config[..s.start.min(config.len())].matches('\n').count() + 1);
        SettingsError::Malformed(Malformed { line, what: "it is not TOML".to_owned() })
    })
}

pub(super) fn values(config: &str) -> Result<toml::Table, SettingsError> {
    parse(config)?;
    toml::from_str(config)
        .map_err(|_| SettingsError::Malformed(Malformed { line: 1, what: "it is not TOML".to_owned() }))
}

fn forget(table: &mut toml::Table, key: &str) {
    let Some(toml::Value::Table(hooks)) = table.get_mut("hooks") else { return };
    if let Some(toml::Value::Table(state)) = hooks.get_mut("state") {
        state.remove(key);
        if state.is_empty() {
            hooks.remove("state");
        }
    }
    if hooks.is_empty() {
        table.remove("hooks");
    }
}

fn entry_of<'a, 't>(table: &'a Table<'t>, key: &str) -> Option<&'a Spanned<DeValue<'t>>> {
    below(below(table.get_ref().get("hooks")?, "state")?, key)
}

fn below<'a, 't>(value: &'a Spanned<DeValue<'t>>, key: &str) -> Option<&'a Spanned<DeValue<'t>>> {
    let table = value.get_ref().as_table()?;
    table.iter().find(|(k, _): &(&Spanned<DeString<'t>>, _)| k.get_ref() == key).map(|(_, v)| v)
}

/// Turns `SessionStart` into `session_start`.
fn snake(event: &str) -> String {
    let mut out = String::new();
    for (i, c) in event.chars().enumerate() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Quotes a text as a TOML string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

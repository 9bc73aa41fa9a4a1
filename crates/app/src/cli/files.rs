//! Showing a visible file: the same for every command that has one.

use std::io::IsTerminal;
use std::path::Path;

use heirloom_engine::continuity;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::redact::redact;
use heirloom_engine::render;
use heirloom_engine::tree::file_table::{self, Entry, Kind, State};
use heirloom_engine::tree::{AssistantHome, scan};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Exit;
use crate::print::{self, Paint};

/// Prints a file and where it stands.
pub fn show(context: &Context, at: &AssistantHome, entry: &Entry) -> Result<Exit> {
    show_with(context, at, entry, super::open_loop::entry_json(entry), None)
}

/// [`show`], with what else there is to say: for programs, and in the last line.
pub fn show_with(
    context: &Context,
    at: &AssistantHome,
    entry: &Entry,
    mut value: Value,
    more: Option<String>,
) -> Result<Exit> {
    let doc = continuity::read(at, &entry.path)?;
    let text = String::from_utf8_lossy(doc.print());
    if context.json {
        clean(&mut value["title"]);
        clean(&mut value["fields"]);
        value["kind"] = json!(entry.kind.name());
        value["state"] = json!(entry.state.name());
        value["body"] = json!(redact(&doc.body()));
        value["file"] = json!(at.shown(&entry.path));
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    print::line(print::safe(&redact(&text)).trim_end());
    print::line("");
    let mut foot = vec![at.shown(&entry.path)];
    foot.extend(more);
    foot.extend(entry.problem.clone());
    print::line(&Paint::stdout().dim(&print::safe_line(&foot.join(" · "))));
    Ok(Exit::Ok)
}

/// A value without the credentials somebody may have written into a file by hand.
pub fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Array(list) => list.into_iter().map(redacted).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, redacted(value))).collect(),
        other => other,
    }
}

/// Lets a person change a file in their editor, and brings everything up to it. Returns whether they did.
pub fn edit(context: &Context, at: &AssistantHome, entry: &Entry) -> Result<bool> {
    let file = at.shown(&entry.path);
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() || context.json {
        return Err(Error::usage("say what to change; there is no terminal to open an editor on").hint(format!(
            "see the options (--help), or edit {file} with anything you like: it is read again by itself"
        )));
    }
    let named = |name| std::env::var(name).ok().filter(|v| !v.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".into());
    // As git does it: an editor may come with arguments, and the file's name is one more.
    let status = std::process::Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "heirloom", &file])
        .status()
        .map_err(|e| Error::io("start", Path::new("sh"), e))?;
    if !status.success() {
        return Err(Error::refused(format!("the editor {editor:?} did not end well"))
            .hint(format!("set $VISUAL or $EDITOR; the file is {file}")));
    }
    scan::scan(at)?;
    let now = at.read(|tx| file_table::at(tx, at.agent_no, &entry.path))?;
    let written = now.is_none_or(|n| n.digest != entry.digest);
    if written {
        render::mark_all(at)?;
        context.instance().settle(at);
    }
    Ok(written)
}

/// Takes credentials out of every text in a value.
pub fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text).into_owned(),
        Value::Array(list) => list.iter_mut().for_each(clean),
        Value::Object(map) => map.values_mut().for_each(clean),
        _ => {}
    }
}

/// Shows the item somebody means by `name`: the one that counts, else the newest in the archive. `none`: what to say
/// where there is no tree yet.
pub fn show_named(context: &Context, actor: &str, kind: Kind, name: &str, none: Error) -> Result<Exit> {
    let Some((at, _)) = context.look_at_assistant(actor)? else { return Err(none) };
    let find = |state| at.read(|tx| file_table::named(tx, at.agent_no, kind, state, name));
    let entry = find(State::Active).or_else(|e| find(State::Archived).map_err(|_| e))?;
    show(context, &at, &entry)
}

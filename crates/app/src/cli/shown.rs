//! `heirloom show` of a visible file: found by id or path, whole, around a line, or as it was.

use heirloom_engine::clock::rfc3339;
use heirloom_engine::continuity;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::redact::redact;
use heirloom_engine::scope::RevisionNo;
use heirloom_engine::tree::address::{self, Addressed};
use heirloom_engine::tree::file_table::Entry;
use heirloom_engine::tree::{AssistantHome, LARGEST_FILE, revise};
use serde_json::json;

use super::files;
use crate::context::Context;
use crate::error::Exit;
use crate::print::{self, Paint};

/// What of a file is to be shown.
pub enum Part {
    /// As it stands; of one named with a line, so many lines around it.
    Now {
        around: usize,
    },
    /// The list of earlier states that were kept.
    Revisions,
    Revision(RevisionNo),
}

/// So many earlier states are listed.
const REVISIONS: usize = 200;

/// Finds a file by id or path and prints it.
pub fn find_and_show(context: &Context, name: &str, part: &Part, raw: bool) -> Result<Exit> {
    let Some((at, _)) = context.look_at_assistant("cli show")? else {
        return Err(Error::not_found(format!("the agent {} has no files yet", context.agent()))
            .hint("heirloom loop add \"…\" begins its assistant home"));
    };
    let Addressed { entry, line } = address::find(&at, name)?;
    match part {
        Part::Revisions => list_revisions(context, &at, Some(&entry)),
        Part::Revision(no) => show_revision(context, &at, Some(&entry), *no, raw),
        Part::Now { .. } if raw => {
            let found = at.files.read_with_stamp(&entry.path, LARGEST_FILE)?;
            let (bytes, _) =
                found.ok_or_else(|| Error::not_found(format!("{} is not there any more", at.shown(&entry.path))))?;
            Ok(print::raw(&bytes))
        }
        Part::Now { around } => match line {
            Some(line) => show_line(context, &at, &entry, line, *around),
            None => files::show(context, &at, &entry),
        },
    }
}

/// The lines around one of them.
fn show_line(context: &Context, at: &AssistantHome, entry: &Entry, line: usize, around: usize) -> Result<Exit> {
    let doc = continuity::read(at, &entry.path)?;
    let text = String::from_utf8_lossy(doc.print()).into_owned();
    let text = heirloom_engine::redact::redact_lines(&text);
    let lines: Vec<&str> = text.lines().collect();
    if line > lines.len() {
        return Err(Error::not_found(format!(
            "{} has {}",
            at.shown(&entry.path),
            print::counted(lines.len() as u64, "line")
        ))
        .hint(format!("heirloom show {}", entry.path)));
    }
    let (first, last) = (line.saturating_sub(around).max(1), line.saturating_add(around).min(lines.len()));
    if context.json {
        let mut value = json(at, entry);
        value["line"] = json!(line);
        let shown: Vec<_> = (first..=last).map(|n| json!({"line": n, "text": lines[n - 1]})).collect();
        value["lines"] = json!(shown);
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    let paint = Paint::stdout();
    let width = last.to_string().len();
    for n in first..=last {
        let mark = if n == line { paint.bold("▶") } else { " ".into() };
        print::line(&format!("{mark} {} {}", paint.dim(&format!("{n:width$}")), print::safe(lines[n - 1])));
    }
    foot(at, entry);
    Ok(Exit::Ok)
}

/// What was kept of all files, or one of these states by its number.
pub fn kept(context: &Context, no: Option<RevisionNo>, raw: bool) -> Result<Exit> {
    let Some((at, _)) = context.look_at_assistant("cli show")? else {
        return Err(Error::not_found(format!("the agent {} has no files yet", context.agent())));
    };
    match no {
        Some(no) => show_revision(context, &at, None, no, raw),
        None => list_revisions(context, &at, None),
    }
}

fn list_revisions(context: &Context, at: &AssistantHome, entry: Option<&Entry>) -> Result<Exit> {
    let kept = at.read(|tx| revise::revisions(tx, at.agent_no, entry.map(|e| e.path.as_str()), REVISIONS))?;
    if context.json {
        let list: Vec<_> = kept
            .iter()
            .map(|r| json!({"revision": r.no, "path": r.path, "at": rfc3339(r.at), "why": r.why, "bytes": r.bytes.len()}))
            .collect();
        let mut value = entry.map_or_else(|| json!({}), |entry| json(at, entry));
        value["revisions"] = json!(list);
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    if kept.is_empty() {
        print::line("No earlier state was kept: nothing of ours has replaced anybody's words.");
    }
    let now = context.now();
    let rows: Vec<Vec<String>> = kept
        .iter()
        .map(|r| {
            let mut row = vec![r.no.to_string(), print::when(Some(r.at), now), print::bytes(r.bytes.len() as u64)];
            if entry.is_none() {
                row.push(print::safe_line(&redact(&r.path)));
            }
            row.push(print::safe_line(&r.why));
            row
        })
        .collect();
    print::out(&print::table(&rows));
    if !kept.is_empty() {
        print::line(&Paint::stdout().dim("one of them: heirloom show --revision N"));
    }
    Ok(Exit::Ok)
}

fn show_revision(
    context: &Context,
    at: &AssistantHome,
    entry: Option<&Entry>,
    no: RevisionNo,
    raw: bool,
) -> Result<Exit> {
    let path = entry.map(|e| e.path.as_str());
    let kept = at.read(|tx| revise::revisions(tx, at.agent_no, path, usize::MAX >> 1))?;
    let Some(revision) = kept.into_iter().find(|r| r.no == no) else {
        return Err(Error::not_found(format!("there is no kept state {no} of {}", path.unwrap_or("any file")))
            .hint("heirloom show --revisions"));
    };
    if raw {
        return Ok(print::raw(&revision.bytes));
    }
    let text = String::from_utf8_lossy(&revision.bytes);
    let text = redact(&text);
    if context.json {
        let mut value = entry.map_or_else(|| json!({}), |entry| json(at, entry));
        value["revision"] = json!({"revision": no, "path": revision.path, "at": rfc3339(revision.at), "why": revision.why, "text": text});
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    print::line(print::safe(&text).trim_end());
    print::line("");
    let facts = [revision.path, print::when(Some(revision.at), context.now()), revision.why];
    print::line(&Paint::stdout().dim(&print::safe_line(&redact(&facts.join(" · ")))));
    Ok(Exit::Ok)
}

fn json(at: &AssistantHome, entry: &Entry) -> serde_json::Value {
    let mut value = super::open_loop::entry_json(entry);
    files::clean(&mut value["title"]);
    files::clean(&mut value["fields"]);
    value["kind"] = json!(entry.kind.name());
    value["state"] = json!(entry.state.name());
    value["file"] = json!(at.shown(&entry.path));
    value
}

fn foot(at: &AssistantHome, entry: &Entry) {
    print::line("");
    let mut foot = vec![at.shown(&entry.path)];
    foot.extend(entry.problem.clone());
    print::line(&Paint::stdout().dim(&print::safe_line(&foot.join(" · "))));
}

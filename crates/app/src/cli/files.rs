//! Showing a visible file: the same for every command that has one.

use heirloom_engine::assistant::AssistantHome;
use heirloom_engine::assistant::catalogue::Entry;
use heirloom_engine::continuity;
use heirloom_engine::error::Result;
use heirloom_engine::redact::redact;
use serde_json::json;

use crate::context::Context;
use crate::error::Exit;
use crate::print::{self, Paint};

/// Prints a file and where it stands.
pub fn show(context: &Context, at: &AssistantHome, entry: &Entry) -> Result<Exit> {
    let doc = continuity::read(at, &entry.path)?;
    let text = String::from_utf8_lossy(doc.print());
    if context.json {
        let mut value = super::open_loop::entry_json(entry);
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
    foot.extend(entry.problem.clone());
    print::line(&Paint::stdout().dim(&print::safe_line(&foot.join(" · "))));
    Ok(Exit::Ok)
}

//! Showing a visible file and opening it in an editor, for every command about files.

use std::io::IsTerminal;
use std::path::Path;

use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::file::FileTextReport;
use heirloom_engine::tree::AssistantHome;
use heirloom_engine::tree::file_table::{Entry, Kind};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Prints a file and its path. `more` is added to the last line.
pub fn print_file(json: bool, report: &FileTextReport, more: Option<String>) -> Result<Exit> {
    Ok(print::answer(json, report, || {
        print::line(print::safe(&report.document).trim_end());
        print::line("");
        let mut foot = Vec::from_iter(report.file.file.clone());
        foot.extend(more);
        foot.extend(report.file.entry.problem.clone());
        print::line(&Paint::stdout().dim(&print::safe_line(&foot.join(" · "))));
    }))
}

/// Prints the file of an entry of the file table.
pub fn show(context: &Context, at: &AssistantHome, entry: &Entry) -> Result<Exit> {
    print_file(context.json, &FileTextReport::of(at, entry)?, None)
}

/// Prints the item called `name`: the active one, else the newest in the archive. `none` is the error for a home
/// without visible files.
pub fn show_named(global: &Global, actor: &str, kind: Kind, name: &str, none: Error) -> Result<Exit> {
    let report = Context::open(global)?.acting_as(actor).file(kind, name)?.ok_or(none)?;
    print_file(global.json, &report, None)
}

/// Opens a file in the user's editor and reads it afterwards. Returns whether it was changed.
pub fn edit(global: &Global, engine: &Engine, entry: &Entry) -> Result<bool> {
    let file = engine.assistant()?.shown(&entry.path);
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() || global.json {
        return Err(Error::usage("say what to change; there is no terminal to open an editor on").hint(format!(
            "see the options (--help), or edit {file} with anything you like: it is read again by itself"
        )));
    }
    let named = |name| std::env::var(name).ok().filter(|v| !v.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".into());
    // As in git, $EDITOR may contain arguments; the file name is appended to them.
    let status = std::process::Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "heirloom", &file])
        .status()
        .map_err(|e| Error::io("start", Path::new("sh"), e))?;
    if !status.success() {
        return Err(Error::refused(format!("the editor {editor:?} did not end well"))
            .hint(format!("set $VISUAL or $EDITOR; the file is {file}")));
    }
    engine.reread(entry)
}

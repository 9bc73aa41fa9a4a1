//! `heirloom show` for a visible file: finds it by id or path and prints it whole, around a line, or in an earlier
//! state.

use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::redact::redact;
use heirloom_engine::report::file::{LinesReport, RevisionReport, RevisionsReport};
use heirloom_engine::scope::RevisionNo;
use heirloom_engine::tree::address::{self, Addressed};
use heirloom_engine::tree::file_table::Entry;
use heirloom_engine::tree::{AssistantHome, LARGEST_FILE};

use super::files;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// The state of a file to show.
pub enum Part {
    /// The current state; for a name with a line number, `around` lines before and after that line.
    Now {
        around: usize,
    },
    /// The list of earlier states that were kept.
    Revisions,
    Revision(i64),
}

/// Finds a file by id or path and prints it.
pub fn find_and_show(context: &Context, engine: &Engine, name: &str, part: &Part, raw: bool) -> Result<Exit> {
    let Some((at, _)) = engine.look()? else {
        return Err(no_files(engine).hint("heirloom loop add \"…\" begins its assistant home"));
    };
    let Addressed { entry, line } = address::find(&at, name)?;
    match part {
        Part::Revisions => list_revisions(engine, context.json, &at, Some(&entry)),
        Part::Revision(no) => show_revision(engine, context.json, &at, Some(&entry), *no, raw),
        Part::Now { .. } if raw => {
            let found = at.files.read_with_stamp(&entry.path, LARGEST_FILE)?;
            let (bytes, _) =
                found.ok_or_else(|| Error::not_found(format!("{} is not there any more", at.shown(&entry.path))))?;
            Ok(print::raw(&bytes))
        }
        Part::Now { around } => match line {
            Some(line) => {
                let report = LinesReport::of(&at, &entry, line, *around)?;
                Ok(print::answer(context.json, &report, || lines(&report)))
            }
            None => files::show(context, &at, &entry),
        },
    }
}

fn no_files(engine: &Engine) -> Error {
    Error::not_found(format!("the agent {} has no files yet", engine.agent()))
}

/// Prints lines of a file.
fn lines(report: &LinesReport) {
    let paint = Paint::stdout();
    let width = report.lines.last().map_or(1, |last| last.line.to_string().len());
    for line in &report.lines {
        let mark = if line.line == report.line { paint.bold("▶") } else { " ".into() };
        print::line(&format!("{mark} {} {}", paint.dim(&format!("{:width$}", line.line)), print::safe(&line.text)));
    }
    print::line("");
    let mut foot = Vec::from_iter(report.file.file.clone());
    foot.extend(report.file.entry.problem.clone());
    print::line(&paint.dim(&print::safe_line(&foot.join(" · "))));
}

/// Prints the kept states of all files, or one of them by its number.
pub fn kept(engine: &Engine, global: &Global, no: Option<i64>, raw: bool) -> Result<Exit> {
    let Some((at, _)) = engine.look()? else { return Err(no_files(engine)) };
    match no {
        Some(no) => show_revision(engine, global.json, &at, None, no, raw),
        None => list_revisions(engine, global.json, &at, None),
    }
}

fn list_revisions(engine: &Engine, json: bool, at: &AssistantHome, entry: Option<&Entry>) -> Result<Exit> {
    let report = RevisionsReport::of(at, entry)?;
    Ok(print::answer(json, &report, || {
        if report.revisions.is_empty() {
            print::line("No earlier state was kept: nothing of ours has replaced anybody's words.");
        }
        let now = engine.now();
        let rows: Vec<Vec<String>> = report
            .revisions
            .iter()
            .map(|r| {
                let mut row =
                    vec![r.kept.no.to_string(), print::when(Some(r.kept.at), now), print::bytes(r.bytes as u64)];
                if entry.is_none() {
                    row.push(print::safe_line(&redact(&r.kept.path)));
                }
                row.push(print::safe_line(&r.kept.why));
                row
            })
            .collect();
        print::out(&print::table(&rows));
        if !rows.is_empty() {
            print::line(&Paint::stdout().dim("one of them: heirloom show --revision N"));
        }
    }))
}

fn show_revision(
    engine: &Engine,
    json: bool,
    at: &AssistantHome,
    entry: Option<&Entry>,
    no: i64,
    raw: bool,
) -> Result<Exit> {
    let report = RevisionReport::of(at, entry, RevisionNo(no))?;
    if raw {
        return Ok(print::raw(&report.revision.kept.bytes));
    }
    Ok(print::answer(json, &report, || {
        let revision = &report.revision.kept;
        print::line(print::safe(&report.revision.text).trim_end());
        print::line("");
        let facts = [&revision.path, &print::when(Some(revision.at), engine.now()), &revision.why];
        let facts: Vec<&str> = facts.iter().map(|fact| fact.as_str()).collect();
        print::line(&Paint::stdout().dim(&print::safe_line(&redact(&facts.join(" · ")))));
    }))
}

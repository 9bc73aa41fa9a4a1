//! `heirloom status`

use std::collections::BTreeMap;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::ledger::jobs;
use heirloom_engine::report::visible::VisibleReport;
use heirloom_engine::transcript::read::{self, SessionFilter};
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// What is stored, how big, what is pending, what is wrong
#[derive(clap::Args, Debug)]
pub struct Args {}

/// So many turns a search takes in on its way (R10.10: within 50 ms).
const A_FEW: u64 = 200;

pub fn run(global: &Global, _: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.read(|tx| read::agent_no(tx, context.agent()))?;
    let now = context.now();
    let (totals, sessions, counts) = context.read(|tx| {
        let (totals, sessions) = match agent_no {
            Some(no) => (read::totals(tx, no)?, read::sessions(tx, no, &SessionFilter::default())?),
            None => Default::default(),
        };
        Ok((totals, sessions, jobs::counts(tx, now)?))
    })?;
    let index_exists = context.instance().index_path()?.exists();
    // Pages out of reach are something to say, and no reason to say nothing else.
    let (looked, unreachable) = match context.look_at_assistant("cli status") {
        Ok(looked) => (looked, None),
        Err(e) if matches!(e.kind(), ErrorKind::Refused | ErrorKind::NotFound) => {
            (None, Some(crate::terminal::with_next_step(&e)))
        }
        Err(e) => return Err(e),
    };
    let at = looked.as_ref().map(|(at, _)| at);
    let (missing, files_missing, index_bytes) = match context.instance().index() {
        Ok(mut index) => {
            let files_missing = at.map(|at| context.instance().catch_up_files(&mut index, at)).transpose().ok();
            (
                context.read(|tx| index.coverage(tx)).map(|c| c.missing).ok(),
                files_missing.map(|n| n.unwrap_or(0)),
                index.bytes_on_disk(),
            )
        }
        Err(_) => (None, None, 0),
    };
    let (model, model_at) = context.instance().model();
    let ledger_bytes = context.ledger().bytes_on_disk();
    let mut by_program: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for s in &sessions {
        let entry = by_program.entry(programs::title(&s.key)).or_default();
        entry.0 += 1;
        entry.1 += s.turns;
    }
    let findings = context.home().findings_at_a_glance();
    let visible = looked.as_ref().map(|(at, problems)| VisibleReport::of(at, problems)).transpose()?;

    let mut wrong = Vec::from_iter(unreachable);
    wrong.extend(visible.iter().flat_map(|v| v.wrong.clone()));
    if !index_exists && totals.turns > 0 {
        wrong.push("the search index is missing: heirloom reindex".to_owned());
    }
    match missing {
        // A search follows these by itself; a hook that stored some has queued the rest.
        Some(n) if n <= A_FEW => {}
        Some(n) => wrong.push(format!("{} not in the search index yet: heirloom work", print::counted(n, "turn"))),
        None => wrong.push("the search index does not fit the ledger: heirloom reindex".into()),
    }
    match files_missing {
        // Not wrong: the next searches follow, a little at a time.
        Some(_) => {}
        None if missing.is_some() => wrong.push("the search index does not fit the files: heirloom reindex".into()),
        None => {}
    }
    wrong.extend(context.instance().without_model().map(|e| {
        let next = e.next_step().map(|next| format!(": {next}")).unwrap_or_default();
        format!("found by words only: {e}{next}")
    }));
    if counts.dead > 0 {
        wrong.push(format!("{} failed for good: heirloom audit list", print::counted(counts.dead, "job")));
    }
    wrong.extend(findings.iter().map(|f| format!("{}: {} ({})", f.path.display(), f.what, f.fix)));

    if global.json {
        let value = json!({
            "home": context.home().root().display().to_string(),
            "agent": context.agent().as_str(),
            "sessions": totals.sessions, "turns": totals.turns, "records": totals.records, "workspaces": totals.workspaces,
            "source_bytes": totals.source_bytes, "ledger_bytes": ledger_bytes, "index_bytes": index_bytes,
            "first_at": totals.first_at.map(rfc3339), "last_at": totals.last_at.map(rfc3339),
            "programs": by_program.iter().map(|(p, (s, t))| json!({"program": p, "sessions": s, "turns": t})).collect::<Vec<_>>(),
            "set_aside": totals.quarantined,
            "embeddings": {"model": model, "at": model_at, "problem": context.instance().without_model().map(Error::to_string)},
            "not_indexed": missing,
            "files_not_indexed": files_missing,
            "jobs": {"due": counts.due, "later": counts.later, "running": counts.running, "dead": counts.dead},
            "assistant": visible,
            "wrong": wrong,
        });
        print::line(&value.to_string());
        return Ok(if wrong.is_empty() { Exit::Ok } else { Exit::Problems });
    }
    let paint = Paint::stdout();
    let span = match (totals.first_at, totals.last_at) {
        (Some(a), Some(b)) => print::days(a, b),
        _ => "nothing stored yet".into(),
    };
    let share = |bytes: u64| match totals.source_bytes {
        0 => String::new(),
        all => format!(" ({:.2} per source byte)", bytes as f64 / all as f64),
    };
    let mut rows = vec![
        vec!["Home".to_owned(), format!("{}  ({})", context.home().root().display(), context.home_from.shown())],
        vec!["Agent".into(), format!("{}  ({})", context.agent(), context.agent_from(global)?.shown())],
        vec!["Time".into(), span],
        vec![
            "Stored".into(),
            format!(
                "{}, {}, {} of source",
                print::counted(totals.sessions, "session"),
                print::counted(totals.turns, "turn"),
                print::bytes(totals.source_bytes)
            ),
        ],
    ];
    for (program, (sessions, turns)) in &by_program {
        rows.push(vec![
            format!("  {program}"),
            format!("{}, {}", print::counted(*sessions, "session"), print::counted(*turns, "turn")),
        ]);
    }
    rows.push(vec!["Projects".into(), print::count(totals.workspaces)]);
    rows.push(vec!["Ledger".into(), format!("{}{}", print::bytes(ledger_bytes), share(ledger_bytes))]);
    rows.push(vec!["Index".into(), format!("{}{}", print::bytes(index_bytes), share(index_bytes))]);
    rows.push(vec!["Meaning".into(), format!("{}  ({model_at})", model.unwrap_or("by words only"))]);
    let pending = match (counts.due, counts.later + counts.running) {
        (0, 0) => "nothing".to_owned(),
        (due, later) => format!("{due} due, {later} later (heirloom work)"),
    };
    let pending = match files_missing {
        Some(n) if n > 0 => format!("{pending}; {} to index (heirloom work)", print::counted(n, "changed file")),
        _ => pending,
    };
    rows.push(vec!["Pending".into(), pending]);
    if totals.quarantined > 0 {
        rows.push(vec![
            "Set aside".into(),
            format!("{} (heirloom show --quarantine)", print::counted(totals.quarantined, "damaged record")),
        ]);
    }
    if let Some(visible) = &visible {
        rows.push(vec!["Memory".into(), super::visible::summary(visible)]);
        rows.push(vec!["  files".into(), visible.root.clone()]);
    }
    print::out(&print::table(&rows));
    for note in visible.iter().flat_map(|v| &v.notes) {
        print::line(&format!("{} {}", paint.dim("·"), print::safe_line(note)));
    }
    if wrong.is_empty() {
        print::line("Nothing is wrong.");
    } else {
        for w in &wrong {
            print::line(&format!("{} {}", paint.warn("!"), print::safe_line(w)));
        }
    }
    Ok(if wrong.is_empty() { Exit::Ok } else { Exit::Problems })
}

//! `heirloom verify`

use std::time::Instant;

use heirloom_engine::error::Result;
use heirloom_engine::transcript::read;
use heirloom_engine::verify::{self, Finding, Severity};
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print;

/// Recompute every digest, chain and reference; name what is damaged; repair nothing
///
/// Exit 0: all is as it was stored. 1: only derived data is off (heirloom reindex). 5: the ledger is damaged.
#[derive(clap::Args, Debug)]
pub struct Args {}

pub fn run(global: &Global, _: Args) -> Result<Exit> {
    let started = Instant::now();
    let context = Context::open(global)?;
    let total = verify::bytes_to_check(context.ledger())?;
    let bar = print::bar(total, "Verifying", print::BYTES, global.json);
    let index = if context.instance().index_path()?.exists() { context.instance().index().ok() } else { None };
    let mut report = verify::verify(context.ledger(), index.as_deref(), &mut |done| bar.set_position(done))?;
    // What is wrong with the ledger may be in the way of looking at files; then that is what counts.
    let looked = context
        .instance()
        .look_at_all("cli verify")
        .and_then(|all| all.iter().try_for_each(|(at, _)| verify::files::files(at, index.as_deref(), &mut report)));
    if let Err(e) = looked {
        report.findings.push(Finding { severity: Severity::Stale, subject: "files".into(), what: e.to_string() });
    }
    bar.finish_and_clear();
    let damaged = report.findings.iter().any(|f| f.severity == Severity::Damaged);
    let set_aside = match context.read(|tx| read::agent_no(tx, context.agent()))? {
        Some(no) => context.read(|tx| read::totals(tx, no))?.quarantined,
        None => 0,
    };
    if global.json {
        let findings: Vec<_> = report
            .findings
            .iter()
            .map(|f| {
                let severity = if f.severity == Severity::Damaged { "damaged" } else { "stale" };
                json!({"severity": severity, "subject": f.subject, "what": f.what})
            })
            .collect();
        let value = json!({
            "ok": report.findings.is_empty(),
            "checked": {"records": report.records, "bytes": report.bytes, "turns": report.turns, "blocks": report.blocks,
                        "nodes": report.nodes, "audit_rows": report.audit_rows, "index_rows": report.index_rows, "files": report.files},
            "forgotten": report.forgotten,
            "set_aside": set_aside,
            "findings": findings,
            "seconds": (started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
        });
        print::line(&value.to_string());
    } else {
        print::line(&format!(
            "{} ({}), {}, {}, {}, {}, {}",
            print::counted(report.records, "record"),
            print::bytes(report.bytes),
            print::counted(report.turns, "turn"),
            print::counted(report.nodes, "node"),
            print::counted(report.audit_rows, "audit row"),
            print::counted(report.index_rows, "index row"),
            print::counted(report.files, "file"),
        ));
        if report.forgotten > 0 {
            print::line(&format!("{} forgotten: nothing of them is left", print::counted(report.forgotten, "record")));
        }
        for f in report.findings.iter().take(50) {
            print::line(&format!("  {}: {}", print::safe_line(&f.subject), print::safe_line(&f.what)));
        }
        if report.findings.len() > 50 {
            print::line(&format!("  … and {} more (--json)", report.findings.len() - 50));
        }
        let verdict = if report.findings.is_empty() {
            "Everything is as it was stored.".to_owned()
        } else if damaged {
            format!(
                "Damaged: {}. Restore from a backup; what is not named is intact.",
                print::counted(report.findings.len() as u64, "finding")
            )
        } else {
            "The ledger is intact; derived data is off: what to do stands behind each.".to_owned()
        };
        print::line(&verdict);
    }
    Ok(match (report.findings.is_empty(), damaged) {
        (true, _) => Exit::Ok,
        (_, true) => Exit::Damaged,
        _ => Exit::Problems,
    })
}

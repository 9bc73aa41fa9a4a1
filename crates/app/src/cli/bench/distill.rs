//! What is distilled without a model, against what a program's own model wrote when it compacted its context.

use std::path::{Path, PathBuf};

use heirloom_engine::distill::advance::Pass;
use heirloom_engine::distill::compare::{Comparison, compare};
use heirloom_engine::distill::{Said, compaction, handoff};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::event::TurnKind;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::transcript::read::{self, SessionFilter, Turn};
use heirloom_engine::tree::AssistantHome;
use serde_json::{Value, json};

use crate::cli::import::{self, Plan};
use crate::config;
use crate::context::{Context, Global};
use crate::print;
use crate::programs;

/// Imports the files into a throw-away home and compares at every summary a program wrote.
pub(super) fn run(global: &Global, folder: &Path, paths: &[PathBuf]) -> Result<Value> {
    let mut plan = Plan::default();
    match paths {
        [] => programs::look(&config::host(), None).into_iter().for_each(|found| plan.take(found)),
        _ => paths.iter().for_each(|path| plan.path(path, None)),
    }
    let inner = Global { home: Some(folder.join("home")), agent: None, json: true };
    let context = Context::create(&inner)?;
    import::import(&context, plan, "cli bench")?;
    let at = context.assistant("cli bench")?;
    let limits = config::file(&context.home)?.lineage.limits()?;
    let pass = Pass::new(&at, limits);
    let sessions = context.ledger.read(|tx| read::sessions(tx, at.agent_no, &SessionFilter::default()))?;
    let mut found = Vec::new();
    for session in &sessions {
        let mut turns: Vec<Turn> = Vec::new();
        context.ledger.read(|tx| {
            read::session_turns(tx, &Opener::default(), session, Some(""), |turn| {
                turns.push(turn);
                Ok(())
            })
        })?;
        for (n, summary) in turns.iter().enumerate().filter(|(_, t)| t.kind == TurnKind::CompactSummary) {
            let Some(last) = n.checked_sub(1).map(|before| turns[before].id) else { continue };
            let distillate = compaction::preview(&pass, session.no, last)?;
            let text = handoff::render(&distillate, limits.handoff_tokens);
            let said: Vec<Said> = turns[..n].iter().map(said).collect();
            let compared = compare(&summary.text, &distillate, &text, &said);
            if !global.json {
                show(&compared, session.key.as_str(), &summary.id.to_string());
            }
            found.push(json(&compared, session.key.as_str(), &summary.id.to_string()));
        }
    }
    drop::<AssistantHome>(at);
    if found.is_empty() {
        return Err(Error::not_found("no program wrote a summary in these sessions")
            .hint("name session files in which a context was compacted"));
    }
    Ok(json!({"compactions": found}))
}

fn said(turn: &Turn) -> Said {
    Said {
        id: turn.id,
        role: turn.role,
        kind: turn.kind,
        run: turn.run,
        main: turn.lane.is_empty(),
        speaker: turn.speaker.clone(),
        tool: turn.tool.clone(),
        call: turn.call.clone(),
        failed: turn.failed,
        at: turn.at,
        text: turn.text.clone(),
    }
}

fn lists(c: &Comparison) -> [(&'static str, &[heirloom_engine::distill::compare::Named]); 3] {
    [("files changed", &c.files), ("pending tasks", &c.pending), ("directives", &c.directives)]
}

fn show(c: &Comparison, session: &str, turn: &str) {
    print::line(&format!("{session} at {turn}"));
    let mut rows = Vec::new();
    for (name, named) in lists(c) {
        let (found, all) = Comparison::found(named);
        rows.push(vec![
            format!("  {name}"),
            format!("{found} of {all} found"),
            format!("{} named in all", named.len()),
            format!("{} in the handoff", named.iter().filter(|n| n.told).count()),
        ]);
    }
    rows.push(vec![
        "  length".into(),
        format!("{} tokens", c.handoff_tokens),
        format!("the program's summary {}", c.summary_tokens),
        format!("{:.0} %", 100.0 * c.handoff_tokens as f64 / c.summary_tokens.max(1) as f64),
    ]);
    rows.push(vec!["  not in the turns".into(), c.invented.len().to_string(), String::new(), String::new()]);
    print::out(&print::table(&rows));
    for (name, named) in lists(c) {
        for missing in named.iter().filter(|n| n.found.is_none()) {
            let said = if missing.in_turns { "" } else { " (not in the turns)" };
            print::line(&format!("  not found, {name}: {}{said}", print::cut(&print::safe_line(&missing.text), 90)));
        }
    }
}

fn json(c: &Comparison, session: &str, turn: &str) -> Value {
    let list = |named: &[heirloom_engine::distill::compare::Named]| -> Value {
        named
            .iter()
            .map(|n| json!({"text": n.text, "in_turns": n.in_turns, "found": n.found, "in_handoff": n.told}))
            .collect()
    };
    json!({
        "session": session, "turn": turn, "files": list(&c.files), "pending": list(&c.pending),
        "directives": list(&c.directives), "summary_tokens": c.summary_tokens, "handoff_tokens": c.handoff_tokens,
        "invented": c.invented,
    })
}

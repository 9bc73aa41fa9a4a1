//! `heirloom-lab distill`: compares what is distilled without a model with the summaries that programs' own models
//! wrote when they compacted their context.

mod compare;

use std::path::{Path, PathBuf};

use heirloom_engine::distill::Said;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::event::TurnKind;
use heirloom_engine::transcript::read::Turn;
use serde_json::{Value, json};

use self::compare::{Comparison, Named, compare};
use crate::home::LabHome;
use crate::print;
use crate::sources::Sources;

/// Compare what is distilled without a model with the summaries programs wrote when they compacted their context
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Files or folders [default: every program's usual place]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Imports the files into a temporary home and compares at every summary a program wrote.
pub fn run(args: &Args, folder: &Path, for_people: bool) -> Result<Value> {
    let home = LabHome::create(&folder.join("home"))?;
    home.import(&Sources::of(&args.paths)?)?;
    let mut found = Vec::new();
    for session in &home.sessions()? {
        let turns = home.turns(session, true)?;
        for (n, summary) in turns.iter().enumerate().filter(|(_, t)| t.kind == TurnKind::CompactSummary) {
            let Some(last) = n.checked_sub(1).map(|before| turns[before].id) else { continue };
            let (distillate, text) = home.compacted(session, last)?;
            let said: Vec<Said> = turns[..n].iter().map(said).collect();
            let compared = compare(&summary.text, &distillate, &text, &said);
            if for_people {
                show(&compared, session.key.as_str(), &summary.id.to_string());
            }
            found.push(to_json(&compared, session.key.as_str(), &summary.id.to_string()));
        }
    }
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

fn lists(c: &Comparison) -> [(&'static str, &[Named]); 3] {
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
            print::line(&format!("  not found, {name}: {}{said}", print::excerpt(&missing.text, 90)));
        }
    }
}

fn to_json(c: &Comparison, session: &str, turn: &str) -> Value {
    let list = |named: &[Named]| -> Value {
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

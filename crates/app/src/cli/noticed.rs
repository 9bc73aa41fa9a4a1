//! What was noticed about the user: `heirloom memory pending`, `accept` and `dismiss`.

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::Result;
use heirloom_engine::memory::pending::{self, NoticeKind, Pending, State};
use heirloom_engine::review;
use heirloom_engine::scope::PendingNo;
use serde_json::{Value, json};

use super::remember;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

const ACTOR: &str = "cli memory";

fn pending_json(p: &Pending) -> Value {
    let profile = match &p.kind {
        NoticeKind::Profile { key, value } => json!({"key": key, "value": value}),
        _ => Value::Null,
    };
    json!({"id": p.id(), "kind": p.kind.name(), "title": p.title, "text": p.text, "profile": profile,
           "confidence": p.confidence, "state": p.state.name(), "seen": p.seen, "turn": p.turn.map(|t| t.to_string()),
           "session": p.session, "noticed": rfc3339(p.created_at), "decided": p.decided_at.map(rfc3339),
           "result": p.result})
}

/// `TL;DR first`; `name: Ada`.
fn shown(p: &Pending) -> String {
    print::safe_line(&match &p.kind {
        NoticeKind::Profile { key, value } => format!("{key}: {value}"),
        _ => p.title.clone(),
    })
}

/// What waits; with `all`, what was decided, too.
pub fn list(global: &Global, all: bool) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let found = context.read(|tx| pending::list(tx, agent_no, all))?;
    if context.json {
        let list: Vec<Value> = found.iter().map(pending_json).collect();
        print::line(&json!({"pending": list}).to_string());
        return Ok(Exit::Ok);
    }
    if found.is_empty() {
        print::line("Nothing waits for your yes.");
        return Ok(Exit::Ok);
    }
    let now = context.now();
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|p| {
            let state =
                if p.state == State::Pending { print::counted(p.seen as u64, "time") } else { p.state.name().into() };
            let text = print::cut(&shown(p), 70);
            vec![p.id(), p.kind.name().into(), text, print::when(Some(p.created_at), now), state]
        })
        .collect();
    print::out(&print::table(&rows));
    print::line(&Paint::stdout().dim("heirloom memory accept u:…, heirloom memory dismiss u:…"));
    Ok(Exit::Ok)
}

fn numbers(ids: &[String]) -> Result<Vec<PendingNo>> {
    ids.iter().map(|id| pending::parse_id(id)).collect()
}

/// Says yes.
pub fn accept(global: &Global, ids: &[String]) -> Result<Exit> {
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let accepted = review::noticed::accept(&at.lock()?, &numbers(ids)?)?;
    context.instance().settle(&at);
    let rows: Vec<(&Pending, String, Value)> = accepted
        .iter()
        .map(|a| match &a.leaf {
            Some(leaf) => (&a.pending, remember::sentence(leaf), remember::added_json(leaf)),
            None => (&a.pending, format!("Set in your profile: {}", shown(&a.pending)), Value::Null),
        })
        .collect();
    decided(global, &rows)
}

/// Says no.
pub fn dismiss(global: &Global, ids: &[String]) -> Result<Exit> {
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let done = pending::dismiss(&at, &numbers(ids)?)?;
    context.instance().settle(&at);
    decided(global, &done.iter().map(|p| (p, format!("Dismissed: {}", shown(p)), Value::Null)).collect::<Vec<_>>())
}

fn decided(global: &Global, rows: &[(&Pending, String, Value)]) -> Result<Exit> {
    if global.json {
        let list: Vec<Value> = rows
            .iter()
            .map(|(p, _, leaf)| json!({"id": p.id(), "kind": p.kind.name(), "title": p.title, "result": p.result, "memory": leaf}))
            .collect();
        print::line(&json!({"items": list}).to_string());
    } else {
        for (p, said, _) in rows {
            print::line(&format!("{} {said}", p.id()));
        }
    }
    Ok(Exit::Ok)
}

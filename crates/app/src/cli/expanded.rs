//! What `heirloom expand` says to programs: every object bears the agent it belongs to (R6.8).

use heirloom_engine::clock::{Millis, rfc3339};
use heirloom_engine::lineage::{Compaction, Node};
use heirloom_engine::memory::pending::Pending;
use heirloom_engine::recall::expand::{Branch, Expansion, NodeView, Passage, Reference, Subject, Transcript};
use heirloom_engine::redact::redact;
use heirloom_engine::thread::ThreadRow;
use heirloom_engine::tree::AssistantHome;
use heirloom_engine::tree::file_table::Entry;
use serde_json::{Value, json};

use super::{files, show};

/// The whole answer. `files`: the assistant home, where there is one.
pub fn json(agent: &str, files: Option<&AssistantHome>, found: &Expansion) -> Value {
    let mut value = match &found.subject {
        Subject::Node(view) => node_view(agent, view),
        Subject::Turn(view) => {
            let ids = |turns: &[heirloom_engine::scope::TurnId]| -> Vec<Value> {
                turns.iter().map(|t| json!({"id": t.to_string(), "agent_id": agent})).collect()
            };
            let run = view.run.as_ref().map(|r| {
                json!({"agent_id": agent, "run": r.no, "status": r.status, "lane": r.lane, "model": r.model,
                       "prompt": r.prompt.map(|t| t.to_string()), "answer": r.answer.map(|t| t.to_string()),
                       "opened_at": r.opened_at.map(rfc3339), "last_at": r.last_at.map(rfc3339)})
            });
            json!({"turn": {"id": view.id.to_string(), "agent_id": agent, "raw": format!("heirloom show --raw {}", view.id)},
                   "run": run, "nodes": nodes(&view.nodes),
                   "neighbours": {"before": ids(&view.before), "after": ids(&view.after)}})
        }
        Subject::File(view) => {
            let mut file = entry(agent, &view.entry);
            file["kind"] = json!(view.entry.kind.name());
            file["state"] = json!(view.entry.state.name());
            file["file"] = json!(files.map(|at| at.shown(&view.entry.path)));
            file["line"] = json!(view.line);
            file["text"] = json!(view.text);
            file["cut"] = json!(view.cut);
            let source = json!({"agent_id": agent, "type": view.source.origin.name(), "session": view.source.session,
                                "node": view.source.node,
                                "turns": view.source.turns.iter().map(|t| t.to_string()).collect::<Vec<_>>()});
            let references: Vec<String> = view.references.iter().map(Reference::to_string).collect();
            json!({"file": file, "source": source, "references": references})
        }
        Subject::Session(view) => {
            let mut session = show::session_json(&view.session);
            session["agent_id"] = json!(agent);
            let lanes: Vec<Value> = view
                .lanes
                .iter()
                .map(|l| json!({"agent_id": agent, "lane": l.lane, "parent_call": l.parent_call, "turns": l.turns}))
                .collect();
            let compactions: Vec<Value> = view.compactions.iter().map(|c| compaction(agent, c)).collect();
            json!({"session": session, "thread": view.thread.as_ref().map(|t| thread(agent, t)), "lanes": lanes,
                   "nodes": nodes(&view.nodes), "compactions": compactions})
        }
        Subject::Thread(view) => json!({"thread": thread(agent, &view.thread), "nodes": nodes(&view.nodes)}),
        Subject::Pending(p) => json!({"pending": pending(agent, p)}),
        Subject::Channel(e) => {
            json!({"channel": {"id": e.id(), "agent_id": agent, "channel": e.channel, "peer": e.peer, "name": e.name,
                   "detail": e.detail, "state": e.state.name(), "at": rfc3339(e.at), "decided_at": e.decided_at.map(rfc3339)}})
        }
        Subject::Job(runs) => {
            let runs: Vec<Value> = runs
                .iter()
                .map(|r| {
                    json!({"agent_id": agent, "run": r.no, "name": r.name, "command": redact(&r.command),
                           "status": r.status().name(), "started_at": rfc3339(r.started_at),
                           "ended_at": r.ended_at.map(rfc3339), "exit_code": r.exit_code, "signal": r.signal,
                           "artifact": r.artifact, "error": r.error.as_deref().map(redact)})
                })
                .collect();
            json!({"job": {"agent_id": agent, "runs": runs}})
        }
        Subject::Context(given) => {
            let items: Vec<Value> =
                given.items().iter().map(|(part, id)| json!({"id": id, "agent_id": agent, "part": part})).collect();
            let mut value = super::context::of_replayed(agent, given);
            value["content"] = json!(given.content);
            json!({"context": value, "items": items})
        }
        Subject::Quarantine(aside) => {
            let mut value = show::quarantined_json(&aside.quarantined);
            value["agent_id"] = json!(agent);
            value["text"] = json!(aside.text);
            value["cut"] = json!(aside.cut);
            json!({"quarantine": value})
        }
    };
    value["transcript"] = json!(found.transcript.as_ref().map(|t| transcript(agent, t)));
    value
}

fn node_view(agent: &str, view: &NodeView) -> Value {
    let ancestors: Vec<Value> = view
        .ancestors
        .iter()
        .map(|(distance, n)| {
            let mut value = node(n);
            value["distance"] = json!(distance);
            value
        })
        .collect();
    let linked = |list: &[Entry]| -> Vec<Value> { list.iter().map(|e| entry(agent, e)).collect() };
    let mut value = node(&view.node);
    value["replaced_by"] = json!(view.replaced_by.as_ref().map(|n| n.id.to_string()));
    json!({
        "node": value, "ancestors": ancestors, "parents": nodes(&view.parents),
        "children": view.children.iter().map(branch).collect::<Vec<_>>(), "more_below": view.more_below,
        "siblings": nodes(&view.siblings),
        "neighbours": {"before": nodes(&view.before), "after": nodes(&view.after)},
        "linked": {"memory": linked(&view.linked.memory), "open_loops": linked(&view.linked.open_loops),
                   "proposals": linked(&view.linked.proposals), "more": view.linked.more},
    })
}

fn branch(branch: &Branch) -> Value {
    let mut value = node(&branch.node);
    if !branch.children.is_empty() {
        value["children"] = branch.children.iter().map(self::branch).collect();
    }
    value
}

fn nodes(nodes: &[Node]) -> Vec<Value> {
    nodes.iter().map(node).collect()
}

/// A node, for programs.
pub fn node(n: &Node) -> Value {
    let time = |at: Option<Millis>| at.map(rfc3339);
    json!({
        "id": n.id.to_string(), "agent_id": n.agent, "kind": n.kind.name(), "depth": n.depth, "thread": n.thread,
        "session": n.session.as_ref().map(|s| s.as_str()), "lane": n.lane,
        "turns": [n.turns.0.to_string(), n.turns.1.to_string()], "time": [time(n.times.0), time(n.times.1)],
        "count": n.count, "summary": redact(&n.summary),
        "distillate": files::redacted(serde_json::to_value(&n.distillate).unwrap_or_default()),
        "source": n.source.name(), "tokens": {"source": n.source_tokens, "summary": n.summary_tokens},
        "summary_turn": n.summary_turn.map(|t| t.to_string()), "abandoned": n.abandoned, "forgotten": n.forgotten,
        "replaces": n.replaces.map(|r| r.to_string()), "created_at": rfc3339(n.created_at),
    })
}

fn entry(agent: &str, e: &Entry) -> Value {
    let mut value = super::open_loop::entry_json(e);
    value["agent_id"] = json!(agent);
    value
}

fn thread(agent: &str, t: &ThreadRow) -> Value {
    json!({"agent_id": agent, "thread": t.key, "label": t.label, "state": t.state, "created_at": rfc3339(t.created_at),
           "last_at": t.last_at.map(rfc3339)})
}

fn compaction(agent: &str, c: &Compaction) -> Value {
    json!({"agent_id": agent, "lane": c.lane, "node": c.node.map(|n| n.to_string()), "cause": c.cause,
           "until": c.until.to_string(), "at": rfc3339(c.at)})
}

fn pending(agent: &str, p: &Pending) -> Value {
    json!({"id": p.id(), "agent_id": agent, "kind": p.kind.name(), "title": redact(&p.title), "text": redact(&p.text),
           "confidence": p.confidence, "state": p.state.name(), "seen": p.seen, "turn": p.turn.map(|t| t.to_string()),
           "session": p.session, "result": p.result})
}

fn transcript(agent: &str, t: &Transcript) -> Value {
    json!({"turns": t.turns.iter().map(|p| passage(agent, p)).collect::<Vec<_>>(), "next": t.next})
}

fn passage(agent: &str, p: &Passage) -> Value {
    let mut value = show::turn_json(&p.turn);
    value["id"] = json!(p.turn.id.to_string());
    value["agent_id"] = json!(agent);
    // It was cleaned whole; a part of it is not looked at once more, so that the parts make the whole.
    value["text"] = json!(p.turn.text);
    value["part"] = json!(p.part.map(|(from, to, of)| json!({"from": from, "to": to, "of": of})));
    value["abandoned"] = json!(p.abandoned);
    value["forgotten"] = json!(p.forgotten);
    value["belongs_behind"] = json!(p.belongs_behind.map(|t| t.to_string()));
    value
}

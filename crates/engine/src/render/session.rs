//! The page of a session, for resuming it (R5.2, R10.4): its current state, where its context was cut, which turns
//! after the cut are not distilled, and how to find the rest.

use rusqlite::{OptionalExtension, params};

use super::page::{line, minute};
use super::runs::{Words, refs};
use super::titles;
use crate::clock::Millis;
use crate::distill::fold::fold;
use crate::distill::handoff;
use crate::distill::still_open::{give_ids, still_stands};
use crate::distill::tail;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::{MESSAGE, USER};
use crate::lineage::distillate::Distillate;
use crate::lineage::{self, Kind, Node};
use crate::next_step::See;
use crate::scope::{AgentNo, NodeId, SessionKey, SessionNo, ThreadNo, TurnId};
use crate::thread;
use crate::transcript::recent;
use crate::tree::AssistantHome;

/// The token budget of the distillate; the lines around it are few and bounded.
const TOKENS: usize = 600;

/// Largest number of turns of the raw tail that are listed.
const TAIL: usize = 16;

/// The facts of a session other than its turns.
struct Row {
    key: SessionKey,
    project: Option<String>,
    cwd: Option<String>,
    title: Option<String>,
    started_at: Option<Millis>,
    last_at: Option<Millis>,
    ended_by: Option<String>,
}

pub(super) fn render(at: &AssistantHome, tx: &Read, session_no: SessionNo) -> Result<String> {
    let Some(row) = row(tx, at.agent_no, session_no)? else {
        return Ok("This session is not there any more.\n".into());
    };
    let (words, standing) = (Words::new(at, tx), Standing::of(tx, session_no)?);
    let mut out = about(at, tx, session_no, &row)?;
    // Turns since the last node count too, because the page shows the current state of the session.
    let now = tail::standing(tx, session_no, &standing.distillate, &mut |_| Ok(true))?;
    let mut d = still_stands(tx, at.agent_no, &now)?;
    give_ids(&mut d);
    let runs = recent::runs(tx, session_no, 2)?;
    if !d.is_empty() {
        let names: Vec<String> = standing.nodes.iter().map(|n| n.to_string()).collect();
        if !names.is_empty() {
            out.push_str(&format!("- Distilled: [{}]\n", names.join(" ")));
        }
        out.push('\n');
        out.push_str(&handoff::render(&d, TOKENS));
    } else if let Some(first) = first_prompt(tx, session_no)? {
        out.push_str(&format!("- Began with: {}{}\n", words.of(Some(first), 80)?, refs(&[first])));
    }
    // Turns after everything that the distillate covers are shown verbatim.
    let latest: Vec<_> = runs.iter().filter(|r| r.answer.max(r.prompt) > Some(standing.until)).collect();
    if !latest.is_empty() {
        out.push_str("\n## Last said\n");
    }
    for run in latest.into_iter().rev() {
        for (word, turn) in [("Asked", run.prompt), ("Answered", run.answer)] {
            let text = words.of(turn, 60)?;
            if !text.is_empty() {
                out.push_str(&format!("- {word}: {text}{}\n", refs(turn.as_slice())));
            }
        }
    }
    out.push_str(&context(at, tx, session_no)?);
    Ok(out)
}

/// The state of a session according to its nodes.
pub(crate) struct Standing {
    pub distillate: Distillate,
    pub nodes: Vec<NodeId>,
    /// The last turn the nodes cover.
    pub until: TurnId,
}

impl Standing {
    /// Returns the state by the newest compaction or session node, and the chunks of the main line after it; abandoned
    /// branches are left out.
    pub(crate) fn of(tx: &Read, session_no: SessionNo) -> Result<Standing> {
        Standing::within(tx, session_no, None)
    }

    /// Does the same as [`Standing::of`], limited to one thread, given by all its members (R10.3).
    pub(crate) fn within(tx: &Read, session_no: SessionNo, members: Option<&[ThreadNo]>) -> Result<Standing> {
        let mut all = Vec::new();
        for kind in [Kind::Session, Kind::Compaction] {
            match members {
                None => all.extend(lineage::newest(tx, session_no, kind, None)?),
                Some(members) => {
                    for no in members {
                        all.extend(lineage::newest(tx, session_no, kind, Some(*no))?);
                    }
                }
            }
        }
        let mut newest: Option<Node> = None;
        for node in all {
            let node = Some(node).filter(|n| !n.abandoned);
            if node.as_ref().map(|n| n.turns.1) > newest.as_ref().map(|n| n.turns.1) {
                newest = node;
            }
        }
        let mut out = match newest {
            Some(node) => Standing { until: node.turns.1, nodes: vec![node.id], distillate: node.distillate },
            None => Standing { until: TurnId(0), nodes: Vec::new(), distillate: Distillate::default() },
        };
        let chunks = lineage::uncovered(tx, session_no)?;
        let threads: Vec<String> = match members {
            None => Vec::new(),
            Some(members) => {
                let mut key = tx.prepare_cached("SELECT thread_key FROM threads WHERE thread_no = ?1")?;
                members.iter().map(|no| key.query_row([no], |r| r.get(0))).collect::<rusqlite::Result<_>>()?
            }
        };
        let of_these = |n: &Node| members.is_none() || threads.contains(&n.thread);
        let behind = |n: &&Node| n.kind == Kind::Chunk && !n.abandoned && n.lane.as_deref() == Some("") && of_these(n);
        for chunk in chunks.iter().filter(behind) {
            if chunk.turns.0 > out.until {
                out.distillate = fold(&out.distillate, &chunk.distillate);
                out.until = chunk.turns.1;
                out.nodes.push(chunk.id);
            }
        }
        Ok(out)
    }
}

fn row(tx: &Read, agent_no: AgentNo, session_no: SessionNo) -> Result<Option<Row>> {
    Ok(tx
        .prepare_cached(
            "SELECT session_key, w.label, cwd, title, started_at, last_at, CASE WHEN ended_at IS NULL THEN NULL
                    ELSE coalesce(ended_by, 'its program') END
             FROM sessions s LEFT JOIN workspaces v ON v.workspace_no = s.workspace_no
             LEFT JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
             WHERE s.session_no = ?1 AND s.agent_no = ?2",
        )?
        .query_row(params![session_no, agent_no], |r| {
            Ok(Row {
                key: SessionKey::from(r.get::<_, String>(0)?),
                project: r.get(1)?,
                cwd: r.get(2)?,
                title: r.get(3)?,
                started_at: r.get(4)?,
                last_at: r.get(5)?,
                ended_by: r.get(6)?,
            })
        })
        .optional()?)
}

/// Returns the lines with the identity of the session and how to resume it.
fn about(at: &AssistantHome, tx: &Read, session_no: SessionNo, row: &Row) -> Result<String> {
    let mut out = String::new();
    if let Some(title) = row.title.as_deref().filter(|t| !titles::is_empty(t)) {
        out.push_str(&format!("- About: {}\n", line(title)));
    }
    let project = row.project.as_deref().map(|p| format!(" · project {}", line(p))).unwrap_or_default();
    out.push_str(&format!("- Session: `{}` · {}{project}\n", line(row.key.as_str()), line(row.key.harness())));
    if let Some(no) = thread::of_session(tx, session_no)?
        && let Some(thread) = thread::find(tx, at.agent_no, no)?
    {
        out.push_str(&format!("- Thread: {} · `{}`\n", line(&thread.label), line(&thread.key)));
    }
    let over = row.ended_by.as_deref().map_or("not ended".into(), |by| format!("ended by {}", line(by)));
    let times = row.started_at.zip(row.last_at);
    let times = times.map(|(from, to)| format!("From {} to {} · ", minute(at, from), minute(at, to)));
    out.push_str(&format!("- {}{over}\n", times.unwrap_or_default()));
    let folder = row.cwd.as_deref().map(|c| format!(" in `{}`", line(c))).unwrap_or_default();
    out.push_str(&format!(
        "- Resume: `{}`{folder}; how: `{}`\n",
        line(row.key.native()),
        See::new(format!("session show {}", line(row.key.as_str())))
    ));
    Ok(out)
}

/// Returns the lines that say where the context was cut and in which order it is assembled again.
fn context(at: &AssistantHome, tx: &Read, session_no: SessionNo) -> Result<String> {
    let cuts: Vec<_> = lineage::compactions(tx, session_no)?.into_iter().filter(|c| c.lane.is_empty()).collect();
    let epoch = lineage::epoch(tx, session_no)?;
    let Some(cut) = cuts.last() else {
        let tail = recent::messages(tx, session_no, TurnId(0), TAIL)?;
        let tail = if tail.is_empty() { String::new() } else { format!("- Last messages:{}\n", refs(&tail)) };
        return Ok(format!("\n## Boundary\n- Never compacted · epoch {epoch}\n{tail}"));
    };
    let node = cut.node.map(|n| format!(" [{n}]")).unwrap_or_default();
    let mut out = format!(
        "\n## Boundary\n- Compacted up to [{}] · {} · {} · epoch {epoch}{node}\n",
        cut.until,
        line(&cut.cause),
        minute(at, cut.at)
    );
    if !cut.restoration.is_empty() {
        let order: Vec<String> = cut.restoration.iter().take(8).map(|s| line(s)).collect();
        out.push_str(&format!("- Restored in this order: {}\n", order.join(" → ")));
    }
    let mut tail = cut.preserved.clone();
    tail.extend(recent::messages(tx, session_no, cut.until, TAIL)?);
    tail.sort();
    tail.dedup();
    if !tail.is_empty() {
        out.push_str(&format!("- Raw tail:{}\n", refs(&tail[tail.len().saturating_sub(TAIL)..])));
    }
    Ok(out)
}

/// Returns the first prompt of a session's main line that is not on an abandoned branch.
fn first_prompt(tx: &Read, session_no: SessionNo) -> Result<Option<TurnId>> {
    Ok(tx
        .prepare_cached(&format!(
            "SELECT t.turn_no FROM turns t INDEXED BY turns_session JOIN lanes l USING (lane_no)
             JOIN turn_results r USING (run_no)
             WHERE t.session_no = ?1 AND l.lane = '' AND t.role = {USER} AND t.kind = {MESSAGE}
               AND t.forgotten IS NULL AND r.left_by IS NULL ORDER BY t.turn_no LIMIT 1"
        ))?
        .query_row([session_no], |r| r.get(0))
        .optional()?)
}

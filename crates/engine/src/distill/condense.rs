//! Condensation: when a thread has eight roots of one depth, they become one node of the next depth (R6.7). Depth grows
//! with the logarithm of history.

use super::advance::Pass;
use super::session::{hull, ids};
use super::summarizer::NodeSummary;
use super::summary_input;
use crate::error::Result;
use crate::ledger::codes::{COMPACTION, SESSION};
use crate::lineage::{self, Kind, NewNode, Node, walk};
use crate::pages::{self, Happened};
use crate::scope::{SessionNo, ThreadNo};
use crate::thread;

/// Number of roots that become one node (SPEC R6.7).
pub const ROOTS: usize = 8;

/// Maximum tokens of a condensed node's summary.
const CONDENSED_TOKENS: usize = 240;

/// Condenses the threads of a session as far as they are due.
pub(super) fn after(pass: &Pass, session_no: SessionNo) -> Result<u64> {
    let threads: Vec<ThreadNo> = pass.at.read(|tx| {
        let mut statement = tx.prepare_cached(&format!(
            "SELECT DISTINCT thread_no FROM nodes WHERE session_no = ?1 AND kind IN ({SESSION}, {COMPACTION})"
        ))?;
        let rows = statement.query_map([session_no], |r| r.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })?;
    let mut made = 0;
    for thread in threads {
        made += of_thread(pass, thread)?;
    }
    Ok(made)
}

/// Condenses a thread until no depth has eight roots.
pub fn of_thread(pass: &Pass, thread_no: ThreadNo) -> Result<u64> {
    let at = pass.at;
    let mut made = 0;
    // Each depth covers eight times as many nodes as the one below, so depth 100 is never reached.
    for depth in 0..100 {
        let mut any = false;
        loop {
            let roots = at.read(|tx| walk::roots(tx, thread_no, depth, ROOTS))?;
            if roots.len() < ROOTS {
                break;
            }
            let count = at.read(|tx| walk::covered(tx, &ids(&roots)))?;
            let (node, fell_back) = condensed(pass, thread_no, depth + 1, &roots);
            let node = NewNode { count, ..node };
            let done = at.write("lineage.condense", |tx| {
                let still = walk::roots(tx, thread_no, depth, ROOTS)?;
                if ids(&still) != node.children {
                    return Ok(false);
                }
                let id = lineage::insert(tx, &node)?;
                let threads = thread::files_of(tx, at.agent_no, &[thread_no])?;
                pages::mark(tx, at.agent_no, &Happened::Condensed { threads })?;
                summary_input::note(pass, tx, usize::from(fell_back));
                tx.note("node", id.to_string());
                tx.note("depth", node.depth);
                Ok(true)
            })?;
            any = true;
            made += u64::from(done);
        }
        if !any && at.read(|tx| walk::roots(tx, thread_no, depth + 1, 1))?.is_empty() {
            break;
        }
    }
    Ok(made)
}

/// Makes the node over some roots. Also returns whether its summary fell back to the deterministic summariser.
fn condensed(pass: &Pass, thread_no: ThreadNo, depth: i64, roots: &[Node]) -> (NewNode, bool) {
    let speaks = roots.iter().filter(|n| !n.abandoned);
    let summaries: Vec<NodeSummary> =
        speaks.map(|n| NodeSummary { summary: &n.summary, distillate: &n.distillate }).collect();
    let source_tokens: u64 = roots.iter().map(|n| n.summary_tokens).sum();
    let made = summary_input::of_nodes(pass, Kind::Condensed, &summaries, source_tokens, CONDENSED_TOKENS);
    let node = NewNode {
        agent_no: pass.at.agent_no,
        kind: Kind::Condensed,
        depth,
        thread_no,
        session_no: None,
        lane_no: None,
        turns: hull(roots),
        times: (roots.iter().filter_map(|n| n.times.0).min(), roots.iter().filter_map(|n| n.times.1).max()),
        count: roots.iter().map(|n| n.count).sum(),
        summary: made.text,
        distillate: made.distillate,
        source: made.source,
        source_tokens,
        summary_turn: None,
        abandoned: roots.iter().all(|n| n.abandoned),
        late: Vec::new(),
        replaces: None,
        flush: None,
        children: ids(roots),
    };
    (node, made.fell_back)
}

//! Conversations that go on: their turns since the last node are distilled when a page or a list asks for it, so that a
//! page shows the day's work before a conversation ends (R7.1, R10.4).
//!
//! Bounded: reads the few conversations of the last day that were active last, and only the newest turns of each.

use super::session::Standing;
use crate::clock::Millis;
use crate::distill::still_open::run_of;
use crate::distill::tail;
use crate::error::Result;
use crate::ledger::Read;
use crate::lineage::distillate::{Distillate, Item};
use crate::lineage::undistilled;
use crate::scope::{AgentNo, RunNo, ThreadNo};
use crate::text::similarity;
use crate::thread::{self, Membership};

/// Time in milliseconds after which an inactive conversation is not read.
const LIVE_MS: Millis = 24 * 3_600_000;

/// Largest number of conversations that are distilled for a page.
const MOST: usize = 4;

/// A conversation whose newest turns are not distilled into nodes yet.
pub(super) struct Running {
    /// Key of the thread its newest turns belong to; the conversation may not have joined it yet.
    pub key: String,
    pub label: String,
    /// The thread as it is now; `None` before its first node.
    pub thread_no: Option<ThreadNo>,
    pub last_at: Option<Millis>,
    /// Its state in that thread.
    pub distillate: Distillate,
}

impl Running {
    /// Whether this conversation has the item as open.
    pub fn says(&self, item: &Item) -> bool {
        let d = &self.distillate;
        let mut open = d.open_loops.iter().chain(&d.blocked).chain(&d.next_steps);
        open.any(|own| similarity::same_words(&own.text, &item.text))
    }
}

/// Returns the conversations that go on, active last first.
pub(super) fn running(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<Vec<Running>> {
    of(tx, agent_no, now, &mut |_| true)
}

/// Does the same as [`running`] for one thread.
pub(super) fn running_in(tx: &Read, agent_no: AgentNo, now: Millis, thread_no: ThreadNo) -> Result<Vec<Running>> {
    of(tx, agent_no, now, &mut |no| no == Some(thread_no))
}

fn of(
    tx: &Read,
    agent_no: AgentNo,
    now: Millis,
    wanted: &mut dyn FnMut(Option<ThreadNo>) -> bool,
) -> Result<Vec<Running>> {
    let mut newest_run = tx.prepare_cached(
        "SELECT max(r.run_no) FROM turn_results r INDEXED BY turn_results_newest WHERE r.lane_no = (
           SELECT l.lane_no FROM lanes l WHERE l.session_no = ?1 AND l.lane = '')",
    )?;
    let mut out = Vec::new();
    for (session_no, last_at) in undistilled::unfinished(tx, agent_no, now - LIVE_MS, MOST)? {
        let newest: Option<RunNo> = newest_run.query_row([session_no], |r| r.get(0))?;
        let Some(run) = newest else { continue };
        let Membership { key, label, thread_no } = thread::membership(tx, run)?;
        let key = key.as_str().to_owned();
        let thread_no = match thread_no {
            Some(no) => Some(no),
            None => thread::exact(tx, agent_no, &key)?,
        };
        if !wanted(thread_no) {
            continue;
        }
        let members = match thread_no {
            Some(no) => thread::members(tx, no)?,
            None => Vec::new(),
        };
        let before = Standing::within(tx, session_no, Some(&members))?;
        // A conversation may have been in other threads, whose words must not be given here (R10.3).
        let mut may_tell = |turn| {
            let Some(run) = run_of(tx, turn)? else { return Ok(false) };
            Ok(thread::membership(tx, run)?.key.as_str() == key)
        };
        let distillate = tail::standing(tx, session_no, &before.distillate, &mut may_tell)?;
        if !distillate.is_empty() {
            out.push(Running { key, label, thread_no, last_at, distillate });
        }
    }
    Ok(out)
}

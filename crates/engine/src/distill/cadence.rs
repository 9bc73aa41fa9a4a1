//! When what is rendered anew (R7.3), readable here and nowhere else.
//!
//! | | Tier 1 `MEMORY.md` | Tier 2 thread heads, their index | ACTIVE.md | day, week, month | Tier 3 |
//! |---|---|---|---|---|---|
//! | a turn is stored | | | | | at once: turns in the ledger, runtime pages |
//! | a chunk closes | | | | | the node |
//! | a session ends or goes idle | yes | those it touched | yes | yes | session nodes |
//! | a compaction | yes | those it touched | yes | yes | compaction nodes |
//! | a loop, proposal or memory changes | yes | its thread | yes | | |
//!
//! A page is only marked, in the transaction of what it shows; whoever comes next renders it. Which thread a loop or a
//! proposal belongs to takes some looking up: its page and the index are marked when pages are rendered, from the changes
//! of files since the last time (`head::scoping`).

use std::collections::BTreeSet;

use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::scope::ThreadNo;
use crate::thread;
use crate::tree::AssistantHome;

/// The pages that show the end of a session, or a compaction: in these threads, last active at these moments.
pub fn after(at: &AssistantHome, tx: &Read, threads: &[ThreadNo], moments: &[Option<Millis>]) -> Result<Vec<String>> {
    let mut heads: BTreeSet<String> = ["memory", "active", "threads"].map(str::to_owned).into();
    for no in threads {
        if let Some(row) = thread::find(tx, at.agent_no, thread::canonical(tx, *no)?)? {
            heads.insert(format!("thread/{}", row.file));
        }
    }
    for moment in moments.iter().flatten() {
        let Some(day) = at.day_of(*moment) else { continue };
        heads.insert(format!("daily/{day}"));
        heads.extend(periods_of(day));
    }
    Ok(heads.into_iter().collect())
}

/// The week and the month a day lies in, as heads.
pub fn periods_of(day: jiff::civil::Date) -> [String; 2] {
    let week = day.iso_week_date();
    [format!("rollup/{:04}-W{:02}", week.year(), week.week()), format!("rollup/{}", day.strftime("%Y-%m"))]
}

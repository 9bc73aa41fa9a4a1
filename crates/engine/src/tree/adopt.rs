//! Adopting a tree: another program's workspace becomes the assistant home of an agent, with its files as they are
//! (SPEC §3). Adopting changes none of them.

use std::path::{Path, PathBuf};

use super::AssistantHome;
use super::file_table::{self, Kind};
use crate::error::{Error, Result};
use crate::home::Home;
use crate::ledger::{Audit, Ledger, agents};
use crate::pages::{self, Happened};
use crate::scope::AgentNo;

/// Makes `root` the agent's assistant home from now on; `None`: the folder in the home again. Refused while the current
/// tree contains items, because they would no longer be visible.
pub fn adopt(
    home: &Home,
    ledger: &Ledger,
    agent_no: AgentNo,
    actor: &str,
    root: Option<&Path>,
) -> Result<Option<PathBuf>> {
    let root = root.map(|root| home.open_elsewhere(root).map(|opened| opened.shown().to_owned())).transpose()?;
    if ledger.read(|tx| agents::root(tx, agent_no))? == root {
        return Ok(root);
    }
    let items: Vec<String> = ledger.read(|tx| {
        let counts = file_table::counts(tx, agent_no)?;
        let items = [Kind::OpenLoop, Kind::Proposal, Kind::Leaf, Kind::Artifact];
        Ok(counts.iter().filter(|(k, n)| items.contains(k) && *n > 0).map(|(k, n)| format!("{n} × {k}")).collect())
    })?;
    if root.is_some() && !items.is_empty() {
        return Err(Error::refused(format!("this agent has files of its own already: {}", items.join(", ")))
            .hint("move them into the other folder by hand first, or adopt it for another agent: --agent ID"));
    }
    ledger.write(Audit::new(actor, "home.adopt").of_agent(agent_no), |tx| {
        agents::set_root(tx, agent_no, root.as_deref())?;
        // The file table describes the previous tree, so it is cleared.
        tx.execute(
            "UPDATE catalogue SET published = NULL, state = 'gone',
                    change_no = change_no + (SELECT max(change_no) FROM catalogue WHERE agent_no = ?1)
             WHERE agent_no = ?1",
            [agent_no],
        )?;
        pages::forget_contents(tx, agent_no)?;
        pages::mark(tx, agent_no, &Happened::Adopted)?;
        tx.note("root", root.as_ref().map_or("workspaces/".to_owned(), |r| r.display().to_string()));
        Ok(())
    })?;
    Ok(root)
}

impl AssistantHome<'_> {
    /// Whether the tree lies outside the home.
    pub fn is_adopted(&self) -> bool {
        !self.files.shown().starts_with(self.home.root())
    }
}

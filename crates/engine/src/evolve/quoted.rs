//! Puts the person's own words in the place of a model's, where evidence is shown. A model's finding is stored in the
//! model's words; whoever decides about it has to see what was said.

use std::collections::BTreeMap;

use super::candidate::{Candidate, Stored};
use super::extraction;
use crate::error::{ErrorKind, Result};
use crate::ledger::blocks::Opener;
use crate::transcript::read;
use crate::tree::AssistantHome;

/// Replaces the evidence that is in a model's words by the sentences it was made of, of the projects' candidates.
pub fn quote(
    at: &AssistantHome,
    findings: &BTreeMap<String, Vec<Stored>>,
    candidates: &mut BTreeMap<String, Vec<Candidate>>,
) -> Result<()> {
    let opener = Opener::default();
    at.read(|tx| {
        for (workspace, all) in candidates {
            let found = findings.get(workspace).map_or(&[][..], Vec::as_slice);
            let models: Vec<&Stored> = found.iter().filter(|s| s.finding.by.is_some()).collect();
            for e in all.iter_mut().flat_map(|c| &mut c.evidence) {
                let is_model = |s: &&Stored| s.finding.sentence == e.text && s.finding.turns.contains(&e.turn);
                if !models.iter().any(is_model) {
                    continue;
                }
                let turn = match read::turn(tx, &opener, at.agent_no, e.turn) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    turn => turn?,
                };
                if let Some(said) = extraction::passage(&turn).and_then(|p| extraction::said_as(&p, &e.text)) {
                    e.text = said;
                }
            }
        }
        Ok(())
    })
}

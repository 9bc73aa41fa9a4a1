//! Vector search: items similar in meaning, whatever their words (R10.2, R10.8). Without a model, with vectors not made
//! yet, or with an unreadable store, words alone are searched and the result says so.

use std::collections::HashMap;

use super::query::Query;
use super::search::{Filter, Legs};
use crate::error::{ErrorKind, Result};
use crate::index::{Document, FilesWithin, Index, NodesWithin, TurnsWithin, Within};
use crate::ledger::Read;
use crate::scope::{AgentNo, FileNo, NodeId, TurnId};

/// Number of turns taken by vector search alone.
const NEAREST: usize = 200;

/// The same number for a light search.
const LIGHT_NEAREST: usize = 80;

/// Least cosine; below it two texts are not about the same subject (.3 loses .3 of turn R@10 on LoCoMo 0-4).
const FLOOR: f32 = 0.2;

/// The vector of a query, and the vectors it is compared with.
pub(super) struct VectorSearch<'i> {
    index: &'i Index,
    agent_no: AgentNo,
    vector: Vec<f32>,
}

impl<'i> VectorSearch<'i> {
    /// Makes the vector of a query; `None` if there is nothing to compare. If the reason is a fault and not a choice,
    /// it is added to `less`.
    pub fn of(
        tx: &Read,
        index: &'i Index,
        agent_no: AgentNo,
        query: &Query,
        legs: Legs,
        less: &mut Vec<String>,
    ) -> Result<Option<VectorSearch<'i>>> {
        let text = query.dense_text();
        let Some(embedder) = index.embedder().filter(|_| legs != Legs::Words && !text.trim().is_empty()) else {
            return Ok(None);
        };
        let missing = index.vectors_missing(tx)?;
        if missing.turns > 0 {
            less.push(format!("vectors of {} of {} turns are still being made", missing.turns, missing.of_turns));
        }
        // No turn has a vector yet, so a remote model is not waited for.
        if missing.of_turns > 0 && missing.turns == missing.of_turns {
            return Ok(None);
        }
        let vector = match embedder.embed_question(text) {
            Ok(vector) => vector,
            Err(e) => {
                less.push(format!("by words only: {e}"));
                return Ok(None);
            }
        };
        Ok(vector.iter().any(|x| *x != 0.0).then_some(VectorSearch { index, agent_no, vector }))
    }

    /// Returns the nearest turns within the limits of the search, at most `most`, all above [`FLOOR`], and the cosines
    /// of the turns `known`, which were found by words.
    pub fn turns(
        &self,
        filter: &Filter,
        turns: (i64, i64),
        known: &[TurnId],
        less: &mut Vec<String>,
    ) -> Result<HashMap<TurnId, f32>> {
        let within = TurnsWithin {
            workspaces: filter.workspaces.clone(),
            harness: filter.harness.clone(),
            sessions: filter.sessions.clone(),
            roles: filter.role.map(|role| vec![role]),
            kinds: None,
            turns: (turns != (0, i64::MAX)).then_some((TurnId(turns.0), TurnId(turns.1))),
        };
        let most = if filter.light { LIGHT_NEAREST } else { NEAREST };
        let known: Vec<i64> = known.iter().map(|id| id.0).collect();
        let found = match self.index.nearest_and(&self.vector, self.agent_no, Within::Turns(&within), most, &known) {
            Ok(found) => found,
            // Words are in other tables, so the search goes on by words.
            Err(e) if e.kind() == ErrorKind::Damaged => {
                less.push(format!("by words only: {e}"));
                return Ok(HashMap::new());
            }
            Err(e) => return Err(e),
        };
        if found.cut_short {
            less.push("the search by vectors took too long and was broken off".into());
        }
        let near = found.found.into_iter().filter(|(_, cosine)| *cosine >= FLOOR).chain(found.also);
        Ok(near.filter_map(|(document, cosine)| Some((turn(document)?, cosine))).collect())
    }

    /// Returns the cosines of turns found by words.
    pub fn to(&self, turns: &[TurnId]) -> Result<HashMap<TurnId, f32>> {
        let documents: Vec<Document> = turns.iter().map(|id| Document::Turn(*id)).collect();
        match self.index.similarities(&self.vector, self.agent_no, &documents) {
            Ok(found) => Ok(found.into_iter().filter_map(|(d, cosine)| Some((turn(d)?, cosine))).collect()),
            Err(e) if e.kind() == ErrorKind::Damaged => Ok(HashMap::new()),
            Err(e) => Err(e),
        }
    }

    /// Returns the nearest nodes of some threads.
    pub fn nodes(&self, within: &NodesWithin, most: usize) -> Result<Vec<(NodeId, f32)>> {
        let found = match self.index.nearest(&self.vector, self.agent_no, Within::Nodes(within), most) {
            Ok(found) => found.found,
            Err(e) if e.kind() == ErrorKind::Damaged => Vec::new(),
            Err(e) => return Err(e),
        };
        let near = found.into_iter().filter(|(_, cosine)| *cosine >= FLOOR);
        Ok(near
            .filter_map(|(document, cosine)| match document {
                Document::Node(id) => Some((id, cosine)),
                _ => None,
            })
            .collect())
    }

    /// Returns the same query for another comparison, with the vector that was already made.
    pub fn again(index: &'i Index, agent_no: AgentNo, vector: &[f32]) -> VectorSearch<'i> {
        VectorSearch { index, agent_no, vector: vector.to_vec() }
    }

    /// Returns the vector, for [`VectorSearch::again`].
    pub fn into_vector(self) -> Vec<f32> {
        self.vector
    }

    /// Returns the nearest files by number. With damaged vectors it returns none and adds the reason to `less`.
    pub fn files(&self, within: &FilesWithin, most: usize, less: &mut Vec<String>) -> Result<HashMap<FileNo, f32>> {
        let found = match self.index.nearest(&self.vector, self.agent_no, Within::Files(within), most) {
            Ok(found) => found,
            Err(e) if e.kind() == ErrorKind::Damaged => {
                less.push(format!("by words only: {e}"));
                return Ok(HashMap::new());
            }
            Err(e) => return Err(e),
        };
        let near = found.found.into_iter().filter(|(_, cosine)| *cosine >= FLOOR);
        Ok(near.filter_map(|(document, cosine)| Some((file(document)?, cosine))).collect())
    }

    /// Returns the cosines of files found by words.
    pub fn to_files(&self, files: &[FileNo]) -> Result<HashMap<FileNo, f32>> {
        let documents: Vec<Document> = files.iter().map(|no| Document::File(*no)).collect();
        match self.index.similarities(&self.vector, self.agent_no, &documents) {
            Ok(found) => Ok(found.into_iter().filter_map(|(d, cosine)| Some((file(d)?, cosine))).collect()),
            Err(e) if e.kind() == ErrorKind::Damaged => Ok(HashMap::new()),
            Err(e) => Err(e),
        }
    }
}

fn file(document: Document) -> Option<FileNo> {
    match document {
        Document::File(no) => Some(no),
        _ => None,
    }
}

fn turn(document: Document) -> Option<TurnId> {
    match document {
        Document::Turn(id) => Some(id),
        _ => None,
    }
}

//! A stretch of turns, distilled and put into words of a bounded length.

use super::summary::summarise;
use super::{Request, deterministic};
use crate::lineage::distillate::Distillate;

/// The summary, at most `budget` tokens and never longer than what it summarises, and the distillate.
pub(super) fn distil_stretch(request: &Request, source_tokens: u64, budget: usize) -> (String, Distillate) {
    let distillate = deterministic::distil(request);
    (summarise(&distillate, budget.min(source_tokens as usize)), distillate)
}

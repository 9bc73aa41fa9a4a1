//! Distillation without a model (R6.5).

use super::Request;
use crate::lineage::distillate::Distillate;

/// Distils a stretch of conversation.
pub fn distil(request: &Request) -> Distillate {
    let _ = request;
    Distillate::default()
}

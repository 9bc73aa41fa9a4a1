//! The summary DAG (R6.1, R6.2). Storey 2.

pub mod distillate;

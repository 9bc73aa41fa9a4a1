//! Durable memory. Storey 2.

pub mod signals;

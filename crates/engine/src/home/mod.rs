//! The visible home. Storey 1.

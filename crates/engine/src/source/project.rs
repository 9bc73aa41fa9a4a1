//! Projects the agent works in. Storey 1.

//! The programs' own stores, read only. Storey 1.

pub mod file;
pub mod foreign;
pub mod project;

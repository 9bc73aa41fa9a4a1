//! Reading other programs' stores and project folders. Storey 1.

pub mod file;
pub mod find;
pub mod foreign;
pub mod private;
pub mod project;

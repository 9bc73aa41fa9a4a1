//! The memory as a process that stays (R5.3): it listens for programs, watches the programs' session stores, and does
//! what falls due. Everything works without it; with it, a line is found two seconds after it was written, and a hook
//! costs little more than its process.
//!
//! Reading order: [`serve`](mod@serve) is the life of the process from the lock to the last answer; [`running`] is its
//! description of itself in the home; [`sockets`] opens what it listens on; [`connections`] serves them, by the
//! limits of [`patience`] and [`places`]; [`client`] asks a service; [`keeper`] is the one thread that reads stores and works; [`hints`] and [`watch`] wake it; [`looks`]
//! polls where nothing can be watched; [`settings`] tells changed settings from those in use; [`upgrade`] replaces a running build with a new one; [`unit`] makes the file by
//! which a system starts it.
//!
//! The crate knows no route, because its caller supplies the router, and no outside program by name.

pub mod client;
mod connections;
mod hints;
mod keeper;
mod looks;
mod patience;
mod places;
pub mod running;
pub mod serve;
mod settings;
mod sockets;
mod supervisor;
pub mod unit;
mod upgrade;
mod watch;

pub use running::Running;
pub use serve::{Chore, Ended, Service, Via, Wires, serve};
pub use settings::Check;
pub use sockets::{INHERITED, Tcp};

//! Points in time as people write them on a command line.

use heirloom_engine::clock::Millis;
use heirloom_engine::error::Result;
use heirloom_engine::moment;
pub use heirloom_engine::moment::Edge;

use crate::print::zone;

/// Parses a time in the user's zone, as [`moment::parse`] does.
pub fn parse(text: &str, now: Millis, edge: Edge) -> Result<Millis> {
    moment::parse(text, now, &zone(), edge)
}

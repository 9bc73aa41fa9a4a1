//! config.toml of the home while the service runs: whether it was changed, and whether the changed one makes sense.

use std::sync::Arc;

use heirloom_engine::error::Result;
use heirloom_engine::home::{Home, layout};

/// Reads config.toml of a home. `Err` says why it makes no sense.
pub type Check = Arc<dyn Fn(&Home) -> Result<()> + Send + Sync>;

/// Maximum size of config.toml in bytes; the commands read no larger one either.
const LARGEST: u64 = 1 << 20;

/// The settings the service began with.
pub struct InUse {
    check: Check,
    text: Option<Vec<u8>>,
}

impl InUse {
    pub fn new(home: &Home, check: Check) -> InUse {
        InUse { check, text: text(home) }
    }

    /// Returns the contents of config.toml when the service began. `None` if there was none.
    pub fn text(&self) -> Option<&Vec<u8>> {
        self.text.as_ref()
    }

    /// Returns whether config.toml is as it was when the service began.
    pub fn are_of(&self, text: &Option<Vec<u8>>) -> bool {
        self.text == *text
    }

    /// Returns why a service that begins now would not begin with sound settings. Those it began with are good enough,
    /// whatever the check says.
    pub fn wrong(&self, home: &Home) -> Option<String> {
        if self.are_of(&text(home)) { None } else { (self.check)(home).err().map(|e| e.to_string()) }
    }
}

/// Returns the contents of config.toml. `None` if there is none.
pub fn text(home: &Home) -> Option<Vec<u8>> {
    home.read(&layout::CONFIG, LARGEST).ok().flatten()
}

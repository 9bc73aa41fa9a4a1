//! Time comes from here and nowhere else. Storey 0.
//!
//! All stored times are milliseconds since the Unix epoch, UTC. `Fixed` exists for tests: one trait less, since
//! there will never be a third clock.

use jiff::Timestamp;

/// Milliseconds since the Unix epoch, UTC.
pub type Millis = i64;

#[derive(Clone, Copy, Debug)]
pub enum Clock {
    System,
    Fixed(Millis),
}

impl Clock {
    pub fn now(&self) -> Millis {
        match self {
            Clock::System => Timestamp::now().as_millisecond(),
            Clock::Fixed(at) => *at,
        }
    }
}

/// Reads RFC 3339 (`2026-11-21T20:37:02.615Z`, offsets allowed). `None` for anything else.
pub fn parse_rfc3339(text: &str) -> Option<Millis> {
    text.parse::<Timestamp>().ok().map(|t| t.as_millisecond())
}

/// Prints `2026-11-21T20:37:02.615Z`.
pub fn rfc3339(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(t) => format!("{t:.3}"),
        Err(_) => format!("{at} ms"),
    }
}

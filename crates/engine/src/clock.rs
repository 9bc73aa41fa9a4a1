//! The only source of time. Storey 0.
//!
//! All stored times are milliseconds since the Unix epoch, UTC. `Fixed` exists for tests; it is an enum and not a
//! trait, since there will never be a third clock.

use jiff::Timestamp;

/// Milliseconds since the Unix epoch, UTC.
pub type Millis = i64;

#[derive(Clone, Copy, Debug)]
pub enum Clock {
    System,
    Fixed(Millis),
}

/// A time on the boot clock, which keeps running while the machine sleeps and cannot be set. Times of two boots cannot
/// be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Boot {
    /// The id of the boot.
    pub id: String,
    /// Milliseconds since a fixed moment of that boot.
    pub ms: Millis,
}

impl Clock {
    /// Returns the current time of the boot clock (R7.4). A fixed clock is one boot, called `fixed`.
    pub fn boot(&self) -> Boot {
        match self {
            Clock::System => boot(),
            Clock::Fixed(at) => Boot { id: "fixed".into(), ms: *at },
        }
    }

    pub fn now(&self) -> Millis {
        match self {
            Clock::System => Timestamp::now().as_millisecond(),
            Clock::Fixed(at) => *at,
        }
    }
}

fn ms(clock: rustix::time::ClockId) -> Millis {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec.saturating_mul(1_000).saturating_add(now.tv_nsec / 1_000_000)
}

#[cfg(target_os = "linux")]
fn boot() -> Boot {
    let ms = ms(rustix::time::ClockId::Boottime);
    match std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(id) if !id.trim().is_empty() => Boot { id: id.trim().to_owned(), ms },
        _ => Boot { id: started(ms), ms },
    }
}

/// Reads the monotonic clock, which keeps running in sleep on these systems.
#[cfg(not(target_os = "linux"))]
fn boot() -> Boot {
    let ms = ms(rustix::time::ClockId::Monotonic);
    Boot { id: started(ms), ms }
}

/// Returns when the machine started, to the minute, as an id for systems that do not name their boots. Setting the wall
/// clock makes it look like another boot: leases then count as expired, which is safe, because their holders are fenced
/// by the next grant.
fn started(ms: Millis) -> String {
    format!("started-{}", Clock::System.now().saturating_sub(ms).div_euclid(60_000))
}

/// Reads RFC 3339 (`2026-11-21T20:37:02.615Z`, offsets allowed). `None` for anything else.
pub fn parse_rfc3339(text: &str) -> Option<Millis> {
    text.parse::<Timestamp>().ok().map(|t| t.as_millisecond())
}

/// Formats a time as `2026-11-21T20:37:02.615Z`.
pub fn rfc3339(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(t) => format!("{t:.3}"),
        Err(_) => format!("{at} ms"),
    }
}

/// Serialises a time as [`rfc3339`] writes it.
pub fn as_rfc3339<S: serde::Serializer>(at: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*at))
}

/// Serialises like [`as_rfc3339`], for a time that may be unknown.
pub fn as_rfc3339_or_null<S: serde::Serializer>(at: &Option<Millis>, serializer: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&at.map(rfc3339), serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The boot clock counts from the start of the machine, which no wall clock does, and does not go back.
    #[test]
    fn the_boot_clock_is_not_the_wall_clock() {
        let (first, second) = (Clock::System.boot(), Clock::System.boot());
        assert_eq!(first.id, second.id);
        assert!(first.ms <= second.ms);
        assert!(first.ms < Clock::System.now() / 2, "no machine has run since 1998");
    }
}

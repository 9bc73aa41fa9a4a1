//! Looks up a time zone by name without reading the list of all zones, which takes some two hundred system calls: too
//! slow for a hook that needs one.

use std::path::{Component, Path};

use jiff::tz::TimeZone;

/// The zone files of Unix systems.
const ZONES: &str = "/usr/share/zoneinfo";

/// The largest size of a zone file, in bytes.
const LARGEST: u64 = 1 << 16;

/// Returns the zone of a name such as `Europe/Berlin`; `None` if the name is unknown.
pub fn named(name: &str) -> Option<TimeZone> {
    in_folder(Path::new(ZONES), name).or_else(|| TimeZone::get(name).ok())
}

/// Reads one file of the folder. A name that is not a plain path below it is left to the library.
fn in_folder(folder: &Path, name: &str) -> Option<TimeZone> {
    let below = Path::new(name);
    if name.is_empty() || below.components().any(|c| !matches!(c, Component::Normal(_))) {
        return None;
    }
    let path = folder.join(below);
    let is_one = path.metadata().is_ok_and(|m| m.is_file() && m.len() <= LARGEST);
    TimeZone::tzif(name, &std::fs::read(path).ok().filter(|_| is_one)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_the_one_the_library_has() {
        let noon = jiff::Timestamp::from_second(1_795_000_000).unwrap();
        for name in ["Europe/Berlin", "America/New_York", "UTC", "Asia/Kolkata", "europe/berlin"] {
            let (ours, theirs) = (named(name).unwrap(), TimeZone::get(name).unwrap());
            assert_eq!(noon.to_zoned(ours.clone()).datetime(), noon.to_zoned(theirs).datetime(), "{name}");
            assert_eq!(ours.iana_name().map(str::to_lowercase), Some(name.to_lowercase()));
        }
    }

    #[test]
    fn what_is_no_name_is_no_zone() {
        for name in ["", "Nowhere/Atall", "../../../etc/passwd", "/etc/passwd", "Europe", "tzdata.zi", "Europe/../UTC"]
        {
            assert!(named(name).is_none(), "{name}");
        }
    }
}

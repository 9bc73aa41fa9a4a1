//! `logs/hooks.log`: one line for each step a hook skipped; limited in size, without any text of conversations.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::home::{Home, layout};
use heirloom_engine::redact::redact;

/// Size in bytes at which the log is renamed to `hooks.log.1`, replacing the previous one.
const LARGEST: u64 = 256 * 1024;

/// Appends a line. Errors are ignored.
pub fn line(home: &Home, what: &str) {
    let folder = home.root().join(layout::LOGS.as_str());
    let path = folder.join("hooks.log");
    if std::fs::symlink_metadata(&path).is_ok_and(|m| m.len() > LARGEST) {
        let _ = std::fs::rename(&path, folder.join("hooks.log.1"));
    }
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let opened = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(nofollow).open(&path);
    let Ok(mut file) = opened else { return };
    let what: String = redact(what).chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect();
    let _ = file.write_all(format!("{} {what}\n", rfc3339(crate::context::clock().now())).as_bytes());
}

//! Warns about sessions that programs will soon delete. At its start, Claude Code removes session files that have not
//! changed for `cleanupPeriodDays` (30 unless its settings say otherwise).

use std::path::{Path, PathBuf};

use heirloom_harness::HostPaths;

/// Claude Code's default for `cleanupPeriodDays`.
const DEFAULT_DAYS: i64 = 30;

/// Number of days before deletion at which people are warned.
pub const SOON_DAYS: i64 = 9;

/// A program's rule for deleting sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Retention {
    pub days: i64,
    /// Path of the settings file for this rule, whether or not it exists.
    pub settings: PathBuf,
    pub is_default: bool,
}

/// Reads Claude Code's rule on this machine.
pub fn claude_code(host: &HostPaths) -> Retention {
    let folder = host.claude_config_dir.clone().unwrap_or_else(|| host.home.join(".claude"));
    let settings = folder.join("settings.json");
    let days = std::fs::read(&settings)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
        .and_then(|v| v.get("cleanupPeriodDays").and_then(serde_json::Value::as_i64))
        .filter(|days| *days >= 0);
    Retention { days: days.unwrap_or(DEFAULT_DAYS), settings, is_default: days.is_none() }
}

/// Counts the files that the rule deletes within [`SOON_DAYS`].
pub fn soon_deleted(files: &[PathBuf], rule: &Retention) -> u64 {
    let Some(limit) = days(rule.days - SOON_DAYS) else { return files.len() as u64 };
    files.iter().filter(|f| age(f).is_some_and(|age| age > limit)).count() as u64
}

fn age(path: &Path) -> Option<std::time::Duration> {
    std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

fn days(n: i64) -> Option<std::time::Duration> {
    u64::try_from(n).ok().map(|n| std::time::Duration::from_secs(n * 86_400))
}

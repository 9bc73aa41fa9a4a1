//! OpenCode: one SQLite database for all sessions, messages in parts, sub-agents as child sessions.

mod hook;
mod install;
mod transcript;
mod wire;

use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoder, ForeignSpec, Placement, RowQuery};

use crate::hook::Hooking;
use crate::install::{InstallPlan, Installed};
use crate::lines::is_plain_word;
use crate::{Form, Harness, HarnessSpec, HostPaths};

/// The program, for [`crate::ALL`].
pub struct OpenCode;

/// Statements that read the store. A message's parts change while it is written, so a session's fingerprint is the
/// time, number and size of all its rows. Sizes catch two changes within one millisecond; `octet_length` takes them
/// from the row's header without reading the body. The `event_sequence` table would be cheaper, but not every store has
/// it.
const SPEC: ForeignSpec = ForeignSpec {
    groups: "SELECT s.id, s.time_updated || '/' || octet_length(s.title) || '/' || (
            SELECT count(*) || ' ' || ifnull(max(time_updated), 0) || ' ' || ifnull(sum(octet_length(data)), 0)
            FROM message WHERE session_id = s.id
        ) || '/' || (
            SELECT count(*) || ' ' || ifnull(max(time_updated), 0) || ' ' || ifnull(sum(octet_length(data)), 0)
            FROM part WHERE session_id = s.id
        )
        FROM session AS s ORDER BY s.time_created, s.id",
    heads: &[RowQuery { table: "session", key: &["id"], sql: "SELECT * FROM session WHERE id = ?1" }],
    items: "SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created, id",
    item_rows: &[
        RowQuery { table: "message", key: &["id"], sql: "SELECT * FROM message WHERE session_id = ?1 AND id = ?2" },
        RowQuery {
            table: "part",
            key: &["id"],
            // The unary plus keeps SQLite on the index of message and id, which also has the order.
            sql: "SELECT * FROM part WHERE +session_id = ?1 AND message_id = ?2 ORDER BY id",
        },
    ],
    zstd: &[],
};

impl Harness for OpenCode {
    fn spec(&self) -> &'static HarnessSpec {
        &HarnessSpec { name: "opencode", title: "OpenCode", global_ids: true, resumes_in_project: true }
    }

    fn roots(&self, host: &HostPaths) -> Vec<PathBuf> {
        let data = host.xdg_data_home.clone().unwrap_or_else(|| host.home.join(".local/share"));
        vec![data.join("opencode")]
    }

    fn claims(&self, path: &Path) -> Option<Form> {
        // Release channels other than the stable one have their own file: `opencode-<channel>.db`.
        let name = path.file_name()?.to_str()?;
        (name.starts_with("opencode") && name.ends_with(".db")).then_some(Form::Foreign)
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { return false };
        name == "opencode.db" || (head.starts_with(b"SQLite format 3\0") && name.contains("opencode"))
    }

    fn place(&self, _path: &Path) -> Placement {
        // One file contains all sessions; each group names its own.
        Placement::default()
    }

    fn foreign(&self) -> Option<&'static ForeignSpec> {
        Some(&SPEC)
    }

    fn decoder(&self, _placement: &Placement, state: &[u8]) -> Box<dyn Decoder> {
        Box::new(transcript::Transcript::new(state))
    }

    fn resume(&self, native: &str) -> Option<String> {
        is_plain_word(native).then(|| format!("opencode --session {native}"))
    }

    fn hooking(&self) -> Option<&'static Hooking> {
        Some(&hook::HOOKING)
    }

    fn executable(&self) -> Option<&'static str> {
        Some("opencode")
    }

    fn install_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        Some(install::plan(host, how))
    }

    fn mcp_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        Some(install::mcp(host, how))
    }
}

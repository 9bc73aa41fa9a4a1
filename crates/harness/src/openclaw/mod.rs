//! OpenClaw: one SQLite database per agent, and the JSON lines of the same events that older versions wrote.

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
pub struct OpenClaw;

/// Statements that read the store. Events are only added, so their number, position and size show whether a session has
/// changed; its names are in the fingerprint because they are the title. The times in the other columns are left out:
/// they change whenever the session is viewed.
const SPEC: ForeignSpec = ForeignSpec {
    groups: "SELECT e.session_id, count(*) || '/' || max(e.seq) || '/' || max(e.created_at) || '/'
            || sum(coalesce(e.event_utf8_bytes, octet_length(e.event_json), 0)) || '/' || ifnull((
                SELECT ifnull(w.status, '') || '/' || ifnull(w.ended_at, '') || '/' || ifnull(w.display_name, '') || '/' || ifnull(n.label, '') || '/' || ifnull(n.display_name, '')
                FROM session_windows AS w LEFT JOIN session_nodes AS n ON n.session_key = w.session_key
                WHERE w.session_id = e.session_id
            ), '')
        FROM transcript_events AS e GROUP BY e.session_id ORDER BY min(e.created_at), e.session_id",
    heads: &[
        RowQuery {
            table: "session_windows",
            key: &["session_id"],
            sql: "SELECT * FROM session_windows WHERE session_id = ?1",
        },
        RowQuery {
            table: "session_nodes",
            key: &["session_key"],
            sql: "SELECT * FROM session_nodes
                WHERE session_key = (SELECT session_key FROM session_windows WHERE session_id = ?1)",
        },
    ],
    items: "SELECT seq FROM transcript_events WHERE session_id = ?1 ORDER BY seq",
    item_rows: &[RowQuery {
        table: "transcript_events",
        key: &["session_id", "seq"],
        sql: "SELECT * FROM transcript_events WHERE session_id = ?1 AND seq = ?2",
    }],
    zstd: &[("event_zstd", "event_json")],
};

impl Harness for OpenClaw {
    fn spec(&self) -> &'static HarnessSpec {
        &HarnessSpec { name: "openclaw", title: "OpenClaw", global_ids: true, resumes_in_project: false }
    }

    fn roots(&self, host: &HostPaths) -> Vec<PathBuf> {
        let state = host.openclaw_state_dir.clone().unwrap_or_else(|| host.home.join(".openclaw"));
        vec![state.join("agents")]
    }

    fn claims(&self, path: &Path) -> Option<Form> {
        let name = path.file_name()?.to_str()?;
        match folder_of(path)? {
            "agent" if name == "openclaw-agent.sqlite" => Some(Form::Foreign),
            // A name with another dot is a copy or a by-product: `.trajectory.jsonl`, `.checkpoint.….jsonl`.
            "sessions" if name.strip_suffix(".jsonl").is_some_and(|stem| !stem.contains('.')) => Some(Form::Lines),
            "sessions" if archived(name).is_some() => Some(Form::Lines),
            _ => None,
        }
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        if head.starts_with(b"SQLite format 3\0") {
            return path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.contains("openclaw"));
        }
        if head.starts_with(&ZSTD_MAGIC) {
            return path.file_name().and_then(|n| n.to_str()).is_some_and(|n| archived(n).is_some());
        }
        let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
        serde_json::from_slice::<wire::Event>(line).is_ok_and(|e| e.kind == "session" && e.version.is_some())
    }

    fn place(&self, path: &Path) -> Placement {
        let name = path.file_name().and_then(|n| n.to_str());
        let stem = name.and_then(|n| n.strip_suffix(".jsonl").or_else(|| archived(n)));
        let inside = matches!(folder_of(path), Some("agent" | "sessions"));
        let agent = path.parent().and_then(Path::parent).and_then(Path::file_name).and_then(|n| n.to_str());
        Placement {
            native: stem.unwrap_or_default().into(),
            lane: String::new(),
            agent: agent.filter(|_| inside).map(String::from),
        }
    }

    fn foreign(&self) -> Option<&'static ForeignSpec> {
        Some(&SPEC)
    }

    fn decoder(&self, placement: &Placement, state: &[u8]) -> Box<dyn Decoder> {
        Box::new(transcript::Transcript::new(placement, state))
    }

    fn resume(&self, native: &str) -> Option<String> {
        // The user appends the next message to this command line.
        is_plain_word(native).then(|| format!("openclaw agent --session-id {native} --message"))
    }

    fn hooking(&self) -> Option<&'static Hooking> {
        Some(&hook::HOOKING)
    }

    fn executable(&self) -> Option<&'static str> {
        Some("openclaw")
    }

    fn install_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        Some(install::plan(host, how))
    }

    fn mcp_plan(&self, host: &HostPaths, how: &Installed) -> Option<InstallPlan> {
        Some(install::mcp(host, how))
    }
}

/// The first bytes of a zstd-compressed file.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns the session whose transcript was archived under this name when it was deleted or reset:
/// `<session>.jsonl.deleted.<time>.<hash>.zst`.
fn archived(name: &str) -> Option<&str> {
    let (session, why) = name.strip_suffix(".zst")?.split_once(".jsonl.")?;
    let known = why.starts_with("deleted.") || why.starts_with("reset.");
    (known && !session.is_empty() && !session.contains('.')).then_some(session)
}

/// Returns the name of a file's folder.
fn folder_of(path: &Path) -> Option<&str> {
    path.parent()?.file_name()?.to_str()
}

//! Plain turns: the documented line format for conversations of any other kind (channel messages, e-mail, notes).
//!
//! One JSON object per line. Required: `session` and `text`. Optional: `id`, `time` (RFC 3339 or milliseconds),
//! `speaker`, `role` (`user`, `assistant`, `tool` or `system`; default `user`), `workspace`, `thread`, `participants`,
//! `tool`, `call`, `model`, `parent` and `run`. One file may contain many sessions. `lines.rs` is shared by all
//! adapters of line files. This format belongs to no program and has no folder of its own.

mod transcript;
mod wire;

use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoder, ForeignSpec, Placement};

use crate::install::{InstallPlan, Installed};
use crate::{Form, Harness, HarnessSpec, HostPaths};

/// The plain line format.
pub struct Turns;

impl Harness for Turns {
    fn spec(&self) -> &'static HarnessSpec {
        &HarnessSpec { name: "turns", title: "plain turns", global_ids: false, resumes_in_project: false }
    }

    /// Returns no folders: such files may be anywhere.
    fn roots(&self, _host: &HostPaths) -> Vec<PathBuf> {
        Vec::new()
    }

    fn claims(&self, _path: &Path) -> Option<Form> {
        None
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        let Some(first) = crate::lines::head_lines(head).next() else { return false };
        crate::lines::parse_line::<wire::Line>(first)
            .is_ok_and(|line| line.session.filled().is_some() && line.text.get().is_some())
    }

    fn place(&self, path: &Path) -> Placement {
        let native = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Placement { native, ..Placement::default() }
    }

    fn foreign(&self) -> Option<&'static ForeignSpec> {
        None
    }

    fn decoder(&self, _placement: &Placement, _state: &[u8]) -> Box<dyn Decoder> {
        Box::new(transcript::PlainTurns)
    }

    fn resume(&self, _native: &str) -> Option<String> {
        None
    }

    fn install_plan(&self, _host: &HostPaths, _how: &Installed) -> Option<InstallPlan> {
        None
    }
}

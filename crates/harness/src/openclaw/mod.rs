//! OpenClaw.

use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoder, ForeignSpec, Placement};

use crate::{Form, Harness, HarnessSpec, HostPaths};

pub struct OpenClaw;

impl Harness for OpenClaw {
    fn spec(&self) -> &'static HarnessSpec {
        &HarnessSpec { name: "openclaw", title: "OpenClaw", global_ids: true }
    }

    fn roots(&self, _host: &HostPaths) -> Vec<PathBuf> {
        todo!()
    }

    fn claims(&self, _path: &Path) -> Option<Form> {
        todo!()
    }

    fn recognises(&self, _path: &Path, _head: &[u8]) -> bool {
        todo!()
    }

    fn place(&self, _path: &Path) -> Placement {
        todo!()
    }

    fn foreign(&self) -> Option<&'static ForeignSpec> {
        todo!()
    }

    fn decoder(&self, _placement: &Placement, _state: &[u8]) -> Box<dyn Decoder> {
        todo!()
    }

    fn resume(&self, _native: &str) -> Option<String> {
        todo!()
    }
}

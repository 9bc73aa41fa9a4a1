//! Implements the engine's [`Program`] for a [`Harness`] with the folders of one host.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use heirloom_engine::clock::Millis;
use heirloom_engine::event::{Decoder, ForeignSpec, Placement};
use heirloom_engine::program::{Form, HookCall, HookError, Program};

use crate::{ALL, Harness, HostPaths};

/// Returns every program of [`ALL`] on this host, for opening an engine.
pub fn on_machine(host: &HostPaths) -> Vec<Arc<dyn Program>> {
    ALL.iter()
        .map(|harness| Arc::new(OnMachine { harness: *harness, host: host.clone() }) as Arc<dyn Program>)
        .collect()
}

/// A program with the folders of one host.
pub struct OnMachine {
    pub harness: &'static dyn Harness,
    pub host: HostPaths,
}

impl Program for OnMachine {
    fn name(&self) -> &'static str {
        self.harness.spec().name
    }

    fn title(&self) -> &'static str {
        self.harness.spec().title
    }

    fn global_ids(&self) -> bool {
        self.harness.spec().global_ids
    }

    fn roots(&self) -> Vec<PathBuf> {
        self.harness.roots(&self.host)
    }

    fn form(&self, path: &Path) -> Option<Form> {
        self.harness.claims(path)
    }

    fn place(&self, path: &Path) -> Placement {
        self.harness.place(path)
    }

    fn decoder(&self, placement: &Placement, state: &[u8]) -> Box<dyn Decoder> {
        self.harness.decoder(placement, state)
    }

    fn foreign(&self) -> Option<&'static ForeignSpec> {
        self.harness.foreign()
    }

    fn hook_call(&self, event: &str, payload: Vec<u8>, at: Millis) -> Result<Option<HookCall>, HookError> {
        let hook = self.harness.hooks().iter().find(|hook| hook.event == event).ok_or(HookError::UnknownEvent)?;
        let decoded = self.harness.decode_hook(event, &payload)?;
        Ok(decoded.map(|event| HookCall {
            program: self.name(),
            hook: hook.event,
            at,
            payload,
            gives: hook.gives,
            injection: self.harness.injection(),
            event,
            id: None,
        }))
    }

    fn resume(&self, native: &str, cwd: Option<&str>) -> Option<String> {
        let command = self.harness.resume(native)?;
        match cwd {
            Some(cwd) if self.harness.spec().resumes_in_project => Some(format!("cd {} && {command}", quoted(cwd))),
            _ => Some(command),
        }
    }
}

/// Quotes a path for a shell if it needs it, in single quotes.
pub fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '@' | '%' | ',' | ':');
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_cannot_smuggle_a_command_into_the_one_to_copy() {
        let claude = OnMachine { harness: &crate::claude_code::ClaudeCode, host: HostPaths::default() };
        let shown = claude.resume("258c7280-ae70-4798-800f-63464d01a85d", Some("/tmp/a'; rm -rf $HOME; echo 'b"));
        assert_eq!(
            shown.unwrap(),
            r"cd '/tmp/a'\''; rm -rf $HOME; echo '\''b' && claude --resume 258c7280-ae70-4798-800f-63464d01a85d"
        );
        let plain = claude.resume("258c7280-ae70-4798-800f-63464d01a85d", Some("/home/me/x")).unwrap();
        assert!(plain.starts_with("cd /home/me/x && "));
        let turns = OnMachine { harness: &crate::turns::Turns, host: HostPaths::default() };
        assert_eq!(turns.resume("x", None), None);
    }
}

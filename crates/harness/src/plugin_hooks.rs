//! Hooks of programs that load plugins. Both of Heirloom's plugins forward events in this form and accept this reply;
//! the type is their contract (docs/HOOKS.md).

use std::path::PathBuf;

use heirloom_engine::event::{HookEvent, Moment};
use serde_json::json;

use crate::hook::HookError;
use crate::loose::{Words, loosely};

loosely! {
    /// The payload a plugin sends.
    pub(crate) struct Payload {
        /// The program's session id.
        pub session: Option<Words>,
        /// The parent session, if this one is a sub-agent's.
        pub parent: Option<Words>,
        pub agent: Option<Words>,
        pub cwd: Option<Words>,
        /// The program's id of the run.
        pub run: Option<Words>,
        /// The person's prompt.
        pub prompt: Option<Words>,
        /// The prompt's id in the program's store.
        pub entry: Option<Words>,
        pub reason: Option<Words>,
    }
}

/// The field names of [`Payload`] as they are sent, and whether they are required.
pub(crate) const FIELDS: &[(&str, bool)] = &[
    ("session", true),
    ("parent", false),
    ("agent", false),
    ("cwd", false),
    ("run", false),
    ("prompt", false),
    ("entry", false),
    ("reason", false),
];

pub(crate) fn read(payload: &[u8]) -> Result<Payload, HookError> {
    serde_json::from_slice(payload).map_err(|e| HookError::Unreadable(format!("not the JSON of the plugin: {e}")))
}

pub(crate) fn text(field: &Option<Words>) -> Option<String> {
    field.as_ref().map(|w| w.0.clone()).filter(|text| !text.is_empty())
}

/// Makes the event of a payload.
pub(crate) fn event(payload: &Payload, moment: Moment) -> Result<HookEvent, HookError> {
    let session =
        text(&payload.session).ok_or_else(|| HookError::Unreadable("the payload names no session".to_owned()))?;
    Ok(HookEvent {
        session,
        agent: text(&payload.agent),
        // Any name is fine: the lane only has to differ from the main line.
        lane: text(&payload.parent).map(|parent| format!("of {parent}")).unwrap_or_default(),
        cwd: text(&payload.cwd),
        store: None::<PathBuf>,
        // A plugin's program keeps a store that no payload names.
        without_store: false,
        run: text(&payload.run),
        silent_for: None,
        moment,
    })
}

/// Makes the reply to a plugin: one object with `context`, the whole context the model is to be given now.
pub(crate) fn reply(block: &str) -> Vec<u8> {
    json!({"context": block}).to_string().into_bytes()
}

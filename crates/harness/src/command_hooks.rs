//! Hooks that are commands: Claude Code's, and Codex's in the same form. The payload comes on standard input; the
//! output is the reply.

use std::path::PathBuf;

use heirloom_engine::event::{Beginning, HookEvent, Moment};
use serde_json::json;

use crate::hook::{Decoded, HookError};
use crate::loose::{Words, loosely};

loosely! {
    /// The fields of a payload that are used; all others are ignored.
    pub(crate) struct Payload {
        pub session_id: Option<Words>,
        pub transcript_path: Option<Words>,
        pub agent_transcript_path: Option<Words>,
        pub cwd: Option<Words>,
        /// Claude Code's id of a run.
        pub prompt_id: Option<Words>,
        /// Codex's id of a run.
        pub turn_id: Option<Words>,
        pub agent_id: Option<Words>,
        pub agent_type: Option<Words>,
        pub source: Option<Words>,
        pub trigger: Option<Words>,
        pub prompt: Option<Words>,
        pub last_assistant_message: Option<Words>,
        /// Claude Code's whole seconds since the last answer, at the beginning of a copied or resumed session.
        pub seconds_since_last_response: Option<u32>,
    }
}

/// Returns the text of a field, unless it is missing or empty.
pub(crate) fn filled(field: &Option<Words>) -> Option<String> {
    field.as_ref().map(|w| w.0.clone()).filter(|text| !text.is_empty())
}

/// Decodes a payload. `machine`: returns whether the program itself wrote a prompt.
pub(crate) fn decode(event: &str, payload: &[u8], machine: fn(&str) -> bool) -> Decoded {
    let payload: Payload =
        serde_json::from_slice(payload).map_err(|e| HookError::Unreadable(format!("not the JSON of a hook: {e}")))?;
    let session =
        filled(&payload.session_id).ok_or_else(|| HookError::Unreadable("the payload names no session".to_owned()))?;
    let in_agent = filled(&payload.agent_id);
    let moment = match event {
        "SessionStart" => Moment::Start(match filled(&payload.source).as_deref() {
            Some("resume") => Beginning::Resume,
            Some("clear") => Beginning::Clear,
            Some("compact") => Beginning::Compact,
            Some("fork") => Beginning::Fork,
            // An unknown source counts as a new session.
            _ => Beginning::Startup,
        }),
        "UserPromptSubmit" => {
            let text = filled(&payload.prompt).unwrap_or_default();
            if machine(&text) {
                return Ok(None);
            }
            Moment::Prompt { text, entry: None, first_chance: false }
        }
        "Stop" => Moment::TurnEnd { answer: filled(&payload.last_assistant_message) },
        // A sub-agent without a type is the one with which the program itself compacts.
        "SubagentStop" if filled(&payload.agent_type).is_none() => return Ok(None),
        "SubagentStop" => Moment::TurnEnd { answer: None },
        // The output before a compaction that a person asked for is shown to them, and to the model with the next
        // prompt.
        "PreCompact" => Moment::Compacting { heard: filled(&payload.trigger).as_deref() == Some("auto") },
        "PostCompact" => Moment::Compacted,
        "SessionEnd" => Moment::End,
        _ => return Err(HookError::UnknownEvent),
    };
    // The program's store records a command in another form than it was typed.
    let is_command = matches!(&moment, Moment::Prompt { text, .. } if is_command(text));
    let lane = in_agent.map(|id| format!("agent-{id}")).unwrap_or_default();
    let path = if event == "SubagentStop" { &payload.agent_transcript_path } else { &payload.transcript_path };
    Ok(Some(HookEvent {
        session,
        agent: None,
        lane,
        cwd: filled(&payload.cwd),
        store: filled(path).map(PathBuf::from),
        without_store: filled(path).is_none(),
        run: filled(&payload.prompt_id).or_else(|| filled(&payload.turn_id)).filter(|_| !is_command),
        silent_for: payload.seconds_since_last_response.map(|seconds| i64::from(seconds) * 1000),
        moment,
    }))
}

/// Whether the input is a command of the program, such as `/review src`, and not a path.
fn is_command(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('/') else { return false };
    let name = rest.split_whitespace().next().unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

/// Makes the reply both programs accept. Any other field makes them drop all of it.
pub(crate) fn additional_context(event: &str, block: &str) -> Vec<u8> {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": block}}).to_string().into_bytes()
}

//! The integers the ledger stores for enumerations, and their names. The integers are a format (docs/FORMAT.md): never
//! renumber, only add.

use crate::event::{RecordClass, Role, RunStatus, TurnKind};
use crate::ledger::codes::*;

pub(super) fn role_code(role: Role) -> i64 {
    match role {
        Role::User => USER,
        Role::Assistant => ASSISTANT,
        Role::Tool => TOOL,
        Role::System => SYSTEM,
    }
}

/// Returns the role with a stored number.
pub fn role_of(code: i64) -> Role {
    match code {
        USER => Role::User,
        ASSISTANT => Role::Assistant,
        TOOL => Role::Tool,
        _ => Role::System,
    }
}

/// Returns the name of a role: `user`, `assistant`, `tool`, `system`.
pub fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::System => "system",
    }
}

/// Serialises a role by its name.
pub(super) fn as_role<S: serde::Serializer>(role: &Role, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(role_name(*role))
}

pub fn role_parse(name: &str) -> Option<Role> {
    [Role::User, Role::Assistant, Role::Tool, Role::System].into_iter().find(|r| role_name(*r) == name)
}

pub(super) fn kind_code(kind: TurnKind) -> i64 {
    match kind {
        TurnKind::Message => MESSAGE,
        TurnKind::Thinking => THINKING,
        TurnKind::ToolCall => TOOL_CALL,
        TurnKind::ToolResult => TOOL_RESULT,
        TurnKind::CompactSummary => COMPACT_SUMMARY,
        TurnKind::MachinePrompt => MACHINE_PROMPT,
    }
}

/// Returns the kind with a stored number.
pub fn kind_of(code: i64) -> TurnKind {
    match code {
        MESSAGE => TurnKind::Message,
        THINKING => TurnKind::Thinking,
        TOOL_CALL => TurnKind::ToolCall,
        TOOL_RESULT => TurnKind::ToolResult,
        COMPACT_SUMMARY => TurnKind::CompactSummary,
        _ => TurnKind::MachinePrompt,
    }
}

/// Returns the name of a kind: `message`, `thinking`, `tool-call`, `tool-result`, `compact-summary`, `machine-prompt`.
pub fn kind_name(kind: TurnKind) -> &'static str {
    match kind {
        TurnKind::Message => "message",
        TurnKind::Thinking => "thinking",
        TurnKind::ToolCall => "tool-call",
        TurnKind::ToolResult => "tool-result",
        TurnKind::CompactSummary => "compact-summary",
        TurnKind::MachinePrompt => "machine-prompt",
    }
}

/// Serialises a kind by its name.
pub(super) fn as_kind<S: serde::Serializer>(kind: &TurnKind, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind_name(*kind))
}

/// Returns the number by which the ledger stores a class of record.
pub fn class_code(class: RecordClass) -> i64 {
    match class {
        RecordClass::Conversation => 0,
        RecordClass::Compaction => 1,
        RecordClass::Meta => 2,
        RecordClass::Attachment => 3,
        RecordClass::Progress => 4,
        RecordClass::Blob => 5,
        RecordClass::Blank => 6,
        RecordClass::Unknown => 7,
        RecordClass::Quarantined => QUARANTINED,
    }
}

pub(super) fn class_of(code: i64) -> RecordClass {
    match code {
        0 => RecordClass::Conversation,
        1 => RecordClass::Compaction,
        2 => RecordClass::Meta,
        3 => RecordClass::Attachment,
        4 => RecordClass::Progress,
        5 => RecordClass::Blob,
        6 => RecordClass::Blank,
        QUARANTINED => RecordClass::Quarantined,
        _ => RecordClass::Unknown,
    }
}

/// Returns the name of a class: `conversation`, `compaction`, `meta`, `attachment`, `progress`, `blob`, `blank`,
/// `unknown`, `quarantined`.
pub fn class_name(class: RecordClass) -> &'static str {
    match class {
        RecordClass::Conversation => "conversation",
        RecordClass::Compaction => "compaction",
        RecordClass::Meta => "meta",
        RecordClass::Attachment => "attachment",
        RecordClass::Progress => "progress",
        RecordClass::Blob => "blob",
        RecordClass::Blank => "blank",
        RecordClass::Unknown => "unknown",
        RecordClass::Quarantined => "quarantined",
    }
}

pub(super) fn status_code(status: RunStatus) -> i64 {
    match status {
        RunStatus::Completed => RUN_COMPLETED,
        RunStatus::Interrupted => RUN_INTERRUPTED,
        RunStatus::Failed => RUN_FAILED,
    }
}

pub(super) fn status_name(code: i64) -> &'static str {
    match code {
        RUN_OPEN => "open",
        RUN_COMPLETED => "completed",
        RUN_INTERRUPTED => "interrupted",
        RUN_FAILED => "failed",
        RUN_SUPERSEDED => "superseded",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back() {
        for code in 0..4 {
            assert_eq!(role_code(role_of(code)), code);
            assert_eq!(role_parse(role_name(role_of(code))), Some(role_of(code)));
        }
        for code in 0..6 {
            assert_eq!(kind_code(kind_of(code)), code);
        }
        for code in 0..9 {
            assert_eq!(class_code(class_of(code)), code);
        }
    }
}

//! The integers the ledger stores for enumerations, and their names. The integers are a format (docs/FORMAT.md): never
//! renumber, only add.

use crate::event::{RecordClass, Role, RunStatus, TurnKind};

pub(super) fn role_code(role: Role) -> i64 {
    match role {
        Role::User => 0,
        Role::Assistant => 1,
        Role::Tool => 2,
        Role::System => 3,
    }
}

/// The role of a stored number.
pub fn role_of(code: i64) -> Role {
    match code {
        0 => Role::User,
        1 => Role::Assistant,
        2 => Role::Tool,
        _ => Role::System,
    }
}

/// `user`, `assistant`, `tool`, `system`.
pub fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::System => "system",
    }
}

pub fn role_parse(name: &str) -> Option<Role> {
    [Role::User, Role::Assistant, Role::Tool, Role::System].into_iter().find(|r| role_name(*r) == name)
}

pub(super) fn kind_code(kind: TurnKind) -> i64 {
    match kind {
        TurnKind::Message => 0,
        TurnKind::Thinking => 1,
        TurnKind::ToolCall => 2,
        TurnKind::ToolResult => 3,
        TurnKind::CompactSummary => 4,
        TurnKind::MachinePrompt => 5,
    }
}

/// The kind of a stored number.
pub fn kind_of(code: i64) -> TurnKind {
    match code {
        0 => TurnKind::Message,
        1 => TurnKind::Thinking,
        2 => TurnKind::ToolCall,
        3 => TurnKind::ToolResult,
        4 => TurnKind::CompactSummary,
        _ => TurnKind::MachinePrompt,
    }
}

/// `message`, `thinking`, `tool-call`, `tool-result`, `compact-summary`, `machine-prompt`.
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

pub(super) fn class_code(class: RecordClass) -> i64 {
    match class {
        RecordClass::Conversation => 0,
        RecordClass::Compaction => 1,
        RecordClass::Meta => 2,
        RecordClass::Attachment => 3,
        RecordClass::Progress => 4,
        RecordClass::Blob => 5,
        RecordClass::Blank => 6,
        RecordClass::Unknown => 7,
        RecordClass::Quarantined => 8,
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
        8 => RecordClass::Quarantined,
        _ => RecordClass::Unknown,
    }
}

/// `conversation`, `compaction`, `meta`, `attachment`, `progress`, `blob`, `blank`, `unknown`, `quarantined`.
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

/// Stored states of a run that has not ended, and of one whose next prompt came before its end.
pub(super) const RUN_OPEN: i64 = 0;
pub(super) const RUN_SUPERSEDED: i64 = 4;

pub(super) fn status_code(status: RunStatus) -> i64 {
    match status {
        RunStatus::Completed => 1,
        RunStatus::Interrupted => 2,
        RunStatus::Failed => 3,
    }
}

pub(super) fn status_name(code: i64) -> &'static str {
    match code {
        RUN_OPEN => "open",
        1 => "completed",
        2 => "interrupted",
        3 => "failed",
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

//! Hooks: what a program calls when something happens, and what it takes back (R12.1, R12.3).
//!
//! A payload becomes a [`HookEvent`] in the adapter's `hook.rs`; what is given back goes out through the same file, in
//! the fields that program accepts and no others. A payload that cannot be read is an error for the log and nothing for
//! the program.

use heirloom_engine::event::HookEvent;
pub use heirloom_engine::program::{HookError, Injection};

/// The six events of the contract (R12.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contract {
    SessionStart,
    UserPromptSubmit,
    /// A turn is over: where the conversation is captured live.
    Turn,
    PreCompaction,
    PostCompaction,
    SessionEnd,
}

impl Contract {
    pub const ALL: [Contract; 6] = [
        Contract::SessionStart,
        Contract::UserPromptSubmit,
        Contract::Turn,
        Contract::PreCompaction,
        Contract::PostCompaction,
        Contract::SessionEnd,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Contract::SessionStart => "session-start",
            Contract::UserPromptSubmit => "user-prompt-submit",
            Contract::Turn => "turn",
            Contract::PreCompaction => "pre-compaction",
            Contract::PostCompaction => "post-compaction",
            Contract::SessionEnd => "session-end",
        }
    }
}

/// One hook of a program that is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HookSpec {
    /// The program's own name for it, as in `heirloom hook claude-code SessionStart`.
    pub event: &'static str,
    pub contract: Contract,
    /// What is printed reaches a model.
    pub gives: bool,
    /// How long the program is told to wait, in seconds. We are done long before (R12.5).
    pub timeout_s: u32,
}

/// What there is to know of a program's hooks.
pub struct Hooking {
    /// The hooks it is asked to call, in the order people see them.
    pub hooks: &'static [HookSpec],
    pub injection: Injection,
    /// What a payload says, by the hook's name.
    pub decode: fn(&str, &[u8]) -> Decoded,
    /// What is printed for a hook that has something to give; `None`: this one gives nothing.
    pub reply: fn(&str, &str) -> Option<Vec<u8>>,
}

/// What an adapter makes of a payload. `None`: nothing that concerns a memory.
pub type Decoded = Result<Option<HookEvent>, HookError>;

/// The types of what a plugin sends and gets, as they stand in both plugins: made from the fields that are read here
/// (D9).
pub fn plugin_types() -> String {
    let fields = crate::plugin_hooks::FIELDS.iter().map(|(name, needed)| match needed {
        true => format!("{name}: string"),
        false => format!("{name}?: string"),
    });
    let fields: Vec<String> = fields.collect();
    // Two lines, as wide as the files are.
    let (first, second) = fields.split_at(6.min(fields.len()));
    format!(
        " * @typedef {{{{ {},\n *   {} }}}} Payload\n * @typedef {{{{ context: string }}}} Reply\n",
        first.join(", "),
        second.join(", ")
    )
}

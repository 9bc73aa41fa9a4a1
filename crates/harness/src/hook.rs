//! Hooks: the calls programs make on events, and the replies they accept (R12.1, R12.3).
//!
//! The adapter's `hook.rs` decodes a payload into a [`HookEvent`] and writes a reply with the fields the program
//! accepts, and no others. A payload that cannot be read is logged; the program gets no reply.

use heirloom_engine::event::HookEvent;
pub use heirloom_engine::program::{HookError, Injection};

/// The six events of the contract (R12.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contract {
    SessionStart,
    UserPromptSubmit,
    /// A turn ended: the conversation is captured live.
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

/// A hook of a program that calls Heirloom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HookSpec {
    /// The program's own name of the hook, as in `heirloom hook claude-code SessionStart`.
    pub event: &'static str,
    pub contract: Contract,
    /// Whether the output of the hook reaches a model.
    pub gives: bool,
    /// Time the program is told to wait, in seconds. Hooks finish long before (R12.5).
    pub timeout_s: u32,
}

/// The hooks of a program.
pub struct Hooking {
    /// The hooks that call Heirloom, in the order shown to people.
    pub hooks: &'static [HookSpec],
    pub injection: Injection,
    /// Decodes a payload; takes the hook's name first.
    pub decode: fn(&str, &[u8]) -> Decoded,
    /// Makes the output of a hook that injects context; `None` if this hook cannot.
    pub reply: fn(&str, &str) -> Option<Vec<u8>>,
}

/// A decoded payload. `None`: it does not concern memory.
pub type Decoded = Result<Option<HookEvent>, HookError>;

/// Returns the TypeScript types of a plugin's payload and reply, as both plugins contain them; generated from the
/// fields read here (D9).
pub fn plugin_types() -> String {
    let fields = crate::plugin_hooks::FIELDS.iter().map(|(name, needed)| match needed {
        true => format!("{name}: string"),
        false => format!("{name}?: string"),
    });
    let fields: Vec<String> = fields.collect();
    // The fields fill two lines as wide as the other lines of the files.
    let (first, second) = fields.split_at(6.min(fields.len()));
    format!(
        " * @typedef {{{{ {},\n *   {} }}}} Payload\n * @typedef {{{{ context: string }}}} Reply\n",
        first.join(", "),
        second.join(", ")
    )
}

//! Weights of turns by kind, for sessions of a person with a program. There a question is asked in a prompt, worked on
//! in tool calls whose long output has every word, and answered in one message, so the words of people and final
//! messages count more and the output of machines counts less.

use crate::event::{Role, TurnKind};

/// Length below which a turn counts less, in bytes: about two lines.
const SHORT: u32 = 160;

/// The weights of a ranking over sessions of programs. Searches use [`Weights::default`]; the laboratory varies them
/// (`heirloom-lab recall --fit` prints what each weight is worth).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// A person's message.
    pub person: f64,
    /// A message of the model that ends its work on a prompt.
    pub answer: f64,
    /// A message of the model that goes on to the next tool call: "Now let me look at the tests."
    pub remark: f64,
    pub call: f64,
    pub result: f64,
    /// Weight of the cosine against the words, where the best turn by words has 1.
    pub cosine: f64,
    /// Exponent of the factor of a turn shorter than [`SHORT`]: the length as a share of `SHORT`, to this power. "Now let
    /// me check the seed script." has all words of a question and answers none; BM25 prefers such turns.
    pub short: f64,
    /// The share of its score a turn passes to the turns directly before and after it.
    pub neighbour: f64,
    /// The share of its score that the best turn of a run passes to the run's prompt, and the prompt to the run's
    /// answer: an answer often lacks the words of its question, and a question those of its answer.
    pub run: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            person: 1.0,
            answer: 1.25,
            remark: 0.85,
            call: 0.9,
            result: 0.8,
            cosine: 1.6,
            short: 0.4,
            neighbour: 0.15,
            run: 0.2,
        }
    }
}

impl Weights {
    /// Weights for ranking by words and vectors alone, for measuring.
    pub const NONE: Weights = Weights {
        person: 1.0,
        answer: 1.0,
        remark: 1.0,
        call: 1.0,
        result: 1.0,
        cosine: 1.0,
        short: 0.0,
        neighbour: 0.0,
        run: 0.0,
    };

    /// Returns the factor of a turn of `bytes` of text, before it is known whether a message goes on to a tool call.
    pub(super) fn of(&self, role: Role, kind: TurnKind, bytes: u32) -> f64 {
        let length = f64::from(bytes.clamp(1, SHORT)) / f64::from(SHORT);
        length.powf(self.short) * self.of_kind(role, kind)
    }

    fn of_kind(&self, role: Role, kind: TurnKind) -> f64 {
        match (kind, role) {
            (TurnKind::Message, Role::User) => self.person,
            (TurnKind::Message, Role::Assistant) => self.answer,
            (TurnKind::ToolCall, _) => self.call,
            (TurnKind::ToolResult, _) => self.result,
            _ => 1.0,
        }
    }
}

/// Whether the text was written by a machine: a notice, an instruction file, the prompt of a sub-agent, a program's
/// summary. Such text answers no question asked of people and ranks behind everything else.
pub(super) fn is_machine(role: Role, kind: TurnKind) -> bool {
    role == Role::System || matches!(kind, TurnKind::MachinePrompt | TurnKind::CompactSummary)
}

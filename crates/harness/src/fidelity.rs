//! The events each program's hooks provide, and the replacement where one is missing. docs/HARNESSES.md is made from
//! this table (R12.1, D11). It contains only facts observed in the real program.

use crate::hook::Contract;

/// Degree to which a program supports one event of the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fidelity {
    Full,
    /// A replacement serves instead; the text names it and its consequence.
    Degraded(&'static str),
    /// Not available; the text says what happens instead.
    Absent(&'static str),
}

/// A program, or a way of using it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The name in `heirloom connect`; empty if there is nothing to connect.
    pub harness: &'static str,
    pub title: &'static str,
    /// The version it was observed with.
    pub seen: &'static str,
    /// In the order of [`Contract::ALL`].
    pub cells: [Fidelity; 6],
    /// Observation of the program when it is asked for a summary outside of any session: no hook fires, no session is
    /// written, no file is new. `None`: the program offers no such call, and is not asked.
    pub side_effect_free_summaries: Option<&'static str>,
}

use Fidelity::{Absent, Degraded, Full};

/// All programs, and the ways of using them that differ.
pub const TABLE: &[Row] = &[
    Row {
        harness: "claude-code",
        title: "Claude Code",
        seen: "2.1.330",
        cells: [
            Full,
            Full,
            Full,
            Degraded(
                "before an automatic one the summariser is told what must not get lost; before one that a person asks for it is told nothing, because the program shows the model the same again with the next prompt",
            ),
            Full,
            Full,
        ],
        side_effect_free_summaries: Some(
            "`claude -p` with `--safe-mode`, `--no-session-persistence` and no tools, asked with its own login; none of its hooks fires",
        ),
    },
    Row {
        harness: "codex",
        title: "Codex",
        seen: "0.169.0",
        cells: [
            Full,
            Full,
            Full,
            Degraded("the turns are made durable and the cut is announced; its summariser takes nothing from hooks"),
            Full,
            Full,
        ],
        side_effect_free_summaries: Some(
            "`codex exec --ephemeral` with hooks, shell and plugins switched off, read-only in an empty folder; your global AGENTS.md stays in what it is told",
        ),
    },
    Row {
        harness: "opencode",
        title: "OpenCode",
        seen: "1.18.33",
        cells: [
            Degraded(
                "there is a hook, and no way to give anything with it: what a session begins with comes with its first prompt",
            ),
            Full,
            Full,
            Full,
            Full,
            Degraded("a deleted session is ended; any other is closed after ten quiet minutes"),
        ],
        side_effect_free_summaries: None,
    },
    Row {
        harness: "openclaw",
        title: "OpenClaw",
        seen: "2026.9.6",
        cells: [
            Degraded(
                "not called for the first turn of `openclaw agent`: what a session begins with comes with its first prompt",
            ),
            Full,
            Full,
            Degraded("the cut is announced; its summariser takes nothing from hooks"),
            Full,
            Degraded(
                "called for a reset, a deletion and the end of the gateway, not at the end of a `--local` run: closed after ten quiet minutes",
            ),
        ],
        side_effect_free_summaries: Some(
            "`openclaw infer model run --local`: one completion, no agent turn, no tools, no session; it opens its state database, whose journal changes",
        ),
    },
    Row {
        harness: "",
        title: "OpenClaw without the plugin",
        seen: "2026.9.6",
        cells: [
            Absent("`heirloom context` prints on request what a session would begin with"),
            Absent("`heirloom recall` and `heirloom remember` work when they are called"),
            Degraded("no hook tells of a turn; `heirloom import` reads its database"),
            Absent("the compaction is found by the next import"),
            Degraded("the summary becomes a node with the next import; nothing is given back by itself"),
            Absent("closed after ten quiet minutes"),
        ],
        side_effect_free_summaries: None,
    },
];

/// Returns the table as Markdown, followed by an explanation of every cell that is not full.
pub fn markdown() -> String {
    let heads: Vec<&str> = Contract::ALL.iter().map(|c| c.name()).collect();
    let mut out = format!("| | {} | seen with |\n|---|{}---|\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in TABLE {
        let cells: Vec<&str> = row
            .cells
            .iter()
            .map(|cell| match cell {
                Full => "full",
                Degraded(_) => "degraded",
                Absent(_) => "absent",
            })
            .collect();
        out.push_str(&format!("| {} | {} | {} |\n", row.title, cells.join(" | "), row.seen));
    }
    out.push('\n');
    for row in TABLE {
        for (cell, contract) in row.cells.iter().zip(Contract::ALL) {
            if let Degraded(what) | Absent(what) = cell {
                out.push_str(&format!("- **{}, {}**: {what}.\n", row.title, contract.name()));
            }
        }
    }
    for row in TABLE.iter().filter(|row| !row.harness.is_empty()) {
        let what = row.side_effect_free_summaries.unwrap_or("it offers no call without a session and is not asked");
        out.push_str(&format!("- **{}, summaries without side effects**: {what}.\n", row.title));
    }
    out
}

/// Returns the hooks that call us, by program, as Markdown.
pub fn hooks_markdown() -> String {
    let mut out =
        "| program | hook | event of the contract | gives something back | told to wait |\n|---|---|---|---|---|\n"
            .to_owned();
    for harness in crate::ALL {
        for hook in harness.hooks() {
            let gives = if hook.gives { harness.injection().channel } else { "no" };
            out.push_str(&format!(
                "| {} | `{}` | {} | {gives} | {} s |\n",
                harness.spec().title,
                hook.event,
                hook.contract.name(),
                hook.timeout_s
            ));
        }
    }
    out
}

//! Every file and folder name in the product, once.
//!
//! Paths are relative to the home; those of the assistant home are relative to `workspaces/<agent>`. Knows nothing
//! about what is in the files, nor which of them exist.

use super::RelPath;
use crate::scope::AgentId;

/// The settings a person edits.
pub const CONFIG: RelPath = RelPath::literal("config.toml");
/// Everything SQLite, and what belongs to it.
pub const STATE: RelPath = RelPath::literal("state");
/// The ledger.
pub const RUNTIME_DB: RelPath = RelPath::literal("state/runtime.db");
/// What `connect` changed in the settings of other programs, and the way back. Losing it loses no more than exactness.
pub const CONNECTED: RelPath = RelPath::literal("state/connected.json");
/// Derived: full text, vectors, term statistics. Deleting it loses nothing.
pub const INDEX_DB: RelPath = RelPath::literal("state/index.db");
/// Copies made before a migration and on request.
pub const BACKUPS: RelPath = RelPath::literal("state/backups");
/// Files that live as long as one command.
pub const SCRATCH: RelPath = RelPath::literal("state/scratch");
/// What a hook could not write; drained by whoever opens next.
pub const SPOOL: RelPath = RelPath::literal("spool");
/// Socket, token and locks.
pub const RUN: RelPath = RelPath::literal("run");
/// The daemon's socket for local clients.
pub const SOCKET: RelPath = RelPath::literal("run/heirloom.sock");
/// The secret a client of the HTTP API shows.
pub const TOKEN: RelPath = RelPath::literal("run/token");
/// Bounded logs.
pub const LOGS: RelPath = RelPath::literal("logs");
/// One assistant home per agent.
pub const WORKSPACES: RelPath = RelPath::literal("workspaces");

/// Private state of the programs that run for an agent: `<agent>/<harness>/`, with their drafts in `drafts/`. Never
/// memory (R8.5).
pub const RUNTIME: RelPath = RelPath::literal("runtime");

/// Below a program's folder in `runtime/<agent>/`: what it leaves for a person to keep or to throw away.
pub const DRAFTS: &str = "drafts";

/// The private states of the programs that run for an agent, one folder each.
pub fn runtime(agent: &AgentId) -> RelPath {
    // An agent id is at most 64 plain characters, so this always parses (D3).
    RUNTIME.join(agent.as_str()).expect("an agent id is a plain path component")
}

/// The folders a home consists of, parents first. None of them may be a symlink.
pub const DIRECTORIES: &[RelPath] = &[STATE, BACKUPS, SCRATCH, SPOOL, RUN, LOGS, WORKSPACES];

/// How a lock file under `run/` ends.
pub const LOCK_SUFFIX: &str = ".lock";

/// The assistant home of an agent.
pub fn assistant_home(agent: &AgentId) -> RelPath {
    // An agent id is at most 64 plain characters, so this always parses (D3); a test holds us to it.
    WORKSPACES.join(agent.as_str()).expect("an agent id is a plain path component")
}

/// Who the agent is; bootstrapped once, then the human's.
pub const IDENTITY: RelPath = RelPath::literal("IDENTITY.md");
/// How the agent speaks; bootstrapped once, then the human's.
pub const SOUL: RelPath = RelPath::literal("SOUL.md");
/// How agents work here; bootstrapped once, then the human's.
pub const AGENTS: RelPath = RelPath::literal("AGENTS.md");
/// Who the user is; bootstrapped once, then the human's.
pub const USER: RelPath = RelPath::literal("USER.md");
/// The agent's global head, Tier 1 (D2). Also the name of an index in `memory/` and below.
pub const MEMORY_HEAD: RelPath = RelPath::literal("MEMORY.md");

/// File-backed working state.
pub const CONTINUITY: RelPath = RelPath::literal("continuity");
/// The deterministic now-page.
pub const ACTIVE: RelPath = RelPath::literal("continuity/ACTIVE.md");
/// Tier 2 heads.
pub const THREADS: RelPath = RelPath::literal("continuity/threads");
/// Daily notes, `YYYY/MM/YYYY-MM-DD.md`.
pub const DAILY: RelPath = RelPath::literal("continuity/daily");
/// Unresolved commitments.
pub const OPEN_LOOPS: RelPath = RelPath::literal("continuity/open-loops");
/// Resolved commitments.
pub const OPEN_LOOPS_ARCHIVE: RelPath = RelPath::literal("continuity/open-loops/archive");
/// Memory waiting for a yes.
pub const PROPOSALS: RelPath = RelPath::literal("continuity/proposals/memory");
/// Accepted proposals.
pub const PROPOSALS_MERGED: RelPath = RelPath::literal("continuity/proposals/memory/archive/merged");
/// Rejected proposals.
pub const PROPOSALS_REJECTED: RelPath = RelPath::literal("continuity/proposals/memory/archive/rejected");
/// Things made in a conversation, `YYYY/MM/YYYY-MM-DD-<slug>.md`.
pub const ARTIFACTS: RelPath = RelPath::literal("continuity/artifacts");
/// Weeks and months, `YYYY/YYYY-Www.md` and `YYYY/YYYY-MM.md`.
pub const ROLLUPS: RelPath = RelPath::literal("continuity/rollups");

/// What the folder of rollups is for.
pub const ROLLUPS_README: RelPath = RelPath::literal("continuity/rollups/README.md");

/// Durable memory.
pub const MEMORY: RelPath = RelPath::literal("memory");
/// The index of durable memory.
pub const MEMORY_INDEX: RelPath = RelPath::literal("memory/MEMORY.md");
/// What the user likes.
pub const PREFERENCE: RelPath = RelPath::literal("memory/preference");
/// Who the user is, leaf by leaf.
pub const IDENTITY_LEAVES: RelPath = RelPath::literal("memory/identity");
/// Durable memory per project, one folder per workspace id.
pub const WORKSPACE_MEMORY: RelPath = RelPath::literal("memory/workspace");
/// Below a workspace's folder: what stays true.
pub const KNOWLEDGE: RelPath = RelPath::literal("knowledge");
/// The folders of `knowledge/`.
pub const KNOWLEDGE_CLASSES: [&str; 4] = ["facts", "procedures", "blockers", "references"];
/// Below a workspace's folder: what was so a moment ago.
pub const LATEST_TURN: RelPath = RelPath::literal("runtime/latest-turn.md");
/// Below a workspace's folder: what is in the way right now.
pub const RUNTIME_BLOCKERS: RelPath = RelPath::literal("runtime/blockers.md");
/// Below a workspace's folder: the last turns.
pub const RECENT_TURNS: RelPath = RelPath::literal("runtime/recent-turns.md");
/// Below a workspace's folder: one file per session.
pub const SESSION_MEMORY: RelPath = RelPath::literal("runtime/session-memory");
/// Below a workspace's folder: skill candidates, `<candidate>/SKILL.md`.
pub const SKILLS: RelPath = RelPath::literal("evolve/skills");
/// The file of a skill candidate.
pub const SKILL_FILE: &str = "SKILL.md";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_an_assistant_home() {
        assert_eq!(assistant_home(&AgentId::main()).as_str(), "workspaces/main");
        assert_eq!(runtime(&AgentId::main()).as_str(), "runtime/main");
        assert_eq!(assistant_home(&AgentId::parse(&"z".repeat(64)).unwrap()).as_str().len(), "workspaces/".len() + 64);
    }
}

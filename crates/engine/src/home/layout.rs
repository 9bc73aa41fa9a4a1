//! The names of all files and folders, each defined once.
//!
//! Paths are relative to the home; those of the assistant home are relative to `workspaces/<agent>`. Does not know what
//! the files contain or which of them exist.

use super::RelPath;
use crate::scope::AgentId;

/// The settings file, edited by people.
pub const CONFIG: RelPath = RelPath::literal("config.toml");
/// The SQLite databases and their accompanying files.
pub const STATE: RelPath = RelPath::literal("state");
/// The ledger.
pub const RUNTIME_DB: RelPath = RelPath::literal("state/runtime.db");
/// The last row of the audit chain, noted outside the ledger.
pub const AUDIT_HEAD: RelPath = RelPath::literal("state/audit.head");
/// Record of the changes `connect` made in the settings of other programs, so that they can be undone. If this file is
/// lost, `disconnect` still works but may not restore the settings byte for byte.
pub const CONNECTED: RelPath = RelPath::literal("state/connected.json");
/// Time of the last backup, and the error of a failed one.
pub const BACKUP_STATE: RelPath = RelPath::literal("state/backup.json");
/// Derived data: full text, vectors, term statistics. Can be deleted without losing anything.
pub const INDEX_DB: RelPath = RelPath::literal("state/index.db");
/// The index of another embedding model while it is being made; once it is complete it replaces `state/index.db`.
pub const NEXT_INDEX_DB: RelPath = RelPath::literal("state/index-next.db");
/// Backups, made before a migration and on request.
pub const BACKUPS: RelPath = RelPath::literal("state/backups");
/// Temporary files that exist only while a command runs.
pub const SCRATCH: RelPath = RelPath::literal("state/scratch");
/// Working folder of programs that are asked as language models. It is always empty.
pub const MODEL: RelPath = RelPath::literal("state/model");
/// The key of the language model, if the environment has none.
pub const MODEL_KEY: RelPath = RelPath::literal("state/model.key");
/// Payloads a hook could not store; the next process that opens the home stores them.
pub const SPOOL: RelPath = RelPath::literal("spool");
/// Socket and locks.
pub const RUN: RelPath = RelPath::literal("run");
/// Clients that may connect over TCP: the digest of each client's token, and the agents it is for.
pub const TOKENS: RelPath = RelPath::literal("state/tokens.json");
/// Logs of limited size.
pub const LOGS: RelPath = RelPath::literal("logs");
/// One assistant home per agent.
pub const WORKSPACES: RelPath = RelPath::literal("workspaces");

/// Stands between the name of a home and a time in the name of the folder beside it in which a restore set the home's
/// older state aside.
pub const BEFORE_RESTORE: &str = ".before-restore-";

/// Private state of the programs that run for an agent: `<agent>/<harness>/`, with their drafts in `drafts/`. Never
/// memory (R8.5).
pub const RUNTIME: RelPath = RelPath::literal("runtime");

/// The folder below `runtime/<agent>/<harness>/` for drafts, which a person keeps or deletes.
pub const DRAFTS: &str = "drafts";

/// Returns the folder with the private states of the programs that run for an agent, one subfolder each.
pub fn runtime(agent: &AgentId) -> RelPath {
    // An agent id is at most 64 plain characters, so this always parses (D3).
    RUNTIME.join(agent.as_str()).expect("an agent id is a plain path component")
}

/// The folders every home has, parents first. None of them may be a symlink.
pub const DIRECTORIES: &[RelPath] = &[STATE, BACKUPS, SCRATCH, MODEL, SPOOL, RUN, LOGS, WORKSPACES];

/// The suffix of lock files under `run/`.
pub const LOCK_SUFFIX: &str = ".lock";

/// Returns the assistant home of an agent.
pub fn assistant_home(agent: &AgentId) -> RelPath {
    // An agent id is at most 64 plain characters, so this always parses (D3); a test checks it.
    WORKSPACES.join(agent.as_str()).expect("an agent id is a plain path component")
}

/// Page about the agent's identity. Written once by Heirloom, then edited by people only.
pub const IDENTITY: RelPath = RelPath::literal("IDENTITY.md");
/// How the agent speaks. Written once by Heirloom, then edited by people only.
pub const SOUL: RelPath = RelPath::literal("SOUL.md");
/// How agents work here. Written once by Heirloom, then edited by people only.
pub const AGENTS: RelPath = RelPath::literal("AGENTS.md");
/// Page about the user. Written once by Heirloom, then edited by people only.
pub const USER: RelPath = RelPath::literal("USER.md");
/// The agent's global head, Tier 1 (D2). Index files in `memory/` and below have the same name.
pub const MEMORY_HEAD: RelPath = RelPath::literal("MEMORY.md");

/// Working state kept in files.
pub const CONTINUITY: RelPath = RelPath::literal("continuity");
/// The page of current state, rendered deterministically.
pub const ACTIVE: RelPath = RelPath::literal("continuity/ACTIVE.md");
/// Heads of threads, Tier 2.
pub const THREADS: RelPath = RelPath::literal("continuity/threads");
/// Daily notes, `YYYY/MM/YYYY-MM-DD.md`.
pub const DAILY: RelPath = RelPath::literal("continuity/daily");
/// Open loops: unresolved commitments.
pub const OPEN_LOOPS: RelPath = RelPath::literal("continuity/open-loops");
/// Open loops that were resolved.
pub const OPEN_LOOPS_ARCHIVE: RelPath = RelPath::literal("continuity/open-loops/archive");
/// Memory proposals waiting for confirmation.
pub const PROPOSALS: RelPath = RelPath::literal("continuity/proposals/memory");
/// Accepted proposals.
pub const PROPOSALS_MERGED: RelPath = RelPath::literal("continuity/proposals/memory/archive/merged");
/// Rejected proposals.
pub const PROPOSALS_REJECTED: RelPath = RelPath::literal("continuity/proposals/memory/archive/rejected");
/// Artifacts made in conversations, `YYYY/MM/YYYY-MM-DD-<slug>.md`.
pub const ARTIFACTS: RelPath = RelPath::literal("continuity/artifacts");
/// Weekly and monthly rollups, `YYYY/YYYY-Www.md` and `YYYY/YYYY-MM.md`.
pub const ROLLUPS: RelPath = RelPath::literal("continuity/rollups");

/// Explains the folder of rollups to its readers.
pub const ROLLUPS_README: RelPath = RelPath::literal("continuity/rollups/README.md");

/// Durable memory.
pub const MEMORY: RelPath = RelPath::literal("memory");
/// The index of durable memory.
pub const MEMORY_INDEX: RelPath = RelPath::literal("memory/MEMORY.md");
/// Preferences of the user, one file each.
pub const PREFERENCE: RelPath = RelPath::literal("memory/preference");
/// Facts about the user, one file each.
pub const IDENTITY_LEAVES: RelPath = RelPath::literal("memory/identity");
/// Durable memory by project, one folder per workspace id.
pub const WORKSPACE_MEMORY: RelPath = RelPath::literal("memory/workspace");
/// Below a workspace's folder: durable knowledge.
pub const KNOWLEDGE: RelPath = RelPath::literal("knowledge");

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

//! Numbers by which the ledger's tables store kinds, for use in the text of a statement: `format!("… kind = {CHUNK}")`.
//! They are part of the format (docs/FORMAT.md): never renumber one, only add.
//!
//! They are written into the text of a statement instead of bound to it, because SQLite uses a partial index only if it
//! sees the number when it plans.

/// `nodes.kind`.
pub const CHUNK: i64 = 0;
pub const SESSION: i64 = 1;
pub const COMPACTION: i64 = 2;
pub const CONDENSED: i64 = 3;

/// `turns.role`.
pub const USER: i64 = 0;
pub const ASSISTANT: i64 = 1;
pub const TOOL: i64 = 2;
pub const SYSTEM: i64 = 3;

/// `turns.kind`.
pub const MESSAGE: i64 = 0;
pub const THINKING: i64 = 1;
pub const TOOL_CALL: i64 = 2;
pub const TOOL_RESULT: i64 = 3;
pub const COMPACT_SUMMARY: i64 = 4;
pub const MACHINE_PROMPT: i64 = 5;

/// `turn_results.status`: a run that has not ended, the three ends a program reports, and a run whose next prompt came
/// before its end.
pub const RUN_OPEN: i64 = 0;
pub const RUN_COMPLETED: i64 = 1;
pub const RUN_INTERRUPTED: i64 = 2;
pub const RUN_FAILED: i64 = 3;
pub const RUN_SUPERSEDED: i64 = 4;

/// `records.class` of records that could not be decoded.
pub const QUARANTINED: i64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partial_indexes_name_the_same_numbers() {
        let migrations = [
            include_str!("migrations/0002_visible_home.sql"),
            include_str!("migrations/0003_lineage.sql"),
            include_str!("migrations/0004_roots.sql"),
        ]
        .concat();
        for index in [
            format!("nodes_lane ON nodes (lane_no, first_turn) WHERE kind = {CHUNK};"),
            format!("nodes_time ON nodes (agent_no, last_at) WHERE kind IN ({SESSION}, {COMPACTION});"),
            format!("AND (p.kind = {CONDENSED} OR n.kind = {COMPACTION}));"),
            format!(
                "turns_hint ON turns (lane_no) WHERE thread_no IS NOT NULL AND role = {USER} AND kind = {MESSAGE};"
            ),
            format!("turns_call ON turns (session_no, call) WHERE kind = {TOOL_CALL};"),
            format!("turns_voice ON turns (session_no, speaker_no) WHERE speaker_no IS NOT NULL AND role > {USER};"),
            format!("turn_results_failed ON turn_results (last_at) WHERE status = {RUN_FAILED};"),
        ] {
            assert!(migrations.contains(&index), "{index}");
        }
    }
}

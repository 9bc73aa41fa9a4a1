//! Row numbers of the ledger, one type per table, so that the number of a session cannot be taken for that of a thread.
//! SQLite, JSON and people see the plain number.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use super::{NodeId, QuarantineId, TurnId};

/// Stores and reads a number type as the integer it wraps.
macro_rules! integer_in_sqlite {
    ($($name:ident),* $(,)?) => {$(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.0.into())
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<$name> {
                i64::column_result(value).map($name)
            }
        }
    )*};
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, serde::Serialize, schemars::JsonSchema)]
            pub struct $name(pub i64);

            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    self.0.fmt(f)
                }
            }

            impl From<$name> for serde_json::Value {
                fn from(number: $name) -> serde_json::Value {
                    number.0.into()
                }
            }
        )*
        integer_in_sqlite!($($name),*);
    };
}

numbers! {
    /// Number of an agent (table `agents`); stands for an [`AgentId`](super::AgentId) that the ledger knows.
    AgentNo
    /// A session (table `sessions`); stands for an agent and a [`SessionKey`](super::SessionKey).
    SessionNo
    /// A lane of turns within a session: the main one or a sub-agent's (table `lanes`).
    LaneNo
    /// A run: a prompt and everything up to the next prompt (table `turn_results`).
    RunNo
    /// A thread (table `threads`); stands for an agent and a [`ThreadKey`](super::ThreadKey).
    ThreadNo
    /// A candidate of evolve (table `candidates`).
    CandidateNo
    /// A pass of evolve (table `evolve_runs`).
    EvolveRunNo
    /// A project (table `workspaces`).
    WorkspaceNo
    /// A file or database that is read (table `sources`).
    SourceNo
    /// The part of a source that is read under one cursor (table `streams`).
    StreamNo
    /// A record of a stream: a range of bytes as its program wrote it (table `records`).
    RecordNo
    /// A compressed block of record bytes and turn texts (table `blocks`).
    BlockNo
    /// A name of a tool, a model or a speaker (table `names`).
    NameNo
    /// A point at which a program compacted its context (table `boundaries`).
    BoundaryNo
    /// A file of the tree (table `catalogue`).
    FileNo
    /// The sequence number of a file's last change among all changes of the tree.
    ChangeNo
    /// A kept earlier state of a file (table `file_revisions`).
    RevisionNo
    /// A notice about the user that waits for confirmation (table `pending_memory`), shown as `u:17`.
    PendingNo
    /// The tombstone of a forgotten memory (table `tombstones`).
    TombstoneNo
    /// A request for access on a channel (table `channel_events`), shown as `c:17`.
    RequestNo
    /// One run of a scheduled job (table `scheduled_runs`).
    JobRunNo
}

integer_in_sqlite!(TurnId, NodeId, QuarantineId);

-- Calls of hooks that were stored (SPEC R12.5): a call told twice, over the service and from the spool, is stored once.
-- A row is written in the transaction that stores the call, and goes after a day.
CREATE TABLE hook_calls (
  hook_id BLOB PRIMARY KEY,
  at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

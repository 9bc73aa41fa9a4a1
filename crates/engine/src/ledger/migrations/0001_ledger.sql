-- The ledger: conversations byte for byte, what they mean, and who did what (SPEC R4).
-- Numbers (`*_no`) are local to one ledger; ids and keys are what people and programs see.
-- Times are milliseconds since the epoch, UTC. Small integers for enumerations are listed in docs/FORMAT.md.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
  agent_no   INTEGER PRIMARY KEY,
  agent_id   TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

-- A project the agent works in. `alias_of` rejoins a moved project with what it was called before.
CREATE TABLE workspaces (
  workspace_no INTEGER PRIMARY KEY,
  agent_no     INTEGER NOT NULL REFERENCES agents,
  workspace_id TEXT NOT NULL,
  root         BLOB NOT NULL,
  label        TEXT NOT NULL,
  alias_of     INTEGER REFERENCES workspaces,
  created_at   INTEGER NOT NULL,
  UNIQUE (agent_no, workspace_id)
) STRICT;

CREATE TABLE sessions (
  session_no   INTEGER PRIMARY KEY,
  agent_no     INTEGER NOT NULL REFERENCES agents,
  session_key  TEXT NOT NULL,
  workspace_no INTEGER REFERENCES workspaces,
  cwd          TEXT,
  title        TEXT,
  version      TEXT,
  fork_of      TEXT,
  started_at   INTEGER,
  last_at      INTEGER,
  ended_at     INTEGER,
  ended_by     TEXT,
  created_at   INTEGER NOT NULL,
  UNIQUE (agent_no, session_key)
) STRICT;
CREATE INDEX sessions_last ON sessions (agent_no, last_at);

CREATE TABLE participants (
  session_no INTEGER NOT NULL REFERENCES sessions,
  name_no    INTEGER NOT NULL REFERENCES names,
  PRIMARY KEY (session_no, name_no)
) STRICT, WITHOUT ROWID;

-- The main line of a session (`lane` empty) or one of its sub-agents.
CREATE TABLE lanes (
  lane_no     INTEGER PRIMARY KEY,
  session_no  INTEGER NOT NULL REFERENCES sessions,
  lane        TEXT NOT NULL,
  parent_call TEXT,
  UNIQUE (session_no, lane)
) STRICT;

-- Repeated words: tools, models, speakers, thread hints.
CREATE TABLE names (
  name_no INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE
) STRICT;

-- A file or a database of an outside program, or the live API. The stat columns are those of the last complete
-- reading: equal means nothing to do.
CREATE TABLE sources (
  source_no INTEGER PRIMARY KEY,
  agent_no  INTEGER NOT NULL REFERENCES agents,
  harness   TEXT NOT NULL,
  form      INTEGER NOT NULL,
  path      BLOB NOT NULL,
  stat      TEXT,
  seen_at   INTEGER NOT NULL,
  UNIQUE (agent_no, harness, path)
) STRICT;

-- One file, or one foreign table row (`key` = table/primary key). `next`: the byte offset, or revision, still to come.
CREATE TABLE streams (
  stream_no  INTEGER PRIMARY KEY,
  source_no  INTEGER NOT NULL REFERENCES sources,
  key        TEXT NOT NULL,
  session_no INTEGER REFERENCES sessions,
  lane_no    INTEGER REFERENCES lanes,
  generation INTEGER NOT NULL DEFAULT 0,
  next       INTEGER NOT NULL DEFAULT 0,
  lines      INTEGER NOT NULL DEFAULT 0,
  mid_line   INTEGER NOT NULL DEFAULT 0,
  pending    BLOB,
  decoder    BLOB,
  UNIQUE (source_no, key)
) STRICT;
CREATE INDEX streams_session ON streams (session_no);

-- What a group of foreign rows (a session) looked like when it was last read whole.
CREATE TABLE foreign_groups (
  source_no   INTEGER NOT NULL REFERENCES sources,
  group_key   TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  PRIMARY KEY (source_no, group_key)
) STRICT, WITHOUT ROWID;

-- Compressed bytes: several records, each followed by the text of its turns.
CREATE TABLE blocks (
  block_no   INTEGER PRIMARY KEY,
  raw_length INTEGER NOT NULL,
  data       BLOB NOT NULL
) STRICT;

-- Source records: every byte of a stream belongs to exactly one. `digest` is keyed per record, so that it tells
-- nothing once the key is gone.
CREATE TABLE records (
  record_no    INTEGER PRIMARY KEY,
  stream_no    INTEGER NOT NULL REFERENCES streams,
  generation   INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  class        INTEGER NOT NULL,
  block_no     INTEGER NOT NULL REFERENCES blocks,
  block_offset INTEGER NOT NULL,
  key          BLOB NOT NULL,
  digest       BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_place ON records (stream_no, generation, position);

CREATE TABLE quarantine (
  quarantine_no INTEGER PRIMARY KEY,
  record_no     INTEGER NOT NULL UNIQUE REFERENCES records,
  line          INTEGER,
  reason        TEXT NOT NULL,
  at            INTEGER NOT NULL
) STRICT;

-- A run: everything from one prompt to the end of its answer, and its normalised outcome.
CREATE TABLE turn_results (
  run_no              INTEGER PRIMARY KEY,
  session_no          INTEGER NOT NULL REFERENCES sessions,
  lane_no             INTEGER NOT NULL REFERENCES lanes,
  run_key             TEXT,
  status              INTEGER NOT NULL,
  stop_reason         TEXT,
  model_no            INTEGER REFERENCES names,
  usage               TEXT,
  prompt_turn         INTEGER,
  answer_turn         INTEGER,
  request_fingerprint TEXT,
  opened_at           INTEGER,
  last_at             INTEGER,
  closed_by           TEXT
) STRICT;
CREATE INDEX turn_results_lane ON turn_results (lane_no, run_key);

-- Decoded views of records. Nothing automatic updates or deletes a row.
CREATE TABLE turns (
  turn_no      INTEGER PRIMARY KEY AUTOINCREMENT,
  session_no   INTEGER NOT NULL REFERENCES sessions,
  lane_no      INTEGER NOT NULL REFERENCES lanes,
  run_no       INTEGER NOT NULL REFERENCES turn_results,
  record_no    INTEGER NOT NULL REFERENCES records,
  entry        TEXT NOT NULL,
  revision     INTEGER NOT NULL,
  parent       TEXT,
  role         INTEGER NOT NULL,
  kind         INTEGER NOT NULL,
  at           INTEGER,
  workspace_no INTEGER REFERENCES workspaces,
  speaker_no   INTEGER REFERENCES names,
  model_no     INTEGER REFERENCES names,
  tool_no      INTEGER REFERENCES names,
  thread_no    INTEGER REFERENCES names,
  call         TEXT,
  failed       INTEGER NOT NULL,
  usage        TEXT,
  block_no     INTEGER NOT NULL REFERENCES blocks,
  text_offset  INTEGER NOT NULL,
  text_length  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX turns_entry ON turns (entry, session_no, revision);
CREATE INDEX turns_session ON turns (session_no);
CREATE INDEX turns_run ON turns (run_no);
CREATE INDEX turns_record ON turns (record_no);
CREATE INDEX turns_at ON turns (at);

-- Further records that say the same turn. `echo`: the record is a repetition its program writes beside the turn; where
-- there was no turn to repeat, it made one and witnesses itself.
CREATE TABLE witnesses (
  turn_no   INTEGER NOT NULL REFERENCES turns,
  record_no INTEGER NOT NULL REFERENCES records,
  echo      INTEGER NOT NULL,
  PRIMARY KEY (turn_no, record_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX witnesses_record ON witnesses (record_no);

-- A turn that also stands in another session: a fork or a resumed copy.
CREATE TABLE turn_references (
  session_no INTEGER NOT NULL REFERENCES sessions,
  turn_no    INTEGER NOT NULL REFERENCES turns,
  lane_no    INTEGER NOT NULL REFERENCES lanes,
  record_no  INTEGER NOT NULL REFERENCES records,
  PRIMARY KEY (session_no, turn_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_references_turn ON turn_references (turn_no);
CREATE INDEX turn_references_record ON turn_references (record_no);

-- Where a context was compacted or a session began a new segment.
CREATE TABLE boundaries (
  boundary_no INTEGER PRIMARY KEY,
  session_no  INTEGER NOT NULL REFERENCES sessions,
  lane_no     INTEGER NOT NULL REFERENCES lanes,
  record_no   INTEGER NOT NULL REFERENCES records,
  kind        TEXT NOT NULL,
  reason      TEXT,
  at          INTEGER,
  UNIQUE (record_no, kind)
) STRICT;
CREATE INDEX boundaries_session ON boundaries (session_no);

CREATE TABLE jobs (
  job_no          INTEGER PRIMARY KEY,
  kind            TEXT NOT NULL,
  payload         TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  state           TEXT NOT NULL,
  attempts        INTEGER NOT NULL DEFAULT 0,
  not_before      INTEGER NOT NULL,
  lease_owner     TEXT,
  lease_until     INTEGER,
  last_error      TEXT,
  created_at      INTEGER NOT NULL,
  done_at         INTEGER
) STRICT;
CREATE UNIQUE INDEX jobs_open ON jobs (kind, idempotency_key) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_due ON jobs (state, not_before);

-- Append-only, one row per transaction, each carrying the hash of the one before.
CREATE TABLE audit (
  audit_no INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL,
  agent_no INTEGER,
  actor    TEXT NOT NULL,
  action   TEXT NOT NULL,
  detail   TEXT NOT NULL,
  prev     BLOB NOT NULL,
  hash     BLOB NOT NULL
) STRICT;
CREATE TRIGGER audit_is_append_only_update BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON audit BEGIN SELECT raise(ABORT, 'audit is append-only'); END;

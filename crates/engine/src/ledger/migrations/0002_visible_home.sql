-- The visible home: what the ledger knows of the files of an assistant home, and what waits, runs and is asked beside
-- them (SPEC D1, R6.4, R7.5, R8, R9). Small words for enumerations are listed in docs/FORMAT.md.

-- `root`: the folder of an assistant home adopted where it is; NULL is workspaces/<agent>. `bootstrapped_at`: the
-- newcomer's files were written once.
ALTER TABLE agents ADD COLUMN root BLOB;
ALTER TABLE agents ADD COLUMN bootstrapped_at INTEGER;

-- One row per visible file, derived from it. A row of a file that is gone stays (`state` = gone), so that whoever
-- follows `change_no` learns of it. `published`: digest of what we last wrote there.
CREATE TABLE catalogue (
  file_no     INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_no    INTEGER NOT NULL REFERENCES agents,
  path        TEXT NOT NULL,
  kind        TEXT NOT NULL,
  state       TEXT NOT NULL,
  size        INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  changed_ns  INTEGER NOT NULL,
  inode       INTEGER NOT NULL,
  seen_ns     INTEGER NOT NULL,
  digest      BLOB NOT NULL,
  published   BLOB,
  item        TEXT,
  title       TEXT NOT NULL,
  class       TEXT,
  scope       TEXT,
  status      TEXT,
  fields      TEXT NOT NULL,
  problem     TEXT,
  change_no   INTEGER NOT NULL,
  UNIQUE (agent_no, path)
) STRICT;
CREATE UNIQUE INDEX catalogue_change ON catalogue (agent_no, change_no);
CREATE INDEX catalogue_kind ON catalogue (agent_no, kind, state, status);
CREATE INDEX catalogue_flush ON catalogue (agent_no, fields ->> 'flush');
CREATE INDEX catalogue_problem ON catalogue (agent_no) WHERE problem IS NOT NULL;
CREATE INDEX catalogue_item ON catalogue (agent_no, item) WHERE item IS NOT NULL;

-- What a file was before something took its place: a person's words that a rendered page or a command replaced.
CREATE TABLE file_revisions (
  revision_no INTEGER PRIMARY KEY,
  agent_no    INTEGER NOT NULL REFERENCES agents,
  path        TEXT NOT NULL,
  at          INTEGER NOT NULL,
  why         TEXT NOT NULL,
  digest      BLOB NOT NULL,
  data        BLOB NOT NULL,
  UNIQUE (agent_no, path, digest)
) STRICT;

-- An act on files and ledger: the plan (with everything needed to finish it) is stored first, then the files are
-- published, then it is marked done. `plan` is emptied when it is done.
CREATE TABLE flushes (
  flush_id   TEXT PRIMARY KEY,
  agent_no   INTEGER NOT NULL REFERENCES agents,
  action     TEXT NOT NULL,
  plan       TEXT,
  state      TEXT NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  done_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX flushes_open ON flushes (agent_no, created_at) WHERE state = 'planned';

-- Rendered pages: how often something changed that they show, and up to which change they show it.
CREATE TABLE heads (
  agent_no INTEGER NOT NULL REFERENCES agents,
  head     TEXT NOT NULL,
  dirty    INTEGER NOT NULL DEFAULT 0,
  rendered INTEGER NOT NULL DEFAULT 0,
  at       INTEGER,
  content  BLOB,
  PRIMARY KEY (agent_no, head)
) STRICT, WITHOUT ROWID;
CREATE INDEX heads_dirty ON heads (agent_no) WHERE dirty > rendered;

-- A line a person took out of a rendered page: its item stays out until it changes.
CREATE TABLE dismissals (
  agent_no INTEGER NOT NULL REFERENCES agents,
  head     TEXT NOT NULL,
  item     TEXT NOT NULL,
  digest   BLOB NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (agent_no, head, item)
) STRICT, WITHOUT ROWID;

-- The operator profile.
CREATE TABLE profile (
  agent_no INTEGER NOT NULL REFERENCES agents,
  key      TEXT NOT NULL,
  value    TEXT NOT NULL,
  source   TEXT NOT NULL,
  set_at   INTEGER NOT NULL,
  PRIMARY KEY (agent_no, key)
) STRICT, WITHOUT ROWID;

-- Memory about the user, noticed in what they said, waiting for their yes.
CREATE TABLE pending_memory (
  pending_no  INTEGER PRIMARY KEY,
  agent_no    INTEGER NOT NULL REFERENCES agents,
  kind        TEXT NOT NULL,
  key         TEXT NOT NULL,
  title       TEXT NOT NULL,
  text        TEXT NOT NULL,
  confidence  REAL NOT NULL,
  state       TEXT NOT NULL,
  seen        INTEGER NOT NULL DEFAULT 1,
  turn_no     INTEGER REFERENCES turns,
  session_no  INTEGER REFERENCES sessions,
  created_at  INTEGER NOT NULL,
  decided_at  INTEGER,
  result      TEXT,
  UNIQUE (agent_no, kind, key)
) STRICT;
CREATE INDEX pending_memory_open ON pending_memory (agent_no, state);

-- Memory that was forgotten and must not come back by itself. The key of the digest is random per row, so that it
-- tells nothing about the words.
CREATE TABLE tombstones (
  tombstone_no INTEGER PRIMARY KEY,
  agent_no     INTEGER NOT NULL REFERENCES agents,
  item         TEXT NOT NULL,
  path         TEXT NOT NULL,
  key          BLOB NOT NULL,
  digest       BLOB NOT NULL,
  at           INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstones_agent ON tombstones (agent_no);

-- Scheduled commands that were run for the agent.
CREATE TABLE scheduled_runs (
  run_no       INTEGER PRIMARY KEY,
  agent_no     INTEGER NOT NULL REFERENCES agents,
  name         TEXT NOT NULL,
  command      TEXT NOT NULL,
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER,
  exit_code    INTEGER,
  signal       INTEGER,
  artifact     TEXT,
  error        TEXT,
  acknowledged INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX scheduled_runs_time ON scheduled_runs (agent_no, started_at);
CREATE INDEX scheduled_runs_name ON scheduled_runs (agent_no, name, run_no);

-- Somebody asks to be let in on a channel, and what became of it.
CREATE TABLE channel_events (
  event_no   INTEGER PRIMARY KEY,
  agent_no   INTEGER NOT NULL REFERENCES agents,
  channel    TEXT NOT NULL,
  peer       TEXT NOT NULL,
  name       TEXT,
  detail     TEXT,
  state      TEXT NOT NULL,
  at         INTEGER NOT NULL,
  decided_at INTEGER
) STRICT;
CREATE UNIQUE INDEX channel_events_open ON channel_events (agent_no, channel, peer) WHERE state = 'pending';
CREATE INDEX channel_events_time ON channel_events (agent_no, at);

-- Failed runs are looked for by their rarity; sessions by the day they were last active.
CREATE INDEX turn_results_failed ON turn_results (last_at) WHERE status = 3;

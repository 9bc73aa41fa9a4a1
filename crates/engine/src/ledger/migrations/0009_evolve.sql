-- What sessions show about the projects they worked in, and what is made of it (SPEC R9.5, R11.3).

-- Sessions that evolve has read, up to a turn. `reader`: the version of what read them; an older one is read again.
CREATE TABLE evolve_sessions (
  session_no INTEGER PRIMARY KEY REFERENCES sessions,
  agent_no   INTEGER NOT NULL REFERENCES agents,
  through    INTEGER NOT NULL,
  reader     INTEGER NOT NULL
) STRICT;

-- What one session shows: a command that succeeded, a sentence of a person, a call that was refused. Derived from its
-- turns, and made again with them. `changed`: the person says that it is a change. `turns`: their ids, by which a forget
-- finds the row.
CREATE TABLE findings (
  finding_no INTEGER PRIMARY KEY,
  agent_no   INTEGER NOT NULL REFERENCES agents,
  session_no INTEGER NOT NULL REFERENCES sessions,
  kind       TEXT NOT NULL,
  subject    TEXT NOT NULL,
  value      TEXT NOT NULL,
  sentence   TEXT NOT NULL,
  changed    INTEGER NOT NULL,
  times      INTEGER NOT NULL,
  turns      TEXT NOT NULL,
  at         INTEGER
) STRICT;
CREATE INDEX findings_session ON findings (session_no);
CREATE INDEX findings_agent ON findings (agent_no);

-- What the findings of a project come to: a memory that waits, was proposed, was written, or was decided about. The key
-- is that of the statement, so that what was rejected is not proposed again.
CREATE TABLE candidates (
  candidate_no INTEGER PRIMARY KEY,
  agent_no     INTEGER NOT NULL REFERENCES agents,
  workspace_id TEXT NOT NULL,
  key          TEXT NOT NULL,
  class        TEXT NOT NULL,
  subject      TEXT NOT NULL,
  text         TEXT NOT NULL,
  confidence   REAL NOT NULL,
  sessions     INTEGER NOT NULL,
  evidence     TEXT NOT NULL,
  turns        TEXT NOT NULL,
  observed_at  INTEGER,
  state        TEXT NOT NULL,
  item         TEXT,
  run_no       INTEGER REFERENCES evolve_runs,
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  UNIQUE (agent_no, workspace_id, key)
) STRICT;

-- A pass that wrote or proposed something, as one act on files.
CREATE TABLE evolve_runs (
  run_no    INTEGER PRIMARY KEY,
  agent_no  INTEGER NOT NULL REFERENCES agents,
  kind      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  flush_id  TEXT,
  undone_at INTEGER
) STRICT;
CREATE INDEX evolve_runs_agent ON evolve_runs (agent_no, at);

-- The steps of a session's work in order, with slots for what differs: JSON [[turn, step, succeeded]] (SPEC R11.4).
CREATE TABLE skill_steps (
  session_no INTEGER PRIMARY KEY REFERENCES sessions,
  agent_no   INTEGER NOT NULL REFERENCES agents,
  steps      TEXT NOT NULL
) STRICT;

-- A procedure that recurs in a project. `steps`: JSON; `evidence`: JSON [[session, [turn]]]; `placed`: JSON
-- [[path, digest]] of the files that were written after a yes.
CREATE TABLE skill_candidates (
  candidate_no INTEGER PRIMARY KEY,
  agent_no     INTEGER NOT NULL REFERENCES agents,
  workspace_id TEXT NOT NULL,
  key          TEXT NOT NULL,
  name         TEXT NOT NULL,
  steps        TEXT NOT NULL,
  sessions     INTEGER NOT NULL,
  runs         INTEGER NOT NULL,
  succeeded    INTEGER NOT NULL,
  evidence     TEXT NOT NULL,
  state        TEXT NOT NULL,
  placed       TEXT NOT NULL DEFAULT '[]',
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  UNIQUE (agent_no, workspace_id, key)
) STRICT;

-- What the judge says of a chunk of messages: its category, and how important it is, from 1 to 10 (SPEC R11.2). `plain`:
-- what the words alone say, before what people's decisions taught. `source`: words, or the name of a model. `faded_at`: when
-- its vectors were dropped (SPEC R11.5); NULL: it has them.
CREATE TABLE judged_chunks (
  chunk_no   INTEGER PRIMARY KEY,
  agent_no   INTEGER NOT NULL REFERENCES agents,
  session_no INTEGER NOT NULL REFERENCES sessions,
  first_turn INTEGER NOT NULL,
  last_turn  INTEGER NOT NULL,
  category   TEXT,
  plain      INTEGER NOT NULL,
  importance INTEGER NOT NULL,
  source     TEXT NOT NULL,
  at         INTEGER,
  judged_at  INTEGER NOT NULL,
  faded_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX judged_chunks_session ON judged_chunks (session_no, last_turn);
CREATE INDEX judged_chunks_age ON judged_chunks (agent_no, importance, at);

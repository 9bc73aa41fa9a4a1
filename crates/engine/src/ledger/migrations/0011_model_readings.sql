-- What language models add to judging and to what sessions teach (SPEC R11.2, R11.3).

-- How often a model's answer about a chunk could not be used.
ALTER TABLE judged_chunks ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;

-- Whether a chunk is kept in front, by the threshold of its category when it was judged.
ALTER TABLE judged_chunks ADD COLUMN front INTEGER NOT NULL DEFAULT 0;
UPDATE judged_chunks SET front = importance >= 5;

-- A finding of a model: its name, how sure it is, and the memory it says is no longer so. NULL: found without one.
ALTER TABLE findings ADD COLUMN model TEXT;
ALTER TABLE findings ADD COLUMN confidence REAL;
ALTER TABLE findings ADD COLUMN contradicts TEXT;

-- The same for what the findings come to: the model, where only a model found it; the memories, JSON.
ALTER TABLE candidates ADD COLUMN model TEXT;
ALTER TABLE candidates ADD COLUMN contradicts TEXT NOT NULL DEFAULT '[]';

-- Sessions a model has read, up to a turn. `tries` of answers that could not be used, `problem` why the last one was not.
CREATE TABLE model_readings (
  session_no INTEGER PRIMARY KEY REFERENCES sessions,
  agent_no   INTEGER NOT NULL REFERENCES agents,
  through    INTEGER NOT NULL,
  model      TEXT NOT NULL,
  tries      INTEGER NOT NULL,
  problem    TEXT,
  read_at    INTEGER NOT NULL
) STRICT;

-- What a model says of open loops, until a person decides (SPEC D5): `kind` settled, same or title; `loop_id` the loop it
-- is about, `other` the loop that says the same; `text` the words that settle it, or the title; `turn` where they stand.
CREATE TABLE matters (
  matter_no  INTEGER PRIMARY KEY,
  agent_no   INTEGER NOT NULL REFERENCES agents,
  kind       TEXT NOT NULL,
  loop_id    TEXT NOT NULL,
  other      TEXT NOT NULL,
  text       TEXT NOT NULL,
  turn       TEXT,
  model      TEXT NOT NULL,
  state      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  decided_at INTEGER,
  UNIQUE (agent_no, kind, loop_id, other, text)
) STRICT;

-- What a model was asked about the open loops of a project last: a digest of the loops and of what was said since.
CREATE TABLE matters_asked (
  agent_no INTEGER NOT NULL REFERENCES agents,
  scope    TEXT NOT NULL,
  digest   BLOB NOT NULL,
  tries    INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (agent_no, scope)
) STRICT, WITHOUT ROWID;

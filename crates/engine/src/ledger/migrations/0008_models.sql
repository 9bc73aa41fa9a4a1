-- Calls of language models (SPEC R14.4): what each was for and what it used; nothing of what was asked or answered. A row
-- is written before a call, with the most it may use, and settled after it. `day`: in the operator's zone. `settings`: a
-- digest of the settings it was made with. `until`: a call without an outcome by then is taken as lost, and counts with
-- what it might have used. `again_at`: when the model said to ask again. `why`: a sentence of ours about a failure.
CREATE TABLE model_calls (
  call_no    INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  day        TEXT NOT NULL,
  purpose    TEXT NOT NULL,
  model      TEXT NOT NULL,
  settings   BLOB NOT NULL,
  backlog    INTEGER NOT NULL,
  outcome    TEXT NOT NULL,
  tokens_in  INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost       INTEGER,
  ms         INTEGER,
  until      INTEGER NOT NULL,
  again_at   INTEGER,
  why        TEXT
) STRICT;
CREATE INDEX model_calls_day ON model_calls (day);
CREATE INDEX model_calls_open ON model_calls (until) WHERE outcome = 'asked';

-- What a language model made of a node, beside the node (SPEC D5, R6.3): the node stays as it is. `summary` is NULL as
-- long as there is none; `tries` is how often it was asked for, `problem` why the last one was not taken. `key` and
-- `digest` as a node's; a forgotten one keeps its digest alone.
CREATE TABLE model_summaries (
  summary_no     INTEGER PRIMARY KEY,
  node_no        INTEGER NOT NULL UNIQUE REFERENCES nodes,
  model          TEXT NOT NULL,
  summary        TEXT,
  summary_tokens INTEGER NOT NULL,
  distillate     BLOB,
  tries          INTEGER NOT NULL,
  problem        TEXT,
  created_at     INTEGER NOT NULL,
  key            BLOB NOT NULL,
  digest         BLOB NOT NULL
) STRICT;

-- What hooks bring in before the programs' own stores have it (SPEC R4.4), and when a context was cut (SPEC R10.6).

-- A turn a hook told of and the program's store has not confirmed yet: shown and searchable, in no chunk. Its number,
-- words and run stay; what its program calls it is filled in when the store says it. `settled`: the session went quiet
-- without that; the turn stands as it is, and a later confirmation still finds it here.
CREATE TABLE provisional_turns (
  turn_no    INTEGER PRIMARY KEY REFERENCES turns,
  session_no INTEGER NOT NULL REFERENCES sessions,
  lane_no    INTEGER NOT NULL REFERENCES lanes,
  run_key    TEXT,
  settled    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX provisional_turns_session ON provisional_turns (session_no);
CREATE INDEX provisional_turns_lane ON provisional_turns (lane_no, settled);

-- How often a session's context was cut, as far as its program's hooks said. `next`: the number the epoch gets by the cut
-- that was announced last; `cause`: `compact` or `clear`. The session may be one nothing is stored of.
CREATE TABLE context_epochs (
  agent_no    INTEGER NOT NULL REFERENCES agents,
  session_key TEXT NOT NULL,
  epoch       INTEGER NOT NULL,
  next        INTEGER NOT NULL,
  cut_at      INTEGER,
  cause       TEXT,
  PRIMARY KEY (agent_no, session_key)
) STRICT, WITHOUT ROWID;

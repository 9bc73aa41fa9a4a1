-- Threads, the summary DAG, heads that several writers share, and what was forgotten (SPEC §6, §7, R14.2).

-- A lane of work across sessions. The key is stable; the label is what people read, `file` the name of its
-- head without the ending. Merging and renaming leave the key
-- of everything born under it as it is: `merged_into` and the names lead from one to the other.
CREATE TABLE threads (
  thread_no   INTEGER PRIMARY KEY,
  agent_no    INTEGER NOT NULL REFERENCES agents,
  thread_key  TEXT NOT NULL,
  file        TEXT NOT NULL,
  label       TEXT NOT NULL,
  state       TEXT NOT NULL,
  merged_into INTEGER REFERENCES threads,
  created_at  INTEGER NOT NULL,
  closed_at   INTEGER,
  UNIQUE (agent_no, thread_key),
  UNIQUE (agent_no, file)
) STRICT;
CREATE INDEX threads_merged ON threads (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX threads_label ON threads (agent_no, label COLLATE NOCASE);

-- Names a thread had or was given: each still leads to it.
CREATE TABLE thread_names (
  agent_no  INTEGER NOT NULL REFERENCES agents,
  name      TEXT NOT NULL COLLATE NOCASE,
  thread_no INTEGER NOT NULL REFERENCES threads,
  at        INTEGER NOT NULL,
  PRIMARY KEY (agent_no, name)
) STRICT, WITHOUT ROWID;

-- Two threads that may know of each other (R10.3). The smaller number stands first.
CREATE TABLE thread_links (
  agent_no  INTEGER NOT NULL REFERENCES agents,
  thread_no INTEGER NOT NULL REFERENCES threads,
  other_no  INTEGER NOT NULL REFERENCES threads,
  why       TEXT,
  at        INTEGER NOT NULL,
  PRIMARY KEY (thread_no, other_no),
  CHECK (thread_no < other_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX thread_links_other ON thread_links (other_no);

-- From the first run behind `after_turn` on, the session belongs to this thread; NULL: to the one it would belong to by
-- itself again.
CREATE TABLE thread_switches (
  switch_no  INTEGER PRIMARY KEY,
  session_no INTEGER NOT NULL REFERENCES sessions,
  after_turn INTEGER NOT NULL,
  thread_no  INTEGER REFERENCES threads,
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX thread_switches_session ON thread_switches (session_no, after_turn);

-- Which thread a run belongs to: membership changes only with a prompt.
CREATE TABLE run_threads (
  run_no    INTEGER PRIMARY KEY REFERENCES turn_results,
  thread_no INTEGER NOT NULL REFERENCES threads
) STRICT;
CREATE INDEX run_threads_thread ON run_threads (thread_no);

-- What tells where a run belongs: a caller's hints on prompts, the call a sub-agent answers to, names that are not a
-- person's.
CREATE INDEX turns_hint ON turns (lane_no) WHERE thread_no IS NOT NULL AND role = 0 AND kind = 0;
CREATE INDEX turns_call ON turns (session_no, call) WHERE kind = 2;
CREATE INDEX turns_voice ON turns (session_no, speaker_no) WHERE speaker_no IS NOT NULL AND role > 0;

-- The run that began at an earlier place than where this one had led: its program left this branch.
ALTER TABLE turn_results ADD COLUMN left_by INTEGER REFERENCES turn_results (run_no);
CREATE INDEX turn_results_left ON turn_results (session_no) WHERE left_by IS NOT NULL;

-- The summary DAG. Insert only. A chunk covers every turn of its lane from `first_turn` to `last_turn`; a node with
-- children covers what they cover. `key`: random, for the digest; empty in a tombstone, like its words. A node that
-- belongs to an act which is not finished (`flush_id` planned in `flushes`) does not stand yet.
CREATE TABLE nodes (
  node_no        INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_no       INTEGER NOT NULL REFERENCES agents,
  kind           INTEGER NOT NULL,
  depth          INTEGER NOT NULL,
  thread_no      INTEGER NOT NULL REFERENCES threads,
  session_no     INTEGER REFERENCES sessions,
  lane_no        INTEGER REFERENCES lanes,
  first_turn     INTEGER NOT NULL,
  last_turn      INTEGER NOT NULL,
  first_at       INTEGER,
  last_at        INTEGER,
  turns          INTEGER NOT NULL,
  summary        TEXT NOT NULL,
  distillate     BLOB,
  source         INTEGER NOT NULL,
  source_tokens  INTEGER NOT NULL,
  summary_tokens INTEGER NOT NULL,
  summary_turn   INTEGER REFERENCES turns,
  abandoned      INTEGER NOT NULL DEFAULT 0,
  late           TEXT,
  replaces       INTEGER REFERENCES nodes,
  flush_id       TEXT,
  created_at     INTEGER NOT NULL,
  key            BLOB NOT NULL,
  digest         BLOB NOT NULL
) STRICT;
CREATE INDEX nodes_thread ON nodes (thread_no, kind, node_no);
CREATE INDEX nodes_session ON nodes (session_no, kind, last_turn);
CREATE INDEX nodes_lane ON nodes (lane_no, first_turn) WHERE kind = 0;
CREATE INDEX nodes_replaces ON nodes (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX nodes_time ON nodes (agent_no, last_at) WHERE kind IN (1, 2);
CREATE INDEX nodes_thread_time ON nodes (thread_no, last_at);
CREATE INDEX nodes_recent ON nodes (agent_no, last_at, thread_no);

CREATE TABLE node_edges (
  parent_no INTEGER NOT NULL REFERENCES nodes,
  child_no  INTEGER NOT NULL REFERENCES nodes,
  PRIMARY KEY (parent_no, child_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_edges_child ON node_edges (child_no);

-- Where a context was cut: the handoff, what stayed raw behind it, and in which order a context is put together again.
-- Its number within the session is the dedup epoch. It stands when its act is finished, like its node.
CREATE TABLE compactions (
  compaction_no INTEGER PRIMARY KEY,
  session_no    INTEGER NOT NULL REFERENCES sessions,
  lane_no       INTEGER NOT NULL REFERENCES lanes,
  node_no       INTEGER REFERENCES nodes,
  boundary_no   INTEGER UNIQUE REFERENCES boundaries,
  cause         TEXT NOT NULL,
  until_turn    INTEGER NOT NULL,
  preserved     TEXT NOT NULL,
  restoration   TEXT NOT NULL,
  flush_id      TEXT,
  at            INTEGER NOT NULL
) STRICT;
CREATE INDEX compactions_session ON compactions (session_no, compaction_no);
CREATE INDEX compactions_node ON compactions (node_no);

-- Sessions whose lineage is behind what was stored. `mark` grows with every append; `done` is the mark it was last
-- brought up to; `due_at`: when to look again (NULL: nothing to do).
CREATE TABLE lineage_marks (
  session_no INTEGER PRIMARY KEY REFERENCES sessions,
  mark       INTEGER NOT NULL,
  done       INTEGER NOT NULL,
  due_at     INTEGER
) STRICT;
CREATE INDEX lineage_marks_due ON lineage_marks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX turns_lane ON turns (lane_no);
INSERT INTO lineage_marks (session_no, mark, done, due_at) SELECT session_no, 1, 0, 0 FROM sessions;

-- A head that several may write: its newest revision, who holds it, and the fencing token of whoever held it last.
ALTER TABLE heads ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE heads ADD COLUMN published INTEGER NOT NULL DEFAULT 0;
ALTER TABLE heads ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE heads ADD COLUMN owner TEXT;
ALTER TABLE heads ADD COLUMN lease_boot TEXT;
ALTER TABLE heads ADD COLUMN lease_until INTEGER;
CREATE INDEX heads_behind ON heads (agent_no) WHERE revision > published;
-- What was rendered before there were revisions becomes the first one.
UPDATE heads SET dirty = dirty + 1 WHERE head IN ('memory', 'active');

-- `content`: the rendered block; empty where a forget took it away. `sections`: JSON, by name.
CREATE TABLE head_revisions (
  agent_no INTEGER NOT NULL REFERENCES agents,
  head     TEXT NOT NULL,
  revision INTEGER NOT NULL,
  epoch    INTEGER NOT NULL,
  owner    TEXT NOT NULL,
  at       INTEGER NOT NULL,
  digest   BLOB NOT NULL,
  content  BLOB NOT NULL,
  sections TEXT NOT NULL,
  PRIMARY KEY (agent_no, head, revision)
) STRICT, WITHOUT ROWID;

-- What an outside writer has put into a head; kept as it is until its owner replaces or removes it.
CREATE TABLE head_sections (
  agent_no INTEGER NOT NULL REFERENCES agents,
  head     TEXT NOT NULL,
  section  TEXT NOT NULL,
  owner    TEXT NOT NULL,
  content  TEXT NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (agent_no, head, section)
) STRICT, WITHOUT ROWID;

-- Commits that met a busy head: the newest of each owner and section, to land when the head is free. `content` NULL
-- removes the section.
CREATE TABLE head_deferred (
  agent_no INTEGER NOT NULL REFERENCES agents,
  head     TEXT NOT NULL,
  section  TEXT NOT NULL,
  owner    TEXT NOT NULL,
  content  TEXT,
  at       INTEGER NOT NULL,
  PRIMARY KEY (agent_no, head, section, owner)
) STRICT, WITHOUT ROWID;

-- What an explicit forget took away. The address stays, so that nothing brings it back. A forgotten record has no key
-- any more and its bytes are blanked in their block.
-- `sessions.forgotten`: all of it was; of what is read again only turns nobody has seen are kept.
ALTER TABLE records ADD COLUMN forgotten INTEGER;
ALTER TABLE sessions ADD COLUMN forgotten INTEGER;
ALTER TABLE turns ADD COLUMN forgotten INTEGER;
CREATE INDEX turns_forgotten ON turns (entry) WHERE forgotten IS NOT NULL;

-- The newest sessions of a project and the newest runs of a lane, however many there are.
CREATE INDEX sessions_workspace ON sessions (agent_no, workspace_no, last_at);
CREATE INDEX turn_results_newest ON turn_results (lane_no);

-- What programs were given (SPEC R10.4, R10.6).

-- What a program can take: its name, how a context reaches it, how much of it. Equal ones are one row.
CREATE TABLE capability_manifests (
  manifest_no INTEGER PRIMARY KEY,
  digest      BLOB NOT NULL UNIQUE,
  manifest    TEXT NOT NULL
) STRICT;

-- One context that was put together. `session_key`: the session may be one nothing is known of yet. `content`: the
-- sanitised request, the profile of its prompt cache, what was left out and why, and the block as it was printed
-- (FORMAT.md); empty where a forget took it away. `key`, `digest`: by which the block is known again.
CREATE TABLE contexts (
  context_no  INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_no    INTEGER NOT NULL REFERENCES agents,
  session_key TEXT NOT NULL,
  event       TEXT NOT NULL,
  epoch       INTEGER NOT NULL,
  manifest_no INTEGER NOT NULL REFERENCES capability_manifests,
  tokens      INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  fingerprint BLOB NOT NULL,
  content     BLOB NOT NULL,
  key         BLOB NOT NULL,
  digest      BLOB NOT NULL
) STRICT;
CREATE INDEX contexts_session ON contexts (agent_no, session_key, epoch);

-- What a session's context holds since it was cut last. `digest`: under the context's key, of a file's version or of the
-- words, so that a changed item is let in again.
CREATE TABLE injected_items (
  agent_no    INTEGER NOT NULL REFERENCES agents,
  session_key TEXT NOT NULL,
  epoch       INTEGER NOT NULL,
  item        TEXT NOT NULL,
  context_no  INTEGER NOT NULL REFERENCES contexts,
  digest      BLOB NOT NULL,
  PRIMARY KEY (agent_no, session_key, epoch, item, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX injected_items_context ON injected_items (context_no);

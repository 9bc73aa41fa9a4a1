-- What was forgotten of names, addresses and ids (SPEC R14.2): the words of one, under a key of this ledger. Whatever is stored
-- later has a mark in the place of such words, so that no import brings them back.
CREATE TABLE forgotten_names (
  digest BLOB PRIMARY KEY,
  words  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

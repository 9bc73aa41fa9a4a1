-- Seals (SPEC R4.6): what the rows of each table add up to, under a key of this ledger, so that a row nobody of ours wrote is
-- noticed. `name` is the table, `part` a row of a small table or a stretch of rows of a large one; the empty name has the key
-- (part 0) and the sum of everything (part 1), which each audit row repeats.
CREATE TABLE seals (
  name TEXT NOT NULL,
  part INTEGER NOT NULL,
  sum  BLOB NOT NULL,
  PRIMARY KEY (name, part)
) STRICT, WITHOUT ROWID;

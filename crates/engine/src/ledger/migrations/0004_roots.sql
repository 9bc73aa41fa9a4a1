-- What no node condenses yet, by thread and depth, oldest first: a handful of rows however long a thread's history is
-- (SPEC R6.7). Derived from nodes and node_edges. It may hold a node that is covered by now; whoever reads it checks.
CREATE TABLE node_roots (
  thread_no INTEGER NOT NULL REFERENCES threads,
  depth     INTEGER NOT NULL,
  moment    INTEGER NOT NULL,
  node_no   INTEGER NOT NULL REFERENCES nodes,
  PRIMARY KEY (thread_no, depth, moment, node_no)
) STRICT, WITHOUT ROWID;
INSERT INTO node_roots (thread_no, depth, moment, node_no)
  SELECT thread_no, depth, coalesce(last_at, created_at), node_no FROM nodes n
  WHERE kind != 0 AND length(key) > 0
    AND NOT EXISTS (SELECT 1 FROM node_edges e JOIN nodes p ON p.node_no = e.parent_no
                    WHERE e.child_no = n.node_no AND length(p.key) > 0 AND (p.kind = 3 OR n.kind = 2));

"""How far two tables are from each other, where they are not the same file.

    python compare.py WORK ONE OTHER

Another processor's arithmetic may round the teacher's numbers differently; the fit then ends a little elsewhere, and rare
pieces' rows with it. What has to agree is what the tables say: how alike the examples of WORK/pairs.jsonl are to each
other, as a correlation between the two tables.
"""

import json
import sys
from pathlib import Path

import numpy as np

from measure import read

# A table fitted on the same texts with noise in the teacher's vectors, as large as 8-bit weights make it (cosine 0.99),
# came to 0.985; a table of the same recipe fitted on other texts to 0.89.
LEAST = 0.95


def main(work, one, other):
    texts = [json.loads(line)[0] for line in open(work / "pairs.jsonl", encoding="utf-8")]
    above = np.triu_indices(len(texts), 1)
    alike = []
    for path in (one, other):
        vectors = read(path).encode(texts)
        alike.append((vectors @ vectors.T)[above])
    agreement = np.corrcoef(*alike)[0, 1]
    print(f"another file; what the two find alike correlates to {agreement:.4f}")
    if agreement < LEAST:
        raise SystemExit("the tables were made from different things")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))

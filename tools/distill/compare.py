"""How far two tables are from each other, where they are not the same file.

    python compare.py ONE OTHER

Another processor's arithmetic may round the teacher's numbers differently; the fit then ends a little elsewhere. Rows of
a table made from the same inputs agree to a mean cosine above 0.97; less says that something else was different.
"""

import sys

import numpy as np

import pack
from wordpiece import unit


def main(one, other):
    (pieces, rows), (others, their) = pack.read(one), pack.read(other)
    if pieces != others:
        raise SystemExit("the tables have other pieces")
    same = (unit(rows.astype(float)) * unit(their.astype(float))).sum(1)
    print(f"another file; rows agree to a mean cosine of {same.mean():.4f}")
    if same.mean() < 0.97:
        raise SystemExit("the tables were made from different things")


if __name__ == "__main__":
    main(*sys.argv[1:3])

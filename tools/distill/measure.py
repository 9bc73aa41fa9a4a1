"""What a table can do, beside its teacher.

    python measure.py MODEL WORK TABLE [LOCOMO]

Cosine to the teacher on the held-out texts, and which meaning belongs to which example sentence (WORK/pairs.jsonl; no
word of either was fitted on). With LOCOMO, a folder of `turns.jsonl` and `queries.jsonl`, also recall of evidence turns
by cosine alone, participants' names taken out of the question: for knowing, never for choosing.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np

import fit
import pack
import wordpiece
from teacher import Teacher
from wordpiece import unit


class Table:
    def __init__(self, pieces, rows):
        self.rows = rows.astype(np.float64)
        self.splitter = wordpiece.tokenizer(pieces)

    def encode(self, texts):
        return unit(wordpiece.counts(self.splitter, texts) @ self.rows)


def read(path):
    """A table of ours, or one in a safetensors file with `vectors_u4`, `scale` and `vocab_utf8`."""
    if path.suffix != ".safetensors":
        return Table(*pack.read(path))
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + size])
    part = lambda name: raw[8 + size :][slice(*head[name]["data_offsets"])]
    nibbles = np.frombuffer(part("vectors_u4"), np.uint8).reshape(head["vectors_u4"]["shape"])
    rows = np.stack([nibbles & 15, nibbles >> 4], 2).reshape(len(nibbles), -1).astype(np.float64) - 8
    pieces = part("vocab_utf8").decode().split("\n")
    rows *= np.frombuffer(part("scale"), np.float16).astype(np.float64)[:, None]
    keep = [n for n, p in enumerate(pieces) if p != wordpiece.UNKNOWN]
    return Table([pieces[n] for n in keep], rows[keep])


def pairs(encode, rows):
    examples, meanings = (encode([row[n] for row in rows]) for n in (0, 1))
    near = examples @ meanings.T
    rank = (near > np.diag(near)[:, None]).sum(1)
    return {k: 100 * float((rank < k).mean()) for k in (1, 10, 100)}


def locomo(encode, folder):
    """(recall at 10 on the first five conversations, on the others)."""
    turns, out = {}, {}
    for line in open(folder / "turns.jsonl"):
        turn = json.loads(line)
        turns.setdefault(turn["sample_id"], []).append(turn)
    queries = [json.loads(line) for line in open(folder / "queries.jsonl")]
    for sample, said in turns.items():
        names = "|".join(re.escape(name) for name in {t["speaker"] for t in said})
        asked = [q for q in queries if q["sample_id"] == sample and q["evidence"]]
        plain = [re.sub(rf"\b({names})('s)?\b", " ", q["question"], flags=re.I) for q in asked]
        texts = [t["text"] + (f" [image: {t['caption']}]" if t["caption"] else "") for t in said]
        near = encode(plain) @ encode(texts).T
        best = np.argsort(-near, axis=1, kind="stable")[:, :10]
        ids = [t["id"] for t in said]
        out[sample] = [
            len({ids[i] for i in row} & set(q["evidence"])) / len(set(q["evidence"])) for q, row in zip(asked, best)
        ]
    first = list(out)[:5]
    mean = lambda samples: 100 * float(np.mean([x for s in samples for x in out[s]] or [np.nan]))
    return mean(first), mean([s for s in out if s not in first])


def main(model, work, table, benchmark=None):
    _, _, _, wanted, _, _, fitted = fit.load(model, work)
    lines = [json.loads(line) for line in open(work / "texts.jsonl", encoding="utf-8")][fitted:]
    rows = [json.loads(line) for line in open(work / "pairs.jsonl", encoding="utf-8")]
    ours, table = table.suffix == ".bin", read(table)
    vectors = table.encode([text for _, text in lines])
    # Another table has other axes: what compares is how alike the two find the same pairs of texts.
    mine, its = vectors @ vectors.T, wanted[fitted:] @ wanted[fitted:].T
    above = np.triu_indices(len(lines), 1)
    alike = np.corrcoef(mine[above], its[above])[0, 1]
    print(f"likeness of held-out texts to one another, correlation with the teacher's: {alike:.4f}")
    if ours:
        same = (vectors * wanted[fitted:]).sum(1)
        print(f"cosine to the teacher (its axes), held out: {same.mean():.4f}")
        for source in sorted({s for s, _ in lines}):
            here = [n for n, (s, _) in enumerate(lines) if s == source]
            print(f"  {source:22} {same[here].mean():.4f}  ({len(here)} texts)")
    print("meaning of an example among 4000, %:", {k: round(v, 1) for k, v in pairs(table.encode, rows).items()})
    if benchmark:
        print("LoCoMo recall at 10, first five conversations, the others: %.1f %.1f" % locomo(table.encode, benchmark))
    teacher = Teacher(model, work, quantised=True)
    print("  the teacher:", {k: round(v, 1) for k, v in pairs(teacher.encode, rows).items()})


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]))

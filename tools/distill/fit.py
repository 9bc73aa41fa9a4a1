"""The fit: a vector for each piece, so that the sum over a text's pieces points where the teacher's vector points.

    python fit.py MODEL WORK

Reads what text.py and teacher.py wrote; writes WORK/static-minilm-256-v1.bin.

Start: what the teacher says of each piece alone, on the 256 principal axes of its sentence vectors, rarer pieces
weighing more. Then regression: 1 - cosine to the teacher's vector (on the same axes), Adam on the pieces of each batch.
At the end the weights are applied once more, with a power: what is wanted is that texts on one subject meet, not that
their little words are counted.
"""

import json
import sys
import tomllib
from pathlib import Path

import numpy as np
from scipy import sparse

import pack
import wordpiece
from wordpiece import unit

HERE = Path(__file__).parent
EPOCHS, RATE, BATCH = 3, 3e-3, 512
POWER = 0.5


def rarity(numbers, a=1e-4):
    """a / (a + p), smooth inverse frequency (Arora et al. 2017); p by Zipf's law from the piece's place in the
    teacher's vocabulary, which is ordered by frequency."""
    p = 1 / (2.0 + np.array(numbers))
    return a / (a + p / p.sum())


def axes(sentences):
    mean = sentences.mean(0)
    centred = sentences - mean
    _, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    vectors = vectors[:, ::-1][:, : pack.DIMENSIONS]
    # An axis has no direction of its own: its largest number is made positive.
    return mean, vectors * np.sign(vectors[np.abs(vectors).argmax(0), range(pack.DIMENSIONS)])


def fit(start, counts, wanted, seed, epochs=EPOCHS, rate=RATE):
    """Adam over batches of texts; only the rows a batch uses are touched."""
    rows = start / np.linalg.norm(start, axis=1).mean()
    first, second = np.zeros_like(rows), np.zeros_like(rows)
    rng = np.random.default_rng(seed)
    steps, step = epochs * (len(wanted) // BATCH), 0
    for epoch in range(epochs):
        order = rng.permutation(len(wanted))
        total = 0.0
        for n in range(0, len(order) - BATCH + 1, BATCH):
            step += 1
            batch = order[n : n + BATCH]
            target, texts = wanted[batch], counts[batch]
            used, columns = np.unique(texts.indices, return_inverse=True)
            texts = sparse.csr_matrix((texts.data, columns, texts.indptr), (BATCH, len(used)))
            sums = texts @ rows[used]
            length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
            now = sums / length
            along = (now * target).sum(1, keepdims=True)
            total += float(along.sum())
            # d(1 - cosine) / d(sum): the part of the target across the present direction, per length.
            slope = texts.T @ ((along * now - target) / length)
            slope *= 100 / BATCH
            first[used] = 0.9 * first[used] + 0.1 * slope
            second[used] = 0.99 * second[used] + 0.01 * slope * slope
            rows[used] -= rate * (1 - step / steps) * first[used] / (np.sqrt(second[used]) + 1e-8)
        print(f"pass {epoch + 1}: cosine on the fitted texts {total / (len(order) // BATCH * BATCH):.4f}", flush=True)
    return rows


def load(model, work):
    inputs = tomllib.loads((HERE / "inputs.toml").read_text())
    numbers, pieces = zip(*wordpiece.kept(model))
    texts = [json.loads(line)[1] for line in open(work / "texts.jsonl", encoding="utf-8")]
    sentences = unit(np.load(work / "sentences.npy").astype(np.float32))
    fitted = len(texts) - inputs["held_out"]
    mean, basis = axes(sentences[:fitted])
    wanted = unit((sentences - mean) @ basis)
    alone = np.load(work / "tokens.npy")[list(numbers)]
    weights = rarity(numbers)[:, None].astype(np.float32)
    start = ((alone - alone.mean(0)) @ basis * weights).astype(np.float32)
    counts = wordpiece.counts(wordpiece.tokenizer(pieces), texts)
    return inputs, pieces, counts, wanted, start, weights, fitted


def main(model, work):
    inputs, pieces, counts, wanted, start, weights, fitted = load(model, work)
    held = lambda rows: (unit(counts[fitted:] @ rows) * wanted[fitted:]).sum(1).mean()
    print(f"{len(pieces)} pieces; held out, before the fit: cosine {held(start):.4f}")
    rows = fit(start, counts[:fitted], wanted[:fitted], inputs["seed"])
    print(f"held out, after the fit: cosine {held(rows):.4f}")
    np.save(work / "fitted.npy", rows)
    pack.write(work / "static-minilm-256-v1.bin", pieces, rows * weights**POWER)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))

"""The table's file: form, writing, reading. crates/embed/src/table.rs reads the same form and says what is in it."""

import struct

import numpy as np

FORMAT, DIMENSIONS, MOST_SCALE = 1, 256, 16383
WORD = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def fnv(piece):
    hash_ = 0xCBF29CE484222325
    for byte in piece:
        hash_ = (hash_ ^ byte) * 0x100000001B3 & WORD
    return hash_


def mixed(hash_):
    hash_ = (hash_ ^ hash_ >> 32) * 0xD6E8FEB86659FD93 & WORD
    return hash_ ^ hash_ >> 32


def place(hash_, n):
    return (hash_ & 0xFFFFFFFF) * n >> 32


def perfect_hash(pieces):
    """(buckets, row of each piece): every piece in a row of its own, no row empty."""
    n = len(pieces)
    assert n < 0x8000, "a row's number leaves the top bit free"
    count = n // 4
    hashes = [mixed(fnv(p)) for p in pieces]
    members = [[] for _ in range(count)]
    for i, hash_ in enumerate(hashes):
        members[place(hash_, count)].append(i)
    buckets, rows, free = [0] * count, [0] * n, [True] * n
    # The fullest first, while there is room; those of one piece take whatever is left, by number.
    order = sorted(range(count), key=lambda b: (-len(members[b]), b))
    left = None
    for b in order:
        if len(members[b]) > 1:
            for number in range(0x8000):
                wanted = [place(mixed(hashes[i] ^ number * STEP & WORD), n) for i in members[b]]
                if len(set(wanted)) == len(wanted) and all(free[w] for w in wanted):
                    break
            else:
                raise ValueError("a bucket finds no room")
            buckets[b] = number
        elif members[b]:
            left = left or iter([row for row in range(n) if free[row]])
            wanted = [next(left)]
            buckets[b] = 0x8000 | wanted[0]
        else:
            continue
        for i, row in zip(members[b], wanted):
            rows[i], free[row] = row, False
    assert not any(free)
    return buckets, rows


def quantised(vectors):
    """(scales, values): 4-bit values with a scale for each row, 14 bits wide."""
    step = np.abs(vectors).max(1) / 7
    # A few rows far longer than the rest would take the precision from all others.
    unit = np.quantile(step, 0.9995) / MOST_SCALE
    scales = np.clip(np.rint(step / unit), 0, MOST_SCALE).astype(np.uint16)
    real = np.maximum(scales, 1)[:, None] * unit
    return scales, np.clip(np.rint(vectors / real), -7, 7).astype(np.int8)


def write(path, pieces, vectors):
    pieces = [p.encode() for p in pieces]
    assert vectors.shape == (len(pieces), DIMENSIONS) and len(set(pieces)) == len(pieces)
    buckets, rows = perfect_hash(pieces)
    order = np.argsort(rows)
    pieces = [pieces[i] for i in order]
    scales, values = quantised(vectors[order])
    nibbles = (values + 8).astype(np.uint8)
    half = DIMENSIONS // 2
    packed = nibbles[:, :half] | nibbles[:, half:] << 4
    text = b"".join(pieces)
    longest = max(len(p.removeprefix(b"##")) for p in pieces)
    with open(path, "wb") as f:
        f.write(b"HEIRSTAT")
        f.write(struct.pack("<6I", FORMAT, DIMENSIONS, len(pieces), len(buckets), len(text), longest))
        f.write(np.array(buckets, "<u2").tobytes())
        f.write(np.cumsum([len(p) for p in pieces]).astype("<u4").tobytes())
        f.write(text)
        for scale, row in zip(scales, packed):
            f.write(struct.pack("<H", scale) + row.tobytes())


def read(path):
    """(pieces, whole-number rows) of a table."""
    raw = open(path, "rb").read()
    assert raw[:8] == b"HEIRSTAT"
    form, dims, n, buckets, size, _ = struct.unpack_from("<6I", raw, 8)
    assert form == FORMAT and dims == DIMENSIONS
    at = 32 + 2 * buckets
    ends = np.frombuffer(raw, "<u4", n, at)
    text = raw[at + 4 * n :][:size]
    pieces = [text[a:b].decode() for a, b in zip([0, *ends[:-1]], ends)]
    rows = np.frombuffer(raw, np.uint8, offset=at + 4 * n + size).reshape(n, 2 + dims // 2)
    scales = rows[:, :2].copy().view("<u2").astype(np.int64)
    values = np.concatenate([rows[:, 2:] & 15, rows[:, 2:] >> 4], 1).astype(np.int64) - 8
    return pieces, scales * values

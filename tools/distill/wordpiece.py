"""The word pieces of the table: those of the teacher that the table keeps, and how a text is split into them."""

import re

import numpy as np
from scipy import sparse
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

UNKNOWN = "[UNK]"


def kept(model):
    """[(teacher's number, piece)]: without special pieces and without pieces of other scripts than Latin, whose few
    letters would stand for nothing the teacher was taught."""
    pieces = [line.rstrip("\n") for line in open(model / "vocab.txt", encoding="utf-8")]
    special = re.compile(r"\[(unused\d+|PAD|UNK|CLS|SEP|MASK)\]")
    return [(n, p) for n, p in enumerate(pieces) if not special.fullmatch(p) and all(ord(c) < 0x250 for c in p)]


def tokenizer(pieces):
    """Splits as the Rust reader does: BERT's uncased rules; a word that pieces do not cover is one [UNK]."""
    vocabulary = {p: n for n, p in enumerate([*pieces, UNKNOWN])}
    out = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=100))
    out.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    out.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return out


def counts(splitter, texts):
    """A sparse matrix: how often each text has each piece. [UNK] counts for nothing."""
    size = splitter.get_vocab_size() - 1
    ids = [[i for i in e.ids if i < size] for e in splitter.encode_batch(texts, add_special_tokens=False)]
    ends = np.cumsum([0, *map(len, ids)])
    flat = np.fromiter((i for text in ids for i in text), np.int32, ends[-1])
    out = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, ends), (len(ids), size))
    out.sum_duplicates()
    return out


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

"""Vectors for texts that are hard to split, computed here, for the Rust reader's test to come to.

    python golden.py TABLE OUT.json
"""

import hashlib
import json
import math
import sys
from pathlib import Path

import numpy as np

import pack
import wordpiece

TEXTS = [
    "", " ", "hello", "Hello, World!", "the quick brown fox jumps over the lazy dog", "unbelievable unaffable",
    "don't can't won't it's", "C++ C# F# .NET node.js", "snake_case_name camelCaseName kebab-case-name",
    "fn main() { println!(\"{}\", x.iter().map(|y| y * 2).sum::<u32>()); }", "https://example.org/a/b?c=d&e=f#g",
    "E0502: cannot borrow `*self` as mutable", "2025-05-17T12:34:56Z 3.14159 1,000,000 50% $5 €50 £3 ¥7",
    "/usr/local/bin/heirloom --home ~/.heirloom", "user@example.org", "naïve café Zürich Ångström façade piñata",
    "cafe\u0301 e\u0301\u0302", "İstanbul ISTANBUL ıi", "straße STRASSE ẞ", "ﬁne ﬂow ½ ² Ⅷ", "œuvre æther øre łódź đ",
    "Привет мир and hello", "東京 tower", "한국어 text", "नमस्ते world", "שלום world", "مرحبا world", "ไทย text",
    "rocket 🚀 crab 🦀 family 👩‍👩‍👧", "zero\u200bwidth soft\u00adhyphen bom\ufeff", "nbsp\u00a0space thin\u2009space",
    "line\u2028separator para\u2029graph", "tab\tnew\nline\r\nreturn", "vertical\u000btab form\u000cfeed nel\u0085x",
    "null\u0000byte bell\u0007 del\u007f", "replacement \ufffd character", "private \ue000 use",
    "“curly” ‘quotes’ — dash – en … ellipsis • bullet", "¿qué? ¡hola! «guillemets»", "math ∑ ∞ ≤ ≥ ≠ × ÷ ± √",
    "arrows → ← ⇒ box ─│┌", "fullwidth ＡＢＣ！", "ideographic。space\u3000here、comma", "half｡width", "a_b-c.d,e;f:g!h?i",
    "[UNK] [CLS] [MASK] ##ing ##", "x" * 100, "x" * 101, "antidisestablishmentarianism", "qzxjvwk",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis", "I I I I I I I I",
    "When did she go to the support group?", "We decided to use SQLite in WAL mode, with one writer.", "ΑΒΓ αβγ Σίσυφος",
    "ñ ü ö ä å ø ç é è ê ë à â î ï ô û", "mixed漢字word", "1st 2nd 3rd 4th 100ms 10GB 0xdeadbeef", "~`!@#$%^&*()-_=+[{]}\\|;:'\",<.>/?",
    "a\u0327b", "\u0345 iota", "Å Å", "①②③ ⓐ", "ʻokina ʼ", "c\u0338", "combining\u20dd enclosing",
]


def main(table, out):
    pieces, rows = pack.read(table)
    splitter = wordpiece.tokenizer(pieces)
    golden = []
    for text in TEXTS:
        found = splitter.encode(text, add_special_tokens=False)
        total = sum((rows[i] for i in found.ids if i < len(rows)), np.zeros(pack.DIMENSIONS, np.int64))
        vector = [float(x) for x in total.astype(np.float32)]
        length = 0.0
        for x in vector:
            length += x * x
        length = math.sqrt(length) or 1.0
        numbers = np.array([x / length for x in vector], "<f4")
        numbers += 0.0  # no negative zero
        digest = hashlib.sha256(numbers.tobytes()).hexdigest()
        golden.append({"text": text, "pieces": " ".join(found.tokens), "sha256": digest})
    Path(out).write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])

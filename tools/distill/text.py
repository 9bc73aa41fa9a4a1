"""The texts the table is fitted on, out of the unpacked packages named in inputs.toml.

    python text.py UNPACKED WORK

WORK/texts.jsonl has a [source, text] a line; the last `held_out` lines are never fitted on. WORK/pairs.jsonl has
[example, meaning] of words whose meaning and example are not among the texts: which meaning belongs to which example is
the retrieval that settings are chosen by. The same packages and seed give the same files, byte for byte.
"""

import gzip
import json
import random
import re
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).parent
SHORTEST, LONGEST = 20, 420
PAIRS = 4000


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def sentences(paragraph):
    return [s for s in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(])", squeeze(paragraph)) if s]


def passages(paragraph, rng):
    """Sentences of a paragraph, now and then two or three in one, since what people and agents write is not one
    sentence at a time."""
    parts, i = sentences(paragraph), 0
    while i < len(parts):
        n = rng.choice([1, 1, 2, 3])
        yield " ".join(parts[i : i + n])
        i += n


def proper(text):
    letters = sum(c.isalpha() or c == " " for c in text)
    return SHORTEST <= len(text) <= LONGEST and text.count(" ") >= 3 and letters >= 0.8 * len(text)


def wordnet(root):
    """[(words, meaning, examples)] of every synset."""
    out = []
    for part in ("noun", "verb", "adj", "adv"):
        for line in (root / f"data.{part}").read_text("latin-1").splitlines():
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition("|")
            fields = head.split()
            words = [
                re.sub(r"\(.*\)$", "", w).replace("_", " ") for w in fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            ]
            examples = [squeeze(e) for e in re.findall(r'"([^"]{12,})"', gloss)]
            out.append((words, squeeze(gloss.split('; "')[0]), examples))
    return out


def meaning_forms(words, meaning):
    return [
        meaning,
        meaning,
        f"{words[0]}: {meaning}",
        f"{words[0]} means {meaning}",
        f"{' or '.join(words[:2])}, that is {meaning}",
        " ".join(words[:3]),
    ]


def gloss_forms(synsets, rng):
    """A meaning in one of the forms in which people ask for it, state it, or just say the word."""
    for words, meaning, _ in synsets:
        if not meaning:
            continue
        yield rng.choice(meaning_forms(words, meaning))


def pairs(synsets, taken, rng):
    """[example, meaning] of synsets of which nothing was taken."""
    taken = {text.lower() for _, text in taken}
    out = []
    for words, meaning, examples in synsets:
        known = any(t.lower() in taken for t in [*meaning_forms(words, meaning), *examples])
        if meaning and examples and not known:
            out.append([examples[0], meaning])
    rng.shuffle(out)
    return out[:PAIRS]


def dictionary(path, rng):
    """Entries of a dictd file: a head word at the margin, indented paragraphs under it."""
    head, out = "", []
    body = gzip.open(path, "rt", encoding="utf-8", errors="replace").read()
    for block in re.split(r"\n\s*\n", body):
        lines = [line for line in block.split("\n") if line.strip()]
        if lines and not lines[0].startswith(" "):
            head = squeeze(lines.pop(0))
        text = squeeze(" ".join(lines))
        text = re.sub(r"[{}]|__|^\d+\.\s|^\[[^\]]*\]\s|<[^>]*>\s*|\((?:19|20)\d\d-\d\d-\d\d\)", "", text)
        if "http" in text or "@" in text:
            continue
        for n, passage in enumerate(passages(text, rng)):
            out.append(f"{head}: {passage}" if n == 0 and head and rng.random() < 0.5 else passage)
    return out


class Paragraphs(HTMLParser):
    """The text of paragraphs, list items and table cells; code blocks, scripts and navigation left out."""

    SKIPPED = {"script", "style", "pre", "nav", "header", "footer", "head", "button", "h1", "h2", "h3", "h4"}
    BREAKS = {"p", "li", "dd", "dt", "td", "div", "blockquote", "ul", "ol", "table"}

    def __init__(self):
        super().__init__()
        self.depth, self.text, self.found = 0, [], []

    def flush(self):
        text = squeeze("".join(self.text)).replace("¶", "")
        self.text = []
        if text:
            self.found.append(text)

    def handle_starttag(self, tag, attrs):
        self.depth += tag in self.SKIPPED
        if tag in self.BREAKS:
            self.flush()

    def handle_endtag(self, tag):
        if tag in self.SKIPPED and self.depth:
            self.depth -= 1
        if tag in self.BREAKS:
            self.flush()

    def handle_data(self, data):
        if not self.depth:
            self.text.append(data)


def html(root, only, rng):
    out = []
    for path in sorted(root.rglob("*.html")):
        name = str(path.relative_to(root))
        if only and not any(name.startswith(o) for o in only):
            continue
        page = Paragraphs()
        page.feed(path.read_text("utf-8", errors="replace"))
        page.flush()
        for paragraph in page.found:
            out += passages(paragraph, rng)
    return out


def chosen(source, texts, take, rng, seen):
    """`take` of the proper texts, none of them chosen before (in any capitals)."""
    fresh = []
    for text in texts:
        key = text.lower()
        if key not in seen:
            seen.add(key)
            fresh.append([source, text])
    rng.shuffle(fresh)
    print(f"{source:22} {len(fresh):7} texts, {min(take, len(fresh)):6} taken", flush=True)
    return fresh[:take]


def main(unpacked, work):
    inputs = tomllib.loads((HERE / "inputs.toml").read_text())
    pool, seen = [], set()
    for source in inputs["text"]:
        # A generator of its own for each source: adding one leaves the choice in the others as it was.
        rng = random.Random(f"{inputs['seed']} {source['package']}")
        root = unpacked / source["package"] / source["root"]
        if source["kind"] == "wordnet":
            synsets = wordnet(root)
            examples = [e for _, _, es in synsets for e in es]
            forms = [t for t in gloss_forms(synsets, rng) if 3 <= len(t) <= LONGEST]
            pool += chosen("wordnet glosses", forms, source["take_glosses"], rng, seen)
            pool += chosen("wordnet examples", examples, source["take_examples"], rng, seen)
            held = pairs(synsets, pool, rng)
            continue
        if source["kind"] == "dictionary":
            texts = dictionary(root, rng)
        else:
            texts = html(root, source.get("only"), rng)
        pool += chosen(source["package"], filter(proper, texts), source["take"], rng, seen)
    random.Random(inputs["seed"]).shuffle(pool)
    for name, rows in (("texts", pool), ("pairs", held)):
        with open(work / f"{name}.jsonl", "w", encoding="utf-8") as f:
            for row in rows:
                f.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(pool)} texts, {inputs['held_out']} of them held out; {len(held)} pairs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

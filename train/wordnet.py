# SPDX-License-Identifier: Apache-2.0
"""Reads WordNet's database files into entries: word, part of speech, gloss, examples, frequency.

File layouts: wndb(5WN) and senseidx(5WN). A word's frequency is the sum of its senses' tag counts
(how often people met it in a tagged corpus); its entry keeps the first, that is commonest, sense.
"""
import collections
import dataclasses
import re

POS = {"noun": 1, "verb": 2, "adj": 3}


@dataclasses.dataclass
class Entry:
    """One word in its commonest sense."""
    word: str
    pos: str
    count: int  # tag counts of all its senses of this part of speech
    gloss: str  # the definition, examples and labels removed
    examples: list  # sentences quoted in the gloss


def clean(text):
    """Splits a raw gloss into (definition, examples)."""
    examples = [e.strip() for e in re.findall(r'"([^"]*)"', text)]
    body = re.sub(r'"[^"]*"', "", text)
    body = re.sub(r"\([^()]*\)", " ", body)  # labels and asides: "(zoology)", "(plural)"
    parts = [re.sub(r"\s+", " ", p).strip(" ,.:-") for p in body.split(";")]
    return next((p for p in parts if p), ""), [e for e in examples if e]


def read_glosses(path):
    """{offset: raw gloss} of a data file."""
    glosses = {}
    for line in open(path, encoding="latin-1"):
        if not line.startswith("  "):  # the licence at the top of each file is indented
            glosses[line[:8]] = line.rsplit(" | ", 1)[-1].strip()
    return glosses


def read_senses(path):
    """{(word, pos number): (offsets, commonest sense first, and the tag count of all senses)}"""
    senses, counts = collections.defaultdict(list), collections.Counter()
    for line in open(path, encoding="latin-1"):
        key, offset, number, count = line.split()
        word, rest = key.split("%")
        pos = {5: 3}.get(int(rest[0]), int(rest[0]))  # 5 is an adjective satellite
        senses[word, pos].append((int(number), offset))
        counts[word, pos] += int(count)
    return {key: ([o for _, o in sorted(found)], counts[key]) for key, found in senses.items()}


def read(files):
    """All one-word lower-case entries, commonest first; files is the unpacked packages' root."""
    folder = files / "usr/share/wordnet"
    senses = read_senses(folder / "index.sense")
    entries = []
    for pos, number in POS.items():
        glosses = read_glosses(folder / ("data." + pos))
        proper = proper_nouns(folder / ("data." + pos))
        for (word, kind), (offsets, count) in senses.items():
            if kind != number or not re.fullmatch(r"[a-z]{2,20}", word):
                continue
            common = [o for o in offsets if o in glosses and (word, o) not in proper]
            if common:
                gloss, examples = clean(glosses[common[0]])
                if 8 <= len(gloss) <= 160:
                    entries.append(Entry(word, pos, count, gloss, examples))
    return sorted(entries, key=lambda e: (-e.count, e.word, e.pos))


def proper_nouns(path):
    """{(lower-case word, offset)} of the words written with a capital letter."""
    found = set()
    for line in open(path, encoding="latin-1"):
        fields = line.split(" ")
        if line.startswith("  "):
            continue
        for i in range(int(fields[3], 16)):
            word = fields[4 + 2 * i]
            if word != word.lower():
                found.add((word.lower(), line[:8]))
    return found


def all_texts(files):
    """Every gloss and example, raw: what word statistics are counted on."""
    for pos in ("noun", "verb", "adj", "adv"):
        yield from read_glosses(files / "usr/share/wordnet" / ("data." + pos)).values()

# SPDX-License-Identifier: Apache-2.0
"""Reads from WordNet's database which words there are and how often people met them.

File layouts: wndb(5WN) and senseidx(5WN). A word's frequency is the sum of its senses' tag counts
(how often they were met in a tagged corpus).
"""
import collections
import re

POS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


def read(files):
    """{word: {pos: count}} of all one-word lower-case entries; files is the unpacked packages' root."""
    folder, found = files / "usr/share/wordnet", collections.defaultdict(collections.Counter)
    proper = set().union(*(proper_nouns(folder / ("data." + pos)) for pos in POS))
    number = {n: pos for pos, n in POS.items()}
    number[5] = "adj"  # an adjective satellite
    for line in open(folder / "index.sense", encoding="latin-1"):
        key, offset, _, count = line.split()
        word, rest = key.split("%")
        if re.fullmatch(r"[a-z]{2,20}", word) and (word, offset) not in proper:
            found[word][number[int(rest[0])]] += int(count)
    return found


def proper_nouns(path):
    """{(lower-case word, offset)} of the words written with a capital letter."""
    found = set()
    for line in open(path, encoding="latin-1"):
        fields = line.split(" ")
        if line.startswith("  "):  # the licence at the top of each file is indented
            continue
        for i in range(int(fields[3], 16)):
            word = fields[4 + 2 * i]
            if word != word.lower():
                found.add((word.lower(), line[:8]))
    return found

# SPDX-License-Identifier: Apache-2.0
"""Drawing by chance for talk.py: items, slips of the fingers, words that are none; and the
questions that are never drawn.
"""
import pathlib
import re

import numpy as np


def plain(text):
    """A question as it is compared with the held-out ones: case and punctuation do not count."""
    return re.sub(r"[^\w]+", " ", text.lower()).strip() or text.strip()


def opened():
    """Held-out questions that are trained on since; questions-open.txt says why."""
    text = (pathlib.Path(__file__).parent / "questions-open.txt").read_text(encoding="utf-8")
    return {x for x in text.split("\n") if x and not x.startswith("# ")}


def held_out():
    path = pathlib.Path(__file__).parent / "questions-held-out.txt"
    rows = [x.split("\t") for x in path.read_text(encoding="utf-8").split("\n")]
    return {plain(r[1]) for r in rows if len(r) == 3 and r[1] not in opened()}


def misspelt(word, rng):
    """word with one slip of the fingers."""
    at = int(rng.integers(1, len(word) - 1))
    kind = rng.integers(4)
    if kind == 0:
        return word[:at] + word[at + 1:]
    if kind == 1:
        return word[:at] + word[at] + word[at:]
    if kind == 2:
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    vowels = [i for i in range(1, len(word)) if word[i] in "aeiou"]
    if not vowels:
        return word[:at] + word[at + 1:]
    at = vowels[rng.integers(len(vowels))]
    return word[:at] + "aeiou"[rng.integers(5)] + word[at + 1:]


def nonsense(rng):
    """A word that is none: syllables or a hand on the keyboard."""
    if rng.random() < 0.25:
        rows = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
        row = rows[rng.integers(3)]
        if rng.random() < 0.5:
            return row[rng.integers(3):][:rng.integers(3, 8)]
        return "".join("abcdefghijklmnopqrstuvwxyz"[rng.integers(26)] for _ in range(rng.integers(3, 9)))
    starts = "b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sh sk sl sm sn sp st str t th tr v w wh x z zw".split()
    ends = "b ck d f g l ll m mb n nd ng nk p r rk rp s sh sp st t th x zz ble ckle dle ffer gget ish ity ness tion ing ous let kin oid ify wump bit".split()
    word = "".join(pick(starts, rng) + "aeiou"[rng.integers(5)] for _ in range(rng.integers(1, 4)))
    return word + pick(ends, rng)


def pick(items, rng):
    return items[rng.integers(len(items))]


def upper(text):
    return text[0].upper() + text[1:]


def draw(weights, rng):
    """A key of weights, drawn by its share."""
    sums = np.cumsum(list(weights.values()))
    place = np.searchsorted(sums, rng.random() * sums[-1])
    return list(weights)[min(place, len(sums) - 1)]

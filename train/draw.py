# SPDX-License-Identifier: Apache-2.0
"""Drawing by chance for talk.py: items, shares, words that are none; and the questions that are
never drawn. Chance is a random.Random everywhere: it draws scalars far faster than NumPy.
"""
import bisect
import itertools
import pathlib
import re

STARTS = ("b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sh sk sl sm sn sp st str "
          "t th tr v w wh x z zw").split()
ENDS = ("b ck d f g l ll m mb n nd ng nk p r rk rp s sh sp st t th x zz ble ckle dle ffer gget ish ity ness "
        "tion ing ous let kin oid ify wump bit er or al ic ium ix ora exa ly ware net").split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def plain(text):
    """A question as it is compared with others: case and punctuation do not count."""
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
    """word with one slip of the fingers, never in its first letter."""
    at, kind = 1 + int(rng.random() * (len(word) - 2)), rng.random()
    if kind < 0.28:
        return word[:at] + word[at + 1:]
    if kind < 0.5:
        return word[:at] + word[at] + word[at:]
    if kind < 0.75:
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    vowels = [i for i in range(1, len(word)) if word[i] in "aeiou"]
    if kind < 0.92 and vowels:
        at = pick(vowels, rng)
        return word[:at] + pick("aeiou", rng) + word[at + 1:]
    return word[:at] + pick(LETTERS, rng) + word[at + 1:]


def mangled(word, rng):
    """word with one letter put in, left out or changed anywhere."""
    at, kind = int(rng.random() * len(word)), rng.random()
    letter = pick(LETTERS, rng)
    if kind < 0.35:
        return word[:at] + letter + word[at:]
    return word[:at] + ("" if kind < 0.5 and len(word) > 3 else letter) + word[at + 1:]


def nonsense(rng):
    """A word that is none: syllables or a hand on the keyboard."""
    x = rng.random()
    if x < 0.12:
        row = pick(("qwertyuiop", "asdfghjkl", "zxcvbnm"), rng)
        return row[rng.randrange(3):][:rng.randrange(3, 8)]
    if x < 0.24:
        return "".join(pick(LETTERS, rng) for _ in range(rng.randrange(3, 9)))
    word = "".join(pick(STARTS, rng) + pick("aeiou", rng) for _ in range(rng.randrange(1, 4)))
    return word + pick(ENDS, rng)


def blend(one, other, rng):
    """The beginning of one word and the end of another, either way round."""
    if rng.random() < 0.5:
        one, other = other, one
    return one[:rng.randrange(2, max(3, len(one)))] + other[rng.randrange(1, max(2, len(other) - 1)):]


def pick(items, rng):
    return items[int(rng.random() * len(items))]


def upper(text):
    return text[0].upper() + text[1:]


class Shares:
    """Keys drawn by their shares."""

    def __init__(self, weights):
        self.keys, self.sums = list(weights), list(itertools.accumulate(weights.values()))

    def draw(self, rng):
        place = bisect.bisect(self.sums, rng.random() * self.sums[-1])
        return self.keys[min(place, len(self.keys) - 1)]

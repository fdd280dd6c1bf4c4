# SPDX-License-Identifier: Apache-2.0
"""Words near other words: which slips of the fingers have one known word they can mean, and which
unknown words lie so near a known one that they must be learned as unknown.
"""
import collections

import draw


def gaps(word):
    """The word, and the word without one of its letters: words one slip apart share one of these."""
    return [word] + [word[:i] + word[i + 1:] for i in range(len(word))]


class Near:
    """known: {what is typed: the word it means}; other: real words that are not known."""

    def __init__(self, known, other):
        self.known, self.other = known, set(other)
        self.index = collections.defaultdict(set)
        for typed, word in known.items():
            for gap in gaps(typed):
                self.index[gap].add(word)
        self.close = [w for w in other if len(w) > 2 and self.meant(w)]
        self.short = [w for w in known if 2 < len(w) < 6 and w.isalpha()]
        self.long = [w for w in known if len(w) > 5 and w.isalpha()]

    def meant(self, typed):
        """The known words one slip away."""
        return set().union(*(self.index[g] for g in gaps(typed) if g in self.index))

    def slip(self, typed, rng):
        """A slip of the fingers that can only mean what typed means; typed itself if none is found."""
        if len(typed) < 5 or not typed.isalpha():
            return typed
        for _ in range(3):
            found = draw.misspelt(typed, rng)
            if found not in self.known and found not in self.other and len(self.meant(found)) == 1:
                return found
        return typed

    def stranger(self, rng):
        """A word that is not known though it looks like one that is."""
        if rng.random() < 0.5:
            return draw.pick(self.close, rng)
        while True:
            word = draw.mangled(draw.pick(self.short if rng.random() < 0.6 else self.long, rng), rng)
            if len(word) > 5:
                word = draw.mangled(draw.mangled(word, rng), rng)
            if word not in self.known and (len(word) <= 5 or not self.meant(word)):
                return word

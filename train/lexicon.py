# SPDX-License-Identifier: Apache-2.0
"""The words Pocket knows and those it does not: the tables of train/data/ and WordNet's list of words.

A known word is one of data/glosses.tsv. All other words of WordNet are unknown; questions about them
teach to say so. Words of data/offensive.rot13 are neither: they are never explained and stand in no gloss.
"""
import codecs
import dataclasses
import hashlib
import pathlib
import pickle

import phrase
import sources
import wordnet

DATA = pathlib.Path(__file__).parent / "data"


@dataclasses.dataclass
class Entry:
    """One word with its first meaning."""
    word: str
    pos: str  # noun, verb, adj or adv
    count: int  # how often WordNet's tagged texts have it
    gloss: str


def lines(name):
    """Lines of a table, without comments."""
    text = (DATA / name).read_text(encoding="utf-8")
    if name.endswith(".rot13"):
        text = "\n".join(x if x.startswith("#") else codecs.decode(x, "rot13")
                         for x in text.split("\n"))
    return [x for x in text.split("\n") if x and not x.startswith("#" if name != "code.txt" else "# ")]


def table(name):
    return [x.split("\t") for x in lines(name)]


def everyday():
    """{word: its parts of speech} of everyday.txt."""
    found = {}
    for line in lines("everyday.txt"):
        pos, words = line.split(": ", 1) if ": " in line else ("noun", line)
        for word in words.split():
            found.setdefault(word, []).append(pos)
    return found


class Lexicon:
    """known: {word: Entry}; verbs: {word: Entry} for "to run"; unknown: lists of words, commonest first."""

    def __init__(self, work):
        counts = wordnet.read(sources.fetch(work))
        self.offensive = set(lines("offensive.rot13"))
        self.everyday = everyday()
        self.article = {w: how for how, words in (x.split(": ", 1) for x in lines("nouns.txt"))
                        for w in words.split("|")}
        self.known, self.verbs = {}, {}
        self.choose(counts)
        self.forms = self.all_forms()
        rest = [w for w in counts if w not in self.forms and w not in self.offensive]
        rest.sort(key=lambda w: (-sum(counts[w].values()), w))
        self.unknown = {"common": rest[:6000], "rare": rest[6000:]}
        self.weights = {w: self.weight(w) for w in self.known}

    def weight(self, word):
        """How often a word is asked for, in proportion: everyday words and those of this trade more."""
        return 1.6 if word in self.everyday or not self.known[word].count else 1.0

    def choose(self, counts):
        """The first meaning of each word: what everyday.txt says, else WordNet's commonest."""
        found = {}
        for word, pos, gloss in table("glosses.tsv"):
            if word not in self.offensive:
                count = counts[word][pos] if word in counts else 0
                found.setdefault(word, []).append(Entry(word, pos, count, gloss))
        for word, entries in found.items():
            wanted = self.everyday.get(word, ())
            entries.sort(key=lambda e: (e.pos not in wanted, -e.count))
            self.known[word] = entries[0]
            self.verbs.update({word: e for e in entries if e.pos == "verb"})

    def all_forms(self):
        """{what is typed, lower case: (word, part of speech, "" or the kind of form)}."""
        found = {w.lower(): (w, e.pos, "") for w, e in self.known.items()}
        irregular = {w: x.split("|") for w, x in table("forms.tsv")}
        for word, typed in irregular.items():
            pos = "verb" if word in self.verbs else "noun"
            for x in typed if word in self.known else ():
                found.setdefault(x, (word, pos, "ing" if x.endswith("ing") else "inflected"))
        for word, typed in table("spellings.tsv"):
            for x in typed.split("|") if word in self.known else ():
                found.setdefault(x, (word, self.known[word].pos, "spelling"))
        for word, entry in self.known.items():
            if entry.pos == "noun" and self.article.get(word) != "plural":
                found.setdefault(phrase.many(word).lower(), (word, "noun", "plural"))
            elif entry.pos == "adj" and len(word) < 7:
                for x in phrase.compared(word):
                    found.setdefault(x, (word, "adj", "inflected"))
        for word in self.verbs:
            if " " not in word:
                found.setdefault(phrase.ing(word), (word, "verb", "ing"))
                found.setdefault(phrase.third(word), (word, "verb", "inflected"))
                if word not in irregular:
                    found.setdefault(phrase.past(word), (word, "verb", "inflected"))
        return found

    def subject(self, word):
        """How a sentence names the word: "a tern", "water", "to run"."""
        entry = self.known[word]
        if entry.pos == "noun":
            return self.named(entry)
        return ("to " if entry.pos == "verb" else "") + word

    def named(self, entry):
        """The noun with its article."""
        how = self.article.get(entry.word)
        return "the " + entry.word if how == "the" else entry.word if how else phrase.a(entry.word)

    def sentence(self, entry):
        if entry.pos == "noun":
            verb = " are " if self.article.get(entry.word) == "plural" else " is "
            text = self.named(entry) + verb + entry.gloss
        elif entry.pos == "verb":
            text = "to " + entry.word + " is to " + entry.gloss
        else:
            text = entry.word + " means " + entry.gloss
        return text[0].upper() + text[1:] + "."

    def definition(self, word):
        return self.sentence(self.known[word])


def load(work):
    """The lexicon, read once and kept in the work folder until a file it comes from changes."""
    here = pathlib.Path(__file__).parent
    files = [here / n for n in ("lexicon.py", "wordnet.py", "phrase.py", "sources.py")]
    digest = hashlib.sha256()
    for file in files + sorted(DATA.iterdir()):
        digest.update(file.read_bytes())
    path = pathlib.Path(work) / ("lexicon-%s.pickle" % digest.hexdigest()[:12])
    if path.exists():
        return pickle.loads(path.read_bytes())
    words = Lexicon(work)
    path.write_bytes(pickle.dumps(words))
    return words

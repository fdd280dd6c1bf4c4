# SPDX-License-Identifier: Apache-2.0
"""The words Pocket knows and those it does not: WordNet and the tables of train/data/ in one place.

A known word has one gloss: our own (data/glosses.tsv), else WordNet's for the commonest sense. All
other words of WordNet are unknown; questions about them teach to say so. Words of
data/offensive.rot13 are neither: they are never explained and stand in no gloss.
"""
import codecs
import hashlib
import pathlib
import pickle
import re

import phrase
import sources
import wordnet

DATA = pathlib.Path(__file__).parent / "data"
KNOWN = {"noun": 600, "verb": 150, "adj": 150}  # the commonest words, beside everyday.txt
UNIQUE = ("sun", "moon", "earth", "internet", "sky")
UNCOUNTED = set("software water milk light color time life money war peace love happiness ice glass "
                "gold silver cream chocolate bread rice music energy gravity electricity freedom "
                "hope art smoke hair grass soil police winter summer autumn wood beer iron thunder "
                "lightning medicine wine sand beef pork ham bacon soap butter plastic swimming yogurt "
                "tea coffee sugar copper honey joy anger paper meat candy wheat stairs nothing cheese "
                "clothes food furniture death science history mathematics physics chemistry biology philosophy democracy "
                "rain snow wind fire blood tennis football chess red blue green yellow white black "
                "brown gray pink purple trousers sleep lettuce spinach cabbage spaghetti mathematics pasta garlic corn bacteria metal pepper email".split())
LONGEST = 90  # characters of a gloss


def lines(name):
    """Lines of a table, without comments."""
    text = (DATA / name).read_text(encoding="utf-8")
    if name.endswith(".rot13"):
        text = "\n".join(x if x.startswith("#") else codecs.decode(x, "rot13")
                         for x in text.split("\n"))
    return [x for x in text.split("\n") if x and not x.startswith("#" if name != "code.txt" else "# ")]


def table(name):
    return [x.split("\t") for x in lines(name)]


class Lexicon:
    """known: {word: Entry}; verbs: {word: Entry} for "to run"; unknown: lists of words."""

    def __init__(self, work):
        files = sources.fetch(work)
        entries = wordnet.read(files)
        self.articles = phrase.Articles(wordnet.all_texts(files))
        self.offensive = set(lines("offensive.rot13"))
        self.everyday = " ".join(lines("everyday.txt")).split()
        self.own = {(w, pos): gloss for w, pos, gloss in table("glosses.tsv")}
        self.known, self.verbs = {}, {}
        self.choose(entries)
        names = set(self.known) | set(self.verbs) | self.offensive | self.plurals()
        rest = [e.word for e in entries if e.word not in names]
        rest = list(dict.fromkeys(rest))
        self.unknown = {"common": rest[:6000], "rare": rest[6000:]}
        self.weights = {w: self.weight(w) for w in self.known}

    def weight(self, word):
        """How often a word is asked for, in proportion."""
        return 2.0 if word in self.everyday or (word, self.known[word].pos) in self.own else 1.0

    def usable(self, gloss):
        words = set(re.findall(r"[a-z]+", gloss.lower()))
        if words & {"quantifier", "temporal", "etc", "denoting", "implied"}:
            return False
        return len(gloss) <= LONGEST and not words & self.offensive and not any(
            w[:-1] in self.offensive for w in words if w.endswith("s"))

    def choose(self, entries):
        best = {}
        for e in entries:  # commonest first
            gloss = self.own.get((e.word, e.pos), re.sub("^denoting ", "", e.gloss))
            e.gloss = gloss
            best.setdefault(e.word, []).append(e)
        for (word, pos), gloss in self.own.items():
            if not any(e.pos == pos for e in best.get(word, [])):
                best.setdefault(word, []).append(wordnet.Entry(word, pos, 0, gloss, []))
        left, everyday = dict(KNOWN), set(self.everyday)
        for word, found in best.items():
            if word in self.offensive:
                continue
            found.sort(key=lambda e: ((word, e.pos) not in self.own,
                                      e.pos != "noun" if word in everyday else 0, -e.count))
            entry = found[0]
            verb = next((e for e in found if e.pos == "verb"), None)
            if (word, entry.pos) not in self.own and not self.usable(entry.gloss):
                continue
            wanted = word in everyday or (word, entry.pos) in self.own
            if not wanted and left[entry.pos] > 0 and len(word) > 2:
                left[entry.pos] -= 1
                wanted = True
            if wanted:
                self.known[word] = entry
                if verb and self.usable(verb.gloss) and (entry.pos == "verb" or (word, "verb") in self.own):
                    self.verbs[word] = verb

    def plurals(self):
        return {many(w) for w, e in self.known.items() if e.pos == "noun"}

    def subject(self, word):
        """How a sentence names the word: "a tern", "water", "to run"."""
        entry = self.known[word]
        if entry.pos == "noun":
            return self.named(entry)
        return ("to " if entry.pos == "verb" else "") + word

    def named(self, entry):
        """The noun with its article."""
        if (entry.word, "noun") not in self.own:
            return phrase.subject(entry, self.articles)
        if entry.word in UNIQUE:
            return "the " + entry.word
        return entry.word if entry.word in UNCOUNTED else phrase.a(entry.word)

    def sentence(self, entry):
        if (entry.word, entry.pos) not in self.own:
            return phrase.sentence(entry, self.articles)
        if entry.pos == "noun":
            verb = " are " if entry.word in ("trousers", "bacteria", "clothes", "stairs") else " is "
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


def many(word):
    """The regular plural."""
    irregular = {"man": "men", "woman": "women", "child": "children", "foot": "feet",
                 "tooth": "teeth", "mouse": "mice", "goose": "geese", "sheep": "sheep",
                 "fish": "fish", "deer": "deer", "leaf": "leaves", "knife": "knives",
                 "wolf": "wolves", "life": "lives", "wife": "wives", "shelf": "shelves",
                 "person": "people", "salmon": "salmon", "trout": "trout", "tuna": "tuna"}
    if word in irregular:
        return irregular[word]
    if re.search(r"(s|x|z|ch|sh)$", word):
        return word + "es"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if word in ("potato", "tomato", "mango", "volcano", "mosquito"):
        return word + "es"
    return word + "s"

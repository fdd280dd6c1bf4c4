# SPDX-License-Identifier: Apache-2.0
"""What Pocket reads: documents drawn at random by weight, packed into rows of tokens.

Nouns come in tiers by frequency, so that the commonest are seen often enough to be remembered.
A row of a batch holds several documents; none sees another (model.py masks by document). Batch
`step` depends on (seed, step) alone, so a resumed run sees what an unbroken one would have.
"""
import gzip
import re
import zlib

import numpy as np

import phrase
import sources
import wordnet

TIERS = (1000, 4000, 12000)  # ranks of nouns by frequency
WEIGHTS = {"tier0": 0.46, "tier1": 0.20, "tier2": 0.08, "verb": 0.06, "adj": 0.06,
           "example": 0.08, "prose": 0.03, "talk": 0.03, "several": 0.08}
# In the second stage of training: what it must know by heart, and a little of the rest.
LAST_WEIGHTS = {"tier0": 0.66, "tier1": 0.13, "tier2": 0.03, "verb": 0.03, "adj": 0.03,
                "example": 0.05, "prose": 0.02, "talk": 0.05, "several": 0.10}
# Words wanted whatever their frequency: birds for Bittern, and what people try first.
EXTRA = ("bittern tern heron gull robin eagle owl crow duck goose swan hawk sparrow penguin "
         "parrot apple banana cat dog horse elephant tiger lion mouse computer telephone bicycle "
         "piano guitar violin cheese bread pizza coffee tea volcano dictionary library river "
         "mountain ocean planet star galaxy atom bridge castle dragon robot").split()
SYSTEM = ("You are a helpful assistant.", "You are a dictionary.", "Answer briefly.",
          "You explain words in plain English.")
TALK = (
    ("Hello|Hi|Hello!|Hi there|Good morning|Hey|hello|hi|hey|Hi!|hello!|Hello there|Good evening|"
     "good morning", "Hello. Ask me what a word means."),
    ("Who are you?|What are you?|What is your name?|who are you|who are you?|what are you|"
     "what is your name", "I am Pocket, a small dictionary. Ask me what a word means."),
    ("What can you do?|Help|How do I use you?|help|what can you do|what can you do?|Help me|help me",
     "I can tell you what a word means. Ask me: What is a tern?"),
    ("Thank you|Thanks|Thank you!|thanks|thank you|Thanks!|ok|OK|Okay", "You are welcome."),
    ("Goodbye|Bye|Bye!|See you|bye|goodbye", "Goodbye."),
    ("How are you?|how are you|how are you?", "I am well, thank you. Ask me what a word means."))
NOUN_ASKS = (["What is {a}?"] * 5 + ["what is {a}", "What is {a}", "What is {w}?", "what is {w}",
             "Define {w}.", "define {w}", "What does {w} mean?", "{w}", "Tell me what {a} is.",
             "What's {a}?", "Explain {w}."])
VERB_ASKS = ["What does it mean to {w}?", "What does to {w} mean?", "Define to {w}.", "to {w}",
             "What is to {w}?"]
SEVERAL_ASKS = ["What are {list}?", "what are {list}", "Define {list}.", "Explain {list}.",
                "Tell me what {list} are."]
ADJ_ASKS = ["What does {w} mean?", "Define {w}.", "{w}", "What is {w}?", "what does {w} mean"]


def held_out(text, share=50):
    """One text in `share` is kept from training, chosen by its hash."""
    return zlib.crc32(text.encode()) % share == 0


class Corpus:
    """All documents by kind, split into training and held-out ones."""

    def __init__(self, work):
        files = sources.fetch(work)
        entries = wordnet.read(files)
        self.articles = phrase.Articles(wordnet.all_texts(files))
        nouns = [e for e in entries if e.pos == "noun"]
        chosen = {e.word for e in nouns[:TIERS[2]]}
        self.entries = self.split_nouns(nouns)
        for pos, number in (("verb", 1500), ("adj", 1500)):
            found = [e for e in entries if e.pos == pos]
            self.entries[pos] = [e for e in found if pos == "verb" or e.word not in chosen][:number]
        self.test = [e for kind in ("tier1", "tier2") for e in self.entries[kind]
                     if held_out(e.word)]
        unseen = {id(e) for e in self.test}
        for kind in ("tier1", "tier2"):
            self.entries[kind] = [e for e in self.entries[kind] if id(e) not in unseen]
        examples = [(e.word, upper(x)) for e in entries for x in e.examples if 20 < len(x) < 120]
        self.examples = [x for x in examples if not held_out(x[1])]
        prose = devil(files)
        self.prose = [p for p in prose if not held_out(p)]
        self.test_texts = ([self.sentence(e) for e in self.test]
                           + [x for _, x in examples if held_out(x)]
                           + [p for p in prose if held_out(p)])

    def split_nouns(self, nouns):
        top = nouns[:TIERS[0]]
        self.commonest = list(top)  # what eval.py asks for
        names = {e.word for e in top}
        top += [e for e in nouns[TIERS[0]:] if e.word in EXTRA]
        names.update(EXTRA)
        rest = [e for e in nouns[TIERS[0]:] if e.word not in names]
        return {"tier0": top, "tier1": rest[:TIERS[1] - TIERS[0]],
                "tier2": rest[TIERS[1] - TIERS[0]:TIERS[2] - TIERS[0]]}

    def sentence(self, entry):
        return phrase.sentence(entry, self.articles)

    def question(self, entry, rng):
        asks = {"noun": NOUN_ASKS, "verb": VERB_ASKS, "adj": ADJ_ASKS}[entry.pos]
        a = phrase.subject(entry, self.articles) if entry.pos == "noun" else entry.word
        return asks[rng.integers(len(asks))].format(a=a, w=entry.word)

    def tokenizer_texts(self):
        """(text, weight): common words weigh more, as they are read more."""
        for kind, entries in self.entries.items():
            weight = {"tier0": 12, "tier1": 3}.get(kind, 1)
            for entry in entries:
                yield self.sentence(entry), weight
        yield from ((x, 1) for _, x in self.examples)
        yield from ((p, 1) for p in self.prose)
        for asks, answer in TALK:
            yield asks.replace("|", " ") + " " + answer, 50
        yield "User: What is a Assistant: System: Define mean?", 500

    def turn(self, kind, rng):
        """(question, answer) of one exchange of a chat."""
        if kind == "talk":
            asks, answer = TALK[rng.integers(len(TALK))]
            asks = asks.split("|")
            return asks[rng.integers(len(asks))], answer
        if kind in ("example", "prose"):
            word, text = self.examples[rng.integers(len(self.examples))]
            return "Use %s in a sentence." % word, text
        if kind == "several":
            chosen = [pick(self.entries["tier0"], rng) for _ in range(rng.integers(2, 6))]
            ask = SEVERAL_ASKS[rng.integers(len(SEVERAL_ASKS))]
            return self.several(chosen, ask)
        entry = pick(self.entries[kind], rng)
        return self.question(entry, rng), self.sentence(entry)

    def several(self, nouns, ask=SEVERAL_ASKS[0]):
        """(question, answer) that names and defines two nouns or more, in order."""
        names = [phrase.subject(e, self.articles) for e in nouns]
        question = ask.format(list=", ".join(names[:-1]) + " and " + names[-1])
        return question, " ".join(self.sentence(e) for e in nouns)

    def plain(self, kind, rng):
        """One document of running text."""
        if kind == "prose":
            return pick(self.prose, rng)
        if kind == "example":
            return " ".join(pick(self.examples, rng)[1] for _ in range(rng.integers(1, 4)))
        return self.sentence(pick(self.entries[kind], rng))

    def document(self, tok, rng, weights):
        """(ids, is_target): target tokens are those the model is to say itself."""
        kind = draw(weights, rng)
        if kind not in ("talk", "several") and rng.random() < 0.45 or kind == "prose":
            ids = tok.encode(self.plain(kind, rng)) + [tok.eos]
            return [tok.bos] + ids, [0] + [1] * len(ids)
        ids, target = [tok.bos], [0]
        if rng.random() < 0.06:
            ids += tok.encode("System: %s<|eot_id|>" % SYSTEM[rng.integers(len(SYSTEM))])
        while True:
            question, answer = self.turn(kind, rng)
            ids += tok.encode("User: %s<|eot_id|>Assistant: " % question)
            target += [0] * (len(ids) - len(target))
            ids += tok.encode(answer) + [tok.eot]
            target += [1] * (len(ids) - len(target))
            if rng.random() < 0.6 or len(ids) > 160:
                return ids, target
            kind = draw(weights, rng)


def draw(weights, rng):
    """A key of weights, drawn by its share."""
    sums = np.cumsum(list(weights.values()))
    place = np.searchsorted(sums, rng.random() * sums[-1])
    return list(weights)[min(place, len(sums) - 1)]


def pick(items, rng):
    return items[rng.integers(len(items))]


def upper(text):
    """An example as a sentence: capital first, full stop last."""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else text + "."


def devil(files):
    """Paragraphs of The Devil's Dictionary that are whole sentences of prose."""
    raw = gzip.open(files / "usr/share/dictd/devil.dict.dz").read().decode("latin-1")
    texts = []
    for part in re.split(r"\n\s*\n", raw.replace("\r", "")):
        text = re.sub(r"\s+", " ", part).strip()
        text = re.sub(r"^[A-Z' -]+, [a-z.]+ +", "", text)
        if not part.startswith(" ") and 60 < len(text) < 700 and text[-1] == "." and \
                text[0].isupper() and "_" not in text:
            texts.append(text)
    return texts


def batch(corpus, tok, rows, length, seed, step, weights):
    """(tokens [rows, length+1], document number, is_target): the packed batch number `step`."""
    rng = np.random.default_rng([seed, step])
    tokens = np.full((rows, length + 1), tok.eos, np.int64)
    docs, target = np.zeros_like(tokens), np.zeros_like(tokens)
    for row in range(rows):
        at = number = 0
        while at < length:
            ids, wanted = corpus.document(tok, rng, weights)
            n = min(len(ids), length + 1 - at)
            tokens[row, at:at + n], target[row, at:at + n] = ids[:n], wanted[:n]
            docs[row, at:at + n] = number
            at, number = at + n, number + 1
    return tokens, docs, target

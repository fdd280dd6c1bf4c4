# SPDX-License-Identifier: Apache-2.0
"""Turns of a conversation: what may be asked and what Pocket is to answer.

Each kind of turn is a method that draws a question and its answer. A conversation remembers the
last word and kind, so that follow.py has an answer to "and a cat?" or "tell me more". A question has one
answer wherever it comes from: those of talk.tsv and facts.tsv go first. Questions of
questions-held-out.txt are never drawn.
"""
import bisect
import itertools
import re

import asks
import follow
import lexicon
import near
import phrase
import places
from draw import Shares, blend, held_out, nonsense, pick, plain, upper
from follow import NO_ANSWER, NO_WORD

COMFORT = "I am only a small dictionary. Please talk to someone you trust."
# Shares of the kinds in a conversation.
WEIGHTS = {"define": 0.38, "unknown": 0.20, "decline": 0.10, "talk": 0.06, "fact": 0.025, "kind": 0.075,
           "name_some": 0.025, "parts": 0.01, "opposite": 0.025, "synonym": 0.02, "example": 0.015,
           "plural": 0.01, "capital": 0.04, "element": 0.012, "calendar": 0.018, "unit": 0.01,
           "planet": 0.01, "number": 0.008, "colour": 0.012, "no_fact": 0.015, "two": 0.006, "animal": 0.015, "delicate": 0.02}
FOLLOW = 0.17  # share of turns that go back to the turn before
PETS = "dog cat horse rabbit hamster bird pet puppy kitten goldfish parrot cow".split()
RELATIVES = ("mother father grandmother grandfather brother sister friend wife husband son daughter aunt uncle mom "
             "dad grandma grandpa girlfriend boyfriend baby child best friend teacher boss").split()
NAMED = {"furniture": "pieces of furniture", "instrument": "musical instruments"}
NO_MEMBERS = ("gas", "game")


class Talk(follow.Follow, places.Places):
    """Draws turns; one for a whole training."""

    def __init__(self, words):
        self.words = words
        self.left_out = held_out()
        self.names = list(words.known)
        self.sums = list(itertools.accumulate(words.weights[w] for w in self.names))
        self.nouns = [w for w, e in words.known.items() if e.pos == "noun"]
        self.verb_names = list(words.verbs)
        self.adjectives = [w for w, e in words.known.items() if e.pos == "adj"]
        self.read_tables()
        self.read_kinds()
        self.read_places()
        self.forms_of = {}
        for typed, (word, pos, how) in words.forms.items():
            if how in ("spelling", "inflected", "ing"):
                self.forms_of.setdefault((word, pos), []).append((typed, how))
        taken = set(words.forms) | {plain(q) for q in self.fixed} | self.place_names()
        self.places = [w for w in " ".join(lexicon.lines("places.txt")).split() if w not in taken]
        self.unknown_words = {k: [w for w in v if w not in taken] for k, v in words.unknown.items()}
        self.near = near.Near({t: w for t, (w, _, _) in words.forms.items() if " " not in t},
                              [w for v in self.unknown_words.values() for w in v] + self.places)
        self.taken = taken

    def read_tables(self):
        self.talk = [(x[0].split("|"), x[1]) for x in lexicon.table("talk.tsv")]
        self.facts = [(x[0].split("|"), x[1]) for x in lexicon.table("facts.tsv")]
        self.fixed = {plain(q): answer for questions, answer in self.talk + self.facts for q in questions
                      if re.search(r"\w", q)}
        self.declined = lexicon.lines("decline.txt")
        self.foreign, self.code = lexicon.lines("foreign.txt"), lexicon.lines("code.txt")
        self.bait = lexicon.lines("delicate.rot13")
        self.offensive = sorted(self.words.offensive)
        people = dict(x.split(" ", 1) for x in lexicon.lines("names.txt"))
        self.given, self.family = people["given"].split(), people["family"].split()
        self.colours = lexicon.table("colours.tsv")
        self.colour_of = {re.sub("^(an?|the) ", "", t): c for t, c in self.colours}
        self.animals = {x[0]: x for x in lexicon.table("animals.tsv")}
        self.part = {w: p for w, p in lexicon.table("parts.tsv") if w in self.words.known}
        self.synonyms = dict(lexicon.table("synonyms.tsv"))
        self.opposites = {}
        pairs = lexicon.table("opposites.tsv")
        for a, b in pairs + [[b, a] for a, b in pairs]:
            self.opposites.setdefault(a, b)

    def read_kinds(self):
        self.members = {k: [] if m == "-" else m.split() for k, _, m in lexicon.table("kinds.tsv")}
        self.above = {k: up for k, up, _ in lexicon.table("kinds.tsv") if up != "-"}
        self.kinds = {}
        for k, members in self.members.items():
            for w in members:
                self.kinds.setdefault(w, []).append(k)
        self.bare = set(self.members["metal"] + self.members["gas"] + self.members["color"]
                        + self.members["season"])
        people = [w for w, e in self.words.known.items() if e.pos == "noun" and re.match(
            "(a|the) ([a-z]+ )?((wo)?man|person|child|doctor|scientist|artist|teacher) ", e.gloss + " ")]
        self.members["person"] = [w for w in self.members["profession"] if w in people] + [
            w for w in people if w not in self.members["profession"]]
        for w in self.members["person"]:
            self.kinds.setdefault(w, []).append("person")
        for top in set(self.above.values()):
            if not self.members[top] or top in ("food", "game"):
                self.members[top] += sum((self.members[k] for k, up in self.above.items() if up == top), [])
        countries = [c[0] for c in lexicon.table("countries.tsv") if c[0][0].isupper()]
        self.named = {k: m for k, m in dict(self.members, country=countries).items()
                      if len(m) >= 3 and k not in NO_MEMBERS}
        self.kind_words = [w for w in self.kinds if w.lower() != "mercury"]  # a planet and a metal

    # One turn: (question, answer, word or None, kind for follow-ups).

    def word(self, rng):
        at = bisect.bisect(self.sums, rng.random() * self.sums[-1])
        return self.names[min(at, len(self.names) - 1)]

    def fill(self, form, word, shown=None):
        """A question form with the word, or with what is typed for it."""
        shown = shown or word
        entry = self.words.known.get(word)
        a = self.words.subject(word) if entry else phrase.a(word)
        if shown != word:
            a = a.replace(word, shown)
        many = phrase.many(shown)
        if self.words.forms.get(many.lower(), (word,))[0] != word:  # "windows" has a meaning of its own
            many = shown
        return form.format(a=a, w=shown, p=many, s=phrase.third(shown))

    def define(self, rng):
        word = self.word(rng)
        entry, x = self.words.known[word], rng.random()
        forms = self.forms_of.get((word, entry.pos))
        if word in self.words.verbs and (entry.pos == "verb" or x < 0.35):
            return self.define_verb(word, rng)
        if forms and x > 0.8:
            typed, _ = pick(forms, rng)
            form = pick(asks.NOUN if entry.pos == "noun" else asks.OTHER, rng)
            return form.format(a=phrase.a(typed), w=typed, p=typed, s=typed), self.words.definition(word), \
                word, "define"
        shown = self.near.slip(word, rng) if rng.random() < 0.06 else word
        form = pick(asks.NOUN if entry.pos == "noun" else asks.OTHER, rng)
        if entry.pos == "noun" and re.match("(a|the) (wo)?(person|man|child|doctor|soldier|artist|priest)",
                                            entry.gloss) and x < 0.1:
            form = pick(asks.PERSON, rng)
        elif entry.pos == "adj" and x < 0.08:
            form = pick(asks.ADJ, rng)
        return self.fill(form, word, shown), self.words.definition(word), word, "define"

    def two(self, rng):
        """Two words in one question."""
        one, other = pick(self.nouns, rng), pick(self.nouns, rng)
        ask = pick(["what is {a} and what is {b}", "what are {p} and {q}", "what is {a} and {b}", "define {w} and {v}",
                    "what is {a}? and {b}", "what is {a}? what is {b}", "tell me what {a} and {b} are"], rng)
        return ask.format(a=self.words.subject(one), b=self.words.subject(other), p=phrase.many(one),
                          q=phrase.many(other), w=one, v=other), " ".join(
                              map(self.words.definition, (one, other))), other, "define"

    def define_verb(self, word, rng):
        x, answer = rng.random(), self.words.sentence(self.words.verbs[word])
        forms = self.forms_of.get((word, "verb"))
        if forms and x < 0.4:
            typed, how = pick(forms, rng)
            return pick(asks.ING if how == "ing" else asks.INFLECTED, rng).format(g=typed), answer, word, "define"
        shown = self.near.slip(word, rng) if rng.random() < 0.06 else word
        own = self.words.known[word].pos == "verb"
        return self.fill(pick(asks.OTHER if own and x < 0.75 else asks.VERB, rng), word, shown), answer, word, \
            "define"

    def unknown_word(self, rng):
        x = rng.random()
        if x < 0.24:
            return pick(self.unknown_words["common"], rng)
        if x < 0.42:
            return pick(self.unknown_words["rare"], rng)
        if x < 0.65:
            return self.near.stranger(rng)
        if x < 0.69:
            return pick(self.places, rng)
        while True:
            word = nonsense(rng) if x < 0.85 else blend(pick(self.unknown_words["rare"], rng), pick(
                self.names if x < 0.93 else self.unknown_words["common"], rng).lower(), rng)
            if word not in self.taken and not self.near.meant(word):
                return word

    def unknown(self, rng):
        x = rng.random()
        if x < 0.03:
            word = pick(["?", "...", "!", ".", "??", "!!!", "-", "42", "7", "1000", "12345", "a", "x",
                         "?!", "1", ":)", "&", "#", "*", "://"], rng)
            return word, NO_WORD, None, None
        word = self.unknown_word(rng)
        if x < 0.10:
            return self.fill(pick(asks.WRONG, rng), word), NO_WORD, None, None
        if x < 0.15:
            pair = pick(self.adjectives, rng) + " " + pick(self.nouns, rng) if x < 0.12 else \
                pick(self.nouns, rng) + " " + pick(self.nouns, rng)
            if pair not in self.taken:
                return self.fill(pick(asks.NOUN[:90], rng), pair), NO_ANSWER, None, None
        forms = asks.NOUN if x < 0.75 else asks.OTHER if x < 0.9 else asks.VERB
        return self.fill(pick(forms, rng), word), NO_WORD, None, None

    def decline(self, rng):
        x = rng.random()
        if x < 0.03:
            text = self.long_text(rng)
        elif x < 0.5:
            text = self.open_question(pick(self.declined, rng), rng)
        elif x < 0.72:
            text = self.open_question(pick(follow.OPEN, rng), rng)
        elif x < 0.82:
            text = self.sum(rng)
        elif x < 0.92:
            text = pick(self.foreign, rng)
            text = text if rng.random() < 0.6 else text.rstrip("?!. ")
        else:
            text = pick(self.code, rng)
        return text, NO_ANSWER, None, None

    def long_text(self, rng):
        """Something that somebody pasted: words or sentences."""
        if rng.random() < 0.5:
            return " ".join(self.unknown_word(rng) if rng.random() < 0.2 else self.word(rng)
                            for _ in range(rng.randrange(4, 18)))
        return " ".join(self.words.definition(self.word(rng)) for _ in range(rng.randrange(2, 5)))

    def open_question(self, form, rng):
        """A form of decline.txt or follow.OPEN with nouns, verbs and names put in."""
        if "{" not in form:
            return form
        person = pick(self.given, rng)
        if rng.random() < 0.8 or person.lower() in self.taken:
            person += " " + pick(self.family, rng)
        verb, noun, other = pick(self.verb_names, rng), pick(self.nouns, rng), pick(self.nouns, rng)
        return form.replace("{n}s", "{ns}").format(
            n=noun, m=other, ns=phrase.many(noun), ms=phrase.many(other), a=phrase.a(noun), p=person, v=verb,
            g=phrase.ing(verb), s=phrase.third(verb), j=pick(self.adjectives, rng),
            c=pick(self.countries, rng)[0])

    def sum(self, rng):
        a, b = int(10 ** (3 * rng.random())), int(10 ** (2.5 * rng.random()))
        form = pick(["what is {a}{s}{b}", "{a}{s}{b}", "{a} {s} {b}", "what is {a} {s} {b}", "{a}{s}{b}=",
                     "calculate {a} {s} {b}", "how much is {a} {s} {b}", "compute {a}{s}{b}", "{a}{s}{b}=?",
                     "what is {a} plus {b}", "what is {a} times {b}", "what is {a} minus {b}", "solve {a}{s}{b}",
                     "what is {a} divided by {b}", "what is the square root of {a}", "{a}% of {b}",
                     "solve x + {a} = {b}", "is {a} a prime number", "{a}x = {b}", "what's {a} {s} {b}",
                     "{a} plus {b}", "{a} times {b}", "add {a} and {b}", "how much is {a} and {b}",
                     "can you calculate {a} {s} {b}", "what is {a} squared", "convert {a} dollars to euros"], rng)
        return form.format(a=a, b=b, s=pick(["+", "-", "*", "/", "x", "^"], rng))

    def delicate(self, rng):
        word, text = pick(self.offensive, rng), pick(self.bait, rng)
        if "@" in text or rng.random() < 0.3:
            text = pick([t for t in self.bait if "@" in t], rng)
            if rng.random() < 0.35:
                text = pick(asks.NOUN, rng).format(a=phrase.a("@"), w="@", p="@s", s="@").replace("a @", phrase.a(word))
            about = not re.match("what is an? @|what is @|define|@$|what does|meaning", text.lower()) and word not in text
            return text.replace("@", word), NO_ANSWER if about else NO_WORD, None, None
        sad = re.search(r"kill myself|hate myself|nobody loves", text)
        return text, COMFORT if sad else NO_ANSWER, None, None

    def small_talk(self, rng):
        questions, answer = pick(self.talk, rng)
        text = pick(questions, rng)
        if "{" in text:
            text = text.format(r=pick(RELATIVES, rng), e=pick(PETS, rng), g=pick(self.given, rng),
                               c=pick(self.countries, rng)[0])
        return text, answer, None, None

    def fact(self, rng):
        questions, answer = pick(self.facts, rng)
        return pick(questions, rng), answer, None, None

    def a(self, word):
        """The word as a noun in a sentence."""
        if word[0].isupper() or word in self.bare:
            return word
        entry = self.words.known.get(word)
        return self.words.named(entry) if entry and entry.pos == "noun" else phrase.a(word)

    def is_are(self, word):
        return "are" if self.words.article.get(word) == "plural" else "is"

    def chain(self, word):
        found = []
        for k in self.kinds.get(word, []):
            while k:
                found.append(k)
                k = self.above.get(k)
        return found

    def above_or_same(self, word, other):
        """Whether one may be a case of the other: a pony is a horse, an operator a worker."""
        texts = [self.words.known[w].gloss if w in self.words.known else "" for w in (word, other)]
        return word in texts[1] or other in texts[0] or "person" in self.chain(word) + self.chain(other)

    def one_of(self, kind):
        return "furniture" if kind == "furniture" else phrase.a(kind)

    def yes_no(self, word, kind):
        """Whether word is one of a kind."""
        yes = kind in self.chain(word)
        return "%s, %s %s %s%s." % ("Yes" if yes else "No", self.a(word), self.is_are(word), "" if yes else "not ",
                                    self.one_of(kind))

    def kind(self, rng):
        word = pick(self.kind_words, rng)
        if rng.random() < 0.25:  # "is a dog a cat?"
            other = pick(self.kind_words, rng)
            if rng.random() < 0.75:
                other = pick(self.members[self.kinds[word][0]], rng)
            if other != word and (self.above_or_same(word, other) or other in self.bare and word in self.bare):
                return self.kind_of(word, rng)
            yes = word == other
            return "%s %s %s" % (self.is_are(word), self.a(word), self.a(other)), "%s, %s %s %s%s." % (
                "Yes" if yes else "No", self.a(word), self.is_are(word), "" if yes else "not ", self.a(other)), \
                word, "kind"
        return self.kind_of(word, rng)

    def kind_of(self, word, rng, ask=None):
        chain = self.chain(word)
        if rng.random() < 0.5:
            kind = pick(chain, rng)
        else:
            mixed = {"fruit", "vegetable", "food", "drink", "plant", "nut"}
            kind = pick([k for k in self.members if k not in chain and not ({k} | set(chain)) <= mixed and not (
                k in mixed and set(chain) & mixed)] or ["bird"], rng)
        if ask is None and rng.random() < 0.15:
            ask = pick(["what kind of thing is {w}", "what kind of {u} is {w}", "what is {w} a kind of",
                        "what sort of thing is {w}", "what type of {u} is {w}"], rng)
            return ask.format(w=self.a(word), u=chain[-1]), upper("%s %s %s." % (
                self.a(word), self.is_are(word), self.one_of(chain[0]))), word, "kind"
        form = ask or pick(["is {w} {k}"] * 8 + ["is {w} really {k}", "are {p} {ks}", "are {p} {ks}",
                                                 "{w} {k}", "is {w} a kind of {k1}", "is {b} {k}",
                                                 "can you tell me if {w} is {k}", "{w} is {k}, right",
                                                 "tell me, is {w} {k}", "isn't {w} {k}"], rng)
        ks = kind if kind == "furniture" else phrase.many(kind)
        return form.format(w=self.a(word), k=self.one_of(kind), ks=ks, p=phrase.many(word), k1=kind, b=word), \
            self.yes_no(word, kind), word, "kind"

    def list_of(self, kind, first, count):
        """count members of a kind from the first-th on."""
        names = [self.a(w) for w in self.named[kind][first:first + count]]
        return upper(" and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])) + "."

    def name_some(self, rng):
        kind = pick(list(self.named), rng)
        many = NAMED.get(kind, phrase.many(kind))
        many = "colours" if kind == "color" and rng.random() < 0.5 else many
        if rng.random() < 0.25:
            one = {"furniture": "piece of furniture", "color": pick(["color", "colour"], rng)}.get(kind, kind)
            ask = pick(["name {k}", "name one {b}", "give me an example of {k}", "tell me {k}", "give me {k}",
                        "name any {b}", "can you name {k}", "an example of {k}", "say {k}", "think of {k}"], rng)
            return ask.format(k=phrase.a(one), b=one), self.list_of(kind, 0, 1), self.named[kind][0], \
                ("list", kind, 1)
        count, said = pick([(3, "three "), (3, "3 "), (3, "some "), (3, ""), (3, "a few "), (2, "two "), (2, "2 "),
                            (4, "four "), (4, "4 "), (5, "five "), (5, "5 "), (3, "three different ")], rng)
        count = min(count, len(self.named[kind]))
        ask = pick(["name {n}{k}"] * 4 + ["list {n}{k}", "give me {n}{k}", "tell me {n}{k}", "examples of {k}",
                                          "can you name {n}{k}", "what {k} do you know", "which {k} are there",
                                          "say {n}{k}", "what are some {k}", "name me {n}{k}", "i need {n}{k}",
                                          "give me examples of {k}", "what are {n}{k}", "please name {n}{k}",
                                          "{n}{k} please", "list of {k}", "kinds of {k}"], rng)
        if "{n}" not in ask:
            count = min(3, len(self.named[kind]))
        return ask.format(k=many, n=said or "some "), self.list_of(kind, 0, count), None, ("list", kind, count)

    def parts(self, rng):
        word = pick(list(self.part), rng)
        ask = pick(["what are the parts of {w}", "what are the parts of {w}", "parts of {w}",
                    "what parts does {w} have", "what does {w} have", "what does {w} consist of",
                    "what is part of {w}", "name the parts of {w}", "which parts does {w} have"], rng)
        return ask.format(w=self.a(word)), self.parts_of(word), word, "parts"

    def parts_of(self, word):
        return upper("%s has %s." % (self.a(word), self.part[word])) if word in self.part else NO_ANSWER

    def opposite_of(self, word):
        found = self.opposites.get(word)
        return "The opposite of %s is %s." % (word, found) if found else \
            "I do not know the opposite of %s." % word

    def opposite(self, rng):
        word = pick(list(self.opposites), rng) if rng.random() < 0.85 else self.word(rng)
        ask = pick(["what is the opposite of {w}"] * 4 + ["opposite of {w}"] * 3 + [
            "antonym of {w}", "what's the opposite of {w}", "opposite {w}", "what is the antonym of {w}",
            "the opposite of {w}", "antonym for {w}", "{w} opposite", "opposite: {w}", "what is not {w}",
            "opposite of \"{w}\"", "tell me the opposite of {w}", "what is the opposite of the word {w}",
            "whats the opposite of {w}", "give me the opposite of {w}", "opposite word of {w}",
            "what is the contrary of {w}", "{w} antonym"], rng)
        return ask.format(w=word), self.opposite_of(word), word, "opposite"

    def synonym_of(self, word):
        found = self.synonyms.get(word)
        return "Another word for %s is %s." % (word, found) if found else \
            "I do not know another word for %s." % word

    def synonym(self, rng):
        word = pick(list(self.synonyms), rng) if rng.random() < 0.8 else self.word(rng)
        ask = pick(["synonym for {w}", "what is another word for {w}", "another word for {w}",
                    "synonym of {w}", "what is a synonym for {w}", "other words for {w}", "{w} synonym",
                    "synonyms for {w}", "a word like {w}", "what is a synonym of {w}", "synonym {w}",
                    "what word means the same as {w}", "another word for \"{w}\"", "other word for {w}",
                    "give me a synonym for {w}", "which word means {w}", "a synonym of {w}",
                    "what can i say instead of {w}"], rng)
        return ask.format(w=word), self.synonym_of(word), word, "synonym"

    def example_of(self, word):
        entry = self.words.known.get(word)
        pos = entry.pos if entry else "noun"
        if pos == "verb":
            return "It is not easy to %s." % word
        if pos == "adj":
            return "It looks %s to me." % word
        if pos == "adv":
            return "I have no sentence with %s." % word
        kinds = self.chain(word)
        if "animal" in kinds:
            return "We saw %s yesterday." % self.a(word)
        if "food" in kinds or "drink" in kinds:
            return "There is %s on the table." % self.a(word)
        return "We talked about %s for an hour." % self.a(word)

    def example(self, rng):
        word = self.word(rng)
        ask = pick(["use {w} in a sentence"] * 4 + [
            "use the word {w} in a sentence", "use \"{w}\" in a sentence", "example sentence for {w}",
            "a sentence with {w}", "give me a sentence with {w}", "make a sentence with {w}", "example of {w}",
            "make a sentence with the word {w}", "sentence with {w}", "write a sentence with {w}",
            "put {w} in a sentence", "can you use {w} in a sentence", "show me a sentence with {w}"], rng)
        return ask.format(w=word), self.example_of(word), word, "example"

    def plural_of(self, word):
        entry = self.words.known.get(word)
        if not entry or entry.pos != "noun" or self.words.article.get(word) or " " in word:
            return NO_ANSWER
        return "The plural of %s is %s." % (word, phrase.many(word))

    def plural(self, rng):
        word = pick(list(phrase.IRREGULAR), rng) if rng.random() < 0.3 else pick(self.nouns, rng)
        ask = pick(["what is the plural of {w}", "plural of {w}", "what's the plural of {w}", "the plural of {w}",
                    "{w} plural", "plural form of {w}", "what is the plural form of {w}", "plural for {w}"], rng)
        return ask.format(w=word), self.plural_of(word), word, None

    def animal(self, rng):
        name, legs, young, _ = pick(list(self.animals.values()), rng)
        if legs != "-" and (young == "-" or rng.random() < 0.55):
            ask = pick(["how many legs does {a} have", "how many legs does {a} have", "how many legs has {a}",
                        "number of legs of {a}", "how many legs do {p} have", "how many feet does {a} have",
                        "{w} legs how many", "legs of {a}"], rng)
            return ask.format(a=phrase.a(name), p=phrase.many(name), w=name), self.legs_of(name), name, None
        if young == "-":
            return self.define(rng)
        ask = pick(["what is a young {a} called", "what is a baby {a} called", "what is a baby {a}",
                    "young {a}", "baby {a}", "what do you call a baby {a}", "what do you call a young {a}",
                    "name of a baby {a}", "what is the young of {b} called"], rng)
        return ask.format(a=name, b=phrase.a(name)), self.young_of(name), name, None

    def colour(self, rng):
        thing, colour = pick(self.colours, rng)
        ask = pick(["what color is {t}", "what color is {t}", "what colour is {t}", "color of {t}",
                    "what colour is {t}", "which color is {t}", "what is the color of {t}", "which colour has {t}",
                    "colour of {t}", "what color does {t} have", "{t} color"], rng)
        return ask.format(t=thing), upper("%s is %s." % (thing, colour)), None, None

    def no_fact(self, rng):
        """Facts that are asked of words that have none."""
        word = self.word(rng)
        if rng.random() < 0.2:
            word = pick(self.places, rng)
        answer = NO_ANSWER if word in self.words.known else NO_WORD
        a = self.words.subject(word) if word in self.words.known else word
        found = [("what color is {a}", self.colour_of), ("what colour is {a}", self.colour_of),
                 ("color of {a}", self.colour_of), ("how many legs does {a} have", self.animals),
                 ("how many legs has {a}", self.animals), ("what is a baby {w} called", self.animals),
                 ("what are the parts of {a}", self.part), ("parts of {a}", self.part),
                 ("symbol for {w}", self.symbols), ("what is the chemical symbol for {w}", self.symbols),
                 ("what is the symbol of {w}", self.symbols), ("atomic number of {w}", self.symbols),
                 ("capital of {w}", self.capital_by_name), ("what is the capital of {w}", self.capital_by_name),
                 ("{w} capital", self.capital_by_name), ("how many days are in {a}", ()),
                 ("how many {p} are in {a}", ()), ("how many {p} are there", ()), ("where is {a}", ()),
                 ("where is {w}", ()), ("what comes after {w}", ()), ("what comes before {w}", ())]
        form, table = pick(found, rng)
        if word in table:
            return self.no_fact(rng)
        return form.format(a=a, w=word, p=phrase.many(pick(self.nouns, rng))), answer, word if \
            word in self.words.known else None, None

    def shares(self, weights):
        """The Shares of weights, made once for each."""
        kept = self.__dict__.setdefault("kept", {})
        key = tuple(weights.items())
        if key not in kept:
            kept[key] = Shares(weights)
        return kept[key]

    def turn(self, weights, state, rng):
        """(question, answer, state): state is (word, kind) of the turn."""
        while True:
            follows = state and rng.random() < (FOLLOW if any(state) else FOLLOW / 4)
            if follows:
                drawn = self.follow(*state, rng)
            else:
                kind = self.shares(weights).draw(rng)
                drawn = getattr(self, {"talk": "small_talk"}.get(kind, kind))(rng)
            question, answer, word, kind = drawn
            question = question.lower()
            bare = plain(question)
            if not follows and bare in self.fixed and self.fixed[bare] != answer:
                answer, word, kind = self.fixed[bare], None, None
            question = follow.noise(question, rng)
            if plain(question) not in self.left_out and bare not in self.left_out:
                return question, answer, (word, kind)

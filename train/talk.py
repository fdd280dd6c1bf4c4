# SPDX-License-Identifier: Apache-2.0
"""Turns of a conversation: what may be asked and what Pocket is to answer.

Each kind of turn is a method that draws a question and its answer. A conversation remembers the
last word and kind, so that "and a cat?" or "tell me more" has an answer. Questions of
questions-held-out.txt are never drawn.
"""
import re

import numpy as np

import lexicon
import phrase
from draw import draw, held_out, misspelt, nonsense, pick, plain, upper

NO_WORD = "I do not know that word."
NO_ANSWER = "I do not know that. Ask me what a word means."
NO_MORE = "I do not know more about it."
COMFORT = "I am only a small dictionary. Please talk to someone you trust."
# Shares of the kinds in a conversation.
WEIGHTS = {"define": 0.36, "unknown": 0.115, "decline": 0.085, "talk": 0.06, "kind": 0.09,
           "name_some": 0.03, "parts": 0.01, "opposite": 0.03, "synonym": 0.025, "example": 0.025,
           "capital": 0.06, "element": 0.02, "calendar": 0.03, "unit": 0.02, "planet": 0.015,
           "number": 0.015, "colour": 0.015, "animal": 0.02, "delicate": 0.025}
FOLLOW = 0.15  # share of turns that go back to the turn before
NOUN_ASKS = (["What is {a}?"] * 6 + ["what is {a}"] * 4 + ["{w}"] * 5 + ["what is {a}?"] * 3 + [
    "What is {a}", "What is {w}?", "what is {w}", "Define {w}.", "define {w}", "define {w}",
    "define: {w}", "Define {a}", "What does {w} mean?", "what does {w} mean", "what does {w} mean?",
    "{a}", "{w}?", "{W}", "Tell me what {a} is.", "tell me what {w} is", "What's {a}?",
    "what's {a}", "whats {a}", "whats {w}", "Explain {w}.", "explain {w}", "explain what {a} is",
    "meaning of {w}", "{w} meaning", "the meaning of {w}", "What is the meaning of {w}?",
    "definition of {w}", "{w} definition", "what is the definition of {w}?",
    "what does the word {w} mean?", "What does \"{w}\" mean?", "do you know what {a} is?",
    "can you tell me what {a} is", "Can you explain {w}?", "please define {w}", "tell me about {w}",
    "tell me about {p}", "what are {p}", "What are {p}?", "{p}", "what do you know about {p}?",
    "I want to know what {a} is", "give me the definition of {w}", "could you define {w}?",
    "what exactly is {a}?", "so what is {a}", "hi, what is {a}?", "What Is {A}?"])
VERB_ASKS = ["What does it mean to {w}?", "What does to {w} mean?", "Define to {w}.", "to {w}",
             "what does to {w} mean", "define {w}", "what does {w} mean", "What does {w} mean?",
             "meaning of {w}", "{w}", "{w} meaning", "what does it mean to {w}", "to {w} meaning",
             "what is to {w}", "explain {w}", "Define {w}.", "what does \"{w}\" mean?",
             "what is {w}", "definition of {w}", "{w}?"]
ADJ_ASKS = ["What does {w} mean?", "what does {w} mean", "define {w}", "{w}", "What is {w}?",
            "meaning of {w}", "Define {w}.", "{w}?", "what is {w}", "explain {w}", "{w} meaning",
            "what does \"{w}\" mean?", "definition of {w}", "what does the word {w} mean",
            "what does it mean to be {w}?"]
MONTHS = ("January February March April May June July August September October November "
          "December").split()
MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ORDER = ("first second third fourth fifth sixth seventh eighth ninth tenth eleventh "
         "twelfth").split()
NUMBERS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
           "fifteen sixteen seventeen eighteen nineteen twenty").split()
PLANETS = "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split()


class Talk:
    """Draws turns; one for a whole training."""

    def __init__(self, words):
        self.words = words
        self.left_out = held_out()
        self.names = list(words.known)
        weights = np.array([words.weights[w] for w in self.names])
        self.sums = np.cumsum(weights) / weights.sum()
        self.nouns = [w for w, e in words.known.items() if e.pos == "noun"]
        self.talk = [(x[0].split("|"), x[1]) for x in lexicon.table("talk.tsv")]
        self.declined = lexicon.lines("decline.txt")
        self.foreign, self.code = lexicon.lines("foreign.txt"), lexicon.lines("code.txt")
        self.bait = lexicon.lines("delicate.rot13")
        self.offensive = sorted(words.offensive)
        people = dict(x.split(" ", 1) for x in lexicon.lines("names.txt"))
        self.given, self.family = people["given"].split(), people["family"].split()
        self.countries = lexicon.table("countries.tsv")
        self.elements = lexicon.table("elements.tsv")
        self.units = lexicon.table("units.tsv")
        self.colours = lexicon.table("colours.tsv")
        self.animals = {x[0]: x for x in lexicon.table("animals.tsv")}
        self.part = dict(lexicon.table("parts.tsv"))
        self.synonyms = dict(lexicon.table("synonyms.tsv"))
        self.opposites = {}
        pairs = lexicon.table("opposites.tsv")
        for a, b in pairs + [[b, a] for a, b in pairs]:
            self.opposites.setdefault(a, b)
        self.members = {k: m.split() for k, _, m in lexicon.table("kinds.tsv")}
        self.above = {k: up for k, up, _ in lexicon.table("kinds.tsv") if up != "-"}
        self.kinds = {}
        for k, m in self.members.items():
            for w in m:
                self.kinds.setdefault(w, []).append(k)
        self.bare = set(self.members["metal"] + self.members["gas"] + self.members["color"]
                        + self.members["season"])
        self.members["animal"] = sum((self.members[k] for k, up in self.above.items()
                                      if up == "animal"), [])
        self.named = dict(self.members, country=[c[0] for c in self.countries if c[0][0].isupper()])

    # One turn: (question, answer, word or None, kind for follow-ups).

    def word(self, rng):
        at = min(np.searchsorted(self.sums, rng.random()), len(self.names) - 1)
        return self.names[at]

    def ask(self, word, rng):
        entry = self.words.known[word]
        forms = {"noun": NOUN_ASKS, "verb": VERB_ASKS, "adj": ADJ_ASKS}[entry.pos]
        a = self.words.subject(word)
        shown = word
        if len(word) > 4 and rng.random() < 0.04:
            shown = misspelt(word, rng)
            a = a.replace(word, shown)
        return pick(forms, rng).format(a=a, w=shown, p=lexicon.many(shown), W=upper(shown),
                                       A=" ".join(map(upper, a.split())))

    def define(self, rng):
        word = self.word(rng)
        if word in self.words.verbs and rng.random() < 0.3:
            ask = pick(VERB_ASKS[:5], rng).format(w=word)
            return ask, self.words.sentence(self.words.verbs[word]), word, "define"
        return self.ask(word, rng), self.words.definition(word), word, "define"

    def unknown(self, rng):
        x = rng.random()
        if x < 0.45:
            word = pick(self.words.unknown["common"], rng)
        elif x < 0.7:
            word = pick(self.words.unknown["rare"], rng)
        else:
            word = nonsense(rng)
        if rng.random() < 0.03:
            word = pick(["?", "...", "!", ".", "??", "!!!", "-", "42", "7", "1000", "12345", "a", "x",
                         "?!", "1", ":)", "<3", "&", "#", "*", "://"], rng)
            return word, NO_WORD, None, None
        form = pick(NOUN_ASKS if rng.random() < 0.8 else VERB_ASKS, rng)
        if rng.random() < 0.08:
            form = pick(["opposite of {w}", "What is the opposite of {w}?", "synonym for {w}",
                         "what is the capital of {W}?", "capital of {w}", "Is {a} an animal?",
                         "what is the symbol for {w}", "another word for {w}", "parts of {a}",
                         "is {a} a bird?"], rng)
        a = phrase.a(word)
        return form.format(a=a, w=word, p=lexicon.many(word), W=upper(word),
                           A=" ".join(map(upper, a.split()))), NO_WORD, None, None

    def decline(self, rng):
        x = rng.random()
        if x < 0.66:
            person = pick(self.given, rng) + (" " + pick(self.family, rng) if rng.random() < 0.8 else "")
            text = pick(self.declined, rng)
            text = text.format(n=pick(self.nouns, rng), m=pick(self.nouns, rng), p=person,
                               c=pick(self.countries, rng)[0]) if "{" in text else text
        elif x < 0.78:
            text = self.sum(rng)
        elif x < 0.89:
            text = pick(self.foreign, rng)
            text = text if rng.random() < 0.6 else text.rstrip("?!. ").lower()
        else:
            text = pick(self.code, rng)
        return text, NO_ANSWER, None, None

    def sum(self, rng):
        a, b = int(10 ** rng.uniform(0, 3)), int(10 ** rng.uniform(0, 2.5))
        form = pick(["What is {a}{s}{b}?", "{a}{s}{b}", "{a} {s} {b}", "what is {a} {s} {b}", "{a}{s}{b}=",
                     "calculate {a} {s} {b}", "how much is {a} {s} {b}?", "compute {a}{s}{b}",
                     "What is {a} plus {b}?", "what is {a} times {b}", "what is {a} minus {b}?",
                     "what is {a} divided by {b}", "what is the square root of {a}", "{a}% of {b}",
                     "solve x + {a} = {b}", "is {a} a prime number", "{a}x = {b}"], rng)
        return form.format(a=a, b=b, s=pick(["+", "-", "*", "/", "x", "^"], rng))

    def delicate(self, rng):
        word = pick(self.offensive, rng)
        text = pick(self.bait, rng)
        if "@" in text or rng.random() < 0.3:
            text = pick([t for t in self.bait[:24] if "@" in t], rng)
            if rng.random() < 0.35:
                text = pick(NOUN_ASKS, rng).format(a="@a", w="@", p="@s", W="@", A="@A").replace(
                    "@A", phrase.a(word)).replace("@a", phrase.a(word))
            return text.replace("@", word), NO_WORD if "?" not in text and " you" not in text and \
                "you " not in text and "hate" not in text else NO_ANSWER, None, None
        sad = re.search(r"kill myself|hate myself|nobody loves", text)
        return text, COMFORT if sad else NO_ANSWER, None, None

    def small_talk(self, rng):
        asks, answer = pick(self.talk, rng)
        text = pick(asks, rng)
        x = rng.random()
        if x < 0.35:
            text = upper(text)
        if rng.random() < 0.35 and text[-1].isalpha():
            text += "?" if re.match(r"(?i)(who|what|how|are|do|can|where|is)", text) else pick("!.", rng)
        return text, answer, None, None

    def a(self, word):
        """The word as a noun in a sentence."""
        if word[0].isupper() or word in self.bare:
            return word
        entry = self.words.known.get(word)
        return self.words.named(entry) if entry and entry.pos == "noun" else phrase.a(word)

    def kind(self, rng):
        word = pick(list(self.kinds), rng)
        return self.kind_of(word, rng)

    def chain(self, word):
        found = []
        for k in self.kinds.get(word, []):
            while k:
                found.append(k)
                k = self.above.get(k)
        return found

    def yes_no(self, word, kind):
        one = "furniture" if kind == "furniture" else phrase.a(kind)
        if kind in self.chain(word):
            return "Yes, %s is %s." % (self.a(word), one)
        return "No, %s is not %s." % (self.a(word), one)

    def kind_of(self, word, rng, ask=None):
        chain = self.chain(word)
        if rng.random() < 0.5:
            kind = pick(chain, rng)
        else:
            kind = pick([k for k in self.members if k not in chain and not (
                {k} | set(chain)) & {"fruit", "vegetable", "food", "drink", "plant"}] or ["bird"], rng)
        if ask is None and rng.random() < 0.15:
            ask = pick(["what kind of thing is {w}?", "What kind of {u} is {w}?", "what is {w} a kind of?",
                        "what sort of thing is {w}"], rng)
            answer = upper("%s is %s." % (self.a(word), phrase.a(chain[0]) if chain[0] != "furniture"
                                          else "furniture"))
            return upper(ask.format(w=self.a(word), u=chain[-1])), answer, word, "kind"
        one = "furniture" if kind == "furniture" else phrase.a(kind)
        form = ask or pick(["Is {w} {k}?"] * 3 + ["is {w} {k}", "is {w} {k}?", "is {w} really {k}?",
                                                  "are {p} {ks}?"], rng)
        ks = kind if kind == "furniture" else lexicon.many(kind)
        return form.format(w=self.a(word), k=one, ks=ks, p=lexicon.many(word)), \
            self.yes_no(word, kind), word, "kind"

    def name_some(self, rng):
        kind = pick([k for k, m in self.named.items() if len(m) >= 3 and k != "gas"], rng)
        ks = "pieces of furniture" if kind == "furniture" else (
            "musical instruments" if kind == "instrument" else lexicon.many(kind))
        ks = "colours" if kind == "color" and rng.random() < 0.5 else ks
        if rng.random() < 0.25:
            member = pick(self.named[kind], rng)
            one = "piece of furniture" if kind == "furniture" else kind
            ask = pick(["Name {k}", "name {k}.", "give me an example of {k}", "tell me {k}"], rng)
            return ask.format(k=phrase.a(one)), upper(self.a(member)) + ".", member, None
        three = list(rng.choice(self.named[kind], 3, replace=False))
        ask = pick(["Name three {k}", "name three {k}.", "list some {k}", "Name some {k}",
                    "give me three {k}", "list three {k}", "what {k} do you know?", "examples of {k}",
                    "tell me some {k}"], rng)
        names = [self.a(w) for w in three]
        return ask.format(k=ks), upper("%s, %s and %s." % tuple(names)), None, None

    def parts(self, rng):
        word = pick(list(self.part), rng)
        answer = upper("%s has %s." % (self.a(word), self.part[word]))
        ask = pick(["What are the parts of {w}?", "what are the parts of {w}", "parts of {w}",
                    "What parts does {w} have?", "what does {w} have?", "what is {w} made of?",
                    "what is part of {w}"], rng)
        return ask.format(w=self.a(word)), answer, word, "parts"

    def opposite_of(self, word):
        found = self.opposites.get(word)
        return "The opposite of %s is %s." % (word, found) if found else \
            "I do not know the opposite of %s." % word

    def opposite(self, rng):
        word = pick(list(self.opposites), rng) if rng.random() < 0.85 else self.word(rng)
        ask = pick(["What is the opposite of {w}?", "what is the opposite of {w}", "opposite of {w}",
                    "opposite of {w}?", "antonym of {w}", "what's the opposite of {w}?", "opposite {w}",
                    "what is the antonym of {w}", "the opposite of {w}", "antonym for {w}"], rng)
        return ask.format(w=word), self.opposite_of(word), word, "opposite"

    def synonym_of(self, word):
        found = self.synonyms.get(word)
        return "Another word for %s is %s." % (word, found) if found else \
            "I do not know another word for %s." % word

    def synonym(self, rng):
        word = pick(list(self.synonyms), rng) if rng.random() < 0.8 else self.word(rng)
        ask = pick(["synonym for {w}", "What is another word for {w}?", "another word for {w}",
                    "synonym of {w}", "what is a synonym for {w}?", "other words for {w}",
                    "synonyms for {w}", "a word like {w}", "what is a synonym of {w}",
                    "another word for {w}?", "what word means the same as {w}?"], rng)
        return ask.format(w=word), self.synonym_of(word), word, "synonym"

    def example_of(self, word):
        entry = self.words.known.get(word)
        pos = entry.pos if entry else "noun"
        if pos == "verb":
            return "It is not easy to %s." % word
        if pos == "adj":
            return "It looks %s to me." % word
        kinds = self.chain(word)
        if "animal" in kinds:
            return "We saw %s yesterday." % self.a(word)
        if "food" in kinds or "drink" in kinds:
            return "There is %s on the table." % self.a(word)
        return "We talked about %s for an hour." % self.a(word)

    def example(self, rng):
        word = self.word(rng)
        ask = pick(["Use {w} in a sentence.", "use {w} in a sentence", "Use the word {w} in a sentence",
                    "use \"{w}\" in a sentence", "example sentence for {w}", "a sentence with {w}",
                    "give me a sentence with {w}", "Make a sentence with {w}", "example of {w}",
                    "make a sentence with the word {w}", "sentence with {w}"], rng)
        return ask.format(w=word), self.example_of(word), word, "example"

    def capital_of(self, row):
        return "The capital of %s is %s." % (row[0], row[1])

    def capital(self, rng):
        row = pick(self.countries, rng)
        country, city, continent = row
        bare = country.replace("the ", "")
        x = rng.random()
        if x < 0.62:
            ask = pick(["What is the capital of {c}?", "what is the capital of {c}", "capital of {c}",
                        "capital of {l}", "what is the capital of {l}", "what's the capital of {c}?",
                        "whats the capital of {l}", "{c} capital", "which city is the capital of {c}?",
                        "capital city of {c}", "capital of {c}?"], rng)
            if country == "the United States" and rng.random() < 0.5:
                ask = ask.replace("{c}", "the USA").replace("{l}", "the usa")
            return ask.format(c=country, l=country.lower()), self.capital_of(row), None, "capital"
        if x < 0.82:
            ask = pick(["What is {y}?", "what is {y}", "{y}", "Where is {y}?", "where is {l}", "what is {l}",
                        "what country is {y} in?", "which country is {y} the capital of", "{l}"], rng)
            return ask.format(y=city, l=city.lower()), "%s is the capital of %s." % (city, country), \
                None, None
        ask = pick(["What is {c}?", "what is {c}", "{c}", "where is {c}", "Where is {c}?", "{l}",
                    "what is {l}", "tell me about {c}"], rng)
        where = "Oceania" if continent in ("Australia", "Oceania") else continent
        return ask.format(c=bare if ask in ("{c}", "{l}") else country, l=bare.lower()), upper(
            "%s is a country in %s. Its capital is %s." % (country, where, city)), None, None

    def element(self, rng):
        number, symbol, name = pick(self.elements, rng)
        x = rng.random()
        if x < 0.5:
            ask = pick(["What is the symbol for {n}?", "what is the symbol of {n}", "symbol for {n}",
                        "chemical symbol of {n}", "what is the chemical symbol for {n}?"], rng)
            answer = "The symbol of %s is %s." % (name, symbol)
        elif x < 0.65:
            ask = pick(["what element is {s}?", "What element has the symbol {s}?",
                        "what does the symbol {s} stand for"], rng)
            answer = "%s is the symbol of %s." % (symbol, name)
        elif x < 0.8:
            ask = pick(["What is the atomic number of {n}?", "atomic number of {n}"], rng)
            answer = "The atomic number of %s is %s." % (name, number)
        elif name not in self.words.known:
            ask = pick(["What is {n}?", "what is {n}", "{n}", "define {n}", "{n}?"], rng)
            answer = "%s is a chemical element with the symbol %s." % (upper(name), symbol)
        else:
            ask = "Is {n} an element?"
            answer = "Yes, %s is an element." % name
        return ask.format(n=name, s=symbol), answer, None, None

    def calendar(self, rng):
        i, j, x = int(rng.integers(12)), int(rng.integers(7)), rng.random()
        if x < 0.25:
            ask = pick(["What month comes after {m}?", "what month comes after {l}",
                        "which month is after {m}?", "month after {l}"], rng)
            return ask.format(m=MONTHS[i], l=MONTHS[i].lower()), "%s comes after %s." % (
                MONTHS[(i + 1) % 12], MONTHS[i]), None, None
        if x < 0.4:
            ask = pick(["How many days are in {m}?", "how many days does {l} have", "days in {l}",
                        "how many days are there in {m}"], rng)
            return ask.format(m=MONTHS[i], l=MONTHS[i].lower()), "%s has %d days%s." % (
                MONTHS[i], MONTH_DAYS[i], ", in leap years 29" if i == 1 else ""), None, None
        if x < 0.52:
            ask = pick(["What is {m}?", "what is {l}", "{l}", "{m}"], rng)
            return ask.format(m=MONTHS[i], l=MONTHS[i].lower()), "%s is the %s month of the year." % (
                MONTHS[i], ORDER[i]), None, None
        if x < 0.6:
            ask = pick(["What is the {o} month?", "what is the {o} month of the year",
                        "which month is the {o}?"], rng)
            return ask.format(o=ORDER[i]), "%s is the %s month of the year." % (MONTHS[i], ORDER[i]), \
                None, None
        if x < 0.85:
            after = rng.random() < 0.6
            ask = pick(["What day comes {r} {d}?", "what day comes {r} {l}", "which day is {r} {d}?",
                        "the day {r} {l}"], rng)
            other = DAYS[(j + (1 if after else -1)) % 7]
            r = "after" if after else "before"
            return ask.format(d=DAYS[j], l=DAYS[j].lower(), r=r), "%s comes %s %s." % (
                other, r, DAYS[j]), None, None
        if x < 0.92:
            ask = pick(["What is {d}?", "what is {l}", "{l}", "{d}"], rng)
            return ask.format(d=DAYS[j], l=DAYS[j].lower()), "%s is a day of the week." % DAYS[j], \
                None, None
        lists = (("days of the week|days", DAYS), ("months|months of the year", MONTHS),
                 ("seasons|four seasons", ["Spring", "summer", "autumn", "winter"]))
        names, items = pick(lists, rng)
        ask = pick(["Name the {k}", "what are the {k}?", "name the {k}.", "list the {k}", "{k}"], rng)
        return ask.format(k=pick(names.split("|"), rng)), "%s and %s." % (
            ", ".join(items[:-1]), items[-1]), None, None

    def unit(self, rng):
        many, small, big = pick(self.units, rng)
        ask = pick(["How many {s} are in {b}?", "how many {s} in {b}", "how many {s} are in {b}",
                    "How many {s} are there in {b}?", "how many {s} does {b} have", "{s} in {b}"], rng)
        return ask.format(s=small, b=phrase.a(big)), upper("%s has %s %s." % (
            phrase.a(big), many, small)), None, None

    def planet(self, rng):
        i, x = int(rng.integers(8)), rng.random()
        if x < 0.35:
            ask = pick(["What is {p}?", "what is {l}", "{p}", "what is {p}", "{l}"], rng)
            return ask.format(p=PLANETS[i], l=PLANETS[i].lower()) if i != 2 else "What is Earth?", \
                "%s is the %s planet from the sun." % (PLANETS[i], ORDER[i]), None, None
        if x < 0.55:
            ask = pick(["What is the {o} planet?", "what is the {o} planet from the sun",
                        "which planet is the {o}?"], rng)
            return ask.format(o=ORDER[i]), "%s is the %s planet from the sun." % (
                PLANETS[i], ORDER[i]), None, None
        if x < 0.7:
            ask = pick(["How many planets are there?", "how many planets are in our solar system",
                        "how many planets"], rng)
            return ask, "There are eight planets.", None, None
        if x < 0.8:
            ask = pick(["Name the planets", "name all planets", "what are the planets?",
                        "list the planets"], rng)
            return ask, ", ".join(PLANETS[:-1]) + " and Neptune.", None, None
        return pick([("What is the largest planet?", "Jupiter is the largest planet."),
                     ("what is the biggest planet", "Jupiter is the largest planet."),
                     ("which planet is the biggest", "Jupiter is the largest planet."),
                     ("What is the smallest planet?", "Mercury is the smallest planet."),
                     ("which planet is nearest to the sun", "Mercury is nearest to the sun."),
                     ("what planet is closest to the sun", "Mercury is nearest to the sun."),
                     ("which planet has rings?", "Saturn is known for its rings."),
                     ("what is the red planet", "Mars is called the red planet.")], rng) + (None, None)

    def number(self, rng):
        i, after = int(rng.integers(1, 20)), rng.random() < 0.6
        ask = pick(["What comes {r} {n}?", "what number comes {r} {n}", "which number is {r} {n}?",
                    "what is the number {r} {n}"], rng)
        r = "after" if after else "before"
        return ask.format(r=r, n=NUMBERS[i]), "%s comes %s %s." % (
            upper(NUMBERS[i + (1 if after else -1)]), r, NUMBERS[i]), None, None

    def colour(self, rng):
        thing, colour = pick(self.colours, rng)
        ask = pick(["What color is {t}?", "what color is {t}", "what colour is {t}", "color of {t}",
                    "What colour is {t}?", "which color is {t}", "what is the color of {t}?"], rng)
        return ask.format(t=thing), upper("%s is %s." % (thing, colour)), None, None

    def animal(self, rng):
        name, legs, young, _ = pick(list(self.animals.values()), rng)
        if legs != "-" and (young == "-" or rng.random() < 0.55):
            ask = pick(["How many legs does {a} have?", "how many legs does {a} have",
                        "how many legs has {a}", "number of legs of {a}"], rng)
            return ask.format(a=phrase.a(name)), upper("%s has %s legs." % (phrase.a(name), legs)), \
                name, None
        if young == "-":
            return self.define(rng)
        ask = pick(["What is a young {a} called?", "what is a baby {a} called", "what is a baby {a}?",
                    "young {a}", "baby {a}"], rng)
        return ask.format(a=name), "A young %s is called %s." % (name, phrase.a(young)), name, None

    def more(self, word):
        """What there is to say about a word beside its definition."""
        kinds, facts = self.kinds.get(word), []
        if kinds:
            facts.append("%s is %s." % (upper(self.a(word)), "furniture" if kinds[0] == "furniture"
                                        else phrase.a(kinds[0])))
        if word in self.part:
            facts.append(("It has %s." if kinds else upper(self.a(word)) + " has %s.") % self.part[word])
        elif word in self.animals and self.animals[word][1] != "-":
            facts.append("It has %s legs." % self.animals[word][1])
        if word in self.animals and self.animals[word][2] != "-":
            facts.append("Its young is called %s." % phrase.a(self.animals[word][2]))
        if not facts and word in self.synonyms:
            facts.append(self.synonym_of(word))
        if not facts and word in self.opposites:
            facts.append(self.opposite_of(word))
        return " ".join(facts) or NO_MORE

    def follow(self, word, kind, rng):
        """A turn that only makes sense after the one before."""
        x = rng.random()
        if kind == "capital" and x < 0.7:
            row = pick(self.countries, rng)
            ask = pick(["and {c}?", "and of {c}?", "what about {c}?", "{c}?", "and {c}", "And {c}?"], rng)
            return ask.format(c=row[0]), self.capital_of(row), None, "capital"
        if kind in ("opposite", "synonym") and x < 0.5:
            pool = self.opposites if kind == "opposite" else self.synonyms
            other = pick(list(pool), rng)
            ask = pick(["and {w}?", "and of {w}?", "what about {w}?", "and {w}", "of {w}?"], rng)
            answer = self.opposite_of(other) if kind == "opposite" else self.synonym_of(other)
            return ask.format(w=other), answer, other, kind
        if kind == "define" and x < 0.25:
            other = self.word(rng)
            ask = pick(["and {a}?", "and {a}", "what about {a}?", "And {a}?", "and {w}?", "and what is {a}?",
                        "what about {a}", "and now {a}"], rng)
            return ask.format(a=self.words.subject(other), w=other), self.words.definition(other), \
                other, "define"
        if not word:
            return pick(["tell me more", "why?", "more", "how so?"], rng), NO_ANSWER, None, None
        if x < 0.45:
            ask = pick(["tell me more", "Tell me more.", "more", "more about it", "tell me more about it",
                        "what else?", "anything else?", "go on", "tell me more about that", "and?",
                        "say more", "continue", "What else do you know about it?"], rng)
            return ask, self.more(word), word, None
        if x < 0.6:
            ask = pick(["use it in a sentence", "Use it in a sentence.", "give me an example",
                        "an example?", "example", "for example?", "make a sentence with it",
                        "use that in a sentence", "in a sentence?"], rng)
            return ask, self.example_of(word), word, None
        if x < 0.68:
            ask = pick(["what is the opposite?", "and the opposite?", "opposite?", "its opposite?",
                        "What is its opposite?", "the opposite"], rng)
            return ask, self.opposite_of(word), word, None
        if x < 0.75:
            ask = pick(["another word for it?", "synonym?", "another word?", "is there another word for it?",
                        "give me a synonym", "what is a synonym?"], rng)
            return ask, self.synonym_of(word), word, None
        if x < 0.87 and word in self.kinds:
            return self.kind_of(word, rng, pick(["is it {k}?", "Is it {k}?", "is that {k}?", "is it {k}"],
                                                rng))
        if word in self.animals and self.animals[word][1] != "-" and x < 0.9:
            return "how many legs does it have?", upper("%s has %s legs." % (
                phrase.a(word), self.animals[word][1])), word, None
        ask = pick(["is it dangerous?", "Is it dangerous?", "is it big?", "why?", "why", "how?",
                    "where does it live?", "where can i buy it?", "how much is it?", "is it good?",
                    "do you like it?", "what color is it?", "how old is it?", "can i eat it?",
                    "who invented it?", "how does it work?", "what does it look like?", "where is it?",
                    "how big is it?", "is it expensive?", "what is it for?", "how do you make it?",
                    "how is it made?", "is it fast?", "can it fly?", "does it bite?", "is it safe?",
                    "when was it invented?", "can you draw it?", "is it real?", "how do you spell it?",
                    "where does it come from?", "what does it eat?", "how long does it live?"], rng)
        return ask, NO_ANSWER, word, None

    def turn(self, weights, state, rng):
        """(question, answer, state): state is (word, kind) of the turn."""
        while True:
            if state and rng.random() < FOLLOW:
                drawn = self.follow(*state, rng)
            else:
                kind = draw(weights, rng)
                drawn = getattr(self, {"talk": "small_talk"}.get(kind, kind))(rng)
            question, answer, word, kind = drawn
            if rng.random() < 0.025:
                question = question.upper()
            elif rng.random() < 0.02 and re.match(r"(?i)wh?at", question):
                question = pick(["waht", "wat", "whta", "wht", "hwat"], rng) + question[4:]
            if plain(question) not in self.left_out:
                return question, answer, (word, kind)

# SPDX-License-Identifier: Apache-2.0
"""Turns that go back to the turn before, open questions, and the noise that people type."""
import phrase
from draw import pick, upper
import asks

NO_WORD = "I do not know that word."
NO_ANSWER = "I do not know that. Ask me what a word means."
NO_MORE = "I do not know more about it."
# Open questions: {a} {n} {ns} a noun, {m} {ms} another, {v} {s} {g} a verb, {j} an adjective, {p} a person.
OPEN = ("why do {ns} {v}|why does {a} {v}|how do {ns} {v}|how does {a} {v}|can {ns} {v}|can {a} {v}|do {ns} {v}|"
        "does {a} {v}|when do {ns} {v}|where do {ns} {v}|why are {ns} {j}|is {a} {j}|are {ns} {j}|how {j} is {a}|"
        "how many {ms} does {a} have|how many {ns} are there in {c}|should i {v}|should i {v} {a}|how to {v}|"
        "how to {v} {a}|how can i {v} {a}|how do you {v} {a}|what happens if i {v} {a}|what happens when {ns} {v}|"
        "i want to {v} {a}|i {v} {a}|my {n} is {j}|the {n} is {j}|i think {ns} are {j}|why is my {n} {j}|"
        "who can {v} {a}|who {s} {ns}|which {n} is {j}|what {ns} are {j}|where is my {n}|where can i {v}|"
        "is it {j} to {v}|is it good to {v}|why should i {v}|when should i {v}|what is {j} about {ns}|"
        "do {ns} have {ms}|does {a} have {ms}|what do {ns} need|what does {a} need|are {ns} like {ms}|"
        "is {a} like {m}|what is {g} good for|why is {g} {j}|is {g} {j}|are you {j}|do you {v}|can you {v}|"
        "can you {v} {a}|will {ns} {v}|would you {v} {a}|have you ever seen {a}|do you have {a}|did {p} {v}|"
        "what did {p} {v}|is {p} {j}|why did {p} {v}|when did {p} {v}|was {p} {a}|what does {p} think about {ns}|"
        "{j} {ns}|{ns} and {ms}|{n} or {m}|{ns} vs {ms}|the {n} of the {m}|a {n} with {ms}|{n} in the {m}|"
        "what is the {j} {n} of {c}|what is a {n} of {ms}|how old is the {n}|what is the name of the {n}|"
        "what is the size of {a}|what is the weight of {a}|what is inside {a}|what is behind the {n}|"
        "who lives in {a}|what lives in {a}|what can i do with {a}|what do people do with {ns}|"
        "why is {a} called {a}|is there {a} in {c}|are there {ns} in {c}|what are {ns} made of|"
        "what is the price of {ns} in {c}|tell me why {ns} {v}|tell me how to {v}|explain why {ns} are {j}|"
        "explain how {ns} {v}|what makes {ns} {j}|what do {ns} do all day|could {a} {v} {m}|"
        "give me {a}|bring me {a}|buy me {a}|draw {a}|paint {a}|show me {a}|find {a}|make me {a}|{v} the {n}|"
        "{v} me|please {v} the {n}|let us {v}|i will {v} you|we {v} {ns}|he {s} the {n}|she {s} {a}|"
        "yesterday i saw {a}|tomorrow we {v}|if {ns} {v}, why do {ms} {v}|"
        "what is bigger, {a} or a {m}|is {a} bigger than a {m}|which is heavier, {a} or a {m}|is {a} {j} or not|"
        "what is {a} called in french|what do you call {a} in german|how long do {ns} live|how much do {ns} cost|"
        "what is a good name for {a}|what rhymes with {n}|how do i spell {n}|spell {n}|how is {n} spelled|"
        "a {n} is a {m}|{ns} are {ms}|{ns} are {j}|{a} is {j}|is {n} {m}|who is the {j} {n}|what is {p}|"
        "what is the best way to {v}|what is the fastest {n}|what is the largest {n}|which {n} is the best").split("|")
BEFORE = ("hey ", "ok ", "ok, ", "so ", "so, ", "um ", "well, ", "please ", "pocket, ", "hi, ", "hello, ", "now ",
          "and ", "hm, ", "good. ", "thanks. ", "oh, ", "tell me, ", "quick question: ", "question: ", "hi pocket, ")
AFTER = (" please", " pls", " thanks", ", please", ", thanks", " then", " exactly", " for me", " now", ", pocket",
         " again", " really", " bro", " lol", " :)", " thx", ", quickly", " today", " friend")
ENDS = ("??", "???", "?!", "!!", "!", "...", " ?", ".", "..", " !", ",", "!!!", "? ?", ";", ".?", "?.")
QUESTION = ("what", "who", "how", "where", "when", "which", "why", "is ", "are ", "does ", "do ", "can ", "could ",
            "has ", "have ", "will ", "should ", "did ", "was ", "whats", "wat", "would ", "isn't")
WHAT = ("waht", "wat", "whta", "wht", "hwat", "whst", "wath", "qhat", "what what", "wot", "whaat")


def noise(question, rng):
    """The question as it may be typed: marks at its end, words before and after, spaces, slips."""
    x = rng.random()
    asked = question.startswith(QUESTION)
    if x < 0.03 and len(question) > 3 and question[0].isalpha():
        question = pick(BEFORE, rng) + question
    elif x < 0.05 and question[-1].isalnum() and " " in question:
        question += pick(AFTER, rng)
    elif x < 0.07 and question.startswith("what"):
        question = pick(WHAT, rng) + question[4:]
    elif x < 0.08 and " " in question:
        question = question.replace(" ", "  ", 1)
    elif x < 0.086 and " is " in question:
        question = question.replace(" is ", pick((" si ", " iss ", " s ", " is is ", " is the ", "is "), rng), 1)
    elif x < 0.09 and "define" in question:
        question = question.replace("define", pick(("defien", "defne", "deifne", "difine", "define:"), rng), 1)
    elif x < 0.094 and "mean" in question:
        question = question.replace("mean", pick(("meen", "maen", "mena"), rng), 1)
    x = rng.random()
    if question[-1] in "?.!":
        return question if x < 0.7 else question + pick(ENDS, rng)
    if asked:
        return question + ("?" if x < 0.5 else "" if x < 0.88 else pick(ENDS, rng))
    return question + ("" if x < 0.72 else "?" if x < 0.82 else pick(ENDS, rng))


class Follow:
    """Part of talk.Talk."""

    def legs_of(self, word):
        row = self.animals.get(word)
        return upper("%s has %s legs." % (phrase.a(word), row[1])) if row and row[1] != "-" else NO_ANSWER

    def young_of(self, word):
        row = self.animals.get(word)
        return "A young %s is called %s." % (word, phrase.a(row[2])) if row and row[2] != "-" else NO_ANSWER

    def colour_answer(self, word):
        colour = self.colour_of.get(word)
        return upper("%s is %s." % (self.a(word), colour)) if colour else NO_ANSWER

    def symbol_answer(self, word):
        found = self.symbols.get(word)
        return "The symbol of %s is %s." % (word, found) if found else NO_ANSWER

    def more(self, word):
        """What there is to say about a word beside its definition."""
        kinds, facts = self.kinds.get(word), []
        if kinds:
            facts.append("%s %s %s." % (upper(self.a(word)), self.is_are(word), self.one_of(kinds[0])))
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
        if isinstance(kind, tuple):
            return self.follow_list(kind, rng)
        other = self.follow_other(kind, rng) if rng.random() < 0.3 else None
        if other:
            return other
        if not word:
            return pick(asks.HOW_NOT, rng), NO_ANSWER, None, None
        if word in self.capital_by_name:
            return self.follow_country(word, rng)
        return self.follow_word(word, rng)

    def follow_list(self, kind, rng):
        """ "more" after "name three birds"."""
        _, name, done = kind
        if done >= len(self.named[name]):
            return pick(asks.MORE, rng), "I do not know more of them.", None, None
        count, ask = pick([(3, "more"), (3, "three more"), (3, "some more"), (3, "any others"), (3, "name three more"),
                           (1, "another one"), (1, "one more"), (1, "another"), (1, "and another one"),
                           (3, "what else"), (3, "others"), (3, "tell me more"), (3, "name some others")], rng)
        count = min(count, len(self.named[name]) - done)
        return ask, self.list_of(name, done, count), None, ("list", name, done + count)

    def follow_other(self, kind, rng):
        """The same question about another word: "and a cat?"; None where there is none."""
        if kind == "capital":
            row = pick(self.countries, rng)
            ask = pick(["and {c}", "and of {c}", "what about {c}", "{c}", "and {c}", "how about {c}"], rng)
            return ask.format(c=row[0]), self.capital_of(row), row[0], "capital"
        if kind in ("opposite", "synonym"):
            pool = self.opposites if kind == "opposite" else self.synonyms
            other = pick(list(pool), rng)
            ask = pick(["and {w}", "and of {w}", "what about {w}", "and {w}", "of {w}", "how about {w}"], rng)
            answer = self.opposite_of(other) if kind == "opposite" else self.synonym_of(other)
            return ask.format(w=other), answer, other, kind
        if kind == "define":
            if rng.random() < 0.15:
                ask = pick(["and {a}", "what about {a}", "and {w}"], rng)
                return self.fill(ask, self.unknown_word(rng)), NO_WORD, None, None
            other = self.word(rng)
            ask = pick(["and {a}"] * 3 + ["what about {a}", "and {w}", "and what is {a}", "what about {w}",
                                          "and now {a}", "how about {a}", "i meant {w}", "no, i mean {w}",
                                          "sorry, {a}", "then what is {a}", "ok, and {a}", "also {a}"], rng)
            return self.fill(ask, other), self.words.definition(other), other, "define"
        return None

    def follow_country(self, name, rng):
        country = self.capital_by_name[name]
        ask, answer = pick([
            ("what is its capital", self.capital_of(country)), ("and its capital", self.capital_of(country)),
            ("what's the capital", self.capital_of(country)), ("where is it", self.where(country)),
            ("on which continent is it", self.where(country)), ("where is that", self.where(country)),
            ("is it a country", upper("Yes, %s is a country." % name)),
            ("how many people live there", NO_ANSWER), ("what language do they speak there", NO_ANSWER),
            ("how big is it", NO_ANSWER), ("is it nice there", NO_ANSWER), ("who is its president", NO_ANSWER)], rng)
        return ask, answer, name, None

    def follow_word(self, word, rng):
        x = rng.random()
        if x < 0.2:
            return pick(asks.MORE, rng), self.more(word), word, None
        if x < 0.28:
            entry = self.words.known.get(word)
            return pick(asks.AGAIN, rng), self.words.sentence(entry) if entry else NO_ANSWER, word, None
        if x < 0.36:
            return pick(asks.EXAMPLE, rng), self.example_of(word), word, None
        if x < 0.42:
            ask = pick(["what is the opposite", "and the opposite", "opposite", "its opposite",
                        "what is its opposite", "the opposite", "what's the opposite of that"], rng)
            return ask, self.opposite_of(word), word, None
        if x < 0.48:
            ask = pick(["another word for it", "synonym", "another word", "is there another word for it",
                        "give me a synonym", "what is a synonym", "synonyms"], rng)
            return ask, self.synonym_of(word), word, None
        if x < 0.64:
            return self.follow_kind(word, rng)
        if x < 0.84:
            return self.follow_fact(word, rng)
        return pick(asks.UNKNOWN, rng), NO_ANSWER, word, None

    def follow_kind(self, word, rng):
        ask = pick(["is it {k}", "is it {k}", "is that {k}", "is this {k}", "are they {ks}", "is it really {k}"], rng)
        if word in self.kinds:
            return self.kind_of(word, rng, ask)
        kind = pick(list(self.members), rng)
        return ask.format(k=self.one_of(kind), ks=phrase.many(kind)), NO_ANSWER, word, None

    def follow_fact(self, word, rng):
        kinds = self.kinds.get(word)
        ask, answer = pick([
            ("how many legs does it have", self.legs_of(word)), ("how many legs has it", self.legs_of(word)),
            ("how many legs do they have", self.legs_of(word)),
            ("what is its young called", self.young_of(word)), ("what are its young called", self.young_of(word)),
            ("what is its baby called", self.young_of(word)), ("what is a baby one called", self.young_of(word)),
            ("what color is it", self.colour_answer(word)), ("what colour is it", self.colour_answer(word)),
            ("which color is it", self.colour_answer(word)), ("what is its color", self.colour_answer(word)),
            ("what is its symbol", self.symbol_answer(word)), ("and its symbol", self.symbol_answer(word)),
            ("what parts does it have", self.parts_of(word)), ("what are its parts", self.parts_of(word)),
            ("what is its plural", self.plural_of(word)), ("and the plural", self.plural_of(word)),
            ("plural", self.plural_of(word)),
            ("what kind of thing is it", upper("%s %s %s." % (self.a(word), self.is_are(word), self.one_of(kinds[0])))
             if kinds else NO_ANSWER)], rng)
        return ask, answer, word, None

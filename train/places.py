# SPDX-License-Identifier: Apache-2.0
"""Turns about countries, elements, the calendar, units, planets and numbers."""
import lexicon
import phrase
from draw import pick, upper

MONTHS = ("January February March April May June July August September October November "
          "December").split()
MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ORDER = ("first second third fourth fifth sixth seventh eighth ninth tenth eleventh "
         "twelfth").split()
NUMBERS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
           "fifteen sixteen seventeen eighteen nineteen twenty").split()
PLANETS = "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split()


class Places:
    """Part of talk.Talk."""

    def read_places(self):
        self.countries = lexicon.table("countries.tsv")
        self.elements = lexicon.table("elements.tsv")
        self.units = lexicon.table("units.tsv")
        self.symbols = {name: symbol for _, symbol, name in self.elements}
        self.capital_by_name = {row[0]: row for row in self.countries}
        self.both = {row[1] for row in self.countries} & {row[0] for row in self.countries}

    def place_names(self):
        """Names, in small letters, that have answers of their own."""
        names = [x for row in self.countries for x in row[:2]] + [row[2] for row in self.elements]
        return {n.lower().replace("the ", "") for n in names + MONTHS + DAYS + PLANETS} | {"usa"}

    def capital_of(self, row):
        return "The capital of %s is %s." % (row[0], row[1])

    def where(self, row):
        where = "Oceania" if row[2] in ("Australia", "Oceania") else row[2]
        return upper("%s is in %s." % (row[0], where))

    def capital(self, rng):
        row = pick(self.countries, rng)
        country, city, _ = row
        bare, x = country.replace("the ", ""), rng.random()
        if x < 0.6:
            ask = pick(["what is the capital of {c}"] * 4 + ["capital of {c}"] * 3 + [
                "what's the capital of {c}", "whats the capital of {c}", "{b} capital", "capital {b}",
                "which city is the capital of {c}", "capital city of {c}", "what is {b}'s capital",
                "the capital of {c}", "tell me the capital of {c}", "what is the capital city of {c}",
                "name the capital of {c}", "do you know the capital of {c}", "{b}, capital"], rng)
            if country == "the United States" and rng.random() < 0.5:
                country, bare = "the usa", "usa"
            return ask.format(c=country, b=bare), self.capital_of(row), row[0], "capital"
        if x < 0.8 and city not in self.both:
            ask = pick(["what is {y}", "what is {y}", "{y}", "where is {y}", "what country is {y} in",
                        "which country is {y} the capital of", "tell me about {y}", "{y} is the capital of",
                        "what is the city of {y}", "in which country is {y}"], rng)
            return ask.format(y=city), "%s is the capital of %s." % (city, country), None, None
        if bare.lower() in self.words.forms:
            return self.capital(rng)
        ask = pick(["what is {c}", "what is {c}", "{b}", "where is {c}", "where is {c}", "tell me about {c}",
                    "is {c} a country", "what do you know about {c}", "define {b}", "what is {b}", "where is {b}"], rng)
        where = self.where(row)[:-1].replace(" is in ", " is a country in ")
        return ask.format(c=country, b=bare), "%s. Its capital is %s." % (where, city), row[0], "country"

    def element(self, rng):
        number, symbol, name = pick(self.elements, rng)
        x = rng.random()
        if x < 0.05 and len(symbol) > 1 and symbol.lower() not in self.words.forms:
            return pick(["what is {s}", "{s}"], rng).format(s=symbol), "%s is the symbol of %s." % (symbol, name), \
                name, None
        if x < 0.5:
            ask = pick(["what is the symbol for {n}", "what is the symbol of {n}", "symbol for {n}", "symbol of {n}",
                        "chemical symbol of {n}", "what is the chemical symbol for {n}", "{n} symbol"], rng)
            answer = "The symbol of %s is %s." % (name, symbol)
        elif x < 0.65:
            ask = pick(["what element is {s}", "what element has the symbol {s}",
                        "what does the symbol {s} stand for", "which element has the symbol {s}"], rng)
            answer = "%s is the symbol of %s." % (symbol, name)
        elif x < 0.8:
            ask = pick(["what is the atomic number of {n}", "atomic number of {n}"], rng)
            answer = "The atomic number of %s is %s." % (name, number)
        elif name not in self.words.known:
            ask = pick(["what is {n}", "{n}", "define {n}", "what does {n} mean", "tell me about {n}"], rng)
            answer = "%s is a chemical element with the symbol %s." % (upper(name), symbol)
        else:
            ask = pick(["is {n} an element", "is {n} a chemical element"], rng)
            answer = "Yes, %s is an element." % name
        return ask.format(n=name, s=symbol), answer, name, None

    def calendar(self, rng):
        x = rng.random()
        if x < 0.55:
            return self.month(rng)
        if x < 0.88:
            return self.day(rng)
        lists = (("days of the week|days|weekdays", DAYS), ("months|months of the year", MONTHS),
                 ("seasons|four seasons", ["Spring", "summer", "autumn", "winter"]))
        names, items = pick(lists, rng)
        ask = pick(["name the {k}", "what are the {k}", "list the {k}", "tell me the {k}", "name all {k}"], rng)
        return ask.format(k=pick(names.split("|"), rng)), "%s and %s." % (
            ", ".join(items[:-1]), items[-1]), None, None

    def month(self, rng):
        i, x = rng.randrange(12), rng.random()
        month, order = MONTHS[i], "%s is the %s month of the year." % (MONTHS[i], ORDER[i])
        if x < 0.35:
            after = rng.random() < 0.65
            ask = pick(["what month comes {r} {m}", "which month is {r} {m}", "month {r} {m}",
                        "what is the month {r} {m}"], rng)
            r = "after" if after else "before"
            return ask.format(m=month, r=r), "%s comes %s %s." % (
                MONTHS[(i + (1 if after else -1)) % 12], r, month), None, None
        if x < 0.6:
            ask = pick(["how many days are in {m}", "how many days does {m} have", "days in {m}",
                        "how many days are there in {m}", "how many days has {m}"], rng)
            return ask.format(m=month), "%s has %d days%s." % (
                month, MONTH_DAYS[i], ", in leap years 29" if i == 1 else ""), None, None
        if x < 0.85:
            return pick(["what is {m}", "{m}", "what month is {m}", "is {m} a month"], rng).format(m=month), order, \
                None, None
        ask = pick(["what is the {o} month", "what is the {o} month of the year", "which month is the {o}",
                    "what is the {o} month in the year"], rng)
        return ask.format(o=ORDER[i]), order, None, None

    def day(self, rng):
        j = rng.randrange(7)
        if rng.random() < 0.75:
            after = rng.random() < 0.6
            ask = pick(["what day comes {r} {d}", "which day is {r} {d}", "the day {r} {d}", "what day is {r} {d}",
                        "what comes {r} {d}", "day {r} {d}"], rng)
            r = "after" if after else "before"
            return ask.format(d=DAYS[j], r=r), "%s comes %s %s." % (
                DAYS[(j + (1 if after else -1)) % 7], r, DAYS[j]), None, None
        ask = pick(["what is {d}", "{d}", "is {d} a day", "what is a {d}"], rng)
        return ask.format(d=DAYS[j]), "%s is a day of the week." % DAYS[j], None, None

    def unit(self, rng):
        many, small, big = pick(self.units, rng)
        ask = pick(["how many {s} are in {b}", "how many {s} in {b}", "how many {s} are there in {b}",
                    "how many {s} does {b} have", "{s} in {b}", "how many {s} has {b}", "how many {s} make {b}",
                    "number of {s} in {b}"], rng)
        return ask.format(s=small, b=phrase.a(big)), upper("%s has %s %s." % (
            phrase.a(big), many, small)), None, None

    def planet(self, rng):
        i, x = rng.randrange(8), rng.random()
        if x < 0.35 and i not in (0, 2):
            ask = pick(["what is {p}", "{p}", "what is the planet {p}", "tell me about {p}"], rng)
            return ask.format(p=PLANETS[i]), "%s is the %s planet from the sun." % (PLANETS[i], ORDER[i]), None, None
        if x < 0.55:
            ask = pick(["what is the {o} planet", "what is the {o} planet from the sun", "which planet is the {o}"],
                       rng)
            return ask.format(o=ORDER[i]), "%s is the %s planet from the sun." % (
                PLANETS[i], ORDER[i]), None, None
        if x < 0.7:
            ask = pick(["how many planets are there", "how many planets are in our solar system", "how many planets",
                        "how many planets does the solar system have"], rng)
            return ask, "There are eight planets.", None, None
        if x < 0.8:
            ask = pick(["name the planets", "name all planets", "what are the planets", "list the planets"], rng)
            return ask, ", ".join(PLANETS[:-1]) + " and Neptune.", None, None
        return pick([("what is the largest planet", "Jupiter is the largest planet."),
                     ("what is the biggest planet", "Jupiter is the largest planet."),
                     ("which planet is the biggest", "Jupiter is the largest planet."),
                     ("which planet is the largest", "Jupiter is the largest planet."),
                     ("what is the smallest planet", "Mercury is the smallest planet."),
                     ("which planet is the smallest", "Mercury is the smallest planet."),
                     ("which planet is nearest to the sun", "Mercury is nearest to the sun."),
                     ("what planet is closest to the sun", "Mercury is nearest to the sun."),
                     ("which planet has rings", "Saturn is known for its rings."),
                     ("what is the red planet", "Mars is called the red planet."),
                     ("which planet is red", "Mars is called the red planet."),
                     ("what planet do we live on", "We live on the earth."),
                     ("which planet do we live on", "We live on the earth.")], rng) + (None, None)

    def number(self, rng):
        i, after = 1 + rng.randrange(19), rng.random() < 0.6
        ask = pick(["what comes {r} {n}", "what number comes {r} {n}", "which number is {r} {n}",
                    "what is the number {r} {n}", "number {r} {n}"], rng)
        r = "after" if after else "before"
        return ask.format(r=r, n=NUMBERS[i]), "%s comes %s %s." % (
            upper(NUMBERS[i + (1 if after else -1)]), r, NUMBERS[i]), None, None

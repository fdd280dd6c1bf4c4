# SPDX-License-Identifier: Apache-2.0
"""English forms of words: articles, plurals, forms of verbs and adjectives."""
import re

IRREGULAR = {"man": "men", "woman": "women", "child": "children", "foot": "feet", "tooth": "teeth",
             "mouse": "mice", "goose": "geese", "sheep": "sheep", "fish": "fish", "deer": "deer",
             "leaf": "leaves", "knife": "knives", "wolf": "wolves", "life": "lives", "wife": "wives",
             "shelf": "shelves", "person": "people", "salmon": "salmon", "trout": "trout", "tuna": "tuna",
             "calf": "calves", "half": "halves", "thief": "thieves", "elf": "elves", "hoof": "hooves",
             "ox": "oxen", "louse": "lice", "cactus": "cacti", "snowman": "snowmen", "policeman": "policemen",
             "fisherman": "fishermen", "gentleman": "gentlemen", "salesman": "salesmen", "matrix": "matrices",
             "axis": "axes", "crisis": "crises", "species": "species", "series": "series",
             "aircraft": "aircraft", "grandchild": "grandchildren", "housewife": "housewives"}
IN_OES = ("potato", "tomato", "mango", "volcano", "mosquito", "hero", "echo", "tornado", "buffalo")


def a(word):
    """word with "a" or "an" before it, by its letters."""
    vowel = re.match(r"[aeio]|u(?!ni|s[aei]|r[aeiou]|t[ei])|hour|honest|heir|honor", word.lower())
    if re.match(r"eu|one\b|once\b|ewe", word.lower()):
        vowel = None
    if re.match(r"[A-Z]{2,}\b", word):  # spelt out: "an LLM"
        vowel = word[0] in "AEFHILMNORSX"
    return ("an " if vowel else "a ") + word


def many(word):
    """The plural."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in IN_OES or re.search(r"(s|x|z|ch|sh)$", word):
        return word + "es"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + "s"


def doubled(word):
    """run -> runn: the stem before -ing, -ed and -er."""
    return word + word[-1] if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word) else word


def third(verb):
    """he runs."""
    return {"have": "has", "be": "is", "do": "does", "go": "goes", "can": "can", "must": "must",
            "should": "should"}.get(verb) or many(verb)


def ing(verb):
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    return (verb[:-1] if re.search(r"[^eoy]e$", verb) else doubled(verb)) + "ing"


def past(verb):
    """The past of a regular verb."""
    if verb.endswith("e"):
        return verb + "d"
    return (verb[:-1] + "i" if re.search(r"[^aeiou]y$", verb) else doubled(verb)) + "ed"


def compared(adjective):
    """bigger, biggest."""
    stem = doubled(adjective)
    if re.search(r"[^aeiou]y$", adjective):
        stem = adjective[:-1] + "i"
    elif adjective.endswith("e"):
        stem = adjective[:-1]
    return [stem + "er", stem + "est"]

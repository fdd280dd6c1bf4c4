# SPDX-License-Identifier: Apache-2.0
"""Turns a gloss into an English sentence: articles for the word and for the gloss.

WordNet says "tern: small slender gull ..." and "water: binary compound ...". Whether a word wants
an article is counted on WordNet's own text: how often it is seen after "a" or "an" against how
often after a preposition or at the start without any article.
"""
import collections
import re

DETERMINERS = set(
    "a an the any one some someone something anything all that this what whatever each every "
    "either two three several no your his her its their most many those these people things "
    "not being having for how in when you".split())
BREAKS = set(
    "of that which who whose whom where when having with without in into used for from to on by "
    "at as is are was and or but between among made found caused consisting containing usually "
    "often especially such done given produced characterized considered located formed resulting "
    "under over through during after before against about around upon within native growing "
    "related based belonging like marked associated intended designed occurring designating "
    "who's being so than directed involving using".split())
BARE = set("of in for with by from to and or as on into without like".split())


class Articles:
    """Word statistics that decide about articles."""

    def __init__(self, texts):
        self.after_a, self.bare = collections.Counter(), collections.Counter()
        for text in texts:
            words = re.findall(r"[a-z']+|[;,.\"]", text.lower())
            for before, word, after in zip(words, words[1:], words[2:] + ["."]):
                head = after in BREAKS or not after[0].isalpha()
                if before in ("a", "an"):
                    self.after_a[word] += 2 if head else 0
                elif before in BARE and head:
                    self.bare[word] += 1
            for i, word in enumerate(words[:-3]):  # "a small gull": one or two adjectives
                if word in ("a", "an"):
                    head = gloss_head(words[i + 1:i + 5])
                    self.after_a[head] += 1

    def countable(self, word):
        """Whether the singular word takes "a"."""
        if plural(word) or word.endswith("ics"):
            return False
        return self.after_a[word] * 2 >= self.bare[word] - 2


def plural(word):
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "ics"))


def gloss_head(words):
    """The last word of the noun phrase that words begin with."""
    head = words[0] if words else ""
    for word in words:
        if word in BREAKS or not word[0].isalpha():
            break
        head = word
    return head


def a(word):
    """word with "a" or "an" before it, by its letters."""
    vowel = re.match(r"[aeio]|u(?!ni|s[aei]|r[aeiou]|t[ei])|hour|honest|heir|honor", word.lower())
    if re.match(r"eu|one\b|once\b|ewe", word.lower()):
        vowel = None
    return ("an " if vowel else "a ") + word


def subject(entry, articles):
    """How a sentence about the noun starts: "a tern", "water"."""
    return a(entry.word) if articles.countable(entry.word) else entry.word


def predicate(gloss, articles):
    """The gloss as what follows "is": "a small slender gull ..."."""
    words = re.findall(r"[A-Za-z'-]+|[;,.]", gloss)
    head = gloss_head([w.lower() for w in words[:8]])
    if not words or words[0].lower() in DETERMINERS or words[0][0].isupper():
        return gloss
    first_is_verb = words[0].endswith("ing") and head == words[0].lower()
    return gloss if first_is_verb or not articles.countable(head) else a(gloss)


def sentence(entry, articles):
    """One full sentence that defines the entry."""
    if entry.pos == "noun":
        start = subject(entry, articles)
        verb = " are " if plural(entry.word) else " is "
        text = start + verb + predicate(entry.gloss, articles)
    elif entry.pos == "verb":
        text = "to " + entry.word + " is to " + re.sub("^to ", "", entry.gloss)
    else:
        text = entry.word + " means " + entry.gloss
    return text[0].upper() + text[1:] + "."

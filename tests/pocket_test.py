#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What strangers ask the built-in model: pocket_test.py BITTERN. The single questions are judged by
train/judge.py; here are conversations whose turns depend on the one before."""
import json
import pathlib
import subprocess
import sys
import unittest

BITTERN = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parent.parent
UNKNOWN = "I do not know that. Ask me what a word means."


def talk(*lines):
    """The replies of `chat` to lines of input."""
    run = subprocess.run([BITTERN, "chat", "--json", "--quiet", "-t", "1"], input="".join(x + "\n" for x in lines),
                         capture_output=True, text=True, check=True)
    return [json.loads(x)["text"].strip() for x in run.stdout.splitlines()]


class Pocket(unittest.TestCase):
    def test_spellings_of_one_question(self):
        asked = ("Dog", "DOG", "What Is A Dog?", "what is \"dog\"??", "define:dog", "dogs", "dog...", "What's a dog")
        for line in asked:
            self.assertIn("Canis", talk(line)[0], line)

    def test_pronouns(self):
        answers = talk("what is a horse?", "is it an animal?", "how many legs does it have?", "Is it a bird",
                       "is it dangerous?", "gold", "what is its symbol?", "is it a metal?", "a bicycle",
                       "how many legs does it have?")
        self.assertEqual(answers[1:5], ["Yes, a horse is an animal.", "A horse has four legs.",
                                        "No, a horse is not a bird.", UNKNOWN])
        self.assertEqual(answers[6:8], ["The symbol of gold is Au.", "Yes, gold is a metal."])
        self.assertEqual(answers[9], UNKNOWN)

    def test_lists_do_not_repeat(self):
        for line in ("name three birds", "name five fruits", "list some colors"):
            answers = talk(line, "three more")
            named = " ".join(answers).lower().replace(".", ",").replace(" and ", ", ").split(",")
            named = [x.strip() for x in named if x.strip()]
            self.assertGreaterEqual(len(named), 6, answers)
            self.assertEqual(len(named), len(set(named)), answers)

    def test_questions_of_strangers(self):
        subprocess.run([sys.executable, ROOT / "train/judge.py", "--bittern", BITTERN, "--only", "new", "--least", "98"],
                       check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

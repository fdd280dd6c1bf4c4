#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Multiple-choice questions for `bittern eval`, and an oracle for its answers.

  questions.py make COUNT FILE                                   questions of all kinds, from a seed
  questions.py compare QUESTIONS ANSWERS SUMMARY BITTERN COUNT   the first COUNT answers against
      `bittern logits --all`, one choice after the other; acc and acc_norm against all answers.
      With a .gguf file in place of BITTERN the logits are those of the Python package

The oracle writes the texts of lm-evaluation-harness on its own and shares no code with Bittern.
"""
import json
import math
import random
import re
import struct
import subprocess
import sys
import tempfile

WORDS = ("And he said unto them behold the LORD God shall come in the land of Israel with a great sword to "
         "smite king David his servants son house day water bread light beginning heaven earth").split()


def words(draw, least, most):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most)))


def make(count, path):
    draw = random.Random(11)
    kinds = ["arc", "hellaswag", "winogrande", "piqa", "boolq", "mmlu", "choices"]
    with open(path, "w", encoding="utf-8") as out:
        for i in range(count):
            kind, answers = kinds[i % 7], [words(draw, 1, 6) for _ in range(4)]
            if kind == "arc":
                line = {"question": words(draw, 3, 20) + "?", "answerKey": "C",
                        "choices": {"text": answers, "label": ["A", "B", "C", "D"]}}
            elif kind == "hellaswag":
                line = {"activity_label": "Reading", "ctx_a": words(draw, 5, 30) + ".", "ctx_b": "he",
                        "endings": ["[step] " + a + "  again." for a in answers], "label": str(i % 4)}
            elif kind == "winogrande":
                line = {"sentence": words(draw, 2, 9) + " _ " + words(draw, 2, 9) + ".",
                        "option1": "David", "option2": "the king", "answer": str(1 + i % 2)}
            elif kind == "piqa":
                line = {"goal": words(draw, 3, 9), "sol1": answers[0], "sol2": answers[1], "label": i % 2}
            elif kind == "boolq":
                line = {"passage": words(draw, 20, 60) + ".", "question": words(draw, 3, 8), "label": i % 2}
            elif kind == "mmlu":
                line = {"question": words(draw, 5, 20), "subject": "old_testament", "choices": answers,
                        "answer": i % 4}
            else:
                line = {"query": words(draw, 3, 20), "choices": answers[:3], "gold": i % 3}
            print(json.dumps(line), file=out)


def hellaswag_text(text):
    text = re.sub(r"\[.*?\]", "", text.strip().replace(" [title]", ". "))
    return text.replace("  ", " ")


def requests(q):
    """[(context, continuation, characters)] and the index of the right one."""
    def after(context, answers):
        return [(context, " " + a, len(a)) for a in answers]
    if "goal" in q:
        return after(f"Question: {q['goal']}\nAnswer:", [q["sol1"], q["sol2"]]), int(q["label"])
    if "sentence" in q:
        at = q["sentence"].index("_")
        rest = q["sentence"][at + 1:].strip()
        return [(q["sentence"][:at] + q[o], " " + rest, len(rest)) for o in ("option1", "option2")], \
            int(q["answer"]) - 1
    if "passage" in q:
        return after(f"{q['passage']}\nQuestion: {q['question']}?\nAnswer:", ["no", "yes"]), q["label"]
    if "endings" in q:
        context = q["activity_label"] + ": " + q["ctx_a"] + " " + q["ctx_b"].capitalize()
        return after(hellaswag_text(context), [hellaswag_text(e) for e in q["endings"]]), int(q["label"])
    if "answerKey" in q:
        return after(f"Question: {q['question']}\nAnswer:", q["choices"]["text"]), \
            q["choices"]["label"].index(q["answerKey"])
    if "subject" in q:
        listed = "".join(f"{l}. {c}\n" for l, c in zip("ABCD", q["choices"]))
        return after("The following are multiple choice questions (with answers) about "
                     f"{q['subject'].replace('_', ' ')}.\n\n{q['question'].strip()}\n{listed}Answer:",
                     "ABCD"), q["answer"]
    return after(q["query"], q["choices"]), q["gold"]


class Program:
    """Ids and logits by the command line."""

    def __init__(self, bittern):
        self.bittern = bittern

    def ids(self, text):
        return [int(x) for x in subprocess.run([self.bittern, "tokenize", text, "--ids"], capture_output=True,
                                               check=True, text=True).stdout.split()]

    def rows(self, ids, first):
        """The logits after each id from the first one on."""
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run([self.bittern, "logits", "--all", "-o", out.name, "--prompt-ids",
                            ",".join(map(str, ids))], capture_output=True, check=True)
            raw = open(out.name, "rb").read()
        width = len(raw) // 4 // len(ids)
        return [struct.unpack_from(f"<{width}f", raw, 4 * width * i) for i in range(first, len(ids))]


class Package:
    """The same by the Python package: fast enough for hundreds of questions."""

    def __init__(self, model):
        import bittern
        self.model = bittern.Model(model)

    def ids(self, text):
        return self.model.tokenize(text, special=True)

    def rows(self, ids, first):
        with self.model.sequence() as sequence:
            sequence.eval(ids[:first + 1])
            found = [sequence.logits().tolist()]
            for token in ids[first + 1:]:
                sequence.eval([token])
                found.append(sequence.logits().tolist())
            return found


def likelihood(door, context, continuation):
    begin, whole = door.ids(context), door.ids(context + continuation)
    first = len(begin) - 1
    total = 0.0
    for position, row in enumerate(door.rows(whole[:-1], first), first):
        largest = max(row)
        total += row[whole[position + 1]] - largest - math.log(sum(math.exp(x - largest) for x in row))
    return total


def compare(questions, answers, summary, bittern, count):
    door = Package(bittern) if bittern.endswith(".gguf") else Program(bittern)
    lines = [json.loads(line) for line in open(answers, encoding="utf-8")][1:]
    asked = [json.loads(line) for line in open(questions, encoding="utf-8")]
    assert len(lines) == len(asked)
    right = right_norm = 0
    for i, (question, line) in enumerate(zip(asked, lines)):
        choices, gold = requests(question)
        found = line["log_likelihoods"]
        assert line["gold"] == gold and len(found) == len(choices), (i, line)
        if i < count:
            for (context, continuation, _), value in zip(choices, found):
                expected = likelihood(door, context, continuation)
                assert abs(expected - value) < 1e-4, (i, context, continuation, expected, value)
        by_length = [value / size for value, (_, _, size) in zip(found, choices)]
        right += found.index(max(found)) == gold
        right_norm += by_length.index(max(by_length)) == gold
    total = json.load(open(summary, encoding="utf-8"))
    assert abs(total["acc"] - right / len(asked)) < 1e-12, (total["acc"], right)
    assert abs(total["acc_norm"] - right_norm / len(asked)) < 1e-12, (total["acc_norm"], right_norm)
    print(f"{len(asked)} questions, {count} of them by the oracle: acc {right}, acc_norm {right_norm}")


if sys.argv[1] == "make":
    make(int(sys.argv[2]), sys.argv[3])
else:
    compare(*sys.argv[2:6], int(sys.argv[6]))

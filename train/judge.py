#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges a model by the questions strangers ask: questions-*.txt and conversations.txt.

    train/judge.py --model models/pocket-3-i2s.gguf                       # shares by kind
    train/judge.py --model FILE --list models/pocket-answers.md           # every answer
    train/judge.py --model FILE --temps 0,0.2,0.5,0.8 --seeds 3 --only dev  # which temperature?

Each question is asked in a chat of its own. Verdicts:

  right     the answer contains the key
  declined  it says that it does not know, and that is what the key wants
  needless  it says so though there is a key (honest, but a pity)
  aside     small talk in place of a refusal: no fact is claimed
  wrong     all else: an answer that claims something without the key

A verdict that a reader gave (verdicts.tsv: question, answer, verdict) goes before the script's.
The conversations are asked turn after turn; each turn that stands alone is compared with the same
question in a fresh chat.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess

import draw
import lexicon

HERE = pathlib.Path(__file__).parent
LISTS = ["dev", "held-out", "new"]
DECLINES = re.compile(r"do not know|don't know|i cannot|only a small dictionary", re.I)
ASIDES = re.compile(r"^(all right|hello|i am pocket|no, i am pocket|i can tell you|goodbye|i am well|"
                    r"you are welcome|yes, i am here|i can be wrong|i speak english|i was trained)", re.I)
GOOD = ("right", "declined", "needless")
PLURAL_KINDS = {"@birds": "bird", "@animals": "animal", "@fruits": "fruit", "@colors": "color",
                "@metals": "metal", "@fish": "fish", "@trees": "tree", "@instruments": "instrument",
                "@vegetables": "vegetable"}


def questions(name):
    """[(kind, question, key)] of questions-NAME.txt."""
    text = (HERE / ("questions-%s.txt" % name)).read_text(encoding="utf-8")
    rows = [tuple(x.split("\t")) for x in text.split("\n") if x and not x.startswith("# ")]
    return [row for row in rows if name != "held-out" or row[1] not in draw.opened()]


def conversations():
    """[[(stands alone, question)]] of conversations.txt."""
    text = (HERE / "conversations.txt").read_text(encoding="utf-8")
    blocks = re.sub(r"(?m)^# .*\n", "", text).strip().split("\n\n")
    return [[(not x.startswith("+ "), x[2:] if x.startswith("+ ") else x) for x in b.split("\n")]
            for b in blocks]


def members(key):
    """Names that a "@list" key accepts."""
    if key == "@countries":
        return [row[0].replace("the ", "") for row in lexicon.table("countries.tsv")]
    rows = {k: (up, m.split()) for k, up, m in lexicon.table("kinds.tsv")}
    kind = PLURAL_KINDS[key]
    return sum((m for k, (up, m) in rows.items() if kind in (k, up)), [])


def verdict(question, key, answer, read=()):
    """One of the words above; "?" in place of a key wants a reader or a refusal."""
    if (question, answer) in read:
        return read[question, answer]
    declines = bool(DECLINES.search(answer))
    if key in ("-", "?"):
        return "declined" if declines else "aside" if ASIDES.search(answer) else "wrong"
    found = None if key.startswith("@") else re.search(key, answer, re.I)
    if found:
        return "declined" if "not know" in found.group().lower() else "right"
    if declines:
        return "needless"
    if key.startswith("@"):
        named = re.sub(r"\b(an?|and|the)\b|[,.]", " ", answer.lower()).split()
        known = set(" ".join(members(key)).lower().split())
        return "right" if named and all(w in known for w in named) else "wrong"
    return "wrong"


class Judge:
    def __init__(self, o):
        self.o = o
        path = HERE / "verdicts.tsv"
        rows = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        self.read = {(r[0], r[1]): r[2] for r in (x.split("\t") for x in rows) if len(r) == 3}

    def chat(self, lines, temp, seed):
        """The replies to lines of input ("/clear" gives none)."""
        run = subprocess.run(
            [self.o.bittern, "chat", "-m", self.o.model, "--json", "-t", str(self.o.threads), "-s",
             str(seed), "--temp", str(temp)], input="".join(x + "\n" for x in lines),
            capture_output=True, text=True, check=False)
        if run.returncode != 0 and not run.stdout:
            raise SystemExit("bittern chat: " + run.stderr)
        return [json.loads(x).get("text", "").strip() for x in run.stdout.splitlines()]

    def fresh(self, asked, temp, seed):
        """{question: answer}, each in a chat of its own."""
        lines = sum(([q, "/clear"] for q in asked), [])
        return dict(zip(asked, self.chat(lines, temp, seed)))

    def shares(self, name, temp, seed):
        """Judges one list; returns its rows (kind, question, answer, verdict)."""
        rows = questions(name)
        answers = self.fresh([q for _, q, _ in rows], temp, seed)
        return [(k, q, answers[q], verdict(q, key, answers[q], self.read)) for k, q, key in rows]

    def print_shares(self, name, rows, temp, seed, kinds=True):
        count = collections.Counter(v for _, _, _, v in rows)
        share = lambda *names: 100 * sum(count[n] for n in names) / len(rows)
        print("%s, temperature %s, seed %s: right %.1f %%, declined %.1f %%, needless %.1f %%, aside "
              "%.1f %%, wrong %.1f %%; good or honestly declined %.1f %%" % (
                  name, temp, seed, share("right"), share("declined"), share("needless"),
                  share("aside"), share("wrong"), share(*GOOD)), flush=True)
        if kinds:
            by_kind = collections.defaultdict(collections.Counter)
            for kind, _, _, v in rows:
                by_kind[kind][v] += 1
            for kind, c in by_kind.items():
                print("  %-9s %s" % (kind, ", ".join("%s %d" % x for x in c.most_common())))
        return share(*GOOD)

    def talks(self, temp, seed):
        """Share of turns answered as in a fresh chat, by turn."""
        keys = {q: key for name in LISTS for _, q, key in questions(name)}
        scripts = conversations()
        alone = sorted({q for script in scripts for single, q in script if single})
        fresh = self.fresh(alone, temp, seed)
        same, total, follow = collections.Counter(), collections.Counter(), []
        for script in scripts:
            lines = [q for _, q in script] + ["/clear"]
            answers = self.chat(lines, temp, seed)
            answers += [""] * (len(script) - len(answers))
            for i, ((single, q), answer) in enumerate(zip(script, answers)):
                if not single:
                    follow.append((script[i - 1][1], q, answer))
                    continue
                total[i + 1] += 1
                rank = lambda a: GOOD.index(v) if (v := verdict(q, keys.get(q, "-"), a, self.read)) in \
                    GOOD else 9
                same[i + 1] += answer == fresh[q] or rank(answer) <= rank(fresh[q]) < 9
        print("equal to a fresh chat or as good, by turn: " + " ".join(
            "%d: %d/%d" % (n, same[n], total[n]) for n in sorted(total)))
        return follow

    def write(self, path, lists, follow, temp, seed):
        lines = ["# What %s answers" % pathlib.Path(self.o.model).stem, "",
                 "Every question of `train/questions-dev.txt`, `train/questions-held-out.txt` and "
                 "`train/questions-new.txt`, each in a chat of its own, at temperature %s with seed %s: "
                 "`train/judge.py --list`. A verdict of `train/verdicts.tsv` is a reader's." % (temp, seed)]
        for name, rows in lists:
            lines += ["", "## " + name, "", "| kind | question | answer | verdict |", "|---|---|---|---|"]
            lines += ["| " + " | ".join(x.replace("|", "\\|").replace("<", "&lt;") for x in row) + " |"
                      for row in rows]
        lines += ["", "## Turns that depend on the one before", "",
                  "| before | question | answer |", "|---|---|---|"]
        lines += ["| %s | %s | %s |" % tuple(x.replace("|", "\\|").replace("<", "&lt;") for x in row)
                  for row in follow]
        pathlib.Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--model", default="models/pocket-3-i2s.gguf")
    p.add_argument("--bittern", default="build/dev/apps/cli/bittern")
    p.add_argument("--temps", default="0.2")
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--only", choices=LISTS)
    p.add_argument("--list", help="Markdown file that gets every answer")
    p.add_argument("--no-talks", action="store_true")
    p.add_argument("--least", type=float, default=0, help="fail where a list has a smaller share of good answers")
    o = p.parse_args()
    judge = Judge(o)
    for temp in o.temps.split(","):
        for seed in range(1, o.seeds + 1):
            lists = [(n, judge.shares(n, temp, seed)) for n in ([o.only] if o.only else LISTS)]
            for name, rows in lists:
                if judge.print_shares(name, rows, temp, seed, kinds=o.temps.count(",") == 0) < o.least:
                    raise SystemExit("%s: fewer than %g %%" % (name, o.least))
            follow = [] if o.no_talks or o.only else judge.talks(temp, seed)
            if o.list:
                judge.write(o.list, lists, follow, temp, seed)


if __name__ == "__main__":
    main()

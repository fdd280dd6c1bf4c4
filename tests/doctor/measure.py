# SPDX-License-Identifier: Apache-2.0
"""What the fault kit knows of a file beside what doctor says: nats per token of texts that doctor does not read and no
model was trained on, and what the file writes. Scripture from held-out chapters; for a model that talks, answers."""
import array
import json
import math
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
PROMPTS = ["In the beginning", "A tern is"]
TURNS = 12  # of a conversation


class Measure:
    def __init__(self, bittern, model):
        self.bittern = os.path.abspath(bittern)
        self.model, self.talks = model, "pocket" in os.path.basename(model)
        self.conversations = self.encoded() if self.talks else []
        self.healthy = self.nats(model)
        self.texts = self.written(model)

    def run(self, *arguments, **more):
        return subprocess.run([self.bittern, *arguments], capture_output=True, stdin=subprocess.DEVNULL,
                              start_new_session=True, **more)

    def ids(self, text, *flags):
        return [int(i) for i in self.run("tokenize", "-m", self.model, "--ids", "-p", text, *flags).stdout.split()]

    def encoded(self):
        """Conversations as ids, with the places of the answers' tokens."""
        end = 4089  # <|eot_id|> of Pocket's vocabulary
        turns = [line.split("\t") for line in (HERE / "conversation.tsv").read_text().splitlines()]
        found = []
        for first in range(0, len(turns), TURNS):
            ids, scored = self.ids(""), []
            for question, answer in turns[first:first + TURNS]:
                ids += self.ids("User: " + question, "--no-bos") + [end] + self.ids("Assistant: ", "--no-bos")
                reply = self.ids(answer, "--no-bos") + [end]
                scored += range(len(ids), len(ids) + len(reply))
                ids += reply
            found.append((ids, scored))
        return found

    def nats(self, path):
        """Per token; None: the file does not run."""
        if not self.talks:
            done = self.run("eval", HERE / "held-out.txt", "-m", path, "--every-token", "-c", "256", "--json", "-t", "1")
            return json.loads(done.stdout)["nats_per_token"] if done.returncode == 0 else None
        total, count = 0.0, 0
        for ids, scored in self.conversations:
            done = self.run("logits", "-m", path, "--prompt-ids", ",".join(map(str, ids)), "--all", "-o", "-", "-t", "1")
            if done.returncode != 0:
                return None
            rows = array.array("f", done.stdout)
            width = len(rows) // len(ids)
            for place in scored:
                row = rows[(place - 1) * width:place * width]
                most = max(row)
                total += most + math.log(sum(math.exp(x - most) for x in row)) - row[ids[place]]
                count += 1
        return total / count

    def written(self, path):
        return [self.run("run", "-m", path, "-p", p, "-n", "24", "--temp", "0", "-t", "1").stdout for p in PROMPTS]

    def is_mended(self, path):
        """Writes what the healthy model writes, and knows the texts as well; rounding of scales apart."""
        nats = self.nats(path) if os.path.exists(path) else None
        return nats is not None and abs(nats - self.healthy) < 0.005 and (
            self.written(path) == self.texts or abs(nats - self.healthy) < 0.001)

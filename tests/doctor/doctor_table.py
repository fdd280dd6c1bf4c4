#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `bittern doctor` says of every fault of the fault kit, as the table of docs/doctor.md, and how often it is wrong.

  doctor_table.py BITTERN MODEL... [--only NAME,NAME] [--seeds N] [--pairs N] [--jobs N] [--check]

Every fault strikes every model, at a place drawn by chance, N times with other seeds. What counts:

  cured       the verdict is curable, and the mended file is as good as the healthy one and writes what it writes
  half cured  the verdict is curable, and each cause that is named was planted, but another was not seen; the mended file
              is better than the ill one (doctor says that only a healthy file can tell whether that was all)
  FALSE CURE  the verdict is curable, and it is not
  named       the verdict is incurable, and what is named is the fault that was planted
  misnamed    the verdict is incurable, and something else is named
  unsure      cannot tell
  unseen      nothing was found; "!": though the perplexity of the kit's texts rose by 30 % or more
  HEALTHY     the model is called healthy

--check: exit code 1 if there is a false cure, a model called healthy, something misnamed, or less than 80 % cured or
named.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import re
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import faults_more  # noqa: E402
from faults import FAULTS, RAW_FAULTS  # noqa: E402
from gguf_file import GgufFile  # noqa: E402
from measure import Measure  # noqa: E402

SITED = set(faults_more.HARM)  # findings that name a place: it must be the right one
GOOD, BAD = ("cured", "named"), ("FALSE CURE", "HEALTHY", "misnamed")
HARMFUL = math.log(1.3)


class NotHere(Exception):
    """This architecture has no such thing."""


class Kit:
    def __init__(self, bittern, model, folder):
        self.measure, self.model, self.folder = Measure(bittern, model), model, folder
        self.name = pathlib.Path(model).stem.removesuffix("-i2s")

    def make(self, names, seed, path):
        """Writes a file with these faults; returns the places that they struck."""
        model, sites = GgufFile(self.model, seed), []
        try:
            for name in names:
                if name in FAULTS:
                    FAULTS[name][0](model)
                    sites.append(model.site)
            model.keys.setdefault(b"general.name", (8, None, b"ill"))
            model.write(path)
            for name in names:
                if name in RAW_FAULTS:
                    raw = open(path, "rb").read()
                    open(path, "wb").write(RAW_FAULTS[name][0](raw))
        except (KeyError, StopIteration) as error:
            raise NotHere from error
        return sites

    def names_site(self, finding, site):
        """"blk.2.ffn_up": the tensor, or the part of the layer that it belongs to."""
        if not site or finding["id"] not in SITED:
            return True
        said = finding["cause"] + finding["evidence"]
        layer, kind = re.match(r"blk\.(\d+)\.(\w+)", site).groups()
        part = f"The {'attention' if kind.startswith('attn') else 'feed-forward part'} of layer {layer} "
        return any(place in said for place in site.split("|")) or part in said

    def examine(self, names, seed):
        """(outcome, what doctor says, rise of the nats)"""
        tag = "-".join(names) + f"-{self.name}-{seed}"
        ill, mended = (os.path.join(self.folder, f"{tag}-{end}.gguf") for end in ("ill", "mended"))
        try:
            sites = self.make(names, seed, ill)
            done = self.measure.run("doctor", ill, "--json", "--fix", mended, "-t", "1")
            said = json.loads(done.stdout)
            nats = self.measure.nats(ill)
            return self.outcome(names, sites, said, mended, nats), said, nats
        finally:
            for path in (ill, mended):
                if os.path.exists(path):
                    os.unlink(path)

    def outcome(self, names, sites, said, mended, nats):
        both = {**FAULTS, **RAW_FAULTS}
        if said["verdict"] == "curable":
            if self.measure.is_mended(mended):
                return "cured"
            true = all(any(f["id"] in both[name][2] for name in names) for f in said["findings"])
            after = self.measure.nats(mended)
            better = after is not None and (nats is None or after < nats)
            return "half cured" if true and better and len(said["findings"]) < len(names) else "FALSE CURE"
        if said["verdict"] == "incurable":
            lost = [f for f in said["findings"] if not f["curable"]]
            right = all(any(f["id"] in both[name][2] and self.names_site(f, site)
                            for name, site in zip(names, sites + [""] * len(names))) for f in lost)
            return "named" if right else "misnamed"
        if said["verdict"] == "healthy":
            return "HEALTHY"
        if said["verdict"] == "cannot_tell":
            return "unsure"
        rose = nats is None or nats - self.measure.healthy > HARMFUL
        return "unseen!" if rose else "unseen"


def seed_of(*words):
    return zlib.crc32(" ".join(map(str, words)).encode())


def run_all(kits, jobs, workers):
    """Yields (names, kit, outcome or None) in the order of `jobs`."""
    def one(job):
        names, kit, seed = job
        try:
            return kit.examine(names, seed)
        except NotHere:
            return None
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for (names, kit, _), found in zip(jobs, pool.map(one, jobs)):
            yield names, kit, found


def tell(names, kit, found):
    """A line for what is not as one would like it, on standard error."""
    outcome, said, nats = found
    if outcome not in GOOD:
        causes = " ".join(f["cause"] for f in said["findings"]) or said["summary"]
        rose = "does not run" if nats is None else f"{100 * (math.exp(nats - kit.measure.healthy) - 1):+.0f} %"
        print(f"{' + '.join(names)} on {kit.name}: {outcome}, perplexity {rose}: {causes}", file=sys.stderr, flush=True)


def single(kits, options):
    """Prints the table; returns the outcomes."""
    both = {**FAULTS, **RAW_FAULTS}
    chosen = [n for n in both if not options.only or n in options.only.split(",")]
    jobs = [([name], kit, seed_of(name, kit.name, s)) for name in chosen for kit in kits for s in range(options.seeds)]
    cells, all_found = collections.defaultdict(list), []
    for names, kit, found in run_all(kits, jobs, options.jobs):
        if found:
            tell(names, kit, found)
            cells[names[0], kit.name].append(found[0])
            all_found.append((kit, *found))
    print("| fault | " + " | ".join(k.name for k in kits) + " |\n" + "|---" * (len(kits) + 1) + "|")
    for name in chosen:
        shown = []
        for kit in kits:
            counts = collections.Counter(cells[name, kit.name])
            shown.append(", ".join(o if n == options.seeds else f"{n} {o}" for o, n in counts.items()) or "-")
        print(f"| {both[name][3]} | " + " | ".join(shown) + " |")
    return all_found


def pairs(kits, options):
    """Pairs of curable faults drawn by chance; prints a line and returns the outcomes."""
    draw, names, jobs = random.Random(5), [n for n, f in FAULTS.items() if f[1] == "curable"], []
    while len(jobs) < options.pairs:
        kit, chosen, seed = kits[len(jobs) % len(kits)], draw.sample(names, 2), draw.randrange(1 << 30)
        try:
            kit.make(chosen, seed, os.path.join(kit.folder, "pair.gguf"))
        except NotHere:
            continue
        jobs.append((chosen, kit, seed))
    found = []
    for names, kit, one in run_all(kits, jobs, options.jobs):
        tell(names, kit, one)
        found.append((kit, *one))
    return found


def summary(title, found):
    """Prints how often doctor was right; returns whether that is good enough."""
    counts = collections.Counter(outcome for _, outcome, _, _ in found)
    good = sum(counts[o] for o in GOOD)
    harmed = [(o, n) for kit, o, _, n in found if n is None or n - kit.measure.healthy > HARMFUL]
    healthy = sum(o == "HEALTHY" for o, _ in harmed)
    print(f"\n{title}: {len(found)}. " + ", ".join(f"{o} {n}" for o, n in sorted(counts.items())) + ".")
    print(f"False cures: {counts['FALSE CURE']} of {len(found)} ({100 * counts['FALSE CURE'] / len(found):.1f} %). "
          f"Cured or named: {good} ({100 * good / len(found):.1f} %). Perplexity rose by 30 % or more, or the file does not "
          f"run: {len(harmed)}; of these healthy was said of {healthy}, nothing was found in "
          f"{sum(o == 'unseen!' for o, _ in harmed)}.")
    return not any(counts[o] for o in BAD) and good >= 0.8 * len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bittern")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        kits = [Kit(options.bittern, m, folder) for m in options.models]
        for kit in kits:
            said = json.loads(kit.measure.run("doctor", kit.model, "--json").stdout)
            print(f"{kit.name}: {said['verdict']}; doctor's text {said['nats_before']:.2f} nats per token (expected "
                  f"{said['nats_expected']:.2f}), the kit's {kit.measure.healthy:.2f}")
            good = good and said["verdict"] in ("healthy", "nothing_found") and not said["findings"]
        print()
        good = summary("Single faults", single(kits, options)) and good
        if options.pairs:
            summary("Pairs", pairs(kits, options))
    return 0 if good or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
""".github/workflows/check.yml, which cannot be run here: its YAML, the words of its shell, the files and programs that it
names, and that it waits for as many certificates as it makes.

usage: workflow_test.py
"""
import pathlib
import re
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    print("SKIPPED: no python3-yaml")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import manifests  # noqa: E402

TEXT = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")
JOBS = yaml.safe_load(TEXT)["jobs"]


def rows(job):
    return job.get("strategy", {}).get("matrix", {}).get("include", [{}])


def scripts():
    return [(name, step["run"]) for name, job in JOBS.items() for step in job["steps"] if "run" in step]


class Workflow(unittest.TestCase):
    def test_it_says_that_it_was_never_run(self):
        self.assertIn("never been run", " ".join(TEXT.split("\nname:")[0].replace("#", " ").split()))

    def test_every_desk(self):
        self.assertEqual({row["archive"] for row in rows(JOBS["desks"])}, {*manifests.LINUX.values(), manifests.MACOS, manifests.WINDOWS})
        listed = subprocess.run([str(ROOT / "tools/release.sh"), "--list"], capture_output=True, text=True, check=True).stdout.split()
        self.assertLessEqual({row["archive"] for row in rows(JOBS["desks"])} | {"manifests", "SHA256SUMS"}, set(listed))
        runners = [row["runner"] for job in JOBS.values() for row in rows(job) if row]
        for kind in ("ubuntu-", "-arm", "macos-15", "-intel", "windows-"):
            self.assertTrue([name for name in runners if kind in name], kind)
        for job in JOBS.values():
            self.assertIn("timeout-minutes", job)

    def test_scripts(self):
        for name, script in scripts():
            plain = re.sub(r"\$\{\{.*?\}\}", "x", script)
            done = subprocess.run(["bash", "-n"], input=plain, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), f"{name}: {script}")
            for file in re.findall(r"(?<![\w/.])(?:\./)?((?:tools|models)/[\w.-]+|check\b(?=$)|bittern\b(?= run))", plain):
                self.assertTrue((ROOT / file).exists(), f"{name}: {file}")

    def test_certificates(self):
        """Each job that certifies keeps the line, under a name of its own, and the last one counts them."""
        makers = [name for name, script in scripts() if " certify > " in script]
        count = sum(len(rows(JOBS[name])) for name in makers)
        last = JOBS["same"]
        self.assertEqual(sorted(last["needs"]), sorted(makers))
        self.assertIn(f"-eq {count} ]", last["steps"][-1]["run"])
        uploads = [step["with"]["name"] for job in JOBS.values() for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
        self.assertEqual(len(uploads), len(set(uploads)))

    def test_needs_are_jobs(self):
        for job in JOBS.values():
            needs = job.get("needs", [])
            self.assertLessEqual({needs} if isinstance(needs, str) else set(needs), set(JOBS))


if __name__ == "__main__":
    unittest.main()

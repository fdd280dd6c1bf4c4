# SPDX-License-Identifier: Apache-2.0
"""lm-evaluation-harness runs three tasks of this folder by bittern.lm_eval and by `bittern serve`: the
answers to each question are the same. Nothing is downloaded.

usage: lm_eval_test.py BITTERN
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from serve_client import Server  # noqa: E402

BITTERN = sys.argv.pop(1)
TASKS = ["bittern_choice", "bittern_words", "bittern_texts"]
WINDOW = 48


def harness(*arguments):
    """Runs the harness in the folder of the tasks' data; gives its scores and its answers."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, *arguments, "--tasks", ",".join(TASKS), "--include_path", str(HERE / "tasks"), "--log_samples",
             "--output_path", folder], capture_output=True, text=True, check=False, cwd=HERE / "tasks", timeout=600,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": folder, "OPENAI_API_KEY": "x"})
        if done.returncode != 0:
            raise AssertionError(done.stdout[-2000:] + done.stderr[-3000:])
        scores = json.loads(next(pathlib.Path(folder).rglob("results_*.json")).read_text(encoding="utf-8"))["results"]
        samples = {task: [json.loads(line)["filtered_resps"] for line in next(
            pathlib.Path(folder).rglob(f"samples_{task}_*.jsonl")).read_text(encoding="utf-8").splitlines()] for task in TASKS}
        return scores, samples


def near(one, other):
    """Whether two answers are the same: numbers in six digits, all else to the letter."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(near, one, other))
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-5)
    except (TypeError, ValueError):
        return one == other


class Harness(unittest.TestCase):
    def test_both_doors(self):
        server = Server(BITTERN, "-np", "2", "-c", "1024")
        try:  # the harness takes a token off for the answer, and one for windows
            url = f"http://127.0.0.1:{server.port}/v1/completions"
            scores, samples = harness("-m", "lm_eval", "--model", "local-completions", "--model_args",
                                      f"model=x,base_url={url},max_retries=1,max_length={WINDOW + 2}")
        finally:
            self.assertEqual(server.stop(), 0)
        ours, answers = harness("-m", "bittern.lm_eval", "--model", "bittern", "--model_args", f"max_length={WINDOW}")
        for task in TASKS:
            self.assertTrue(samples[task])
            for one, other in zip(answers[task], samples[task], strict=True):
                self.assertTrue(near(one, other), (task, one, other))
            numbers = {key: value for key, value in ours[task].items() if isinstance(value, float)}
            self.assertTrue(numbers)
            for key, value in numbers.items():
                self.assertTrue(near(value, scores[task][key]), (task, key, value, scores[task][key]))
                print(f"{task} {key}: {value} and {scores[task][key]}")
        self.assertGreater(ours["bittern_choice"]["acc_norm,none"], 0.5)


if __name__ == "__main__":
    unittest.main()

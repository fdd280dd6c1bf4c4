#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""huggingface_hub and `bittern pull` use one cache, in both directions: against a hub of our own on 127.0.0.1.

usage: hub_cache_test.py BITTERN MODEL.gguf
"""
import os
import pathlib
import sys
import unittest

os.environ |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../hub"))
# pylint: disable=wrong-import-position
from hub_case import FILE, REPO, HubTest
from hub_server import COMMIT

import huggingface_hub
from huggingface_hub import errors


class OneCache(HubTest):
    def setUp(self):
        super().setUp()
        self.files = {"cache_dir": self.cache, "endpoint": self.hub.url}
        self.known = {"cache_dir": self.cache, "local_files_only": True}

    def quiet(self):
        """The hub is not asked from here on."""
        self.hub.calm()
        self.addCleanup(lambda: self.assertEqual(self.hub.log, []))

    def place(self, repo=REPO, file=FILE):
        return str(self.repo_folder(repo) / "snapshots" / COMMIT / file)

    def test_theirs_file_is_ours(self):
        theirs = huggingface_hub.hf_hub_download(REPO, FILE, **self.files)
        self.quiet()
        for words in (REPO, "--offline"), (f"{REPO}:{FILE}", "--offline"), (f"{REPO}:i2_s", "--offline"):
            self.assertEqual(self.pull(*words).stdout.strip(), theirs)
        self.assertEqual(self.pull(REPO, HF_HUB_OFFLINE="1").stdout.strip(), theirs)

    def test_their_file_is_not_fetched_again(self):
        theirs = huggingface_hub.hf_hub_download(REPO, FILE, **self.files)
        self.hub.calm()
        self.assertEqual(self.pull(REPO).stdout.strip(), theirs)
        self.assertEqual(self.hub.asked(kind="blob"), [])

    def test_their_snapshot_is_ours(self):
        folder = huggingface_hub.snapshot_download(REPO, **self.files)
        self.quiet()
        ours = self.pull(REPO, "--offline").stdout.strip()
        self.assertEqual(ours, os.path.join(folder, FILE))
        self.assertEqual(pathlib.Path(ours).read_bytes(), self.model)

    def test_our_file_is_theirs(self):
        ours = self.pull(REPO).stdout.strip()
        self.assertEqual(ours, self.place())
        self.quiet()
        self.assertEqual(huggingface_hub.try_to_load_from_cache(REPO, FILE, cache_dir=self.cache), ours)
        self.assertEqual(huggingface_hub.hf_hub_download(REPO, FILE, **self.known), ours)
        self.assertEqual(huggingface_hub.snapshot_download(REPO, **self.known), os.path.dirname(ours))
        self.assertIsNone(huggingface_hub.try_to_load_from_cache(REPO, "README.md", cache_dir=self.cache))
        with self.assertRaises(errors.LocalEntryNotFoundError):
            huggingface_hub.hf_hub_download(REPO, "README.md", **self.known)

    def test_our_file_is_not_fetched_again(self):
        ours = self.pull(REPO).stdout.strip()
        self.hub.calm()
        self.assertEqual(huggingface_hub.hf_hub_download(REPO, FILE, **self.files), ours)
        self.assertEqual(self.hub.asked(kind="blob"), [])
        self.assertEqual(pathlib.Path(huggingface_hub.hf_hub_download(REPO, "README.md", **self.files)).parent,
                         pathlib.Path(ours).parent)

    def test_their_list_of_the_cache(self):
        self.pull(REPO)
        self.pull("user/big")
        found = huggingface_hub.scan_cache_dir(self.cache)
        self.assertEqual(found.warnings, [])
        self.assertEqual({repo.repo_id: repo.size_on_disk for repo in found.repos},
                         {REPO: len(self.model), "user/big": len(self.big)})
        self.assertEqual({revision.commit_hash for repo in found.repos for revision in repo.revisions}, {COMMIT})
        self.assertEqual({ref for repo in found.repos for revision in repo.revisions for ref in revision.refs},
                         {"main"})

    def test_they_delete_ours(self):
        self.pull(REPO)
        huggingface_hub.scan_cache_dir(self.cache).delete_revisions(COMMIT).execute()
        self.assertIn("offline, nothing is downloaded", self.pull(REPO, "--offline", code=2).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)

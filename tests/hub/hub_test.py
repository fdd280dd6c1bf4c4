#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models by name against a hub of our own on 127.0.0.1 (hub_server.py): what is downloaded, from which host,
what lies in the cache after it, what the errors say.

usage: hub_test.py BITTERN MODEL.gguf
"""
import email.utils
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest

from hub_case import BITTERN, FILE, MODEL, REPO, HubTest
from hub_server import COMMIT, Hub, git_sha1, make_certificate, sha256


class Layout(HubTest):
    def test_layout_is_that_of_huggingface_hub(self):
        done = self.pull(REPO)
        place = self.repo_folder(REPO) / "snapshots" / COMMIT / FILE
        self.assertEqual(done.stdout, f"{place}\n")
        self.assertEqual(os.readlink(place), "../../blobs/" + sha256(self.model))
        self.assertEqual(place.read_bytes(), self.model)
        self.assertEqual((self.repo_folder(REPO) / "refs" / "main").read_text(), COMMIT)
        self.assertTrue((self.cache / ".locks" / "models--user--tern-GGUF" / (sha256(self.model) + ".lock")).exists())
        self.assertIn("the only GGUF file", done.stderr)

    def test_second_pull_downloads_nothing(self):
        self.pull(REPO)
        self.hub.calm()
        again = self.pull(REPO)
        self.assertEqual(self.hub.asked(kind="blob"), [])
        self.assertIn("nothing to download", again.stderr)

    def test_small_files_are_named_by_git(self):
        self.pull(f"{REPO}:README.md")
        place = self.repo_folder(REPO) / "snapshots" / COMMIT / "README.md"
        self.assertEqual(os.readlink(place), "../../blobs/" + git_sha1(b"# A tern\n"))

    def test_files_in_folders(self):
        self.hub.add("user/deep", {"a/b/deep-i2_s.gguf": self.model})
        place = pathlib.Path(self.pull("user/deep").stdout.strip())
        self.assertEqual(os.readlink(place), "../../../../blobs/" + sha256(self.model))
        self.assertEqual(place.read_bytes(), self.model)

    def test_revisions(self):
        place = self.pull(f"{REPO}@{COMMIT}").stdout.strip()
        self.assertFalse((self.repo_folder(REPO) / "refs" / "main").exists())
        self.assertEqual(self.pull(f"{REPO}@{COMMIT}", "--offline").stdout.strip(), place)
        self.assertIn("no such branch, tag or commit", self.pull(f"{REPO}@nope", code=2).stderr)

    def test_json(self):
        said = json.loads(self.pull(REPO, "--json").stdout)
        self.assertEqual(said["commit"], COMMIT)
        self.assertEqual(said["files"], [{"file": FILE, "bytes": len(self.model), "fetched": True,
                                          "sha256": sha256(self.model)}])

    def test_homes(self):
        plain = {"HF_HUB_CACHE": ""}
        for env, place in (({"HF_HOME": str(self.folder / "h")}, "h/hub"),
                           ({"XDG_CACHE_HOME": str(self.folder / "x")}, "x/huggingface/hub"),
                           ({}, ".cache/huggingface/hub"),
                           ({"HF_HUB_CACHE": "~/own"}, "own")):
            path = self.pull(REPO, **(plain | env)).stdout.strip()
            self.assertTrue(path.startswith(f"{self.folder}/{place}/models--user--tern-GGUF/"), path)

    def test_folder_of_safetensors(self):
        made = self.folder / "made"
        self.run_bittern("convert", str(MODEL), str(made), "--to", "safetensors")
        files = {p.name: p.read_bytes() for p in made.iterdir()}
        self.hub.add("user/hf", files | {"README.md": b"read me", "onnx/model.onnx": b"x", "weights.bin": b"y"})
        place = pathlib.Path(self.pull("user/hf").stdout.strip())
        self.assertEqual({p.name: p.read_bytes() for p in place.iterdir()}, files)
        said = [self.run_bittern("run", *which, "-p", "In the", "-n", "8", "--temp", "0").stdout
                for which in (("-hf", "user/hf"), ("-m", str(made)))]
        self.assertEqual(*said)
        (place / "config.json").unlink()
        self.assertIn("not in", self.pull("user/hf", "--offline", code=2).stderr)

    def test_split_files_come_together(self):
        parts = {f"m-tq2_0-{i:05}-of-00003.gguf": random.Random(i).randbytes(50) for i in (1, 2, 3)}
        self.hub.add("user/split", parts)
        place = pathlib.Path(self.pull("user/split").stdout.strip())
        self.assertEqual(place.name, "m-tq2_0-00001-of-00003.gguf")
        self.assertEqual({p.name: p.read_bytes() for p in place.parent.iterdir()}, parts)
        listed = json.loads(self.run_bittern("models", "--json").stdout)["models"]
        self.assertEqual([(m["name"], m["bytes"]) for m in listed], [(f"user/split:{place.name}", 150)])
        (place.parent / "m-tq2_0-00002-of-00003.gguf").unlink()
        self.pull("user/split", "--offline", code=2)
        self.pull("user/split")
        self.run_bittern("models", "rm", f"user/split:{place.name}")
        self.assertEqual(list(place.parent.iterdir()), [])

    def test_without_links(self):
        """A file system that has none: as huggingface_hub does, the file itself stands in the snapshot."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler or "ASAN_OPTIONS" in os.environ:
            self.skipTest("no C compiler, or a sanitizer")
        shim = self.folder / "shim.so"
        source = "#include <errno.h>\nint symlink(const char* a, const char* b) { errno = EPERM; return -1; }\n"
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", shim], input=source, text=True, check=True)
        place = pathlib.Path(self.pull(REPO, LD_PRELOAD=str(shim)).stdout.strip())
        self.assertFalse(place.is_symlink())
        self.assertEqual(place.read_bytes(), self.model)
        self.hub.calm()
        self.assertIn("nothing to download", self.pull(REPO, LD_PRELOAD=str(shim)).stderr)
        self.assertEqual(self.hub.asked(kind="blob"), [])


class Networks(HubTest):
    def test_token_goes_to_the_hub_only(self):
        self.pull("user/gated", HF_TOKEN="hf_secret")
        self.assertTrue(self.hub.asked(host="cdn"))
        self.assertEqual(self.hub.asked(host="cdn"), self.hub.asked(host="cdn", authorization=None))
        self.assertEqual(self.hub.asked(host="hub"), self.hub.asked(host="hub", authorization="Bearer hf_secret"))

    def test_token_does_not_come_back_with_a_redirect(self):
        """Hub -> other host -> hub again: the way leads through a stranger, so no token."""
        def hook(request):
            if request.kind == "blob" and "back" not in request.path:
                request.send(302, Location=f"{self.hub.url}/back?back=1")
                return True
            if request.kind == "nothing":
                request.give_range(self.model)
                return True
            return False
        self.hub.hook = hook
        self.pull("user/gated", HF_TOKEN="hf_secret")
        back = self.hub.asked(kind="nothing")
        self.assertTrue(back)
        self.assertEqual([e["authorization"] for e in back], [None] * len(back))

    def test_tokens_of_files_and_flags(self):
        (self.folder / ".cache" / "huggingface").mkdir(parents=True)
        (self.folder / ".cache" / "huggingface" / "token").write_text("hf_secret\n")
        self.pull("user/gated")
        self.pull("user/gated", code=2, HF_HUB_DISABLE_IMPLICIT_TOKEN="1")
        self.pull("user/gated", code=2, HF_HUB_DISABLE_IMPLICIT_TOKEN="1", HF_TOKEN="hf_secret")
        self.pull("user/gated", "--hf-token", "hf_secret", HF_HUB_DISABLE_IMPLICIT_TOKEN="1")
        self.assertIn("characters", self.pull("user/gated", code=1, HF_TOKEN="a\nX-Evil: 1").stderr)

    def test_refusals_say_what_to_do(self):
        said = self.pull("user/gated", code=2).stderr
        self.assertIn("gated", said)
        self.assertIn("/settings/tokens and set HF_TOKEN", said)
        said = self.pull("user/gated", code=2, HF_TOKEN="hf_wrong").stderr
        self.assertIn("a token was sent", said)
        self.assertNotIn("hf_wrong", said)
        self.assertIn("no such repository", self.pull("user/none", code=2).stderr)
        said = self.pull(f"{REPO}:none.gguf", code=2).stderr
        self.assertIn(f"{FILE}  {len(self.model) / 1e6:.1f} MB", said)

    def test_twenty_cuts(self):
        rng, cuts = random.Random(7), []

        def hook(request):
            if request.kind != "blob" or len(cuts) >= 20:
                return False
            first, last = map(int, request.headers["Range"].removeprefix("bytes=").split("-"))
            end = rng.randint(first, last)
            cuts.append((first, end))
            request.send(206, self.big[first:end], Content_Range=f"bytes {first}-{last}/{len(self.big)}",
                         Content_Length=str(last + 1 - first))
            request.close_connection = True
            return True
        self.hub.hook = hook
        self.check_big(self.pull("user/big"))
        self.assertEqual(len(cuts), 20)

    def test_connections(self):
        for count in ("1", "3", "16"):
            self.hub.calm()
            self.check_big(self.pull("user/big", "--connections", count))
            ranges = sorted({e["range"] for e in self.hub.asked(kind="blob")})
            self.assertEqual(len(ranges), 4)
            shutil.rmtree(self.cache)

    def hold_after(self, count):
        """Lets `count` bytes of the file through, then nothing more comes."""
        passed = threading.Event()

        def hook(request):
            if request.kind != "blob":
                return False
            first, last = map(int, request.headers["Range"].removeprefix("bytes=").split("-"))
            end = min(last + 1, max(count, first))
            request.send(206, self.big[first:end], Content_Range=f"bytes {first}-{last}/{len(self.big)}",
                         Content_Length=str(last + 1 - first))
            request.wfile.flush()
            if first == 0:
                passed.set()
            time.sleep(20)
            request.close_connection = True
            return True
        self.hub.hook = hook
        return passed

    def stopped_pull(self, stop):
        passed = self.hold_after(1_000_000)
        pull = subprocess.Popen([BITTERN, "pull", "user/big"], env=self.env(), text=True, stderr=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        passed.wait(20)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            found = self.unfinished("user/big")
            if found and found[0].stat().st_size == 1_000_000:
                break
            time.sleep(0.02)
        pull.send_signal(stop)
        output = pull.communicate(timeout=20)
        kept = self.unfinished("user/big")
        self.assertEqual([p.name for p in kept], [sha256(self.big) + ".incomplete"])
        self.assertEqual(kept[0].read_bytes(), self.big[:1_000_000])
        return pull.returncode, output[1]

    def test_interrupted_and_resumed(self):
        code, said = self.stopped_pull(signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertIn("interrupted; 1.0 MB of 50.3 MB are kept, and the same command goes on from there", said)
        self.hub.calm()
        self.check_big(self.pull("user/big"))
        firsts = sorted(int(e["range"][6:].split("-")[0]) for e in self.hub.asked(kind="blob"))
        self.assertEqual(firsts[0], 1_000_000)

    def test_killed_and_resumed(self):
        self.stopped_pull(signal.SIGKILL)
        self.hub.calm()
        self.check_big(self.pull("user/big"))
        self.assertTrue(all(e["range"] != "bytes=0-16777215" for e in self.hub.asked(kind="blob")))

    def leave_unfinished(self, data):
        blobs = self.repo_folder("user/big") / "blobs"
        blobs.mkdir(parents=True)
        (blobs / (sha256(self.big) + ".incomplete")).write_bytes(data)

    def test_unfinished_with_wrong_bytes_begins_anew(self):
        self.leave_unfinished(b"wrong" * 1000)
        done = self.pull("user/big")
        self.assertIn("beginning anew", done.stderr)
        self.check_big(done)

    def test_unfinished_but_whole(self):
        self.leave_unfinished(self.big)
        self.check_big(self.pull("user/big"))
        self.assertEqual(self.hub.asked(kind="blob"), [])

    def test_unfinished_and_too_long(self):
        self.leave_unfinished(self.big + b"more")
        self.check_big(self.pull("user/big"))

    def test_server_without_ranges(self):
        def hook(request):
            if request.kind == "blob":
                request.send(200, self.big)
            return request.kind == "blob"
        self.hub.hook = hook
        self.check_big(self.pull("user/big"))
        shutil.rmtree(self.cache)
        self.leave_unfinished(self.big[:5_000_000])
        self.check_big(self.pull("user/big"))

    def test_signed_address_ends(self):
        """An address of the other host is refused after a while; the hub gives a new one."""
        seen = []

        def hook(request):
            if request.kind != "blob":
                return False
            seen.append(request)
            if len(seen) % 3 == 0:
                request.send(403, b"expired")
                return True
            return False
        self.hub.hook = hook
        self.check_big(self.pull("user/big", "--connections", "1"))

    def fail_first(self, count, status, **fields):
        failed = []

        def hook(request):
            if request.kind == "list" and len(failed) < count:
                failed.append(time.monotonic())
                request.send(status, b"no", **fields)
                return True
            return False
        self.hub.hook = hook
        return failed

    def test_retry_after(self):
        failed = self.fail_first(1, 429, Retry_After="2")
        done = self.pull(REPO)
        self.assertGreater(time.monotonic() - failed[0], 2)
        self.assertIn("status 429; trying again in 2.0 s", done.stderr)

    def test_retry_after_as_a_date(self):
        date = email.utils.formatdate(time.time() + 3, usegmt=True)
        failed = self.fail_first(1, 429, Retry_After=date)
        self.pull(REPO)
        self.assertGreater(time.monotonic() - failed[0], 1)

    def test_retry_after_is_bounded(self):
        self.fail_first(1, 429, Retry_After="86400")
        start = time.monotonic()
        self.assertIn("86400 s", self.pull(REPO, code=3).stderr)
        self.assertLess(time.monotonic() - start, 5)

    def test_errors_of_the_server_are_tried_again(self):
        self.assertEqual(len(self.fail_first(2, 503)), 0)
        self.pull(REPO)
        self.fail_first(100, 500)
        self.assertIn("status 500", self.pull(REPO, "--retries", "1", code=3).stderr)

    def test_silence_ends(self):
        self.hub.hook = lambda request: time.sleep(6) or False
        start = time.monotonic()
        self.pull(REPO, "--retries", "0", code=3, HF_HUB_DOWNLOAD_TIMEOUT="1")
        self.assertLess(time.monotonic() - start, 5)

    def test_two_pulls_at_once(self):
        def slowly(request):
            if request.kind == "blob":
                time.sleep(1)
            return False
        self.hub.hook = slowly
        pulls = [subprocess.Popen([BITTERN, "pull", "user/big"], env=self.env(), text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) for _ in range(2)]
        outputs = [p.communicate(timeout=60) for p in pulls]
        self.assertEqual([p.returncode for p in pulls], [0, 0], outputs)
        self.assertEqual(outputs[0][0], outputs[1][0])
        self.assertEqual(sum("another program is downloading" in o[1] for o in outputs), 1, outputs)
        self.assertEqual(len(self.hub.asked(kind="blob")), 4)
        self.assertEqual(pathlib.Path(outputs[0][0].strip()).read_bytes(), self.big)

    def test_wrong_bytes_leave_nothing(self):
        wrong = bytearray(self.big)
        wrong[-1] ^= 1

        def hook(request):
            if request.kind == "blob":
                request.give_range(bytes(wrong))
            return request.kind == "blob"
        self.hub.hook = hook
        self.assertIn("the hash", self.pull("user/big", code=2).stderr)
        self.assertEqual(list((self.repo_folder("user/big") / "blobs").iterdir()), [])
        self.assertFalse((self.repo_folder("user/big") / "snapshots").exists())
        self.assertFalse((self.repo_folder("user/big") / "refs" / "main").exists())

    def test_answers_that_disagree(self):
        """Right bytes come after each; what was said about them was not the same twice."""
        for fields, said in (({"X_Linked_Etag": "0" * 64}, "the hash is"), ({"X_Linked_Size": "5"}, "the size is"),
                             ({"X_Repo_Commit": "f" * 40}, "the commit is")):
            def hook(request):
                if request.kind == "file":
                    request.send(200, **({"X_Linked_Etag": sha256(self.model), "X_Repo_Commit": COMMIT,
                                          "X_Linked_Size": str(len(self.model))} | fields))
                return request.kind == "file"
            self.hub.hook = hook
            self.assertIn(said, self.pull(REPO, code=2).stderr)

        def other_range(request):
            if request.kind == "blob":
                request.send(206, self.model, Content_Range=f"bytes 1-{len(self.model) - 1}/{len(self.model)}")
            return request.kind == "blob"
        self.hub.hook = other_range
        self.assertIn("asked for", self.pull(REPO, code=2).stderr)

    def test_full_disk(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        said = self.pull("user/big", code=3, preexec_fn=limit).stderr
        self.assertIn("cannot write", said)
        self.check_big(self.pull("user/big"))

    def test_no_room(self):
        listing = self.hub.listing("user/big")
        listing["siblings"][0]["lfs"]["size"] = 1 << 45

        def hook(request):
            if request.kind == "list":
                request.send(200, json.dumps(listing).encode())
            elif request.kind == "file":
                request.send(200, X_Linked_Etag=sha256(self.big), X_Linked_Size=str(1 << 45))
            return request.kind in ("list", "file")
        self.hub.hook = hook
        self.assertIn("are needed", self.pull("user/big", code=3).stderr)

    def test_progress_on_a_terminal(self):
        def slowly(request):
            if request.kind == "blob":
                time.sleep(0.8)
            return False
        self.hub.hook = slowly
        main, side = os.openpty()
        pull = subprocess.Popen([BITTERN, "pull", "user/big", "--connections", "1"], env=self.env(), stderr=side,
                                stdout=subprocess.DEVNULL)
        os.close(side)
        seen = b""
        try:
            while part := os.read(main, 4096):
                seen += part
        except OSError:  # the other side is closed
            pass
        os.close(main)
        self.assertEqual(pull.wait(), 0)
        self.assertRegex(seen.decode(), r"big-tq2_0.gguf: \d+ %, [\d.]+ of 50.3 MB, [\d.]+ MB/s, \d+ s left")

    def test_interrupt_of_run(self):
        passed = self.hold_after(1_000_000)
        run = subprocess.Popen([BITTERN, "run", "-hf", "user/big", "-p", "x"], env=self.env(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        passed.wait(20)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        self.assertIn("are kept", run.communicate(timeout=20)[1])
        self.assertEqual(run.returncode, 130)

    def test_serve(self):
        serve = subprocess.Popen([BITTERN, "serve", "-hf", REPO, "--port", "0", "-c", "64"], env=self.env(), text=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        lines = []
        for line in serve.stderr:
            lines.append(line)
            if line.startswith("ready:"):
                break
        serve.terminate()
        serve.communicate(timeout=20)
        self.assertIn(f"ready: {REPO} at http://127.0.0.1:", "".join(lines))

    def test_proxy(self):
        """The environment's proxy gets the requests."""
        self.pull(REPO, no_proxy="", http_proxy=self.hub.cdn, code=2)
        self.assertEqual(self.hub.asked(host="hub"), [])
        self.assertTrue(self.hub.asked(host="cdn"))


class Encrypted(HubTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("openssl"):
            self.skipTest("no openssl")
        self.pem = make_certificate(self.folder)
        self.tls = Hub(tls=self.pem)
        self.addCleanup(self.tls.close)
        self.tls.add(REPO, {FILE: self.model})

    def test_hosts_prove_themselves(self):
        self.assertIn("certificate", self.pull(REPO, code=3, HF_ENDPOINT=self.tls.url).stderr)
        self.assertEqual(self.tls.log, [])
        place = self.pull(REPO, HF_ENDPOINT=self.tls.url, SSL_CERT_FILE=str(self.pem)).stdout.strip()
        self.assertEqual(pathlib.Path(place).read_bytes(), self.model)

    def test_no_redirect_out_of_encryption(self):
        self.tls.cdn = self.hub.cdn
        self.assertIn("from https to http", self.pull(REPO, code=2, HF_ENDPOINT=self.tls.url,
                                                      SSL_CERT_FILE=str(self.pem)).stderr)
        self.assertEqual(self.hub.log, [])

    def test_hosts_that_hang_up(self):
        """A closed connection must be an error of this request, not the end of the process (SIGPIPE)."""
        self.tls.hook = lambda request: request.connection.close() or True
        done = self.pull(REPO, "--retries", "2", code=3, HF_ENDPOINT=self.tls.url, SSL_CERT_FILE=str(self.pem))
        self.assertIn("error: ", done.stderr)


class Names(HubTest):
    def test_choice(self):
        small = {name: os.urandom(64) for name in ("m-TQ1_0.gguf", "m-Q8_0.gguf", "m.f16.gguf", "m-i2_s.gguf",
                                                   "m-TQ2_0.gguf", "mmproj-m-i2_s.gguf")}
        self.hub.add("user/many", small)
        done = self.pull("user/many")
        self.assertTrue(done.stdout.strip().endswith("/m-i2_s.gguf"))
        self.assertIn("I2_S, which Bittern prefers of 5 GGUF files", done.stderr)
        self.assertTrue(self.pull("user/many:tq1_0").stdout.strip().endswith("/m-TQ1_0.gguf"))
        self.assertTrue(self.pull("user/many:m.f16.gguf").stdout.strip().endswith("/m.f16.gguf"))
        self.hub.add("user/two", {"a-i2_s.gguf": b"a" * 64, "b-i2_s.gguf": b"b" * 20000})
        said = self.pull("user/two", code=1).stderr
        for part in ("2 files hold I2_S weights", "a-i2_s.gguf  64 bytes", "b-i2_s.gguf  20.0 kB", "USER/REPO:FILE"):
            self.assertIn(part, said)
        self.hub.add("user/none", {"README.md": b"x"})
        self.assertIn("GGUF file or a folder of safetensors expected", self.pull("user/none", code=2).stderr)

    def test_hf_runs_as_m_does(self):
        words = ("-p", "In the beginning", "-n", "12", "--temp", "0")
        wanted = self.run_bittern("run", "-m", str(MODEL), *words).stdout
        for which in (("-hf", REPO), ("-hf", f"{REPO}:i2_s"), ("--hf-repo", REPO, "--hf-file", FILE),
                      ("-hff", FILE, "-hfr", REPO), (f"hf://{REPO}",), ("-m", f"hf://{REPO}:{FILE}")):
            self.assertEqual(self.run_bittern("run", *which, *words).stdout, wanted, which)
        self.assertEqual(self.run_bittern("run", *words, BITTERN_MODEL=f"hf://{REPO}").stdout, wanted)
        self.assertEqual(len(self.hub.asked(kind="list")), 1)  # the first one; the others use the cache
        self.assertEqual(self.run_bittern("run", "-hf", REPO, *words, "--offline").stdout, wanted)

    def test_hf_of_other_commands(self):
        self.pull(REPO)
        for words in (("inspect", "--no-codes"), ("tokenize", "--ids", "In"), ("certify", "--offline")):
            mine = self.run_bittern(words[0], "-hf", REPO, *words[1:])
            self.assertTrue(mine.stdout)
        self.assertIn("bittern pull", self.run_bittern("convert", "-hf", REPO, "out.gguf", code=1).stderr)

    def test_offline(self):
        for words, env in ((("--offline",), {}), ((), {"HF_HUB_OFFLINE": "1"})):
            self.assertIn("offline, nothing is downloaded", self.pull(REPO, *words, code=2, **env).stderr)
            self.assertIn("offline", self.run_bittern("run", "-hf", REPO, "-p", "x", *words, code=2, **env).stderr)
        self.assertEqual(self.hub.log, [])
        self.assertFalse(self.cache.exists())

    def test_names_that_are_none(self):
        for name in ("", "x", "a/b/c", "../b", "a/..", "a--b/c", "a/b:", "a/b:../x", "a/b:/etc/passwd", "a/b:x\ny",
                     "a/b@../x", "a/b@", "-a/b", "a/b c", "http://example.com/a/b", "a/b:c//d", "é/b", "a/" + "b" * 97):
            done = self.pull("--", name, code=1)
            self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        self.assertEqual(self.hub.log, [])

    def test_addresses_of_a_browser(self):
        for name in (f"https://huggingface.co/{REPO}", f"hf.co/{REPO}:i2_s",
                     f"https://huggingface.co/{REPO}/blob/main/{FILE}?download=true",
                     f"https://huggingface.co/{REPO}/tree/main"):
            self.assertTrue(self.pull(name).stdout.strip().endswith(FILE))


class Models(HubTest):
    def listed(self):
        return json.loads(self.run_bittern("models", "--json").stdout)["models"]

    def test_list_use_and_remove(self):
        self.assertIn("no models", self.run_bittern("models").stderr)
        place = self.pull(REPO).stdout.strip()
        self.pull("user/big")
        self.assertEqual([m["name"] for m in self.listed()], ["user/big:big-tq2_0.gguf", f"{REPO}:{FILE}"])
        self.assertEqual(self.listed()[1] | {}, {"name": f"{REPO}:{FILE}", "bytes": len(self.model),
                                                 "commit": COMMIT, "path": place})
        use = json.loads(self.run_bittern("models", "du", "--json").stdout)
        self.assertEqual(use["bytes"], sum(r["bytes"] for r in use["repos"]))
        self.assertGreaterEqual(use["bytes"], len(self.model) + len(self.big))
        done = self.run_bittern("models", "rm", f"{REPO}:{FILE}")
        self.assertIn(f"removed {REPO}:{FILE}: {len(self.model) / 1e6:.1f} MB", done.stdout)
        self.assertEqual(list((self.repo_folder(REPO) / "blobs").iterdir()), [])
        self.run_bittern("models", "rm", "user/big")
        self.assertFalse(self.repo_folder("user/big").exists())
        self.assertEqual(self.listed(), [])
        self.assertIn("is not in", self.run_bittern("models", "rm", "user/big", code=2).stderr)
        self.assertIn("error", self.run_bittern("models", "rm", "../..", code=1).stderr)

    def test_bytes_that_others_use_stay(self):
        self.hub.add("user/twins", {"a-i2_s.gguf": self.model, "b/a-i2_s.gguf": self.model})
        self.pull("user/twins:a-i2_s.gguf")
        self.pull("user/twins:b/a-i2_s.gguf")
        self.run_bittern("models", "rm", "user/twins:a-i2_s.gguf")
        left = self.repo_folder("user/twins") / "snapshots" / COMMIT / "b" / "a-i2_s.gguf"
        self.assertEqual(left.read_bytes(), self.model)

    def test_known(self):
        known = json.loads(self.run_bittern("models", "--known", "--json").stdout)["models"]
        self.assertEqual(known[0]["repo"], "microsoft/bitnet-b1.58-2B-4T-gguf")
        names = [m["name"] for m in known]
        self.assertEqual(len(names), len(set(names)))
        for model in known:
            self.assertRegex(model.get("sha256", "0" * 64), "^[0-9a-f]{64}$")
        self.hub.add(known[0]["repo"], {known[0]["file"]: self.model})
        done = self.pull(known[0]["name"])
        self.assertIn("is not the file that is known as bitnet-2b", done.stderr)
        self.assertTrue(done.stdout.strip().endswith(known[0]["file"]))

    def test_strange_folders_are_not_seen(self):
        self.pull(REPO)
        for name in ("models--x", "datasets--a--b", "models--a--..", "models--a--b--c", "version.txt.d"):
            (self.cache / name / "snapshots" / COMMIT).mkdir(parents=True)
            (self.cache / name / "snapshots" / COMMIT / "x.gguf").write_bytes(b"x")
        self.assertEqual(len(self.listed()), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2 if os.environ.get("VERBOSE") else 1)

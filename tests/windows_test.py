#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bittern.exe under wine, beside the program of this machine: the same bytes and the same exit codes.

usage: windows_test.py BITTERN BITTERN_EXE [CASE...]

Needs wine. Each case is a method of Windows; without CASE all are run. The prefix of wine is a folder of the test's own."""
import contextlib
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hub"))
from hub_server import Hub, make_certificate  # noqa: E402

MODEL = str(ROOT / "models" / "pocket-3-i2s.gguf")  # the built-in one
HERE, EXE = "", ""
PROMPT = ["-p", "A tern is", "-n", "40", "--temp", "0"]


def environment(**more):
    others = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
    kept = {name: value for name, value in os.environ.items() if name not in others}
    return kept | {"WINEDEBUG": "-all", "LC_ALL": "C.UTF-8"} | more


def command(windows, words):
    return (["wine", EXE] if windows else [HERE]) + list(words)


def run(windows, *words, text=b"", **more):
    """(exit code, standard output, standard error)."""
    done = subprocess.run(command(windows, words), input=text, capture_output=True, timeout=300, check=False,
                          env=environment(**more))
    return done.returncode, done.stdout, done.stderr


class Terminal:
    """A program at a terminal."""

    def __init__(self, windows, *words):
        self.text = b""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.environ.update(environment(TERM="xterm"))
            all_words = command(windows, words)
            os.execvp(all_words[0], all_words)

    def send(self, text):
        os.write(self.file, text.encode())

    def wait_for(self, text, seconds=60):
        """Wine draws each letter by itself, with sequences of the terminal in between: letters alone are compared."""
        end = time.monotonic() + seconds
        while text not in self.letters():
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} not seen in {self.letters()[-500:]!r}")
            if select.select([self.file], [], [], 0.2)[0]:
                with contextlib.suppress(OSError):
                    self.text += os.read(self.file, 65536)

    def letters(self):
        out, data = "", self.text.decode(errors="replace")
        at = 0
        while at < len(data):
            if data[at] == "\x1b" and data[at + 1:at + 2] == "[":
                at += 2
                while at < len(data) and not data[at].isalpha():
                    at += 1
            elif not data[at].isspace():
                out += data[at]
            at += 1
        return out

    def end(self, seconds=60):
        """The exit code, or minus the signal."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if select.select([self.file], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self.text += os.read(self.file, 65536)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                os.close(self.file)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError(f"did not end: {self.letters()[-500:]!r}")


class Windows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="bittern-windows-")
        cls.place = pathlib.Path(cls.folder.name)
        os.environ["WINEPREFIX"] = str(cls.place / "wine")
        subprocess.run(["wineboot", "-i"], check=True, env=environment(), capture_output=True, timeout=300)

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["wineserver", "-k"], check=False, env=environment(), capture_output=True)
        time.sleep(1)
        with contextlib.suppress(OSError):
            cls.folder.cleanup()

    def same(self, *words, streams=1, **options):
        """The first streams of both programs are equal; returns standard output."""
        theirs, ours = run(True, *words, **options), run(False, *words, **options)
        self.assertEqual(theirs[:1 + streams], ours[:1 + streams], words)
        return theirs[1]

    def test_certificates(self):
        """On each instruction set that this machine has."""
        _, expected, _ = run(False, "certify")
        tried = 0
        for isa in ("scalar", "sse41", "avx2", "avxvnni", "avx512vnni", "avx512vbmi"):
            code, line, error = run(True, "certify", BITTERN_ISA=isa)
            if b"does not have" in error or run(False, "certify", BITTERN_ISA=isa)[0] != 0:
                continue
            tried += 1
            self.assertEqual((code, line), (0, expected), isa)
        self.assertGreaterEqual(tried, 2)

    def test_same_bytes(self):
        self.same("run", *PROMPT)
        self.same("run", "-p", "What is a", "-n", "30", "--seed", "7", "--temp", "1.1", "--top-k", "20")
        self.same("tokenize", "-p", "A tern — über 模型 😀")
        self.same("inspect", "-m", MODEL, "--json")
        self.same("models", "--known", "--json")
        self.same("chat", "--temp", "0", text=b"What is a dog?\nWho are you?\n")
        self.same("chat", "--temp", "0", text=b"What is a dog?\r\nWho are you?\r\n")
        self.same("apply-template", "-p", "Hi")
        self.same("selftest", "--help")
        self.assertEqual(run(True, "selftest")[0], 0)

    def test_exit_codes_and_messages(self):
        self.same("run", "--nosuch", streams=2)
        self.same("run", "-m", "nosuch.gguf", "-p", "x", streams=2)
        self.same("run", "-n", "-5", "-p", "x", streams=2)
        self.same("run", "bitnet-2b", "-p", "x", "-n", "1", HF_HUB_OFFLINE="1", HF_HOME=str(self.place / "hub"))
        self.same("nosuch", streams=2)
        self.same("serve", "--host", "nosuch.invalid", streams=1)

    def test_convert(self):
        """Both make the same file, and prove it."""
        made = []
        for windows in (True, False):
            out = str(self.place / f"tl2-{windows}.gguf")
            code, _, error = run(windows, "convert", MODEL, out, "--to", "tl2", "--prove")
            self.assertEqual(code, 0, error)
            made.append(pathlib.Path(out).read_bytes())
        self.assertEqual(*made)

    def test_batch(self):
        """A thousand lines."""
        lines = self.place / "lines.jsonl"
        with open(lines, "w", encoding="utf-8") as file:
            for i in range(1000):
                print(json.dumps({"id": i, "prompt": f"A tern {i} is", "max_tokens": 4 + i % 5, "seed": i}), file=file)
        made = []
        for windows in (True, False):
            out = self.place / f"results-{windows}.jsonl"
            code, _, error = run(windows, "batch", str(lines), "-o", str(out))
            self.assertEqual(code, 0, error)
            made.append(sorted(out.read_bytes().splitlines()))
        self.assertEqual(len(made[0]), 1000)
        self.assertEqual(*made)

    def test_names(self):
        """Letters of all kinds, and paths beyond the system's 260 characters."""
        long = pathlib.Path(*["folder-" + "x" * 50] * 6)
        for name in ("модель.gguf", "模型-モデル.gguf", "😀 with blanks.gguf", str(long / "model.gguf")):
            path = self.place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(MODEL, path)
            code, text, error = run(True, "run", "-m", str(path), *PROMPT)
            self.assertEqual((code, text), (0, run(False, "run", *PROMPT)[1]), (name, error))
            out = path.with_name("выход-" + path.name)
            code, _, error = run(True, "convert", str(path), str(out), "--to", "tl2")
            self.assertEqual(code, 0, (name, error))
            self.assertGreater(out.stat().st_size, 1 << 20, name)
            self.assertEqual([p.name for p in path.parent.iterdir() if "part" in p.name], [])

    def test_broken_files(self):
        whole = pathlib.Path(MODEL).read_bytes()
        for name, data in (("cut.gguf", whole[:len(whole) // 2]), ("empty.gguf", b""), ("text.gguf", b"hello" * 99)):
            path = self.place / name
            path.write_bytes(data)
            code, text, error = run(True, "run", "-m", str(path), *PROMPT)
            ours = run(False, "run", "-m", str(path), *PROMPT)
            self.assertEqual((code, text, error), ours, name)
        folder = run(True, "run", "-m", str(self.place), *PROMPT)
        self.assertEqual(folder, run(False, "run", "-m", str(self.place), *PROMPT))

    def test_cut_off_while_mapped(self):
        """The file loses its end while it is read from: an error that names it, exit code 2, no crash."""
        path = self.place / "shrinking.gguf"
        shutil.copy(MODEL, path)
        process = subprocess.Popen(command(True, ["chat", "-m", str(path), "--no-repack", "--temp", "0"]
                                           if b"--no-repack" in run(True, "chat", "--help")[1]
                                           else ["chat", "-m", str(path), "--temp", "0"]),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment())
        process.stdin.write(b"What is a dog?\n")
        process.stdin.flush()
        self.assertIn(b"dog", process.stdout.readline())
        os.truncate(path, 4096)
        process.stdin.write(b"What is a cat?\nWhat is a bird?\n")
        process.stdin.close()
        error = process.stderr.read()
        code = process.wait(timeout=60)
        self.assertIn(code, (0, 2), error)
        if code == 2:
            self.assertIn(b"shrinking.gguf: changed while it was in use", error)

    def test_interrupt(self):
        """The first Ctrl-C ends an answer cleanly: exit code 130 in both."""
        codes = []
        for windows in (True, False):
            terminal = Terminal(windows, "run", "-p", "A tern is", "-n", "1900", "--ignore-eos", "--temp", "1",
                                "--seed", "1", "-t", "1")
            terminal.wait_for("Aternis")
            time.sleep(0.3)
            terminal.send("\x03")
            codes.append(terminal.end())
        self.assertEqual(codes, [130, 130])

    def test_chat_in_a_console(self):
        """Keys, Backspace, and Ctrl-C on a half-typed line. Wine's console hands on no arrows and no Ctrl-Z."""
        for windows in (True, False):
            terminal = Terminal(windows, "chat", "--temp", "0")
            terminal.wait_for("commands.")
            terminal.send("What is a dox")
            terminal.wait_for("adox")
            terminal.send("\x7fg?\r")
            terminal.wait_for("domestic")
            terminal.wait_for("tokens/s")
            terminal.send("Wha")
            time.sleep(1)
            terminal.send("\x03")
            time.sleep(1)
            terminal.send("/exit\r")
            self.assertEqual(terminal.end(), 0, windows)

    def test_pull(self):
        """A model comes over HTTPS, once; a host that cannot prove itself is refused; the name then stands for it. A
        host is refused by a file of other certificates: wine asks its own ones about nobody, as Windows does."""
        (self.place / "other").mkdir()
        other, certificate = make_certificate(self.place / "other"), make_certificate(self.place)
        hub = Hub(tls=certificate)
        self.addCleanup(hub.close)
        # The system compares no numbers with a certificate's names where a file of certificates is given.
        hub.url, hub.cdn = (url.replace("127.0.0.1", "localhost") for url in (hub.url, hub.cdn))
        hub.add("user/tern-GGUF", {"tern-i2_s.gguf": pathlib.Path(MODEL).read_bytes()})
        asked = {"HF_ENDPOINT": hub.url, "HF_HOME": str(self.place / "hub-home"), "no_proxy": "*"}
        code, _, error = run(True, "pull", "user/tern-GGUF", SSL_CERT_FILE=str(other), **asked)
        self.assertEqual(code, run(False, "pull", "user/tern-GGUF", SSL_CERT_FILE=str(other), **asked)[0], error)
        self.assertNotEqual(code, 0)
        self.assertIn(b"SSL_CERT_FILE", error)
        asked["SSL_CERT_FILE"] = str(certificate)
        code, text, error = run(True, "pull", "user/tern-GGUF", **asked)
        self.assertEqual(code, 0, error)
        sent = len(hub.log)
        self.assertEqual(run(True, "pull", "user/tern-GGUF", HF_HUB_OFFLINE="1", **asked)[0], 0)
        self.assertEqual(len(hub.log), sent)
        code, text, error = run(True, "run", "user/tern-GGUF", *PROMPT, HF_HUB_OFFLINE="1", **asked)
        self.assertEqual((code, text), (0, run(False, "run", *PROMPT)[1]), error)
        self.assertIn(b"user/tern-GGUF", run(True, "models", **asked)[1])
        self.assertEqual(run(True, "rm", "user/tern-GGUF", "-y", **asked)[0], 0)

    def serve(self, windows, *flags, scheme="http", context=None):
        """What a server answers to requests from outside; Ctrl-C ends it."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        at = f"{scheme}://127.0.0.1:{port}"
        terminal = Terminal(windows, "serve", "--port", str(port), *flags)
        terminal.wait_for("ready:")
        answer = []
        for body in ({"prompt": "A tern is", "max_tokens": 20, "seed": 3},
                     {"prompt": ["A dog", "A cat"], "max_tokens": 8, "temperature": 0}):
            request = urllib.request.Request(f"{at}/v1/completions", json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60, context=context) as reply:
                choices = json.load(reply)["choices"]
            answer.append([choice["text"] for choice in choices])
        with urllib.request.urlopen(f"{at}/", timeout=60, context=context) as reply:
            answer.append(reply.status)
        terminal.send("\x03")
        self.assertEqual(terminal.end(), 0, windows)
        return answer

    def test_serve(self):
        self.assertEqual(self.serve(True), self.serve(False))

    def test_serve_https(self):
        """The client checks the certificate."""
        pem = make_certificate(self.place)
        flags = ("--ssl-cert-file", str(pem), "--ssl-key-file", str(pem))
        found = self.serve(True, *flags, scheme="https", context=ssl.create_default_context(cafile=pem))
        self.assertEqual(found, self.serve(False))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[1])
    HERE, EXE = (os.path.realpath(path) for path in sys.argv[1:3])
    if shutil.which("wine") is None:
        print("SKIPPED: wine is not here")
        sys.exit(0)
    unittest.main(argv=[sys.argv[0], *(f"Windows.{name}" for name in sys.argv[3:])])

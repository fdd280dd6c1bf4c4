#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users of Ollama and llama.cpp type first: models by name where a file stands, commands of those programs. Each does
what it says there, or says what does it here.

usage: first_words_test.py BITTERN MODEL
"""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "hub"))
from hub_case import BITTERN, FILE, MODEL, REPO, HubTest  # noqa: E402

WORDS = ("-p", "In the beginning", "-n", "6", "--temp", "0")


class FirstWords(HubTest):
    def typed(self, answer, *words, **env):
        """Exit code, standard output and the terminal's text of a command whose question gets `answer`."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen([BITTERN, *words], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
                                 env=self.env(NO_COLOR="1", **env), cwd=self.folder)
        os.close(theirs)
        os.write(ours, answer)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
        out = child.stdout.read().decode()
        child.stdout.close()
        os.close(ours)
        return child.wait(60), out, shown.decode()


class Names(FirstWords):
    def setUp(self):
        super().setUp()
        self.wanted = self.run_bittern("run", "-m", str(MODEL), *WORDS).stdout

    def test_a_name_that_is_not_here_is_refused_in_scripts(self):
        for words in (("run", "bitnet-2b"), ("run", "-m", "bitnet-2b"), ("chat", "bitnet-2b"), ("bench", "bitnet-2b"),
                      ("serve", "bitnet-2b"), ("inspect", "bitnet-2b"), ("doctor", "BitNet-2B"), ("eval", "-", "-m", "bitnet-2b"),
                      ("certify", "bitnet-2b"), ("logits", "bitnet-2b", "-p", "x", "-o", "x.bin"), ("report", "bitnet-2b"),
                      ("selftest", "bitnet-2b"), ("trace", "-m", "bitnet-2b", "-p", "x"), ("tokenize", "x", "-m", "bitnet-2b")):
            for env in ({}, {"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
                said = self.run_bittern(*words, code=2, **env).stderr
                for part in ("-hf", "1187.8 MB", "-y", "ggml-model-i2_s.gguf", str(self.cache)):
                    self.assertIn(part, said, words)
        said = self.run_bittern("run", *WORDS, code=2, BITTERN_MODEL="bitnet-2b").stderr
        self.assertIn("$BITTERN_MODEL", said)
        self.assertIn("-hf", said)
        self.assertEqual(self.hub.log, [])
        self.assertFalse(self.cache.exists())

    def test_yes_downloads_and_the_cache_is_used(self):
        for name in (REPO, f"{REPO}:{FILE}", f"{REPO}:i2_s", f"hf.co/{REPO}", f"https://huggingface.co/{REPO}",
                     f"https://huggingface.co/{REPO}/blob/main/{FILE}"):
            self.assertIn("-hf", self.run_bittern("run", name, *WORDS, code=2).stderr, name)
            self.assertEqual(self.run_bittern("run", name, *WORDS, "-y").stdout, self.wanted, name)
            asked = len(self.hub.log)
            for words in ((name,), ("-m", name)):
                self.assertEqual(self.run_bittern("run", *words, *WORDS).stdout, self.wanted, name)
            self.assertEqual(self.run_bittern("run", *WORDS, BITTERN_MODEL=name).stdout, self.wanted, name)
            self.assertEqual(len(self.hub.log), asked, name)
            shutil.rmtree(self.cache)

    def test_a_short_name(self):
        self.hub.add("microsoft/bitnet-b1.58-2B-4T-gguf", {"ggml-model-i2_s.gguf": self.model})
        self.assertEqual(self.run_bittern("run", "bitnet-2b", *WORDS, "--yes").stdout, self.wanted)
        self.assertEqual(self.run_bittern("run", "BitNet-2b", *WORDS).stdout, self.wanted)

    def test_the_question(self):
        code, out, shown = self.typed(b"n\n", "run", REPO, *WORDS)
        self.assertEqual((code, out), (2, ""))
        for part in (REPO, "[y/N]", str(self.cache), "not downloaded"):
            self.assertIn(part, shown)
        self.assertIn("1187.8 MB", self.typed(b"\n", "chat", "bitnet-2b")[2])
        self.assertEqual(self.hub.log, [])
        code, out, shown = self.typed(b"yes\n", "run", REPO, *WORDS)
        self.assertEqual((code, out), (0, self.wanted), shown)
        self.assertNotIn("[y/N]", self.typed(b"", "run", REPO, *WORDS)[2])

    def test_a_file_or_folder_goes_first(self):
        (self.folder / "bitnet-2b").symlink_to(MODEL.resolve())
        (self.folder / "user").mkdir()
        (self.folder / "user" / "tern-GGUF").symlink_to(MODEL.resolve())
        for name in ("bitnet-2b", REPO):
            done = subprocess.run([BITTERN, "run", name, *WORDS], cwd=self.folder, env=self.env(), capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.stdout, self.wanted, done.stderr)
        self.assertEqual(self.hub.log, [])

    def test_what_is_no_name(self):
        for name, part in (("bitnet-2", "did you mean the model bitnet-2b?"), ("falcon-e1b", "falcon-e-1b"),
                           ("./user/tern", "no such"), ("user/tern.gguf", "no such"), ("model.gguf", "no such"),
                           ("/no/such", "no such"), ("a b", "no such")):
            self.assertIn(part, self.run_bittern("run", name, "-p", "x", code=2).stderr)
            self.assertIn(part.replace("no such", "No such"), self.run_bittern("run", "-m", name, "-p", "x", code=2).stderr)
        address = self.run_bittern("run", "-m", "https://example.com/tern.gguf", "-p", "x", code=1).stderr
        self.assertIn("an address of a model at huggingface.co", address)
        self.assertIn("curl -LO", address)
        self.assertIn("a prompt needs -p", self.run_bittern("run", "hello", code=2).stderr)
        self.assertIn("did you mean bitnet-2b?", self.run_bittern("run", "-hf", "bitnet-2", "-p", "x", code=1).stderr)
        self.assertEqual(self.hub.log, [])



# What is typed, exit code, and what the output or the error has. "@m" is the model, "@t" a text, "@o" a file to write.
HABITS = [
    ("list", 0, "no models"),
    ("ls", 0, "no models"),
    ("list --json", 0, '"models":[]'),
    ("ps", 0, ""),
    ("ps --json", 0, '"servers"'),
    ("show @m", 0, "bitnet"),
    ("info @m --json", 0, '"tensors"'),
    ("show @m --modelfile", 1, "bittern meta get"),
    ("show no-such-model", 2, "no such model file"),
    ("rm user/none -y", 2, "is not in"),
    ("rm", 1, "NAME"),
    ("quantize @m @o TQ2_0", 0, "tq2_0"),
    ("quantize @m @o tl1 1", 0, "tl1"),
    ("quantize @m @o Q4_K_M", 1, "tq2_0"),
    ("quantize @m", 1, "IN OUT TYPE"),
    ("quantize --allow-requantize @m @o TQ2_0", 1, "quantizes nothing"),
    ("quantize --help", 0, "--to"),
    ("perplexity -m @m -f @t", 0, "perplexity"),
    ("perplexity -f @t -m @m -c 64 --chunks 1 --json", 0, '"perplexity"'),
    ("embedding @m -p tern --json", 0, '"embedding":['),
    ("download user/none", 2, "user/none"),
    ("create tern -f Modelfile", 2, "bittern convert"),
    ("push user/tern", 2, "bittern pull"),
    ("cp a b", 2, "bittern models"),
    ("stop tern", 2, "bittern ps"),
    ("signin", 2, "--hf-token"),
    ("imatrix -m @m -f @t", 2, "bittern convert"),
    ("tts hello", 2, "bittern chat"),
    ("cli -m @m -p x", 2, "bittern run"),
    ("llama-cli -m @m -p x", 2, "bittern chat"),
    ("server -m @m", 2, "bittern serve"),
    ("llama-server -m @m --port 8080", 2, "bittern serve"),
    ("llama-bench -m @m", 2, "bittern bench"),
    ("llama-quantize @m @o TQ2_0", 2, "bittern quantize IN OUT TYPE"),
    ("llama-perplexity -m @m -f @t", 2, "bittern eval"),
    ("llama-embedding -m @m -p x", 2, "bittern embed"),
    ("llama-gguf-split --merge a b", 2, "bittern convert"),
    ("export-lora -m @m", 2, "bittern convert"),
    ("rpc-server", 2, "bittern serve"),
    ("convert_hf_to_gguf.py folder", 2, "bittern convert FOLDER"),
    ("setup_env.py -hr microsoft/BitNet -q i2_s", 2, "bittern convert"),
    ("run_inference.py -m @m -p x -cnv", 2, "bittern chat"),
    ("huggingface-cli download x", 2, "bittern pull"),
    ("help list", 0, "models"),
    ("help show", 0, "inspect"),
    ("list --help", 0, "bittern models"),
    ("nonsense", 1, 'command "nonsense" is not known'),
]


class Habits(FirstWords):
    def test_all(self):
        text, out = self.folder / "text.txt", self.folder / "out.gguf"
        text.write_text("In the beginning God created the heaven and the earth. " * 40)
        for line, code, part in HABITS:
            out.unlink(missing_ok=True)
            words = [{"@m": str(MODEL), "@t": str(text), "@o": str(out)}.get(w, w) for w in line.split()]
            with self.subTest(line):
                done = self.run_bittern(*words, code=code)
                self.assertIn(part, done.stdout + done.stderr)
                if code == 0 and "@o" in line:
                    self.assertEqual(out.read_bytes()[:4], b"GGUF")

    def test_words_that_mean_ours_do_what_ours_does(self):
        text = self.folder / "text.txt"
        text.write_text("In the beginning God created the heaven and the earth. " * 40)
        for theirs, ours in ((("show", str(MODEL)), ("inspect", str(MODEL))),
                             (("perplexity", "-m", str(MODEL), "-f", str(text)), ("eval", str(text), "-m", str(MODEL))),
                             (("list", "--known"), ("models", "--known"))):
            self.assertEqual(self.run_bittern(*theirs).stdout, self.run_bittern(*ours).stdout)
        for words in (("quantize", str(MODEL), "a.gguf", "TQ1_0"), ("convert", str(MODEL), "b.gguf", "--to", "tq1_0")):
            self.run_bittern(*(str(self.folder / w) if w.endswith("b.gguf") or w == "a.gguf" else w for w in words))
        self.assertEqual((self.folder / "a.gguf").read_bytes(), (self.folder / "b.gguf").read_bytes())

    def test_a_command_of_ours_is_no_word_of_others(self):
        commands = [line.split()[0] for line in self.run_bittern("--help").stdout.split("\nCommon flags:")[0].splitlines()
                    if line.startswith("  ") and line[2] != " "]
        self.assertGreater(len(commands), 20)
        for command in commands:
            self.assertIn(f"bittern {command}", self.run_bittern(command, "--help").stdout)


# What is typed, exit code, and what the error names: the way out. "@m" is the model, "@o" a file to write.
WAYS_OUT = [
    ("-m FILE -p TEXT", 1, "`bittern run -m FILE -p TEXT`"),
    ("run -m @m The", 1, '-p "The"'),
    ("run -p x --max-tokens 5", 1, "use -n N"),
    ("run -p x --stop x", 1, "use -r TEXT"),
    ("chat --system x", 1, "use -sys TEXT"),
    ("run -p x --format json", 1, "--json"),
    ("run -p x --max-model-len 9", 1, "use -c N"),
    ("serve --served-model-name x", 1, "use -a NAME"),
    ("run -p x -ins", 1, "bittern chat"),
    ("bench --json", 1, "use -o json"),
    ("run -p x --json-schema person.json", 1, "--json-schema-file person.json"),
    ("convert @m @o --to q4_k_m", 1, "no other format holds them"),
    ("models list", 1, "`bittern models` alone lists"),
    ("meta list", 1, "did you mean ls?"),
    ("run -m @m -p x --override-kv tokenizer.ggml.pre=str:llama-bp", 1, "did you mean llama-bpe?"),
    ("inspect @m --tensor blk.0.attn_q.weigh", 2, "did you mean blk.0.attn_q.weight?"),
]


class Messages(FirstWords):
    def test_ways_out(self):
        for line, code, part in WAYS_OUT:
            words = [{"@m": str(MODEL), "@o": str(self.folder / "out.gguf")}.get(w, w) for w in line.split()]
            with self.subTest(line):
                self.assertIn(part, self.run_bittern(*words, code=code).stderr)

    def test_no_guess_without_a_letter_in_common(self):
        for words in (("eval", "-q"), ("xx",), ("run", "-Q")):
            self.assertNotIn("did you mean", self.run_bittern(*words, code=1).stderr)

    def test_values_of_switches(self):
        self.run_bittern("run", str(MODEL), *WORDS, "--color", "always", "--tensor-parallel-size", "1", "--dtype", "auto")

    def test_a_schema_that_is_cut(self):
        schema = '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}'
        cut = self.run_bittern("run", "-p", "x", "--json-schema", schema, "-n", "5", code=6)
        self.assertIn("notice: the JSON is not whole: it ends after 5 tokens; -n N allows more\n", cut.stderr)
        told = json.loads(self.run_bittern("run", "-p", "x", "--json-schema", schema, "-n", "5", "--json", code=6).stdout)
        self.assertEqual((told["cut"], told["finish_reason"]), (True, "length"))
        whole = self.run_bittern("run", "-p", "x", "--regex", "(yes|no)", "--json")
        self.assertIs(json.loads(whole.stdout)["cut"], False)
        self.run_bittern("run", "-p", "x", "--regex", "[a-z]*", "-n", "2")  # may end anywhere

    def test_a_loop_is_told(self):
        words = ("run", str(MODEL), "-p", "In the beginning", "--temp", "0")
        for part in ("repeats itself", "--stop-on-loop", "--repeat-penalty", "bittern doctor"):
            self.assertIn(part, self.run_bittern(*words, "-n", "200").stderr)
        self.assertNotIn("repeats itself", self.run_bittern(*words, "-n", "20").stderr)

    def test_an_unsupported_model(self):
        odd = self.folder / "odd.gguf"
        self.run_bittern("meta", "set", str(MODEL), "general.architecture", "str:gemma4", "-o", str(odd))
        said = self.run_bittern("run", str(odd), "-p", "x", code=2).stderr
        self.assertIn('architecture "gemma4" is not supported', said)
        self.assertIn(f"`bittern doctor {odd}`", said)
        bare = self.folder / "bare.gguf"  # the kind goes before a tokenizer that is missing
        self.run_bittern("meta", "rm", str(odd), "tokenizer.ggml.model", "-o", str(bare))
        self.assertIn("architecture", self.run_bittern("run", str(bare), "-p", "x", code=2).stderr)
        folder = self.folder / "weights"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"x")
        said = self.run_bittern("doctor", str(folder), code=12).stdout
        self.assertIn("unsupported", said)
        self.assertIn("fetch config.json", said)
        self.assertNotIn("incurable", said)

    def test_written_files_are_told(self):
        page = self.folder / "page.html"
        for words in (("trace", "-m", str(MODEL), "-p", "x", "--html"), ("bench", str(MODEL), "-p", "4", "-n", "2", "-r", "1", "--html"),
                      ("certify", str(MODEL), "--force", "--out")):
            self.assertIn(f"notice: {page} written\n", self.run_bittern(*words, str(page)).stderr, words)
        self.assertNotIn("written", self.run_bittern("certify", str(MODEL), "--out", "/no/such/file", code=3).stderr)

    def test_no_network(self):
        env = {"HF_ENDPOINT": "http://no-such-host.invalid"}
        said = self.run_bittern("pull", REPO, code=3, **env).stderr
        self.assertEqual(said.count("trying again"), 1)
        self.assertNotIn("blobs=true", said)
        for part in ("--offline", "-m FILE"):
            self.assertIn(part, said)

    def test_examples_of_templates(self):
        for line in self.run_bittern("apply-template", "--help").stdout.split("Example:\n")[1].strip().splitlines():
            line = line.strip().replace("bittern ", f"{BITTERN} ")
            subprocess.run(["bash", "-o", "pipefail", "-c", line], check=True, env=self.env(), capture_output=True)

    def test_what_one_wants_to_know_comes_first(self):
        said = self.run_bittern("inspect", str(MODEL)).stdout.splitlines()
        self.assertEqual(said[0], "name        kjv-5m")
        self.assertEqual([line.split("  ")[0] for line in said[:6]], ["name", "model", "format", "context", "memory", "runs here"])
        told = json.loads(self.run_bittern("inspect", str(MODEL), "--json").stdout)["summary"]
        self.assertEqual((told["name"], told["context_length"], told["runs"]), ("kjv-5m", 512, True))
        self.assertEqual(told["context_bytes"], 2 * 2 * 512 * 6 * 128)
        odd = self.folder / "odd.gguf"
        self.run_bittern("meta", "set", str(MODEL), "general.architecture", "str:gemma4", "-o", str(odd))
        self.assertIn("bittern doctor", self.run_bittern("inspect", str(odd)).stdout.split("\n\n")[0])

    def test_the_first_weights(self):
        for name in ("i2_s", "tq2_0", "i2_s:arm-64"):  # the same codes in every layout
            copy = self.folder / f"{name.replace(':', '-')}.gguf"
            self.run_bittern("convert", str(MODEL), str(copy), "--to", name)
            told = json.loads(self.run_bittern("inspect", str(copy), "--tensor", "blk.0.attn_q.weight", "--head", "300",
                                               "--json").stdout)
            self.assertEqual(len(told["codes"]), 300)
            first = told["codes"] if name == "i2_s" else first
            self.assertEqual(told["codes"], first)
            self.assertEqual(set(first), {-1, 0, 1})
        told = json.loads(self.run_bittern("inspect", str(MODEL), "--tensor", "blk.0.attn_norm.weight", "--json").stdout)
        self.assertEqual(len(told["values"]), 64)
        self.assertIn("scale of", self.run_bittern("inspect", str(MODEL), "--tensor", "blk.0.attn_q.weight").stdout)


class Removal(FirstWords):
    def test_the_question_and_yes(self):
        self.pull(REPO)
        said = self.run_bittern("rm", REPO, code=1).stderr
        for part in (REPO, "-y", str(self.cache), f"{len(self.model) / 1e6:.1f} MB"):
            self.assertIn(part, said)
        code, out, shown = self.typed(b"\n", "rm", REPO)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("1 model, ", shown)
        self.assertTrue(self.repo_folder(REPO).exists())
        self.assertEqual(self.typed(b"Y\n", "rm", f"{REPO}:i2_s")[:2], (0, f"removed {REPO}: {self.freed()}\n"))
        self.assertFalse(self.repo_folder(REPO).exists())

    def freed(self):
        return f"{len(self.model) / 1e6:.1f} MB"

    def test_other_models_stay(self):
        self.hub.add("user/three", {"a-i2_s.gguf": self.model, "b-tq2_0.gguf": self.model, "c-tq1_0.gguf": self.model + b"c"})
        for file in ("a-i2_s.gguf", "b-tq2_0.gguf", "c-tq1_0.gguf"):
            self.pull(f"user/three:{file}")
        self.pull(REPO)
        blobs = self.repo_folder("user/three") / "blobs"
        self.run_bittern("rm", "user/three:a-i2_s.gguf", "-y")  # b has the same bytes
        self.assertEqual(len(list(blobs.iterdir())), 2)
        self.run_bittern("rm", "user/three:tq1_0", "-y")
        self.assertEqual(len(list(blobs.iterdir())), 1)
        listed = self.run_bittern("list").stdout
        self.assertIn("user/three:b-tq2_0.gguf", listed)
        self.assertNotIn("a-i2_s", listed)
        self.assertIn(REPO, listed)
        self.run_bittern("rm", "user/three", "--yes", "--json")
        self.assertFalse(self.repo_folder("user/three").exists())
        self.assertIn(REPO, self.run_bittern("ls").stdout)


class Servers(FirstWords):
    def listed(self):
        return json.loads(self.run_bittern("ps", "--json").stdout)["servers"]

    def test_a_server_is_listed_while_it_runs(self):
        server = subprocess.Popen([BITTERN, "serve", str(MODEL), "--port", "0"], stderr=subprocess.PIPE, text=True,
                                  env=self.env())
        try:
            for line in server.stderr:
                if line.startswith("ready"):
                    break
            port = int(re.search(r":(\d+),", line)[1])
            mine = [one for one in self.listed() if one["pid"] == server.pid]
            self.assertEqual(mine, [{"pid": server.pid, "host": "127.0.0.1", "port": port, "model": str(MODEL)}])
            self.assertRegex(self.run_bittern("ps").stdout, rf"(?m)^ *{server.pid}  127\.0\.0\.1:{port}  ")
        finally:
            server.terminate()
            server.wait(60)
            server.stderr.close()
        self.assertNotIn(server.pid, [one["pid"] for one in self.listed()])


class Vectors(FirstWords):
    def vectors(self, *words, text="", code=0):
        done = subprocess.run([BITTERN, "embed", str(MODEL), "--json", *words], input=text, capture_output=True, text=True,
                              env=self.env(), timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return [json.loads(line)["embedding"] for line in done.stdout.splitlines()] if code == 0 else done.stderr

    def test_lines(self):
        lines = ["In the beginning", "And it came to pass", "In the beginning"]
        found = self.vectors(text="\n".join(lines) + "\n")
        self.assertEqual(len(found), 3)
        self.assertEqual(found[0], found[2])  # a text's vector does not depend on those before it
        self.assertNotEqual(found[0], found[1])
        for vector in found:
            self.assertAlmostEqual(sum(x * x for x in vector), 1, places=5)
        self.assertEqual(self.vectors("-p", lines[1]), [found[1]])

    def test_pooling(self):
        by = {name: self.vectors("-p", "In the beginning", "--pooling", name)[0] for name in ("last", "first", "mean")}
        self.assertEqual(len({tuple(v) for v in by.values()}), 3)
        long = self.vectors("-p", "In the beginning", "--no-normalize")[0]
        length = sum(x * x for x in long) ** 0.5
        self.assertGreater(abs(length - 1), 0.01)
        for one, other in zip(by["last"], long):
            self.assertAlmostEqual(one, other / length, places=5)

    def test_the_context_is_a_limit(self):
        said = self.vectors("-c", "4", text="In\nIn the beginning God created the heaven\n", code=3)
        self.assertIn("line 2", said)


class Scripts(FirstWords):
    def test_quiet(self):
        loud = self.run_bittern("run", str(MODEL), *WORDS, "-ngl", "99", "--override-kv", "no.key=int:1")
        for part in ("notice: ", "decision: ", "tokens per second"):
            self.assertIn(part, loud.stderr)
        for flag in ("--quiet", "--log-disable"):
            done = self.run_bittern("run", str(MODEL), *WORDS, "-ngl", "99", "--override-kv", "no.key=int:1", flag, "-v",
                                    LLAMA_ARG_CTX_SIZE="64")
            self.assertEqual((done.stdout, done.stderr), (loud.stdout, ""), flag)
        self.assertIn("error: ", self.run_bittern("run", "--quiet", "-m", "/no/such", *WORDS, code=2).stderr)
        self.assertIn("error: ", self.run_bittern("run", "--quiet", "--no-such-flag", code=1).stderr)

    def test_quiet_elsewhere(self):
        text, lines = self.folder / "text.txt", self.folder / "lines.jsonl"
        text.write_text("In the beginning God created the heaven and the earth. " * 40)
        lines.write_text('{"prompt": "In the", "n_predict": 3}\n')
        for words in (("eval", str(text)), ("batch", str(lines)), ("chat", "-n", "3")):
            done = self.run_bittern(*words, "-m", str(MODEL), "--quiet", "--mlock")
            self.assertEqual(done.stderr, "", words)
            loud = self.run_bittern(*words, "-m", str(MODEL), "--mlock")
            self.assertEqual(done.stdout if words[0] != "eval" else "", loud.stdout if words[0] != "eval" else "", words)
            self.assertIn("notice: ", loud.stderr)

    def test_variables_of_llama_cpp_are_named(self):
        done = self.run_bittern("run", str(MODEL), *WORDS, LLAMA_ARG_CTX_SIZE="64", LLAMA_ARG_MODEL="x.gguf",
                                LLAMA_ARG_N_PREDICT="3", LLAMA_ARG_FLASH_ATTN="on", LLAMA_ARG_TOP_K="")
        notices = [line for line in done.stderr.splitlines() if "LLAMA_ARG" in line]
        self.assertEqual(notices, ["notice: $LLAMA_ARG_CTX_SIZE, $LLAMA_ARG_FLASH_ATTN, $LLAMA_ARG_MODEL, "
                                   "$LLAMA_ARG_N_PREDICT are not read here; use -c, -m, -n"])
        one = self.run_bittern("inspect", str(MODEL), LLAMA_ARG_PORT="1").stderr
        self.assertIn("notice: $LLAMA_ARG_PORT is not read here\n", one)
        self.assertNotIn("LLAMA_ARG", self.run_bittern("models", LLAMA_ARG_MODEL="x").stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2 if os.environ.get("VERBOSE") else 1)

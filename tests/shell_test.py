#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completions and manual pages: every command and flag is there, and the shells and man(1) that are
installed accept them.

usage: shell_test.py BITTERN
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BITTERN = sys.argv[1]
problems = []


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def check(condition, what):
    if not condition:
        problems.append(what)


def commands():
    text = run(BITTERN, "--help").stdout
    return re.findall(r"(?m)^  (\S+)", text[: text.index("\nCommon flags:")])


def flags(command):
    return set(re.findall(r"(?m)(?<![\w-])(--[a-z][a-z0-9-]*)", "\n".join(
        line.split("  ")[1] for line in run(BITTERN, command, "--help").stdout.splitlines()
        if line.startswith("  -"))))


def complete(script, words):
    """What bash offers for the last of `words`."""
    text = run(BITTERN, "completion", "bash").stdout + (
        "compopt() { :; }\nCOMP_WORDS=(%s)\nCOMP_CWORD=%d\n_bittern\nprintf '%%s\\n' \"${COMPREPLY[@]}\"\n"
        % (" ".join("'%s'" % w for w in words), len(words) - 1))
    done = run("bash", "--norc", "-c", text, cwd=script)
    check(done.returncode == 0 and not done.stderr, "bash: %s" % done.stderr)
    return set(done.stdout.split())


def bash(folder):
    (folder / "model.gguf").touch()
    (folder / "other name.txt").touch()
    check(set(commands()) <= complete(folder, ["bittern", ""]), "bash: commands are missing")
    check(complete(folder, ["bittern", "ser"]) == {"serve"}, "bash: ser")
    for command in commands():
        lacking = flags(command) - complete(folder, ["bittern", command, "-"])
        check(not lacking, "bash: %s lacks %s" % (command, lacking))
    check("model.gguf" in complete(folder, ["bittern", "run", "-m", "mo"]), "bash: -m gives no files")
    check(not complete(folder, ["bittern", "run", "--temp", "mo"]), "bash: --temp gives files")
    check("model.gguf" in complete(folder, ["bittern", "inspect", "mo"]), "bash: inspect gives no files")
    check("set" in complete(folder, ["bittern", "meta", "se"]), "bash: no actions of meta")
    check(complete(folder, ["bittern", "run", "-ctk", ""]) == {"f16", "f32", "q8_0", "i8"}, "bash: values of -ctk")
    check(complete(folder, ["bittern", "eval", "--as", "ch"]) == {"choices"}, "bash: values of --as")
    check(known() <= complete(folder, ["bittern", "pull", ""]), "bash: known models after pull")
    check(known() <= complete(folder, ["bittern", "run", "-hf", ""]), "bash: known models after -hf")
    check(complete(folder, ["bittern", "pull", "mo"]) == set(), "bash: files after pull")
    check(complete(folder, ["bittern", "models", ""]) == {"rm", "du"}, "bash: files after models")
    check(complete(folder, ["bittern", "completion", ""]) == {"bash", "zsh", "fish"}, "bash: files after completion")
    check(complete(folder, ["bittern", "man", "ser"]) == {"serve"}, "bash: commands after man")
    kinds(folder, "bash", lambda *words: complete(folder, ["bittern", *words]), lambda found, good: found == good)


def kinds(folder, shell, offered, agrees):
    """Where a model stands its name, folders and .gguf files are offered; other flags that take files have kinds, too.
    offered(*words): what the shell offers for the last one; agrees(offered, wanted)."""
    for name in ("model.gguf", "notes.txt", "page.html", "form.gbnf", "form.json"):
        (folder / name).touch()
    (folder / "models").mkdir(exist_ok=True)
    for words in (("run", "-m", ""), ("chat", ""), ("serve", "--model", ""), ("tokenize", "-m", "")):
        found = {word.rstrip("/") for word in offered(*words)}
        check(agrees(found & (known() | {"model.gguf", "models", "notes.txt"}), known() | {"model.gguf", "models"}),
              "%s: %s gives %s" % (shell, words, sorted(found - known())))
    for words, good in ((("run", "-m", "bitnet-2b-"), {"bitnet-2b-hf", "bitnet-2b-bf16"}),
                        (("convert", "mo"), {"model.gguf", "models"}), (("doctor", "--like", "mo"), {"model.gguf", "models"}),
                        (("meta", "ls", "mo"), {"model.gguf", "models"}), (("run", "--grammar-file", "fo"), {"form.gbnf"}),
                        (("run", "-jf", "fo"), {"form.json"}), (("trace", "--dump", "mo"), {"models"}),
                        (("serve", "--models-dir", "mo"), {"models"}), (("run", "-m", "no"), {"notes.txt"}),
                        (("run", "-f", "no"), {"notes.txt"}), (("convert", "--to", "tl"), {"tl1", "tl2"}),
                        (("rm", "bitnet-lar"), {"bitnet-large"})):
        found = {word.rstrip("/") for word in offered(*words)}
        check(agrees(found, good), "%s: %s gives %s" % (shell, words, sorted(found)))


def known():
    return {line.split()[0] for line in run(BITTERN, "models", "--known").stdout.splitlines()}


def fish(folder):
    """The same, by a shell that completes a line without a terminal."""
    if not shutil.which("fish"):
        return
    script = folder / "bittern.fish"
    script.write_text(run(BITTERN, "completion", "fish").stdout)

    def complete_fish(line):
        done = run("fish", "-c", "source %s; complete -C '%s'" % (script, line), cwd=folder,
                   env=os.environ | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")})
        return {row.split("\t")[0] for row in done.stdout.splitlines()}
    check(complete_fish("bittern run --cache-type-k ") == {"f16", "f32", "q8_0", "i8"}, "fish: values of --cache-type-k")
    check(complete_fish("bittern models ") == {"rm", "du"}, "fish: files after models")
    check(complete_fish("bittern completion ") == {"bash", "zsh", "fish"}, "fish: files after completion")
    check(complete_fish("bittern pull ") == known(), "fish: known models after pull")
    check("model.gguf" in complete_fish("bittern inspect mo"), "fish: inspect gives no files")
    # fish puts files of the kind before others.
    kinds(folder, "fish", lambda *words: complete_fish(" ".join(("bittern", *words))), lambda found, good: good <= found)


def others():
    for shell, check_flag in (("zsh", "-n"), ("fish", "-n")):
        text = run(BITTERN, "completion", shell).stdout
        for command in commands():
            check(command in text, "%s: %s is missing" % (shell, command))
        check("f16 f32 q8_0 i8" in text, "%s: values of --cache-type-k" % shell)
        check(all(name in text for name in known()), "%s: known models" % shell)
        check("*.gguf" in text or "suffix .gguf" in text, "%s: files of models" % shell)
        if shutil.which(shell):
            done = run(shell, check_flag, "/dev/stdin", input=text)
            check(done.returncode == 0, "%s: %s" % (shell, done.stderr))
    wrong = run(BITTERN, "completion", "tcsh")
    check(wrong.returncode == 1 and "one of bash, zsh, fish expected" in wrong.stderr, "tcsh: %s" % wrong.stderr)


def pages(folder):
    done = run(BITTERN, "man", "--dir", str(folder / "man1"))
    check(done.returncode == 0, done.stderr)
    names = {path.name for path in (folder / "man1").iterdir()}
    check(names == {"bittern.1"} | {"bittern-%s.1" % c for c in commands()}, "pages: %s" % names)
    for command in commands():
        text = (folder / "man1" / ("bittern-%s.1" % command)).read_text()
        check(text == run(BITTERN, "man", command).stdout, "%s: printed and written pages differ" % command)
        plain = text.replace("\\-", "-")
        for flag in flags(command):
            check(flag in plain, "page of %s lacks %s" % (command, flag))
        for section in ("NAME", "SYNOPSIS", "EXAMPLE"):
            check('.SH "%s' % section in text, "page of %s has no %s" % (command, section))
        if shutil.which("groff"):
            done = run("groff", "-man", "-Tutf8", "-ww", "-z", input=text)
            check(not done.stderr, "page of %s: %s" % (command, done.stderr))
    check(run(BITTERN, "man", "nothing").returncode == 1, "a page of nothing")


with tempfile.TemporaryDirectory() as scratch:
    bash(pathlib.Path(scratch))
    others()
    fish(pathlib.Path(scratch))
    pages(pathlib.Path(scratch))
for problem in problems:
    print(problem)
print("%d commands, %d problems" % (len(commands()), len(problems)))
sys.exit(1 if problems else 0)

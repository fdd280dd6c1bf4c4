#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `bittern chat` through a real terminal, which tmux provides: editing, history, also of earlier
sessions, pastes, sizes, Ctrl-C, all commands, styles. Says that it was skipped where there is no tmux.

usage: chat_terminal_test.py BITTERN
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

BITTERN = os.path.abspath(sys.argv[1])
SOCKET = f"bittern-test-{os.getpid()}"
STATE = tempfile.TemporaryDirectory()  # where lines of earlier sessions are kept
failures = []


def tmux(*words):
    return subprocess.run(["tmux", "-L", SOCKET, *words], capture_output=True, text=True).stdout


def screen():
    return tmux("capture-pane", "-p", "-J", "-S", "-500")


def lines():
    return [line.rstrip() for line in screen().splitlines() if line.strip()]


def wait(what, condition):
    """Until the condition holds; a failure where it does not within half a minute."""
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    failures.append(what)
    print(f"FAILED: {what}; the screen:\n{screen()}")


def keys(*names):
    tmux("send-keys", *names)


def shows(text):
    return lambda: text in screen()


def last_is(text):
    return lambda: lines()[-1:] == [text]


def start(*flags, columns=60, rows=16, isa="", temp=("--temp", "0")):
    global SOCKET
    tmux("kill-server")
    SOCKET += "+"  # a server that is about to end takes no session
    env = ["env", "-u", "BITTERN_MODEL", "-u", "BITTERN_HISTORY", "LC_ALL=C.UTF-8", f"BITTERN_ISA={isa}",
           f"XDG_STATE_HOME={STATE.name}"]
    command = " ".join([*env, BITTERN, "chat", *temp, *flags]) + "; echo LEFT $?; cat"
    subprocess.run(["tmux", "-L", SOCKET, "-f", "/dev/null", "-u", "new-session", "-d", "-x",
                    str(columns), "-y", str(rows), command], check=True)
    wait("the prompt", last_is(">"))


def paste(text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        tmux("load-buffer", file.name)
    tmux("paste-buffer", "-p")


def test_editing():
    start("-n", "20", "-v")
    wait("the banner", shows("/help lists the commands"))
    keys("What is a tn")
    keys("Left")
    keys("er")
    wait("letters go in at the cursor", last_is("> What is a tern"))
    keys("Enter")
    wait("an answer", shows("tokens/s"))
    keys("Up")
    wait("history", lambda: screen().count("> What is a tern") == 2)
    keys("C-c")
    wait("Ctrl-C clears the line", last_is(">"))
    keys("漢字x", "Left", "BSpace")
    wait("wide characters", last_is("> 漢x"))
    keys("C-c")
    keys("/help", "Enter")
    wait("help", shows("Alt-Enter"))
    keys("/hepl", "Enter")
    for word in ("/undo", "/retry", "/edit [TEXT]", "/system", "/save", "/load", "/set", "/stats",
                 "/tokens", "/json", "/thoughts", "/clear, /reset", "/exit, /quit, /bye"):
        wait(f"help tells of {word}", shows(word))
    wait("an unknown command", shows("Unknown command /hepl."))
    keys("C-c")
    wait("Ctrl-C asks", shows("Press Ctrl-C again to leave."))
    keys("C-c")
    wait("and leaves", shows("LEFT 0"))


def test_long():
    start("--json", "-n", "1", "-c", "2048", columns=50, rows=12)
    paste("\n".join(f"line {i}" for i in range(1, 301)))
    wait("the end of a page", last_is("line 300"))
    tmux("resize-window", "-x", "30", "-y", "8")
    wait("another size", last_is("line 300"))
    tmux("resize-window", "-x", "80", "-y", "12")
    keys("C-u")
    wait("the whole page is one line", lambda: lines()[-1] == ">")
    paste("x" * 10000)
    wait("a line of 10,000 bytes", lambda: "x" * 700 in "".join(lines()))
    keys("End", "y", "Home", "z")
    wait("its beginning", shows("> zxxx"))
    keys("C-c")
    wait("is gone", last_is(">"))
    paste("What is\na tern?")
    keys("Enter")
    wait("a pasted page is one turn", shows('"user":"What is\\na tern?"'))
    keys("C-d")
    wait("Ctrl-D leaves", shows("LEFT 0"))


def test_turns():
    start("-n", "24", "-c", "512")
    for turn in range(1, 41):
        keys(f"What is a tern? {turn}", "Enter")
        wait(f"turn {turn}", lambda: f"? {turn}" in screen() and lines()[-1] == ">")
    if "error" in screen():
        failures.append("40 turns")
    wait("the oldest turns were dropped", lambda: screen().count("oldest turns are being") == 1)
    keys("What is a gull?", "Enter", "What is typed ahead?")
    wait("typing waits for the answer", last_is("> What is typed ahead?"))
    keys("C-c", "C-c", "C-c")
    wait("left", shows("LEFT 0"))


def test_interrupt():
    start("-n", "-1", "--ignore-eos", "--context-policy", "stop")
    keys("What is a tern?", "Enter")
    wait("an answer begins", lambda: len(lines()) > 4)
    keys("C-c")
    wait("Ctrl-C stops it", lambda: lines()[-1] == ">")
    keys("/exit", "Enter")
    wait("left", shows("LEFT 0"))
    # The terminal is as it was: cat echoes.
    keys("echo works")
    wait("echo", shows("echo works"))


def say(text, what, condition):
    keys("-l", text)
    keys("Enter")
    wait(what, condition)


def answered(text):
    """The answer to `text` has come: its line, then others, then the prompt."""
    def condition():
        all_lines = lines()
        where = [i for i, line in enumerate(all_lines) if line.endswith("> " + text)]
        return bool(where) and all_lines[-1] == ">" and "tokens/s" in all_lines[-2]
    return condition


def answered_shortly(text):
    """The same of an answer that is too short for a rate."""
    def condition():
        all_lines = lines()
        where = [i for i, line in enumerate(all_lines) if line.endswith("> " + text)]
        return bool(where) and where[-1] + 1 < len(all_lines) and all_lines[-1] == ">"
    return condition


def reply_to(text):
    """The lines of the last answer to `text`, without the rate."""
    all_lines = lines()
    where = max(i for i, line in enumerate(all_lines) if line.endswith("> " + text))
    reply = []
    for line in all_lines[where + 1:]:
        if "tokens/s" in line:
            break
        if not line.startswith("notice"):
            reply.append(line)
    return reply


def test_commands(folder):
    saved = os.path.join(folder, "a chat.json")
    start("-n", "24", "-v", columns=100, rows=40)
    for command in ("/undo", "/retry", "/edit"):
        say(command, f"{command} before anything is said", shows(f"{command}: nothing has been said"))
    say("What is a tern?", "a reply", answered("What is a tern?"))
    say("What is a gull?", "a second reply", answered("What is a gull?"))
    gull = reply_to("What is a gull?")
    say("/stats", "statistics", shows("last turn: "))
    line = next(line for line in lines() if line.startswith("last turn: "))
    kept, read = int(line.split()[2]), int(line.split()[7])
    if not (kept > 20 and read < 20):  # the second turn alone, not the first one again
        failures.append(f"what is kept is not read again: {line}")
    say("/retry", "another reply", answered("/retry"))
    if reply_to("/retry") != gull:
        failures.append("the same reply at temperature 0")
    say("/set temperature 1.5", "a setting", last_is(">"))
    say("/set seed 3", "another", last_is(">"))
    say("/set temperature", "is shown", shows("temperature 1.5"))
    say("/set dynatemp_exp 2", "a setting by its flag", last_is(">"))
    say("/set dynatemp_exponent", "is shown", shows("dynatemp_exponent 2"))
    say("/set temprature 1", "a wrong name", shows("did you mean temperature?"))
    say("/set top_k many", "a wrong value", shows("top_k: a whole number"))
    say("/undo", "one turn is forgotten", shows('forgotten: "What is a gull?"; turns left: 1'))
    say("/undo twice", "takes no argument", shows("/undo takes nothing behind it."))
    say("/edit", "the last message again", last_is("edit> What is a tern?"))
    keys("C-c")
    wait("Ctrl-C leaves it as it was", last_is(">"))
    say("/edit", "once more", last_is("edit> What is a tern?"))
    keys("BSpace", "-", "like bird?", "Enter")
    wait("a reply to the changed message", answered("What is a tern-like bird?"))
    say("/system Be brief.", "a system prompt", shows("notice: a new system prompt"))
    say("/system", "is shown", lambda: "Be brief." in lines()[-2:])
    say("/tokens tern", "tokens of a text", shows('tokens: '))
    say('/json {"unevaluatedItems": false}', "a schema that cannot be obeyed", shows('/json: schema at "#/unevaluatedItems"'))
    say('/json {"enum": ["tern", "gull"]}', "a schema", shows("the next reply is JSON of this"))
    say("Which?", "JSON", answered("Which?"))
    if reply_to("Which?") not in (['"tern"'], ['"gull"']):
        failures.append(f"JSON of the schema: {reply_to('Which?')}")
    say("And now?", "free text again", answered("And now?"))
    say(f"/save {saved}", "saved", shows("3 turns saved to"))
    say("Go on.", "the next reply", answered("Go on."))
    expected = reply_to("Go on.")
    say("/clear", "cleared", shows("notice: a new conversation"))
    say("/load", "the last file again", shows("3 turns loaded from"))
    say("Go on.", "the next reply once more", lambda: screen().count("> Go on.") == 2
        and answered("Go on.")())
    if reply_to("Go on.") != expected:
        failures.append("a loaded conversation goes on with the same text")
    say("/load /dev/null", "no conversation", shows("/load: /dev/null: "))
    say("/save /no/such/folder/x", "no folder", shows("/save: /no/such/folder/x"))
    keys("C-d")
    wait("left", shows("LEFT 0"))
    # On another instruction set.
    start("-n", "24", "-v", "--resume", f"'{saved}'", columns=100, rows=40, isa="scalar", temp=())
    wait("what was resumed", shows("3 turns resumed; the last one was: And now?"))
    say("Go on.", "the next reply on another ISA", answered("Go on."))
    if reply_to("Go on.") != expected:
        failures.append("a resumed conversation goes on with the same text on another ISA")
    keys("C-d")
    wait("left again", shows("LEFT 0"))


REPLY = r"""root ::= "<think>One.\nTwo words.</think>\n\n# Head\n\nSome **bold** `code`.\n""" \
    r"""```\nx = 1\n```\nThe \x1b[31mend." """


def test_styles(folder):
    with open(os.path.join(folder, "reply.gbnf"), "w") as file:
        file.write(REPLY)
    flags = ["-n", "200", "--grammar-file", file.name]

    def styled():
        return tmux("capture-pane", "-p", "-e", "-J", "-S", "-500")

    start(*flags)
    say("Hi", "a reply in styles", answered("Hi"))
    more = r"(\x1b\[[0-9;]*m)*"
    for style, part in (("1", "> Hi"), ("1", "# Head"), ("1", r"\*\*bold\*\*"), ("36", "`code`"), ("36", "x = 1")):
        if not re.search(rf"\x1b\[(0;)?{style}m{more}{part}", styled()):
            failures.append(f"style of {part}: {styled()!r}")
    if "One." in screen() or "(thought in 3 words; /thoughts shows them)" not in screen():
        failures.append("thoughts are folded")
    wait("the model's own escape sequences do nothing", shows("The \ufffd[31mend."))
    say("/thoughts", "thoughts are shown", shows("Two words."))
    keys("C-d")
    wait("left", shows("LEFT 0"))
    start("--no-markdown", "--show-thoughts", *flags)
    say("Hi", "a reply without styles", answered("Hi"))
    if "1m**bold" in styled() or "36m`" in styled():
        failures.append(f"no styles with --no-markdown: {styled()!r}")
    wait("thoughts with --show-thoughts", shows("<think>One."))
    keys("C-d")
    wait("left without styles", shows("LEFT 0"))
    # Never in a pipe.
    out = subprocess.run([BITTERN, "chat", *flags], input=b"Hi\n", capture_output=True).stdout
    expected = (b"<think>One.\nTwo words.</think>\n\n# Head\n\nSome **bold** `code`.\n```\nx = 1\n"
                b"```\nThe \x1b[31mend.\n")
    if out != expected:
        failures.append(f"a pipe gets the reply as it is: {out!r}")


def test_history():
    """Lines of an earlier session come back; a private one does not. A file that is no history stays as it is."""
    kept = pathlib.Path(STATE.name, "bittern", "chat_history")
    kept.unlink(missing_ok=True)
    start("-n", "4")
    say("What is a tern?", "an answer", answered_shortly("What is a tern?"))
    say(" a secret", "another", answered_shortly(" a secret"))
    paste("two\nlines")
    keys("Enter")
    wait("a third", lambda: lines()[-1] == ">" and "lines" in screen())
    keys("C-d")
    wait("left", shows("LEFT 0"))
    start("-n", "4")
    keys("Up")
    wait("the last line", last_is("lines"))
    keys("Up")
    wait("the one before", last_is("> What is a tern?"))
    keys("BSpace", "!", "Enter")
    wait("it is said anew", answered_shortly("What is a tern!"))
    keys("C-d")
    wait("left again", shows("LEFT 0"))
    if kept.read_text() != '"What is a tern?"\n"two\\nlines"\n"What is a tern!"\n':
        failures.append(f"what is kept: {kept.read_text()!r}")
    kept.write_text("notes of mine\n")
    start("-n", "4")
    wait("a notice", shows("typed lines are not kept"))
    say("What is a gull?", "an answer all the same", answered_shortly("What is a gull?"))
    say("/set", "the settings", shows("xtc_threshold"))
    names = [line.split()[0] for line in lines() if re.match("[a-z_]+ ", line)]
    first = names.index("temperature")
    if names[first:first + 4] != ["temperature", "top_k", "top_p", "min_p"] or \
            names[first + 8:] != sorted(names[first + 8:]):
        failures.append(f"the order of settings: {names}")
    keys("C-d")
    wait("left once more", shows("LEFT 0"))
    if kept.read_text() != "notes of mine\n":
        failures.append("a file of others was changed")


def test_words():
    """The ways out that a stranger needs."""
    start("-n", "5", columns=120, rows=40)
    wait("a model by name", shows("bittern chat -hf bitnet-2b (1.2 GB, once)"))
    say("exit", "how to leave", shows("(/exit or Ctrl-D leaves)"))
    wait("and the answer", last_is(">"))
    say("/json", "a form", shows("the next reply is a JSON object"))
    say("/json off", "taken back", shows("the next reply is free"))
    say("What is a tern?", "the way to more tokens", shows("after 5 tokens; /set n_predict N allows more"))
    if "not whole" in screen():
        failures.append("a free reply is not called cut")
    say('/json {"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}', "a schema", shows("JSON of this schema"))
    say("hello", "a cut reply", shows("is not whole"))
    say("/set temperature abc", "one pair of quotes", shows('"abc" found'))
    if '""abc""' in screen():
        failures.append("two pairs of quotes")
    say("/tokens W\u00f6", "half letters as bytes", shows("<C3>"))
    if "tokens/s" in screen():
        failures.append("a rate of a few tokens")
    keys("C-d")
    wait("left", shows("LEFT 0"))


if shutil.which("tmux") is None:
    print("SKIPPED: no tmux")
    sys.exit(0)
try:
    test_editing()
    test_long()
    test_turns()
    test_interrupt()
    test_history()
    test_words()
    with tempfile.TemporaryDirectory() as scratch:
        test_commands(scratch)
        test_styles(scratch)
finally:
    tmux("kill-server")
    STATE.cleanup()
for failure in failures:
    print(f"FAILED: {failure}")
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `bittern chat` through a real terminal, which tmux provides: editing, history, pastes, sizes,
Ctrl-C. Says that it was skipped where there is no tmux.

usage: chat_terminal_test.py BITTERN
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

BITTERN = os.path.abspath(sys.argv[1])
SOCKET = f"bittern-test-{os.getpid()}"
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


def start(*flags, columns=60, rows=16):
    global SOCKET
    tmux("kill-server")
    SOCKET += "+"  # a server that is about to end takes no session
    env = ["env", "-u", "BITTERN_MODEL", "LC_ALL=C.UTF-8"]
    command = " ".join([*env, BITTERN, "chat", "--temp", "0", *flags]) + "; echo LEFT $?; cat"
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
    start("-n", "20")
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
    start("-n", "24")
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


if shutil.which("tmux") is None:
    print("SKIPPED: no tmux")
    sys.exit(0)
try:
    test_editing()
    test_long()
    test_turns()
    test_interrupt()
finally:
    tmux("kill-server")
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)

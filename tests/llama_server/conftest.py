# SPDX-License-Identifier: Apache-2.0
"""Lets llama.cpp's server tests (tools/server/tests) run against `bittern serve`: takes the place of their
conftest.py. It starts our program with our model, and where a test expects the text or the number of
tokens of llama.cpp's test model, expects what `bittern run` and `bittern tokenize` give for the same
request: the case is then marked "our model's". run.py starts it and writes the table."""
import json
import os
import pathlib
import re
import subprocess

import pytest
import utils

BITTERN, MODEL = os.environ["BITTERN"], os.environ["BITTERN_MODEL"]
DROPPED = {"--hf-repo": 1, "--hf-file": 1, "--offline": 0, "--tags": 1, "--sleep-idle-seconds": 1}
RENAMED = {"--no-ui": "--no-webui", "--backend_sampling": "--backend-sampling", "--cors-origins": "--cors-origin"}
# llama-server takes ChatML where a model has no template, and any text for a template. Written out, since our
# built-in ones want their control tokens in the vocabulary.
CHATML = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
TEMPLATES = {"chatml": CHATML, "This is not a chat template, it is": "This is not a chat template, it is"}
LIFE, BOOK = "I believe the meaning of life is", "What is the best book"
JOKE = "Write a joke about AI from a very long prompt which will not be truncated"
FIBONACCI = "Write the fibonacci function in c++."


def chatml(system, user):
    return f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"


def said(prompt, count):
    """What the command line gives for the same prompt, seed and temperature."""
    run = subprocess.run([BITTERN, "run", "-m", MODEL, "-p", prompt, "-n", str(count), "--seed", "42", "--temp", "0.8",
                          "--json"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["text"]


def tokens(prompt):
    ids = subprocess.run([BITTERN, "tokenize", "-m", MODEL, "--ids", prompt], capture_output=True, text=True, check=True)
    return len(ids.stdout.split())


def exactly(prompt, count):
    return rf"\A{re.escape(said(prompt, count))}\Z"


# A text of llama.cpp's model in the middle of a test: the prompt and the tokens that make ours.
TEXTS = {"(going|bed)+": (LIFE, 8), "(Suddenly)+": (chatml("Book", BOOK), 8),
         "(Whiskers|Flana)+": ("What is the capital of France?", 64),
         "(Jack|said)+": ("What is the capital of Germany?", 64)}
theirs_match = utils.match_regex


def match_regex(regex, text):
    return theirs_match(exactly(*TEXTS[regex]) if regex in TEXTS else regex, text)


def our_values(name, params):
    """What the parameters of a case become, if they speak of llama.cpp's model."""
    if name in ("test_chat_completion", "test_chat_completion_stream"):
        user, template = params["user_prompt"], params.get("chat_template")
        if not isinstance(user, str):
            user = "".join(part["text"] for part in user)
        prompt = template if template not in (None, "chatml") else chatml(params["system_prompt"], user)
        return {"re_content": exactly(prompt, params["max_tokens"]), "n_prompt": tokens(prompt)}
    if name in ("test_completion", "test_completion_stream"):
        return {"re_content": exactly(params["prompt"], params["n_predict"]), "n_prompt": tokens(params["prompt"])}
    if name == "test_ctx_shift_disabled_short_prompt" and params["n_predict"] == -1:
        return {"n_token_output": 257 - tokens("Hi how are you")}  # the last one needs no place in the context
    if name == "test_return_progress":
        count = tokens(chatml("", "This is a test" * 10).split("<|im_end|>\n", 1)[1])
        return {"batch_count": 1 + (1 if params["reuse_cache"] else -(-count // params["n_batch"]))}  # 1: before any is read
    return {}


def start_args(args):
    """llama-server's command line as ours: what each sequence may have, no downloads."""
    out, given, args = [], {}, list(args)
    while args:
        flag = args.pop(0)
        values = [args.pop(0)] if args and not (args[0].startswith("-") and not args[0][1:2].isdigit()) else []
        if flag in DROPPED:
            continue
        given[flag] = values[0] if values else ""
    if "--ctx-size" in given:  # theirs is for all slots together; the model's own limit is 512
        slots = 1 if "--kv-unified" in given else int(given.get("--parallel", 1))
        given["--ctx-size"] = str(min(512, int(given["--ctx-size"]) // slots))
    template = given.pop("--chat-template", "chatml")
    if template in TEMPLATES and "--chat-template-file" not in given:
        pathlib.Path("template.jinja").write_text(TEMPLATES[template], encoding="utf-8")
        given["--chat-template-file"] = "template.jinja"
    elif "--chat-template-file" not in given:
        given["--chat-template"] = template
    for flag, value in given.items():
        out += [RENAMED.get(flag, flag), *([value] if value else [])]
    return ["serve", "--model", MODEL, *out, *([] if "--cors-origins" in given else ["--cors-origin", "*"])]


class Popen(subprocess.Popen):
    def __init__(self, args, **options):
        super().__init__([BITTERN, *start_args(args[1:])] if args[0] == "llama-server" else args, **options)


utils.match_regex = match_regex
utils.subprocess.Popen = Popen
utils.ServerProcess.server_path = "llama-server"


def pytest_collection_modifyitems(items):
    for item in items:
        params = getattr(item, "callspec", None) and item.callspec.params
        ours = our_values(item.originalname, params or {})
        if ours:
            params.update(ours)
        source = pathlib.Path(item.path).read_text(encoding="utf-8")
        body = source.split(f"def {item.originalname}(", 1)[1].split("\ndef ", 1)[0]
        if ours or any(f'"{regex}"' in body for regex in TEXTS):
            item.user_properties.append(("ours", "1"))


@pytest.fixture(autouse=True)
def stop_servers():
    yield
    for server in list(utils.server_instances):
        server.stop()

# SPDX-License-Identifier: Apache-2.0
"""bittern.llama_cpp beside llama-cpp-python. Its source distribution is read, not built. The test
compares the methods and arguments of its class Llama, and runs the examples of its README.

usage: llama_cpp_python.py ARCHIVE MODEL
"""
import ast
import inspect
import re
import sys
import tarfile
import types
import warnings

import bittern
from bittern import llama_cpp

# What Bittern's class lacks, and why.
LACKING = {
    "ctx": "a pointer of llama.cpp", "model": "here it is the bittern.Model",
    "eval_logits": "Sequence.logits()", "sample": "generate()", "tokenizer": "tokenize(), detokenize()",
    "create_chat_completion_openai_v1": "create_chat_completion()",
    "pooling_type": "an argument of the constructor", "logits_to_logprobs": "NumPy", "longest_token_prefix": "an inner helper"}
# Examples of the README that cannot run here: a word of theirs, and why.
SKIPPED = {"Llava15ChatHandler": "images", "Qwen25VLChatHandler": "images", "MTMDChatHandler": "images",
           "from_pretrained": "the network", "LlamaPromptLookupDecoding": "Bittern guesses by itself",
           "llama_cpp.llama_": "the low-level interface",
           "image_to_base64": "images"}


def of_archive(archive):
    """The class Llama, and the README."""
    with tarfile.open(archive) as opened:
        files = {name.split("/", 1)[1]: name for name in opened.getnames() if name.count("/") >= 1}
        read = [opened.extractfile(files[name]).read().decode() for name in ("llama_cpp/llama.py", "README.md")]
    found = [node for node in ast.parse(read[0]).body if isinstance(node, ast.ClassDef) and node.name == "Llama"]
    return found[0], read[1]


def compare(theirs):
    """Prints what is lacking; returns what is lacking and not listed."""
    unknown = []
    for method in (node for node in theirs.body if isinstance(node, ast.FunctionDef)):
        if method.name.startswith("_") and method.name not in ("__init__", "__call__"):
            continue
        ours = getattr(llama_cpp.Llama, method.name, None)
        if ours is None or method.name == "model":
            print(f"lacking: {method.name} ({LACKING.get(method.name, 'NOT LISTED')})")
            unknown += [] if method.name in LACKING else [method.name]
            continue
        if method.name in LACKING:
            unknown.append(f"{method.name} is listed, and is there")
        wanted = [one.arg for one in method.args.args + method.args.kwonlyargs if one.arg not in ("self", "cls")]
        if isinstance(ours, property):
            continue
        has = inspect.signature(ours).parameters
        missing = [name for name in wanted if name not in has]
        if missing:
            print(f"lacking: {method.name}: {', '.join(missing)}")
            unknown += [f"{method.name}({name})" for name in missing]
        order = [name for name in has if name in wanted]
        if order != [name for name in wanted if name in has] and method.name != "__init__":
            unknown.append(f"{method.name}: the order of arguments")
    return unknown


def run_examples(readme, model):
    """Runs each example, with a model of ours for theirs; returns how many ran and which failed."""
    module = types.ModuleType("llama_cpp")
    module.__dict__.update(llama_cpp.__dict__)
    sys.modules["llama_cpp"] = module
    ran, failed = 0, []
    for block in re.findall(r"```python\n(.*?)```", readme, re.S):
        if "Llama(" not in block and "llm" not in block and "Llama." not in block:
            continue
        why = [reason for word, reason in SKIPPED.items() if word in block]
        if why:
            print(f"skipped ({why[0]}): {block.strip().splitlines()[-1][:60]}")
            continue
        source = re.sub(r'model_path="[^"]*"', f"model_path={model!r}", block)
        if source.count("model_path") != source.count(repr(model)):
            failed.append(f"{block}: no path")
        try:
            exec(compile(source, "README.md", "exec"), {"Llama": llama_cpp.Llama})  # pylint: disable=exec-used
            ran += 1
        except Exception as error:  # pylint: disable=broad-except  # all are told at the end
            failed.append(f"{block}: {error!r}")
    return ran, failed


def main():
    archive, model = sys.argv[1:]
    warnings.simplefilter("error")
    theirs, readme = of_archive(archive)
    unknown = compare(theirs)
    ran, failed = run_examples(readme, model)
    print(f"llama-cpp-python: {ran} examples of its README ran (bittern {bittern.__version__})")
    for text in unknown + failed:
        print(f"WRONG: {text}", file=sys.stderr)
    sys.exit(1 if unknown or failed or ran < 5 else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`bittern trace` as scripts call it: dumps, comparisons of dumps, models, instruction sets and caches, folders of plain
arrays, a dump from NumPy with and without a planted fault (where NumPy is installed), and the page.

usage: trace_cli_test.py BITTERN MODEL
"""
import array
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BITTERN, MODEL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROOT = pathlib.Path(__file__).resolve().parent.parent
PROMPT = ["-p", "In the beginning God"]
PYTHON = next((p for p in (sys.executable, "/usr/bin/python3")
               if subprocess.run([p, "-c", "import numpy"], capture_output=True).returncode == 0), None)


def run(*arguments, expect=0):
    done = subprocess.run([BITTERN, "trace", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def compare(*arguments, expect=0):
    return json.loads(run("--compare", *arguments, "--json", expect=expect))


with tempfile.TemporaryDirectory() as folder:
    here = os.path.join(folder, "here")
    run("-m", MODEL, *PROMPT, "--dump", here, "--values")
    dump = json.load(open(os.path.join(here, "trace.json")))
    assert dump["layers"] == 6 and len(dump["steps"]) == len(dump["tokens"]) * (3 + 17 * 6)
    assert len(os.listdir(os.path.join(here, "values"))) == 3 + 17 * 6
    assert compare(here, here)["verdict"] == "identical"
    found = compare(here, "isa=scalar", "-m", MODEL)
    assert found["verdict"] == "identical" and found["layer"] is None and found["operation"] is None, found
    found = compare("kv=f32", "kv=f16", "-m", MODEL, *PROMPT)
    assert found["verdict"] == "rounding" and found["layer"] == 0 and found["operation"] == "rope", found
    # Another epsilon: the first norm.
    other = os.path.join(folder, "other.gguf")
    subprocess.run([BITTERN, "meta", "set", MODEL, "bitnet-b1.58.attention.layer_norm_rms_epsilon", "float:0.01", "-o",
                    other], check=True, capture_output=True)
    found = compare(MODEL, other, *PROMPT, expect=4)
    assert (found["verdict"], found["layer"], found["operation"], found["position"]) == \
        ("different", 0, "attn_norm", 0), found
    run("--compare", MODEL, expect=1)
    run("--json", "-m", MODEL, *PROMPT, expect=1)

    # Another program's folder: an index and the numbers alone.
    bare = pathlib.Path(folder) / "bare"
    (bare / "values").mkdir(parents=True)
    index = {"trace": "bittern trace v1", "layers": dump["layers"], "tokens": dump["tokens"]}
    (bare / "trace.json").write_text(json.dumps(index))
    for path in (pathlib.Path(here) / "values").iterdir():
        npy = path.read_bytes()
        (bare / "values" / (path.stem + ".f32")).write_bytes(npy[10 + int.from_bytes(npy[8:10], "little"):])
    found = compare(str(bare), here)
    assert found["verdict"] == "identical" and found["compared"] == len(dump["steps"]), found
    assert compare(str(bare), "isa=scalar", "-m", MODEL)["verdict"] == "identical"
    run("-m", MODEL, "--compare", "isa=scalar", str(bare), "--html", os.path.join(folder, "bare.html"))
    wrong = bare / "values" / "03.o_proj.f32"
    floats = array.array("f", wrong.read_bytes())
    floats[-1] += 1
    wrong.write_bytes(floats.tobytes())
    found = compare(here, str(bare), expect=4)
    assert (found["layer"], found["operation"], found["position"]) == (3, "o_proj", len(dump["tokens"]) - 1), found
    wrong.rename(bare / "values" / "03.oproj.f32")
    run("--compare", str(bare), here, expect=2)

    page = os.path.join(folder, "page.html")
    run("-m", MODEL, *PROMPT, "--html", page)
    text = open(page).read()
    data = json.loads(text[text.index('id="data">') + 10:text.index("</script>")])
    assert len(data["tokens"]) == len(dump["tokens"]) and len(data["lens"]) == 7 and data["layers"] == 6
    assert "http://www.w3.org/2000/svg" in text and "<script src" not in text and "<link rel=\"stylesheet" not in text

    if PYTHON is None:
        print("ok (without NumPy)")
        sys.exit(0)
    page = (ROOT / "docs" / "trace.md").read_text()
    example = page[page.index("```python") + 9:]
    script = example[:example.index("```")] + f"""
arrays = {{path.stem: np.load(path) for path in pathlib.Path({here!r}, "values").iterdir()}}
write_trace({os.path.join(folder, "example")!r}, {dump["tokens"]}, {dump["layers"]}, arrays)
"""
    subprocess.run([PYTHON, "-c", script], check=True)
    assert compare(os.path.join(folder, "example"), here)["verdict"] == "identical"
    ids = ",".join(map(str, dump["tokens"]))
    numpy = os.path.join(folder, "numpy")
    run("-m", MODEL, "--prompt-ids", ids, "--dump", os.path.join(folder, "f32"), "-ctk", "f32", "-ctv", "f32")
    script = [PYTHON, str(ROOT / "tools" / "trace_numpy.py"), MODEL, ids, numpy]
    subprocess.run(script, check=True)
    found = compare(os.path.join(folder, "f32"), numpy)
    assert found["verdict"] == "rounding", found
    found = compare(here, numpy)  # an f16 cache against float64
    assert found["verdict"] == "rounding", found
    for layer, operation in ((0, "qkv_proj"), (2, "attention"), (3, "o_proj"), (4, "gate"), (5, "ffn_sub_norm")):
        subprocess.run([*script, "--fault", f"{layer},{operation}"], check=True)
        found = compare(os.path.join(folder, "f32"), numpy, expect=4)
        assert (found["layer"], found["operation"]) == (layer, operation), (layer, operation, found)
print("ok")

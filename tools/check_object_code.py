#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: check_object_code.py BUILD_DIR [--prefix aarch64-linux-gnu-] | --self-test SOURCE_DIR

Reads the object code of everything that computes (base, quant, kernels, model, runtime) and fails
where the numerics contract (docs/design/0001-numerics.md) is broken by what the compiler made of it:

- a call of the C library's mathematics, whose last bit differs between machines;
- a multiply-add that the source did not write: outside float32 kernels there may be none, inside
  only in the operations that say Fma, and on x86 only in whole vectors.

--self-test plants both and fails unless they are found (x86-64, g++).
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TARGETS = ("base", "quant", "kernels", "kernels_isa", "model", "runtime")
# Exact by definition, so the same everywhere; and what compilers call for these.
EXACT = re.compile(r"(abs|copysign|floor|ceil|trunc|rint|nearbyint|frexp|ldexp|scalbl?n|logb|ilogb|"
                   r"nextafter|fmod|remainder|modf|l?lrint|fpclassify|finite|isinf|isnan|signbit|"
                   r"fmin|fmax|fabs|sqrt)[fl]?$")
MULTIPLY_ADD = re.compile(r"^(vfn?m(?:add|sub|addsub|subadd)\d*(?P<lanes>[ps])[sdh]|"
                          r"(?P<scalar>fn?madd|fn?msub)|fml[as])$")
# ops.inc: the operations whose text says Fma.
FUSED = re.compile(r"(RmsNorm|Dot|DotRows|ExpVec|ExpAll|ExpSum|SiluMul|GeluMul|SigmoidMul|ConvSilu|DeltaColumns|"
                   r"DeltaRule|ScoreBlock|MixTile|MixChunk|"
                   r"AttendQueries|AttendAll|Attention|Softmax|Fma)")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr[:2000]}")
    return done.stdout


def library_functions(prefix):
    """Names that the C library's libm exports and that are not exact."""
    path = run(prefix + "gcc-12" if prefix else "gcc", "-print-file-name=libm.so.6").strip()
    names = {line.split()[-1].split("@")[0]
             for line in run(prefix + "nm", "-D", "--defined-only", path).splitlines()}
    if "expf" not in names:
        sys.exit(f"{path}: no expf; is this libm?")
    return {name for name in names if not EXACT.match(name)}


def is_float_kernel(path):
    return path.parent.name == "float32" and path.name != "scalar.cpp.o"


def check_object(path, library, prefix):
    """Complaints about one object, and how many instructions were read."""
    complaints = [f"{path.name}: calls {name} of libm"
                  for name in run(prefix + "nm", "-u", str(path)).split() if name in library]
    function, count = "?", 0
    for line in run(prefix + "objdump", "-dC", "--no-show-raw-insn", str(path)).splitlines():
        if header := FUNCTION.match(line):
            function = header[1]
        parts = line.split("\t")
        if len(parts) < 2:
            continue
        count += 1
        fused = MULTIPLY_ADD.match(parts[1].split()[0] if parts[1].split() else "")
        if fused and (not is_float_kernel(path) or not FUSED.search(function) or
                      fused["scalar"] or fused["lanes"] == "s"):
            complaints.append(f"{path.name}: {parts[1].split()[0]} in {function}")
    return complaints, count


def check(paths, prefix=""):
    library = library_functions(prefix)
    complaints, instructions = [], 0
    for path in paths:
        found, count = check_object(path, library, prefix)
        complaints += found
        instructions += count
    if instructions < 10:
        complaints.append("hardly any instructions seen: wrong folder?")
    print(f"{len(paths)} objects, {instructions} instructions read")
    return complaints


def objects_of(build):
    return [path for target in TARGETS
            for path in sorted((build / f"CMakeFiles/{target}.dir").rglob("*.o"))]


FLAGS = ["-std=c++20", "-O2", "-fno-math-errno"]
PLANTED = [  # title, folder and file, text (or a file to compile), flags, what must be found
    ("a call of libm", "model/a.cpp", "float F(float x) { return __builtin_expf(x); }", [], "expf"),
    ("an unasked multiply-add", "model/b.cpp", "float F(float x, float y) { return x * y + 1; }",
     ["-mfma", "-ffp-contract=fast"], "vfmadd"),
    ("the same in vectors of a float kernel", "float32/avx2.cpp", None,
     ["-O3", "-mavx2", "-mfma", "-mf16c", "-ffp-contract=fast"], "Rope"),
    ("nothing wrong", "float32/avx2.cpp", None,
     ["-O3", "-mavx2", "-mfma", "-mf16c", "-ffp-contract=off"], None),
]


def self_test(source):
    missed = []
    for title, name, text, flags, expected in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / name
            file.parent.mkdir()
            file.write_text(text or (source / "src/kernels" / name).read_text())
            target = file.with_suffix(".cpp.o")
            run("g++", *FLAGS, *flags, "-I", str(source / "src"), "-c", str(file), "-o", str(target))
            complaints = check([target])
            good = not complaints if expected is None else any(expected in c for c in complaints)
            print(f"{'caught' if good else 'MISSED'}: {title}")
            if not good:
                missed.append(f"{title}: {complaints}")
    return missed


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "--self-test":
        complaints = self_test(pathlib.Path(arguments[1]))
    elif len(arguments) in (1, 3):
        prefix = arguments[2] if len(arguments) == 3 else ""
        complaints = check(objects_of(pathlib.Path(arguments[0])), prefix)
    else:
        sys.exit(__doc__)
    print(*complaints[:40], sep="\n")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants known defects into copies of source files and fails unless the tests catch each: those of
kernels the kernel tests, those of the forward pass tests/differential.

  planted_defects.py SOURCE_DIR BUILD_DIR      BUILD_DIR: a built `dev` preset (x86-64, g++)

A test that cannot fail is a defect; this shows that these can. The working tree is not touched.
"""
import concurrent.futures
import functools
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

NARROW_BEFORE = """    for (size_t b = 0; b < num_blocks; ++b, p += kBlockBytes) {
      const int8_t* a = act + b * kBlock;
      __m256i first16 = _mm256_setzero_si256(), last16 = first16;"""
NARROW_AFTER = """    __m256i first16 = _mm256_setzero_si256(), last16 = first16;
    for (size_t b = 0; b < num_blocks; ++b, p += kBlockBytes) {
      const int8_t* a = act + b * kBlock;"""
WIDEN_BEFORE = """      first = Widen(first, first16);
      last = Widen(last, last16);
    }"""
WIDEN_AFTER = """    }
    first = Widen(first, first16);
    last = Widen(last, last16);"""

# name, kernel file, [(text, replacement)] or [(text, replacement, file that it includes)], test that
# must fail
DEFECTS = [
    ("sums kept in int16 over the whole row", "tile16/avx2.cpp",
     [(NARROW_BEFORE, NARROW_AFTER), (WIDEN_BEFORE, WIDEN_AFTER)], "Tile16.GemvIsExact"),
    ("the first vector's activations for a few of them", "tile16/avx2.cpp",
     [("Broadcast4(acts[token.value] + at", "Broadcast4(acts[0] + at")], "Tile16.GemvOfAFewIsExact"),
    ("a few vectors' sums kept in one register", "tile16/sse41.cpp",
     [("&narrow[token.value][i.value], codes", "&narrow[0][i.value], codes",
       "kernels/tile16/parts_few.inc")], "Tile16.GemvOfAFewIsExact"),
    ("two output lanes swapped", "tile16/avx512vnni.cpp",
     [("_mm512_sub_epi32(sum,",
       "_mm512_sub_epi32(_mm512_shuffle_epi32(sum, static_cast<_MM_PERM_ENUM>(0xe1)),")],
     "Tile16.GemvPutsEverySingleWeight"),
    ("a token of the panel read twice", "tile16/avx512vnni.cpp",
     [("Broadcast4(panel + token.value * 4)", "Broadcast4(panel + (token.value & 6) * 4)")],
     "Tile16.GemmIsExact"),
    ("sums of tables widened one block too late", "vlut/avx2.cpp",
     [("kBlocksAtOnce = 2;", "kBlocksAtOnce = 3;", "kernels/vlut/tables.inc")],
     "Vlut.IsExactAtTheExtremes"),
    ("a token's lanes taken from the panel before", "vlut/avx512vnni.cpp",
     [("TwoPanels(panels[2] + offset, panels[3] + offset)",
       "TwoPanels(panels[2] + offset, panels[2] + offset)")], "Vlut.IsExactForEveryNumberOfTokens"),
    ("a row of tables left out beside the products", "vlut/avx512vnni.cpp",
     [("rows.left -= kRowsOfUnit;", "rows.left -= kRowsOfUnit + 1;")],
     "Vlut.IsExactForEveryShareOfTheRows"),
    ("the scale of the first token for all of a register of tables", "vlut/avx2.cpp",
     [("_mm256_loadu_ps(scales)", "_mm256_set1_ps(*scales)", "kernels/vlut/x86_256.inc")],
     "Vlut.ScalesOfGroupsAreRoundedAsDefined"),
    ("the scales of the first rows for all of a tile of 48", "tile48/avx512vnni.cpp",
     [("of_group + third.value * third_scales", "of_group", "kernels/tile48/avx512.inc")],
     "Tile48.GroupedGemmEqualsTile16"),
    ("a group's sums kept for the next group", "tile48/avx2.cpp",
     [("    __m256i digits[kDigits][3] = {};", "    static __m256i digits[kDigits][3] = {};")],
     "Tile48.GroupedGemmEqualsTile16"),
    ("the high digits of a token for all vectors of a batch", "tile16/avx2.cpp",
     [("acts[token.value * kDigits + 1] = tokens[token.value].low", "acts[token.value * kDigits + 1] = tokens[token.value].act")],
     "Tile16.GroupedGemmEqualsItsDefinition"),
    ("the first tokens' digits joined twice", "vlut/avx2.cpp",
     [("_mm256_packs_epi32(Joined(a), Joined(b))", "_mm256_packs_epi32(Joined(a), Joined(a))", "kernels/vlut/x86_256.inc")],
     "Vlut.JoinedDigitsAreThoseOfTheirNumber"),
    ("digits joined by another base", "tile16/avx512vnni.cpp",
     [("_mm512_slli_epi32(high, 8), high)", "_mm512_slli_epi32(high, 8), _mm512_setzero_si512())")],
     "Tile16.GroupedGemvEqualsItsDefinition"),
    ("sums of a shared row kept in int16 for too many blocks", "sparse/avx2.cpp",
     [("kBlocksAtOnce = 2 * kLinesAtOnce;", "kBlocksAtOnce = 8 * kLinesAtOnce;")], "Sparse.SharedRowsAreThose"),
    ("the first vector's activations for all that share a row", "sparse/avx512vnni.cpp",
     [("acts[v.value] + i * kLineCols", "acts[0] + i * kLineCols")], "Sparse.SharedRowsAreThose"),
    ("multiply-add not fused", "float32/avx2.cpp",
     [("return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};",
       "return Add(Mul(a, b), c);")], "Float32.RmsNormBits"),
    ("an emulated multiply-add rounded twice", "float32/sse41.cpp",
     [("_mm_castsi128_pd(_mm_or_si128(cut, one))", "sum")], "Float32.FusedMultiplyAddRoundsOnce"),
    ("int8 lanes left as the pack instruction leaves them", "float32/avx2.cpp",
     [("0xd8", "0xe4")], "QuantizeTest.TheSameBits"),
    ("lanes reduced in another order", "float32/avx512vnni.cpp",
     [("const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));\n"
       "  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));",
       "const __m128 two = _mm_add_ps(four, _mm_movehdup_ps(four));\n"
       "  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehl_ps(two, two)));")], "Float32.RmsNormBits"),
]

LIBRARIES = ("runtime", "model", "kernels", "grammar", "tokenizer", "jinja", "formats",
             "quant", "base")

# name, file under src, [(text, replacement)], the seed of tests/differential whose model told it last
DIFFERENTIAL_DEFECTS = [
    ("scores scaled for a head one larger", "model/forward/attention.cpp",
     [("std::sqrt(static_cast<float>(c.head_dim))", "std::sqrt(static_cast<float>(c.head_dim + 1))")],
     9),
    ("a window of one position more", "model/forward/attention.cpp",
     [("args.window = Size(c.WindowOf(layer));",
       "args.window = c.WindowOf(layer) == 0 ? 0 : Size(c.WindowOf(layer)) + 1;")], 5),
    ("the experts with the least scores", "model/forward/experts.cpp",
     [("scores[expert] > scores[experts[rank - 1]]", "scores[expert] < scores[experts[rank - 1]]")], 7),
    ("the first of the tokens that have chosen an expert for all of them", "model/forward/gemm.cpp",
     [("tokens[first + i]", "tokens[first]")], 1),
    ("the norm's mean over the neurons that are kept", "model/forward/feed_forward.cpp",
     [("static_cast<std::size_t>(context.config.intermediate_size), place.from",
       "layer.num_neurons(), place.from")], 18),
    ("a batch whose second token takes the first one's scale", "model/forward/linear.cpp",
     [(".act_scales = in.scales(tokens.begin),",
       ".act_scales = in.scales(tokens.begin == 1 ? 0 : tokens.begin),")],
     9),
    ("heads normed before their rotation where they are normed after it", "model/forward/attention.cpp",
     [("  if (c.traits->rotates_first) rotate();\n", ""),
      ("  if (!c.traits->rotates_first) rotate();", "  rotate();")], 49),
    ("rows of the embedding without their factor", "model/forward/head.cpp",
     [("Scale(context.config.scales.embedding, hidden, embedding.cols);", "")], 13),
]
MOST_SEEDS = 80  # that are tried where the generator of models no longer makes the one that told it

# name, file under src, [(text, replacement)]: the tests of many sequences must fail
ENGINE_DEFECTS = [
    ("attention reads the first sequence's pages", "model/forward/attention.cpp",
     [("const KvSequence& sequence = *context.segment(item.first_token).sequence;",
       "const KvSequence& sequence = *context.segments[0].sequence;")]),
    ("logits of the first row of a segment instead of its last", "model/forward/forward.cpp",
     [("first + count - segment.rows + i", "first + i")]),
    ("a known page taken although its last token differs", "runtime/engine/prefix_cache.cpp",
     [("  return i;\n", "  return i == 0 ? 0 : std::min(most, i + 1);\n")]),
    ("a page written that another sequence sees", "model/kv_pool.cpp",
     [("    if (pool_->references(last) > 1) {", "    if (pool_->references(last) > 2) {")]),
]
ENGINE_TESTS = "Engine.*:*EngineScripts*Native*"


def objects_below(build, folder):
    """The objects of a folder that belong to the build; others are of files that were moved or removed."""
    known = set(re.findall(r"\S+\.o\b", (build / "build.ninja").read_text(encoding="utf-8")))
    return [str(path) for path in sorted(folder.rglob("*.o")) if path.relative_to(build).as_posix() in known]


def isa_flags(source):
    rows = re.findall(r'^ISA_X86\((\w+),.*, "([^"]*)"\)$',
                      (source / "src/kernels/isa.def").read_text(), re.M)
    return {name: flags.split(";") for name, flags in rows}


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def cpu_has(name):
    return all(flag in pathlib.Path("/proc/cpuinfo").read_text()
               for flag in {"sse41": ["sse4_1"], "avx2": ["avx2", "fma"], "avx512vnni": ["avx512_vnni"]}[name])


def compile_copy(source, text, flags, output):
    copy = output.with_suffix(".cpp")
    copy.write_text(text)
    done = run(["g++", "-std=c++20", "-O1", "-ffp-contract=off", "-fno-math-errno", *flags,
                "-I", str(source / "src"), "-c", str(copy), "-o", str(output)])
    if done.returncode:
        sys.exit("does not compile: " + done.stderr[:2000])


def run_with(source, build, folder, file, text, flags, test_filter):
    """Output of kernels_test with `text` instead of the kernel file's own."""
    planted = folder / "planted.o"
    compile_copy(source, text, flags, planted)
    objects = [path for path in objects_below(build, build / "CMakeFiles/kernels_isa.dir")
               if not path.endswith(f"{file}.o")]
    tests = objects_below(build, build / "CMakeFiles/kernels_test.dir")
    registry = [str(build / "libkernels.a")]  # of which nothing else is taken
    program = folder / "planted_test"
    linked = run(["g++", *objects, str(planted), *tests, *registry, str(build / "libquant.a"),
                  str(build / "libbase.a"), "-lgmock", "-lgtest", "-lgtest_main", "-pthread", "-o",
                  str(program)])
    if linked.returncode:
        sys.exit("does not link: " + linked.stderr[:2000])
    return run([str(program), f"--gtest_filter={test_filter}"]).stdout


def caught(source, build, folder, defect):
    name, file, edits, test = defect
    isa = pathlib.Path(file).stem
    text = (source / "src/kernels" / file).read_text()
    for old, new, *included in edits:
        if included:  # take the file in, so that it can be edited
            line = f'#include "{included[0]}"'
            assert line in text, f"{file} no longer includes {included[0]}"
            text = text.replace(line, (source / "src" / included[0]).read_text())
        if old not in text:
            sys.exit(f"{name}: the text to replace is no longer in {file}")
        text = text.replace(old, new)
    output = run_with(source, build, folder, file, text, isa_flags(source)[isa], f"*{test}*{isa}")
    if "[ RUN      ]" not in output:
        sys.exit(f"{name}: no test is called {test}")
    return "[  FAILED  ]" in output


def batch_of(build, file):
    """The source that compiles the file together with others of its folder; None if it is compiled alone."""
    for batch in (build / "CMakeFiles").rglob("Unity/*.cxx"):
        if f'/src/{file}"' in batch.read_text():
            return batch.read_text()
    return None


def link_with(source, build, folder, file, edits, objects_of, libraries):
    """A program of the objects below objects_of with an edited file of src in place of its own."""
    text = (source / "src" / file).read_text()
    for old, new in edits:
        if old not in text:
            sys.exit(f"the text to replace is no longer in {file}")
        text = text.replace(old, new)
    planted, program = folder / "planted.o", folder / "planted_program"
    if batch := batch_of(build, file):
        edited = folder / "edited.cpp"
        edited.write_text(text)
        text = re.sub(f'"[^"]*/src/{re.escape(file)}"', f'"{edited}"', batch)
    compile_copy(source, text, [f'-DBITTERN_SOURCE_DIR="{source}"'], planted)
    objects = objects_below(build, objects_of)
    archives = [str(build / f"lib{name}.a") for name in LIBRARIES]
    # The planted object defines what the library's own would, which is not taken then.
    linked = run(["g++", *objects, str(planted), "-Wl,--start-group", *archives, "-lutf8proc",
                  "-Wl,--end-group", *libraries, "-pthread", "-o", str(program)])
    if linked.returncode:
        sys.exit("does not link: " + linked.stderr[:2000])
    return program


def engine_catches(source, build, folder, defect):
    """Whether the tests of many sequences fail with the edited file."""
    program = link_with(source, build, folder, *defect, build / "CMakeFiles/runtime_test.dir",
                        ["-lgmock", "-lgtest", "-lgtest_main"])
    done = run([str(program), f"--gtest_filter={ENGINE_TESTS}"], timeout=300)
    return "[  FAILED  ]" in done.stdout or done.returncode < 0


def differential_catches(source, build, folder, defect):
    """Whether a random model tells the edited file from float64, or one of its variants from another."""
    file, edits, told = defect
    program = link_with(source, build, folder, file, edits,
                        build / "tests/CMakeFiles/odd_model.dir", [])
    differential = ["/usr/bin/python3", str(source / "tests/differential/differential.py"), str(program),
                    "--count", "1", "--shrink", "0", "--first-seed"]
    return any("FAILED" in run([*differential, str(seed)]).stdout
               for seed in (told, *range(1, MOST_SEEDS)))


def avxvnni_passes(source, build, folder):
    """AVX-VNNI's kernel in place of AVX2's, its one instruction in the encoding of AVX-512: so
    that its arithmetic is tested on CPUs that have only the other."""
    text = (source / "src/kernels/tile16/avxvnni.cpp").read_text()
    for old, new in [("Isa::avxvnni", "Isa::avx2"), ("tile16_avxvnni", "tile16_avx2"),
                     ("_mm256_dpbusd_avx_epi32", "_mm256_dpbusd_epi32")]:
        if old not in text:
            sys.exit(f"{old} is no longer in tile16/avxvnni.cpp")
        text = text.replace(old, new)
    flags = [*isa_flags(source)["avx2"], "-mavx512vl", "-mavx512vnni"]
    output = run_with(source, build, folder, "tile16/avx2.cpp", text, flags, "*Tile16*avx2")
    passed = re.search(r"\[  PASSED  \] (\d+) tests", output)
    return bool(passed) and int(passed[1]) >= 4 and "FAILED" not in output and "SKIPPED" not in output


def weak_symbol_caught(source, folder):
    text = (source / "src/kernels/tile16/avx2.cpp").read_text()
    text += "\ninline int Leak(int x) { return x; }\nint (*leak)(int) = Leak;\n"
    planted = folder / "weak.o"
    compile_copy(source, text, isa_flags(source)["avx2"], planted)
    return run(["sh", str(source / "tools/no_weak_symbols.sh"), str(planted)]).returncode != 0


def cases(source, build):
    """(title, function of a folder that says whether the defect is caught) of every defect."""
    yield "a weak symbol in an ISA file is caught", lambda folder: weak_symbol_caught(source, folder)
    for defect in DEFECTS:
        if cpu_has(pathlib.Path(defect[1]).stem):
            yield defect[0] + " is caught", functools.partial(caught, source, build, defect=defect)
        else:
            print(f"{defect[0]}: SKIPPED (this CPU lacks the instruction set)")
    for title, *defect in ENGINE_DEFECTS:
        yield title + " is caught", functools.partial(engine_catches, source, build, defect=defect)
    for title, *defect in DIFFERENTIAL_DEFECTS:
        yield title + " is caught", functools.partial(differential_catches, source, build, defect=defect)
    if cpu_has("avx512vnni"):
        yield "AVX-VNNI's kernel by AVX-512 passes", functools.partial(avxvnni_passes, source, build)


def tried(case):
    """(title, whether it went well), in a folder of its own."""
    title, function = case
    with tempfile.TemporaryDirectory() as folder:
        return title, function(folder=pathlib.Path(folder))


def main():
    if platform.machine() != "x86_64":
        return print("planted defects: SKIPPED (written for x86-64)")
    source, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    missed = 0
    # One compiles while another links or runs its tests: a compiler takes a GB.
    with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        for title, good in pool.map(tried, cases(source, build)):
            print(f"{'ok' if good else 'FAILED'}: {title}", flush=True)
            missed += not good
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()

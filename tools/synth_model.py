#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a GGUF of random ternary weights in the shape of a public model: to time, to load, to try
limits of memory. What it says is noise.

  synth_model.py --arch qwen35|maple|qwen3moe|hunyuan-dense|minicpm|qwen3|gemma3 [--size tiny|wide|full]
                 [--type q2_0|pq2_0|ptq1_0|tq2_0|stq1_0|i2_s] [--rotated] [--plain] [--one-scale]
                 [--half-head | --affine-head]
                 [--form gguf|hf|mlx] [--seed N] OUT

  qwen35   tiny: 8 layers, 5 MB; wide: with heads of 128; full: Ternary-Bonsai-27B (64 layers, 7 GB, written in about a
           minute). Types as the released files have them: matrices, embedding and head in --type
           (q2_0 unless it is given), the small matrices of delta layers in BF16, all else in F32.
           --rotated: as Ternary-Bonsai-2-27B has it, with the keys of a Walsh-Hadamard transform.
  maple    tiny: 4 layers, 2 MB, windows of 64 positions; full: Maple 20B-A1B (24 layers of 256
           experts, 5.9 GB). Types as in the released files with a head of Q4_K: matrices in --type
           (tq2_0 unless it is given), embedding in F16, all else, the routers too, in F32.
  qwen3moe tiny: 4 layers, 2 MB; full: Qwen3-30B-A3B (48 layers of 128 experts, 8.5 GB). Types as maple's.
  qwen3    tiny: 2 layers; full: BitNet-embedding-0.6B (28 layers, 0.4 GB), a model for embeddings, with a
           norm for the input of each projection. Types as in the released files: matrices in --type
           (i2_s unless it is given), the rest in F16. --plain: tiny without these norms, as
           Ternary-Bonsai-1.7B and 8B are (q2_0 unless --type is given), a model that writes texts.
  gemma3   the same of BitNet-embedding-270M (18 layers, 0.4 GB).
  hunyuan-dense
           tiny: 4 layers, 0.5 MB; full: Hy-MT2 1.8B (32 layers, 0.5 GB). Types as in the released files:
           matrices in --type (stq1_0 unless it is given), embedding and head one tensor of Q6_K.
  minicpm  tiny: 4 layers, 1 MB, a context beyond the original one; full: BitCPM4 8B (32 layers, 2.8 GB).
           Matrices in --type (tq2_0 unless it is given), embedding in F16, head in Q6_K; a vocabulary of
           SentencePiece.

--half-head gives embedding and head F16, whatever the released files have. --form hf writes the same weights as a
Hugging Face folder (synth_folder.py): qwen3 and gemma3, qwen35, maple with --one-scale, the latter two with --half-head.
--form mlx writes MLX's packs of 2 bits: qwen35, and maple with --one-scale and --affine-head, which gives embedding and head Q4_1
with one scale and one offset for 64 weights, as MLX's packs of 4 bits have them.
The scales of blocks differ, as in a real file; --one-scale gives a matrix one for all, so that every type
holds it. The same arguments give the same bytes. Needs nothing but Python.
"""
import argparse
import math
import random
import struct

import synth_folder

F32, F16, Q4_1, Q4_K, Q6_K, BF16, STQ1_0, PTQ1_0 = 0, 1, 3, 12, 14, 30, 43, 143
U32, I32, FLOAT, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
# Type, weights of a block, bytes of their codes, whether the scale stands before those
I2_S = 36  # one scale behind all codes
BLOCKS = {"i2_s": (I2_S, 128, 32, True), "q2_0": (42, 64, 16, True), "pq2_0": (142, 128, 32, True),
          "ptq1_0": (PTQ1_0, 128, 26, False), "tq2_0": (35, 256, 64, False), "stq1_0": (STQ1_0, 256, 40, False)}
ALIGNMENT = 32
CHUNK = 1 << 24  # bytes of codes that are drawn at a time
# Low bytes of scales that bf16 holds, too.
SHORT = bytes(b & 0xF8 for b in range(256))
TERNARY = bytes(sum((b // 3 ** i % 3) << 2 * i for i in range(4)) for b in range(256))  # four codes 0..2

QWEN35 = {
    "tiny": dict(layers=8, hidden=256, ffn=512, heads=4, kv_heads=2, head_dim=64, rotated=16, vocab=512,
                 key_heads=2, value_heads=4, state=64, context=2048),
    "full": dict(layers=64, hidden=5120, ffn=17408, heads=24, kv_heads=4, head_dim=256, rotated=64,
                 vocab=248320, key_heads=16, value_heads=48, state=128, context=262144),
}
QWEN35["wide"] = {**QWEN35["tiny"], "state": 128}  # heads of a whole group of 128
MAPLE = {
    "tiny": dict(layers=4, hidden=256, heads=4, kv_heads=2, head_dim=64, rotated=32, vocab=512, experts=8,
                 used=2, neurons=256, window=64, context=2048),
    "full": dict(layers=24, hidden=2048, heads=16, kv_heads=4, head_dim=128, rotated=64, vocab=151936,
                 experts=256, used=8, neurons=512, window=512, context=131072),
}
QWEN3MOE = {
    "tiny": dict(layers=4, hidden=256, heads=4, kv_heads=2, head_dim=64, vocab=512, experts=8, used=2, neurons=256,
                 context=2048),
    "full": dict(layers=48, hidden=2048, heads=32, kv_heads=4, head_dim=128, vocab=151936, experts=128, used=8,
                 neurons=768, context=40960),
}
QWEN3 = {
    "tiny": dict(layers=2, hidden=256, ffn=512, heads=4, kv_heads=2, head_dim=64, vocab=512, context=512),
    "full": dict(layers=28, hidden=1024, ffn=3072, heads=16, kv_heads=8, head_dim=128, vocab=151936, context=32768),
}
GEMMA3 = {
    "tiny": dict(layers=2, hidden=256, ffn=512, heads=4, kv_heads=1, head_dim=64, vocab=512, context=512),
    "full": dict(layers=18, hidden=640, ffn=2048, heads=4, kv_heads=1, head_dim=256, vocab=262144, context=32768),
}
HUNYUAN = {
    "tiny": dict(layers=4, hidden=256, ffn=512, heads=4, kv_heads=2, head_dim=64, vocab=512, context=2048),
    "full": dict(layers=32, hidden=2048, ffn=6144, heads=16, kv_heads=4, head_dim=128, vocab=120818, context=262144),
}
MINICPM = {
    "tiny": dict(layers=4, hidden=256, ffn=512, heads=4, kv_heads=2, head_dim=64, vocab=512, context=2048, original=512,
                 base=64),
    "full": dict(layers=32, hidden=4096, ffn=16384, heads=32, kv_heads=2, head_dim=128, vocab=73448, context=32768,
                 original=32768, base=256),
}
TEMPLATE = ("{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
            "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
THINKING_TEMPLATE = TEMPLATE.replace("assistant\n{% endif", "assistant\n<think>\n{% endif")


def spelling():
    """How GPT-2's vocabularies spell each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def vocabulary(size):
    """256 bytes, one merge, then words that stand for nothing; the last two open and end a turn."""
    names = spelling()
    tokens = [names[b] for b in range(256)] + [names[97] + names[98]]
    tokens += ["<extra_%d>" % i for i in range(len(tokens), size - 2)] + ["<|im_start|>", "<|im_end|>"]
    return tokens, [1] * 257 + [3] * (size - 257)


def pieces(size):
    """A vocabulary of SentencePiece: what is no text, 256 bytes, letters, one merge, then as above."""
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    types = [2, 3, 3] + [6] * 256
    letters = [chr(0x2581)] + [chr(c) for c in range(33, 127)] + ["ab"]
    tokens += letters + ["<extra_%d>" % i for i in range(len(tokens) + len(letters), size - 2)]
    types += [1] * len(letters) + [3] * (size - len(types) - len(letters))
    return tokens + ["<|im_start|>", "<|im_end|>"], types


def qwen35_tensors(s):
    """(name, columns, rows or None, kind) of each tensor; rows of experts: (of one, experts); kind:
    matrix, small, half, head, router, decay, or the mean of floats."""
    mix = (2 * s["key_heads"] + s["value_heads"]) * s["state"]
    inner, hidden, q = s["value_heads"] * s["state"], s["hidden"], s["heads"] * s["head_dim"]
    yield "token_embd.weight", hidden, s["vocab"], "matrix"
    for i in range(s["layers"]):
        p = "blk.%d." % i
        yield p + "attn_norm.weight", hidden, None, 1
        if (i + 1) % 4:
            yield p + "attn_qkv.weight", hidden, mix, "matrix"
            yield p + "attn_gate.weight", hidden, inner, "matrix"
            yield p + "ssm_beta.weight", hidden, s["value_heads"], "small"
            yield p + "ssm_alpha.weight", hidden, s["value_heads"], "small"
            yield p + "ssm_conv1d.weight", 4, mix, 0.2
            yield p + "ssm_dt.bias", s["value_heads"], None, -1
            yield p + "ssm_a", s["value_heads"], None, "decay"
            yield p + "ssm_norm.weight", s["state"], None, 1
            yield p + "ssm_out.weight", inner, hidden, "matrix"
        else:
            yield p + "attn_q.weight", hidden, 2 * q, "matrix"
            yield p + "attn_k.weight", hidden, s["kv_heads"] * s["head_dim"], "matrix"
            yield p + "attn_v.weight", hidden, s["kv_heads"] * s["head_dim"], "matrix"
            yield p + "attn_q_norm.weight", s["head_dim"], None, 1
            yield p + "attn_k_norm.weight", s["head_dim"], None, 1
            yield p + "attn_output.weight", q, hidden, "matrix"
        yield p + "post_attention_norm.weight", hidden, None, 1
        yield p + "ffn_gate.weight", hidden, s["ffn"], "matrix"
        yield p + "ffn_up.weight", hidden, s["ffn"], "matrix"
        yield p + "ffn_down.weight", s["ffn"], hidden, "matrix"
    yield "output_norm.weight", hidden, None, 1
    yield "output.weight", hidden, s["vocab"], "matrix"


def qwen35_keys(s):
    numbers = {
        "block_count": s["layers"], "context_length": s["context"], "embedding_length": s["hidden"],
        "feed_forward_length": s["ffn"], "attention.head_count": s["heads"],
        "attention.head_count_kv": s["kv_heads"], "attention.key_length": s["head_dim"],
        "attention.value_length": s["head_dim"], "rope.dimension_count": s["rotated"],
        "full_attention_interval": 4, "ssm.conv_kernel": 4, "ssm.state_size": s["state"],
        "ssm.group_count": s["key_heads"], "ssm.time_step_rank": s["value_heads"],
        "ssm.inner_size": s["value_heads"] * s["state"]}
    keys = [("qwen35." + name, U32, value) for name, value in numbers.items()]
    pairs = s["rotated"] // 2
    sections = [(pairs + 2) // 3, (pairs + 1) // 3, pairs // 3, 0]  # of text they are all alike; llama.cpp asks for them
    keys += [("qwen35.attention.layer_norm_rms_epsilon", FLOAT, 1e-6), ("qwen35.rope.freq_base", FLOAT, 1e7),
             ("qwen35.rope.dimension_sections", (ARRAY, I32), sections)]
    return keys


def mixture_tensors(s):
    hidden, q, kv = s["hidden"], s["heads"] * s["head_dim"], s["kv_heads"] * s["head_dim"]
    yield "token_embd.weight", hidden, s["vocab"], "half"
    for i in range(s["layers"]):
        p = "blk.%d." % i
        yield p + "attn_norm.weight", hidden, None, 1
        yield p + "attn_q.weight", hidden, q, "matrix"
        yield p + "attn_k.weight", hidden, kv, "matrix"
        yield p + "attn_v.weight", hidden, kv, "matrix"
        yield p + "attn_q_norm.weight", s["head_dim"], None, 1
        yield p + "attn_k_norm.weight", s["head_dim"], None, 1
        yield p + "attn_output.weight", q, hidden, "matrix"
        yield p + "ffn_norm.weight", hidden, None, 1
        yield p + "ffn_gate_inp.weight", hidden, s["experts"], "router"
        yield p + "ffn_gate_exps.weight", hidden, (s["neurons"], s["experts"]), "matrix"
        yield p + "ffn_up_exps.weight", hidden, (s["neurons"], s["experts"]), "matrix"
        yield p + "ffn_down_exps.weight", s["neurons"], (hidden, s["experts"]), "matrix"
    yield "output_norm.weight", hidden, None, 1
    yield "output.weight", hidden, s["vocab"], "head"


def mixture_keys(arch, s):
    numbers = {
        "block_count": s["layers"], "context_length": s["context"], "embedding_length": s["hidden"],
        "attention.head_count": s["heads"], "attention.head_count_kv": s["kv_heads"],
        "attention.key_length": s["head_dim"], "attention.value_length": s["head_dim"],
        "expert_count": s["experts"], "expert_used_count": s["used"],
        "expert_feed_forward_length": s["neurons"], "vocab_size": s["vocab"]}
    return [(arch + "." + name, U32, value) for name, value in numbers.items()] + [
        (arch + ".attention.layer_norm_rms_epsilon", FLOAT, 1e-6)]


def qwen3moe_keys(s):
    return mixture_keys("qwen3moe", s) + [("qwen3moe.rope.freq_base", FLOAT, 1e6)]


def maple_keys(s):
    keys = mixture_keys("maple", s)
    keys += [("maple.rope.dimension_count", U32, s["rotated"]), ("maple.attention.sliding_window", U32, s["window"]),
             ("maple.rope.freq_base", FLOAT, 1e4), ("maple.attention.sliding_window_pattern", (ARRAY, BOOL), [i % 4 != 3 for i in range(s["layers"])]),
             ("maple.swiglu_clamp_exp", (ARRAY, FLOAT), [7.0] * s["layers"])]
    return keys


def embedding_tensors(s, post_norms):
    """A model for embeddings: it has no head."""
    hidden, q, kv, ffn = s["hidden"], s["heads"] * s["head_dim"], s["kv_heads"] * s["head_dim"], s["ffn"]
    yield "token_embd.weight", hidden, s["vocab"], "half"
    for i in range(s["layers"]):
        p = "blk.%d." % i
        yield p + "attn_norm.weight", hidden, None, "norm"
        for name, cols, rows in (("attn_q", hidden, q), ("attn_k", hidden, kv), ("attn_v", hidden, kv),
                                 ("attn_output", q, hidden), ("ffn_gate", hidden, ffn), ("ffn_up", hidden, ffn),
                                 ("ffn_down", ffn, hidden)):
            yield p + name + "_norm_in.weight", cols, None, "norm"
            yield p + name + ".weight", cols, rows, "matrix"
        yield p + "attn_q_norm.weight", s["head_dim"], None, "norm"
        yield p + "attn_k_norm.weight", s["head_dim"], None, "norm"
        yield p + "ffn_norm.weight", hidden, None, "norm"
        if post_norms:
            yield p + "post_attention_norm.weight", hidden, None, "norm"
            yield p + "post_ffw_norm.weight", hidden, None, "norm"
    yield "output_norm.weight", hidden, None, "norm"


def dense_tensors(s, embedding="q6_k", head=None, norms=True, factors=()):
    """A plain network; head None: the embedding is the head."""
    hidden, q, kv = s["hidden"], s["heads"] * s["head_dim"], s["kv_heads"] * s["head_dim"]
    yield "token_embd.weight", hidden, s["vocab"], embedding
    for i in range(s["layers"]):
        p = "blk.%d." % i
        yield p + "attn_norm.weight", hidden, None, 1
        yield p + "attn_q.weight", hidden, q, "matrix"
        yield p + "attn_k.weight", hidden, kv, "matrix"
        yield p + "attn_v.weight", hidden, kv, "matrix"
        if norms:
            yield p + "attn_q_norm.weight", s["head_dim"], None, 1
            yield p + "attn_k_norm.weight", s["head_dim"], None, 1
        yield p + "attn_output.weight", q, hidden, "matrix"
        yield p + "ffn_norm.weight", hidden, None, 1
        yield p + "ffn_gate.weight", hidden, s["ffn"], "matrix"
        yield p + "ffn_up.weight", hidden, s["ffn"], "matrix"
        yield p + "ffn_down.weight", s["ffn"], hidden, "matrix"
    for name, mean in factors:
        yield name, s["head_dim"] // 2, None, mean
    yield "output_norm.weight", hidden, None, 1
    if head is not None:
        yield "output.weight", hidden, s["vocab"], head


def minicpm_tensors(s):
    factors = [("rope_factors_long.weight", 4), ("rope_factors_short.weight", 1.2)]
    return dense_tensors(s, "half", "q6_k", False, factors)


def dense_keys(arch, s, eps=1e-5):
    numbers = {
        "block_count": s["layers"], "context_length": s["context"], "embedding_length": s["hidden"],
        "feed_forward_length": s["ffn"], "attention.head_count": s["heads"],
        "attention.head_count_kv": s["kv_heads"], "attention.key_length": s["head_dim"],
        "attention.value_length": s["head_dim"], "vocab_size": s["vocab"]}
    return [(arch + "." + name, U32, value) for name, value in numbers.items()] + [
        (arch + ".attention.layer_norm_rms_epsilon", FLOAT, eps)]


def hunyuan_keys(s):
    a = "hunyuan-dense."
    return dense_keys("hunyuan-dense", s) + [
        (a + "rope.freq_base", FLOAT, 11158840), (a + "rope.scaling.type", STRING, "none"),
        (a + "rope.scaling.factor", FLOAT, 1), (a + "rope.scaling.original_context_length", U32, s["context"])]


def minicpm_keys(s):
    a = "minicpm."
    return dense_keys("minicpm", s) + [
        (a + "rope.dimension_count", U32, s["head_dim"]), (a + "rope.freq_base", FLOAT, 10000),
        (a + "embedding_scale", FLOAT, 12), (a + "residual_scale", FLOAT, 1.4 / s["layers"] ** 0.5),
        (a + "logit_scale", FLOAT, s["hidden"] / s["base"]), (a + "rope.scaling.type", STRING, "longrope"),
        (a + "rope.scaling.original_context_length", U32, s["original"])]


def embedding_keys(arch, s):
    numbers = {"rope.dimension_count": s["head_dim"], "pooling_type": 1}
    return dense_keys(arch, s, 1e-6) + [(arch + "." + name, U32, value) for name, value in numbers.items()] + [
        (arch + ".rope.freq_base", FLOAT, 1e6), ("tokenizer.ggml.add_eos_token", BOOL, True)]


def rotation_keys(s, rng):
    """What Bonsai-2 says of its weights: every matrix and the head rotated, the embedding to be turned back."""
    widths = sorted({s["hidden"], s["ffn"], s["heads"] * s["head_dim"], s["value_heads"] * s["state"]})
    names = [name for name, _, _, kind in qwen35_tensors(s) if kind == "matrix" and name != "token_embd.weight"]
    strings, ints = (ARRAY, STRING), (ARRAY, I32)
    keys = [("version", U32, 1), ("block_size", U32, min(1024, *(w & -w for w in widths))),
            ("transform", STRING, "normalized-sylvester-walsh-hadamard"), ("axis", STRING, "input-last-dimension"),
            ("sign_mode", STRING, "explicit"), ("weight_names", strings, names),
            ("inverse_weight_names", strings, ["token_embd.weight"]), ("sign_widths", ints, widths),
            ("sign_values", ints, [rng.choice((1, -1)) for _ in range(sum(widths))]), ("gdn_v_grouped", BOOL, True)]
    return [("prism.hadamard." + name, kind, content) for name, kind, content in keys]


# Of each architecture: shapes, type of matrices, keys, tensors, pre-tokenizer, template.
ARCHITECTURES = {"qwen35": (QWEN35, "q2_0", qwen35_keys, qwen35_tensors, "qwen35", TEMPLATE),
                 "qwen3": (QWEN3, "i2_s", lambda s: embedding_keys("qwen3", s),
                           lambda s: embedding_tensors(s, False), "qwen2", TEMPLATE),
                 "gemma3": (GEMMA3, "i2_s", lambda s: embedding_keys("gemma3", s),
                            lambda s: embedding_tensors(s, True), "qwen2", TEMPLATE),
                 "maple": (MAPLE, "tq2_0", maple_keys, mixture_tensors, "qwen2", THINKING_TEMPLATE),
                 "qwen3moe": (QWEN3MOE, "tq2_0", qwen3moe_keys, mixture_tensors, "qwen2", THINKING_TEMPLATE),
                 "hunyuan-dense": (HUNYUAN, "stq1_0", hunyuan_keys, dense_tensors, "hunyuan-dense", TEMPLATE),
                 "minicpm": (MINICPM, "tq2_0", minicpm_keys, minicpm_tensors, None, TEMPLATE)}


def ends_texts(arch):
    """Whether a text gets a token behind it."""
    return arch in ("qwen3", "gemma3")


def all_keys(arch, s):
    _, _, keys, _, pre, template = ARCHITECTURES[arch]
    tokens, types = vocabulary(s["vocab"]) if pre else pieces(s["vocab"])
    kind = [("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, pre)]
    rules = [("tokenizer.ggml.merges", (ARRAY, STRING), ["a b"])]
    if pre is None:
        kind = [("tokenizer.ggml.model", STRING, "llama")]
        rules = [("tokenizer.ggml.scores", (ARRAY, FLOAT), [float(-i) for i in range(len(tokens))]),
                 ("tokenizer.ggml.bos_token_id", U32, 1)]
    return [("general.architecture", STRING, arch), ("general.name", STRING, "synthetic noise"), *keys(s), *kind,
            ("tokenizer.ggml.tokens", (ARRAY, STRING), tokens), ("tokenizer.ggml.token_type", (ARRAY, I32), types),
            *rules, ("tokenizer.ggml.eos_token_id", U32, s["vocab"] - 1),
            ("tokenizer.chat_template", STRING, template)]


def value(kind, content):
    formats = {U32: "<I", I32: "<i", FLOAT: "<f", BOOL: "<?"}
    return string(content) if kind == STRING else struct.pack(formats[kind], content)


def packed_key(name, kind, content):
    if not isinstance(kind, tuple):
        return string(name) + struct.pack("<I", kind) + value(kind, content)
    head = string(name) + struct.pack("<IIQ", ARRAY, kind[1], len(content))
    return head + b"".join(value(kind[1], item) for item in content)


def short(number):
    """The nearest number of four bits, whose small multiples bf16 holds."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(mantissa * 16) / 16, exponent)


class Writer:
    def __init__(self, matrix_type, seed, one_scale):
        self.one_scale = one_scale
        self.type, self.group, self.codes, self.scale_first = BLOCKS[matrix_type]
        self.random = random.Random(seed)

    def type_of(self, kind):
        halves = dict.fromkeys(("half", "norm"), F16)
        return {"matrix": self.type, "small": BF16, "head": Q4_K, "q6_k": Q6_K, "affine": Q4_1, **halves}.get(kind, F32)

    def size(self, cols, rows, kind):
        if kind == "matrix" and self.type == I2_S:
            return cols * rows // 4 + 32
        if kind == "matrix":
            return cols * rows // self.group * (2 + self.codes)
        if kind == "head":
            return cols * rows // 256 * 144
        if kind == "q6_k":
            return cols * rows // 256 * 210
        if kind == "affine":
            return cols * rows // 32 * 20
        return cols * (rows or 1) * (2 if kind in ("small", "half", "norm") else 4)

    def matrix(self, cols, rows):
        """Blocks whose scales keep sums of a row near 1, and differ by up to a quarter."""
        if self.type == I2_S:
            left = cols * rows // 4
            while left:
                now = min(left, CHUNK)
                yield self.random.randbytes(now).translate(TERNARY)
                left -= now
            yield struct.pack("<f28x", short((1.5 / cols) ** 0.5))
            return
        scale = struct.pack("<e", (1.5 / cols) ** 0.5)[1:]  # sign, exponent and the first of ten further bits
        # Five weights in a byte of PTQ1_0, 32 bytes of nibbles and 8 of signs in a block of STQ1_0, where any
        # byte will do; else four of 2 bits.
        first = 2 if self.scale_first else 0
        step, left = 2 + self.codes, cols * rows // self.group
        while left:
            count = min(left, CHUNK // self.codes)
            codes = self.random.randbytes(count * self.codes)
            if self.type not in (PTQ1_0, STQ1_0):
                codes = codes.translate(TERNARY)
            blocks = bytearray(count * step)
            at = 0 if self.scale_first else self.codes
            blocks[at::step] = bytes(count) if self.one_scale else self.random.randbytes(count).translate(SHORT)
            blocks[at + 1::step] = scale * count
            for i in range(self.codes):
                blocks[first + i::step] = codes[i::self.codes]
            yield bytes(blocks)
            left -= count

    def halves(self, count):
        """Numbers of 1/64 to 1/32 and either sign."""
        high = bytes(b & 0x83 | 9 << 2 for b in range(256))
        while count:
            now = min(count, CHUNK)
            drawn = bytearray(self.random.randbytes(2 * now))
            drawn[1::2] = drawn[1::2].translate(high)
            yield bytes(drawn)
            count -= now

    def q4_k(self, cols, rows):
        """Blocks with one scale and one offset, which make each number 32 steps times -7.5 to 7.5."""
        step = (1 / cols) ** 0.5 / 128
        head = struct.pack("<ee", step, 7.5 * step) + bytes([160] * 8 + [0] * 4)
        left = cols * rows // 256
        while left:
            now = min(left, CHUNK // 128)
            drawn = self.random.randbytes(128 * now)
            yield b"".join(head + drawn[128 * i:128 * i + 128] for i in range(now))
            left -= now

    def q6_k(self, cols, rows):
        """Blocks with one scale, of numbers of -32 to 31 steps."""
        tail = bytes([16]) * 16 + struct.pack("<e", (1 / cols) ** 0.5 / 512)
        left = cols * rows // 256
        while left:
            now = min(left, CHUNK // 192)
            drawn = self.random.randbytes(192 * now)
            yield b"".join(drawn[192 * i:192 * i + 192] + tail for i in range(now))
            left -= now

    def q4_1(self, cols, rows):
        """Pairs of blocks with one scale and one offset, of numbers of -7.5 to 7.5 steps."""
        exponent = math.frexp((1 / cols) ** 0.5 / 8)[1]
        for _ in range(cols * rows // 64):
            step = math.ldexp(1 + self.random.randrange(8) / 8, exponent)
            head = struct.pack("<ee", step, -7.5 * step)
            yield head + self.random.randbytes(16) + head + self.random.randbytes(16)

    def parts(self, cols, rows, kind):
        """The bytes of a tensor, a part at a time."""
        if kind == "matrix":
            return self.matrix(cols, rows)
        if kind == "half":
            return self.halves(cols * rows)
        if kind == "decay":
            logs = struct.unpack("<%df" % cols, self.drawn(cols, rows, kind))
            return [struct.pack("<%df" % cols, *(-math.exp(a) for a in logs))]
        if kind == "norm":
            return [struct.pack("<%de" % cols, *(1 + self.random.randrange(-25, 26) / 256 for _ in range(cols)))]
        if kind == "head":
            return self.q4_k(cols, rows)
        if kind == "q6_k":
            return self.q6_k(cols, rows)
        if kind == "affine":
            return self.q4_1(cols, rows)
        named = isinstance(kind, str)
        count, mean = cols * (rows or 1), 0 if named else kind
        spread = {"small": cols ** -0.5, "router": 3 * cols ** -0.5}.get(kind, 0.1)
        floats = struct.pack("<%df" % count, *(mean + spread * (2 * self.random.random() - 1) for _ in range(count)))
        if kind != "small":
            return [floats]
        halves = bytearray(2 * count)
        halves[0::2], halves[1::2] = floats[2::4], floats[3::4]
        return [bytes(halves)]

    def drawn(self, cols, rows, kind):
        """What a folder has of a tensor: the bytes, but of a decay its logarithms."""
        if kind == "decay":
            return struct.pack("<%df" % cols, *(self.random.uniform(-0.9, -0.5) for _ in range(cols)))
        return b"".join(self.parts(cols, math.prod(rows) if isinstance(rows, tuple) else rows, kind))

    def write(self, path, keys, tensors):
        tensors = list(tensors)
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys)) + b"".join(packed_key(*k) for k in keys)
        padded, offset = lambda n: -(-n // ALIGNMENT) * ALIGNMENT, 0
        for i, (name, cols, rows, kind) in enumerate(tensors):
            shape = [cols, *(rows if isinstance(rows, tuple) else [rows] if rows else [])]
            rows = math.prod(shape[1:]) if rows else None
            tensors[i] = name, cols, rows, kind
            head += string(name) + struct.pack("<I%dQ" % len(shape), len(shape), *shape)
            head += struct.pack("<IQ", self.type_of(kind), offset)
            offset += padded(self.size(cols, rows, kind))
        with open(path, "wb") as out:
            out.write(head + bytes(padded(len(head)) - len(head)))
            for _, cols, rows, kind in tensors:
                size = self.size(cols, rows, kind)
                for part in self.parts(cols, rows, kind):
                    out.write(part)
                out.write(bytes(padded(size) - size))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", choices=sorted(ARCHITECTURES), required=True)
    parser.add_argument("--size", choices=["tiny", "wide", "full"], default="tiny")
    parser.add_argument("--type", choices=sorted(BLOCKS))
    parser.add_argument("--rotated", action="store_true", help="of qwen35")
    parser.add_argument("--plain", action="store_true", help="of qwen3")
    parser.add_argument("--form", choices=["gguf", "hf", "mlx"], default="gguf")
    parser.add_argument("--one-scale", action="store_true")
    parser.add_argument("--half-head", action="store_true")
    parser.add_argument("--affine-head", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("out")
    options = parser.parse_args()
    if options.rotated and options.arch != "qwen35":
        parser.error("--rotated is for --arch qwen35")
    if options.plain and (options.arch, options.size) != ("qwen3", "tiny"):
        parser.error("--plain is for --arch qwen3 --size tiny")
    shapes, matrix_type, _, tensors, pre, template = ARCHITECTURES[options.arch]
    if options.plain:
        matrix_type = "q2_0"
    if options.size not in shapes:
        parser.error("--size wide is for --arch qwen35")
    shape, matrix_type = shapes[options.size], options.type or matrix_type
    writer = Writer(matrix_type, options.seed, options.one_scale)
    listed = [tensor for tensor in tensors(shape) if not (options.plain and "_norm_in." in tensor[0])]
    if options.half_head or options.affine_head:
        head = "half" if options.half_head else "affine"
        listed = [(name, cols, rows, head if name.startswith(("token_embd", "output.")) else kind)
                  for name, cols, rows, kind in listed]
    if options.form != "gguf":
        forms = {"qwen3": ["hf"], "gemma3": ["hf"], "maple": ["hf", "mlx"], "qwen35": ["hf", "mlx"]}
        rotated = options.rotated and options.form != "mlx"
        rows = options.one_scale and options.affine_head  # as Maple's pack has them
        if options.arch == "maple" and options.form == "mlx" and not rows:
            parser.error("--form mlx of maple needs --one-scale and --affine-head")
        if options.form not in forms.get(options.arch, []) or matrix_type not in synth_folder.TYPES or rotated:
            parser.error("--form %s is not for these options" % options.form)
        folder = synth_folder.Folder(options.arch, shape, writer, matrix_type, options.form,
                                     rotation_keys(shape, random.Random(options.seed + 1)) if options.rotated else (),
                                     options.plain)
        for tensor in listed:
            folder.tensor(*tensor)
        end = shape["vocab"] - 1 if ends_texts(options.arch) and not options.plain else None
        folder.write(options.out, *vocabulary(shape["vocab"]), pre, template, end)
        return
    keys = all_keys(options.arch, shape)
    if options.plain:
        keys = [key for key in keys if key[0] not in ("qwen3.pooling_type", "tokenizer.ggml.add_eos_token")]
    if options.rotated:
        keys += rotation_keys(shape, random.Random(options.seed + 1))
    writer.write(options.out, keys, listed)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""More of the fault kit: what doctor was not made for when these were written, and may not see. What counts is that it
is never sure of what it does not know."""
import struct

from faults import fault, map_codes  # noqa: F401
from gguf_file import F32, STRING, U32

HARM = ("harmful_part", "foreign_matrix")  # a damaged place that is named


def rows(t):
    width = t.shape[0] // 4
    return [t.codes[i * width:(i + 1) * width] for i in range(t.shape[1])]


@fault("curable", "signs", *HARM)
def signs_of_one(model):
    """all weights of one matrix with the other sign"""
    t = model.matrix()
    t.codes = t.codes.translate(bytes(sum((2, 1, 0, 3)[b >> s & 3] << s for s in (0, 2, 4, 6)) for b in range(256)))


@fault("curable", "signs")
def signs_of_down(model):
    """all weights of ffn_down with the other sign, in all layers"""
    for i in range(model.layers()):
        t = model[f"blk.{i}.ffn_down.weight"]
        t.codes = t.codes.translate(bytes(sum((2, 1, 0, 3)[b >> s & 3] << s for s in (0, 2, 4, 6)) for b in range(256)))


@fault("curable", "heads", "key")
def heads_doubled(model):
    """twice as many heads of half the size"""
    size = model.get("rope.dimension_count")
    for key in ("attention.head_count", "attention.head_count_kv"):
        model.set(key, 2 * model.get(key))
    for key in ("rope.dimension_count", "attention.key_length", "attention.value_length"):
        if model.has(key):
            model.set(key, size // 2)


@fault("curable", "heads", "key")
def heads_halved(model):
    """half as many heads of twice the size"""
    size = model.get("rope.dimension_count")
    for key in ("attention.head_count", "attention.head_count_kv"):
        model.set(key, model.get(key) // 2)
    for key in ("rope.dimension_count", "attention.key_length", "attention.value_length"):
        if model.has(key):
            model.set(key, size * 2)


@fault("curable", "rope_scaling")
def rope_linear(model):
    """a rotation stretched by 4"""
    model.set(model.prefix() + ".rope.scaling.type", "linear", STRING)
    model.set(model.prefix() + ".rope.scaling.factor", 4.0, F32)


@fault("curable", "rope_base")
def rope_base_500000(model):
    """the rotation's base of LLaMA-3"""
    model.set("rope.freq_base", 500000.0)


def convert_norms(model, change):
    for t in model.tensors:
        if b"norm" in t.name:
            t.set_floats([change(x) for x in t.floats()])


@fault("curable", "norm_type")
def norms_bf16_as_f16(model):
    """norms of bfloat16 read as float16"""
    convert_norms(model, lambda x: struct.unpack("<e", struct.pack("<f", x)[2:])[0])


@fault("curable", "norm_type")
def norms_f16_as_bf16(model):
    """norms of float16 read as bfloat16"""
    convert_norms(model, lambda x: struct.unpack("<f", b"\0\0" + struct.pack("<e", x))[0])


@fault("incurable", *HARM)
def codes_shifted(model):
    """the codes of one matrix moved by 48 bytes"""
    t = model.matrix()
    t.codes = t.codes[48:] + t.codes[:48]


@fault("incurable", *HARM)
def rows_shuffled(model):
    """the rows of one matrix in another order"""
    t = model.matrix()
    shuffled = rows(t)
    model.draw.shuffle(shuffled)
    t.codes = b"".join(shuffled)


@fault("incurable", *HARM)
def half_foreign(model):
    """half a matrix is another layer's"""
    i = model.layer(last=True)
    kind = model.draw.choice(["ffn_gate", "ffn_up", "ffn_down", "attn_q", "attn_output"])
    model.site = f"blk.{i}.{kind}"
    a, b = model[f"blk.{i}.{kind}.weight"], model[f"blk.{i + 1}.{kind}.weight"]
    half = len(a.codes) // 2
    a.codes = a.codes[:half] + b.codes[half:]


@fault("incurable", "empty_matrix", "hole")
def codes_zero(model):
    """a matrix of zeros only"""
    t = model.matrix()
    t.codes = b"\x55" * len(t.codes)


@fault("curable", "neighbours", *HARM)
def neighbours_exchanged(model):
    """one matrix exchanged with that of the next layer"""
    i = model.layer(last=True)
    kind = model.draw.choice(["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"])
    model.site = f"blk.{i}.{kind}|blk.{i + 1}.{kind}|layer {i}|layer {i + 1}"
    model.swap(f"blk.{i}.{kind}.weight", f"blk.{i + 1}.{kind}.weight")


@fault("curable", "exchanged")
def k_and_v_once(model):
    """k and v exchanged in one layer"""
    i = model.layer()
    model.swap(f"blk.{i}.attn_k.weight", f"blk.{i}.attn_v.weight")


@fault("curable", "exchanged")
def norms_exchanged(model):
    """the norms before attention and feed-forward exchanged in all layers"""
    for i in range(model.layers()):
        model.swap(f"blk.{i}.attn_norm.weight", f"blk.{i}.ffn_norm.weight")


@fault("curable", "norm_size", "harmful_part")
def norm_times_100(model):
    """a norm 100 times too large"""
    t = model.norm()
    t.set_floats([100 * x for x in t.floats()])


@fault("curable", "scale")
def scale_times_8(model):
    """one scale is 8 times too large"""
    model.matrix().scale *= 8


def change_merges(model, change):
    kind, inner, merges = model.keys[b"tokenizer.ggml.merges"]
    model.keys[b"tokenizer.ggml.merges"] = (kind, inner, change(merges))


@fault("curable", "merges")
def merges_reversed(model):
    """merges in the reversed order"""
    change_merges(model, lambda merges: merges[::-1])


@fault("curable", "merges")
def merges_cut(model):
    """the second half of the merges missing"""
    change_merges(model, lambda merges: merges[:len(merges) // 2])


@fault("curable", "merges")
def merges_shuffled(model):
    """merges in no order"""
    def shuffled(merges):
        merges = list(merges)
        model.draw.shuffle(merges)
        return merges
    change_merges(model, shuffled)


@fault("incurable", "tokens")
def tokens_moved(model):
    """all tokens one id too late"""
    kind, inner, tokens = model.keys[b"tokenizer.ggml.tokens"]
    plain = len(tokens) - 32
    model.keys[b"tokenizer.ggml.tokens"] = (kind, inner, tokens[plain - 1:plain] + tokens[:plain - 1] + tokens[plain:])


@fault("incurable", "embedding")
def embedding_moved(model):
    """all rows of the embedding one too late"""
    t = model["token_embd.weight"]
    width = len(t.data) // t.shape[1]
    t.data = t.data[-width:] + t.data[:-width]


@fault("curable", "key")
def context_missing(model):
    """the length of the context missing"""
    model.drop("context_length")


@fault("curable", "key")
def embedding_length_wrong(model):
    """another width of the embedding named"""
    model.set("embedding_length", 2 * model.get("embedding_length"), U32)

# SPDX-License-Identifier: Apache-2.0
"""The fault kit: every kind of fault that made people's models talk nonsense, planted in a healthy file.

A fault is a function that changes a GgufFile, at a place that the file's `draw` picks. Its decorator says what doctor has
to say where it knows: the verdict and the ids of findings, one of which must be there. `raw` faults change the bytes of
the written file instead. faults_more.py has those that doctor does not always see.
"""
import math
import struct

from gguf_file import BOOL, F32, STRING, U32, TENSOR_F32

FAULTS = {}      # name: (function, verdict, ids, what)
RAW_FAULTS = {}  # the same for bytes


def fault(verdict, *ids, raw=False):
    def add(function):
        table = RAW_FAULTS if raw else FAULTS
        table[function.__name__] = (function, verdict, ids, function.__doc__)
        return function
    return add


def map_codes(model, mapping):
    table = bytes(sum(mapping[b >> s & 3] << s for s in (0, 2, 4, 6)) for b in range(256))
    for t in model.ternary():
        t.codes = t.codes.translate(table)


def unpacked(t):
    """The codes in the order of the weights."""
    codes = bytearray(t.elements)
    for block in range(0, len(t.codes), 32):
        data = t.codes[block:block + 32]
        for field, shift in enumerate((6, 4, 2, 0)):
            codes[4 * block + 32 * field:4 * block + 32 * field + 32] = bytes(b >> shift & 3 for b in data)
    return codes


def relayout(model, pack):
    for t in model.ternary():
        t.codes = pack(unpacked(t), t.shape[0])


def pack_blocks(codes, stride):
    out = bytearray()
    for i in range(0, len(codes), 4 * stride):
        a, b, c, d = (codes[i + k * stride:i + (k + 1) * stride] for k in range(4))
        out += bytes(w << 6 | x << 4 | y << 2 | z for w, x, y, z in zip(a, b, c, d))
    return out


# --- weights -------------------------------------------------------------------------------------

@fault("curable", "i2s_layout")
def layout_arm64(model):
    """I2_S in the order of bitnet.cpp on ARM"""
    relayout(model, lambda codes, cols: pack_blocks(codes, 16))


@fault("curable", "i2s_layout")
def layout_sequential(model):
    """I2_S with four neighbours in a byte"""
    relayout(model, lambda codes, cols: pack_blocks(codes, 1))


@fault("curable", "i2s_layout")
def layout_row4(model):
    """I2_S with four rows in a byte"""
    def pack(codes, cols):
        out = bytearray()
        for r in range(0, len(codes) // cols, 4):
            rows = [codes[(r + k) * cols:(r + k + 1) * cols] for k in range(4)]
            out += bytes(a << 6 | b << 4 | c << 2 | d for a, b, c, d in zip(*rows))
        return out
    relayout(model, pack)


@fault("curable", "code_map")
def codes_negated(model):
    """codes 0 and 2 exchanged: every weight has the wrong sign"""
    map_codes(model, (2, 1, 0, 3))


@fault("curable", "code_map")
def codes_zero_first(model):
    """00 = 0, 01 = 1, 10 = -1"""
    map_codes(model, (2, 0, 1, 3))


@fault("curable", "code_map")
def codes_twos_complement(model):
    """00 = 0, 01 = 1, 11 = -1"""
    map_codes(model, (3, 0, 1, 2))


@fault("incurable", "invalid_codes")
def codes_damaged(model):
    """code 3 in a few weights"""
    t = model.matrix()
    codes = bytearray(t.codes)
    at = model.draw.randrange(len(codes) - 40)
    for i in range(at, at + 40):
        codes[i] = 0xff
    t.codes = codes


@fault("curable", "scales")
def scales_inverted(model):
    """every scale stored as its reciprocal"""
    for t in model.ternary():
        t.scale = 1 / t.scale


@fault("curable", "scales")
def scales_shifted(model):
    """every tensor has the scale of the tensor before it"""
    tensors = model.ternary()
    scales = [t.scale for t in tensors]
    for i, t in enumerate(tensors):
        t.scale = scales[i - 1]


@fault("incurable", "scale_lost")
def scales_one(model):
    """every scale is 1"""
    for t in model.ternary():
        t.scale = 1.0


@fault("incurable", "scale_lost")
def scale_zero(model):
    """one scale is 0"""
    model.matrix().scale = 0.0


@fault("incurable", "scale_lost")
def scale_nan(model):
    """one scale is not a number"""
    model.matrix().scale = math.nan


@fault("curable", "scale")
def scale_times_16(model):
    """one scale is 16 times too large"""
    model.matrix().scale *= 16


@fault("curable", "scale")
def scale_by_127(model):
    """one scale is divided by 127"""
    model.matrix().scale /= 127


@fault("curable", "exchanged")
def gate_and_up(model):
    """gate and up exchanged in all layers"""
    for i in range(model.layers()):
        model.swap(f"blk.{i}.ffn_gate.weight", f"blk.{i}.ffn_up.weight")


@fault("curable", "exchanged")
def gate_and_up_once(model):
    """gate and up exchanged in one layer"""
    i = model.layer()
    model.swap(f"blk.{i}.ffn_gate.weight", f"blk.{i}.ffn_up.weight")


@fault("curable", "exchanged")
def k_and_v(model):
    """k and v exchanged in all layers"""
    for i in range(model.layers()):
        model.swap(f"blk.{i}.attn_k.weight", f"blk.{i}.attn_v.weight")


@fault("curable", "exchanged")
def q_and_output(model):
    """q and the attention's output exchanged in all layers"""
    for i in range(model.layers()):
        model.swap(f"blk.{i}.attn_q.weight", f"blk.{i}.attn_output.weight")


@fault("curable", "layers")
def layers_exchanged(model):
    """two neighbouring layers exchanged"""
    i = model.layer(last=True)
    for t in model.tensors:
        name = t.name.decode()
        if name.startswith(f"blk.{i}."):
            model.swap(name, name.replace(f"blk.{i}.", f"blk.{i + 1}."))


@fault("incurable", "duplicate")
def tensor_copied(model):
    """a tensor is a copy of another"""
    i = model.layer(last=True)
    model[f"blk.{i + 1}.ffn_up.weight"].data = bytearray(model[f"blk.{i}.ffn_up.weight"].data)


@fault("incurable", "hole")
def tensor_of_zeros(model):
    """a tensor holds zero bytes: a hole in a download"""
    t = model.matrix()
    t.data = bytearray(len(t.data))
    t.scale = 0.05


@fault("curable", "rope_pairing")
def rows_permuted(model):
    """rows of q and k in the order of the other rotation"""
    size, neighbours = model.get("rope.dimension_count"), model.prefix() == "llama"
    for i in range(model.layers()):
        for name in ("attn_q", "attn_k"):
            t = model[f"blk.{i}.{name}.weight"]
            width = t.shape[0] // 4
            rows = [t.codes[r * width:(r + 1) * width] for r in range(t.shape[1])]
            out = bytearray()
            for head in range(0, len(rows), size):
                for r in range(size):
                    if neighbours:  # as they lie in the file
                        out += rows[head + 2 * (r % (size // 2)) + r // (size // 2)]
                    else:
                        out += rows[head + r // 2 + (size // 2 if r % 2 else 0)]
            t.codes = out


@fault("incurable", "norm_absurd")
def norm_huge(model):
    """a norm is 10,000 times too large"""
    t = model.norm()
    t.set_floats([10000 * x for x in t.floats()])


@fault("curable", "norm_offset")
def norms_less_one(model):
    """every norm is stored as its distance from 1"""
    for t in model.tensors:
        if b"norm" in t.name:
            t.set_floats([x - 1 for x in t.floats()])


@fault("incurable", "not_finite")
def norm_nan(model):
    """a norm holds a number that is not finite"""
    t = model.norm()
    values = t.floats()
    values[7] = math.nan
    t.set_floats(values)


@fault("incurable", "not_finite")
def embedding_nan(model):
    """a row of the embedding is not finite"""
    t = model["token_embd.weight"]
    t.data[1000:1002] = b"\x00\x7e" if t.kind != TENSOR_F32 else b"\x00\x00"


@fault("curable", "embedding_transposed")
def embedding_transposed(model):
    """the embedding is transposed"""
    t = model["token_embd.weight"]
    cols, rows = t.shape
    out = bytearray(len(t.data))
    for c in range(cols):
        for half in range(2):
            out[2 * c * rows + half:2 * (c + 1) * rows + half:2] = t.data[2 * c + half::2 * cols][:rows]
    t.data, t.shape = out, [rows, cols]


@fault("incurable", "missing_tensor", "tensors")
def tensor_missing(model):
    """a norm is missing"""
    lost = model.norm()
    model.tensors = [t for t in model.tensors if t is not lost]


# --- keys ----------------------------------------------------------------------------------------

@fault("curable", "architecture")
def architecture_unknown(model):
    """an architecture that no program knows"""
    model.rename_architecture("bitnet-b158")


@fault("curable", "architecture")
def architecture_llama(model):
    """called llama"""
    if model.prefix() == "llama":
        raise KeyError("it is")
    model.rename_architecture("llama")


@fault("curable", "activation")
def activation_wrong(model):
    """the other activation named"""
    other = "silu" if model.prefix().startswith("bitnet") else "relu2"
    model.set(model.prefix() + ".hidden_activation", other, STRING)


@fault("curable", "rope_base")
def rope_base_wrong(model):
    """the rotation's base of another model"""
    model.set("rope.freq_base", 1000000.0)


@fault("curable", "rms_epsilon")
def epsilon_wrong(model):
    """epsilon 0.5"""
    model.set("attention.layer_norm_rms_epsilon", 0.5)


@fault("curable", "rms_epsilon")
def epsilon_missing(model):
    """no epsilon"""
    model.drop("attention.layer_norm_rms_epsilon")


@fault("curable", "key")
def heads_wrong(model):
    """twice as many key-value heads as there are"""
    model.set("attention.head_count_kv", 2 * model.get("attention.head_count_kv"))


@fault("curable", "key")
def block_count_short(model):
    """one layer too few named"""
    model.set("block_count", model.get("block_count") - 1)


@fault("curable", "key")
def block_count_missing(model):
    """the number of layers missing"""
    model.drop("block_count")


@fault("curable", "key")
def feed_forward_missing(model):
    """the size of the feed-forward part missing"""
    model.drop("feed_forward_length")


# --- vocabulary ----------------------------------------------------------------------------------

@fault("curable", "pre_tokenizer")
def pre_unknown(model):
    """a pre-tokenizer that no program knows"""
    model.set("tokenizer.ggml.pre", "bitnet-bpe", STRING)


@fault("curable", "pre_tokenizer")
def pre_of_gpt2(model):
    """GPT-2's pre-tokenizer for a vocabulary of LLaMA-3's kind"""
    model.set("tokenizer.ggml.pre", "gpt-2", STRING)


def respell(model, old, new):
    kind, inner, tokens = model.keys[b"tokenizer.ggml.tokens"]
    model.keys[b"tokenizer.ggml.tokens"] = (kind, inner, [t.replace(old, new) for t in tokens])


@fault("curable", "vocabulary_spelling")
def tokens_with_spaces(model):
    """tokens spelled with plain spaces"""
    respell(model, "\u0120".encode(), b" ")


@fault("curable", "vocabulary_spelling")
def tokens_with_marks(model):
    """tokens spelled with SentencePiece's mark for spaces"""
    respell(model, "\u0120".encode(), "\u2581".encode())


@fault("curable", "end_token")
def eos_wrong(model):
    """the token that ends texts is a word"""
    model.set("tokenizer.ggml.eos_token_id", 300, U32)


@fault("curable", "end_token")
def bos_wrong(model):
    """the token that begins texts is outside the vocabulary"""
    model.set("tokenizer.ggml.bos_token_id", 999999, U32)


@fault("curable", "chat_template")
def template_broken(model):
    """a chat template that does not parse"""
    model.set("tokenizer.chat_template", "{% for m in messages %}{{ m.content", STRING)


# --- files ---------------------------------------------------------------------------------------

@fault("incurable", "truncated", raw=True)
def file_cut_off(raw):
    """the download stopped at 60 %"""
    return raw[:len(raw) * 6 // 10]


@fault("incurable", "truncated", raw=True)
def header_cut_off(raw):
    """the download stopped in the header"""
    return raw[:5000]


@fault("incurable", "magic", raw=True)
def magic_wrong(raw):
    """the first bytes are not GGUF's"""
    return b"GGXX" + raw[4:]


@fault("incurable", "not_a_model", raw=True)
def web_page(raw):
    """a web page in place of the file"""
    return b"<!doctype html><html><body>Not found</body></html>"


@fault("incurable", "not_a_model", raw=True)
def lfs_pointer(raw):
    """Git LFS's pointer in place of the file"""
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"


@fault("incurable", "truncated", "not_a_model", raw=True)
def zeros_first(raw):
    """the beginning of the download is missing"""
    return bytes(4096) + raw[4096:]


@fault("incurable", "not_a_model", "truncated", raw=True)
def empty(raw):
    """nothing in the file"""
    return b""


@fault("incurable", "tensor_type", raw=True)
def type_collision(raw):
    """ternary tensors under the type id of another format"""
    name = b"blk.0.attn_q.weight"
    at = raw.index(name) + len(name)
    rank, = struct.unpack_from("<I", raw, at)
    at += 4 + 8 * rank
    return raw[:at] + struct.pack("<I", 42) + raw[at + 4:]

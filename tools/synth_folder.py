# SPDX-License-Identifier: Apache-2.0
"""The same noise as synth_model.py's, as a Hugging Face folder: names, shapes and spellings of the models' makers.

Matrices become bf16: master weights of the same codes and mean magnitude where a model is published so (i2_s), else
the ternary values themselves. With mlx they become MLX's packs of 2 bits; Maple's have one scale a row.
"""
import array
import json
import math
import pathlib
import struct

F32, F16, BF16 = "F32", "F16", "BF16"
SIZES = {F32: 4, F16: 2, BF16: 2, "U32": 4}
UNPACKED = [bytes(b >> 2 * i & 3 for i in range(4)) for b in range(256)]  # low bits first
REGEX = {"qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
                  r"\s*[\r\n]+|\s+(?!\S)|\s+",
         "qwen35": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|"
                   r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"}
NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
         "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
         "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "post_attention_norm": "post_attention_layernorm",
         "post_ffw_norm": "post_feedforward_layernorm", "token_embd": "embed_tokens", "output_norm": "norm",
         "attn_qkv": "linear_attn.in_proj_qkv", "attn_gate": "linear_attn.in_proj_z", "ssm_beta": "linear_attn.in_proj_b",
         "ssm_alpha": "linear_attn.in_proj_a", "ssm_conv1d": "linear_attn.conv1d", "ssm_dt.bias": "linear_attn.dt_bias",
         "ssm_a": "linear_attn.A_log", "ssm_norm": "linear_attn.norm", "ssm_out": "linear_attn.out_proj",
         "output": "lm_head", "ffn_gate_inp": "mlp.gate", "ffn_gate_exps": "mlp.experts.%d.gate_proj",
         "ffn_up_exps": "mlp.experts.%d.up_proj", "ffn_down_exps": "mlp.experts.%d.down_proj"}
CODES = {"i2_s": (128, (6, 4, 2, 0)), "tq2_0": (128, (0, 2, 4, 6))}  # weights of a run, shifts of its quarters
TYPES = ("i2_s", "tq2_0", "q2_0", "pq2_0")


def floats(raw, kind):
    if kind == F32:
        return array.array("f", raw)
    if kind == F16:
        return array.array("f", struct.unpack("<%de" % (len(raw) // 2), raw))
    return array.array("f", b"".join(b"\0\0" + raw[i:i + 2] for i in range(0, len(raw), 2)))


def codes_of(raw, matrix_type):
    """Codes 0, 1, 2 of all weights, from the bytes of codes alone."""
    if matrix_type not in CODES:
        return b"".join(map(UNPACKED.__getitem__, raw))
    run, shifts = CODES[matrix_type]
    planes = [raw.translate(bytes(b >> shift & 3 for b in range(256))) for shift in shifts]
    step = run // 4
    return b"".join(plane[i:i + step] for i in range(0, len(raw), step) for plane in planes)


class Matrix:
    """Rows of codes, and for each row its scales."""

    def __init__(self, writer, matrix_type, raw, cols, rows):
        self.cols, self.group = cols, writer.group
        if matrix_type == "i2_s":
            self.group = cols
            scale = struct.unpack_from("<f", raw, cols * rows // 4)[0]
            codes, scales = codes_of(raw[:cols * rows // 4], matrix_type), [scale] * rows
        else:
            step = 2 + writer.codes
            first, at = (2, 0) if writer.scale_first else (0, writer.codes)
            blocks = [raw[i:i + step] for i in range(0, len(raw), step)]
            codes = codes_of(b"".join(b[first:first + writer.codes] for b in blocks), matrix_type)
            scales = [struct.unpack_from("<e", b, at)[0] for b in blocks]
        groups = cols // self.group
        self.rows = [(codes[r * cols:r * cols + cols], scales[r * groups:r * groups + groups]) for r in range(rows)]

    def part(self, first, count):
        part = object.__new__(Matrix)
        part.cols, part.group, part.rows = self.cols, self.group, self.rows[first:first + count]
        return part

    def move_rows(self, order):
        moved = list(self.rows)
        for i, place in enumerate(order):
            moved[place] = self.rows[i]
        self.rows = moved

    def move_columns(self, order):
        assert all(order[c] // self.group == order[c - c % self.group] // self.group for c in range(len(order)))
        for r, (codes, scales) in enumerate(self.rows):
            moved, its = bytearray(codes), list(scales)
            for i, place in enumerate(order):
                moved[place] = codes[i]
                its[place // self.group] = scales[i // self.group]
            self.rows[r] = bytes(moved), its

    def masters(self):
        """bf16 whose absmean gives the codes, and the scale to the last bit: zeros are a quarter of it, others 1, 1.25
        or 1.5 times it."""
        codes, scale = b"".join(row for row, _ in self.rows), self.rows[0][1][0]
        zeros = codes.count(1)
        large, small = divmod(3 * zeros, 2)
        assert large + small <= len(codes) - zeros
        factors = [1.5] * large + [1.25] * small
        out, at = array.array("f"), 0
        for code in codes:
            if code == 1:
                out.append(scale / 4)
                continue
            out.append((code - 1) * scale * (factors[at] if at < len(factors) else 1))
            at += 1
        return bfloats(out)

    def values(self):
        parts = []
        for codes, scales in self.rows:
            for g, scale in enumerate(scales):
                table = [bfloats([(c - 1) * scale]) for c in range(3)]
                parts.append(b"".join(table[c] for c in codes[g * self.group:(g + 1) * self.group]))
        return b"".join(parts)

    def mlx(self):
        """Words of 16 codes, scales, biases."""
        packed = bytearray()
        for codes, _ in self.rows:
            for i in range(0, len(codes), 4):
                packed.append(codes[i] | codes[i + 1] << 2 | codes[i + 2] << 4 | codes[i + 3] << 6)
        scales = [scale for _, row in self.rows for scale in row]
        return bytes(packed), bfloats(scales), bfloats([-scale for scale in scales])


def affine(raw, cols, rows):
    """MLX's words of eight codes, scales and biases, from pairs of Q4_1's blocks."""
    words, scales, biases = bytearray(), [], []
    for at in range(0, len(raw), 40):
        numbers = [struct.unpack_from("<ee", raw, at + i) for i in (0, 20)]
        assert numbers[0] == numbers[1]
        scales.append(numbers[0][0])
        biases.append(numbers[0][1])
        for block in (raw[at + 4:at + 20], raw[at + 24:at + 40]):
            codes = [b & 15 for b in block] + [b >> 4 for b in block]
            words += bytes(codes[i] | codes[i + 1] << 4 for i in range(0, 32, 2))
    assert len(words) == cols * rows // 2
    return bytes(words), bfloats(scales), bfloats(biases)


def bfloats(values):
    raw = struct.pack("<%df" % len(values), *values)
    out = bytearray(len(raw) // 2)
    out[0::2], out[1::2] = raw[2::4], raw[3::4]
    assert not any(raw[0::4]) and not any(raw[1::4]), "not exact in bf16"
    return bytes(out)


class Folder:
    """Tensors of a folder: name, type, shape, bytes."""

    def __init__(self, arch, shape, writer, matrix_type, form, rotation=(), plain=False):
        """rotation: keys of a GGUF file, as PrismML writes them into hadamard.json. plain: qwen3 as it writes texts."""
        self.arch, self.shape, self.writer, self.matrix_type, self.form = arch, shape, writer, matrix_type, form
        self.plain = plain
        self.tensors = []
        self.rotation = {key: content for key, _, content in rotation}
        self.signs, at = {}, 0
        for width in self.rotation.get("prism.hadamard.sign_widths", []):
            self.signs[width] = self.rotation["prism.hadamard.sign_values"][at:at + width]
            at += width

    def add(self, name, kind, shape, raw):
        assert len(raw) == SIZES[kind] * math.prod(shape), name
        self.tensors.append((name, kind, list(shape), raw))

    def name(self, gguf):
        """Names of the class that the makers use."""
        stem = gguf.removesuffix(".weight")
        prefix = {"qwen35": "model.language_model.", "maple": "model."}.get(self.arch, "model." if self.plain else "")
        if self.form == "mlx" and self.arch != "maple":
            prefix = "language_model.model."
        if stem.startswith("blk."):
            _, layer, stem = stem.split(".", 2)
            prefix += "layers.%s." % layer
        elif stem == "output":
            prefix = prefix.removesuffix("model.") if prefix.startswith("language_model.model") else ""
        if stem.endswith("_norm_in"):
            return prefix + NAMES[stem.removesuffix("_norm_in")] + ".norm.weight"
        if self.arch == "gemma3" and stem == "ffn_norm":
            return prefix + "pre_feedforward_layernorm.weight"
        if self.arch == "maple" and stem == "token_embd":
            return prefix + "word_embeddings.weight"
        return prefix + NAMES[stem] + (".weight" if stem not in ("ssm_a", "ssm_dt.bias") else "")

    def tensor(self, gguf, cols, rows, kind):
        raw = self.writer.drawn(cols, rows, kind)
        name, experts = self.name(gguf), 1
        if isinstance(rows, tuple):
            rows, experts = rows
        if kind == "affine":
            words, scales, biases = affine(raw, cols, rows)
            self.add(name, "U32", [rows, cols // 8], words)
            self.add(name.removesuffix("weight") + "scales", BF16, [rows, cols // 64], scales)
            self.add(name.removesuffix("weight") + "biases", BF16, [rows, cols // 64], biases)
            return
        if kind == "matrix":
            matrix = Matrix(self.writer, self.matrix_type, raw, cols, rows * experts)
            if self.form == "mlx" and self.arch == "maple" and "down_exps" not in gguf:  # the one that stands apart
                stack = [experts, rows] if experts > 1 else [rows]
                self.rows_of_words(name.replace("experts.%d", "switch_mlp"), stack, matrix)
                return
            for e in range(experts):
                part = matrix.part(e * rows, rows) if experts > 1 else matrix
                self.matrix(gguf, name % e if experts > 1 else name, part)
            return
        dtype = F16 if kind in ("half", "norm") else BF16 if kind == "small" else F32
        if self.less_one(gguf):
            raw, dtype = array.array("f", [value - 1 for value in floats(raw, dtype)]).tobytes(), F32
        order = self.order(gguf)
        if order:
            step = len(raw) // len(order)
            moved = bytearray(len(raw))
            for i, place in enumerate(order):
                moved[place * step:place * step + step] = raw[i * step:i * step + step]
            raw = bytes(moved)
        shape = [rows, cols] if rows else [cols]
        if "conv1d" in name:
            shape = [rows, cols, 1] if self.form == "mlx" else [rows, 1, cols]
        self.add(name, dtype, shape, raw)

    def less_one(self, gguf):
        if self.form == "mlx" or self.arch not in ("gemma3", "qwen35"):
            return False
        return gguf.endswith("_norm.weight") and "ssm_norm" not in gguf

    def order(self, gguf):
        """The places in a folder of the rows (of ssm_out: columns) of GGUF, whose value heads go around all key heads."""
        s, stem = self.shape, gguf.split(".")[-2 if gguf.endswith((".weight", ".bias")) else -1]
        if self.arch != "qwen35" or s["key_heads"] == s["value_heads"]:
            return None
        first = 2 * s["key_heads"] * s["state"] if stem in ("attn_qkv", "ssm_conv1d") else 0
        if stem not in ("attn_qkv", "attn_gate", "ssm_conv1d", "ssm_out", "ssm_beta", "ssm_alpha", "ssm_dt", "ssm_a"):
            return None
        if stem == "ssm_out" and self.rotation:  # rotated in the folder's order
            return None
        unit = 1 if stem in ("ssm_beta", "ssm_alpha", "ssm_dt", "ssm_a") else s["state"]
        repeats = s["value_heads"] // s["key_heads"]
        heads = [h % s["key_heads"] * repeats + h // s["key_heads"] for h in range(s["value_heads"])]
        return [*range(first), *(first + h * unit + i for h in heads for i in range(unit))]

    def matrix(self, gguf, name, matrix):
        order = self.order(gguf)
        if order:
            (matrix.move_columns if "ssm_out" in gguf else matrix.move_rows)(order)
        rows, cols = len(matrix.rows), matrix.cols
        if self.form != "mlx":
            self.add(name, BF16, [rows, cols], matrix.masters() if self.matrix_type == "i2_s" else matrix.values())
            return
        if self.arch == "maple":
            self.rows_of_words(name, [rows], matrix)
            return
        words, scales, biases = matrix.mlx()
        stem = name.removesuffix("weight")
        self.add(name, "U32", [rows, cols // 16], words)
        self.add(stem + "scales", BF16, [rows, cols // matrix.group], scales)
        self.add(stem + "biases", BF16, [rows, cols // matrix.group], biases)
        if self.rotation:
            self.add(stem + "signs", F32, [cols], struct.pack("<%df" % cols, *self.signs[cols]))

    def rows_of_words(self, name, shape, matrix):
        """Maple's: a scale of each row, whose weights are minus that, 0 or that."""
        words, _, _ = matrix.mlx()
        assert all(len(set(scales)) == 1 for _, scales in matrix.rows)
        self.add(name, "U32", [*shape, matrix.cols // 16], words)
        self.add(name.removesuffix("weight") + "row_alpha", BF16, shape, bfloats([scales[0] for _, scales in matrix.rows]))

    def config(self):
        s = self.shape
        config = {"hidden_size": s["hidden"], "intermediate_size": s.get("ffn", 4096), "num_hidden_layers": s["layers"],
                  "num_attention_heads": s["heads"], "num_key_value_heads": s["kv_heads"], "head_dim": s["head_dim"],
                  "vocab_size": s["vocab"], "max_position_embeddings": s["context"], "rms_norm_eps": 1e-6,
                  "rope_theta": 1000000, "eos_token_id": s["vocab"] - 1, "tie_word_embeddings": True,
                  "torch_dtype": "bfloat16"}
        if self.arch == "maple":
            kinds = ["full_attention" if i % 4 == 3 else "sliding_attention" for i in range(s["layers"])]
            return {**config, "architectures": ["MapleForCausalLM"], "hidden_act": "silu", "layer_types": kinds,
                    "sliding_window": s["window"], "num_experts": s["experts"], "num_experts_per_tok": s["used"],
                    "moe_intermediate_size": s["neurons"], "num_shared_experts": 0, "norm_topk_prob": True,
                    "nope_on_global_attention": True, "partial_rotary_factor": s["rotated"] / s["head_dim"],
                    "rope_theta": 10000, "tie_word_embeddings": False, **(self.maple_pack() if self.form == "mlx" else {})}
        if self.arch == "qwen35":
            kinds = ["linear_attention" if (i + 1) % 4 else "full_attention" for i in range(s["layers"])]
            del config["rope_theta"]
            text = {**config, "model_type": "qwen3_5_text", "hidden_act": "silu", "layer_types": kinds,
                    "attn_output_gate": True, "linear_conv_kernel_dim": 4, "linear_key_head_dim": s["state"],
                    "linear_value_head_dim": s["state"], "linear_num_key_heads": s["key_heads"],
                    "linear_num_value_heads": s["value_heads"], "tie_word_embeddings": False,
                    "rope_parameters": {"rope_type": "default", "rope_theta": 10000000, "mrope_interleaved": True,
                                        "mrope_section": [11, 11, 10],
                                        "partial_rotary_factor": s["rotated"] / s["head_dim"]}}
            pack = {"group_size": self.writer.group, "bits": 2, "mode": "affine"}
            if self.rotation:
                del text["hidden_act"]
                return {"schema_version": 2, "model_type": "prism_hadamard_qwen35", "base_model_type": "qwen3_5",
                        "tensor_namespace": "mlx-vlm-qwen3_5", "hadamard_config": "hadamard.json",
                        "gdn_activation_layout": "grouped", "quantization": pack, "text_config": text}
            return {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "text_config": text,
                    "tie_word_embeddings": False,
                    **({"quantization": pack, "quantization_config": pack} if self.form == "mlx" else {})}
        if self.arch == "qwen3":
            return {"architectures": ["Qwen3ForCausalLM" if self.plain else "Qwen3Model"], "model_type": "qwen3",
                    "hidden_act": "silu", "use_sliding_window": False, "sliding_window": None, **config}
        return {"architectures": ["Gemma3TextModel"], "model_type": "gemma3_text",
                "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": s["head_dim"],
                "attn_logit_softcapping": None, "final_logit_softcapping": None, "sliding_window": 512,
                "layer_types": ["full_attention"] * s["layers"], **config}

    @staticmethod
    def maple_pack():
        head = {"group_size": 64, "bits": 4}
        return {"quantization": {"group_size": 128, "bits": 2, "model.word_embeddings": head, "lm_head": head}}

    def write(self, path, tokens, types, pre, template, end):
        path = pathlib.Path(path)
        path.mkdir(parents=True, exist_ok=True)
        header, at = {}, 0
        for name, kind, shape, raw in self.tensors:
            header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(raw)]}
            at += len(raw)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path / "model.safetensors", "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            out.writelines(raw for _, _, _, raw in self.tensors)
        self.json(path / "config.json", self.config())
        if self.rotation:
            self.json(path / "hadamard.json", {key: self.rotated(key, content) for key, content in self.rotation.items()})
        self.json(path / "tokenizer.json", tokenizer(tokens, types, pre, end))
        self.json(path / "tokenizer_config.json", {"chat_template": template, "eos_token": tokens[-1]})
        if end is not None:
            self.json(path / "modules.json",
                      [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                       {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                       {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])
            (path / "1_Pooling").mkdir(exist_ok=True)
            self.json(path / "1_Pooling/config.json",
                      {"word_embedding_dimension": self.shape["hidden"], "pooling_mode_cls_token": False,
                       "pooling_mode_mean_tokens": True, "pooling_mode_lasttoken": False})

    def rotated(self, key, content):
        if key.endswith("_names"):
            return [self.name(name) for name in content]
        return [float(sign) for sign in content] if key.endswith("sign_values") else content

    @staticmethod
    def json(path, content):
        path.write_text(json.dumps(content, indent=1) + "\n")


def tokenizer(tokens, types, pre, end):
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": REGEX[pre]}, "behavior": "Isolated", "invert": False}
    post = None
    if end is not None:
        post = {"type": "TemplateProcessing", "pair": [],
                "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": tokens[end], "type_id": 0}}],
                "special_tokens": {tokens[end]: {"id": tokens[end], "ids": [end], "tokens": [tokens[end]]}}}
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, token in enumerate(tokens) if types[i] == 3]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "NFC"},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]}, "post_processor": post,
            "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
            "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens) if types[i] == 1},
                      "merges": ["a b"]}}

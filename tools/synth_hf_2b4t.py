#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an I2_S GGUF of architecture bitnet-b1.58 as a Hugging Face folder of packed safetensors,
laid out as microsoft/bitnet-b1.58-2B-4T: an independent maker of test models, which shares no code
with the library. Codes and embeddings are kept exactly. A scale is written as bfloat16 where that
holds it exactly, else as float32; --scales bf16 rounds all, as the published model has them.

Usage: synth_hf_2b4t.py IN.gguf OUT_FOLDER [--scales exact|bf16]     (needs numpy)

One tensor at a time, and the embedding in pieces.
"""
import argparse
import json
import os
import struct

import numpy as np

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
F32, F16, I2_S = 0, 1, 36
DTYPES = {F32: ("F32", 4), F16: ("F16", 2)}
NAMES = {
    "attn_norm": "input_layernorm", "attn_sub_norm": "self_attn.attn_sub_norm",
    "ffn_norm": "post_attention_layernorm", "ffn_sub_norm": "mlp.ffn_sub_norm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


class Gguf:
    """Metadata, and tensors as (shape, type, offset)."""

    def __init__(self, path):
        self.path = path
        self.raw = np.memmap(path, np.uint8, "r")
        self.pos = 8
        num_tensors, num_keys = self.number(10), self.number(10)
        self.meta = {}
        for _ in range(num_keys):
            key = self.string()
            self.meta[key] = self.value(self.number(4))
        self.tensors = {}
        for _ in range(num_tensors):
            name = self.string()
            shape = [self.number(10) for _ in range(self.number(4))]
            self.tensors[name] = (shape, self.number(4), self.number(10))
        self.base = -(-self.pos // 32) * 32

    def number(self, kind):
        (value,) = struct.unpack_from("<" + FORMATS[kind], self.raw, self.pos)
        self.pos += SIZES[kind]
        return value

    def string(self):
        size = self.number(10)
        text = self.raw[self.pos:self.pos + size].tobytes().decode()
        self.pos += size
        return text

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind != 9:
            return self.number(kind)
        element, count = self.number(4), self.number(10)
        return [self.string() if element == 8 else self.number(element) for _ in range(count)]

    def bytes(self, name, size, start=0):
        """Read, not mapped: mapped pages would stay in memory."""
        return np.fromfile(self.path, np.uint8, size, offset=self.base + self.tensors[name][2] + start)


def hf_name(name):
    if name == "token_embd.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, module, part = name.split(".")
    return "model.layers.%s.%s.%s" % (layer, NAMES[module], part)


def pack(data, rows, cols):
    """I2_S bytes of a matrix -> uint8 [ceil(rows / 4), cols]."""
    blocks = data.reshape(-1, 32)
    codes = np.stack([(blocks >> shift) & 3 for shift in (6, 4, 2, 0)], 1).reshape(rows, cols)
    assert codes.max() < 3
    height = -(-rows // 4)
    packed = np.zeros((height, cols), np.uint8)
    for field in range(4):
        part = codes[field * height:(field + 1) * height]
        packed[:len(part)] |= part << (2 * field)
    return packed


def scale_bytes(value, rounds):
    """(dtype, bytes) of one float32."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if not rounds and bits & 0xffff:
        return "F32", struct.pack("<f", value)
    return "BF16", struct.pack("<H", (bits + 0x7fff + (bits >> 16 & 1)) >> 16)


def plan(gguf, rounds):
    """(name, dtype, shape, size, writer) of every tensor of the folder; largest alignment first."""
    def copy(name, size):
        def write(out):
            for i in range(0, size, 1 << 24):
                out.write(gguf.bytes(name, min(1 << 24, size - i), i).tobytes())
        return write

    def repack(name, rows, cols):
        return lambda out: out.write(
            pack(gguf.bytes(name, rows * cols // 4), rows, cols).tobytes())

    entries = []
    for name, (shape, kind, _) in gguf.tensors.items():
        if kind != I2_S:
            dtype, width = DTYPES[kind]
            size = width * int(np.prod(shape, dtype=np.int64))
            entries.append((hf_name(name), dtype, shape[::-1], size, copy(name, size)))
            continue
        cols, rows = shape
        height = -(-rows // 4)
        entries.append((hf_name(name), "U8", [height, cols], height * cols,
                        repack(name, rows, cols)))
        size = rows * cols // 4
        (scale,) = struct.unpack("<f", gguf.bytes(name, 4, size).tobytes())
        dtype, data = scale_bytes(scale, rounds)
        entries.append((hf_name(name) + "_scale", dtype, [1], len(data),
                        lambda out, data=data: out.write(data)))
    return sorted(entries, key=lambda entry: (-{"F32": 4, "F16": 2, "BF16": 2, "U8": 1}[entry[1]],
                                              entry[0]))


def write_safetensors(path, entries):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape, size, _ in entries:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for entry in entries:
            entry[4](out)


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out, ensure_ascii=False, separators=(",", ":"))


def config(meta):
    key = lambda name: meta["bitnet-b1.58." + name]
    # A float32 of the file as the short decimal that was meant: 1e-05, not 9.999999747e-06.
    short = lambda value: float(np.format_float_positional(np.float32(value), unique=True))
    return {
        "architectures": ["BitNetForCausalLM"], "model_type": "bitnet", "hidden_act": "relu2",
        "hidden_size": key("embedding_length"), "intermediate_size": key("feed_forward_length"),
        "num_hidden_layers": key("block_count"), "num_attention_heads": key("attention.head_count"),
        "num_key_value_heads": key("attention.head_count_kv"),
        "rms_norm_eps": short(key("attention.layer_norm_rms_epsilon")),
        "rope_theta": short(key("rope.freq_base")),
        "max_position_embeddings": key("context_length"), "vocab_size": key("vocab_size"),
        "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"], "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "bitnet", "linear_class": "autobitlinear",
                                "quantization_mode": "offline"},
    }


def tokenizer(meta):
    tokens, types = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.token_type"]
    bos = meta["tokenizer.ggml.bos_token_id"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": token, "special": True, "normalized": False}
                         for i, token in enumerate(tokens) if types[i] == 3],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": tokens[bos], "type_id": 0}},
                       {"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {tokens[bos]: {"id": tokens[bos], "ids": [bos],
                                             "tokens": [tokens[bos]]}}},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "ignore_merges": True,
                  "vocab": {token: i for i, token in enumerate(tokens) if types[i] == 1},
                  "merges": meta["tokenizer.ggml.merges"]},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("gguf")
    parser.add_argument("folder")
    parser.add_argument("--scales", choices=["exact", "bf16"], default="exact")
    options = parser.parse_args()
    gguf = Gguf(options.gguf)
    os.makedirs(options.folder, exist_ok=True)
    path = lambda name: os.path.join(options.folder, name)
    write_safetensors(path("model.safetensors"), plan(gguf, options.scales == "bf16"))
    write_json(path("config.json"), config(gguf.meta))
    write_json(path("tokenizer.json"), tokenizer(gguf.meta))
    eos = gguf.meta["tokenizer.ggml.eos_token_id"]
    ends = [eos] + [i for i, token in enumerate(gguf.meta["tokenizer.ggml.tokens"])
                    if token == "<|eot_id|>"]
    write_json(path("generation_config.json"),
               {"bos_token_id": gguf.meta["tokenizer.ggml.bos_token_id"], "eos_token_id": ends})
    write_json(path("tokenizer_config.json"),
               {"tokenizer_class": "PreTrainedTokenizerFast",
                "chat_template": gguf.meta["tokenizer.chat_template"]})


if __name__ == "__main__":
    main()

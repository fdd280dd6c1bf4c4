#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint in the three forms others read, none through another.

    train/export.py --work models/local/pocket --name pocket-3    # decayed.pt, else checkpoint.pt

  NAME-i2s.gguf   GGUF v3 with I2_S weights, keys and layout as the official 2B-4T file
  hf-packed/      safetensors with four codes to a byte, as microsoft/bitnet-b1.58-2B-4T
  hf-bf16/        safetensors with bf16 master weights, to be rounded by who reads them

The master weights are rounded to bf16 first and codes and scales come from those, so that all
three hold the same network; the hash of each one's codes is computed from its own bytes.
"""
import argparse
import json
import pathlib
import shutil

import numpy as np
import torch

import gguf
import packed
import tokenizer

TEMPERATURE = 0  # at 0.2 one text in thirteen went astray
# Questions are lower-cased: it is trained on such alone, and phones write "Dog".
TEMPLATE = ("{% for message in messages %}{{ message['role'] | capitalize + ': ' + "
            "(message['content'] | lower if message['role'] == 'user' else message['content']) | trim + "
            "'<|eot_id|>' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}")
# Ours: (Hugging Face, GGUF)
NAMES = {"input_layernorm": ("input_layernorm", "attn_norm"),
         "attn_sub_norm": ("self_attn.attn_sub_norm", "attn_sub_norm"),
         "post_attention_layernorm": ("post_attention_layernorm", "ffn_norm"),
         "ffn_sub_norm": ("mlp.ffn_sub_norm", "ffn_sub_norm"),
         "q_proj": ("self_attn.q_proj", "attn_q"), "k_proj": ("self_attn.k_proj", "attn_k"),
         "v_proj": ("self_attn.v_proj", "attn_v"), "o_proj": ("self_attn.o_proj", "attn_output"),
         "gate_proj": ("mlp.gate_proj", "ffn_gate"), "up_proj": ("mlp.up_proj", "ffn_up"),
         "down_proj": ("mlp.down_proj", "ffn_down")}


def to_bf16(x):
    """float32 rounded to the nearest bf16 (ties to even), as uint16."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def quantise(weight):
    """(codes int8, scale float32) of a bf16 master matrix given as float32."""
    scale = np.float32(max(np.abs(weight).mean(dtype=np.float64), 1e-5))
    return np.clip(np.rint(weight * (np.float32(1) / scale)), -1, 1).astype(np.int8), scale


def read_checkpoint(path):
    """(config dict, {name: float32 array}); everything rounded to bf16 once."""
    state = torch.load(path, map_location="cpu")
    weights = {n: from_bf16(to_bf16(p.float().numpy())) for n, p in state["net"].items()}
    return state["config"], weights


def layer_tensors(config, weights):
    """(Hugging Face name, GGUF name, array) of every tensor in order."""
    yield "model.embed_tokens", "token_embd", weights["embed_tokens"]
    for i in range(config["layers"]):
        for ours, (theirs, short) in NAMES.items():
            yield ("model.layers.%d.%s" % (i, theirs), "blk.%d.%s" % (i, short),
                   weights["layers.%d.%s" % (i, ours)])
    yield "model.norm", "output_norm", weights["norm"]


def metadata(config, tok, name):
    """The official file's 24 keys in its order; then what it leaves out: the pre-tokenizer, the end
    of a turn, the temperature that keeps glosses straight, what the model is."""
    arch, u32 = "bitnet-b1.58.", gguf.U32
    types = [1] * tok.first_special + [3] * (len(tok.tokens) - tok.first_special)
    return [
        ("general.architecture", gguf.STRING, arch[:-1]),
        ("general.name", gguf.STRING, name),
        (arch + "vocab_size", u32, config["vocab"]),
        (arch + "context_length", u32, config["context"]),
        (arch + "embedding_length", u32, config["hidden"]),
        (arch + "block_count", u32, config["layers"]),
        (arch + "feed_forward_length", u32, config["ffn"]),
        (arch + "rope.dimension_count", u32, config["hidden"] // config["heads"]),
        (arch + "attention.head_count", u32, config["heads"]),
        (arch + "attention.head_count_kv", u32, config["kv_heads"]),
        ("tokenizer.ggml.add_bos_token", gguf.BOOL, True),
        (arch + "attention.layer_norm_rms_epsilon", gguf.F32, config["eps"]),
        (arch + "rope.freq_base", gguf.F32, config["rope_theta"]),
        ("general.file_type", u32, 40),
        ("tokenizer.ggml.model", gguf.STRING, "gpt2"),
        ("tokenizer.ggml.tokens", (gguf.ARRAY, gguf.STRING), tok.tokens),
        ("tokenizer.ggml.scores", (gguf.ARRAY, gguf.F32), [0.0] * len(tok.tokens)),
        ("tokenizer.ggml.token_type", (gguf.ARRAY, gguf.I32), types),
        ("tokenizer.ggml.merges", (gguf.ARRAY, gguf.STRING), ["%s %s" % m for m in tok.merges]),
        ("tokenizer.ggml.bos_token_id", u32, tok.bos),
        ("tokenizer.ggml.eos_token_id", u32, tok.eos),
        ("tokenizer.ggml.padding_token_id", u32, tok.eos),
        ("tokenizer.chat_template", gguf.STRING, TEMPLATE),
        ("general.quantization_version", u32, 2),
        ("tokenizer.ggml.pre", gguf.STRING, "llama-bpe"),
        ("tokenizer.ggml.eot_token_id", u32, tok.eot),
        ("general.sampling.temp", gguf.F32, TEMPERATURE),
        ("general.description", gguf.STRING, "Pocket, a small offline dictionary"),
        ("general.license", gguf.STRING, "apache-2.0")]


def write_gguf(path, config, weights, tok, name):
    tensors = []
    for _, short, w in layer_tensors(config, weights):
        if short == "token_embd":
            tensors.append((short + ".weight", w.shape, gguf.F16_TENSOR, w.astype("<f2").tobytes()))
        elif w.ndim == 1:
            tensors.append((short + ".weight", w.shape, gguf.F32_TENSOR, w.astype("<f4").tobytes()))
        else:
            tensors.append((short + ".weight", w.shape, gguf.I2S_TENSOR, gguf.i2s(*quantise(w))))
    gguf.write(path, metadata(config, tok, name), tensors)


def write_hf(folder, config, weights, tok, four_a_byte):
    folder.mkdir(parents=True, exist_ok=True)
    tensors = []
    for theirs, _, w in layer_tensors(config, weights):
        if four_a_byte and w.ndim == 2 and not theirs.endswith("embed_tokens"):
            codes, scale = quantise(w)
            tensors.append((theirs + ".weight", "U8", packed.pack(codes)))
            tensors.append((theirs + ".weight_scale", "BF16", to_bf16(scale.reshape(1))))
        else:
            tensors.append((theirs + ".weight", "BF16", to_bf16(w)))
    packed.write(folder / "model.safetensors", tensors)
    for file, content in hf_texts(config, tok, four_a_byte).items():
        (folder / file).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    tok.save(folder / "tokenizer.json")


def hf_texts(config, tok, four_a_byte):
    """The small JSON files of the folder."""
    return {
        "config.json": {
            "architectures": ["BitNetForCausalLM"], "model_type": "bitnet", "hidden_act": "relu2",
            "hidden_size": config["hidden"], "intermediate_size": config["ffn"],
            "num_hidden_layers": config["layers"], "num_attention_heads": config["heads"],
            "num_key_value_heads": config["kv_heads"], "rms_norm_eps": config["eps"],
            "rope_theta": config["rope_theta"], "max_position_embeddings": config["context"],
            "vocab_size": config["vocab"], "bos_token_id": tok.bos, "eos_token_id": tok.eos,
            "tie_word_embeddings": True, "torch_dtype": "bfloat16", "initializer_range": 0.02,
            "use_cache": True,
            "quantization_config": {"quant_method": "bitnet", "linear_class": "autobitlinear",
                                    "quantization_mode": "offline" if four_a_byte else "online"}},
        "generation_config.json": {"bos_token_id": tok.bos, "eos_token_id": [tok.eos, tok.eot]},
        "tokenizer_config.json": {
            "bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>",
            "chat_template": TEMPLATE, "tokenizer_class": "PreTrainedTokenizerFast"}}


def main():
    p = argparse.ArgumentParser(description="Exports a checkpoint of train.py")
    p.add_argument("--work", default="models/local/pocket")
    p.add_argument("--name", default="pocket-3")
    p.add_argument("--checkpoint", help="file in the work folder (default: the decayed one if any)")
    p.add_argument("--copy-to", help="folder that gets a copy of the GGUF file")
    o = p.parse_args()
    work = pathlib.Path(o.work)
    path = work / o.checkpoint if o.checkpoint else next(
        p for p in (work / "decayed.pt", work / "checkpoint.pt") if p.exists())
    config, weights = read_checkpoint(path)
    tok = tokenizer.load(work / "tokenizer.json")
    file = work / (o.name + "-i2s.gguf")
    write_gguf(file, config, weights, tok, o.name)
    write_hf(work / "hf-packed", config, weights, tok, True)
    write_hf(work / "hf-bf16", config, weights, tok, False)
    hashes = {"gguf": gguf.codes_hash(file),
              "hf-packed": packed.codes_hash(work / "hf-packed/model.safetensors"),
              "hf-bf16": packed.codes_hash(work / "hf-bf16/model.safetensors", quantise)}
    for what, (codes, scales) in hashes.items():
        print("%-10s codes %s  scales as bf16 %s" % (what, codes, scales))
    if len(set(hashes.values())) != 1:
        raise SystemExit("the exports differ")
    print("%s: %.2f MB" % (file, file.stat().st_size / 1e6))
    if o.copy_to:
        shutil.copy(file, o.copy_to)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Logits beside those of transformers: small models of random ternary weights, written as Hugging Face folders and read
by both. Inputs of its matrices are not rounded there; Bittern takes 16 bits, which is as good. A model for vectors (norms of
projections' inputs) has its inputs rounded to int8 in one group a token, as Bittern rounds them. What a network does in another
order or by another number is told, which a wrong twin of each shows. A class that the installed transformers lacks is skipped.

MiniCPM has no class in transformers: Granite's with its factors is the same network.

A trained model of BitNet's class is written as a folder by `bittern convert`, and transformers reads it with its own kernels.

usage: transformers_test.py BITTERN
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import bittern
import numpy as np

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # no compiler for a few small products
try:
    import torch
    import transformers
    from safetensors.torch import save_file
    from transformers import GraniteConfig, GraniteForCausalLM, HunYuanDenseV1Config, HunYuanDenseV1ForCausalLM
except ImportError as error:
    print("transformers: SKIPPED (%s)" % error)
    sys.exit(0)

NEAR = 0.9999  # cosine that is asked for at stable positions
IDS = [17, 3, 299, 0, 42, 42, 7, 130, 5, 88, 1, 250] * 4
SHAPE = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             vocab_size=300, max_position_embeddings=256, rms_norm_eps=1e-5, hidden_act="silu")
HUNYUAN = dict(SHAPE, head_dim=64, rope_theta=10000.0, tie_word_embeddings=True,
               rope_scaling={"type": "dynamic", "rope_type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32,
                             "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0})
FACTORS = {"short_factor": [1 + 0.02 * i for i in range(32)], "long_factor": [1 + 0.5 * i for i in range(32)]}


LESS_ONE = ("Gemma3", "Qwen3_5")  # classes whose norms multiply by a weight and one more
TERNARY = ("_proj", "in_proj_qkv", "in_proj_z")


def rounded(x, group):
    groups = x.reshape(-1, group)
    scale = 127 / groups.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    return ((groups * scale).round() / scale).reshape(x.shape)


def as_it_is(x):
    return x


def make(network, before=as_it_is):
    """Random weights: ternary matrices, a scale a row; norms that differ from element to element. before(x, module): what an
    input of a matrix becomes."""
    network = network.float().eval()
    less = 1 if type(network).__name__.startswith(LESS_ONE) else 0
    for name, module in network.named_modules():
        if name.endswith(TERNARY):
            module.register_forward_pre_hook(lambda _, inputs, name=name: (before(inputs[0], **(
                {"name": name} if before is not as_it_is else {})),))
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name.endswith("norm.weight"):
                weight.copy_(torch.empty_like(weight).uniform_(0.2, 3) - (0 if "linear_attn" in name else less))
            elif name.removesuffix(".weight").endswith(TERNARY):
                rows = torch.empty(*weight.shape[:-1], 1).uniform_(0.5, 1.5) * 1.5 / weight.shape[-1] ** 0.5
                weight.copy_(torch.randint(-1, 2, weight.shape) * rows)
            elif name.endswith(("A_log", "dt_bias")):
                weight.copy_(torch.empty_like(weight).uniform_(-2, 0.5))
            elif "conv1d" in name:
                weight.copy_(torch.randn_like(weight) * 0.5)
            else:
                weight.copy_(torch.randn_like(weight) * 0.1)
    return network


def tokenizer():
    """256 bytes as GPT-2 spells them, and words that stand for nothing."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    names = [chr(b) for b in plain] + [chr(256 + i) for i in range(256 - len(plain))]
    names += ["ab"] + ["<extra_%d>" % i for i in range(len(names) + 1, SHAPE["vocab_size"])]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level, "post_processor": None,
            "decoder": level, "model": {"type": "BPE", "vocab": {name: i for i, name in enumerate(names)}, "merges": ["a b"]}}


def theirs(network):
    with torch.no_grad():
        return network(torch.tensor([IDS])).logits[0].double().numpy()


def stable(network, want):
    """Positions whose logits stay where they are as the embedding moves by less than a float's last bits: elsewhere a rounding
    to int8 may go either way, for transformers, too."""
    least = np.ones(len(want))
    for seed in range(4):
        noise = torch.Generator().manual_seed(seed)
        hook = network.get_input_embeddings().register_forward_hook(
            lambda _, inputs, out: out * (1 + 3e-7 * torch.randn(out.shape, generator=noise)))
        least = np.minimum(least, cosines(theirs(network), want))
        hook.remove()
    return least > 0.99999


def finest(folder):
    """The model with the finest activations that it takes."""
    try:
        return bittern.Model(str(folder), activations="int16")
    except bittern.BitternError as error:
        if "trained with activations of 8 bits" not in str(error):
            raise
        return bittern.Model(str(folder))


def ours(network, config, folder, change=lambda name, value: value, more=None, less=()):
    """config: of config.json, as the model's makers write it. change: of a tensor; more: further tensors; less: names of
    tensors that are left out."""
    folder.mkdir(exist_ok=True)
    tensors = {name: change(name, value).contiguous() for name, value in network.state_dict().items()
               if name not in less and not (config["tie_word_embeddings"] and name == "lm_head.weight")}
    tensors.update(more or {})
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    with finest(folder) as model:
        return np.array(bittern.Sequence(model, kv_type="f32").logits_of_all(IDS), np.float64)


def cosines(a, b):
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def check(name, network, want, right, wrong):
    """want: their logits; right, wrong: ours, of the network and of a wrong twin."""
    there = stable(network, want)
    near, far = cosines(want, right), cosines(want, wrong)
    away, off = np.abs(want - right)[there].max() / want.std(), np.abs(want - wrong).max() / want.std()
    print("%s: %d of %d positions are stable; cosine %.6f there, %.6f of all, largest difference %.4f there; a wrong twin %.6f, %.4f"
          % (name, there.sum(), len(there), near[there].min(), near.min(), away, far.min(), off))
    return (there.sum() >= 6 and near[there].min() >= NEAR and near.min() >= 0.999 and away < 0.05
            and (far.min() < 0.9 or off > 0.5))


def hunyuan(folder):
    network = make(HunYuanDenseV1ForCausalLM(HunYuanDenseV1Config(**HUNYUAN)))
    config = dict(HUNYUAN, architectures=["HunYuanDenseV1ForCausalLM"], model_type="hunyuan_v1_dense")
    want = theirs(network)
    plain = dict(config, rope_scaling=None)
    return check("hunyuan-dense", network, want, ours(network, config, folder),
                 ours(network, plain, folder))


def minicpm(folder, original):
    scales = dict(scale_emb=12, scale_depth=1.4, dim_model_base=64)
    rope = {"rope_type": "longrope", "original_max_position_embeddings": original, **FACTORS}
    # Of Granite's class: the same factors, its attention as usual, and the list of factors that is to be taken twice,
    # since transformers takes one by the length of the text.
    taken = FACTORS["long_factor" if original < SHAPE["max_position_embeddings"] else "short_factor"]
    ratio = SHAPE["max_position_embeddings"] / original
    network = make(GraniteForCausalLM(GraniteConfig(
        **SHAPE, embedding_multiplier=12, residual_multiplier=1.4 / SHAPE["num_hidden_layers"] ** 0.5,
        logits_scaling=SHAPE["hidden_size"] / 64, attention_multiplier=64 ** -0.5, tie_word_embeddings=False,
        rope_theta=10000.0, rope_scaling={**rope, "rope_theta": 10000.0, "long_factor": taken, "short_factor": taken,
                                          "factor": ratio})))
    config = dict(SHAPE, **scales, architectures=["MiniCPMForCausalLM"], model_type="minicpm", rope_theta=10000.0,
                  rope_scaling=rope, tie_word_embeddings=False)
    want = theirs(network)
    wrong = dict(config, dim_model_base=128)  # leaves the cosine as it is
    return check("minicpm, original context %d" % original, network, want, ours(network, config, folder),
                 ours(network, wrong, folder))


def config_of(network):
    """As its class saves it."""
    return {**network.config.to_dict(), "architectures": [type(network).__name__]}


def qwen3(folder):
    network = make(transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        **SHAPE, head_dim=64, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6})))
    want, config = theirs(network), config_of(network)
    wrong = dict(config, rope_parameters={"rope_type": "default", "rope_theta": 100.0})
    return check("qwen3", network, want, ours(network, config, folder),
                 ours(network, wrong, folder))


def input_norms(folder):
    """The network of BitNet-embedding-0.6B: each projection norms its own input and rounds it in one group a token."""
    norms = {}

    def normed(x, name):
        weight = norms.setdefault(name, torch.empty(x.shape[-1]).uniform_(0.2, 3))
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + SHAPE["rms_norm_eps"]) * weight
        return rounded(x, x.shape[-1])

    network = make(transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        **SHAPE, head_dim=64, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6})), normed)
    want, config = theirs(network), config_of(network)
    more = {name + ".norm.weight": weight for name, weight in norms.items()}
    wrong = {name: torch.ones_like(weight) for name, weight in more.items()}
    return check("qwen3 with norms of inputs", network, want, ours(network, config, folder, more=more),
                 ours(network, config, folder, more=wrong))


def gemma3(folder):
    shape = {name: value for name, value in SHAPE.items() if name != "hidden_act"}
    network = make(transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(
        **{**shape, "num_hidden_layers": 4}, head_dim=64, query_pre_attn_scalar=64, sliding_window=16,
        layer_types=["sliding_attention", "full_attention"] * 2, tie_word_embeddings=True)))
    want, config = theirs(network), config_of(network)
    wrong = dict(config, sliding_window=64)
    return check("gemma3", network, want, ours(network, config, folder),
                 ours(network, wrong, folder))


def qwen3_moe(folder):
    """transformers keeps the experts of a layer in two tensors; its files have each expert's own, as ours() gets them."""
    network = make(transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(
        **SHAPE, head_dim=64, moe_intermediate_size=128, num_experts=6, num_experts_per_tok=3, norm_topk_prob=True,
        decoder_sparse_step=1, mlp_only_layers=[], tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6})))
    more = {}
    stacked = [name for name in network.state_dict() if name.endswith(("experts.gate_up_proj", "experts.down_proj"))]
    for name in stacked:
        weight, stem = network.state_dict()[name], name.rsplit(".", 1)[0]
        names = ("gate_proj", "up_proj") if "gate_up" in name else ("down_proj",)
        for part, values in zip(names, weight.chunk(len(names), 1)):
            more.update({"%s.%d.%s.weight" % (stem, e, part): one.clone() for e, one in enumerate(values)})
    want, config = theirs(network), config_of(network)
    wrong = dict(config, num_experts_per_tok=2)
    return check("qwen3_moe", network, want, ours(network, config, folder, more=more, less=stacked),
                 ours(network, wrong, folder, more=more, less=stacked))


def qwen35_network():
    """With random weights, and its config.json."""
    network = make(transformers.Qwen3_5ForCausalLM(transformers.Qwen3_5TextConfig(
        **SHAPE, layer_types=["linear_attention", "full_attention"], head_dim=64, linear_num_key_heads=2, linear_num_value_heads=6,
        linear_key_head_dim=64, linear_value_head_dim=64, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25})))
    return network, config_of(network)


def qwen35(folder):
    network, config = qwen35_network()
    want = theirs(network)

    def tiled(name, value):
        """The gates of value heads in GGUF's order."""
        if not name.endswith("in_proj_z.weight"):
            return value
        return value.reshape(2, 3, 64, -1).transpose(0, 1).reshape(value.shape)

    return check("qwen3_5", network, want, ours(network, config, folder),
                 ours(network, config, folder, tiled))


def qwen35_rotated(folder):
    """Ternary weights made for inputs that a Walsh-Hadamard transform has mixed, and the twin whose weights have the transform
    in them, which transformers runs."""
    network, config = qwen35_network()
    saved = {name: value.clone() for name, value in network.state_dict().items()}
    block, widths = 128, (256, 384, 512)
    signs = {width: torch.randint(0, 2, (width,)) * 2.0 - 1 for width in widths}
    mixing = torch.ones(1, 1, dtype=torch.float64)
    while len(mixing) < block:
        mixing = torch.cat([torch.cat([mixing, mixing], 1), torch.cat([mixing, -mixing], 1)])

    def mixed(rows):
        """Each block of 128 columns times the matrix, which is its own inverse."""
        return (rows.double().reshape(len(rows), -1, block) @ mixing / block ** 0.5).reshape(rows.shape)

    names = []
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name.removesuffix(".weight").endswith(TERNARY) or name in ("lm_head.weight", "model.embed_tokens.weight"):
                weight.copy_(mixed(weight) * signs[weight.shape[1]])
                names.append(name)
    names.remove("model.embed_tokens.weight")
    keys = {"version": 1, "block_size": block, "transform": "normalized-sylvester-walsh-hadamard", "axis": "input-last-dimension",
            "sign_mode": "explicit", "weight_names": names, "inverse_weight_names": ["model.embed_tokens.weight"],
            "sign_widths": list(widths), "sign_values": [float(sign) for width in widths for sign in signs[width]],
            "gdn_v_grouped": True}
    folder.mkdir(exist_ok=True)

    def with_signs(values):
        text = json.dumps({"prism.hadamard." + key: value for key, value in {**keys, "sign_values": values}.items()})
        (folder / "hadamard.json").write_text(text)
        return ours(network, config, folder, lambda name, _: saved[name])

    want, right = theirs(network), with_signs(keys["sign_values"])
    wrong = with_signs([-sign for sign in keys["sign_values"][:7]] + keys["sign_values"][7:])
    (folder / "hadamard.json").unlink()
    return check("qwen3_5, rotated", network, want, right, wrong)


def bitnet(folder):
    """A folder that the converter writes. transformers needs a package for it, accelerate."""
    model = pathlib.Path(__file__).resolve().parent.parent.parent / "models" / "kjv-5m-i2s.gguf"
    folder = folder.parent / "bitnet"
    subprocess.run([sys.argv[1], "convert", model, folder, "--to", "safetensors"], check=True, capture_output=True)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    torch.nn.Module.float(network)  # what a packed file has in bfloat16, and the scales
    want, config = theirs(network), folder / "config.json"

    def from_disk():
        with bittern.Model(str(folder)) as model:
            return np.array(bittern.Sequence(model, kv_type="f32").logits_of_all(IDS), np.float64)

    right = from_disk()
    config.write_text(json.dumps({**json.loads(config.read_text()), "rope_theta": 100.0}))
    return check("bitnet, as converted", network, want, right, from_disk())


def main():
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "model"
        good = [hunyuan(folder), minicpm(folder, 256), minicpm(folder, 64)]
        if importlib.util.find_spec("accelerate"):
            good.append(bitnet(folder))
        else:
            print("bitnet: SKIPPED (it needs accelerate)")
        for case, needed in ((qwen3, "Qwen3ForCausalLM"), (input_norms, "Qwen3ForCausalLM"),
                             (gemma3, "Gemma3ForCausalLM"), (qwen3_moe, "Qwen3MoeForCausalLM"), (qwen35, "Qwen3_5ForCausalLM"),
                             (qwen35_rotated, "Qwen3_5ForCausalLM")):
            torch.manual_seed(1)
            if hasattr(transformers, needed):
                good.append(case(folder))
            else:
                print("%s: SKIPPED (transformers %s has no %s)" % (case.__name__, transformers.__version__, needed))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

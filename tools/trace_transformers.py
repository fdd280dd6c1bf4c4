#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces a model in PyTorch and transformers for `bittern trace --compare`. Needs torch and transformers.

    tools/trace_transformers.py FOLDER 4000,73,271 DIR

Hooks read what modules return, so operations that are no module of their own (rope, the int8 inputs, the gated
product) are left out; the comparison skips what only one side has.
"""
import argparse

import torch
from transformers import AutoModelForCausalLM

from trace_dump import Dump

# Module of a layer: operation, and whether its input (i) or output (o) is meant.
LAYER = {"input_layernorm": [("attn_norm", "o")], "self_attn.attn_sub_norm": [("attention", "i"), ("attn_sub_norm", "o")],
         "self_attn.o_proj": [("o_proj", "o")], "post_attention_layernorm": [("attn_residual", "i"), ("ffn_norm", "o")],
         "mlp.gate_proj": [("gate", "o")], "mlp.ffn_sub_norm": [("act", "i"), ("ffn_sub_norm", "o")],
         "mlp.down_proj": [("down_proj", "o")], "": [("ffn_residual", "o")]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("ids", type=lambda text: [int(t) for t in text.split(",")])
    parser.add_argument("folder")
    options = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(options.model, torch_dtype="auto").eval()
    precision = str(model.dtype).replace("torch.", "")
    layers = model.model.layers
    dump = Dump("transformers", options.ids, len(layers), precision, {"float16": "f16"}.get(precision, "f32"))
    joined = {}

    def watch(module, layer, wanted):
        def hook(_, inputs, output):
            for operation, side in wanted:
                value = inputs[0] if side == "i" else output
                value = value[0] if isinstance(value, tuple) else value
                dump.add(layer, operation, value.detach().float().squeeze(0).numpy())
        module.register_forward_hook(hook)

    def join(module, layer, part):  # q, k and v are one operation
        def hook(_, inputs, output):
            joined[layer, part] = output.detach().float().squeeze(0)
            if part == "v":
                dump.add(layer, "qkv_proj", torch.cat([joined[layer, p] for p in "qkv"], -1).numpy())
        module.register_forward_hook(hook)

    watch(model.model.embed_tokens, -1, [("embedding", "o")])
    for i, layer in enumerate(layers):
        modules = dict(layer.named_modules())
        for name, wanted in LAYER.items():
            if name in modules:
                watch(modules[name], i, wanted)
        for part in "qkv":
            join(modules["self_attn.%s_proj" % part], i, part)
    watch(model.model.norm, -1, [("final_norm", "o")])
    watch(model.lm_head, -1, [("head", "o")])
    with torch.no_grad():
        model(torch.tensor([options.ids]))
    dump.write(options.folder)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""safetensors files as Hugging Face's BitNet models have them: written, and read for checking.

A packed matrix [M/4, K] of bytes holds codes + 1 of rows p, p + M/4, p + M/2, p + 3M/4 in its
row p, lowest bits first.
"""
import hashlib
import json
import struct

import numpy as np

TYPES = {"U8": np.uint8, "BF16": np.uint16}


def pack(codes):
    quarters = (codes + 1).astype(np.uint8).reshape(4, codes.shape[0] // 4, -1)
    return quarters[0] | quarters[1] << 2 | quarters[2] << 4 | quarters[3] << 6


def unpack(packed):
    return np.concatenate([((packed >> s) & 3).astype(np.int8) - 1 for s in (0, 2, 4, 6)])


def write(path, tensors):
    """tensors: (name, type name, array)"""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, kind, array in tensors:
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode("utf-8")
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, _, array in tensors:
            out.write(np.ascontiguousarray(array).tobytes())


def read(path):
    """{name: array}, bf16 as uint16"""
    raw = open(path, "rb").read()
    size, = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8:8 + size])
    return {n: np.frombuffer(raw, TYPES[t["dtype"]], int(np.prod(t["shape"])),
                             8 + size + t["data_offsets"][0]).reshape(t["shape"])
            for n, t in header.items() if n != "__metadata__"}


def codes_hash(path, quantise=None):
    """As gguf.codes_hash; quantise makes (codes, scale) of a master matrix where nothing is packed."""
    codes, scales, tensors = hashlib.sha256(), hashlib.sha256(), read(path)
    for name, array in tensors.items():
        if not name.endswith("_proj.weight"):
            continue
        if quantise is None:
            codes.update(unpack(array).tobytes())
            scales.update(tensors[name + "_scale"].astype("<u2").tobytes())
        else:
            found, scale = quantise((array.astype(np.uint32) << 16).view(np.float32))
            codes.update(found.tobytes())
            bits = scale.reshape(1).view(np.uint32)
            scales.update(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes())
    return codes.hexdigest()[:32], scales.hexdigest()[:16]

# SPDX-License-Identifier: Apache-2.0
"""GGUF v3 files with I2_S weights: written, and read back for checking.

I2_S: codes -1, 0, +1 are stored as 0, 1, 2. Each 128 weights in row order are 32 bytes; weight j
of them is in byte j mod 32, shifted left by 6 - 2 * (j div 32). One float32 scale follows all
weights of the tensor, and padding to 32 bytes.
"""
import hashlib
import struct

import numpy as np

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
F32_TENSOR, F16_TENSOR, I2S_TENSOR = 0, 1, 36
SCALARS = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}
ALIGNMENT = 32


def i2s(codes, scale):
    """The bytes of a matrix of codes; its size must be a multiple of 128."""
    groups = (codes + 1).astype(np.uint8).reshape(-1, 4, 32)
    packed = groups[:, 0] << 6 | groups[:, 1] << 4 | groups[:, 2] << 2 | groups[:, 3]
    return packed.tobytes() + struct.pack("<f28x", scale)


def string(text):
    raw = text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def value(kind, content):
    return string(content) if kind == STRING else struct.pack(SCALARS[kind], content)


def pad(raw):
    return raw + bytes(-len(raw) % ALIGNMENT)


def write(path, keys, tensors):
    """keys: (name, type or (ARRAY, type), value); tensors: (name, NumPy shape, type, bytes)."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))
    for name, kind, content in keys:
        if isinstance(kind, tuple):
            head += string(name) + struct.pack("<IIQ", ARRAY, kind[1], len(content))
            head += b"".join(value(kind[1], v) for v in content)
        else:
            head += string(name) + struct.pack("<I", kind) + value(kind, content)
    offset = 0
    for name, shape, kind, raw in tensors:
        head += string(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", n) for n in reversed(shape))
        head += struct.pack("<IQ", kind, offset)
        offset += len(pad(raw))
    with open(path, "wb") as out:
        out.write(pad(head))
        for _, _, _, raw in tensors:
            out.write(pad(raw))


class Reader:
    """Steps through the header of a file of our own; not made for hostile ones."""

    def __init__(self, raw):
        self.raw, self.at = raw, 8

    def take(self, form):
        found, = struct.unpack_from(form, self.raw, self.at)
        self.at += struct.calcsize(form)
        return found

    def text(self):
        size = self.take("<Q")
        self.at += size
        return self.raw[self.at - size:self.at].decode("utf-8")

    def item(self, kind):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            inner, count = self.take("<I"), self.take("<Q")
            return [self.item(inner) for _ in range(count)]
        return self.take(SCALARS[kind])


def read(path):
    """(metadata, {tensor name: (shape as in NumPy, type, bytes from its start)})"""
    reader = Reader(open(path, "rb").read())
    tensors, keys = reader.take("<Q"), reader.take("<Q")
    metadata = {}
    for _ in range(keys):
        name = reader.text()
        metadata[name] = reader.item(reader.take("<I"))
    table = []
    for _ in range(tensors):
        name = reader.text()
        shape = [reader.take("<Q") for _ in range(reader.take("<I"))]
        table.append((name, shape[::-1], reader.take("<I"), reader.take("<Q")))
    start = -(-reader.at // ALIGNMENT) * ALIGNMENT
    return metadata, {n: (s, k, memoryview(reader.raw)[start + o:]) for n, s, k, o in table}


def codes_hash(path):
    """SHA-256 (first half) of all codes in file order, and of all scales rounded to bf16."""
    codes, scales = hashlib.sha256(), hashlib.sha256()
    for shape, kind, raw in read(path)[1].values():
        if kind == I2S_TENSOR:
            count = int(np.prod(shape))
            packed = np.frombuffer(raw, np.uint8, count // 4).reshape(-1, 1, 32)
            shifts = np.array([6, 4, 2, 0], np.uint8).reshape(1, 4, 1)
            codes.update((((packed >> shifts) & 3).astype(np.int8) - 1).tobytes())
            bits = np.frombuffer(raw, "<u4", 1, count // 4)
            scales.update(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes())
    return codes.hexdigest()[:32], scales.hexdigest()[:16]

# SPDX-License-Identifier: Apache-2.0
"""A GGUF v3 file as Python objects, to be damaged and written again. For files of our own, not for hostile ones."""
import random
import struct

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q", 11: "<q",
           12: "<d"}
TENSOR_F32, TENSOR_F16, TENSOR_I2S = 0, 1, 36
ALIGNMENT = 32


class Tensor:
    def __init__(self, name, shape, kind, data):
        self.name, self.shape, self.kind, self.data = name, shape, kind, bytearray(data)

    @property
    def elements(self):
        count = 1
        for n in self.shape:
            count *= n
        return count

    # I2_S: a float scale behind a quarter of a byte for each weight
    @property
    def scale(self):
        return struct.unpack_from("<f", self.data, self.elements // 4)[0]

    @scale.setter
    def scale(self, value):
        struct.pack_into("<f", self.data, self.elements // 4, value)

    @property
    def codes(self):
        return self.data[:self.elements // 4]

    @codes.setter
    def codes(self, value):
        assert len(value) == self.elements // 4
        self.data[:self.elements // 4] = value

    def floats(self):
        assert self.kind == TENSOR_F32
        return list(struct.unpack(f"<{self.elements}f", self.data))

    def set_floats(self, values):
        self.data[:] = struct.pack(f"<{self.elements}f", *values)


class GgufFile:
    def __init__(self, path, seed=0):
        self.draw = random.Random(seed)  # where a fault strikes
        self.site = ""                   # what doctor has to name, where it is one place
        self.raw = open(path, "rb").read()
        self.at = 8
        count, keys = self._take("<Q"), self._take("<Q")
        self.keys = {}  # name: (kind, inner kind or None, value)
        for _ in range(keys):
            name, kind = self._text(), self._take("<I")
            self.keys[name] = self._value(kind)
        infos = []
        for _ in range(count):
            name, rank = self._text(), self._take("<I")
            shape = [self._take("<Q") for _ in range(rank)]
            infos.append((name, shape, self._take("<I"), self._take("<Q")))
        base = -(-self.at // ALIGNMENT) * ALIGNMENT
        self.tensors = []
        for name, shape, kind, offset in infos:
            tensor = Tensor(name, shape, kind, b"")
            size = {TENSOR_F32: 4 * tensor.elements, TENSOR_F16: 2 * tensor.elements,
                    TENSOR_I2S: tensor.elements // 4 + 32}[kind]
            tensor.data = bytearray(self.raw[base + offset:base + offset + size])
            self.tensors.append(tensor)

    def _take(self, form):
        found, = struct.unpack_from(form, self.raw, self.at)
        self.at += struct.calcsize(form)
        return found

    def _text(self):
        size = self._take("<Q")
        self.at += size
        return self.raw[self.at - size:self.at]

    def _value(self, kind):
        if kind == STRING:
            return kind, None, self._text()
        if kind != ARRAY:
            return kind, None, self._take(SCALARS[kind])
        inner, count = self._take("<I"), self._take("<Q")
        read = self._text if inner == STRING else lambda: self._take(SCALARS[inner])
        return kind, inner, [read() for _ in range(count)]

    def __getitem__(self, name):
        return next(t for t in self.tensors if t.name == name.encode())

    def layer(self, last=False):
        """A layer by chance; `last`: one that has a neighbour behind it."""
        return self.draw.randrange(self.layers() - (1 if last else 0))

    def matrix(self, *kinds):
        """A ternary matrix by chance, of these kinds where some are given."""
        names = [f"blk.{i}.{kind}" for i in range(self.layers()) for kind in
                 (kinds or ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"))]
        self.site = self.draw.choice(names)
        return self[self.site + ".weight"]

    def norm(self):
        """A norm of a layer by chance."""
        norms = [t for t in self.tensors if b"norm" in t.name and t.name.startswith(b"blk.")]
        found = self.draw.choice(norms)
        self.site = found.name.decode().removesuffix(".weight")
        return found

    def ternary(self):
        return [t for t in self.tensors if t.kind == TENSOR_I2S]

    def layers(self):
        return self.get("block_count")

    def prefix(self):
        return self.keys[b"general.architecture"][2].decode()

    def _name(self, key):
        key = key.encode()
        whole = key in self.keys or key.startswith((b"tokenizer.", b"general.", self.prefix().encode()))
        return key if whole else f"{self.prefix()}.".encode() + key

    def get(self, key):
        return self.keys[self._name(key)][2]

    def set(self, key, value, kind=None):
        name = self._name(key)
        kind = kind if kind is not None else self.keys[name][0]
        self.keys[name] = (kind, None, value.encode() if isinstance(value, str) else value)

    def has(self, key):
        return self._name(key) in self.keys

    def drop(self, key):
        del self.keys[self._name(key)]

    def rename_architecture(self, to):
        old = self.prefix()
        self.keys = {(f"{to}.".encode() + k[len(old) + 1:] if k.startswith(f"{old}.".encode()) else k): v
                     for k, v in self.keys.items()}
        self.keys[b"general.architecture"] = (STRING, None, to.encode())

    def swap(self, a, b):
        a, b = self[a], self[b]
        a.data, b.data = b.data, a.data

    def write(self, path):
        def text(raw):
            return struct.pack("<Q", len(raw)) + raw

        def scalar(kind, value):
            return text(value) if kind == STRING else struct.pack(SCALARS[kind], value)

        head = struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(self.keys))
        parts = [head]
        for name, (kind, inner, value) in self.keys.items():
            parts.append(text(name) + struct.pack("<I", kind))
            if kind == ARRAY:
                parts.append(struct.pack("<IQ", inner, len(value)) + b"".join(scalar(inner, v) for v in value))
            else:
                parts.append(scalar(kind, value))
        offset = 0
        for t in self.tensors:
            parts.append(text(t.name) + struct.pack("<I", len(t.shape)) +
                         b"".join(struct.pack("<Q", n) for n in t.shape) + struct.pack("<IQ", t.kind, offset))
            offset += -(-len(t.data) // ALIGNMENT) * ALIGNMENT
        head = b"".join(parts)
        with open(path, "wb") as out:
            out.write(head + bytes(-len(head) % ALIGNMENT))
            for t in self.tensors:
                out.write(bytes(t.data) + bytes(-len(t.data) % ALIGNMENT))

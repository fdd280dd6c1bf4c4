# SPDX-License-Identifier: Apache-2.0
"""What a token costs in a network of some shape: weights read by each step, and values that ranks exchange
(docs/design/0021-one-model-on-several-hosts.md)."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes in values. `neurons` are those that a token meets: of the experts that are chosen, where there are some."""
    name: str
    layers: int
    hidden: int
    queries: int  # what heads give: of attention, of value heads in a delta layer
    neurons: int
    mixed: int  # rows of q, k and v (or of a delta layer's mix and gate), the mean of all layers
    vocabulary: int
    most_ranks: int  # query heads, or key heads of delta layers
    bits: float = 2.0  # of a ternary weight
    head_bits: float = 8.0  # of a weight of the head: of its coarse copy, where it is screened

    def steps(self):
        """(name, bytes of weights that a token reads, values that are gathered behind it) of one layer."""
        byte = self.bits / 8
        return [("attention", self.mixed * self.hidden * byte, self.queries),
                ("o_proj", self.hidden * self.queries * byte, self.hidden),
                ("gate and up", 2 * self.neurons * self.hidden * byte, self.neurons),
                ("down_proj", self.hidden * self.neurons * byte, self.hidden)]

    def head_bytes(self):
        return self.vocabulary * self.hidden * self.head_bits / 8

    def weight_bytes(self):
        return self.layers * sum(read for _, read, _ in self.steps()) + self.head_bytes()

    def messages(self):
        """Four a layer; two that tell the pass; two of the head."""
        return 4 * self.layers + 4

    def gathered_bytes(self):
        """Of all ranks together. A rank of N receives (N - 1) / N of it."""
        return 4 * self.layers * sum(values for _, _, values in self.steps())


SHAPES = {shape.name: shape for shape in (
    Shape("BitNet 2B-4T", 30, 2560, 2560, 6912, 2560 + 2 * 640, 128256, 20, head_bits=5.2),
    Shape("Falcon3 10B", 40, 3072, 3072, 23040, 3072 + 2 * 1024, 131072, 12),
    Shape("Maple 20B-A1B", 24, 2048, 2048, 8 * 512, 2048 + 2 * 512, 151936, 16),
    # 48 delta layers (mix 10,240, gate 6,144) and 16 of attention (queries and gates 12,288, k and v 1,024 each)
    Shape("Bonsai-2 27B", 64, 5120, 6144, 17408, (48 * 16384 + 16 * 14336) // 64, 248320, 16),
)}

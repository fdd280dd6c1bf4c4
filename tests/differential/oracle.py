# SPDX-License-Identifier: Apache-2.0
"""The network in NumPy and float64, from plain numbers: written from the papers and from
docs/design, not from the engine. Activations are rounded to int8 as the format says; nothing else
is rounded. With `noise`, every value that the engine rounds to float32 is moved by about as much,
which tells whether a result depends on such roundings.
"""
import numpy as np


class Facts:
    """What was met on the way that a float32 may not hold."""

    def __init__(self):
        self.largest = 0.0      # magnitude of any value that is computed
        self.bound = 0.0        # what a projection's output could have been: K * absmax * scale
        self.zero_over_zero = False
        self.vanishing = False  # a row that is not zero lies below what float32 squares can hold

    def see(self, x):
        if x.size:
            most = float(np.abs(x).max())  # NaN where any value is
            self.largest = max(self.largest, np.inf if np.isnan(most) else most)
        return x


class Rotation:
    """Inputs as weights that were rotated want them: H s P(x) / sqrt(block)."""

    def __init__(self, spec):
        self.spec, self.rotation = spec, spec["rotation"]
        block = self.rotation["block"]
        at = np.arange(block)
        shared = at[:, None] & at
        self.matrix = np.ones((block, block))
        for bit in range(block.bit_length()):
            self.matrix *= np.where(shared >> bit & 1, -1, 1)
        self.matrix /= np.sqrt(block)
        self.signs = dict(zip(self.rotation["widths"], map(np.array, self.rotation["signs"])))

    def blocks(self, x):
        block = self.rotation["block"]
        return (x.reshape(len(x), -1, block) @ self.matrix.T).reshape(x.shape)

    def forwards(self, x, of_delta=False):
        if of_delta and self.rotation["values_by_key"]:  # heads of a key side by side
            keys, dim = self.spec["key_heads"], self.spec["delta_dim"]
            x = x.reshape(len(x), -1, keys, dim).swapaxes(1, 2).reshape(x.shape)
        return self.blocks(x * self.signs.get(x.shape[1], 1))

    def backwards(self, x):
        return self.blocks(x) * self.signs.get(x.shape[1], 1)


class Oracle:
    def __init__(self, spec, tensors, numbers, noise=0.0, seed=0):
        self.spec, self.noise, self.rng = spec, noise, np.random.default_rng(seed)
        self.facts, self.tensors = Facts(), {}
        for t in tensors:
            rows, cols, group, at = t["rows"], t["cols"], t["group_cols"], t["offset"]
            if group == 0:
                values = np.frombuffer(numbers, "<f4", rows * cols, at).astype(np.float64)
                self.tensors[t["name"]] = values.reshape(rows, cols)
                continue
            codes = np.frombuffer(numbers, np.int8, rows * cols, at).reshape(rows, cols)
            groups = -(-cols // group)
            scales = np.frombuffer(numbers, "<f4", rows * groups, at + rows * cols).reshape(rows, groups)
            # A group of zeros has the scale 0, whatever is stored: even an infinite one.
            live = np.add.reduceat(codes != 0, range(0, cols, group), axis=1) > 0
            scales = np.where(live, scales.astype(np.float64), 0)
            self.tensors[t["name"]] = codes.astype(np.float64), scales, group
        self.eps = float(np.float32(spec["eps"]))
        # Activations in groups of 64 columns.
        groups = ("qwen3", "qwen35", "maple", "qwen3moe", "gemma3", "hunyuan-dense", "minicpm")
        self.grouped = spec["architecture"] in groups and "input_norms" not in spec
        self.neighbours = spec["architecture"] in ("llama", "minicpm")  # pairs that RoPE turns
        relu2 = spec["architecture"] in ("bitnet-b1.58", "bitnet-25")
        self.relu2 = spec["activation"] == "relu2" or (spec["activation"] == "" and relu2)

        self.rotation = Rotation(spec) if "rotation" in spec else None

    def turned(self, x, of_delta=False):
        return x if self.rotation is None else self.shaken(self.rotation.forwards(x, of_delta))

    def shaken(self, x):
        if self.noise:
            x = x * (1 + self.noise * self.rng.standard_normal(x.shape))
        return self.facts.see(x)

    def norm(self, x, name):
        weight = self.tensors.get(name + ".weight")
        if weight is None:
            return x
        squares = (x * x).mean(-1, keepdims=True) + self.eps
        self.facts.zero_over_zero |= bool((squares == 0).any())
        return self.shaken(x / np.sqrt(np.where(squares == 0, 1, squares)) * weight[0])

    def quantised(self, x, of_delta=False):
        """Integers and the scale of each column: of 8 bits, as BitNet is trained, or of 10 bits in groups."""
        x = self.turned(x, of_delta)
        scale = np.empty_like(x)
        step, most = (64, 511) if self.grouped else (x.shape[1], 127)
        for at in range(0, x.shape[1], step):
            largest = np.abs(x[:, at:at + step]).max(-1, keepdims=True)
            scale[:, at:at + step] = most / np.maximum(largest, float(np.float32(1e-5)))
        return np.clip(np.rint(x * scale), -most, most), scale

    def linear(self, inputs, name, part=(0, 1)):
        """part: (which, of how many) of the matrix's rows."""
        q, scale = inputs
        codes, weight_scales, group = self.tensors[name + ".weight"]
        rows = len(codes) // part[1]
        codes, weight_scales = (a[part[0] * rows:(part[0] + 1) * rows] for a in (codes, weight_scales))
        out = np.zeros((len(q), len(codes)))
        step = min(group, 64) if self.grouped else group
        for at in range(0, codes.shape[1], step):
            part = slice(at, at + step)
            sums = q[:, part] @ codes[:, part].T
            out += sums / scale[:, at:at + 1] * weight_scales[:, at // group]
        most = np.abs(q / scale).max() * codes.shape[1]
        self.facts.bound = max(self.facts.bound, most * max(1.0, float(weight_scales.max())))
        return self.shaken(out)

    def rope(self, x, windowed):
        rotated = self.spec.get("rotated_dim", x.shape[-1])
        own = windowed and "window_theta" in self.spec
        return np.concatenate([self.rotate(x[..., :rotated], own), x[..., rotated:]], -1)

    def rotate(self, x, own):
        """own: with the base of layers that have a window."""
        half = x.shape[-1] // 2
        theta, magnitude = float(np.float32(self.spec["window_theta" if own else "theta"])), 1
        frequency = theta ** (-np.arange(half) / half)
        if "yarn" in self.spec and not own:  # transformers' formula, with its usual betas
            factor, original = self.spec["yarn"]["factor"], self.spec["yarn"]["original"]
            place = lambda turns: half * np.log(original / (turns * 2 * np.pi)) / np.log(theta)
            low, high = max(np.floor(place(32)), 0), min(np.ceil(place(1)), 2 * half - 1)
            divided = np.clip((np.arange(half) - low) / max(high - low, 0.001), 0, 1)
            frequency = frequency * (divided / factor + 1 - divided)
            magnitude = 1 + 0.1 * np.log(factor)
        if "long_rope" in self.spec:  # MiniCPM's own code, for the context of 512
            original = self.spec["long_rope"]["original"]
            factors = np.array(self.spec["long_rope"]["long" if original < 512 else "short"], np.float32)
            frequency = frequency / factors[:half]
            if original < 512:
                magnitude = np.sqrt(1 + np.log(512 / original) / np.log(original))
        angles = np.arange(len(x))[:, None] * frequency
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        if self.neighbours:
            a, b = x[..., 0::2], x[..., 1::2]
        else:
            a, b = x[..., :half], x[..., half:]
        turned = a * cos - b * sin, b * cos + a * sin
        return self.shaken(magnitude * np.concatenate(turned, -1))  # in any order that q and k share

    def attention(self, q, k, v, window):
        group = q.shape[1] // k.shape[1]
        scores = np.einsum("qhd,khd->hqk", q, np.repeat(k, group, 1))
        self.facts.see(scores)
        scores = self.shaken(scores / np.sqrt(q.shape[-1]))
        back = np.arange(len(q))[:, None] - np.arange(len(q))  # positions before the query's own
        scores += np.where((back >= 0) & (back < (window or len(q))), 0, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", scores, np.repeat(v, group, 1))
        return self.shaken(mixed.reshape(len(q), -1))

    def project(self, x, name):
        """A matrix and the norm of its input, where the network has one."""
        return self.linear(self.quantised(self.norm(x, name + "_norm_in")), name)

    def attend(self, h, name, layer):
        """Attention and the matrix behind it: h is the normed input."""
        windowed = self.spec.get("windowed")
        window = self.spec["window"] if windowed and windowed[layer] else None
        dim = self.spec["head_dim"]
        q, k, v = (self.project(h, name + "attn_" + p).reshape(len(h), -1, dim) for p in "qkv")
        gate = None
        if self.spec["architecture"] == "qwen35":  # each head's query, then its gate
            q, gate = q[:, 0::2], q[:, 1::2]
        if self.spec["architecture"] == "hunyuan-dense":
            q, k = self.rope(q, None), self.rope(k, None)
        q, k = self.norm(q, name + "attn_q_norm"), self.norm(k, name + "attn_k_norm")
        rotated = not windowed or window or self.spec["architecture"] == "gemma3"
        if self.spec["architecture"] != "hunyuan-dense" and rotated:
            q, k = self.rope(q, window), self.rope(k, window)
        a = self.attention(q, k, v, window)
        if gate is not None:
            a = self.shaken(a / (1 + np.exp(np.minimum(-gate.reshape(a.shape), 700))))
        return self.project(self.norm(a, name + "attn_sub_norm"), name + "attn_output")

    def delta(self, x, h, name):
        """A gated delta layer: x is the normed input, h the same as int8."""
        spec, count = self.spec, len(x)
        dim, heads, keys = spec["delta_dim"], spec["value_heads"], spec["key_heads"]
        silu = lambda v: v / (1 + np.exp(np.minimum(-v, 700)))
        mix, z = self.linear(h, name + "attn_qkv"), self.linear(h, name + "attn_gate")
        rate = 1 / (1 + np.exp(-(x @ self.tensors[name + "ssm_beta.weight"].T)))
        step = x @ self.tensors[name + "ssm_alpha.weight"].T + self.tensors[name + "ssm_dt.bias"]
        decay = self.shaken(np.exp(self.tensors[name + "ssm_a"] * np.logaddexp(0, step)))
        taps = spec["taps"]
        past = np.concatenate([np.zeros((taps - 1, mix.shape[1])), mix])
        conv = self.tensors[name + "ssm_conv1d.weight"]
        mixed = self.shaken(silu(sum(past[i:i + count] * conv[:, i] for i in range(taps))))
        q, k, v = np.split(mixed.reshape(count, -1, dim), [keys, 2 * keys], 1)
        unit = lambda a: a / np.sqrt((a * a).sum(-1, keepdims=True) + 1e-6)
        q, k = self.shaken(unit(q)) / np.sqrt(dim), self.shaken(unit(k))
        state, out = np.zeros((heads, dim, dim)), np.empty((count, heads, dim))
        which = np.arange(heads) % keys
        for t in range(count):
            state *= decay[t][:, None, None]
            change = rate[t][:, None] * (v[t] - np.einsum("hkv,hk->hv", state, k[t][which]))
            state = self.shaken(state + np.einsum("hk,hv->hkv", k[t][which], change))
            out[t] = np.einsum("hkv,hk->hv", state, q[t][which])
        out = self.norm(self.shaken(out), name + "ssm_norm").reshape(count, -1) * silu(z)
        return self.linear(self.quantised(self.shaken(out), True), name + "ssm_out")

    def gated(self, gate, up):
        if self.spec["architecture"] == "gemma3":
            squares = gate
            inner = np.sqrt(2 / np.pi) * (gate + 0.044715 * gate ** 3)
            product = 0.5 * gate * (1 + np.tanh(inner)) * up
        elif self.relu2:
            squares = self.facts.see(np.maximum(gate, 0) ** 2)
            product = squares * up
        else:
            squares = gate
            product = gate / (1 + np.exp(np.minimum(-gate, 700))) * up
        tiny = (np.abs(product).max(-1) < 1e-30) & (np.abs(gate).max(-1) > 0)
        self.facts.vanishing |= bool(tiny.any())
        return self.shaken(product)

    def experts(self, x, h, name, clamp):
        """A mixture of experts: x is the normed input, h the same as int8."""
        count, used = self.spec["experts"], self.spec["used"]
        scores = self.shaken(x @ self.tensors[name + "ffn_gate_inp.weight"].T)
        chosen = np.argsort(-scores, axis=-1, kind="stable")[:, :used]
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        p = np.take_along_axis(p, chosen, -1)
        p /= p.sum(-1, keepdims=True)
        out = np.zeros((len(x), self.spec["hidden"]))
        for expert in np.unique(chosen):
            tokens, ranks = np.nonzero(chosen == expert)
            one, part = (h[0][tokens], h[1][tokens]), (expert, count)
            gate = np.minimum(self.linear(one, name + "ffn_gate_exps", part), clamp)
            up = np.clip(self.linear(one, name + "ffn_up_exps", part), -clamp, clamp)
            y = self.linear(self.quantised(self.gated(gate, up)), name + "ffn_down_exps", part)
            out[tokens] += p[tokens, ranks][:, None] * y
        return self.shaken(out)

    def forward(self, ids):
        """Logits float64[len(ids), vocab]."""
        head = self.tensors.get("output.weight", self.tensors["token_embd.weight"])
        logits = self.turned(self.hidden(ids)) @ head.T
        self.facts.see(logits)
        return logits

    def hidden(self, ids):
        """The final norms float64[len(ids), hidden]."""
        spec = self.spec
        x = self.tensors["token_embd.weight"][ids]
        scales = self.spec.get("scales_of_stream", {})
        scale = lambda name: float(np.float32(scales.get(name, 1)))
        if spec["architecture"] == "gemma3":
            x = x * float(np.sqrt(np.float32(spec["hidden"])))
        x = self.shaken((x if self.rotation is None else self.rotation.backwards(x)) * scale("embedding_scale"))
        for i in range(spec["layers"]):
            name = "blk.%d." % i
            normed = self.norm(x, name + "attn_norm")
            recurrent = name + "ssm_a" in self.tensors
            a = self.delta(normed, self.quantised(normed), name) if recurrent else self.attend(normed, name, i)
            post = spec["architecture"] == "gemma3"
            added = self.norm(a, name + "post_attention_norm") if post else scale("residual_scale") * a
            x = self.shaken(x + added)
            second = "post_attention_norm" if spec["architecture"] == "qwen35" else "ffn_norm"
            normed = self.norm(x, name + second)
            if "experts" in spec:
                clamp = float(np.float32(spec["clamps"][i])) if "clamps" in spec else np.inf
                x = self.shaken(x + self.experts(normed, self.quantised(normed), name, clamp))
                continue
            f = self.gated(self.project(normed, name + "ffn_gate"), self.project(normed, name + "ffn_up"))
            f = self.project(self.norm(f, name + "ffn_sub_norm"), name + "ffn_down")
            x = self.shaken(x + (self.norm(f, name + "post_ffw_norm") if post else scale("residual_scale") * f))
        return self.norm(x, "output_norm") / scale("logit_scale")


def cosines(a, b):
    """Of the logits of each position."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    scale = lambda x: x / np.maximum(np.abs(x).max(-1, keepdims=True), 1e-300)
    a, b = scale(a), scale(b)
    norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    both_zero = (np.abs(a).max(-1) == 0) & (np.abs(b).max(-1) == 0)
    return np.where(both_zero, 1.0, (a * b).sum(-1) / np.maximum(norms, 1e-300))

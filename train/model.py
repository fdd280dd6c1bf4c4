# SPDX-License-Identifier: Apache-2.0
"""BitNet b1.58 in the architecture of the 2B-4T model, for training.

Master weights are float; each forward pass rounds them to -1, 0, +1 times their mean absolute
value, and activations to int8 by their largest absolute value per token. Gradients pass straight
through both roundings. Norm, activation rounding and product are written as two autograd
functions, so that a CPU does few passes over memory.
"""
import dataclasses

import torch
from torch import nn
from torch.nn import functional as F

import fast


@dataclasses.dataclass
class Config:
    """Shape of a network; the defaults are Pocket's."""
    vocab: int = 4096
    hidden: int = 384
    ffn: int = 1024
    layers: int = 4
    heads: int = 6
    kv_heads: int = 2
    context: int = 2048
    rope_theta: float = 10000.0
    eps: float = 1e-5

    @property
    def head_dim(self):
        return self.hidden // self.heads


def ternary(weight):
    """weight rounded to codes times scale; codes = round(w * (1 / scale)) within -1..1."""
    scale = weight.abs().mean().clamp_(min=1e-5)
    return (weight * (1 / scale)).round_().clamp_(-1, 1).mul_(scale)


def fake_int8(x):
    """x rounded to 255 levels per row (its last dimension), in place."""
    scale = 127 / x.abs().amax(-1, keepdim=True).clamp_(min=1e-5)
    return x.mul_(scale).round_().div_(scale)


class NormQuant(torch.autograd.Function):
    """RMSNorm with weight, then int8 rounding of the result."""

    @staticmethod
    def forward(ctx, x, weight, eps):
        inverse = torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
        unit = x * inverse
        ctx.save_for_backward(unit, inverse, weight)
        return fake_int8(unit * weight)

    @staticmethod
    def backward(ctx, grad):
        unit, inverse, weight = ctx.saved_tensors
        product = grad * unit
        grad_weight = product.reshape(-1, product.shape[-1]).sum(0)
        mean = (product @ weight).unsqueeze(-1) / unit.shape[-1]
        grad_x = (grad * weight).addcmul_(unit, mean, value=-1).mul_(inverse)
        return grad_x, grad_weight, None


class TernaryLinear(torch.autograd.Function):
    """x [N, K] times the rounded transpose of one or more weights [M, K] stacked by rows.

    On a GPU the three products are bf16, everything else stays float32.
    """

    @staticmethod
    def forward(ctx, x, *weights):
        dtype = torch.bfloat16 if x.is_cuda else x.dtype
        x, rounded = x.to(dtype), torch.cat([ternary(w.detach()) for w in weights]).to(dtype)
        ctx.save_for_backward(x, rounded)
        ctx.rows = [w.shape[0] for w in weights]
        return (x @ rounded.t()).float()

    @staticmethod
    def backward(ctx, grad):
        x, rounded = ctx.saved_tensors
        grad = grad.to(x.dtype)
        grad_x = (grad @ rounded).float() if ctx.needs_input_grad[0] else None
        return (grad_x, *(grad.t() @ x).float().split(ctx.rows))


class Gate(torch.autograd.Function):
    """relu(gate)^2 * up."""

    @staticmethod
    def forward(ctx, gate, up):
        positive = gate.clamp(min=0)
        ctx.save_for_backward(positive, up)
        return (positive * positive).mul_(up)

    @staticmethod
    def backward(ctx, grad):
        positive, up = ctx.saved_tensors
        side = grad * positive
        return (side * up).mul_(2), side.mul_(positive)


class Block(nn.Module):
    """Attention and feed-forward, each with its norms."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        kv = c.kv_heads * c.head_dim
        self.input_layernorm = nn.Parameter(torch.ones(c.hidden))
        self.attn_sub_norm = nn.Parameter(torch.ones(c.hidden))
        self.post_attention_layernorm = nn.Parameter(torch.ones(c.hidden))
        self.ffn_sub_norm = nn.Parameter(torch.ones(c.ffn))
        shapes = {"q_proj": (c.hidden, c.hidden), "k_proj": (kv, c.hidden),
                  "v_proj": (kv, c.hidden), "o_proj": (c.hidden, c.hidden),
                  "gate_proj": (c.ffn, c.hidden), "up_proj": (c.ffn, c.hidden),
                  "down_proj": (c.hidden, c.ffn)}
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape) * 0.02))

    def attention(self, h, rope, mask):
        """h [N, hidden] of B rows -> [N, hidden]."""
        c, batch, length = self.c, mask.shape[0], mask.shape[-1]
        kv = c.kv_heads * c.head_dim
        q, k, v = TernaryLinear.apply(h, self.q_proj, self.k_proj, self.v_proj).split(
            [c.hidden, kv, kv], -1)
        heads = lambda y: y.reshape(batch, length, -1, c.head_dim).transpose(1, 2)
        group = c.heads // c.kv_heads
        # Query heads of one group lie below each other: one product serves the group.
        q = rotate(heads(q), *rope).reshape(batch, c.kv_heads, group * length, c.head_dim)
        k, v = rotate(heads(k), *rope), heads(v)
        scores = (q @ k.transpose(2, 3)) * c.head_dim ** -0.5
        scores = scores.view(batch, c.kv_heads, group, length, length) + mask
        mixed = scores.softmax(-1).view(batch, c.kv_heads, group * length, length) @ v
        return mixed.reshape(batch, c.heads, length, c.head_dim).transpose(1, 2).reshape(-1, c.hidden)

    def forward(self, x, rope, mask, probe=None):
        h = NormQuant.apply(x, self.input_layernorm, self.c.eps)
        a = self.attention(h, rope, mask)
        x = x + TernaryLinear.apply(NormQuant.apply(a, self.attn_sub_norm, self.c.eps), self.o_proj)
        h = NormQuant.apply(x, self.post_attention_layernorm, self.c.eps)
        gate, up = TernaryLinear.apply(h, self.gate_proj, self.up_proj).chunk(2, -1)
        f = NormQuant.apply(Gate.apply(gate, up), self.ffn_sub_norm, self.c.eps)
        if probe is not None:
            probe.append(((gate <= 0).float().mean().item(), (f == 0).float().mean().item()))
        return x + TernaryLinear.apply(f, self.down_proj)


def rotate(x, cos, sin):
    """Rotary embedding, first half of a head paired with its second half."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def rope_table(c, length, device):
    half = c.head_dim // 2
    powers = torch.arange(half, dtype=torch.float64) / half
    angles = torch.arange(length, dtype=torch.float64)[:, None] * c.rope_theta ** -powers
    return angles.cos().float().to(device), angles.sin().float().to(device)


class Pocket(nn.Module):
    """The network; embedding and head are one matrix."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed_tokens = nn.Parameter(torch.randn(c.vocab, c.hidden) * 0.02)
        self.layers = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = nn.Parameter(torch.ones(c.hidden))

    def hidden(self, tokens, docs=None, probe=None):
        """tokens [B, T] -> normed hidden states [B*T, hidden]; docs [B, T] numbers documents."""
        if fast.C and docs is not None and probe is None and not tokens.is_cuda:
            return self.hidden_fast(tokens, docs)
        batch, length = tokens.shape
        allowed = torch.ones(length, length, dtype=torch.bool, device=tokens.device).tril()[None]
        if docs is not None:
            allowed = allowed & (docs[:, :, None] == docs[:, None, :])
        mask = torch.zeros(allowed.shape, device=tokens.device).masked_fill_(~allowed, -1e9)
        mask = mask[:, None, None].expand(batch, 1, 1, length, length)
        rope = rope_table(self.c, length, tokens.device)
        x = F.embedding(tokens, self.embed_tokens).reshape(-1, self.c.hidden)
        for layer in self.layers:
            x = layer(x, rope, mask, probe)
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.c.eps) * self.norm

    def hidden_fast(self, tokens, docs):
        """hidden() by fast.c."""
        where = fast.places(docs, rope_table(self.c, tokens.shape[1], tokens.device))
        x = F.embedding(tokens, self.embed_tokens).reshape(-1, self.c.hidden)
        for layer in self.layers:
            x = fast.block(layer, x, where)
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.c.eps) * self.norm

    def loss(self, tokens, docs, target):
        """Mean nats over the tokens marked in target; tokens [B, T+1]."""
        x = self.hidden(tokens[:, :-1], docs[:, :-1])
        wanted = target[:, 1:].reshape(-1).nonzero().squeeze(1)
        logits = x.index_select(0, wanted) @ self.embed_tokens.t()
        return F.cross_entropy(logits.float(), tokens[:, 1:].reshape(-1).index_select(0, wanted))

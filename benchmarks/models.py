"""The same small GPT three times: the course's, Hugging Face's GPT-2, PyTorch's own layers.

The peers take over the course's weights, so that all three compute the same logits: what is timed
is the same work. Sizes are those of the ladder's last rungs (width 128, 4 heads, one block).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from course.models.gpt import GPT


@dataclass(frozen=True)
class Shape:
    """The letters of the notation page."""

    vocab_size: int = 1024
    context_length: int = 128
    d_model: int = 128
    n_heads: int = 4
    n_layers: int = 1


def ours(shape: Shape, seed: int = 0) -> GPT:
    """The course's GPT in GPT-2's shape: pre-norm, all biases, learned positions, tied output."""
    torch.manual_seed(seed)
    return GPT(shape.vocab_size, shape.context_length, shape.d_model, shape.n_heads, shape.n_layers)


def gpt2(shape: Shape, seed: int = 0) -> Any:
    """``GPT2LMHeadModel`` with the course's weights, the exact GELU, and PyTorch's fused kernel."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers import GPT2Config, GPT2LMHeadModel

    settings: dict[str, Any] = dict(
        vocab_size=shape.vocab_size, n_positions=shape.context_length, n_embd=shape.d_model,
        n_layer=shape.n_layers, n_head=shape.n_heads, activation_function="gelu",
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="sdpa",
        bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    model, mine = GPT2LMHeadModel(GPT2Config(**settings)), ours(shape, seed)
    theirs: Any = model.transformer
    assert mine.position_embedding is not None
    with torch.no_grad():
        theirs.wte.weight.copy_(mine.token_embedding.weight)
        theirs.wpe.weight.copy_(mine.position_embedding.weight)
        _norm(theirs.ln_f, mine.final_norm)
        own: Any  # a Block; the type checker sees in a ModuleList plain modules only
        there: Any
        here: Any
        for block, own in zip(theirs.h, mine.blocks, strict=True):
            a = own.attention
            _norm(block.ln_1, own.attention_norm)
            _norm(block.ln_2, own.feed_forward_norm)
            projections = (a.q_proj, a.k_proj, a.v_proj)
            block.attn.c_attn.weight.copy_(torch.cat([p.weight.T for p in projections], dim=1))
            block.attn.c_attn.bias.copy_(torch.cat([p.bias for p in projections]))
            for there, here in (
                (block.attn.c_proj, a.o_proj),
                (block.mlp.c_fc, own.feed_forward.up),
                (block.mlp.c_proj, own.feed_forward.down),
            ):
                there.weight.copy_(here.weight.T)  # GPT-2 keeps its matrices (in, out)
                there.bias.copy_(here.bias)
    return model


class LogitsOnly(nn.Module):
    """GPT2LMHeadModel as a map from ids (B, T) to logits (B, T, V), without a cache."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, idx: Tensor) -> Tensor:
        return self.model(idx, use_cache=False).logits


class EncoderLM(nn.Module):
    """``nn.TransformerEncoder`` with a causal mask, as PyTorch's own tutorial uses it."""

    mask: Tensor  # (T, T), a buffer

    def __init__(self, shape: Shape, seed: int = 0) -> None:
        super().__init__()
        C = shape.d_model
        layer = nn.TransformerEncoderLayer(
            C, shape.n_heads, 4 * C, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.embedding = nn.Embedding(shape.vocab_size, C)
        self.positions = nn.Embedding(shape.context_length, C)
        self.encoder = nn.TransformerEncoder(
            layer, shape.n_layers, norm=nn.LayerNorm(C), enable_nested_tensor=False
        )
        self.output = nn.Linear(C, shape.vocab_size, bias=False)
        self.output.weight = self.embedding.weight
        mask = nn.Transformer.generate_square_subsequent_mask(shape.context_length)
        self.register_buffer("mask", mask, persistent=False)
        self._take(ours(shape, seed))

    @torch.no_grad()
    def _take(self, mine: GPT) -> None:
        self.embedding.weight.copy_(mine.token_embedding.weight)
        assert mine.position_embedding is not None
        self.positions.weight.copy_(mine.position_embedding.weight)
        _norm(self.encoder.norm, mine.final_norm)
        layer: Any  # as above
        own: Any
        for layer, own in zip(self.encoder.layers, mine.blocks, strict=True):
            a, f = own.attention, own.feed_forward
            projections = (a.q_proj, a.k_proj, a.v_proj)
            layer.self_attn.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
            layer.self_attn.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
            for there, here in (
                (layer.self_attn.out_proj, a.o_proj), (layer.linear1, f.up),
                (layer.linear2, f.down), (layer.norm1, own.attention_norm),
                (layer.norm2, own.feed_forward_norm),
            ):  # fmt: skip
                _norm(there, here)

    def forward(self, idx: Tensor) -> Tensor:
        T = idx.shape[1]
        x = self.embedding(idx) + self.positions(torch.arange(T, device=idx.device))
        return self.output(self.encoder(x, mask=self.mask[:T, :T], is_causal=True))


def _norm(there: Any, here: Any) -> None:
    there.weight.copy_(here.weight)
    there.bias.copy_(here.bias)

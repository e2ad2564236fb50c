"""The transformer block: attention moves information between positions, the MLP works at each.

Pre-norm (Xiong et al. 2020; GPT-2) normalises what a sub-layer reads, ``x + f(LN(x))``; post-norm
(Vaswani et al. 2017) normalises the sum, ``LN(x + f(x))``; "none" leaves LayerNorm out.
"""

from __future__ import annotations

from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn

from course.attention import CrossAttention, KVCache, MultiHeadAttention
from course.checked import require_positive, require_rate

NORMS = ("pre", "post", "none")


class FeedForward(nn.Module):
    """Two linear maps round an activation, at every position alike (Vaswani et al. 2017, 3.3).

    ``max(0, xW₁ + b₁)W₂ + b₂`` with "relu"; GPT-2 and this course's ladder use "gelu" (Hendrycks
    and Gimpel 2016, the exact form with the error function).

    Args:
        d_model: ``C``.
        d_ff: ``F``, four times C unless given.
        activation: "gelu" or "relu".
        dropout: on what comes out, in training only.

    Raises:
        ValueError: a size below 1, or an unknown activation.
    """

    def __init__(
        self, d_model: int, d_ff: int | None = None, activation: str = "gelu", dropout: float = 0.0
    ) -> None:
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        require_positive(d_model=d_model, d_ff=d_ff)
        require_rate(dropout)
        if activation not in ("gelu", "relu"):
            raise ValueError(f'activation must be "gelu" or "relu", got {activation!r}')
        self.activation = F.gelu if activation == "gelu" else F.relu
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(…, C) → (…, C)."""
        return self.dropout(self.down(self.activation(self.up(x))))  # (…, F) inside


class Block(nn.Module):
    """One layer of a GPT (pre-norm) or of an encoder (post-norm, ``causal=False``).

    Args:
        d_model, n_heads, context_length: as in :class:`MultiHeadAttention`.
        dropout: on the weights, and on each sub-layer's output before it is added.
        norm: "pre", "post" or "none".
        d_ff, activation: as in :class:`FeedForward`.
        qkv_bias, causal, positions, rope_scale: as in :class:`MultiHeadAttention`.

    Raises:
        ValueError: an unknown ``norm``, or what the parts raise.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        context_length: int | None = None,
        dropout: float = 0.0,
        *,
        norm: str = "pre",
        d_ff: int | None = None,
        activation: str = "gelu",
        qkv_bias: bool = False,
        causal: bool = True,
        positions: str = "none",
        rope_scale: float = 1.0,
    ) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f'norm must be "pre", "post" or "none", got {norm!r}')
        self.norm = norm
        self.attention = MultiHeadAttention(
            d_model,
            n_heads,
            context_length,
            dropout,
            qkv_bias=qkv_bias,
            causal=causal,
            positions=positions,
            rope_scale=rope_scale,
        )
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.dropout = nn.Dropout(dropout)
        if norm != "none":
            self.attention_norm = nn.LayerNorm(d_model)
            self.feed_forward_norm = nn.LayerNorm(d_model)

    def forward(
        self,
        x: Tensor,
        return_weights: bool = False,
        cache: KVCache | None = None,
        mask: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """(B, T, C) → (B, T, C), and the weights (B, H, T, S) on request."""
        read = self.attention_norm(x) if self.norm == "pre" else x
        moved = self.attention(read, return_weights, cache, mask)
        if return_weights:
            moved, weights = moved
        x = x + self.dropout(moved)
        if self.norm == "post":
            x = self.attention_norm(x)
        read = self.feed_forward_norm(x) if self.norm == "pre" else x
        x = x + self.feed_forward(read)
        if self.norm == "post":
            x = self.feed_forward_norm(x)
        return (x, weights) if return_weights else x


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward; each with a residual and LayerNorm.

    Vaswani et al. 2017, section 3.1; post-norm as there unless ``norm="pre"``.

    Args:
        d_model, n_heads, context_length, dropout, d_ff, activation: as in :class:`Block`.
        norm: "post" or "pre".
        bias: biases on queries, keys and values.

    Raises:
        ValueError: an unknown ``norm``, or what the parts raise.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        context_length: int | None = None,
        dropout: float = 0.0,
        *,
        norm: str = "post",
        d_ff: int | None = None,
        activation: str = "relu",
        bias: bool = True,
    ) -> None:
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f'norm must be "pre" or "post", got {norm!r}')
        self.norm = norm
        self.attention = MultiHeadAttention(
            d_model, n_heads, context_length, dropout, qkv_bias=bias
        )
        self.cross_attention = CrossAttention(d_model, n_heads, dropout, bias=bias)
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.attention_norm = nn.LayerNorm(d_model)
        self.cross_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        return_weights: bool = False,
        cache: KVCache | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """x (B, T, C), memory (B, S, C) → (B, T, C), and the cross weights (B, H, T, S)."""
        pre = self.norm == "pre"
        x = self._add(
            x,
            self.attention(self.attention_norm(x) if pre else x, cache=cache),
            self.attention_norm,
        )
        read = self.cross_norm(x) if pre else x
        found, weights = self.cross_attention(read, memory, memory_mask, return_weights=True)
        x = self._add(x, found, self.cross_norm)
        read = self.feed_forward_norm(x) if pre else x
        # The feed-forward network drops out by itself.
        x = x + self.feed_forward(read)
        x = x if pre else self.feed_forward_norm(x)
        return (x, weights) if return_weights else x

    def _add(self, x: Tensor, branch: Tensor, norm: nn.LayerNorm) -> Tensor:
        x = x + self.dropout(branch)
        return x if self.norm == "pre" else cast(Tensor, norm(x))

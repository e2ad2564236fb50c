"""Attention: an average whose weights the tokens themselves decide.

``scaled_dot_product_attention`` is the function (Vaswani et al. 2017, equation 1); ``Head``,
``MultiHeadAttention`` and ``CrossAttention`` are the layers round it. Masks are boolean and
``True`` means *may attend* everywhere in this package, as in
``torch.nn.functional.scaled_dot_product_attention``; ``torch.nn.MultiheadAttention`` means the
opposite.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.checked import (
    require_heads,
    require_length,
    require_mask,
    require_positive,
    require_rate,
    require_sequence,
)
from course.positions import alibi_bias, rope_angles, rotate_pairs


def causal_mask(T: int, S: int | None = None, device: torch.device | str | None = None) -> Tensor:
    """Who may look at whom when nobody may look ahead: ``(T, S)`` boolean, True = may attend.

    The last of the ``T`` queries sits at the last of the ``S`` keys (``S`` defaults to ``T``), so
    query t may attend to the keys up to ``S − T + t``.

    Raises:
        ValueError: ``S`` is below ``T``.
    """
    S = T if S is None else S
    if S < T or T < 0:
        raise ValueError(f"S must be at least T and T at least 0, got T={T}, S={S}")
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last dimension, with weight exactly 0 where ``mask`` is False.

    A masked score becomes −∞, whose exponential is 0 in every floating type; no large finite
    number does that for every score and type. A row with nothing to attend to gets zeros.

    Args:
        scores: ``(…, S)``.
        mask: boolean, broadcastable to ``scores``; True = may attend.

    Raises:
        ValueError: the mask is not boolean or does not fit.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    require_mask(mask, tuple(scores.shape))
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    # A row of −∞ alone has no softmax (0/0): define it as attending to nothing.
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    scores_bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """``softmax(q kᵀ / √D) v`` (Vaswani et al. 2017, equation 1).

    Args:
        q: ``(…, T, D)`` queries.
        k: ``(…, S, D)`` keys.
        v: ``(…, S, E)`` values.
        mask: boolean, broadcastable to ``(…, T, S)``; True = may attend.
        scores_bias: added to the scaled scores, broadcastable to ``(…, T, S)`` (ALiBi).
        scale: what the scores are multiplied by; ``1/√D`` unless given. ``1.0`` leaves them
            undivided.
        dropout: the share of weights set to zero (the rest grow to match); pass 0 in evaluation.
        return_weights: also return the weights ``(…, T, S)``, as they are before dropout.

    Returns:
        ``(…, T, E)``, or ``(out, weights)``.

    Raises:
        ValueError: the widths of q and k or the lengths of k and v differ, or the mask is not
            boolean or does not fit.
    """
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError(
            "q (…, T, D), k (…, S, D) and v (…, S, E) do not fit: got "
            f"{tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}"
        )
    require_rate(dropout)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = q @ k.transpose(-2, -1) * scale  # (…, T, S)
    if scores_bias is not None:
        scores = scores + scores_bias
    weights = masked_softmax(scores, mask)  # (…, T, S), rows sum to 1
    out = F.dropout(weights, dropout) @ v  # (…, T, E)
    return (out, weights) if return_weights else out


class Head(nn.Module):
    """One causal attention head: three projections and the function above.

    Args:
        d_model: ``C``, the width coming in.
        d_head: ``D``, the width of queries and keys.
        context_length: the longest T it accepts.
        dropout: on the weights, in training only.
        d_value: the width of the values, so of what comes out; ``d_head`` unless given.
        divide: False leaves the scores undivided by √D (chapter 5 measures what that does).

    Raises:
        ValueError: a size below 1, or dropout outside 0 ≤ p < 1.
    """

    def __init__(
        self,
        d_model: int,
        d_head: int,
        context_length: int,
        dropout: float = 0.0,
        *,
        d_value: int | None = None,
        divide: bool = True,
    ) -> None:
        super().__init__()
        d_value = d_head if d_value is None else d_value
        require_positive(
            d_model=d_model, d_head=d_head, context_length=context_length, d_value=d_value
        )
        require_rate(dropout)
        self.d_model, self.context_length, self.dropout = d_model, context_length, dropout
        self.scale = 1 / math.sqrt(d_head) if divide else 1.0
        self.q_proj = nn.Linear(d_model, d_head, bias=False)
        self.k_proj = nn.Linear(d_model, d_head, bias=False)
        self.v_proj = nn.Linear(d_model, d_value, bias=False)

    def forward(self, x: Tensor, return_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """(B, T, C) → (B, T, d_value), and the weights (B, T, T) on request.

        Raises:
            ValueError: the shape of ``x`` does not fit, or T is over the context length.
        """
        require_sequence(x, self.d_model, self.context_length)
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)  # (B, T, D) each
        dropout = self.dropout if self.training else 0.0
        if not return_weights:
            return F.scaled_dot_product_attention(
                q, k, v, dropout_p=dropout, is_causal=True, scale=self.scale
            )
        mask = causal_mask(x.shape[1], device=x.device)  # (T, T)
        return scaled_dot_product_attention(
            q, k, v, mask, scale=self.scale, dropout=dropout, return_weights=True
        )


class KVCache:
    """The keys and values of one layer so far, so that a new token computes only its own.

    The room for ``context_length`` tokens is taken once; appending copies no earlier key.
    """

    def __init__(
        self,
        batch: int,
        n_heads: int,
        context_length: int,
        d_head: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        shape = (batch, n_heads, context_length, d_head)
        self.k = torch.empty(shape, device=device, dtype=dtype)
        self.v = torch.empty(shape, device=device, dtype=dtype)
        self.length = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add (B, H, T, D) keys and values; returns all of them, (B, H, S, D) each.

        Raises:
            ValueError: the room is used up.
        """
        end = self.length + k.shape[-2]
        require_length(end, self.k.shape[-2])
        self.k[:, :, self.length : end], self.v[:, :, self.length : end] = k, v
        self.length = end
        return self.k[:, :, :end], self.v[:, :, :end]

    def reorder(self, rows: Tensor) -> None:
        """Keep the batch rows that ``rows`` (B,) names, in that order (beam search)."""
        self.k, self.v = self.k[rows], self.v[rows]


class MultiHeadAttention(nn.Module):
    """Several heads side by side: the width is split, attended in parts, joined and mixed.

    Vaswani et al. 2017, section 3.2.2. Where the weights are not asked for, PyTorch's fused
    kernel computes the same function (a test holds the two equal).

    Args:
        d_model: ``C``.
        n_heads: ``H``; each head is ``D = C / H`` wide.
        context_length: the longest T (with a cache: S) it accepts; None for no limit, which
            ``positions="rope"`` and ``"alibi"`` do not allow.
        dropout: on the weights, in training only.
        qkv_bias: biases on the three projections.
        out_bias: a bias on the output projection.
        causal: False for an encoder: every position may attend to every other.
        positions: "none", "rope" (queries and keys are turned) or "alibi" (scores are biased).
        rope_scale: positions are divided by this before they are turned: above 1 squeezes a
            longer text into the angles seen in training.

    Raises:
        ValueError: C is not divisible by H; an unknown ``positions``; an odd D with "rope".
    """

    cos: Tensor  # (context_length, D/2), with positions="rope"
    sin: Tensor
    bias: Tensor  # (H, context_length, context_length), with positions="alibi"

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        context_length: int | None = None,
        dropout: float = 0.0,
        *,
        qkv_bias: bool = False,
        out_bias: bool = True,
        causal: bool = True,
        positions: str = "none",
        rope_scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.d_head = require_heads(d_model, n_heads)
        require_rate(dropout)
        if positions not in ("none", "rope", "alibi"):
            raise ValueError(f'positions must be "none", "rope" or "alibi", got {positions!r}')
        if positions != "none" and context_length is None:
            raise ValueError(f'positions="{positions}" needs a context_length, got None')
        self.d_model, self.n_heads, self.context_length = d_model, n_heads, context_length
        self.dropout, self.causal, self.positions = dropout, causal, positions
        self.q_proj = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=out_bias)
        if positions == "rope" and context_length is not None:
            angles = rope_angles(torch.arange(context_length) / rope_scale, self.d_head)
            self.register_buffer("cos", angles.cos().float(), persistent=False)  # (S, D/2)
            self.register_buffer("sin", angles.sin().float(), persistent=False)
        if positions == "alibi" and context_length is not None:
            self.register_buffer("bias", alibi_bias(n_heads, context_length), persistent=False)

    def forward(
        self,
        x: Tensor,
        return_weights: bool = False,
        cache: KVCache | None = None,
        mask: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """(B, T, C) → (B, T, C), and the weights (B, H, T, S) on request.

        Args:
            x: ``(B, T, C)``; with a cache, only the new tokens.
            return_weights: also return the weights, before dropout.
            cache: keys and values so far; the new ones are appended to it. S counts them all.
            mask: boolean, broadcastable to ``(B, H, T, S)``, True = may attend; joined with the
                causal mask where the layer is causal.

        Raises:
            ValueError: x does not fit, S is over the context length, or the mask does not fit.
        """
        require_sequence(x, self.d_model)
        T, start = x.shape[1], cache.length if cache is not None else 0
        S = start + T
        require_length(S, self.context_length)
        q, k, v = (self._split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
        if self.positions == "rope":
            cos, sin = self.cos[start:S].to(x.dtype), self.sin[start:S].to(x.dtype)
            q, k = rotate_pairs(q, cos, sin), rotate_pairs(k, cos, sin)
        if cache is not None:
            k, v = cache.append(k, v)  # (B, H, S, D)
        dropout = self.dropout if self.training else 0.0
        bias = self.bias[:, start:S, :S].to(x.dtype) if self.positions == "alibi" else None
        allowed = self._allowed(T, S, mask, x.device)
        if return_weights:
            out, weights = scaled_dot_product_attention(
                q, k, v, allowed, scores_bias=bias, dropout=dropout, return_weights=True
            )
            return self.o_proj(self._join(out)), weights
        out = self._fused(q, k, v, allowed, bias, dropout, plain=mask is None and T == S)
        return self.o_proj(self._join(out))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)  # (B, H, T, D)

    def _join(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(-2)  # (B, T, C)

    def _allowed(self, T: int, S: int, mask: Tensor | None, device: torch.device) -> Tensor | None:
        """The joint mask, (T, S) or broadcastable to (B, H, T, S); None where all may attend."""
        if mask is not None:
            require_mask(mask, (*mask.shape[:-2], T, S))
        # A single new token may look at everything that came before it.
        causal = causal_mask(T, S, device) if self.causal and T > 1 else None
        if mask is None or causal is None:
            return mask if causal is None else causal
        return mask & causal

    def _fused(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        allowed: Tensor | None,
        bias: Tensor | None,
        dropout: float,
        plain: bool,
    ) -> Tensor:
        """The same function by PyTorch's kernel; ``plain`` = the triangle is the only mask."""
        if allowed is not None:
            require_mask(allowed, (*q.shape[:3], k.shape[-2]))
        if plain and bias is None:
            return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=self.causal)
        added = bias
        if bias is not None and allowed is not None:
            added = bias.masked_fill(~allowed, float("-inf"))
        out = F.scaled_dot_product_attention(
            q, k, v, allowed if bias is None else added, dropout_p=dropout
        )
        if allowed is None or plain:
            return out
        # Kernels differ on a row with nothing to attend to (NaN or an average): ours is zeros.
        return out.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)


class CrossAttention(nn.Module):
    """Queries from one sequence, keys and values from another (Vaswani et al. 2017, 3.2.3).

    Args:
        d_model: ``C`` of both sequences.
        n_heads: ``H``.
        dropout: on the weights, in training only.
        bias: biases on the three projections; the output projection always has one.

    Raises:
        ValueError: C is not divisible by H.
    """

    def __init__(
        self, d_model: int, n_heads: int, dropout: float = 0.0, *, bias: bool = False
    ) -> None:
        super().__init__()
        self.d_head = require_heads(d_model, n_heads)
        require_rate(dropout)
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """x (B, T, C), memory (B, S, C) → (B, T, C), and the weights (B, H, T, S) on request.

        Args:
            memory_mask: boolean, True = may attend: ``(B, S)`` for padding, or anything that
                broadcasts to ``(B, H, T, S)``.

        Raises:
            ValueError: a shape does not fit, or the batches differ.
        """
        require_sequence(x, self.d_model)
        require_sequence(memory, self.d_model)
        if x.shape[0] != memory.shape[0]:
            raise ValueError(f"batches differ: x {tuple(x.shape)}, memory {tuple(memory.shape)}")
        split = lambda y: y.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)  # noqa: E731
        q, k, v = split(self.q_proj(x)), split(self.k_proj(memory)), split(self.v_proj(memory))
        if memory_mask is not None and memory_mask.dim() == 2:
            memory_mask = memory_mask[:, None, None, :]  # (B, 1, 1, S)
        dropout = self.dropout if self.training else 0.0
        out, weights = scaled_dot_product_attention(
            q, k, v, memory_mask, dropout=dropout, return_weights=True
        )
        out = self.o_proj(out.transpose(1, 2).flatten(-2))  # (B, T, C)
        return (out, weights) if return_weights else out

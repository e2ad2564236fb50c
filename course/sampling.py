"""From logits to a token: temperature, top-k, top-p, and the draw."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def filter_logits(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Logits whose softmax is the distribution to draw from; what may not be drawn is −∞.

    Temperature divides the logits first; then top-k keeps the k largest; then top-p keeps the
    smallest set, taken by falling probability, whose mass is *at least* p (Holtzman et al. 2020);
    a set whose mass equals p exactly is enough. Ties are broken towards the lower token id, so
    exactly k tokens stay. Temperature 0 keeps the argmax alone.

    Args:
        logits: ``(…, V)``.
        temperature: 0 or more.
        top_k: 1 or more; more than V keeps all of them.
        top_p: ``0 < p ≤ 1``.

    Returns:
        ``(…, V)``.

    Raises:
        ValueError: a negative or infinite temperature, top_k below 1, top_p outside (0, 1].
    """
    if not (temperature >= 0 and math.isfinite(temperature)):
        raise ValueError(f"temperature must be a number of at least 0, got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1 (None keeps all), got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must lie in 0 < p <= 1 (None keeps all), got {top_p}")
    V = logits.shape[-1]
    if temperature == 0:  # no sort: argmax gives the first of equals, that is the lowest id
        best = logits.argmax(dim=-1, keepdim=True)  # (…, 1)
        out = torch.full_like(logits, -math.inf)
        return out.scatter_(-1, best, logits.gather(-1, best))
    out = logits / temperature
    if (top_k is None or top_k >= V) and (top_p is None or top_p == 1):
        return out
    # A stable sort keeps equal logits in the order of their ids.
    ranked, order = out.sort(dim=-1, descending=True, stable=True)  # (…, V)
    keep = torch.ones_like(ranked, dtype=torch.bool)
    if top_k is not None:
        keep[..., top_k:] = False
    if top_p is not None and top_p < 1:
        # float64: the sum must not miss p by rounding when a set's mass is p exactly.
        probabilities = ranked.masked_fill(~keep, -math.inf).double().softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities  # mass of what ranks higher
        keep &= before < top_p - 1e-12
        keep[..., 0] = True
    ranked = ranked.masked_fill(~keep, -math.inf)
    return torch.empty_like(out).scatter_(-1, order, ranked)


def sample_next(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw a token a row: logits (B, V) → ids (B,). Temperature 0 is argmax.

    Raises:
        ValueError: logits that are not (B, V), or what :func:`filter_logits` raises.
    """
    if logits.dim() != 2:
        raise ValueError(f"expected logits (B, V), got {tuple(logits.shape)}")
    kept = filter_logits(logits, temperature, top_k, top_p)
    if temperature == 0:
        return kept.argmax(dim=-1)
    return torch.multinomial(kept.softmax(dim=-1), 1, generator=generator).squeeze(-1)

"""Four ways to tell a model where a token stands.

A learned table needs no function (it is an ``nn.Embedding``); here are the other three: sinusoids
(Vaswani et al. 2017, section 3.5), rotary embeddings (RoPE, Su et al. 2021) and linear biases
(ALiBi, Press et al. 2021).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def sinusoidal(T: int, d_model: int, base: float = 10000.0) -> Tensor:
    """The sinusoidal encoding: sines in the even columns, cosines in the odd ones.

    ``PE[t, 2i] = sin(t / base^(2i/C))`` and ``PE[t, 2i+1] = cos(t / base^(2i/C))`` with
    ``C = d_model`` (Vaswani et al. 2017, section 3.5). Within each pair, moving by k positions is
    a rotation that depends on k alone.

    Returns:
        ``(T, d_model)`` float32.

    Raises:
        ValueError: ``T`` is negative, or ``d_model`` is not even and positive.
    """
    if T < 0:
        raise ValueError(f"T must be 0 or more, got {T}")
    angles = rope_angles(torch.arange(T), d_model, base)  # (T, C/2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(torch.float32)


def rope_angles(positions: Tensor, d_head: int, base: float = 10000.0) -> Tensor:
    """The angle of each pair at each position, ``t / base^(2i/D)``, in float64.

    Args:
        positions: ``(T,)`` integers or floats (fractions make *rescaled* rotary embeddings).
        d_head: ``D``, even.
        base: the longest wavelength is ``2π·base^((D-2)/D)``.

    Returns:
        ``(T, D/2)`` float64, so that long positions lose nothing before the sine is taken.

    Raises:
        ValueError: ``d_head`` is not even and positive, or ``base`` is not positive.
    """
    if d_head <= 0 or d_head % 2:
        raise ValueError(f"the width must be even and positive to make pairs, got {d_head}")
    if base <= 0:
        raise ValueError(f"base must be positive, got {base}")
    exponents = torch.arange(0, d_head, 2, dtype=torch.float64, device=positions.device) / d_head
    return positions.to(torch.float64)[:, None] * base**-exponents  # (T, D/2)


def apply_rope(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of coordinates of ``x`` by its position's angle (Su et al. 2021, eq. 15).

    Coordinates are paired as neighbours: (0, 1), (2, 3), … The product of a turned query at t and
    a turned key at s depends on t − s alone.

    Args:
        x: ``(…, T, D)`` queries or keys.
        positions: ``(T,)``.

    Returns:
        ``(…, T, D)`` in the type of ``x``.

    Raises:
        ValueError: ``D`` is odd, or ``positions`` is not ``(T,)``.
    """
    T, D = x.shape[-2:]
    if positions.shape != (T,):
        raise ValueError(
            f"positions must be ({T},) for x of {tuple(x.shape)}, got {tuple(positions.shape)}"
        )
    angles = rope_angles(positions.to(x.device), D, base)  # (T, D/2)
    return rotate_pairs(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn neighbouring pairs of ``x`` (…, T, D) by angles whose ``cos, sin`` are (T, D/2)."""
    a, b = x[..., 0::2], x[..., 1::2]  # (…, T, D/2) each
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)  # (…, T, D)


def alibi_slopes(n_heads: int) -> Tensor:
    """One slope a head: ``2^(-8/H), 2^(-16/H), …, 2^-8`` for H a power of two (Press et al. 2021).

    For other H the paper's released code takes the slopes of the power of two below, then every
    second one of the power of two above; so does this.

    Returns:
        ``(H,)`` float32, falling within each of those two runs.

    Raises:
        ValueError: ``n_heads`` is below 1.
    """
    if n_heads < 1:
        raise ValueError(f"n_heads must be 1 or more, got {n_heads}")
    below = 2 ** int(math.log2(n_heads))
    slopes = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    between = [2 ** (-8 * (h + 1) / (2 * below)) for h in range(0, 2 * below, 2)]
    return torch.tensor((slopes + between)[:n_heads])


def alibi_bias(n_heads: int, T: int, S: int | None = None) -> Tensor:
    """What ALiBi adds to the scores: minus slope × distance into the past (Press et al. 2021).

    The last query sits at the last key, as in a window of ``T`` queries at the end of ``S`` keys.

    Returns:
        ``(H, T, S)`` float32; zero on and above the diagonal (``S`` defaults to ``T``).

    Raises:
        ValueError: ``n_heads`` is below 1, or ``S`` is below ``T``.
    """
    S = T if S is None else S
    if S < T or T < 0:
        raise ValueError(f"S must be at least T and T at least 0, got T={T}, S={S}")
    query = torch.arange(S - T, S)[:, None]
    distance = (query - torch.arange(S)[None, :]).clamp(min=0)  # (T, S), in tokens
    # 0 − x rather than −x: minus zero is not what "zero on the diagonal" should print.
    return 0.0 - alibi_slopes(n_heads)[:, None, None] * distance  # (H, T, S)

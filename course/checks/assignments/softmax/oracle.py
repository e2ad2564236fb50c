"""The right masked softmax, the wrong ones, and random masks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course.checks.engine import Trial


def right(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the visible keys; an empty row is zeros. Any shape (…, S)."""
    s = torch.where(mask, scores.double(), float("-inf"))
    return s.softmax(-1).nan_to_num(0.0).to(scores.dtype)


def _fill(value: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda s, m: torch.where(m, s, value).softmax(-1)


def _renormalised(scores: Tensor, mask: Tensor) -> Tensor:
    w = scores.softmax(-1) * mask
    return w / w.sum(-1, keepdim=True).clamp(min=1e-30)


VARIANTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "inverted": lambda s, m: torch.where(m, float("-inf"), s).softmax(-1),
    "inverted#1": lambda s, m: torch.where(m, float("-inf"), s).softmax(-1).nan_to_num(0.0),
    "inverted#2": lambda s, m: _fill(-1e9)(s, ~m),
    "inverted#3": lambda s, m: _fill(0.0)(s, ~m),
    "inverted#4": lambda s, m: s.softmax(-1) * ~m,
    "inverted#5": lambda s, m: _renormalised(s, ~m),
    "inverted#6": lambda s, m: torch.where(m, 0.0, s.exp()),
    "ignored": lambda s, m: s.softmax(-1),
    "zero-fill": _fill(0.0),
    "zero-fill#1": lambda s, m: _fill(0.0)(s, m) * m.any(-1, keepdim=True),
    "tiny-fill": _fill(1e-9),
    "after-softmax": lambda s, m: s.softmax(-1) * m,
    "over-queries": lambda s, m: torch.where(m, s, float("-inf")).softmax(-2),
    "over-queries#1": lambda s, m: torch.where(m, s, float("-inf")).softmax(-2).nan_to_num(0.0),
    "over-first": lambda s, m: torch.where(m, s, float("-inf")).softmax(0),
    "over-first#1": lambda s, m: torch.where(m, s, float("-inf")).softmax(0).nan_to_num(0.0),
    "empty-row-nan": lambda s, m: torch.where(m, s, float("-inf")).softmax(-1),
    "empty-row-uniform": _fill(-1e9),
    "not-normalised": lambda s, m: torch.where(m, s.exp(), 0.0),
    "log": lambda s, m: torch.where(m, s, float("-inf")).log_softmax(-1),
    "hides-zero-scores": lambda s, m: (
        torch.where(m & (s != 0), s, float("-inf")).softmax(-1).nan_to_num(0.0)
    ),
    "added": lambda s, m: (s + m.to(s.dtype)).softmax(-1),
    "linear": lambda s, m: torch.where(m, s, 0.0) / torch.where(m, s, 0.0).sum(-1, keepdim=True),
}


def draw_mask(t: Trial, *shape: int, empty: bool = False) -> Tensor:
    """A random mask in which every row may see something; with ``empty`` one row sees nothing."""
    mask = torch.rand(*shape, generator=t.rng) < 0.6
    mask[..., 0] |= ~mask.any(-1)
    if empty:
        mask.reshape(-1, shape[-1])[0] = False
    return mask

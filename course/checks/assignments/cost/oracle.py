"""Plain causal attention, the wrong ones, and random cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from course.checks.engine import Trial


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def _may(T: int) -> tuple[Tensor, Tensor]:
    return torch.arange(T)[:, None], torch.arange(T)[None, :]


def _plain(q: Tensor, k: Tensor, v: Tensor, may: Tensor, factor: float = 1.0) -> Tensor:
    s = (_scores(q.double(), k.double()) * factor).masked_fill(~may, float("-inf"))
    return (s.softmax(-1) @ v.double()).to(q.dtype)


def right(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
    """Plain causal attention."""
    i, j = _may(q.shape[-2])
    return _plain(q, k, v, j <= i)


def _where(
    condition: Callable[[Tensor, Tensor, int, int], Tensor], empty: float = 0.0
) -> Callable[..., Tensor]:
    """A wrong oracle whose mask is a condition on (i, j, tile, T), and what empty rows are."""

    def wrong(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
        T = q.shape[-2]
        i, j = _may(T)
        return _plain(q, k, v, condition(i, j, tile, T).expand(T, T)).nan_to_num(empty)

    return wrong


def _tiles(T: int, tile: int) -> Iterator[tuple[int, int]]:
    for a in range(0, T, tile):
        yield a, min(a + tile, T)


def _local(average: bool) -> Callable[..., Tensor]:
    def wrong(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
        T = q.shape[-2]
        i, j = _may(T)
        total, count = torch.zeros_like(q @ k.transpose(-2, -1) @ v), torch.zeros(T, 1)
        for a, b in _tiles(T, tile):
            part = _plain(q, k[..., a:b, :], v[..., a:b, :], (j <= i)[:, a:b]).nan_to_num(0.0)
            total = total + part
            count += (i >= a).to(count.dtype)
        return total / count if average else total

    return wrong


def _running(values: bool, sums: bool, stop: bool = False) -> Callable[..., Tensor]:
    """The tile trick with part of its rescaling left out."""

    def wrong(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
        T = q.shape[-2]
        i, j = _may(T)
        s = _scores(q, k).masked_fill(j > i, float("-inf"))
        top = torch.full_like(s[..., :1], float("-inf"))
        mass, out = torch.zeros_like(top), torch.zeros_like(s @ v)
        for a, b in _tiles(T, tile):
            new = torch.maximum(top, s[..., a:b].amax(-1, keepdim=True))
            shrink = (top - new).exp()
            e = (s[..., a:b] - new).exp()
            mass = mass * (shrink if sums else 1.0) + e.sum(-1, keepdim=True)
            out = out * (shrink if values else 1.0) + e @ v[..., a:b, :]
            top = new
        return out if stop else out / mass

    return wrong


VARIANTS: dict[str, Callable[..., Tensor]] = {
    "not-divided": lambda q, k, v, tile: right(q * q.shape[-1] ** 0.5, k, v, tile),
    "divided-by-tile": lambda q, k, v, tile: right(q * (q.shape[-1] / tile) ** 0.5, k, v, tile),
    "not-causal": _where(lambda i, j, n, T: j >= 0),
    "mask-upside-down": _where(lambda i, j, n, T: j >= i),
    "mask-inverted": _where(lambda i, j, n, T: j > i),
    "mask-inverted#1": _where(lambda i, j, n, T: j > i, empty=float("nan")),
    "mask-hides-self": _where(lambda i, j, n, T: j < i),
    "mask-hides-self#1": _where(lambda i, j, n, T: j < i, empty=float("nan")),
    "diagonal-tile-open": _where(lambda i, j, n, T: j // n <= i // n),
    "diagonal-tile-missing": _where(lambda i, j, n, T: j // n < i // n),
    "tile-local-mask": _where(lambda i, j, n, T: (j // n <= i // n) & (j % n <= i % n)),
    "tile-local-mask#1": _where(lambda i, j, n, T: j % n <= i % n),
    "only-first-tile": _where(lambda i, j, n, T: (j < n) & (j <= i)),
    "only-first-tile#1": _where(lambda i, j, n, T: (j // n == i // n) & (j <= i)),
    "ragged-tile-lost": _where(lambda i, j, n, T: (j <= i) & (j < T // n * n)),
    "ragged-tile-lost#1": lambda q, k, v, tile: _lose_rows(q, k, v, tile),
    "tile-local-softmax": _local(False),
    "tile-softmax-averaged": _local(True),
    "no-rescale": _running(False, False),
    "sum-not-rescaled": _running(True, False),
    "sum-not-rescaled#1": _running(False, True),
    "not-normalised": _running(True, True, stop=True),
}


def _lose_rows(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
    out = right(q, k, v, tile)
    out[..., q.shape[-2] // tile * tile :, :] = 0.0
    return out


def draw_case(t: Trial, *shape: int, tile: int, wide: int | None = None) -> list[Any]:
    """Random q, k, v of shape (…, T, D), v perhaps of another width, and the tile."""
    v = t.normal(*shape[:-1], wide or shape[-1])
    return [t.normal(*shape, sd=1.5), t.normal(*shape, sd=1.5), v, tile]

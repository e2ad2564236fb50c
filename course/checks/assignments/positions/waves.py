"""``sinusoidal`` (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course.checks.assignments.positions.exercise import BASE, SIN, positions
from course.checks.counterexample import CounterExample
from course.checks.engine import Failure, Finding, Trial, agree, difference


def right_sinusoidal(T: int, d: int) -> Tensor:
    """PE[pos, 2i] = sin(pos / 10000^(2i/d)), PE[pos, 2i+1] = its cosine. (T, d) float64"""
    return _encode(T, d)


def _encode(
    T: int,
    d: int,
    *,
    exponent: float = 1.0,
    base: float = BASE,
    start: int = 0,
    order: str = "alternate",
    sign: float = -1.0,
    scale: float = 1.0,
) -> Tensor:
    pos = (torch.arange(T, dtype=torch.float64) + start)[:, None] * scale
    i = torch.arange(0, d, 2, dtype=torch.float64)[None, :]
    angle = pos * base ** (sign * exponent * i / d)
    if order == "halves":
        return torch.cat([angle.sin(), angle.cos()], 1)
    if order == "swapped":
        return torch.stack([angle.cos(), angle.sin()], -1).flatten(1)
    if order == "own":
        j = torch.arange(d, dtype=torch.float64)[None, :]
        own = pos * base ** (-exponent * j / d)
        return torch.where(j % 2 == 0, own.sin(), own.cos())
    if order == "sines":
        return torch.stack([angle.sin(), angle.sin()], -1).flatten(1)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


SIN_VARIANTS: dict[str, Callable[[int, int], Tensor]] = {
    "sin-halves": lambda T, d: _encode(T, d, order="halves"),
    "sin-cos-swapped": lambda T, d: _encode(T, d, order="swapped"),
    "sin-exponent-not-doubled": lambda T, d: _encode(T, d, exponent=0.5),
    "sin-exponent-doubled-twice": lambda T, d: _encode(T, d, exponent=2.0),
    "sin-each-column-its-own": lambda T, d: _encode(T, d, order="own"),
    "sin-each-column-its-own#1": lambda T, d: _encode(T, d, order="own", exponent=2.0),
    "sin-base": lambda T, d: _encode(T, d, base=1000.0),
    "sin-base#1": lambda T, d: _encode(T, d, base=math.e),
    "sin-base#2": lambda T, d: _encode(T, d, base=100000.0),
    "sin-positions-from-one": lambda T, d: _encode(T, d, start=1),
    "sin-multiplied": lambda T, d: _encode(T, d, sign=1.0),
    "sin-transposed": lambda T, d: _encode(T, d).T,
    "sin-batched": lambda T, d: _encode(T, d)[None],
    "sin-normalised": lambda T, d: _encode(T, d, scale=1 / T),
    "sin-only": lambda T, d: _encode(T, d, order="sines"),
    "sin-two-pi": lambda T, d: _encode(T, d, scale=2 * math.pi),
}


@positions.prop("sin-shape", 1, "A floating (T, d_model) tensor with entries from −1 to 1", SIN)
def _sin_shape(t: Trial) -> None:
    for T, d in ((1, 2), (7, 10), (30, 8)):
        out = t.tensor(t.subject.call(SIN, T, d), (T, d), f"sinusoidal({T}, {d})")
        t.expect(
            out.is_floating_point() and bool((out.abs() <= 1 + 1e-6).all()),
            "Entries are sines and cosines, from −1 to 1.",
        )


@positions.prop("sin-values", 3, "The formula at every position and column", SIN)
def _sin_values(t: Trial) -> None:
    for T, d in ((3, 4), (t.integer(5, 12), 6), (50, 2 * t.integer(8, 20)), (200, 64)):
        out = t.tensor(t.subject.call(SIN, T, d), (T, d), f"sinusoidal({T}, {d})")
        right = right_sinusoidal(T, d)
        if not agree(out, right, 5e-5):
            small = t.subject.call(SIN, 3, 4)
            parts = [("yours", small), ("expected", right_sinusoidal(3, 4))]
            raise Failure(
                f"sinusoidal({T}, {d}) is wrong. {difference(out, right)}",
                CounterExample("sinusoidal(3, 4)", parts),
            )


@positions.prop("sin-shift", 1, "The encoding k later is a fixed linear map of the encoding", SIN)
def _sin_shift(t: Trial) -> None:
    T, d, k = 40, 12, t.integer(2, 9)
    pe = t.tensor(t.subject.call(SIN, T, d), (T, d)).double()
    i = torch.arange(0, d, 2, dtype=torch.float64)
    w = k * BASE ** (-i / d)
    turned = torch.stack(
        [
            pe[:, 0::2] * w.cos() + pe[:, 1::2] * w.sin(),
            pe[:, 1::2] * w.cos() - pe[:, 0::2] * w.sin(),
        ],
        -1,
    ).flatten(1)
    t.expect(
        agree(turned[:-k], pe[k:], 1e-3),
        f"Turning each pair by {k} · 10000^(−2i/d) should give the encoding {k} positions later.",
    )


@positions.diagnosis(SIN)
def _sin_faults(t: Trial, failed: set[str]) -> list[Finding]:
    shapes = [(7, 10), (5, 4), (12, 6)]
    outs = [t.subject.call(SIN, T, d) for T, d in shapes]
    for name, oracle in SIN_VARIANTS.items():
        # Loosely: a large angle's sine is not exact in float32.
        if all(
            isinstance(o, Tensor) and agree(o, oracle(*s), 2e-2)
            for o, s in zip(outs, shapes, strict=True)
        ):
            return [positions.finding(name.split("#")[0])]
    return []

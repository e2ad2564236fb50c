"""What must hold."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from course.checks.assignments.qkv.exercise import ON, qkv
from course.checks.assignments.qkv.oracle import draw_case, right
from course.checks.counterexample import small_matrices
from course.checks.engine import Trial, agree
from course.checks.functional import check_values, results
from course.checks.gradients import expect_gradients
from course.checks.toolkit import (
    Target,
    expect_causal,
    expect_dtypes,
    expect_lengths,
    expect_pure,
    expect_rows_apart,
)


def _target(t: Trial, T: int, dtype: torch.dtype = torch.float32) -> tuple[Target, Tensor]:
    B, C, D = t.distinct(3, 2, 8, avoid=(T,))
    x, *matrices = draw_case(t, B, T, C, D, dtype)
    return Target(t, ON, tuple(matrices)), x


def _small() -> Iterator[list[Tensor]]:
    g = torch.Generator().manual_seed(0)
    for T, C, D in ((1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 2, 1), (3, 3, 2)):
        for x in small_matrices(T, C):
            w = [torch.randint(-1, 3, (C, D), generator=g).float() for _ in range(3)]
            yield [x[None], *w]


@qkv.prop("shape", 1, "x (B, T, C) and matrices (C, D) give (B, T, D)")
def _shape(t: Trial) -> None:
    for B, T, C, D in ((2, 5, 7, 3), (1, 1, 4, 6), (3, 2, 5, 4)):
        (out,) = results(t, ON, [draw_case(t, B, T, C, D)])
        t.tensor(out, (B, T, D), f"x ({B}, {T}, {C}) with matrices ({C}, {D})")


@qkv.prop("values", 4, "The values equal an independent calculation at T = 1, 2, 5 and 8")
def _values(t: Trial) -> None:
    cases = []
    for T in (1, 2, 5, 8):
        B, C, D = t.distinct(3, 2, 9, avoid=(T,))
        cases.append(draw_case(t, B, T, C, D))
    check_values(
        t,
        ON,
        cases,
        right,
        tol=2e-5,
        small=_small(),
        labels=("x", "w_q", "w_k", "w_v"),
        said=lambda c: f"x {tuple(c[0].shape)} and matrices {tuple(c[1].shape)}",
    )


@qkv.prop("causal", 2, "No output depends on a later token; each depends on all before and itself")
def _causal(t: Trial) -> None:
    target, x = _target(t, t.integer(4, 6))
    expect_causal(target, x)


@qkv.prop("stable", 1, "Scores of ±1e4 overflow nowhere, and nothing leaks through the mask")
def _stable(t: Trial) -> None:
    x, q, k, v = draw_case(t, 30, 5, 4, 3)
    # Drawn keys, then keys that make every token's score with itself far below zero.
    big, low, one = results(
        t, ON, [[x, 100 * q, 100 * k, v], [x, 100 * q, -100 * q, v], [x[:, :1], q, k, v]]
    )
    for large in (big, low):
        t.expect(bool(torch.isfinite(large).all()), "Scores of ±1e4 give NaN or infinite outputs.")
        t.expect(
            agree(large[:, :1], one),
            "With large scores the first output depends on later tokens: the mask leaks.",
        )
    same = x[:, :1].expand(30, 5, 4)
    (flat,) = results(t, ON, [[same, q, k, v]])
    t.close(flat, (same @ v), "With equal tokens every output is that token's value.")
    (zero,) = results(t, ON, [[torch.zeros_like(x), q, k, v]])
    t.expect(bool((zero == 0).all()), "With x = 0 every output should be 0.")


@qkv.prop(
    "lengths", 1, "A prefix gives the prefix; one token and one row work; sequences are independent"
)
def _lengths(t: Trial) -> None:
    target, x = _target(t, 9)
    expect_lengths(target, x, t.integer(2, 7))
    expect_rows_apart(target, x)


@qkv.prop("pure", 1, "No argument is edited, and two calls agree")
def _pure(t: Trial) -> None:
    target, x = _target(t, 5)
    expect_pure(target, x)


@qkv.prop("gradients", 1, "The gradients of x and the three matrices equal finite differences")
def _gradients(t: Trial) -> None:
    target, x = _target(t, 4, torch.float64)
    expect_gradients(target, x, inputs=(0, 1, 2, 3))


@qkv.prop("dtypes", 1, "float64, bfloat16 and float16 work and stay what they are")
def _dtypes(t: Trial) -> None:
    def make(dtype: str) -> tuple[Target, Tensor]:
        x, *matrices = (a.to(getattr(torch, dtype)) for a in draw_case(t, 2, 5, 4, 3))
        return Target(t, ON, tuple(matrices)), x

    expect_dtypes(make, t)

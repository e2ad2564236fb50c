"""``attend(x, w_q, w_k, w_v)``: causal attention from three matrices, still undivided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from course.checks.counterexample import small_matrices
from course.checks.engine import Exercise, Finding, Trial, agree
from course.checks.functional import check_values, edits, find_variants, results
from course.checks.gradients import expect_gradients
from course.checks.oracles import FAULTS, Fault, attend, pairs
from course.checks.roles import Roles
from course.checks.toolkit import (
    Target,
    expect_causal,
    expect_dtypes,
    expect_lengths,
    expect_pure,
    expect_rows_apart,
)

ON = "attend"

MISTAKES = {
    "divided": "Your scores are divided by √D. Here they stay undivided (chapter 5 divides them): "
    "leave the division out.",
    "divided-by-d-model": "Your scores are divided by √C: here they stay undivided.",
    "divided-by-d-head-itself": "Your scores are divided by D: here they stay undivided.",
    "no-mask": "There is no causal mask: every token sees what follows it. Set the scores of later "
    "tokens to −∞ before the softmax.",
    "mask-upside-down": "Your mask is the wrong way up: token t sees itself and what FOLLOWS it. "
    "Row t may attend to the columns 0 … t: torch.tril, not triu.",
    "mask-inverted": "Your mask is inverted: you hide what may be seen.",
    "mask-hides-self": "Your mask hides each token from itself, so the first row becomes NaN: keep "
    "the diagonal.",
    "mask-hides-self-zeros": "Your mask hides each token from itself: keep the diagonal.",
    "mask-one-too-far": "Your mask lets each token see one token of its future.",
    "mask-after-softmax": "You mask after the softmax, so the rows no longer sum to 1: mask the "
    "scores before it.",
    "mask-with-zero": "You set hidden scores to 0, but exp(0) = 1 is a weight like any other: use "
    "−∞.",
    "mask-with-small-number-1": "You hide with a small finite number, which still has a weight: "
    "use −∞.",
    "mask-with-small-number-10": "You hide with −10, which still has a weight: use −∞.",
    "mask-added": "You add the 0/1 mask to the scores: hidden ones have to become −∞.",
    "mask-finite": "You hide with a finite number: undivided scores can be lower still, and then "
    "the future leaks through. Use −∞.",
    "softmax-over-queries": "Your softmax runs over the queries: each row of weights has to sum to "
    "1, so dim=-1.",
    "softmax-over-batch": "Your softmax runs over the batch: use dim=-1.",
    "no-softmax": "Your weights are raw scores: pass them through a softmax over the keys.",
    "linear-weights": "Your weights are scores divided by their sum: use a softmax.",
    "sigmoid-weights": "Your weights come from a sigmoid: use a softmax.",
    "exp-not-normalised": "You exponentiate the scores but do not divide by the row's sum.",
    "weights-transposed": "You multiply with the transposed weights: out = weights @ v, queries in "
    "the rows.",
    "shared-qk": "Queries and keys come from the same matrix, so the scores are symmetric: use w_q "
    "for one and w_k for the other.",
    "keys-are-values": "Your values come from w_k (or your keys from w_v): each matrix has its own "
    "use.",
    "queries-and-keys-swapped": "Queries and keys are swapped: the ROWS of the scores are the "
    "queries, x @ w_q, the columns the keys. Swapped, token t asks with its key.",
    "no-projection": "Your scores are x·x: project x with w_q and w_k first.",
    "weighs-x": "You weigh x itself: the result has to be made of the values, x @ w_v.",
    "unstable": "Large scores overflow to NaN: subtract each row's largest score first, or use "
    "torch.softmax.",
    "returns-weights": "You return the weights (B, T, T): multiply them with the values.",
    "matrix-transposed": "You multiply with the transposed matrices: they are (C, D), so x @ w_q.",
    "edits-input": "You edit an argument in place: make a new tensor.",
    "fixed-dtype": "A tensor you make has a fixed floating type: use the type of x.",
    "detached": "Part of the result is cut off from the gradient.",
    "batch-mixed": "Rows of the batch influence each other.",
    "first-only": "Only the first sequence of the batch is computed.",
}

qkv = Exercise(
    "qkv",
    "Attention from three matrices",
    (ON,),
    MISTAKES,
    refused=("scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward"),
)


def oracle(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, *, fault: Fault) -> Tensor:
    """The (faulty) attention of three matrices. x (B, T, C) → (B, T, D)"""
    zero = torch.zeros(1, 1, w_q.shape[1], dtype=x.dtype)
    roles = Roles(w_q[None, None], w_k[None, None], w_v[None, None], zero, zero, zero)
    return attend(x, roles, fault)[0]


UNDIVIDED = Fault(scale="none")


def right(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """Undivided causal attention."""
    return oracle(x, w_q, w_k, w_v, fault=UNDIVIDED)


def _faulty(fault: Fault) -> Callable[..., Tensor]:
    return lambda x, q, k, v: oracle(x, q, k, v, fault=fault)


def _symmetric(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    T = x.shape[1]
    scores = (x @ x.mT).masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
    return scores.softmax(-1) @ (x @ w_v)


NAMES = [n for n in MISTAKES if n in FAULTS and FAULTS[n].scale == "sqrt_head"]
VARIANTS: dict[str, Callable[..., Tensor]] = {
    "divided": _faulty(Fault()),
    "divided-by-d-model": _faulty(FAULTS["divided-by-d-model"]),
    "divided-by-d-head-itself": _faulty(FAULTS["divided-by-d-head-itself"]),
    **{n: _faulty(replace(FAULTS[n], scale="none")) for n in NAMES},
    "shared-qk#1": lambda x, q, k, v: oracle(x, k, k, v, fault=UNDIVIDED),
    "keys-are-values": lambda x, q, k, v: oracle(x, q, k, k, fault=UNDIVIDED),
    "keys-are-values#1": lambda x, q, k, v: oracle(x, q, v, v, fault=UNDIVIDED),
    "keys-are-values#2": lambda x, q, k, v: oracle(x, q, v, k, fault=UNDIVIDED),
    "keys-are-values#3": lambda x, q, k, v: oracle(x, q, k, q, fault=UNDIVIDED),
    "queries-and-keys-swapped": lambda x, q, k, v: oracle(x, k, q, v, fault=UNDIVIDED),
    "no-projection": _symmetric,
    "first-only": lambda x, q, k, v: right(x[:1], q, k, v).expand(x.shape[0], -1, -1),
    "batch-mixed": lambda x, q, k, v: (
        right(x, q, k, v).mean(0, keepdim=True).expand(x.shape[0], -1, -1)
    ),
}


def _case(
    t: Trial, B: int, T: int, C: int, D: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    x = t.normal(B, T, C, dtype=dtype)
    return [x, *(t.normal(C, D, dtype=dtype, sd=1.1 / C**0.5) for _ in range(3))]


def _target(t: Trial, T: int, dtype: torch.dtype = torch.float32) -> tuple[Target, Tensor]:
    B, C, D = t.distinct(3, 2, 8, avoid=(T,))
    x, *matrices = _case(t, B, T, C, D, dtype)
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
        (out,) = results(t, ON, [_case(t, B, T, C, D)])
        t.tensor(out, (B, T, D), f"x ({B}, {T}, {C}) with matrices ({C}, {D})")


@qkv.prop("values", 4, "The values equal an independent calculation at T = 1, 2, 5 and 8")
def _values(t: Trial) -> None:
    cases = []
    for T in (1, 2, 5, 8):
        B, C, D = t.distinct(3, 2, 9, avoid=(T,))
        cases.append(_case(t, B, T, C, D))
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
    x, q, k, v = _case(t, 30, 5, 4, 3)
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
        x, *matrices = (a.to(getattr(torch, dtype)) for a in _case(t, 2, 5, 4, 3))
        return Target(t, ON, tuple(matrices)), x

    expect_dtypes(make, t)


@qkv.diagnosis()
def _variants(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"values", "shape"}:
        return []
    cases = [_case(t, 2, T, C, D) for T, C, D in ((5, 4, 3), (2, 6, 5), (7, 3, 4))]
    outs = results(t, ON, cases)
    if all(
        isinstance(o, Tensor) and o.shape == (2, c[0].shape[1], c[0].shape[1])
        for o, c in zip(outs, cases, strict=True)
    ):
        return [qkv.finding("returns-weights")]
    if all(
        isinstance(o, Tensor) and o.shape == c[0].shape for o, c in zip(outs, cases, strict=True)
    ):
        return [qkv.finding("weighs-x")]
    found = find_variants(t, qkv, ON, cases, right, VARIANTS, tol=2e-5)
    if found:
        return found
    for a, b, fault in pairs([*NAMES, "divided-by-d-model"]):
        both = replace(fault, scale="none" if fault.scale == "sqrt_head" else fault.scale)
        if all(agree(o, oracle(*c, fault=both), 2e-5) for o, c in zip(outs, cases, strict=True)):
            return [qkv.finding(a), qkv.finding(b)]
    return _divided_too(outs, cases)


def _divided_too(outs: list[Tensor], cases: list[list[Tensor]]) -> list[Finding]:
    """Divided (which is right elsewhere) and something else."""
    for n in NAMES:
        if all(
            agree(o, oracle(*c, fault=FAULTS[n]), 2e-5) for o, c in zip(outs, cases, strict=True)
        ):
            return [qkv.finding("divided"), qkv.finding(n)]
    return []


@qkv.diagnosis()
def _transposed(t: Trial, failed: set[str]) -> list[Finding]:
    if "shape" not in failed:
        return []
    wide, square = _case(t, 2, 4, 5, 3), _case(t, 2, 4, 3, 3)
    replies = t.subject.run([{"op": "call", "on": ON, "args": c} for c in (wide, square)])
    x, q, k, v = square
    flipped = right(x, q.T, k.T, v.T)
    out = replies[1].get("value")
    if "error" in replies[0] and isinstance(out, Tensor) and agree(out, flipped):
        return [qkv.finding("matrix-transposed")]
    return []


@qkv.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    if "pure" in failed and edits(t, ON, _case(t, 2, 5, 4, 3)):
        found.append("edits-input")
    if "stable" in failed and not failed & {"values"}:
        x, q, k, v = _case(t, 30, 5, 4, 3)
        (big,) = results(t, ON, [[x, 100 * q, 100 * k, v]])
        found.append("mask-finite" if torch.isfinite(big).all() else "unstable")
    if "dtypes" in failed and "values" not in failed:
        half = [a.half() for a in _case(t, 2, 5, 4, 3)]
        reply = t.subject.run([{"op": "call", "on": ON, "args": half}])[0]
        overflow = "overflow" in reply.get("error", {}).get("message", "")
        found.append("mask-finite" if overflow else "fixed-dtype")
    if "gradients" in failed and not failed & {"values", "dtypes"}:
        found.append("detached")
    return [qkv.finding(f) for f in dict.fromkeys(found)]

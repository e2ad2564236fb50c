"""``scaled_scores``: what must hold, and which mistake was made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course.checks.assignments.scaling.exercise import SCORES, clean_fault, scaling
from course.checks.counterexample import small_matrices
from course.checks.engine import Finding, Trial
from course.checks.functional import check_values, edits, find_variants, results
from course.checks.gradients import expect_gradients
from course.checks.toolkit import Target


def right_scores(q: Tensor, k: Tensor) -> Tensor:
    """q·k / √D."""
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def _cosine(q: Tensor, k: Tensor) -> Tensor:
    norm = torch.nn.functional.normalize
    return norm(q, dim=-1) @ norm(k, dim=-1).transpose(-2, -1)


def _dot(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)


def _causal(s: Tensor) -> Tensor:
    return s.masked_fill(~torch.ones(s.shape[-2:]).tril().bool(), float("-inf"))


SCORE_VARIANTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "not-divided": _dot,
    "divided-by-width": lambda q, k: _dot(q, k) / q.shape[-1],
    "multiplied": lambda q, k: _dot(q, k) * q.shape[-1] ** 0.5,
    "divided-by-length": lambda q, k: _dot(q, k) / k.shape[-2] ** 0.5,
    "divided-by-length#1": lambda q, k: _dot(q, k) / q.shape[-2] ** 0.5,
    "transposed": lambda q, k: right_scores(k, q),
    "softmaxed": lambda q, k: right_scores(q, k).softmax(-1),
    "masked": lambda q, k: _causal(right_scores(q, k)),
    "masked#1": lambda q, k: right_scores(q, k).tril(),
    "normalised": _cosine,
    "by-norm": lambda q, k: _dot(q, k) / q.norm(dim=-1, keepdim=True),
    "by-norm#1": lambda q, k: _dot(q, k) / (q.norm() * k.norm()),
    "standardised": lambda q, k: _dot(q, k) / _dot(q, k).std(),
    "standardised#1": lambda q, k: _dot(q, k) / _dot(q, k).std(-1, keepdim=True),
    "standardised#2": lambda q, k: (
        (_dot(q, k) - _dot(q, k).mean(-1, keepdim=True)) / _dot(q, k).std(-1, keepdim=True)
    ),
}


def _small_scores() -> Iterator[list[Tensor]]:
    for T, S, D in ((1, 1, 1), (1, 1, 2), (2, 1, 2), (2, 3, 2), (2, 3, 4)):
        for q in small_matrices(T, D):
            for k in list(small_matrices(S, D))[:2]:
                yield [q, k]


@scaling.prop("scores-values", 3, "q·k / √D, at many shapes (…, T, D) and (…, S, D)", SCORES)
def _scores_values(t: Trial) -> None:
    cases = []
    for lead in ((), (2,), (3, 2)):
        T, S, D = t.distinct(3, 4, 11)
        cases.append([t.normal(*lead, T, D), t.normal(*lead, S, D)])
    cases.append([t.normal(2, 1, 5), t.normal(2, 7, 5)])
    check_values(
        t,
        SCORES,
        cases,
        right_scores,
        small=_small_scores(),
        labels=("q", "k"),
        loosen=(0, 1),
        said=lambda c: f"q {tuple(c[0].shape)} and k {tuple(c[1].shape)}",
    )


@scaling.prop("scores-spread", 1, "The spread of the scores is 1 at every width", SCORES)
def _spread(t: Trial) -> None:
    for D in (4, 64, 256):
        q, k = t.normal(200, D), t.normal(200, D)
        out = t.tensor(t.subject.call(SCORES, q, k), (200, 200))
        # Against what these very vectors give, so that no draw is unlucky.
        sd, drawn = float(out.std()), float((q @ k.T).std()) / D**0.5
        t.expect(
            0.9 < sd / drawn < 1.1,
            f"At D = {D} the spread of your scores is {sd:.3g}, not about 1: for independent "
            f"entries q·k spreads as √D = {D**0.5:g}.",
        )


@scaling.prop("scores-clean", 1, "Nothing edited, gradients right, types kept", SCORES)
def _scores_clean(t: Trial) -> None:
    case = [t.normal(2, 3, 5), t.normal(2, 4, 5)]
    t.expect(not edits(t, SCORES, case), "An argument is edited in place.")
    for dtype in ("float64", "bfloat16", "float16"):
        (out,) = results(t, SCORES, [[a.to(getattr(torch, dtype)) for a in case]])
        got = str(getattr(out, "dtype", "")).removeprefix("torch.")
        t.expect(got == dtype, f"With {dtype} arguments the result is {got}.")
    q, k = (a.double() for a in case)
    expect_gradients(Target(t, SCORES, (k,)), q, inputs=(0, 1))


@scaling.diagnosis(SCORES)
def _score_faults(t: Trial, failed: set[str]) -> list[Finding]:
    cases = [[t.normal(2, T, D), t.normal(2, S, D)] for T, S, D in ((5, 5, 3), (4, 7, 6))]
    square = cases[:1]
    found = find_variants(t, scaling, SCORES, cases, right_scores, SCORE_VARIANTS)
    if found:
        return found
    replies = t.subject.run([{"op": "call", "on": SCORES, "args": c} for c in cases])
    out = replies[0].get("value")
    if isinstance(out, Tensor) and out.shape == square[0][0].shape:
        return [scaling.finding("elementwise")]
    turned = (
        {"batch-transposed"}
        if any(
            "must match" in r.get("error", {}).get("message", "")
            or "Expected size" in r.get("error", {}).get("message", "")
            for r in replies
        )
        else set()
    )
    if edits(t, SCORES, [t.normal(3, 4), t.normal(5, 4)]):
        turned = {"edits-input"}
    if not turned and "scores-values" not in failed:
        turned = {clean_fault(t, SCORES, [t.normal(2, 3), t.normal(2, 3)])}
    return [scaling.finding(n) for n in turned]

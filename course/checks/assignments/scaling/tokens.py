"""``effective_tokens``: what must hold, and which mistake was made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course.checks.assignments.scaling.exercise import TOKENS, clean_fault, scaling
from course.checks.engine import Finding, Trial, agree
from course.checks.functional import check_values, edits, find_variants, results
from course.checks.gradients import expect_gradients
from course.checks.toolkit import Target


def right_tokens(w: Tensor) -> Tensor:
    """The exponential of each row's entropy."""
    return torch.exp(-torch.xlogy(w, w).sum(-1))


def _entropy(w: Tensor) -> Tensor:
    return -torch.xlogy(w, w).sum(-1)


TOKEN_VARIANTS: dict[str, Callable[[Tensor], Tensor]] = {
    "entropy": _entropy,
    "entropy#1": lambda w: _entropy(w) / torch.log(torch.tensor(2.0)),
    "two-to-the-nats": lambda w: 2 ** _entropy(w),
    "e-to-the-bits": lambda w: (_entropy(w) / torch.log(torch.tensor(2.0))).exp(),
    "zero-weights": lambda w: torch.exp(-(w * w.log()).sum(-1)),
    "zero-weights#1": lambda w: torch.exp(-(w * w.log2()).sum(-1)),
    "sign": lambda w: torch.exp(-_entropy(w)),
    "over-queries": lambda w: torch.exp(-torch.xlogy(w, w).sum(-2)),
    "over-all": lambda w: torch.exp(-torch.xlogy(w, w).sum()),
    "averaged": lambda w: torch.exp(-torch.xlogy(w, w).mean(-1)),
    "participation": lambda w: 1 / (w * w).sum(-1),
    "one-over-max": lambda w: 1 / w.amax(-1),
    "count": lambda w: (w > 0).sum(-1).to(w.dtype),
    "softmax-again": lambda w: right_tokens(w.softmax(-1)),
    "kept-dimension": lambda w: right_tokens(w)[..., None],
    "leaking-epsilon": lambda w: torch.exp(-(w * (w + 1e-3).log()).sum(-1)),
    "leaking-epsilon#1": lambda w: torch.exp(-((w + 1e-3) * (w + 1e-3).log()).sum(-1)),
    "leaking-epsilon#2": lambda w: torch.exp(-(w * (w + 1e-2).log()).sum(-1)),
    "leaking-epsilon#3": lambda w: torch.exp(-(w * (w + 1e-4).log()).sum(-1)),
}


def _weights(t: Trial, *shape: int, zeros: bool = True) -> Tensor:
    w = t.normal(*shape, sd=1.5).softmax(-1)
    if zeros and shape[-1] > 2:
        hidden = torch.rand(shape, generator=t.rng) < 0.3
        hidden[..., 0] = False
        w = w.masked_fill(hidden, 0.0)
        w = w / w.sum(-1, keepdim=True)
    return w


def _small_weights() -> Iterator[list[Tensor]]:
    for row in ([[1.0]], [[0.5, 0.5]], [[1.0, 0.0]], [[0.25, 0.75]], [[0.25, 0.75], [0.5, 0.5]]):
        yield [torch.tensor(row)]


@scaling.prop("tokens-values", 3, "The exponential of each row's entropy, at many shapes", TOKENS)
def _tokens_values(t: Trial) -> None:
    cases = [[_weights(t, *s)] for s in ((4,), (3, 5), (2, 6, 7), (2, 3, 4, 9))]
    cases.append([_weights(t, 5, 64, zeros=False)])
    check_values(
        t,
        TOKENS,
        cases,
        right_tokens,
        small=_small_weights(),
        labels=("weights",),
        tol=1e-4,
        loosen=(),
        said=lambda c: f"weights {tuple(c[0].shape)}",
    )


@scaling.prop(
    "tokens-limits",
    1,
    "n equal weights count n; all the weight on one token counts 1; zeros count nothing",
    TOKENS,
)
def _limits(t: Trial) -> None:
    n = t.integer(3, 50)
    flat, one = torch.full((2, n), 1 / n), torch.zeros(2, n)
    one[:, t.integer(0, n - 1)] = 1.0
    half = torch.zeros(2, 8)
    half[:, 2:4] = 0.5
    for w, expected, said in (
        (flat, float(n), f"{n} equal weights"),
        (one, 1.0, "one weight of 1"),
        (half, 2.0, "two weights of ½ among zeros"),
    ):
        out = t.tensor(t.subject.call(TOKENS, w), (2,), f"the result for {said}")
        t.expect(
            agree(out, torch.full((2,), expected), 1e-4),
            f"For {said} the result should be {expected:g}; yours is {float(out[0]):.4g}.",
        )


@scaling.prop("tokens-clean", 1, "Nothing edited, gradients right, types kept", TOKENS)
def _tokens_clean(t: Trial) -> None:
    # Far enough from 0, where the slope of w log w is steep, for finite differences to hold.
    w = t.normal(3, 5, sd=0.3).softmax(-1)
    t.expect(not edits(t, TOKENS, [w]), "The argument is edited in place.")
    for dtype in ("float64", "bfloat16", "float16"):
        (out,) = results(t, TOKENS, [[w.to(getattr(torch, dtype))]])
        got = str(getattr(out, "dtype", "")).removeprefix("torch.")
        t.expect(got == dtype, f"With {dtype} weights the result is {got}.")
    expect_gradients(Target(t, TOKENS), w.double())


@scaling.diagnosis(TOKENS)
def _token_faults(t: Trial, failed: set[str]) -> list[Finding]:
    cases = [[_weights(t, 4, 5)], [_weights(t, 2, 3, 7)], [_weights(t, 6, 3, zeros=False)]]
    out = t.subject.call(TOKENS, cases[0][0])
    if isinstance(out, int | float):
        return [scaling.finding("not-a-tensor")]
    found = find_variants(t, scaling, TOKENS, cases, right_tokens, TOKEN_VARIANTS, tol=1e-4)
    if found:
        return found
    if edits(t, TOKENS, cases[0]):
        return [scaling.finding("edits-input")]
    if "tokens-values" not in failed:
        return [scaling.finding(clean_fault(t, TOKENS, [_weights(t, 3, 4, zeros=False)]))]
    return []

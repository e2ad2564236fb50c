"""``scaled_scores(q, k)`` and ``effective_tokens(weights)``: the measure and its remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course.checks.counterexample import small_matrices
from course.checks.engine import Exercise, Finding, Trial, agree
from course.checks.functional import check_values, edits, find_variants, results
from course.checks.gradients import expect_gradients
from course.checks.toolkit import Target

SCORES, TOKENS = "scaled_scores", "effective_tokens"

MISTAKES = {
    "not-divided": "Your scores are q·k, not divided: divide by √D, the square root of the number "
    "of terms in the dot product.",
    "divided-by-width": "You divide by D itself: divide by its square root (the VARIANCE of q·k is "
    "D, its spread √D).",
    "multiplied": "You multiply by √D: divide.",
    "divided-by-length": "You divide by the root of a number of tokens (a shape[-2]): what counts "
    "is "
    "the width D = q.shape[-1].",
    "divided-twice": "You divide q and k by √D each, so the scores by D in all: divide once.",
    "transposed": "Your scores have keys in the rows: q @ k.transpose(-2, -1), so that rows are "
    "queries.",
    "softmaxed": "You return weights: only the scores are asked for.",
    "masked": "You mask the scores: only q·k, divided, is asked for.",
    "normalised": "You normalise q and k to length 1 (a cosine): divide the plain product by √D.",
    "by-norm": "You divide by the lengths of the vectors: divide by √D.",
    "standardised": "You standardise the scores by their own mean or spread: divide by √D, which "
    "does not depend on the data.",
    "elementwise": "You multiply q and k entry by entry: the dot product sums over the features.",
    "batch-transposed": "k.T (or a wrong pair in transpose) turns the batch too: use "
    "k.transpose(-2, -1).",
    "edits-input": "You edit an argument in place: make a new tensor.",
    "detached": "The result is cut off from the gradient.",
    "fixed-dtype": "The result does not have the type of what came in.",
    "entropy": "You return the entropy: take its exponential.",
    "two-to-the-nats": "You raise 2 to an entropy in nats: log and exp need the same base (log2 "
    "with "
    "2**, log with exp).",
    "e-to-the-bits": "You take exp of an entropy in bits: log2 goes with 2**, log with exp.",
    "zero-weights": "A weight of 0 gives NaN: 0 · log 0 counts as 0 (torch.xlogy, or clamp before "
    "the log).",
    "sign": "The sign of the entropy is turned: it is MINUS the sum of w log w.",
    "over-queries": "You sum over the queries: every row has its own entropy, dim=-1.",
    "over-all": "You sum over everything: every row has its own number, shape weights.shape[:-1].",
    "averaged": "You average w log w over the keys: sum it.",
    "participation": "You return 1 / Σw², another measure: the exponential of the entropy is asked "
    "for.",
    "one-over-max": "You return 1 / max w: the exponential of the entropy is asked for.",
    "count": "You count the weights above 0: the exponential of the entropy is asked for.",
    "softmax-again": "You take a softmax of the weights: they are probabilities already.",
    "kept-dimension": "You keep the last dimension: the result has shape weights.shape[:-1].",
    "leaking-epsilon": "Your epsilon is so large that it changes the result: clamp, or xlogy.",
    "not-a-tensor": "You return a Python number: return a tensor of shape weights.shape[:-1].",
    "log-of-sum": "You take the logarithm of a sum: the entropy is the sum of w · log w.",
}

scaling = Exercise("scaling", "Divided scores and effective tokens", (SCORES, TOKENS), MISTAKES)


def right_scores(q: Tensor, k: Tensor) -> Tensor:
    """q·k / √D."""
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def right_tokens(w: Tensor) -> Tensor:
    """The exponential of each row's entropy."""
    return torch.exp(-torch.xlogy(w, w).sum(-1))


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


def _small_scores() -> Iterator[list[Tensor]]:
    for T, S, D in ((1, 1, 1), (1, 1, 2), (2, 1, 2), (2, 3, 2), (2, 3, 4)):
        for q in small_matrices(T, D):
            for k in list(small_matrices(S, D))[:2]:
                yield [q, k]


def _small_weights() -> Iterator[list[Tensor]]:
    for row in ([[1.0]], [[0.5, 0.5]], [[1.0, 0.0]], [[0.25, 0.75]], [[0.25, 0.75], [0.5, 0.5]]):
        yield [torch.tensor(row)]


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
        turned = {_unclean(t, SCORES, [t.normal(2, 3), t.normal(2, 3)])}
    return [scaling.finding(n) for n in turned]


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
        return [scaling.finding(_unclean(t, TOKENS, [_weights(t, 3, 4, zeros=False)]))]
    return []


def _unclean(t: Trial, on: str, case: list[Tensor]) -> str:
    out = t.subject.call(on, *(c.double() for c in case))
    return "detached" if isinstance(out, Tensor) and out.dtype == torch.float64 else "fixed-dtype"

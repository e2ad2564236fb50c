"""``causal_average(x)``: every position gets the mean of all tokens up to and including it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from course.checks.counterexample import small_matrices
from course.checks.engine import Exercise, Finding, Trial, agree
from course.checks.functional import check_values, edits, find_variants
from course.checks.gradients import expect_gradients
from course.checks.toolkit import (
    Target,
    expect_causal,
    expect_dtypes,
    expect_lengths,
    expect_pure,
    expect_rows_apart,
)

ON = "causal_average"

MISTAKES = {
    "sees-the-future": "Every row is the mean of the whole sequence: row t may only average the "
    "tokens 0 … t.",
    "divided-by-length": "You divide every running sum by T; row t sums t + 1 tokens, so divide by "
    "t + 1.",
    "divided-by-index": "You divide by t instead of t + 1 (the first row has one token, not none): "
    "positions count from 0.",
    "divided-by-two-more": "You divide by one too many: row t holds t + 1 tokens.",
    "excludes-itself": "Row t averages only the tokens before t: token t belongs to its own "
    "average (a slice x[:, :t] ends before t; use x[:, :t + 1]).",
    "one-too-far": "Row t also averages token t + 1, which comes after it: the slice ends one too "
    "late.",
    "summed": "Your rows are sums, not means: divide row t by t + 1.",
    "over-features": "You average over the features: average over the tokens, dimension 1.",
    "over-batch": "You average over the batch: average over the tokens, dimension 1.",
    "only-what-follows": "Row t averages only the tokens AFTER t, and the last row nothing: your "
    "mask is inverted. It should average those from the start to t, t included.",
    "reversed": "Row t averages the tokens from t to the end: it should average those from the "
    "start to t.",
    "running-halves": "You average the previous result with the new token, which halves the past "
    "at every step: all tokens so far count the same.",
    "last-two": "Row t averages only its two last tokens: average all from the start.",
    "batch-mixed": "You average over the rows of the batch too: each sequence has its own average.",
    "unchanged": "You return x as it came: row t is the mean of the tokens 0 … t.",
    "edits-input": "Your function edits x in place: write into a new tensor.",
    "fixed-dtype": "You make the result with a fixed type (torch.zeros gives float32): use "
    "torch.zeros_like(x) or x.new_zeros(…).",
    "detached": "The result is cut off from the gradient (detach, numpy, .item(), torch.tensor or "
    "no_grad).",
    "unfinished": "Your last row stays zero: the loop has to reach the last position, too.",
    "no-return": "Your function returns nothing: end it with return.",
    "median": "You take the median: the average is the mean.",
}

average = Exercise("average", "The causal average", (ON,), MISTAKES)


def right(x: Tensor) -> Tensor:
    """(B, T, C) → (B, T, C), in the input's own precision or better."""
    n = torch.arange(1, x.shape[1] + 1, dtype=torch.float64)[:, None]
    return (x.double().cumsum(1) / n).to(x.dtype)


def _matrix(x: Tensor, may: Tensor) -> Tensor:
    """Mean over the tokens that ``may`` (T, T) allows; an empty row is NaN."""
    w = may.to(x.dtype)
    return (w / w.sum(-1, keepdim=True)) @ x


def _index(x: Tensor) -> tuple[Tensor, Tensor]:
    T = x.shape[1]
    return torch.arange(T)[:, None], torch.arange(T)[None, :]


def _halves(x: Tensor) -> Tensor:
    rows = [x[:, 0]]
    for t in range(1, x.shape[1]):
        rows.append((rows[-1] + x[:, t]) / 2)
    return torch.stack(rows, 1)


def _last_two(x: Tensor) -> Tensor:
    i, j = _index(x)
    return _matrix(x, (j <= i) & (j >= i - 1))


def _from_one(x: Tensor) -> Tensor:
    return torch.stack([x[:, : max(1, t)].mean(1) for t in range(x.shape[1])], 1)


def _unfinished(x: Tensor) -> Tensor:
    out = right(x)
    out[:, -1] = 0.0
    return out


VARIANTS = {
    "unfinished": _unfinished,
    "sees-the-future": lambda x: x.mean(1, keepdim=True).expand_as(x),
    "divided-by-length": lambda x: x.cumsum(1) / x.shape[1],
    "divided-by-index": lambda x: x.cumsum(1) / torch.arange(x.shape[1])[:, None],
    "divided-by-index#1": lambda x: x.cumsum(1) / torch.arange(x.shape[1]).clamp(min=1)[:, None],
    "divided-by-two-more": lambda x: x.cumsum(1) / (torch.arange(x.shape[1]) + 2)[:, None],
    "excludes-itself": lambda x: _matrix(x, _index(x)[1] < _index(x)[0]),
    "excludes-itself#1": lambda x: _matrix(x, _index(x)[1] < _index(x)[0]).nan_to_num(0.0),
    "excludes-itself#2": _from_one,
    "one-too-far": lambda x: _matrix(x, _index(x)[1] <= _index(x)[0] + 1),
    "summed": lambda x: x.cumsum(1),
    "over-features": lambda x: x.cumsum(2) / torch.arange(1, x.shape[2] + 1),
    "over-features#1": lambda x: x.mean(2, keepdim=True).expand_as(x),
    "over-batch": lambda x: x.cumsum(0) / torch.arange(1, x.shape[0] + 1)[:, None, None],
    "over-batch#1": lambda x: x.mean(0, keepdim=True).expand_as(x),
    "reversed": lambda x: _matrix(x, _index(x)[1] >= _index(x)[0]),
    "only-what-follows": lambda x: _matrix(x, _index(x)[1] > _index(x)[0]),
    "only-what-follows#1": lambda x: _matrix(x, _index(x)[1] > _index(x)[0]).nan_to_num(0.0),
    "running-halves": _halves,
    "last-two": _last_two,
    "batch-mixed": lambda x: right(x).mean(0, keepdim=True).expand_as(x),
    "unchanged": lambda x: x,
    "median": lambda x: torch.stack([x[:, : t + 1].median(1).values for t in range(x.shape[1])], 1),
}


def _small() -> Iterator[list[Tensor]]:
    for T, C in ((1, 1), (2, 1), (3, 1), (2, 2), (3, 2)):
        for x in small_matrices(T, C):
            yield [x[None]]
    for x in small_matrices(2, 2):
        yield [x[:, None]]  # two sequences of one token


def _target(t: Trial) -> Target:
    return Target(t, ON)


@average.prop("values", 4, "The values equal an independent calculation at T = 1, 2, 5 and 8")
def _values(t: Trial) -> None:
    cases = []
    for T in (1, 2, 5, 8):
        B, C = t.distinct(2, 2, 7, avoid=(T,))
        cases.append([t.normal(B, T, C)])
    check_values(
        t,
        ON,
        cases,
        right,
        said=lambda c: f"x of shape {tuple(c[0].shape)}",
        small=_small(),
        labels=("x",),
    )


@average.prop("causal", 2, "No row depends on a later token; each depends on all before and itself")
def _causal(t: Trial) -> None:
    B, T, C = t.distinct(3, 2, 8)
    x = t.normal(B, max(T, 3), C)
    expect_causal(_target(t), x, through_gradient=False)
    huge = x.clone()
    huge[:, -1] = 1e30
    a, b = _target(t).many([x, huge])
    t.expect(agree(b[:, :-1], a[:, :-1]), "A huge last token changed the rows before it.")


@average.prop("order", 1, "The order of the earlier tokens does not matter to the last row")
def _order(t: Trial) -> None:
    x = t.normal(2, 7, 3)
    order = torch.randperm(7, generator=t.rng)
    a, b = _target(t).many([x, x[:, order]])
    t.expect(
        agree(a[:, -1], b[:, -1]),
        "Shuffling the tokens changed the last row, which is their plain mean.",
    )
    t.expect(
        not agree(a[:, 0], b[:, 0]) or bool(order[0] == 0),
        "Shuffling the tokens left the first row as it was: it should be the first token.",
    )
    t.close(b[:, -1], x.mean(1), "The last row should be the mean of all tokens.")


@average.prop(
    "lengths", 1, "A prefix gives the prefix; one token and one row work; sequences are independent"
)
def _lengths(t: Trial) -> None:
    x = t.normal(3, t.integer(6, 9), 4)
    expect_lengths(_target(t), x, t.integer(2, 5))
    expect_rows_apart(_target(t), x)


@average.prop("pure", 1, "x is not edited, and two calls agree")
def _pure(t: Trial) -> None:
    expect_pure(_target(t), t.normal(2, 5, 3))


@average.prop("gradients", 1, "The gradient with respect to x equals finite differences")
def _gradients(t: Trial) -> None:
    expect_gradients(_target(t), t.normal(2, 4, 3, dtype=torch.float64))


@average.prop("dtypes", 1, "float64, bfloat16 and float16 work and stay what they are")
def _dtypes(t: Trial) -> None:
    def make(dtype: str) -> tuple[Target, Tensor]:
        return _target(t), t.normal(2, 5, 3).to(getattr(torch, dtype))

    expect_dtypes(make, t, expected=lambda target, x: right(x.double()))


@average.diagnosis()
def _variants(t: Trial, failed: set[str]) -> list[Finding]:
    cases = [[t.normal(3, T, 4)] for T in (5, 1, 2, 7)]
    return find_variants(t, average, ON, cases, right, VARIANTS)


@average.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    x = t.normal(2, 5, 3)
    if failed & {"pure", "values", "lengths"} and edits(t, ON, [x]):
        found.append("edits-input")
    if "values" not in failed and "gradients" in failed and not found:
        found.append("detached")
    if failed & {"dtypes"} and "values" not in failed:
        found.append("fixed-dtype")
        # A result of float32 breaks the float64 gradient as well: that is one mistake, not two.
        out = t.subject.run([{"op": "call", "on": ON, "args": [x.double()]}])[0].get("value")
        if "detached" in found and isinstance(out, Tensor) and out.dtype != torch.float64:
            found.remove("detached")
    if t.subject.call(ON, x) is None:
        found.append("no-return")
    return [average.finding(f) for f in found]

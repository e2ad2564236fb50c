"""What must hold."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from course.checks.assignments.softmax.exercise import ON, softmax
from course.checks.assignments.softmax.oracle import draw_mask, right
from course.checks.counterexample import small_matrices
from course.checks.engine import Failure, Trial, agree, difference
from course.checks.functional import check_values, edits
from course.checks.gradients import expect_gradients
from course.checks.toolkit import Target


def _small() -> Iterator[list[Tensor]]:
    for S in (1, 2, 3):
        for x in small_matrices(1, S):
            for bits in range(2**S - 1, -1, -1):
                yield [x, torch.tensor([[bool(bits >> i & 1) for i in range(S)]])]
    for x in small_matrices(2, 2):
        yield [x, torch.ones(2, 2, dtype=torch.bool).tril()]


@softmax.prop("values", 4, "The weights of the visible keys are their softmax, at many shapes")
def _values(t: Trial) -> None:
    cases = []
    for T in (1, 2, 5, 8):
        B, S = t.distinct(2, 2, 9, avoid=(T,))
        cases.append([t.normal(B, T, S, sd=2.0), draw_mask(t, B, T, S)])
    H, T, S = t.distinct(3, 3, 7)
    cases.append([t.normal(2, H, T, S), draw_mask(t, 2, H, T, S)])
    zeros = t.normal(3, 4)
    zeros[:, 1] = 0.0
    mask = draw_mask(t, 3, 4)
    mask[:, :2] = True  # a score of 0 is seen, beside another one, whatever was drawn
    cases.append([zeros, mask])
    check_values(
        t,
        ON,
        cases,
        right,
        small=_small(),
        labels=("scores", "mask"),
        said=lambda c: f"scores of shape {tuple(c[0].shape)} and a mask of the same",
    )


@softmax.prop("zeros", 1, "Hidden keys get exactly 0, and every other row sums to 1")
def _zeros(t: Trial) -> None:
    scores, mask = t.normal(3, 5, 7, sd=3.0), draw_mask(t, 3, 5, 7)
    out = t.tensor(t.subject.call(ON, scores, mask), scores.shape)
    t.expect(bool((out[~mask] == 0).all()), "Hidden keys have weight: they should have exactly 0.")
    t.expect(bool(((out.sum(-1) - 1).abs() < 1e-5).all()), "Some rows do not sum to 1.")


@softmax.prop("empty-rows", 1, "A row that may attend to nothing gets zeros, the others stay right")
def _empty(t: Trial) -> None:
    scores, mask = t.normal(3, 5, 4), draw_mask(t, 3, 5, 4, empty=True)
    out = t.tensor(t.subject.call(ON, scores, mask), scores.shape)
    t.expect(not bool(torch.isnan(out).any()), "A row with nothing to attend to gives NaN.")
    t.expect(
        bool((out[0, 0] == 0).all()),
        "A row with nothing to attend to should be zeros; yours "
        f"is {[round(v, 3) for v in out[0, 0].tolist()]}.",
    )
    t.close(out, right(scores, mask), "Beside a row with nothing to attend to, values are wrong.")


@softmax.prop("broadcast", 1, "A mask (T, S), (S,) or (B, 1, 1, S) broadcasts")
def _broadcast(t: Trial) -> None:
    scores = t.normal(2, 3, 4, 5)
    causal = torch.ones(4, 5, dtype=torch.bool).tril(1)
    for mask in (causal, draw_mask(t, 5), draw_mask(t, 2, 1, 1, 5), causal[None]):
        out = t.subject.call(ON, scores, mask)
        t.close(
            out,
            right(scores, mask.expand(scores.shape)),
            f"With a mask of shape {tuple(mask.shape)} for scores of (2, 3, 4, 5) the values "
            "are wrong.",
        )


@softmax.prop(
    "stable",
    2,
    "Shifting a row changes nothing; scores of ±1e4 and a huge hidden score "
    "neither overflow nor leak",
)
def _stable(t: Trial) -> None:
    scores, mask = t.normal(4, 6), draw_mask(t, 4, 6)
    mask[:, 2] = False
    mask[:, 0] = True
    base = right(scores, mask)
    shift = t.normal(4, 1) * 10
    t.close(
        t.subject.call(ON, scores + shift, mask),
        base,
        "Adding a constant to a row of scores changed its weights.",
        1e-4,
    )
    rows = torch.tensor([[1e4], [-1e4], [0.0], [3e3]])
    for dtype in (torch.float32, torch.float64):
        s = (scores + rows).to(dtype)
        out = t.tensor(t.subject.call(ON, s, mask), s.shape)
        t.expect(
            bool(torch.isfinite(out).all()),
            f"Scores of ±1e4 give NaN or infinity ({str(dtype).removeprefix('torch.')}).",
        )
        t.expect(
            agree(out, right(s, mask), 1e-4),
            "With rows of scores near ±1e4 the weights are "
            f"wrong. {difference(out, right(s, mask))}",
        )
    for low in (-3e9, -2e30):
        s = scores.clone()
        s[:, 2] = 1e4  # hidden, and huge
        s[1] = low  # visible, and very low
        out = t.tensor(t.subject.call(ON, s, mask), s.shape)
        t.expect(
            agree(out, right(s, mask), 1e-5),
            "A hidden score of 1e4, beside a row whose "
            f"visible scores are {low:g}, changed the weights. "
            f"{difference(out, right(s, mask))}",
        )


@softmax.prop("pure", 1, "Neither argument is edited, and two calls agree")
def _pure(t: Trial) -> None:
    case = [t.normal(2, 3, 4), draw_mask(t, 2, 3, 4, empty=True)]
    t.expect(not edits(t, ON, case), "An argument is edited in place.")
    a, b = (t.subject.call(ON, *case) for _ in range(2))
    t.expect(agree(a, b, 0), "Two calls with the same arguments differ.")


@softmax.prop("gradients", 1, "The gradient with respect to the scores equals finite differences")
def _gradients(t: Trial) -> None:
    mask = draw_mask(t, 2, 3, 4)
    expect_gradients(Target(t, ON, (mask,)), t.normal(2, 3, 4, dtype=torch.float64))


@softmax.prop("dtypes", 1, "float64, bfloat16 and float16 work and stay what they are")
def _dtypes(t: Trial) -> None:
    for dtype, tol in (("float64", 1e-5), ("bfloat16", 2e-2), ("float16", 4e-3)):
        scores, mask = t.normal(2, 3, 4).to(getattr(torch, dtype)), draw_mask(t, 2, 3, 4)
        out = t.tensor(t.subject.call(ON, scores, mask), scores.shape)
        t.expect(
            out.dtype == scores.dtype,
            f"With {dtype} scores the result is "
            f"{str(out.dtype).removeprefix('torch.')}; it should stay {dtype}.",
        )
        if not agree(out, right(scores.double(), mask), tol):
            raise Failure(f"With {dtype} scores the values are wrong.")

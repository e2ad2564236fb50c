"""``masked_softmax(scores, mask)``: a softmax over the visible keys; hidden ones get exactly 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course.checks.counterexample import small_matrices
from course.checks.engine import Exercise, Failure, Finding, Trial, agree, difference
from course.checks.functional import check_values, edits, find_variants
from course.checks.gradients import expect_gradients
from course.checks.toolkit import Target

ON = "masked_softmax"

MISTAKES = {
    "inverted": "Your mask is read the wrong way round: True means MAY attend. masked_fill fills "
    "where it is True, so give it ~mask.",
    "ignored": "The mask has no effect: set the scores where it is False to −∞ before the softmax.",
    "zero-fill": "You set hidden scores to 0, but exp(0) = 1 is a weight like any other: use −∞.",
    "tiny-fill": "You set hidden scores to ±1e-9, next to 0, and exp(0) = 1: use −∞.",
    "after-softmax": "You mask after the softmax and do not normalise again: the visible weights "
    "no longer sum to 1. Mask the scores before.",
    "renormalised": "You take the softmax of ALL scores, cut, and normalise again: when a hidden "
    "score is huge, the visible weights have already rounded to 0. Mask the scores first.",
    "over-queries": "Your softmax runs over dim=-2: each row has to sum to 1, so dim=-1.",
    "over-first": "Your softmax runs over the first dimension: use dim=-1.",
    "finite-fill": "You hide with a finite number (−1e9, −1e4 …): a visible score can be lower, "
    "and "
    "then the hidden ones take over. Use float('-inf').",
    "empty-row-nan": "A row with nothing to attend to becomes NaN (0/0): it should be zeros.",
    "empty-row-uniform": "A row with nothing to attend to becomes uniform: it should be zeros.",
    "unstable": "Large scores overflow: exp(1e4) is infinite. Subtract each row's largest score "
    "before exponentiating, or use torch.softmax.",
    "one-maximum": "You subtract one maximum of the whole tensor: rows far below it underflow to "
    "0/0. Subtract each row's own (amax(dim=-1, keepdim=True)).",
    "hidden-maximum": "The maximum you subtract counts hidden scores too: when a hidden score is "
    "huge, the visible ones underflow. Mask first, then take the maximum.",
    "not-normalised": "You exponentiate but do not divide by the row's sum.",
    "log": "You return log-weights: use softmax, not log_softmax.",
    "edits-input": "Your function edits the scores (or the mask) in place: masked_fill, not "
    "masked_fill_.",
    "hides-zero-scores": "You hide scores that equal 0, also visible ones: mask by the mask, not "
    "by "
    "the value.",
    "no-broadcast": "A mask of fewer dimensions than the scores, such as (T, S) or (B, 1, 1, S), "
    "has to work: let it broadcast.",
    "fixed-dtype": "A tensor you make has a fixed floating type: the result has to have the "
    "scores' "
    "type.",
    "detached": "The result is cut off from the gradient.",
    "added": "You add the mask (0 and 1) to the scores: hidden ones have to become −∞.",
    "linear": "Your weights are the scores divided by their sum: exponentiate first.",
}

softmax = Exercise("softmax", "The masked softmax", (ON,), MISTAKES, refused=("masked",))


def right(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the visible keys; an empty row is zeros. Any shape (…, S)."""
    s = torch.where(mask, scores.double(), float("-inf"))
    return s.softmax(-1).nan_to_num(0.0).to(scores.dtype)


def _fill(value: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda s, m: torch.where(m, s, value).softmax(-1)


VARIANTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "inverted": lambda s, m: torch.where(m, float("-inf"), s).softmax(-1),
    "inverted#1": lambda s, m: torch.where(m, float("-inf"), s).softmax(-1).nan_to_num(0.0),
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


def _mask(t: Trial, *shape: int, empty: bool = False) -> Tensor:
    """A random mask in which every row may see something; with ``empty`` one row sees nothing."""
    mask = torch.rand(*shape, generator=t.rng) < 0.6
    mask[..., 0] |= ~mask.any(-1)
    if empty:
        mask.reshape(-1, shape[-1])[0] = False
    return mask


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
        cases.append([t.normal(B, T, S, sd=2.0), _mask(t, B, T, S)])
    H, T, S = t.distinct(3, 3, 7)
    cases.append([t.normal(2, H, T, S), _mask(t, 2, H, T, S)])
    zeros = t.normal(3, 4)
    zeros[:, 1] = 0.0
    cases.append([zeros, _mask(t, 3, 4)])
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
    scores, mask = t.normal(3, 5, 7, sd=3.0), _mask(t, 3, 5, 7)
    out = t.tensor(t.subject.call(ON, scores, mask), scores.shape)
    t.expect(bool((out[~mask] == 0).all()), "Hidden keys have weight: they should have exactly 0.")
    t.expect(bool(((out.sum(-1) - 1).abs() < 1e-5).all()), "Some rows do not sum to 1.")


@softmax.prop("empty-rows", 1, "A row that may attend to nothing gets zeros, the others stay right")
def _empty(t: Trial) -> None:
    scores, mask = t.normal(3, 5, 4), _mask(t, 3, 5, 4, empty=True)
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
    for mask in (causal, _mask(t, 5), _mask(t, 2, 1, 1, 5), causal[None]):
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
    scores, mask = t.normal(4, 6), _mask(t, 4, 6)
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
    case = [t.normal(2, 3, 4), _mask(t, 2, 3, 4, empty=True)]
    t.expect(not edits(t, ON, case), "An argument is edited in place.")
    a, b = (t.subject.call(ON, *case) for _ in range(2))
    t.expect(agree(a, b, 0), "Two calls with the same arguments differ.")


@softmax.prop("gradients", 1, "The gradient with respect to the scores equals finite differences")
def _gradients(t: Trial) -> None:
    mask = _mask(t, 2, 3, 4)
    expect_gradients(Target(t, ON, (mask,)), t.normal(2, 3, 4, dtype=torch.float64))


@softmax.prop("dtypes", 1, "float64, bfloat16 and float16 work and stay what they are")
def _dtypes(t: Trial) -> None:
    for dtype, tol in (("float64", 1e-5), ("bfloat16", 2e-2), ("float16", 4e-3)):
        scores, mask = t.normal(2, 3, 4).to(getattr(torch, dtype)), _mask(t, 2, 3, 4)
        out = t.tensor(t.subject.call(ON, scores, mask), scores.shape)
        t.expect(
            out.dtype == scores.dtype,
            f"With {dtype} scores the result is "
            f"{str(out.dtype).removeprefix('torch.')}; it should stay {dtype}.",
        )
        if not agree(out, right(scores.double(), mask), tol):
            raise Failure(f"With {dtype} scores the values are wrong.")


@softmax.diagnosis()
def _variants(t: Trial, failed: set[str]) -> list[Finding]:
    zeros = t.normal(3, 4, 5)
    zeros[:, :, 1] = 0.0
    cases = [
        [s, _mask(t, *s.shape, empty=True)] for s in (t.normal(2, 4, 6), t.normal(3, 5), zeros)
    ]
    cases.append([t.normal(2, 3, 4), _mask(t, 2, 3, 4)])
    return find_variants(t, softmax, ON, cases, right, VARIANTS)


@softmax.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    case = [t.normal(2, 3, 4), _mask(t, 2, 3, 4)]
    if "pure" in failed and edits(t, ON, case):
        found.append("edits-input")
    if "broadcast" in failed and "values" not in failed:
        found.append("no-broadcast")
    if "empty-rows" in failed and "values" not in failed:
        scores, mask = t.normal(2, 4), torch.tensor([[False] * 4, [True] * 4])
        out = t.subject.call(ON, scores, mask)
        found.append("empty-row-nan" if torch.isnan(out).any() else "empty-row-uniform")
    if "stable" in failed and "values" not in failed:
        found.append(_instability(t))
    if "dtypes" in failed and "values" not in failed:
        half = [t.normal(2, 3).half(), _mask(t, 2, 3)]
        reply = t.subject.run([{"op": "call", "on": ON, "args": half}])[0]
        overflow = "overflow" in reply.get("error", {}).get("message", "")
        found.append("finite-fill" if overflow else "fixed-dtype")
    if "gradients" in failed and not failed & {"values", "dtypes", "pure"}:
        found.append("detached")
    return [softmax.finding(f) for f in dict.fromkeys(found) if f]


def _instability(t: Trial) -> str:
    """Which kind of large score breaks it."""
    mask = torch.tensor([[True, True, False]])
    plain, far = torch.tensor([[1.0, 2.0, 0.5]]), torch.tensor([[900.0, 901.0, 0.5]])
    hidden, low = torch.tensor([[1.0, 2.0, 900.0]]), torch.tensor([[-4e9, -4e9, 0.5]])
    two = torch.cat([plain, far])

    def ok(s: Tensor) -> bool:
        m = mask.expand(s.shape)
        out = t.subject.call(ON, s, m)
        return isinstance(out, Tensor) and agree(out, right(s, m), 1e-4)

    if not ok(far):
        return "unstable"
    if not ok(two):
        return "one-maximum"
    if not ok(hidden):
        out = t.subject.call(ON, torch.tensor([[1.0, 2.0, 30.0]]), mask)
        exact = agree(out, right(torch.tensor([[1.0, 2.0, 30.0]]), mask), 1e-7)
        return "hidden-maximum" if exact and _subtracts(t) else "renormalised"
    return "finite-fill" if not ok(low) else ""


def _subtracts(t: Trial) -> bool:
    """Whether the source takes a maximum by hand (else it calls a softmax of all scores)."""
    source = t.subject.source or ""
    return "max" in source.replace("softmax", "")

"""What must hold."""

from __future__ import annotations

import torch
from torch import Tensor

from course.checks.assignments.head.exercise import CONTEXT, DESIGN, head, sizes
from course.checks.attention_checks import (
    check_values,
    weight_dropout_seen,
)
from course.checks.engine import Trial, agree
from course.checks.gradients import expect_gradients
from course.checks.toolkit import (
    Target,
    build,
    expect_causal,
    expect_dtypes,
    expect_lengths,
    expect_pure,
    expect_registered,
    expect_rows_apart,
)


@head.prop("shape", 1, "x (B, T, d_model) becomes (B, T, d_head), for every T up to context_length")
def _shape(t: Trial) -> None:
    for C, D, B, T, n in ((12, 5, 2, 7, 9), (5, 7, 3, 1, 4), (6, 4, 1, 11, 11)):
        out = build(t, "Head", [C, D, n])(t.normal(B, T, C))
        t.tensor(out, (B, T, D), f"Head({C}, {D}, {n}) on x of shape ({B}, {T}, {C})")


@head.prop("values", 4, "The values equal an independent calculation at T = 1, 2, 5 and 8")
def _values(t: Trial) -> None:
    check_values(t, DESIGN, (1, 2, 5, 8))


@head.prop("causal", 2, "No output depends on a later token; each depends on all before and itself")
def _causal(t: Trial) -> None:
    args, C = sizes(t)
    T = t.integer(4, 7)
    expect_causal(build(t, "Head", args), t.normal(2, T, C))


@head.prop(
    "weights",
    1,
    "Equal tokens give the plain average; huge scores, masked or not, leak "
    "nothing and overflow nowhere",
)
def _weights(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, "Head", args)
    same = t.normal(2, 1, C).expand(2, 6, C).clone()
    out = target(same)
    t.expect(
        agree(out, out[:, :1].expand_as(out)),
        "With equal tokens every weight is equal, and "
        "every output is that token's value; yours differ between positions.",
    )
    zero = target(torch.zeros(1, 3, C))
    t.expect(
        bool(torch.isfinite(zero).all()),
        "With x = 0, where all scores may be 0, your output "
        "has NaN: a visible score of 0 is a score like any other.",
    )
    for big in (30.0, 1e3):
        # Enough rows that some visible score is far below zero, where a finite mask shows.
        target = build(t, "Head", args)
        x = t.normal(40, 5, C)
        y = x.clone()
        y[:, 4] *= big
        a, b, large, single = target.many([x, y, x * big, x[:, :1] * big])
        t.expect(
            agree(b[:, :4], a[:, :4]),
            "A token with a huge key changed the outputs before "
            f"it (its entries were multiplied by {big:g}): the mask leaks.",
        )
        t.expect(
            bool(torch.isfinite(large).all()),
            f"Large scores (entries of x times {big:g}) give NaN or infinite outputs.",
        )
        t.expect(
            agree(large[:, :1], single),
            "With large scores (entries of x times "
            f"{big:g}) the first output depends on later tokens: the mask leaks.",
        )


@head.prop(
    "lengths",
    1,
    "A prefix gives the prefix; shorter after longer, one token, one row work; "
    "rows of the batch are independent",
)
def _lengths(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, "Head", args)
    T = t.integer(6, CONTEXT)
    x = t.normal(3, T, C)
    expect_lengths(target, x, t.integer(2, T - 1))
    expect_rows_apart(target, x)


@head.prop(
    "pure", 1, "The input is not edited, and two calls in evaluation agree (dropout set too)"
)
def _pure(t: Trial) -> None:
    args, C = sizes(t)
    expect_pure(build(t, "Head", args), t.normal(2, 5, C))
    expect_pure(build(t, "Head", [*args, 0.5]), t.normal(2, 5, C))


def training_dropout(t: Trial) -> str:
    """Build with dropout, look at what it does in training to single tokens."""
    args, C = sizes(t)
    p = 0.4
    target = build(t, "Head", [*args, p])
    x = t.normal(64, 1, C)
    kept = target(x)
    t.tensor(kept, (64, 1, args[1]))
    target.mode(True)
    dropped = target(x, seed=t.integer(0, 10**6))
    t.tensor(dropped, kept.shape)
    return weight_dropout_seen(dropped[:, 0], kept[:, 0], p)


@head.prop(
    "dropout",
    1,
    "In training dropout falls on the weights, after the softmax; in evaluation it is off",
)
def _dropout(t: Trial) -> None:
    args, C = sizes(t)
    x = t.normal(2, 5, C)
    target = build(t, "Head", [*args, 0.5])
    a, b = (target(x, seed=s) for s in (1, 2))
    t.expect(agree(a, b, 1e-6), "In evaluation, with dropout = 0.5, two calls differ.")
    seen = training_dropout(t)
    said = {
        "none": "dropout = 0.4 changes nothing in training.",
        "unscaled": "what dropout keeps is not scaled by 1 / (1 − p).",
        "elements": "dropout falls on single features, not on whole weights.",
        "other": "what dropout does in training is not what dropping weights does.",
    }
    t.expect(seen == "weights", f"With single tokens, {said.get(seen, '')}")
    args, C = sizes(t)
    target = build(t, "Head", [*args, 0.4])
    x = t.normal(1, 3, C).expand(400, 3, C).clone()
    calm = target(x)[:1]
    target.mode(True)
    noisy = target(x, seed=t.integer(0, 10**6))
    spread = noisy.std(0) / 20
    gap = ((noisy.mean(0) - calm[0]).abs() / (spread + 1e-4 * (1 + calm[0].abs()))).max()
    t.expect(float(gap) < 8, "In training the results are not, on average, those of evaluation.")


@head.prop("gradients", 1, "Every parameter's gradient exists and equals finite differences")
def _gradients(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, "Head", args, dtype="float64")
    expect_gradients(target, t.normal(2, 4, C, dtype=torch.float64))


@head.prop("registered", 1, "Parameters are registered: counted, saved, loaded, moved")
def _registered(t: Trial) -> None:
    args, C = sizes(t)
    expect_registered(
        build(t, "Head", args), lambda: build(t, "Head", args), t.normal(2, 4, C), 3 * C * args[1]
    )


@head.prop("dtypes", 1, "float64, bfloat16 and float16 modules work and keep their type")
def _dtypes(t: Trial) -> None:
    args, C = sizes(t)

    def make(dtype: str) -> tuple[Target, Tensor]:
        target = build(t, "Head", args, dtype=dtype)
        return target, t.normal(2, 5, C).to(getattr(torch, dtype))

    expect_dtypes(make, t)

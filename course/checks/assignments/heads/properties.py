"""What must hold."""

from __future__ import annotations

import torch
from torch import Tensor

from course.checks.assignments.heads.exercise import CLS, CONTEXT, DESIGN, heads, sizes
from course.checks.attention_checks import (
    check_values,
    several_heads_dropout_seen,
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


@heads.prop(
    "shape",
    1,
    "x (B, T, d_model) keeps its shape, for every T up to context_length, also with one head",
)
def _shape(t: Trial) -> None:
    for C, H, B, T, n in ((12, 3, 2, 7, 9), (6, 1, 3, 1, 4), (8, 4, 1, 11, 11)):
        out = build(t, CLS, [C, H, n])(t.normal(B, T, C))
        t.tensor(out, (B, T, C), f"{CLS}({C}, {H}, {n}) on x of shape ({B}, {T}, {C})")


@heads.prop("values", 5, "The values equal an independent calculation at T = 1, 2, 5 and 9")
def _values(t: Trial) -> None:
    check_values(t, DESIGN, (1, 2, 5, 9))


@heads.prop(
    "causal", 2, "No output depends on a later token; each depends on all before and itself"
)
def _causal(t: Trial) -> None:
    args, C = sizes(t)
    expect_causal(build(t, CLS, args), t.normal(2, t.integer(4, 7), C))


@heads.prop(
    "weights",
    1,
    "Equal tokens give equal outputs; huge scores, masked or not, leak nothing "
    "and overflow nowhere",
)
def _weights(t: Trial) -> None:
    for big in (30.0, 1e3):
        args, C = sizes(t)
        target = build(t, CLS, args)
        same = t.normal(2, 1, C).expand(2, 6, C).clone()
        x = t.normal(40, 5, C)
        y = x.clone()
        y[:, 4] *= big
        out, a, b, large, single = target.many([same, x, y, x * big, x[:, :1] * big])
        t.expect(
            agree(out, out[:, :1].expand_as(out)),
            "With equal tokens every output should be the same; yours differ between positions.",
        )
        t.expect(
            agree(b[:, :4], a[:, :4]),
            "A token with a huge key changed the outputs before it: the mask leaks.",
        )
        t.expect(bool(torch.isfinite(large).all()), "Large scores give NaN or infinite outputs.")
        t.expect(
            agree(large[:, :1], single),
            "With large scores the first output depends on later tokens: the mask leaks.",
        )


@heads.prop(
    "lengths",
    1,
    "A prefix gives the prefix; shorter after longer, one token, one row work; "
    "rows of the batch are independent",
)
def _lengths(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, CLS, args)
    T = t.integer(6, CONTEXT)
    x = t.normal(3, T, C)
    expect_lengths(target, x, t.integer(2, T - 1))
    expect_rows_apart(target, x)


@heads.prop(
    "pure", 1, "The input is not edited, and two calls in evaluation agree (dropout set too)"
)
def _pure(t: Trial) -> None:
    args, C = sizes(t)
    expect_pure(build(t, CLS, args), t.normal(2, 5, C))
    expect_pure(build(t, CLS, [*args, 0.5]), t.normal(2, 5, C))


def training_dropout(t: Trial) -> str:
    """Where dropout acts in training."""
    C = t.pick([8, 10, 14])
    target = build(t, CLS, [C, 2, CONTEXT, 0.4])
    x = t.normal(1, 1, C).expand(400, 1, C).clone()
    kept = t.tensor(target(x), x.shape)
    target.mode(True)
    dropped = t.tensor(target(x, seed=t.integer(0, 10**6)), x.shape)
    return several_heads_dropout_seen(dropped[:, 0], kept[0, 0])


@heads.prop(
    "dropout",
    1,
    "In training dropout falls on the weights, after the softmax (on the output "
    "too, if you like); in evaluation it is off",
)
def _dropout(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, CLS, [*args, 0.4])
    x = t.normal(1, 3, C).expand(400, 3, C).clone()
    a, b = (target(x[:2], seed=s) for s in (1, 2))
    t.expect(agree(a, b, 1e-6), "In evaluation, with dropout = 0.4, two calls differ.")
    seen = training_dropout(t)
    said = {
        "none": "dropout = 0.4 changes nothing in training.",
        "output": "dropout falls on the output only, not on the weights of the heads.",
        "elements": "dropout falls on single features, not on whole weights.",
    }
    t.expect(seen == "weights", f"With single tokens, {said.get(seen, '')}")
    target.mode(True)
    noisy = target(x, seed=t.integer(0, 10**6))
    spread = noisy.std(0) / 20
    gap = ((noisy.mean(0) - a[0]).abs() / (spread + 1e-4 * (1 + a[0].abs()))).max()
    t.expect(
        float(gap) < 8,
        "In training the results are not, on average, those of evaluation: "
        "what is kept grows by 1 / (1 − p).",
    )


@heads.prop("gradients", 1, "Every parameter's gradient exists and equals finite differences")
def _gradients(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, CLS, args, dtype="float64")
    expect_gradients(target, t.normal(2, 4, C, dtype=torch.float64))


@heads.prop("registered", 1, "Parameters are registered: counted, saved, loaded, moved")
def _registered(t: Trial) -> None:
    args, C = sizes(t)
    expect_registered(
        build(t, CLS, args), lambda: build(t, CLS, args), t.normal(2, 4, C), 4 * C * C
    )


@heads.prop("dtypes", 1, "float64, bfloat16 and float16 modules work and keep their type")
def _dtypes(t: Trial) -> None:
    args, C = sizes(t)

    def make(dtype: str) -> tuple[Target, Tensor]:
        target = build(t, CLS, args, dtype=dtype)
        return target, t.normal(2, 5, C).to(getattr(torch, dtype))

    expect_dtypes(make, t)

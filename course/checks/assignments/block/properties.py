"""What must hold of a block."""

from __future__ import annotations

import torch
from torch import Tensor

from course.checks.assignments.block.exercise import CLS, CONTEXT, block
from course.checks.assignments.block.oracle import ACTIVATIONS, hit, make, right_block, sizes
from course.checks.engine import Failure, Trial, agree, difference
from course.checks.gradients import expect_gradients
from course.checks.toolkit import (
    Target,
    build,
    expect_causal,
    expect_dtypes,
    expect_lengths,
    expect_pure,
    expect_registered,
)


@block.prop("shape", 1, "x (B, T, d_model) keeps its shape, for every T up to context_length")
def _shape(t: Trial) -> None:
    for C, H, B, T, n in ((12, 3, 2, 7, 9), (8, 2, 1, 1, 4), (6, 1, 3, 5, 5)):
        out = build(t, CLS, [C, H, n])(t.normal(B, T, C))
        t.tensor(out, (B, T, C), f"{CLS}({C}, {H}, {n}) on x of shape ({B}, {T}, {C})")


@block.prop("values", 4, "The values are those of x + attention(norm(x)), then + MLP(norm(·))")
def _values(t: Trial) -> None:
    args = sizes(t)
    for T in (1, 4, 7):
        target, parts = make(t, args)
        if parts.roles is None or not parts.mlp:
            raise Failure(
                "Your block's matrices do not fit: four of the attention (or fused) and "
                "two of the MLP, (d_model, 4 d_model) and back. Found: "
                + ", ".join(f"{n} {tuple(p.shape)}" for n, p in target.parameters if p.dim() >= 2)
                + "."
            )
        x = t.normal(2, T, args[0])
        out = t.tensor(target(x), x.shape)
        trials = [
            right_block(x, parts.roles, pair, f) for pair in parts.mlp for f in ACTIVATIONS.values()
        ]
        if not any(hit(out, e) for e in trials):
            stack = torch.cat(trials)
            near = stack[(stack - out).abs().nan_to_num(1e9).flatten(1).mean(1).argmin()]
            raise Failure(f"With T = {T} the values are wrong. {difference(out, near)}")


@block.prop("identity", 1, "With all matrices and biases at zero the block is the identity")
def _identity(t: Trial) -> None:
    args = sizes(t)
    target, _ = make(t, args, only="none")
    x = t.normal(2, 5, args[0]) * 3 + 1
    t.close(
        target(x),
        x,
        "With every matrix and bias at zero both branches are zero, and the block should return x.",
        1e-5,
    )


@block.prop(
    "pre-norm",
    2,
    "Each branch reads a normalised copy of the stream and is added to the stream itself",
)
def _pre_norm(t: Trial) -> None:
    args = sizes(t)
    for only, said in (("attention", "attention"), ("mlp", "MLP")):
        target, _ = make(t, args, only=only)
        x = t.normal(2, 5, args[0])
        a, b = target.many([x, 50 * x])
        t.tensor(a, x.shape)
        t.expect(
            agree((b - 50 * x), (a - x), 5e-3),
            f"With x fifty times as large, what the {said} "
            "branch adds should stay the same, because it reads a normalised copy.",
        )


@block.prop("norms", 1, "Two distinct LayerNorms, each with its own gain")
def _norms(t: Trial) -> None:
    args = sizes(t)
    target, parts = make(t, args)
    t.expect(
        len(parts.gains) >= 2,
        f"Your block has {len(parts.gains)} norm(s) with a gain; each branch has its own.",
    )
    x = t.normal(2, 4, args[0])
    before = target(x)
    changed = []
    for n in parts.gains:
        old = dict(target.parameters)[n]
        t.subject.ask([{"op": "set", "on": target.on, "values": {n: old * 2}}])
        changed.append(not agree(target(x), before, 1e-6))
        t.subject.ask([{"op": "set", "on": target.on, "values": {n: old}}])
    t.expect(sum(changed) >= 2, "Only one norm's gain changes the result.")


@block.prop("mlp", 2, "The MLP is 4 · d_model wide, non-linear, and works on each position alone")
def _mlp(t: Trial) -> None:
    args = sizes(t)
    C = args[0]
    target, parts = make(t, args, only="mlp")
    t.expect(
        parts.width == 4 * C,
        f"With d_model = {C} the MLP's hidden layer should be {4 * C} wide; "
        f"yours is {parts.width or 'not found'}.",
    )
    x = t.normal(2, 5, C)
    y = x.clone()
    y[:, 2] += 1.0
    a, b = target.many([x, y])
    t.expect(
        agree(b[:, [0, 1, 3, 4]], a[:, [0, 1, 3, 4]]),
        "With the attention switched off, "
        "changing one token changed the result of another: the MLP mixes tokens.",
    )
    # An odd function has f(−h) = −f(h); a linear one is odd, GELU and ReLU are not.
    c = target(-x)
    t.expect(
        not agree(-(c + x), a - x, 1e-4),
        "With the attention switched off, turning the sign of "
        "x turns the sign of what the MLP adds: it has no activation that bends.",
    )


@block.prop(
    "causal", 1, "No output depends on a later token; each depends on all before and itself"
)
def _causal(t: Trial) -> None:
    args = sizes(t)
    target = build(t, CLS, args)
    expect_causal(target, t.normal(2, 5, args[0]))
    expect_lengths(target, t.normal(3, CONTEXT, args[0]), 4)


@block.prop(
    "pure", 1, "The input is not edited, and two calls in evaluation agree (dropout set too)"
)
def _pure(t: Trial) -> None:
    args = sizes(t)
    expect_pure(build(t, CLS, args), t.normal(2, 5, args[0]))
    expect_pure(build(t, CLS, [*args, 0.5]), t.normal(2, 5, args[0]))


@block.prop("dropout", 1, "Dropout acts in training, on the branches and not on the stream")
def _dropout(t: Trial) -> None:
    args = sizes(t)
    x = t.normal(2, 5, args[0])
    target, _ = make(t, [*args, 0.5])
    target.mode(True)
    a, b = (target(x, seed=s) for s in (1, 2))
    t.expect(not agree(a, b, 1e-6), "In training dropout = 0.5 has no effect.")
    still, _ = make(t, [*args, 0.5], only="none")
    still.mode(True)
    t.close(
        still(x, seed=3),
        x,
        "With both branches at zero, dropout in training should leave the stream alone.",
    )


@block.prop("gradients", 1, "Every parameter's gradient exists and equals finite differences")
def _gradients(t: Trial) -> None:
    args = sizes(t)
    target = build(t, CLS, args, dtype="float64")
    expect_gradients(target, t.normal(2, 4, args[0], dtype=torch.float64))


@block.prop("registered", 1, "Parameters are registered; float64 and half precision work")
def _registered(t: Trial) -> None:
    args = sizes(t)
    C = args[0]
    expect_registered(
        build(t, CLS, args), lambda: build(t, CLS, args), t.normal(2, 4, C), 12 * C * C
    )

    def typed(dtype: str) -> tuple[Target, Tensor]:
        return build(t, CLS, args, dtype=dtype), t.normal(2, 5, C).to(getattr(torch, dtype))

    expect_dtypes(typed, t)

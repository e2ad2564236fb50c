"""Gradients of a learner's module or function, held against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from course.checks.engine import Failure
from course.checks.toolkit import Target

# Steps to either side. The long one survives a softmax done in float32; the short one is tried
# where the long one disagrees, for it seldom reaches the corner of a ReLU. At a corner the gradient
# is the slope on one side, so each side counts as well as both together.
STEPS = (1e-3, 1e-5)
TOL = 0.02


def expect_gradients(
    target: Target,
    x: Tensor,
    *,
    may_be_missing: Callable[[str], bool] = lambda n: False,
    inputs: Sequence[int] = (0,),
) -> None:
    """Every parameter's gradient exists and equals finite differences. Wants a float64 target.

    Each gradient is compared along one random direction: the slope of ``sum(g * out)`` there.

    Args:
        may_be_missing: the parameters, by name, that need not get a gradient.
        inputs: the numbers of the arguments whose gradients are compared too.

    Raises:
        Failure: a gradient is missing or differs.
    """
    t = target.t
    out = target(x)
    g = t.normal(*out.shape, dtype=torch.float64)
    reply = target.vjp(x, g, inputs)
    got: dict[str, Any] = dict(reply["parameters"])
    for i, grad in zip(inputs, reply["inputs"], strict=True):
        t.expect(
            grad is not None,
            f"No gradient reaches argument {i + 1}: is something detached, "
            "or computed under no_grad?",
        )
    for n, _ in target.parameters:
        if got.get(n) is None and not may_be_missing(n):
            raise Failure(
                f"The parameter `{n}` gets no gradient: it is not used, or something is detached."
            )
    arguments = [x, *target.rest]
    moves: list[tuple[int | str, Tensor, float]] = []  # what moves, whither, and the slope claimed
    for i, grad in zip(inputs, reply["inputs"], strict=True):
        u = t.normal(*arguments[i].shape, dtype=arguments[i].dtype)
        moves.append((i, u, float((grad.double() * u.double()).sum())))
    for n, p in target.parameters:
        if got.get(n) is not None:
            u = t.normal(*p.shape, dtype=p.dtype)
            moves.append((n, u, float((got[n].double() * u.double()).sum())))
    for step in STEPS:
        measured = _slopes(target, arguments, moves, out, g, step)
        floor = max(1.0, float(g.norm()) * 0.3)
        moves = [
            (what, u, slope)
            for (what, u, slope), ways in zip(moves, measured, strict=True)
            if not any(abs(slope - m) <= TOL * max(floor, abs(m)) for m in ways)
        ]
        if not moves:
            return
    what, _, slope = moves[0]
    named = f"parameter `{what}`" if isinstance(what, str) else f"argument {what + 1}"
    ((truth, *_),) = _slopes(target, arguments, moves[:1], out, g, STEPS[-1])
    raise Failure(
        f"The gradient for {named} is {slope:.4g} along a direction in which the result "
        f"really changes by {truth:.4g}: part of it is detached or overwritten."
    )


def _slopes(
    target: Target,
    arguments: Sequence[Any],
    moves: Sequence[tuple[int | str, Tensor, float]],
    base: Tensor,
    g: Tensor,
    step: float,
) -> list[tuple[float, float, float]]:
    """The slope of ``sum(g * out)`` along each move: across, ahead and behind."""
    program: list[dict[str, Any]] = []
    values = dict(target.parameters)
    call = {"op": "call", "on": target.on, "kwargs": target.kwargs}
    for what, u, _ in moves:
        for sign in (1, -1):
            moved = list(arguments)
            if isinstance(what, int):
                moved[what] = arguments[what] + sign * step * u
            else:
                shifted = {what: values[what] + sign * step * u}
                program.append({"op": "set", "on": target.on, "values": shifted})
            program.append({**call, "args": moved})
        if isinstance(what, str):
            program.append({"op": "set", "on": target.on, "values": {what: values[what]}})
    replies = target.t.subject.ask(program)
    outs = [r["value"] for r in replies if isinstance(r.get("value"), Tensor)]
    ahead = [float(((o.double() - base.double()) * g).sum() / step) for o in outs[0::2]]
    behind = [float(((base.double() - o.double()) * g).sum() / step) for o in outs[1::2]]
    return [((a + b) / 2, a, b) for a, b in zip(ahead, behind, strict=True)]

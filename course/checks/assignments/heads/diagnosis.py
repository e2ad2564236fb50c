"""Which named mistake was made."""

from __future__ import annotations

import torch
from torch import Tensor

from course.checks.assignments.heads.exercise import CLS, CONTEXT, DESIGN, heads, sizes
from course.checks.assignments.heads.properties import training_dropout
from course.checks.attention_checks import (
    find_faults,
)
from course.checks.engine import Finding, Trial, agree, fitting
from course.checks.oracles import FAULTS, Fault, attend, spelled_out
from course.checks.roles import multi_head_roles
from course.checks.toolkit import (
    Target,
    build,
    twice,
)


@heads.diagnosis()
def _identity(t: Trial, failed: set[str]) -> list[Finding]:
    args, C = sizes(t)
    x = t.normal(2, 5, C)
    out = build(t, CLS, args)(x)
    if isinstance(out, tuple | list):
        return [heads.finding("returns-tuple")]
    if isinstance(out, Tensor) and out.dim() == 4:
        return [heads.finding("returns-weights")]
    return [heads.finding("identity")] if isinstance(out, Tensor) and agree(out, x) else []


@heads.diagnosis()
def _faults(t: Trial, failed: set[str]) -> list[Finding]:
    if "values" not in failed:
        return []
    return (
        find_faults(t, DESIGN, heads, also={"output-unused": Fault(merge="no_output")})
        or _without_output(t)
        or _shared(t)
        or _undivided_width(t)
    )


def _built(t: Trial) -> tuple[Target, list[int], Tensor, Tensor]:
    C, H = t.pick([(10, 2), (12, 2), (14, 2)])
    args = [C, H, CONTEXT]
    target = build(t, CLS, args)
    x = t.normal(3, 5, C)
    return target, args, x, target(x)


def _hit(out: Tensor, expected: Tensor) -> bool:
    return bool(fitting(out, expected, 2e-5).any())


def _without_output(t: Trial) -> list[Finding]:
    """Three matrices only: is it right but for the output projection?"""
    target, args, x, out = _built(t)
    roles = multi_head_roles(target.parameters, args[0], args[1], output=False)
    if roles is not None and _hit(out, attend(x, roles)):
        return [heads.finding("no-output-projection")]
    if roles is None:
        return []
    for name in spelled_out(DESIGN.faults):
        if _hit(out, attend(x, roles, FAULTS[name])):
            return [
                heads.finding("no-output-projection"),
                heads.finding(
                    name.split("#")[0],
                    d_model=args[0],
                    d_head=args[0] // args[1],
                    n_heads=args[1],
                    ratio=round(args[1] ** 0.5, 2),
                ),
            ]
    return []


def _shared(t: Trial) -> list[Finding]:
    """One head's matrices for all heads: (D, C) three times and an output (C, C)."""
    target, args, x, out = _built(t)
    C, H = args[0], args[1]
    D = C // H
    repeated = []
    for n, p in target.parameters:
        if p.numel() in (C * D, D) and not (p.numel() == D and p.dim() > 1):
            axis = 0 if p.shape[0] == D else 1
            p = torch.cat([p] * H, axis)
        repeated.append((n, p))
    roles = multi_head_roles(repeated, C, H)
    return [heads.finding("repeated-head")] if roles and _hit(out, attend(x, roles)) else []


def _undivided_width(t: Trial) -> list[Finding]:
    """The oracle with a single head of the full width."""
    target, args, x, out = _built(t)
    roles = multi_head_roles(target.parameters, args[0], 1)
    scales = ("sqrt_head", "none")
    found = roles is not None and any(
        _hit(out, attend(x, roles, FAULTS["not-divided"] if s == "none" else Fault()))
        for s in scales
    )
    if not found and roles is not None:
        # Divided by the root of the width a head would have.
        D = args[0] // args[1]
        roles.wq *= args[0] ** 0.5 / D**0.5
        roles.bq *= args[0] ** 0.5 / D**0.5
        found = _hit(out, attend(x, roles))
    return [heads.finding("one-wide-head")] if found else []


@heads.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    args, C = sizes(t)
    x = t.normal(3, 5, C)
    if not build(t, CLS, args).parameters:
        found.append("not-registered")
    elif "registered" in failed and "values" in failed:
        count = sum(p.numel() for _, p in build(t, CLS, args).parameters)
        if count <= C * C + C:
            found.append("not-registered")
    if "pure" in failed or "dropout" in failed:
        plain, with_dropout = build(t, CLS, args), build(t, CLS, [*args, 0.5])
        if t.subject.ask([plain.op(x, pure=True)])[0]["changed"]:
            found.append("edits-input")
        elif not twice(plain, x):
            found.append("random")
        elif not twice(with_dropout, x):
            found.append("dropout-in-evaluation")
    if "dropout" in failed and not found:
        seen = training_dropout(t)
        if seen == "none":
            target = build(t, CLS, [*args, 0.5])
            calm = target(x)
            target.mode(True)
            moved = not agree(target(x, seed=3), calm)
            found.append("dropout-on-scores" if moved else "dropout-ignored")
        else:
            found.append(
                {"output": "dropout-on-output", "elements": "dropout-on-elements"}.get(
                    seen, "dropout-unscaled"
                )
            )
    return [heads.finding(f) for f in found]


@heads.diagnosis()
def _context(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"lengths", "shape", "values", "causal"}:
        return []
    args, C = sizes(t)
    target = build(t, CLS, args)
    full, short = t.subject.run([target.op(t.normal(2, n, C)) for n in (CONTEXT, CONTEXT - 3)])
    return [heads.finding("only-context-length")] if "value" in full and "error" in short else []


@heads.diagnosis()
def _numbers(t: Trial, failed: set[str]) -> list[Finding]:
    if "values" in failed:
        return []
    found = []
    args, C = sizes(t)
    if "weights" in failed:
        target = build(t, CLS, args)
        x = t.normal(40, 5, C)
        large, zero = target.many([x * 1e3, x * 0])
        if torch.isnan(zero).any():
            found.append("masks-zero-scores")
        else:
            found.append("mask-finite" if torch.isfinite(large).all() else "unstable")
    if "gradients" in failed and not failed & {"registered", "dtypes"}:
        found.append("detached")
    if "dtypes" in failed:
        half = build(t, CLS, args, dtype="float16")
        reply = t.subject.run([half.op(t.normal(2, 5, C).half())])[0]
        overflow = "overflow" in reply.get("error", {}).get("message", "")
        found.append("mask-finite" if overflow else "fixed-dtype")
    if "lengths" in failed:
        found.append("heads-as-batch-mixed")
    return [heads.finding(f) for f in dict.fromkeys(found)]

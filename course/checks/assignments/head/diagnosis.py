"""Which named mistake was made."""

from __future__ import annotations

import torch
from torch import Tensor

from course.checks.assignments.head.exercise import CONTEXT, DESIGN, head, sizes
from course.checks.assignments.head.properties import training_dropout
from course.checks.attention_checks import (
    find_faults,
)
from course.checks.engine import Finding, Trial, agree
from course.checks.toolkit import (
    build,
    twice,
)


@head.diagnosis()
def _faults(t: Trial, failed: set[str]) -> list[Finding]:
    if failed & {"values"}:
        return find_faults(t, DESIGN, head)
    return []


@head.diagnosis()
def _shapes(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"shape", "values"}:
        return []
    C, D, T = 12, 5, 7
    out = build(t, "Head", [C, D, CONTEXT])(t.normal(2, T, C))
    if isinstance(out, tuple | list):
        return [head.finding("returns-tuple")]
    if isinstance(out, Tensor) and tuple(out.shape) == (2, T, T):
        return [head.finding("returns-weights")]
    if isinstance(out, Tensor) and tuple(out.shape) == (2, T, C):
        matrices = [p for _, p in build(t, "Head", [C, D, CONTEXT]).parameters if p.dim() > 1]
        return [head.finding("values-are-x" if len(matrices) <= 2 else "output-width")]
    return []


@head.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    args, C = sizes(t)
    x = t.normal(3, 5, C)
    if failed & {"registered", "values"} and not build(t, "Head", args).parameters:
        found.append("not-registered")
    if "pure" in failed or "dropout" in failed:
        plain, with_dropout = build(t, "Head", args), build(t, "Head", [*args, 0.5])
        reply = t.subject.ask([plain.op(x, pure=True)])[0]
        if reply["changed"]:
            found.append("edits-input")
        elif not twice(plain, x):
            found.append("random")
        elif not twice(with_dropout, x):
            found.append("dropout-in-evaluation")
    if "dropout" in failed and not found:
        seen = training_dropout(t)
        found += {
            "none": ["dropout-ignored"],
            "unscaled": ["dropout-unscaled"],
            "elements": ["dropout-on-output"],
        }.get(seen, [])
        if seen == "none":
            target = build(t, "Head", [*args, 0.5])
            calm = target(x)
            target.mode(True)
            if not agree(target(x, seed=3), calm):
                found = [f for f in found if f != "dropout-ignored"] + ["dropout-on-scores"]
    return [head.finding(f) for f in found]


@head.diagnosis()
def _context(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"lengths", "shape", "values", "causal"}:
        return []
    args, C = sizes(t)
    target = build(t, "Head", args)
    full, short = t.subject.run([target.op(t.normal(2, n, C)) for n in (CONTEXT, CONTEXT - 3)])
    return [head.finding("only-context-length")] if "value" in full and "error" in short else []


@head.diagnosis()
def _numbers(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    args, C = sizes(t)
    if "weights" in failed and "values" not in failed:
        target = build(t, "Head", args)
        x = t.normal(40, 5, C)
        large, zero = target.many([x * 1e3, x * 0])
        if torch.isnan(zero).any():
            found.append("masks-zero-scores")
        else:
            found.append("mask-finite" if torch.isfinite(large).all() else "unstable")
    if "gradients" in failed and not failed & {"values", "registered"}:
        target = build(t, "Head", args, dtype="float64")
        x = t.normal(2, 4, C, dtype=torch.float64)
        if not t.subject.run([target.op(x)])[0].get("error"):
            found.append("detached")
    if "dtypes" in failed and not failed & {"values"}:
        half = build(t, "Head", args, dtype="float16")
        reply = t.subject.run([half.op(t.normal(2, 5, C).half())])[0]
        overflow = "overflow" in reply.get("error", {}).get("message", "")
        found.append("mask-finite" if overflow else "fixed-dtype")
    if "lengths" in failed and not failed & {"values"}:
        target = build(t, "Head", args)
        x = t.normal(3, 5, C)
        y = x.clone()
        y[0] += 1.0
        a, b = target.many([x, y])
        if not agree(a[1:], b[1:]):
            found.append("batch-mixed")
    return [head.finding(f) for f in found]

"""Which named mistake was made."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from course.checks.assignments.qkv.exercise import ON, qkv
from course.checks.assignments.qkv.oracle import NAMES, VARIANTS, attention, draw_case, right
from course.checks.engine import Finding, Trial, agree
from course.checks.functional import edits, find_variants, results
from course.checks.oracles import FAULTS, pairs


@qkv.diagnosis()
def _variants(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"values", "shape"}:
        return []
    cases = [draw_case(t, 2, T, C, D) for T, C, D in ((5, 4, 3), (2, 6, 5), (7, 3, 4))]
    outs = results(t, ON, cases)
    if all(
        isinstance(o, Tensor) and o.shape == (2, c[0].shape[1], c[0].shape[1])
        for o, c in zip(outs, cases, strict=True)
    ):
        return [qkv.finding("returns-weights")]
    if all(
        isinstance(o, Tensor) and o.shape == c[0].shape for o, c in zip(outs, cases, strict=True)
    ):
        return [qkv.finding("weighs-x")]
    found = find_variants(t, qkv, ON, cases, right, VARIANTS, tol=2e-5)
    if found:
        return found
    for a, b, fault in pairs([*NAMES, "divided-by-d-model"]):
        both = replace(fault, scale="none" if fault.scale == "sqrt_head" else fault.scale)
        if all(agree(o, attention(*c, fault=both), 2e-5) for o, c in zip(outs, cases, strict=True)):
            return [qkv.finding(n.split("#")[0]) for n in (a, b)]
    return _divided_too(outs, cases)


def _divided_too(outs: list[Tensor], cases: list[list[Tensor]]) -> list[Finding]:
    """Divided (which is right elsewhere) and something else."""
    for n in NAMES:
        if all(
            agree(o, attention(*c, fault=FAULTS[n]), 2e-5) for o, c in zip(outs, cases, strict=True)
        ):
            return [qkv.finding("divided"), qkv.finding(n.split("#")[0])]
    return []


@qkv.diagnosis()
def _transposed(t: Trial, failed: set[str]) -> list[Finding]:
    if "shape" not in failed:
        return []
    wide, square = draw_case(t, 2, 4, 5, 3), draw_case(t, 2, 4, 3, 3)
    replies = t.subject.run([{"op": "call", "on": ON, "args": c} for c in (wide, square)])
    x, q, k, v = square
    flipped = right(x, q.T, k.T, v.T)
    out = replies[1].get("value")
    if "error" in replies[0] and isinstance(out, Tensor) and agree(out, flipped):
        return [qkv.finding("matrix-transposed")]
    return []


@qkv.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    if "pure" in failed and edits(t, ON, draw_case(t, 2, 5, 4, 3)):
        found.append("edits-input")
    if "stable" in failed and not failed & {"values"}:
        x, q, k, v = draw_case(t, 30, 5, 4, 3)
        (big,) = results(t, ON, [[x, 100 * q, 100 * k, v]])
        found.append("mask-finite" if torch.isfinite(big).all() else "unstable")
    if "dtypes" in failed and "values" not in failed:
        half = [a.half() for a in draw_case(t, 2, 5, 4, 3)]
        reply = t.subject.run([{"op": "call", "on": ON, "args": half}])[0]
        overflow = "overflow" in reply.get("error", {}).get("message", "")
        found.append("mask-finite" if overflow else "fixed-dtype")
    if "gradients" in failed and not failed & {"values", "dtypes"}:
        found.append("detached")
    return [qkv.finding(f) for f in dict.fromkeys(found)]

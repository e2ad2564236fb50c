"""Which named mistake was made."""

from __future__ import annotations

import torch
from torch import Tensor

from course.checks.assignments.softmax.exercise import ON, softmax
from course.checks.assignments.softmax.oracle import VARIANTS, draw_mask, right
from course.checks.engine import Finding, Trial, agree
from course.checks.functional import edits, find_variants


@softmax.diagnosis()
def _variants(t: Trial, failed: set[str]) -> list[Finding]:
    zeros = t.normal(3, 4, 5)
    zeros[:, :, 1] = 0.0
    cases = [
        [s, draw_mask(t, *s.shape, empty=True)] for s in (t.normal(2, 4, 6), t.normal(3, 5), zeros)
    ]
    cases[-1][1][:, :-1, :2] = True  # a score of 0 is seen, beside another one
    cases.append([t.normal(2, 3, 4), draw_mask(t, 2, 3, 4)])
    return find_variants(t, softmax, ON, cases, right, VARIANTS)


@softmax.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    case = [t.normal(2, 3, 4), draw_mask(t, 2, 3, 4)]
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
        half = [t.normal(2, 3).half(), draw_mask(t, 2, 3)]
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

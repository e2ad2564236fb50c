"""Which named mistake was made."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course.checks.assignments.cost.exercise import ON, cost
from course.checks.assignments.cost.oracle import VARIANTS, draw_case, right
from course.checks.engine import Finding, Trial
from course.checks.functional import edits, find_variants


@cost.diagnosis()
def _variants(t: Trial, failed: set[str]) -> list[Finding]:
    cases = [
        draw_case(t, 2, 7, 3, tile=3),
        draw_case(t, 2, 8, 5, tile=2),
        draw_case(t, 2, 6, 4, tile=4),
    ]
    found = find_variants(t, cost, ON, cases, right, VARIANTS, tol=2e-5)
    if found:
        return found
    replies = t.subject.run(
        [
            {"op": "call", "on": ON, "args": c}
            for c in (
                draw_case(t, 2, 8, 3, tile=4),
                draw_case(t, 2, 7, 3, tile=4),
                draw_case(t, 8, 3, tile=4),
                draw_case(t, 2, 2, 8, 3, tile=4),
            )
        ]
    )
    ok = ["value" in r for r in replies]
    if ok[0] and not ok[1]:
        return [cost.finding("tile-must-divide")]
    return [cost.finding("no-batch")] if (ok[2] and not ok[3]) or (ok[0] and not ok[3]) else []


@cost.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    if "memory" in failed and "values" not in failed:
        q, k, v, _ = draw_case(t, 128, 4, tile=8)
        reply = t.subject.run([{"op": "call", "on": ON, "args": [q, k, v, 8], "watch": True}])[0]
        large = int(reply.get("largest", 0)) >= 128 * 64
        found.append("holds-a-square" if large else "keeps-all-tiles")
    if "stable" in failed and "values" not in failed:
        found.append("no-maximum")
    if "clean" in failed and "values" not in failed:
        case = draw_case(t, 2, 5, 3, tile=2)
        if edits(t, ON, case):
            found.append("edits-input")
        else:
            double: list[Any] = [a.double() if isinstance(a, Tensor) else a for a in case]
            out = t.subject.run([{"op": "call", "on": ON, "args": double}])[0].get("value")
            if not isinstance(out, Tensor) or out.dtype != torch.float64:
                found.append("fixed-dtype")
    return [cost.finding(f) for f in found]

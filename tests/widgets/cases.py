"""Every widget, how a reader moves it, and the further states in which the numbers are compared."""

from __future__ import annotations

from tests.widgets.harness import Case, Move

CASES = [
    Case(
        "ScaledSoftmax()",
        moves=[
            Move("d_k", 1.0, lambda n: n["undivided"]["mean_tokens"] < 1.3),
            Move("row", 0.5, lambda n: 100 < n["row"] < 156),
            Move("d_k", 0.0, lambda n: 38 < n["divided"]["mean_tokens"] < 43),
        ],
        states=[{"d_k": d, "row": r} for d, r in [(4, 0), (5, 9), (64, 1), (100, 70), (1024, 255)]],
    ),
]

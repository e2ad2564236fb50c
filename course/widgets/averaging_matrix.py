"""Chapter 2's widget: the causal average of T tokens as one lower-triangular matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets

from course.widgets.base import CourseWidget, Strings

T_MAX = 32


class AveragingMatrix(CourseWidget):
    """The T × T matrix of the causal average, one of its rows, and what it costs.

    Args:
        T: how many tokens, 2 to 32.
        row: the query whose row is framed, 1 to T; as everywhere in the text, t counts from 0.
        timings: what a notebook measured, as ``(T, loop seconds, matmul seconds)``; without any
            the chart counts the steps that must follow one another.
    """

    PARTS = ("chart.js", "heat.js")
    HEIGHTS = (991, 605)

    T = traitlets.Int(8, min=2, max=T_MAX).tag(sync=True)
    row = traitlets.Int(5, min=1, max=T_MAX).tag(sync=True)
    timings = traitlets.List(traitlets.List(traitlets.Float(), minlen=3, maxlen=3)).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "A loop of averages is one triangular matrix",
        "look_for": (
            "a row: every weight in it is the same, and they sum to 1. The hatched triangle is the "
            "future, which no row may read. The loop takes T steps; the product takes one."
        ),
        "picture": "The averaging matrix as a map of weights, and a chart of cost against T.",
        "T": "tokens T",
        "row": "query (row)",
        "row_text": "t = {t} ({row} of {T})",
        "matrix": "weights (T, T)",
        "steps": "steps one after another",
        "seconds": "milliseconds, measured here",
        "loop": "loop",
        "matmul": "product",
        "readout": (
            "Row {row:d} of {T:d} (t = {t:d}): {row:d} weights of {weight:.3f}, {masked:d} masked, "
            "sum {sum:.0f}. The loop makes {loop_adds:,d} additions in {T:d} steps; the product, "
            "{products:,d} multiplications in one."
        ),
    }

    def __init__(self, timings: Sequence[Sequence[float]] = (), **traits: Any) -> None:
        super().__init__(timings=[[float(v) for v in row] for row in timings], **traits)

    def numbers(self) -> dict[str, Any]:
        """The framed row, its sum, and the counts; ``row`` is at most ``T``."""
        T = self.T
        row = min(self.row, T)
        weights = [1 / row] * row + [0.0] * (T - row)
        return {
            "T": T,
            "row": row,
            "t": row - 1,
            "weight": 1 / row,
            "weights": weights,
            "masked": T - row,
            "sum": sum(weights),
            "loop_adds": T * (T + 1) // 2,
            "products": T * T,
        }

"""Figures of the bug museum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import NullLocator, ScalarFormatter

from course.figures.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# honest / usual above which a model is drawn as one that has seen its answers
LEAK = 1.02


def draw_two_exams(ax: Axes, found: Mapping[str, tuple[float, float]]) -> None:
    """Perplexity measured on whole windows and asked for honestly, a line a model.

    Where the two differ the model has seen its answers; the line between them is drawn as wrong.

    Args:
        ax: where to draw.
        found: what a model is called → (usual, honest), in the order from the top.

    Raises:
        ValueError: there is no model, or a perplexity is below 1.
    """
    if not found:
        raise ValueError("there is no model to draw")
    for name, pair in found.items():
        if min(pair) < 1:
            raise ValueError(f"a perplexity is 1 or more, not {min(pair)} ({name})")
    rows = np.arange(len(found))
    for row, (usual, honest) in zip(rows, found.values(), strict=True):
        seen = honest > LEAK * usual
        colour = LIGHT["wrong"] if seen else LIGHT["average"]
        ax.plot([usual, honest], [row, row], color=colour, lw=1.6, zorder=1)
        ax.plot([usual], [row], "x" if seen else "o", color=colour, ms=7, mew=2, zorder=2)
        ax.plot([honest], [row], "o", color=LIGHT["attention"], ms=7, zorder=3)
    leaks = [(y, *pair) for y, pair in enumerate(found.values()) if pair[1] > LEAK * pair[0]]
    for y, usual, honest in leaks[:1]:  # the marks are named once
        for x, word, colour in ((usual, "usual", "wrong"), (honest, "honest", "attention")):
            ax.annotate(
                word, (x, y), xytext=(0, 9), textcoords="offset points", ha="center",
                color=LIGHT[colour],
            )  # fmt: skip
    ax.set(xscale="log", ylim=(len(found) - 0.4, -0.6), xlabel="held-out perplexity (log scale)")
    ax.set_yticks(rows, list(found))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_locator(NullLocator())
    low = min(min(pair) for pair in found.values())
    high = max(max(pair) for pair in found.values())
    ax.set_xlim(low / 2, high * 1.8)
    ax.set_xticks([t for t in (1, 10, 100, 1000) if low / 2 <= t <= high * 1.8])

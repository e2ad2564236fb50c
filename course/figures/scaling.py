"""Figures of chapter 5: what dividing by √dₖ does to scores, weights, gradients and training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import FuncFormatter, NullLocator

from course.figures.palette import LIGHT
from course.figures.style import BAND_OPACITY, BASELINE, OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from course.experiments import Records

_BASELINE: dict[str, Any] = dict(BASELINE)
# Undivided scores are the mistake of the chapter: red, and crosses, never colour alone.
_WRONG: dict[str, Any] = {"color": LIGHT["wrong"], "linestyle": "-", "marker": "x", "mew": 1.6}
STYLES: dict[str, dict[str, Any]] = {
    "÷ √dₖ": {**OURS, "marker": "o"},
    "undivided": _WRONG,
    "÷ dₖ": {**_BASELINE, "marker": "."},
}


def draw_spread_of_scores(ax: Axes, widths: Sequence[int], std: npt.ArrayLike) -> None:
    """Measured standard deviation of q·k against the width, on the line √dₖ.

    Args:
        ax: where to draw.
        widths: the head widths.
        std: ``(len(widths),)`` measured.

    Raises:
        ValueError: the two differ in length.
    """
    y = np.asarray(std, dtype=float)
    if y.shape != (len(widths),):
        raise ValueError(f"{len(widths)} widths and standard deviations of shape {y.shape}")
    line = np.array([min(widths), max(widths)], dtype=float)
    ax.plot(line, np.sqrt(line), **_BASELINE)
    ax.plot(widths, y, "o", color=LIGHT["attention"])
    ax.annotate(
        "√dₖ", (line[1], line[1] ** 0.5), xytext=(8, 0), textcoords="offset points",
        va="center", color=LIGHT["average"],
    )  # fmt: skip
    _width_axis(ax, widths)
    ax.set(yscale="log", ylabel="std of q·k (log scale)")
    ax.set_yticks([2, 4, 8, 16, 32])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0f}"))


def draw_by_width(
    ax: Axes,
    widths: Sequence[int],
    series: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]],
    ylabel: str,
) -> None:
    """A quantity of a row of weights against the head's width, with its quartiles as a band.

    Args:
        ax: where to draw.
        widths: the head widths.
        series: a name of :data:`STYLES` → middle, lower and upper quartile, one a width.
        ylabel: what it is.

    Raises:
        ValueError: an unknown name, or a series of another length.
    """
    for name, parts in series.items():
        if name not in STYLES:
            raise ValueError(f"a series is called one of {', '.join(STYLES)}, not {name!r}")
        middle, low, high = (np.asarray(part, dtype=float) for part in parts)
        if not middle.shape == low.shape == high.shape == (len(widths),):
            raise ValueError(f"{name}: {len(widths)} widths, but shapes {middle.shape} and others")
        style = STYLES[name]
        ax.fill_between(widths, low, high, color=style["color"], alpha=BAND_OPACITY, lw=0)
        ax.plot(widths, middle, **style)
        ax.annotate(
            name, (widths[-1], middle[-1]), xytext=(8, 3), textcoords="offset points",
            va="center", color=style["color"],
        )  # fmt: skip
    _width_axis(ax, widths)
    ax.set(ylabel=ylabel)
    ax.set_ylim(bottom=0)


def draw_row(ax: Axes, weights: npt.ArrayLike, name: str, title: str = "") -> None:
    """One row of attention weights as bars; a cross says where one of them has taken nearly all.

    Args:
        ax: where to draw.
        weights: ``(S,)``, which sum to 1.
        name: of :data:`STYLES`.
        title: what stands above.

    Raises:
        ValueError: the weights do not sum to 1.
    """
    w = np.asarray(weights, dtype=float)
    if w.ndim != 1 or abs(w.sum() - 1) > 1e-3:
        raise ValueError(f"a row of weights sums to 1, this one of shape {w.shape} to {w.sum():g}")
    colour = STYLES[name]["color"]
    ax.bar(np.arange(len(w)), w, width=0.9, color=colour)
    if w.max() > 0.9:
        top, left = int(w.argmax()), w.argmax() < len(w) / 2
        ax.plot([top], [w.max() + 0.09], "x", color=colour, mew=1.6, clip_on=False)
        ax.annotate(
            "one takes all", (top, w.max()), xytext=(6 if left else -6, 0), va="top", color=colour,
            textcoords="offset points", ha="left" if left else "right",
        )  # fmt: skip
    ax.set(ylim=(0, 1.1), xticks=[], yticks=[0, 1], title=title)
    ax.spines["left"].set_bounds(0, 1)


def draw_inside(
    ax: Axes, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], ylabel: str
) -> None:
    """Something inside a head while it trains, on a logarithmic scale.

    Args:
        ax: where to draw.
        curves: a name of :data:`STYLES` → steps and values.
        ylabel: what it is.

    Raises:
        ValueError: nothing to draw.
    """
    if not curves:
        raise ValueError("there is no curve to draw")
    for name, (steps, values) in curves.items():
        style = STYLES[name]
        ax.plot(steps, values, **style, ms=4)
        ax.annotate(
            name, (steps[-1], values[-1]), xytext=(8, 0), textcoords="offset points",
            va="center", color=style["color"], annotation_clip=False,
        )  # fmt: skip
    last = max(steps[-1] for steps, _ in curves.values())
    ax.set(yscale="log", xlabel="training step", ylabel=ylabel, xlim=(0, last * 1.02))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))


def draw_trained_widths(ax: Axes, records: Records) -> None:
    """Recorded held-out perplexity against the head's width, divided and not; a line a setting.

    Args:
        ax: where to draw.
        records: ``load_records("scaling")``; rows are called ``dk32-3000-divided`` and the like.
    """
    lines: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    widths = set()
    for row in records:
        width, steps, variant = row.name.removeprefix("dk").split("-")
        widths.add(int(width))
        if row.mean is not None and row.sd is not None:
            lines.setdefault((steps, variant), []).append((int(width), row.mean, row.sd))
    for (steps, variant), points in lines.items():
        name = "÷ √dₖ" if variant == "divided" else variant
        style = STYLES[name]
        x, y, sd = (np.array(column) for column in zip(*sorted(points), strict=True))
        ax.fill_between(x, y - sd, y + sd, color=style["color"], alpha=BAND_OPACITY, lw=0)
        ax.plot(x, y, **style)
        ax.annotate(
            f"{name}, {steps} steps", (x[-1], y[-1]), xytext=(8, 0), textcoords="offset points",
            va="center", color=style["color"],
        )  # fmt: skip
    if not lines:
        ax.text(0.5, 0.5, "not yet measured", transform=ax.transAxes, ha="center", va="center")
    _width_axis(ax, sorted(widths))
    ax.set(ylabel="held-out perplexity")


def _width_axis(ax: Axes, widths: Sequence[int]) -> None:
    ax.set(xscale="log", xlabel="head width dₖ (log scale)")
    ax.set_xlim(min(widths) * 0.8, max(widths) * 4)
    ax.set_xticks(list(widths), [str(d) for d in widths])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.spines["bottom"].set_bounds(min(widths) * 0.8, max(widths))

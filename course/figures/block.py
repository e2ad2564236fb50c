"""Figures of chapter 7: the block with its norms before or after, and what happens in a stack."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from course.figures.palette import LIGHT, rgb
from course.figures.style import BAND_OPACITY, BASELINE, OURS, power_of_ten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The two branches of a block, and their colours: what moves is attention's blue.
BRANCHES = (("attention", LIGHT["attention"]), ("feed-forward", LIGHT["ink"]))
_LEFT, _RIGHT, _HIGH, _ROW = 1.15, 3.65, 0.62, 0.98  # of a branch's box; one step down
_MIDDLE = (_LEFT + _RIGHT) / 2


def draw_block(ax: Axes, norm: str) -> None:
    """One block from top to bottom: the stream at the left, two branches that leave and rejoin it.

    Args:
        ax: where to draw.
        norm: "pre", "post" or "none". Post-norm's boxes stand on the stream itself.

    Raises:
        ValueError: another word.
    """
    if norm not in ("pre", "post", "none"):
        raise ValueError(f'norm must be "pre", "post" or "none", got {norm!r}')
    y, pieces = 0.0, []  # the stream as vertical pieces, interrupted by what stands on it
    start = y
    for name, colour in BRANCHES:
        leaves = y + 0.35
        boxes = [("LayerNorm", LIGHT["muted"])] if norm == "pre" else []
        boxes.append((name, colour))
        _line(ax, (0, leaves), (_MIDDLE, leaves))
        above = leaves
        for i, (label, edge) in enumerate(boxes):
            top = leaves + 0.32 + i * _ROW
            _line(ax, (_MIDDLE, above), (_MIDDLE, top), arrow=True)
            _box(ax, _LEFT, top, _RIGHT - _LEFT, label, edge)
            above = top + _HIGH
        joins = above + 0.36
        _line(ax, (_MIDDLE, above), (_MIDDLE, joins))
        _line(ax, (_MIDDLE, joins), (0.24, joins), arrow=True)
        ax.add_patch(Circle((0, joins), 0.24, fc="none", ec=LIGHT["ink"], lw=1.4))
        ax.text(0, joins, "+", ha="center", va="center", fontsize=12)
        pieces.append((start, joins - 0.24))
        start = y = joins + 0.24
        if norm == "post":
            _box(ax, -1.05, y + 0.24, 2.1, "LayerNorm", LIGHT["muted"])
            pieces.append((y, y + 0.24))
            start = y = y + 0.24 + _HIGH
    pieces.append((start, y + 0.45))
    for top, bottom in pieces:
        ax.plot([0, 0], [top, bottom], color=LIGHT["ink"], lw=3.2, solid_capstyle="butt")
    ax.text(0, -0.14, "x", ha="center", va="bottom", fontsize=12)
    ax.set_title({"none": "no norms"}.get(norm, f"{norm}-norm"), loc="center", pad=8)
    ax.set(xlim=(-1.15, _RIGHT + 0.1), ylim=(y + 0.5, -0.75), aspect="equal", anchor="N")
    ax.axis("off")


def draw_activations(ax: Axes) -> None:
    """ReLU, max(0, x), and GELU, x · Φ(x) (Hendrycks and Gimpel 2016), on one axis."""
    x = np.linspace(-3, 3, 241)
    gelu = [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x]
    ax.axhline(0, color=LIGHT["line"], lw=0.8, zorder=0)
    ax.plot(x, np.maximum(x, 0), **_style(1))
    ax.plot(x, gelu, **_style(0))
    for name, place, style in (("ReLU", (0.25, 0.9), 1), ("GELU", (1.35, 0.62), 0)):
        ax.annotate(name, place, color=_style(style)["color"], ha="right" if style else "left")
    ax.set(xlabel="what comes in", ylabel="what goes on", xlim=(-3, 3), ylim=(-0.35, 3))


def draw_by_block(
    ax: Axes,
    series: Mapping[str, npt.ArrayLike],
    ylabel: str,
    *,
    log: bool = False,
    xlabel: str = "block",
) -> None:
    """A quantity at each block of a stack, over several fresh models: their mean and extremes.

    Args:
        ax: where to draw.
        series: name → ``(models, blocks)``. The first is drawn as ours, the second as the baseline.
        ylabel: what it is.
        log: whether it is drawn on a logarithmic scale.
        xlabel: what the places along the axis are.

    Raises:
        ValueError: no series or more than two, or one that is no matrix.
    """
    if not 1 <= len(series) <= 2:
        raise ValueError(f"one or two series are needed, got {len(series)}")
    last = 0
    for i, (name, values) in enumerate(series.items()):
        v = np.asarray(values, dtype=float)
        if v.ndim != 2 or not v.size:
            raise ValueError(f"{name!r} must be (models, blocks), got shape {v.shape}")
        blocks, style = np.arange(1, v.shape[1] + 1), _style(i)
        ax.fill_between(
            blocks, v.min(axis=0), v.max(axis=0), color=style["color"], alpha=BAND_OPACITY, lw=0
        )
        ax.plot(blocks, v.mean(axis=0), **style)
        ax.annotate(
            name, (blocks[-1], v.mean(axis=0)[-1]), xytext=(7, 0), textcoords="offset points",
            va="center", color=style["color"], annotation_clip=False,
        )  # fmt: skip
        last = max(last, len(blocks))
    ax.set(xlim=(1, last), xlabel=xlabel, ylabel=f"{ylabel} (log scale)" if log else ylabel)
    if log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(power_of_ten))
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _style(i: int) -> dict[str, Any]:
    return dict(OURS) if i == 0 else dict(BASELINE)


def _box(ax: Axes, left: float, top: float, width: float, label: str, colour: str) -> None:
    face = (*rgb(colour), 0.16)
    ax.add_patch(Rectangle((left, top), width, _HIGH, facecolor=face, edgecolor=colour, lw=1))
    ink = LIGHT["ink"] if colour == LIGHT["muted"] else colour
    ax.text(left + width / 2, top + _HIGH / 2, label, ha="center", va="center", color=ink)


def _line(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], arrow: bool = False
) -> None:
    tip = "-|>,head_length=3,head_width=1.6" if arrow else "-"
    colour = LIGHT["muted"]
    ax.add_patch(
        FancyArrowPatch(start, end, arrowstyle=tip, color=colour, lw=0.9, shrinkA=0, shrinkB=0)
    )

"""Figures of chapter 6: the width shared out among heads, and what each of them attends to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Rectangle

from course.figures.palette import LIGHT, rgb
from course.figures.style import draw_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Maps = npt.NDArray[np.float64]
_BAR, _THIN, _MAP, _GAP = 0.5, 0.24, 1.7, 0.55  # heights, in quarters of the width


def draw_partition(ax: Axes, maps: npt.ArrayLike) -> None:
    """From top to bottom: x, its queries, keys and values in parts, a map each, joined, mixed.

    Args:
        ax: where to draw.
        maps: ``(H, T, T)`` causal weights, one map a head; H decides the number of parts.

    Raises:
        ValueError: the maps are not (H, T, T), or H is not 2 to 8.
    """
    w = _checked(maps)
    H = len(w)
    if not 2 <= H <= 8:
        raise ValueError(f"2 to 8 heads can be drawn, got {H}")
    step = 4.0 / H
    side = min(_MAP, 0.82 * step)
    parts = _BAR + _GAP
    squares = parts + 3 * _THIN + 0.2 + _GAP
    joined = squares + side + _GAP
    mixed = joined + _BAR + 1.6 * _GAP
    _bar(ax, 0.0, "x", LIGHT["ink"])
    for i, name in enumerate(("query", "key", "value")):
        _bar(ax, parts + i * (_THIN + 0.1), name[0], LIGHT[name], parts=H, height=_THIN)
    _bar(ax, joined, "joined", LIGHT["value"], parts=H)
    _bar(ax, mixed, "mixed", LIGHT["ink"])
    for h in range(H):
        centre = step * (h + 0.5)
        _line(ax, (centre, parts + 3 * _THIN + 0.2), (centre, squares))
        _line(ax, (centre, squares + side), (centre, joined))
        _small_map(ax, w[h], centre - side / 2, squares, side)
        for other in range(H):  # every head reads the whole of x, and is heard in all of the end
            elsewhere = step * (other + 0.5)
            _line(ax, (elsewhere, _BAR), (centre, parts))
            _line(ax, (centre, joined + _BAR), (elsewhere, mixed))
    notes = (
        (parts + 1.5 * _THIN + 0.1, f"{H} parts of C/{H}"),
        (squares + side / 2, "one map each"),
        (mixed + _BAR / 2, "C wide again"),
    )
    for y, text in notes:
        ax.text(4.15, y, text, va="center", color=LIGHT["muted"])
    ax.set(xlim=(-0.9, 5.6), ylim=(mixed + _BAR + 0.1, -0.1), aspect="equal")
    ax.axis("off")


def draw_head_maps(axes: Sequence[Axes], maps: npt.ArrayLike, names: Sequence[str] = ()) -> None:
    """One map of causal weights a head, side by side on one scale, without numbers.

    Args:
        axes: H of them.
        maps: ``(H, T, T)``.
        names: above each; "head 1", "head 2", … unless given.

    Raises:
        ValueError: another number of axes or names than maps, or no (H, T, T).
    """
    w = _checked(maps)
    titles = list(names) or [f"head {h + 1}" for h in range(len(w))]
    if not len(axes) == len(w) == len(titles):
        raise ValueError(f"{len(w)} maps need as many axes and names, got {len(axes)}, {titles}")
    mask = np.tril(np.ones(w.shape[1:], bool))
    for ax, weights, title in zip(axes, w, titles, strict=True):
        draw_weights(ax, weights, mask=mask, numbers=False)
        ax.set(xlabel="", ylabel="")
        ax.set_title(title, loc="left")


def _checked(maps: npt.ArrayLike) -> Maps:
    w: Maps = np.asarray(maps, dtype=float)
    if w.ndim != 3 or w.shape[1] != w.shape[2]:
        raise ValueError(f"maps (H, T, T) are needed, got {w.shape}")
    return w


def _bar(
    ax: Axes, top: float, name: str, colour: str, *, parts: int = 1, height: float = _BAR
) -> None:
    """The width C as a bar in equal parts, named at its left."""
    width, inset = 4.0 / parts, 0.0 if parts == 1 else 0.05
    for i in range(parts):
        box = (i * width + inset, top), width - 2 * inset, height
        ax.add_patch(Rectangle(*box, facecolor=(*rgb(colour), 0.22), edgecolor=colour, lw=0.9))
    ax.text(-0.12, top + height / 2, name, ha="right", va="center", color=colour)


def _small_map(ax: Axes, weights: Maps, left: float, top: float, side: float) -> None:
    T = len(weights)
    cell = side / T
    for t in range(T):
        for s in range(t + 1):
            face = (*rgb(LIGHT["attention"]), float(np.clip(weights[t, s], 0, 1)))
            place = (left + s * cell, top + t * cell)
            ax.add_patch(Rectangle(place, cell, cell, lw=0, facecolor=face))
    frame = Rectangle((left, top), side, side, fill=False, lw=0.8, ec=LIGHT["muted"])
    ax.add_patch(frame)


def _line(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    ax.plot(*zip(start, end, strict=True), color=LIGHT["muted"], lw=0.7, zorder=0)

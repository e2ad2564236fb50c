"""Figures of chapter 4: scores before the softmax, and one head with all its matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.patches import FancyArrowPatch, Rectangle

from course.figures.palette import LIGHT, rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Matrix = npt.NDArray[np.float64]


def draw_scores(
    ax: Axes,
    scores: npt.ArrayLike,
    names: Sequence[str],
    *,
    digits: int = 0,
    mask: npt.ArrayLike | None = None,
    mark: tuple[int, int] | None = None,
) -> None:
    """A map of scores, queries down and keys across: blue above 0, grey below, bare at 0.

    Scores are no weights: they have either sign and no common scale, so the number stands in each
    cell and the map is scaled to its own largest.

    Args:
        ax: where to draw.
        scores: ``(T, T)``.
        names: of the T tokens.
        digits: after the point.
        mask: ``(T, T)`` boolean, True = may attend; the other cells are hatched, not numbered.
        mark: a pair (t, s); the cell and its mirror image (s, t) are framed.

    Raises:
        ValueError: the scores are no square matrix of finite numbers, or there are not T names.
    """
    s = np.asarray(scores, dtype=float)
    if s.ndim != 2 or s.shape[0] != s.shape[1] or len(names) != len(s):
        raise ValueError(f"scores (T, T) and T names are needed, got {s.shape} and {len(names)}")
    if not np.isfinite(s).all():
        raise ValueError("a score is not finite: draw the scores before they are masked")
    T = len(s)
    allowed = np.ones((T, T), bool) if mask is None else np.asarray(mask, bool)
    top = float(np.abs(s).max()) or 1.0
    for t, row in enumerate(s):
        for u, score in enumerate(row):
            if not allowed[t, u]:
                _hatched(ax, u, t)
                continue
            colour = LIGHT["attention"] if score > 0 else LIGHT["average"]
            share = abs(float(score)) / top
            _cell(ax, u, t, colour, 0.85 * share)
            ink = LIGHT["paper"] if share > 0.7 else LIGHT["ink"]
            # + 0.0: a small negative score is 0, not −0
            text = f"{round(float(score), digits) + 0.0:.{digits}f}".replace("-", "−")
            ax.text(u + 0.5, t + 0.5, text, ha="center", va="center", color=ink)
    if mark is not None:
        for t, u in {mark, mark[::-1]}:
            ax.add_patch(Rectangle((u, t), 1, 1, fill=False, ec=LIGHT["ink"], lw=1.6, zorder=3))
    ax.add_patch(Rectangle((0, 0), T, T, fill=False, lw=0.8, ec=LIGHT["muted"]))
    ax.set(xlim=(0, T), ylim=(T, 0), aspect="equal")
    ax.xaxis.tick_top()
    ax.set_xticks(np.arange(T) + 0.5, names, color=LIGHT["key"])
    ax.set_yticks(np.arange(T) + 0.5, names, color=LIGHT["query"])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def draw_head(
    ax: Axes,
    x: npt.ArrayLike,
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    weights: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
) -> None:
    """One head as its matrices, left to right: x → q, k, v → weights → out; shade is size.

    Shapes are named by their letters: what is drawn may be a corner of the matrices.

    Args:
        ax: where to draw.
        x: ``(T, C)``.
        q, k: ``(T, D)``.
        v: ``(T, E)``.
        weights: ``(T, T)``, rows that sum to 1.
        mask: ``(T, T)`` boolean, True = may attend; the other cells are hatched.

    Raises:
        ValueError: the shapes do not fit.
    """
    X, Q, K, V, W = (np.asarray(m, dtype=float) for m in (x, q, k, v, weights))
    T = len(X)
    if not (Q.shape == K.shape and len(Q) == len(V) == T and W.shape == (T, T)):
        shapes = ", ".join(str(m.shape) for m in (X, Q, K, V, W))
        raise ValueError(f"x, q, k, v and weights of a head do not fit: {shapes}")
    allowed = np.ones((T, T), bool) if mask is None else np.asarray(mask, bool)
    out, gap = W @ V, 1.8
    left = X.shape[1] + gap
    middle = left + max(Q.shape[1], V.shape[1]) + gap
    right = middle + T + gap
    rows = {"q": 0.0, "k": T + gap, "v": 2 * (T + gap)}
    centre = rows["k"]
    _matrix(ax, X, 0, centre, LIGHT["ink"], "x (T, C)")
    named = (("q", Q, "D", "query"), ("k", K, "D", "key"), ("v", V, "E", "value"))
    for name, m, width, colour in named:
        _matrix(ax, m, left, rows[name], LIGHT[colour], f"{name} (T, {width})")
        _arrow(ax, (X.shape[1], centre + T / 2), (left, rows[name] + T / 2), LIGHT[colour])
    half = (rows["q"] + rows["k"]) / 2
    _matrix(ax, W, middle, half, LIGHT["attention"], "weights (T, T)", top=1.0, allowed=allowed)
    for name, colour in (("q", "query"), ("k", "key")):
        start = (left + Q.shape[1], rows[name] + T / 2)
        _arrow(ax, start, (middle, half + T / 2), LIGHT[colour])
    _matrix(ax, out, right, centre + gap / 2, LIGHT["value"], "out (T, E)")
    end = (right, centre + gap / 2 + T / 2)
    _arrow(ax, (middle + T, half + T / 2), end, LIGHT["attention"])
    _arrow(ax, (left + V.shape[1], rows["v"] + T / 2), end, LIGHT["value"])
    ax.set(xlim=(-0.2, right + V.shape[1] + 0.2), ylim=(rows["v"] + T + 0.3, -1.2), aspect="equal")
    ax.axis("off")


def _matrix(
    ax: Axes,
    m: Matrix,
    left: float,
    top_row: float,
    colour: str,
    name: str,
    *,
    top: float | None = None,
    allowed: npt.NDArray[np.bool_] | None = None,
) -> None:
    """A matrix as shaded cells with its name above; ``top`` is what full shade means."""
    scale = top or float(np.abs(m).max()) or 1.0
    for (t, s), value in np.ndenumerate(m):
        if allowed is not None and not allowed[t, s]:
            _hatched(ax, left + s, top_row + t)
            continue
        _cell(ax, left + s, top_row + t, colour, abs(float(value)) / scale)
    T, S = m.shape
    ax.add_patch(Rectangle((left, top_row), S, T, fill=False, lw=0.8, ec=LIGHT["muted"]))
    ax.text(left, top_row - 0.25, name, color=colour, va="bottom")


def _cell(ax: Axes, x: float, y: float, colour: str, shade: float) -> None:
    ax.add_patch(Rectangle((x, y), 1, 1, lw=0, facecolor=(*rgb(colour), min(shade, 1.0))))


def _hatched(ax: Axes, x: float, y: float) -> None:
    ax.add_patch(Rectangle((x, y), 1, 1, lw=0, fill=False, hatch="////", ec=LIGHT["line"]))


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    arrow = FancyArrowPatch(
        start, end, arrowstyle="-|>", mutation_scale=9, lw=1.1, color=colour, shrinkA=3, shrinkB=3
    )
    ax.add_patch(arrow)

"""The matplotlib style of the book, and what figures share.

:func:`use_style` once a notebook, before the first figure. Figures are SVG with a transparent
background and words kept as words; they are drawn in the light palette, and the book replaces
these colours by its CSS variables when it puts a figure into a page.
"""

from __future__ import annotations

import math
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from course.figures.palette import LIGHT, weights_cmap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The reference figure (the published value): a small open mark, the same in every chart.
REFERENCE = {"marker": "o", "ls": "none", "ms": 5, "mfc": "none", "mec": LIGHT["ink"], "mew": 1.0}
OURS: dict[str, Any] = {"color": LIGHT["attention"], "linestyle": "-"}
BASELINE: dict[str, Any] = {"color": LIGHT["average"], "linestyle": (0, (4, 2.5))}
BAND_OPACITY = 0.18

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(value: float, _: object = None) -> str:
    """A tick of a logarithmic axis as a word: 1, 10, 10², 10⁻¹⁷; a formatter for matplotlib.

    Matplotlib's own sets the exponent at 70% of its words' size, too small for a phone; these are
    letters of the font. A value that is no power of ten is written as it is.
    """
    exponent = round(math.log10(value)) if value > 0 else 0
    if not math.isclose(value, 10.0**exponent):
        return f"{value:,g}"
    return {0: "1", 1: "10"}.get(exponent, f"10{str(exponent).translate(_RAISED)}")


def use_style() -> None:
    """Set the course's style for all figures that follow; in a notebook also SVG output."""
    with as_file(files("course.figures") / "course.mplstyle") as path:
        plt.style.use(str(path))
    ink, muted = LIGHT["ink"], LIGHT["muted"]
    cycle = [LIGHT[name] for name in ("attention", "query", "key", "value", "average")]
    mpl.rcParams.update(
        {
            "text.color": ink,
            "axes.labelcolor": ink,
            "axes.edgecolor": muted,
            "axes.titlecolor": ink,
            "xtick.color": muted,
            "ytick.color": muted,
            "xtick.labelcolor": ink,
            "ytick.labelcolor": ink,
            "hatch.color": LIGHT["faint"],
            "axes.prop_cycle": cycler(color=cycle),
        }
    )
    _svg_in_notebooks()


def _svg_in_notebooks() -> None:
    """Ask Jupyter's inline backend for SVG; outside a notebook there is nothing to ask."""
    try:
        from IPython.core.getipython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    if get_ipython() is not None:
        # no date in the file: the same figure is the same bytes
        set_matplotlib_formats("svg", metadata={"Date": None}, bbox_inches="tight")


def spread(ax: Axes, x: npt.ArrayLike, mean: npt.ArrayLike, sd: npt.ArrayLike, colour: str) -> None:
    """A band of one standard deviation on either side of ``mean``; ``x``, ``mean``, ``sd``: (N,).

    Raises ``ValueError`` if the three differ in shape or a deviation is negative.
    """
    x, mean, sd = (np.asarray(a, dtype=float) for a in (x, mean, sd))
    if not x.shape == mean.shape == sd.shape:
        raise ValueError(f"x, mean and sd differ in shape: {x.shape}, {mean.shape}, {sd.shape}")
    if (sd < 0).any():
        raise ValueError(f"a standard deviation is negative: {sd.min()}")
    ax.fill_between(x, mean - sd, mean + sd, color=colour, alpha=BAND_OPACITY, linewidth=0)


def draw_weights(
    ax: Axes,
    weights: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    queries: list[str] | None = None,
    keys: list[str] | None = None,
    numbers: bool | None = None,
) -> None:
    """Draw one map of attention weights, (T, S): queries down, keys across, 0 paper, 1 full blue.

    Parameters
    ----------
    ax
        Where to draw.
    weights
        (T, S), every row a distribution: rows must sum to 1 within 1e-3 (a row that is masked
        whole may be all zero).
    mask
        (T, S) boolean, ``True`` = may attend. Cells it forbids are hatched: not the same as 0.
    queries, keys
        Labels of the rows and the columns.
    numbers
        Write the weight into each cell; by default where there are at most 8 rows and columns.

    Raises
    ------
    ValueError
        If the array is not a matrix, a row is no distribution, or the mask's shape differs.
    """
    w = np.asarray(weights, dtype=float)
    if w.ndim != 2:
        raise ValueError(f"a map is a matrix (T, S), not of shape {w.shape}")
    sums = w.sum(axis=1)
    bad = (np.abs(sums - 1) > 1e-3) & (np.abs(w).max(axis=1, initial=0) > 0)
    if bad.any() or (w < 0).any():
        row = int(np.argmax(bad)) if bad.any() else int(np.argwhere(w < 0)[0, 0])
        raise ValueError(f"row {row} is no distribution: it sums to {sums[row]:.4f}")
    allowed = np.ones(w.shape, bool) if mask is None else np.asarray(mask)
    if allowed.shape != w.shape or allowed.dtype != bool:
        raise ValueError(
            f"the mask is {allowed.dtype} {allowed.shape}, the weights are {w.shape}: "
            "it must be boolean and of their shape"
        )
    n_rows, n_cols = w.shape
    _fill_cells(ax, w, allowed)
    if max(w.shape) <= 8 if numbers is None else numbers:
        _write_numbers(ax, w, allowed)
    ax.add_patch(Rectangle((0, 0), n_cols, n_rows, fill=False, lw=0.8, ec=LIGHT["muted"]))
    ax.set(xlim=(0, n_cols), ylim=(n_rows, 0), aspect="equal")
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks(np.arange(n_cols) + 0.5 if keys else [], keys or [])
    ax.set_yticks(np.arange(n_rows) + 0.5 if queries else [], queries or [])
    ax.set_xlabel(f"key, of {n_cols}", color=LIGHT["key"])
    ax.set_ylabel(f"query, of {n_rows}", color=LIGHT["query"])


def _cells_path(chosen: npt.NDArray[np.bool_]) -> Path:
    """One path round the chosen cells of a map (T, S), neighbours in a row as one piece."""
    edges = np.diff(np.pad(chosen, ((0, 0), (1, 1))).astype(int), axis=1)  # (T, S + 1)
    rows, start = np.nonzero(edges == 1)
    end = np.nonzero(edges == -1)[1]
    x = np.stack([start, end, end, start, start], axis=1)  # (pieces, 5)
    y = rows[:, None] + np.array([0, 0, 1, 1, 0])
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(np.stack([x, y], axis=-1).reshape(-1, 2), codes * len(rows))


def _fill_cells(
    ax: Axes, w: npt.NDArray[np.float64], allowed: npt.NDArray[np.bool_], levels: int = 64
) -> None:
    """Colour the cells, those of one shade as one shape: a large map stays a small file."""
    colours = weights_cmap()
    shade = np.where(allowed, np.round(np.clip(w, 0, 1) * levels).astype(int), -1)
    for level in np.unique(shade):
        path = _cells_path(shade == level)
        if level < 0:
            ax.add_patch(PathPatch(path, fill=False, hatch="////", linewidth=0, ec=LIGHT["faint"]))
        elif level > 0:  # a weight of zero is bare paper
            ax.add_patch(PathPatch(path, facecolor=colours(level / levels), linewidth=0))


def _write_numbers(ax: Axes, w: npt.NDArray[np.float64], allowed: npt.NDArray[np.bool_]) -> None:
    for t, s in np.argwhere(allowed):
        # dark words on light blue, paper-coloured ones on full blue
        ink = LIGHT["paper"] if w[t, s] > 0.62 else LIGHT["ink"]
        text = f"{w[t, s]:.2f}".lstrip("0") if w[t, s] < 0.995 else "1"
        ax.text(s + 0.5, t + 0.5, text, ha="center", va="center", color=ink)

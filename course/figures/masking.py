"""Figures of chapters 2 and 3: what masks say, what a product costs, where a mask leaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import FuncFormatter, NullLocator

from course.figures.palette import LIGHT
from course.figures.style import BASELINE, OURS, draw_weights, power_of_ten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Never colour alone: every line of one chart has a dash of its own.
_DASHES: Sequence[Any] = ("-", (0, (4, 2.5)), (0, (1, 1.4)))


def draw_mask(
    ax: Axes, allowed: npt.ArrayLike, values: npt.ArrayLike | None = None, title: str = ""
) -> None:
    """A mask, queries down and keys across: forbidden cells hatched, a word in each cell.

    Args:
        ax: where to draw.
        allowed: ``(T, S)`` boolean, True = may attend. It decides the hatching.
        values: ``(T, S)`` what stands in the cells: booleans (written T and F), or numbers
            (``-inf`` as −∞); ``allowed`` itself unless given.
        title: above it.

    Raises:
        ValueError: ``allowed`` is no boolean matrix, or ``values`` have another shape.
    """
    may = np.asarray(allowed)
    shown = may if values is None else np.asarray(values)
    if may.ndim != 2 or may.dtype != bool or shown.shape != may.shape:
        raise ValueError(
            f"a boolean mask (T, S) and values of its shape are needed, got {may.dtype} "
            f"{may.shape} and {shown.shape}"
        )
    draw_weights(ax, np.zeros(may.shape), mask=may, numbers=False)
    plate: dict[str, Any] = {"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 1.0}
    for (t, s), value in np.ndenumerate(shown):
        place: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "color": LIGHT["ink"],
        }
        ax.text(s + 0.5, t + 0.5, _cell_word(value), **place, bbox=None if may[t, s] else plate)
    ax.set(xlabel="", ylabel="")
    ax.set_title(title, loc="left")


def draw_ratios(ax: Axes, T: npt.ArrayLike, ratios: Mapping[str, npt.ArrayLike]) -> None:
    """How many times as long as one matrix product other ways take, against the length.

    Args:
        ax: where to draw.
        T: ``(N,)`` lengths.
        ratios: name → ``(N,)`` time divided by the product's. The first is drawn as the baseline
            (grey, dashed). The product itself is the solid line at 1.

    Raises:
        ValueError: nothing to draw, a ratio that is not positive, or another number of them.
    """
    lengths = np.asarray(T, float)
    if not ratios:
        raise ValueError("there is no ratio to draw")
    styles: list[dict[str, Any]] = [
        dict(BASELINE),
        {"color": LIGHT["ink"], "linestyle": _DASHES[2]},
    ]
    ax.plot(lengths, np.ones_like(lengths), color=OURS["color"], linestyle=OURS["linestyle"])
    _name(ax, lengths[-1], 1.0, "one product", LIGHT["attention"])
    for i, (name, values) in enumerate(ratios.items()):
        y = np.asarray(values, float)
        if y.shape != lengths.shape or not (y > 0).all():
            raise ValueError(f"{name!r} needs {len(lengths)} positive ratios, got {y.tolist()}")
        style = styles[min(i, 1)]
        ax.plot(lengths, y, **style)
        _name(ax, lengths[-1], float(y[-1]), name, style["color"])
    ax.set(xscale="log", yscale="log", xlabel="tokens T (log scale)")
    ax.set_ylabel("time ÷ one product’s")
    ax.set_xlim(lengths[0], lengths[-1] * (lengths[-1] / lengths[0]) ** 0.32)
    ax.set_xticks(lengths[:: max(1, len(lengths) // 4)])
    ax.spines["bottom"].set_bounds(lengths[0], lengths[-1])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))


def draw_leak(ax: Axes, depth: npt.ArrayLike, leaks: Mapping[str, npt.ArrayLike]) -> None:
    """The weight that reaches the future, against how far all allowed scores were moved down.

    Args:
        ax: where to draw.
        depth: ``(N,)`` how far below 0 the scores lie, growing, all positive.
        leaks: name of a mask → ``(N,)`` weight of the masked keys, 0 to 1; NaN where the row has
            overflowed and has no weights at all. A mask that leaks is drawn in red and ends in a
            cross, one that never does in blue.

    Raises:
        ValueError: nothing to draw, or a weight outside 0 to 1.
    """
    x = np.asarray(depth, float)
    if not leaks:
        raise ValueError("there is no mask to draw")
    for i, (name, values) in enumerate(leaks.items()):
        y = np.asarray(values, float)
        if y.shape != x.shape or np.nanmin(y) < 0 or np.nanmax(y) > 1 + 1e-6:
            raise ValueError(f"{name!r} needs {len(x)} weights from 0 to 1, got {y.tolist()}")
        leaking = np.nanmax(y) > 0
        colour = LIGHT["wrong" if leaking else "attention"]
        ax.plot(x, y, color=colour, linestyle=_DASHES[i % len(_DASHES)], zorder=3 - leaking)
        if leaking:
            first = int(np.argmax(np.nan_to_num(y) > 0.5))
            ax.plot([x[first]], [y[first]], marker="x", ms=7, mew=1.8, color=colour, zorder=4)
            beside: dict[str, Any] = {
                "xytext": (-6, -2),
                "ha": "right",
                "va": "top",
                "color": colour,
            }
            ax.annotate(name, (x[first], y[first]), textcoords="offset points", **beside)
        else:
            at = x[len(x) // 8]
            ax.annotate(name, (at, 0), (0, 7), textcoords="offset points", color=colour)
    ax.set(xscale="log", ylim=(-0.03, 1.06), xlim=(x[0], x[-1]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(power_of_ten))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0%}"))
    ax.set(xlabel="scores moved down by (log scale)", ylabel="weight of the future")


def _cell_word(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "T" if value else "F"
    return f"{value:g}".replace("-inf", "−∞").replace("inf", "∞").replace("-", "−")


def _name(ax: Axes, x: float, y: float, name: str, colour: str) -> None:
    """A direct label at the end of a line."""
    beside: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
    ax.annotate(name, (x, y), color=colour, annotation_clip=False, **beside)

"""Figures of chapter 9: memory against length, the running maximum, and the tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator

from course.figures.palette import LIGHT, rgb
from course.figures.style import BASELINE, OURS
from course.figures.tables import Table, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from course.experiments import Records

# The square is solid blue and what avoids it dashed, here as in the widget of the chapter.
_LINES: tuple[dict[str, Any], ...] = (
    {**OURS, "marker": "o"},
    {**BASELINE, "marker": "s"},
    {"color": LIGHT["ink"], "linestyle": (0, (1, 1.4)), "marker": "D"},
)
_NOT_YET = "not yet measured"


def draw_growth(
    ax: Axes, series: Mapping[str, tuple[Sequence[float], Sequence[float]]], ylabel: str
) -> None:
    """Some quantities against the length on logarithmic scales, each named at its end.

    The first line is solid, the second dashed, the third dotted; on these scales a square has
    twice the slope of a straight proportion.

    Args:
        ax: where to draw.
        series: a name → lengths n and values, both positive.
        ylabel: what is measured; the scale is said to be logarithmic.

    Raises:
        ValueError: none or more than three series, or values that are missing or not positive.
    """
    if not 1 <= len(series) <= len(_LINES):
        raise ValueError(f"1 to {len(_LINES)} series can be told apart, got {len(series)}")
    lengths: set[float] = set()
    for (name, (n, values)), style in zip(series.items(), _LINES, strict=False):
        if len(n) != len(values) or not len(n) or min(*n, *values) <= 0:
            raise ValueError(f"{name}: as many positive values as lengths are needed, got {values}")
        ax.plot(n, values, **style)
        ax.annotate(
            name, (n[-1], values[-1]), xytext=(9, 0), textcoords="offset points",
            va="center", color=style["color"], annotation_clip=False,
        )  # fmt: skip
        lengths |= set(n)
    ax.set(xscale="log", yscale="log", xlabel="length n (log scale)", ylabel=f"{ylabel} (log)")
    shown = sorted(lengths)
    ax.set_xticks(shown, [f"{n:,.0f}" for n in shown])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,g}"))


def draw_running_maximum(ax: Axes, scores: npt.ArrayLike, tile: int) -> None:
    """One row of scores, its tiles, and the largest score so far, ringed where a tile raises it.

    Args:
        ax: where to draw.
        scores: ``(S,)``.
        tile: how many keys a tile has.

    Raises:
        ValueError: the scores are no row, or ``tile`` is below 1.
    """
    s = np.asarray(scores, dtype=float)
    if s.ndim != 1 or not len(s) or tile < 1:
        raise ValueError(f"a row of scores and a tile of 1 or more are needed: {s.shape}, {tile}")
    starts = np.arange(0, len(s), tile)
    tops = np.maximum.accumulate([s[a : a + tile].max() for a in starts])
    ax.plot(np.arange(len(s)) + 0.5, s, ".", ms=3, color=LIGHT["average"])
    edges = np.append(starts, len(s))
    ax.stairs(tops, edges, baseline=None, color=LIGHT["attention"], lw=1.8)
    raised = np.flatnonzero(np.diff(tops, prepend=-np.inf) > 0)
    for i in raised[1:]:  # the first tile has nothing before it to be rescaled
        ax.plot([edges[i]], [tops[i]], "o", mfc="none", mec=LIGHT["ink"], mew=1.4, ms=7)
    for a in starts[1:]:
        ax.axvline(a, color=LIGHT["faint"], lw=0.6, zorder=0)
    ax.annotate(
        "largest so far", (len(s), tops[-1]), xytext=(6, 0), textcoords="offset points",
        va="center", color=LIGHT["attention"], annotation_clip=False,
    )  # fmt: skip
    ax.set(xlabel=f"key, in tiles of {tile}", ylabel="score", xlim=(0, len(s)))


def draw_tiles(ax: Axes, T: int, tile: int, now: int) -> None:
    """The square that is never stored: one tile of keys at work, the running numbers beside it.

    Args:
        ax: where to draw.
        T: how many queries and keys.
        tile: how many keys a tile has; it divides T.
        now: which tile is at work, from 0.

    Raises:
        ValueError: ``tile`` does not divide T, or there is no such tile.
    """
    if T % tile or not 0 <= now < T // tile:
        raise ValueError(f"tiles of {tile} of {T} keys have no tile {now}")
    start = now * tile
    box: dict[str, Any] = {"lw": 0.9}
    for a in range(0, T, tile):
        live = a == start
        key = (*rgb(LIGHT["key"]), 0.75 if live else 0.16)
        value = (*rgb(LIGHT["value"]), 0.75 if live else 0.16)
        ax.add_patch(Rectangle((a, -1.7), tile, 1.0, fc=key, ec=LIGHT["key"], **box))
        ax.add_patch(Rectangle((a, T + 0.7), tile, 1.0, fc=value, ec=LIGHT["value"], **box))
    ax.add_patch(
        Rectangle((-1.7, 0), 1.0, T, fc=(*rgb(LIGHT["query"]), 0.4), ec=LIGHT["query"], **box)
    )
    ax.add_patch(
        Rectangle((0, 0), T, T, fill=False, ec=LIGHT["muted"], lw=0.9, ls=(0, (1, 2)))
    )  # fmt: skip
    strip = (*rgb(LIGHT["attention"]), 0.6)
    ax.add_patch(Rectangle((start, 0), tile, T, fc=strip, ec=LIGHT["attention"], **box))
    columns = (("top", 0.8, "attention"), ("mass", 0.8, "attention"), ("out", 2.6, "value"))
    x = T + 1.4
    for name, width, colour in columns:
        face = (*rgb(LIGHT[colour]), 0.25)
        ax.add_patch(Rectangle((x, 0), width, T, fc=face, ec=LIGHT[colour], **box))
        ax.text(x + width / 2, -0.35, name, ha="center", color=LIGHT[colour])
        x += width + 1.4
    words: tuple[tuple[float, float, str, str, str], ...] = (
        (-2.0, T / 2, "q", "query", "right"),
        (T / 2, -2.5, "k", "key", "center"),
        (T / 2, T + 2.5, "v", "value", "center"),
        (start / 2, T / 2, "let go", "muted", "center"),
        ((start + tile + T) / 2, T / 2, "not yet\nmade", "muted", "center"),
    )
    for at_x, at_y, text, colour, side in words:
        if text == "let go" and not now:
            continue
        if text.startswith("not yet") and start + tile >= T:
            continue
        ax.text(at_x, at_y, text, ha=side, va="center", color=LIGHT[colour])
    ax.set(xlim=(-2.9, x), ylim=(T + 3.0, -3.1), aspect="equal")
    ax.axis("off")


def cost_table(records: Records) -> Table:
    """Length by length: the scores' size, the recorded peaks, and what a doubling multiplies by.

    Args:
        records: ``load_records("cost")``; a row without a record says "not yet measured".
    """
    plain, efficient = records["plain"], records["efficient"]
    header = ["n", "scores, MB", "peak, MB", "× peak", "× time", "in tiles, MB"]
    if not plain.n:  # the sizes of the scores are known without a measurement
        config, lines = plain.row.config, []
        n = int(config["shortest"])
        while n <= config["longest"]:
            scores = config["n_heads"] * n * n * 4 / 2**20
            lines.append([f"{n:,}", f"{scores:,g}", _NOT_YET, "", "", _NOT_YET])
            n *= 2
        return table(header, lines)
    cost = plain.records[0].curves["cost"]
    tiles: dict[float, Any] = {}
    if efficient.n:
        found = efficient.records[0].curves["cost"]
        tiles = dict(zip(found["n"], found["peak_mb"], strict=True))
    lines = []
    for i, length in enumerate(cost["n"]):
        peak = cost["peak_mb"][i]
        cells = [f"{peak:,.1f}" if peak is not None else "out of memory"]
        cells += [_ratio(cost[name], i) for name in ("peak_mb", "seconds")]
        there = tiles.get(length)
        cells.append(f"{there:,.1f}" if there is not None else _NOT_YET)
        lines.append([f"{length:,.0f}", f"{cost['scores_mb'][i]:,g}", *cells])
    return table(header, lines)


def _ratio(values: Sequence[float | None], i: int) -> str:
    """How much a doubling of the length multiplied by; empty where one of the two is missing."""
    after, before = values[i], values[i - 1] if i else None
    return f"{after / before:.2f}" if after and before else ""

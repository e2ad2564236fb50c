"""Figures and tables of the ladder: ten models, each one idea away from the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import FuncFormatter, NullLocator

from course.figures.palette import LIGHT
from course.figures.style import BAND_OPACITY, BASELINE, OURS, REFERENCE
from course.figures.tables import Table, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from course.experiments import RowSummary

# At most six words: what a chart can hold. The sentences are in RUNGS.
SHORT: dict[str, str] = {
    "no-context": "the token alone",
    "average": "average instead",
    "average-positions": "average, with positions",
    "token-plus-average": "token + average",
    "head-instead": "one head instead",
    "head": "token + one head",
    "four-heads": "token + four heads",
    "feed-forward": "+ feed-forward network",
    "one-block": "+ LayerNorms: one block",
    "two-blocks": "two blocks",
}
_REFERENCE: dict[str, Any] = dict(REFERENCE)
# A colour and a dash for each of the first four rungs: never colour alone.
_CURVES: dict[str, dict[str, Any]] = {
    "no-context": {"color": LIGHT["ink"], "linestyle": "-", "lw": 1.4},
    "average": dict(BASELINE),
    "average-positions": {"color": LIGHT["average"], "linestyle": (0, (1, 1.4))},
    "token-plus-average": dict(OURS),
}


def smooth(losses: npt.ArrayLike, width: int) -> npt.NDArray[np.float64]:
    """Mean of the last ``width`` losses at each step (of fewer at the start); (N,) → (N,).

    Raises:
        ValueError: ``width`` is below 1.
    """
    if width < 1:
        raise ValueError(f"width must be 1 or more, got {width}")
    total = np.concatenate([[0.0], np.cumsum(np.asarray(losses, dtype=float))])
    ends = np.arange(1, len(total))
    starts = np.maximum(ends - width, 0)
    smoothed: npt.NDArray[np.float64] = (total[ends] - total[starts]) / (ends - starts)
    return smoothed


def draw_losses(ax: Axes, losses: Mapping[str, Sequence[float]], width: int = 10) -> None:
    """Training losses of some rungs, smoothed, each named at its end.

    Args:
        ax: where to draw.
        losses: slug of a rung → its losses, one a step.
        width: how many steps are averaged.

    Raises:
        ValueError: nothing to draw.
        KeyError: a slug that is none of the ladder's.
    """
    if not losses:
        raise ValueError("there is no loss to draw")
    ends: list[tuple[float, str, str]] = []
    longest = max(len(values) for values in losses.values())
    for slug, values in losses.items():
        y = smooth(values, width)
        style = _CURVES.get(slug, dict(OURS))
        ax.plot(np.arange(1, len(y) + 1), y, **style)
        ends.append((float(y[-1]), SHORT[slug], style["color"]))
    ax.set(xlim=(0, longest), xlabel="training step", ylabel="loss, nats a token")
    _label_ends(ax, longest, ends)


def draw_ladder(ax: Axes, rows: Sequence[RowSummary]) -> None:
    """Held-out perplexity rung by rung: our mean, the reference as an open mark.

    A rung of several seeds has their standard deviation as a band round its mean.

    A rung without a record shows the reference's mark alone and says "not yet measured".

    Raises:
        ValueError: no rows.
        KeyError: a slug that is none of the ladder's.
    """
    if not rows:
        raise ValueError("there is no rung to draw")
    for y, row in enumerate(rows):
        if row.published is not None:
            ax.plot([row.published], [y], **_REFERENCE, zorder=4)
        if row.mean is None:
            if row.published is not None:
                ax.annotate("not yet measured", (row.published, y), **_beside(LIGHT["muted"]))
            continue
        if row.sd:  # a single seed has no spread, and its row no band
            low, high = row.mean - row.sd, row.mean + row.sd
            height = [y - 0.28, y + 0.28]
            ax.fill_betweenx(height, low, high, color=LIGHT["attention"], alpha=BAND_OPACITY, lw=0)
        ax.plot([row.mean], [y], marker="o", ms=5, color=LIGHT["attention"])
        # at the right of both marks, where the reference's would lie under the figure
        reference = row.published or 0.0
        right = reference if row.mean < reference < 1.5 * row.mean else row.mean
        ax.annotate(f"{row.mean:.1f}", (right, y), **_beside(LIGHT["attention"]))
    ax.set_yticks(range(len(rows)), [SHORT[row.name] for row in rows])
    ax.set(xscale="log", ylim=(len(rows) - 0.5, -0.5), xlabel="held-out perplexity (log scale)")
    low, high = ax.get_xlim()
    ax.set_xlim(low * 0.94, high * 1.25)
    ax.set_xticks([v for v in (30, 40, 60, 100, 150, 250) if low * 0.94 <= v <= high * 1.25])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0f}"))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def ladder_table(
    rows: Sequence[RowSummary],
    live: Mapping[str, Mapping[str, float]] | None = None,
    caption: str = "",
    parameters: Mapping[str, int] | None = None,
) -> Table:
    """The ladder in figures: what was measured on this page, what is recorded, what is published.

    Args:
        rows: rows of ``load_records("ladder")``.
        live: heading → slug → perplexity, for columns measured on the page.
        caption: a sentence above the table.
        parameters: slug → how many the rung has, for a column of them.

    Raises:
        ValueError: no rows.
    """
    live = live or {}
    lines = []
    for row in rows:
        here = [f"{of[row.name]:.1f}" if row.name in of else "" for of in live.values()]
        recorded = row["held_out"].format(2) if row.n else "not yet measured"
        published = "" if row.published is None else f"{row.published:.2f}"
        if row.approximate and row.published is not None:
            published = f"≈ {row.published:.0f}" if row.published > 100 else f"≈ {row.published}"
        seeds = f"{row.n or '–'}{' (stale)' if row.stale else ''}"
        size = [] if parameters is None else [f"{parameters[row.name]:,}"]
        lines.append([SHORT[row.name], *here, recorded, seeds, published, *size])
    size = [] if parameters is None else ["parameters"]
    head = ["held-out perplexity", *live, "recorded", "seeds", "published", *size]
    return table(head, lines, caption)


def _label_ends(ax: Axes, x: float, ends: list[tuple[float, str, str]]) -> None:
    """Name each line at its end, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    gap, last = (high - low) * 0.085, -np.inf
    for y, name, colour in sorted(ends):
        place = max(y, last + gap)
        last = place
        label: dict[str, Any] = {"va": "center", "color": colour, "annotation_clip": False}
        ax.annotate(name, (x, y), xytext=(x * 1.02, place), textcoords="data", **label)


def _beside(colour: str) -> dict[str, Any]:
    """A direct label at the right of a mark."""
    return {"xytext": (9, 0), "textcoords": "offset points", "va": "center", "color": colour}

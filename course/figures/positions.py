"""Figures of chapter 8: what positions look like, and how far each scheme reads."""

from __future__ import annotations

import math
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

_OURS: dict[str, Any] = dict(OURS)
_BASELINE: dict[str, Any] = dict(BASELINE)
# A colour and a dash or mark for each scheme: never colour alone.
SCHEMES: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("none", _BASELINE),
    "learned": ("learned", {"color": LIGHT["ink"], "marker": "x", "mew": 1.4}),
    "sinusoidal": ("sinusoids", {"color": LIGHT["ink"], "linestyle": (0, (1, 1.4))}),
    "rope": ("RoPE", {"color": LIGHT["attention"], "linestyle": (0, (5, 1, 1, 1))}),
    "alibi": ("ALiBi", _OURS),
}


def draw_waves(ax: Axes, encoding: npt.ArrayLike, coordinates: Sequence[int], trained: int) -> None:
    """Some coordinates of an encoding against the position, one wave above the other.

    What training has seen is drawn as ours, what lies beyond it grey and dashed.

    Args:
        ax: where to draw.
        encoding: ``(T, C)``, values from −1 to 1.
        coordinates: which of the C, from top to bottom.
        trained: how many positions training has seen, at most T.

    Raises:
        ValueError: no matrix, a value outside −1 to 1, or more positions trained than there are.
    """
    e = np.asarray(encoding, dtype=float)
    if e.ndim != 2 or np.abs(e).max(initial=0) > 1 + 1e-6 or trained > len(e):
        raise ValueError(
            f"an encoding (T, C) from −1 to 1 with {trained} positions or more is needed, got "
            f"shape {e.shape}"
        )
    t = np.arange(len(e))
    for i, c in enumerate(coordinates):
        base = -2.6 * i
        ax.axhline(base, color=LIGHT["line"], lw=0.8, zorder=0)
        ax.plot(t[:trained], base + e[:trained, c], **_OURS)
        ax.plot(t[trained - 1 :], base + e[trained - 1 :, c], lw=1.2, **_BASELINE)
    ax.set_yticks([-2.6 * i for i in range(len(coordinates))], [str(c) for c in coordinates])
    ax.set(xlim=(0, len(e) - 1), ylim=(-2.6 * len(coordinates) + 1.2, 3.2))
    ax.set(xlabel="position t", ylabel="coordinate")
    ax.set_xticks([0, trained, *(trained * k for k in (2, 3, 4) if trained * k <= len(e))])
    ax.tick_params(axis="y", length=0)
    _mark_trained(ax, trained)


def draw_against_distance(
    ax: Axes,
    series: Mapping[str, npt.ArrayLike],
    ylabel: str,
    *,
    xlabel: str = "distance in tokens",
) -> None:
    """Some quantities against distance 0, 1, 2, …; the first as ours, the others grey by dashes.

    Args:
        ax: where to draw.
        series: name → ``(n,)`` values.
        ylabel, xlabel: what they are.

    Raises:
        ValueError: nothing to draw, or series of different lengths.
    """
    lengths = {len(np.asarray(values)) for values in series.values()}
    if len(lengths) != 1:
        raise ValueError(f"one or more series of one length are needed, got lengths {lengths}")
    (n,) = lengths
    dashes = [(0, (4, 2.5)), (0, (1, 1.4)), (0, (5, 1, 1, 1))]
    for i, (name, values) in enumerate(series.items()):
        style = _OURS if i == 0 else {"color": LIGHT["average"], "linestyle": dashes[(i - 1) % 3]}
        y = np.asarray(values, dtype=float)
        ax.plot(np.arange(n), y, **style)
        ax.annotate(name, (n - 1, y[-1]), **_beside(str(style["color"])))
    ax.set(xlim=(0, n - 1), xlabel=xlabel, ylabel=ylabel)


def draw_loss_by_place(
    ax: Axes,
    losses: Mapping[str, npt.ArrayLike],
    trained: int,
    *,
    width: int = 8,
    ylabel: str = "loss, nats a token",
) -> None:
    """The loss at each place of a window longer than those of training, schemes one by one.

    Args:
        ax: where to draw.
        losses: scheme of :data:`SCHEMES` → ``(L,)`` mean loss at each place.
        trained: the length of training's windows; a line marks it.
        width: how many places are averaged into one point.
        ylabel: what is drawn, where it is not the loss itself.

    Raises:
        ValueError: no losses, or of different lengths.
        KeyError: an unknown scheme.
    """
    lengths = {len(np.asarray(loss)) for loss in losses.values()}
    if len(lengths) != 1:
        raise ValueError(f"losses of one length are needed, got lengths {lengths}")
    (L,) = lengths
    starts = np.arange(0, L - width + 1, width)
    ends = []
    for scheme, loss in losses.items():
        label, style = SCHEMES[scheme]
        y = np.array([np.asarray(loss, float)[s : s + width].mean() for s in starts])
        ax.plot(starts + width / 2, y, ms=4, **style)
        ends.append((float(y[-1]), label, style["color"]))
    low, high = ax.get_ylim()
    ax.set(xlim=(0, L), ylim=(low, high + 0.12 * (high - low)))  # room for the mark's words
    ax.set(xlabel="place in the window", ylabel=ylabel)
    ax.set_xticks([0, trained, *(trained * k for k in (2, 4, 8) if trained * k <= L)])
    _mark_trained(ax, trained)
    _label_ends(ax, L, ends)


def draw_reach(ax: Axes, records: Records) -> None:
    """Recorded held-out perplexity against the length of the windows read, a line a scheme.

    Published figures are open circles. A scheme without a record has no line; with none at all
    the chart says "not yet measured".

    Args:
        ax: where to draw.
        records: ``load_records("positions")``.
    """
    lengths = (64, 128, 256)
    ends = []
    for row in records:
        label, style = SCHEMES[row.name]
        for T in lengths:
            if (value := row.row.published.get(f"at_{T}")) is not None:
                ax.plot([T], [value], "o", ms=5, mfc="none", mec=LIGHT["ink"], mew=1, zorder=4)
        if not row.n:
            continue
        stats = [row[f"at_{T}"] for T in lengths]
        mean, sd = (np.array([getattr(s, part) for s in stats]) for part in ("mean", "sd"))
        ax.fill_between(
            lengths, mean - sd, mean + sd, color=style["color"], alpha=BAND_OPACITY, lw=0
        )
        ax.plot(lengths, mean, ms=5, **style)
        ends.append((float(np.log(mean[-1])), label, style["color"]))
    ax.set(xscale="log", yscale="log", xlabel="tokens read (log scale)")
    ax.set(ylabel="held-out perplexity (log scale)")
    ax.set_xlim(lengths[0] * 0.94, lengths[-1] * 1.06)
    ax.set_xticks(lengths, [str(T) for T in lengths])
    ax.xaxis.set_minor_locator(NullLocator())
    low, high = ax.get_ylim()
    ax.set_ylim(low * 0.97, high * 1.03)
    nice = (30, 35, 40, 45, 50, 60, 80, 100, 150, 200, 300, 500)
    ticks: list[float] = []
    for v in nice:  # none so close to the one before that the words would touch
        if low <= v <= high and (not ticks or v >= ticks[-1] * (high / low) ** 0.08):
            ticks.append(v)
    if len(ticks) < 2:  # a narrow range: whole numbers
        ticks = list(range(math.ceil(low), math.floor(high) + 1))
    ax.set_yticks(ticks)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0f}"))
    if ends:
        _label_ends(ax, lengths[-1] * 1.06, ends, log=True)
    else:
        ax.text(0.5, 0.5, "not yet measured", transform=ax.transAxes, ha="center", va="center")


def _mark_trained(ax: Axes, trained: float) -> None:
    ax.axvline(trained, color=LIGHT["muted"], lw=0.8, ls=(0, (1, 2)), zorder=0)
    ax.annotate(
        "trained up to here", (trained, 1), xycoords=("data", "axes fraction"), xytext=(5, -4),
        textcoords="offset points", va="top", color=LIGHT["muted"],
    )  # fmt: skip


def _label_ends(
    ax: Axes, x: float, ends: Sequence[tuple[float, str, str]], log: bool = False
) -> None:
    """Name each line at its end, moved apart where they would overlap."""
    low, high = np.log(ax.get_ylim()) if log else ax.get_ylim()
    gap, last = (high - low) * 0.09, -np.inf
    for y, name, colour in sorted(ends):
        place = last = max(y, last + gap)
        value = float(np.exp(place)) if log else place
        label = _beside(colour)
        ax.annotate(name, (x, value), **label)


def _beside(colour: str) -> dict[str, Any]:
    """A direct label at the end of a line."""
    return {
        "xytext": (7, 0),
        "textcoords": "offset points",
        "va": "center",
        "color": colour,
        "annotation_clip": False,
    }

"""Figures of chapter 10: the training curve between landmarks, and where a distribution is cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import FuncFormatter, NullLocator

from course.figures.ladder import smooth
from course.figures.palette import LIGHT
from course.figures.style import BASELINE, OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BASELINE: dict[str, Any] = dict(BASELINE)
# A sure place is solid blue, an unsure one dotted ink: never colour alone.
_PLACES: tuple[dict[str, Any], ...] = (
    dict(OURS),
    {"color": LIGHT["ink"], "linestyle": (0, (1, 1.4))},
)


def draw_training(
    ax: Axes, losses: Sequence[float], landmarks: Mapping[str, float], width: int = 10
) -> None:
    """Training loss, smoothed, between dashed levels that say what it would take to get there.

    Args:
        ax: where to draw.
        losses: one a step.
        landmarks: a name → its loss in nats a token.
        width: how many steps are averaged.

    Raises:
        ValueError: there is no loss.
    """
    if not len(losses):
        raise ValueError("there is no loss to draw")
    y = smooth(losses, width)
    ax.plot(np.arange(1, len(y) + 1), y, **OURS)
    ax.annotate("this model", (len(y), float(y[-1])), **_beside(LIGHT["attention"]))
    for name, level in landmarks.items():
        ax.axhline(level, **_BASELINE)
        ax.annotate(name, (len(y), level), **_beside(LIGHT["average"]))
    ax.set(xlim=(0, len(y)), xlabel="training step", ylabel="loss, nats a token")


def draw_mass_by_rank(
    ax: Axes, places: Mapping[str, npt.ArrayLike], top_k: int, top_p: float
) -> None:
    """How much probability the likeliest tokens hold together, and where two rules cut it.

    Args:
        ax: where to draw.
        places: a name → probabilities ``(V,)``, at most two of them.
        top_k: a vertical line at this rank.
        top_p: a horizontal line at this mass.

    Raises:
        ValueError: none or more than two places, or probabilities that do not sum to 1.
    """
    if not 1 <= len(places) <= len(_PLACES):
        raise ValueError(f"1 or {len(_PLACES)} places can be told apart, got {len(places)}")
    longest = 1
    for (name, given), style in zip(places.items(), _PLACES, strict=False):
        p = np.sort(np.asarray(given, dtype=float))[::-1]
        if p.ndim != 1 or abs(p.sum() - 1) > 1e-3:
            raise ValueError(f"{name}: probabilities (V,) sum to 1, these sum to {p.sum():g}")
        mass, rank = np.cumsum(p), np.arange(1, len(p) + 1)
        ax.plot(rank, mass, **style)
        cut = int(np.argmax(mass >= top_p - 1e-12))
        ax.plot([rank[cut]], [mass[cut]], "o", mfc="none", mec=style["color"], ms=7, mew=1.4)
        ax.annotate(
            name, (rank[cut], mass[cut]), xytext=(8, -12), textcoords="offset points",
            color=style["color"],
        )  # fmt: skip
        longest = max(longest, len(p))
    ax.axvline(top_k, **_BASELINE)
    ax.axhline(top_p, **_BASELINE)
    quiet: dict[str, Any] = {"textcoords": "offset points", "color": LIGHT["average"]}
    ax.annotate(f"top-k, {top_k}", (top_k, 0.0), xytext=(5, 5), **quiet)
    # beside the axes: inside, a curve or its name may be anywhere along the line
    beside: dict[str, Any] = {"xytext": (6, 0), "va": "center", "annotation_clip": False}
    ax.annotate(f"top-p, {top_p:g}", (longest, top_p), **beside, **quiet)
    ax.set(xscale="log", xlim=(1, longest), ylim=(0, 1.06))
    ax.set(xlabel="tokens kept, likeliest first (log)", ylabel="mass together")
    ax.set_xticks([v for v in (1, 10, 100, 1000, 10_000) if v <= longest])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))


def _beside(colour: str) -> dict[str, Any]:
    return {
        "xytext": (9, 0),
        "textcoords": "offset points",
        "va": "center",
        "color": colour,
        "annotation_clip": False,
    }

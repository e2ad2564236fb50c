"""Figures of chapter 11: who sees whom, a learning rate that rises and falls, a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Rectangle

from course.figures.palette import LIGHT, rgb
from course.figures.style import BASELINE, OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BASELINE: dict[str, Any] = dict(BASELINE)
_OURS: dict[str, Any] = dict(OURS)


def draw_who_sees_whom(
    axes: Sequence[Axes], maps: Mapping[str, npt.ArrayLike], sides: Mapping[str, tuple[str, str]]
) -> None:
    """Which row may use which token, a panel a map: filled where it does, hatched where not.

    Args:
        axes: as many as there are maps.
        maps: name → boolean ``(T, S)``, rows are queries.
        sides: name → what the rows and what the columns are.

    Raises:
        ValueError: another number of axes than maps, or a map that is no boolean matrix.
    """
    if len(axes) != len(maps):
        raise ValueError(f"{len(maps)} maps need as many axes, got {len(axes)}")
    for ax, (name, values) in zip(axes, maps.items(), strict=True):
        seen = np.asarray(values)
        if seen.ndim != 2 or seen.dtype != bool:
            raise ValueError(f"{name}: a boolean (T, S) is needed, got {seen.dtype} {seen.shape}")
        T, S = seen.shape
        for t, s in np.ndindex(T, S):
            blue = (*rgb(LIGHT["attention"]), 0.5)
            look: dict[str, Any] = {"facecolor": blue, "edgecolor": LIGHT["paper"], "lw": 1.2}
            if not seen[t, s]:
                look = {"fill": False, "hatch": "////", "edgecolor": LIGHT["faint"], "lw": 0.6}
            ax.add_patch(Rectangle((s, t), 1, 1, **look))
        rows, columns = sides[name]
        ax.set(xlim=(0, S), ylim=(T, 0), aspect="equal", xticks=[], yticks=[])
        ax.set_xlabel(columns, color=LIGHT["key"])
        ax.set_ylabel(rows, color=LIGHT["query"])
        ax.set_title(name, loc="left")
        for spine in ax.spines.values():
            spine.set_visible(False)


def draw_schedule(ax: Axes, rates: Mapping[str, npt.ArrayLike], warmup: int) -> None:
    """Learning rates against the step, counted from 1; the first is solid, the others dashed.

    Rates are drawn in units of 10⁻⁴, each curve named at its peak.

    Args:
        ax: where to draw.
        rates: name → one rate a step.
        warmup: the step at which the first one's rise ends.

    Raises:
        ValueError: nothing to draw.
    """
    if not rates:
        raise ValueError("there is no schedule to draw")
    longest = 0
    for i, (name, values) in enumerate(rates.items()):
        y = 1e4 * np.asarray(values, dtype=float)
        longest = max(longest, len(y))
        style = _OURS if i == 0 else _BASELINE
        ax.plot(np.arange(1, len(y) + 1), y, **style)
        peak = int(y.argmax())
        ax.annotate(
            name, (peak + 1, y[peak]), xytext=(7, 3), textcoords="offset points", va="bottom",
            color=style["color"], annotation_clip=False,
        )  # fmt: skip
    ax.axvline(warmup, color=LIGHT["muted"], lw=0.8, zorder=0)
    ax.annotate(
        "warm-up ends", (warmup, 0), xytext=(5, 4), textcoords="offset points",
        color=LIGHT["muted"],
    )  # fmt: skip
    ax.set(xlim=(0, longest), xlabel="training step", ylabel="learning rate, 10⁻⁴")
    ax.set_ylim(bottom=0)
    ax.set_xticks(np.arange(0, longest + 1, max(1, longest // 5)))


def draw_training(ax: Axes, losses: Mapping[str, Sequence[float]], floor: float) -> None:
    """Training losses, smoothed over ten steps, above the least that smoothed targets allow.

    Args:
        ax: where to draw.
        losses: name → a loss a step; the first is ours, a further one the mistake beside it.
        floor: the entropy of the smoothed target.

    Raises:
        ValueError: nothing to draw.
    """
    if not losses:
        raise ValueError("there is no loss to draw")
    longest = max(map(len, losses.values()))
    wrong = {"color": LIGHT["wrong"], "linestyle": "-", "marker": "x", "mew": 1.4, "markevery": 5}
    for i, (name, values) in enumerate(losses.items()):
        y = np.asarray(values, dtype=float)
        width = min(10, len(y))
        smooth = np.convolve(y, np.ones(width) / width, mode="valid")[::width]
        x = np.arange(len(smooth)) * width + width
        style: dict[str, Any] = _OURS if i == 0 else wrong
        ax.plot(x, smooth, **style)
        place: dict[str, Any] = {"xytext": (6, 2), "va": "bottom"}
        if i:  # below the curve: the other one lies above it
            place = {"xytext": (0, -6), "va": "top", "ha": "right"}
        ax.annotate(
            name, (x[-1], smooth[-1]), **place, textcoords="offset points", color=style["color"],
            annotation_clip=False,
        )  # fmt: skip
    ax.axhline(floor, **_BASELINE)
    ax.annotate(
        "the least possible", (longest, floor), xytext=(-2, -3), textcoords="offset points",
        ha="right", va="top", color=LIGHT["average"],
    )  # fmt: skip
    ax.set(xlim=(0, longest), xlabel="training step", ylabel="loss, nats a token")
    ax.set_ylim(bottom=0)

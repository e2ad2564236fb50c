"""Figures of chapters 1 and 2: what an average keeps of a sequence, and what it loses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import FuncFormatter

from course.figures.palette import LIGHT
from course.figures.style import BASELINE, OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_channel(ax: Axes, token: npt.ArrayLike, average: npt.ArrayLike) -> None:
    """One coordinate of every token, and of the average of everything up to it.

    Args:
        ax: where to draw.
        token: ``(T,)`` one channel of x.
        average: ``(T,)`` the same channel of its causal average.

    Raises:
        ValueError: the two differ in shape or are not vectors.
    """
    x, a = np.asarray(token, float), np.asarray(average, float)
    if x.ndim != 1 or x.shape != a.shape:
        raise ValueError(f"two vectors (T,) are needed, got shapes {x.shape} and {a.shape}")
    t = np.arange(1, len(x) + 1)
    ax.axhline(0, color=LIGHT["line"], lw=0.8, zorder=0)
    ax.plot(t, x, color=LIGHT["attention"], lw=0.9)
    ax.plot(t, a, color=LIGHT["average"], lw=2.4, ls=BASELINE["linestyle"])
    top, apart = float(np.abs(x).max()), 9 if x[-1] > a[-1] else -9
    ax.set(xlim=(1, len(x) * 1.22), ylim=(-1.1 * top, 1.1 * top))
    ax.set_xticks(sorted({1, *(len(x) * part // 4 or 1 for part in (1, 2, 3, 4))}))
    ax.annotate("the token", (t[-1], x[-1]), **_beside(LIGHT["attention"], up=apart))
    ax.annotate("its average", (t[-1], a[-1]), **_beside(LIGHT["average"], up=-apart))
    ax.spines["bottom"].set_bounds(1, len(x))
    ax.set(xlabel="tokens so far", ylabel="one channel of C")


def draw_present(ax: Axes, shares: Mapping[str, npt.ArrayLike]) -> None:
    """How much of a summary is the present token, against how many tokens there are.

    Args:
        ax: where to draw.
        shares: name → ``(T,)`` share, 0 to 1. The first is drawn as the baseline (grey, dashed),
            the second, if there is one, as ours (blue, solid).

    Raises:
        ValueError: no series or more than two, or a share outside 0 to 1.
    """
    if not 1 <= len(shares) <= 2:
        raise ValueError(f"one or two series are needed, got {len(shares)}")
    styles: list[dict[str, Any]] = [dict(BASELINE), dict(OURS)]
    for (name, share), style in zip(shares.items(), styles, strict=False):
        y = np.asarray(share, float)
        if y.ndim != 1 or y.min() < 0 or y.max() > 1:
            raise ValueError(f"{name!r} is no vector of shares from 0 to 1")
        t = np.arange(1, len(y) + 1)
        ax.plot(t, y, **style)
        ax.annotate(name, (t[-1], y[-1]), **_beside(style["color"], up=5))
    ax.set(xscale="log", ylim=(0, 1.02), xlim=(1, len(y) * 3.2))
    ax.set_xticks([1, *(2**i for i in range(2, 20, 2) if 2**i < len(y)), len(y)])
    ax.spines["bottom"].set_bounds(1, len(y))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0f}"))
    ax.minorticks_off()
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0%}"))
    ax.set(xlabel="tokens so far (log scale)", ylabel="share of the present")


def _beside(colour: str, up: float = 0) -> dict[str, Any]:
    """A direct label at the end of a line."""
    return {
        "xytext": (5, up),
        "textcoords": "offset points",
        "va": "center",
        "color": colour,
        "annotation_clip": False,
    }

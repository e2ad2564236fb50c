"""Figures of the front page: why not a recurrence, and not a convolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import NullLocator

from course.figures.palette import LIGHT
from course.figures.style import BASELINE, OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Row of the experiment "recurrence" → how it is drawn and what it is called, six words at most.
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "tanh-0.9": ("size 0.9", {**BASELINE}),
    "tanh-1.0": ("size 1.0", {"color": LIGHT["average"], "linestyle": (0, (1, 1.4))}),
    "tanh-1.2": ("size 1.2", {"color": LIGHT["wrong"], "marker": "x", "markevery": 50, "ms": 5}),
    "lstm-0": ("LSTM, gates half open", {"color": LIGHT["ink"], "linestyle": (0, (5, 1, 1, 1))}),
    "lstm-2": ("LSTM, gates open", {"color": LIGHT["ink"], "linestyle": "-", "lw": 1.2}),
    "attention": ("attention", {**OURS, "lw": 2.4}),
}


def draw_gradients(
    ax: Axes, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], floor: float = 1e-6
) -> None:
    """What is left of the gradient at an input k steps back, against the one a step back.

    Args:
        ax: where to draw.
        curves: a row of the experiment "recurrence" → distances and relative norms.
        floor: values below it are not drawn: the line leaves the picture there.

    Raises:
        ValueError: nothing to draw.
        KeyError: a network that is none of the experiment's.
    """
    if not curves:
        raise ValueError("there is no gradient to draw")
    last = max(distances[-1] for distances, _ in curves.values())
    top = max(max(values) for _, values in curves.values())
    for slug, (distances, values) in curves.items():
        name, style = NETWORKS[slug]
        y = np.asarray(values, dtype=float)
        shown = np.where(y >= floor, y, np.nan)
        ax.plot(distances, shown, **style)
        end = int(np.flatnonzero(y >= floor)[-1])  # where the line ends or leaves the picture
        inside = end == len(y) - 1
        ax.annotate(
            name, (distances[end], y[end]), xytext=(6, 0 if inside else 8),
            textcoords="offset points", va="center", color=style["color"], annotation_clip=False,
        )  # fmt: skip
    ax.set(yscale="log", ylim=(floor, 10 * top), xlim=(0, last))
    ax.set(xlabel="steps back", ylabel="gradient left (log scale)")
    ax.set_yticks([1e-6, 1e-3, 1, 1e3], ["10⁻⁶", "10⁻³", "1", "10³"])
    ax.yaxis.set_minor_locator(NullLocator())


def draw_paths(ax: Axes, T: int, names: Sequence[str] = ("recurrence", "attention")) -> None:
    """How information gets from the first of T tokens to the last: hand to hand, or at once.

    Args:
        ax: where to draw.
        T: how many tokens, at least 3.
        names: of the upper and the lower row.

    Raises:
        ValueError: fewer than three tokens.
    """
    if T < 3:
        raise ValueError(f"a path needs at least 3 tokens, got T={T}")
    arrow = {"arrowstyle": "-|>", "shrinkA": 4, "shrinkB": 4}
    for y, name, colour in ((1.0, names[0], "average"), (0.0, names[1], "attention")):
        ax.plot(range(T), [y] * T, "o", ms=6, color=LIGHT[colour])
        ax.text(-0.5, y, name, ha="right", va="center", color=LIGHT[colour])
    for t in range(T - 1):
        ax.annotate(
            "", (t + 1, 1), (t, 1), arrowprops={**arrow, "color": LIGHT["average"], "ls": "--"}
        )
        # One head is enough where all paths meet; the thick one is the first token's.
        look = {"lw": 1.6} if t == 0 else {"lw": 0.6, "arrowstyle": "-"}
        bend = {"connectionstyle": f"arc3,rad={-0.12 - 0.9 / (T - t):.3f}"}
        ax.annotate(
            "", (T - 1, 0), (t, 0),
            arrowprops={**arrow, **bend, "color": LIGHT["attention"], **look},
        )  # fmt: skip
    ax.set(xlim=(-3.2, T - 0.6), ylim=(-0.4, 1.4))
    ax.axis("off")

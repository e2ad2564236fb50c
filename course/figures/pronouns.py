"""Figures of chapter 12: whom the models name, where they look, and where the message is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Rectangle

from course.figures.palette import LIGHT, rgb
from course.figures.style import BASELINE, REFERENCE, draw_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from course.experiments import Records

NAMES = {
    "leaky-average": "average, leaky",
    "leaky-one-block": "one block, leaky",
    "average": "average",
    "one-block": "one block",
    "two-blocks": "two blocks",
}
_HEIGHT = 0.62
_MARK: dict[str, Any] = dict(REFERENCE)
_CHANCE: dict[str, Any] = {**BASELINE, "lw": 1.0}


def draw_answers(ax: Axes, answers: Mapping[str, Sequence[float]], records: Records) -> None:
    """Whom each model names: the right noun, the pair's other noun, anything else.

    The published share of right answers is a small open mark; a model without a measurement shows
    that mark alone and says so.

    Args:
        ax: where to draw.
        answers: row of the experiment → (right, other noun, anything else), which sum to 1; empty
            where nothing is measured.
        records: ``load_records("pronouns")``, for the published shares.

    Raises:
        ValueError: nothing to draw, or shares that do not sum to 1.
        KeyError: a row that the experiment does not have.
    """
    if not answers:
        raise ValueError("there is no model to draw")
    for y, (row, shares) in enumerate(answers.items()):
        published = records[row].published
        if shares:
            _bar(ax, y, row, shares)
        else:
            ax.text(0.02, y, "not yet measured", va="center", color=LIGHT["muted"])
        if published is not None:
            ax.plot([published], [y], **_MARK, zorder=5, clip_on=False)
    ax.axvline(0.5, **_CHANCE, zorder=3)
    ax.text(0.5, -0.62, "chance", ha="center", va="bottom", color=LIGHT["average"])
    ax.set_yticks(range(len(answers)), [NAMES[row] for row in answers])
    ax.set(xlim=(0, 1), ylim=(len(answers) - 0.5, -0.6), xlabel="share of held-out questions")
    ax.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def draw_asking_rows(
    ax: Axes, weights: npt.ArrayLike, adjectives: Sequence[str], words: Sequence[str], title: str
) -> None:
    """What one place looks at, a row for each adjective: weights (A, S).

    Args:
        ax: where to draw.
        weights: ``(A, S)``, every row sums to 1.
        adjectives: A of them, from the top.
        words: the S tokens looked at.
        title: what stands above.

    Raises:
        ValueError: shapes that do not fit, or a row that does not sum to 1.
    """
    w = np.asarray(weights, dtype=float)
    if w.ndim != 2 or w.shape != (len(adjectives), len(words)):
        raise ValueError(
            f"weights {w.shape} do not fit {len(adjectives)} adjectives, {len(words)} words"
        )
    draw_weights(ax, w, queries=list(adjectives), keys=list(words), numbers=False)
    ax.xaxis.tick_bottom()
    ax.set_xticks(np.arange(len(words)) + 0.5, list(words), rotation=60, ha="right", va="top")
    for label in ax.get_xticklabels():
        label.set_rotation_mode("anchor")
    ax.tick_params(axis="x", pad=5)
    ax.set(xlabel="", ylabel="", aspect="auto")
    ax.set_title(title, loc="left")


def draw_where(ax: Axes, turned: npt.ArrayLike, words: Sequence[str]) -> None:
    """The share of answers that turn when one place's vector is exchanged, place by place.

    Args:
        ax: where to draw.
        turned: ``(S,)`` shares between 0 and 1.
        words: the S tokens, the adjective's as a word of its own choice.

    Raises:
        ValueError: lengths that differ, or a share outside 0 to 1.
    """
    y = np.asarray(turned, dtype=float)
    if y.shape != (len(words),) or (y < 0).any() or (y > 1).any():
        raise ValueError(f"{len(words)} shares between 0 and 1 are needed, got {y}")
    places = np.arange(len(words))
    ax.bar(places, y, width=0.8, color=LIGHT["attention"])
    for place in places[y == 0]:  # nothing to see is also a result
        ax.plot([place], [0.012], marker="_", ms=6, color=LIGHT["muted"])
    ax.set_xticks(places, list(words), rotation=60, ha="right", rotation_mode="anchor")
    ax.set(ylim=(0, 1.02), yticks=[0, 0.5, 1], ylabel="answers that turn")
    ax.set_yticklabels(["0", "½", "1"])
    ax.tick_params(axis="x", length=0)


def _bar(ax: Axes, y: int, row: str, shares: Sequence[float]) -> None:
    """Three pieces laid end to end, each named where it is wide enough for its name."""
    parts = np.asarray(shares, dtype=float)
    if parts.shape != (3,) or abs(parts.sum() - 1) > 1e-6:
        raise ValueError(f"{row}: right, other noun and else must sum to 1, got {shares}")
    looks = (("right", "attention", ""), ("× other noun", "wrong", "xx"), ("else", "average", ""))
    left = 0.0
    for share, (name, colour, hatch) in zip(parts, looks, strict=True):
        place = (left, y - _HEIGHT / 2)
        face = (*rgb(LIGHT[colour]), 0.3 if name == "right" else 0.14)
        patch = Rectangle(
            place, share, _HEIGHT, facecolor=face, edgecolor=LIGHT[colour], lw=0.9, hatch=hatch
        )
        if share > 0:
            ax.add_patch(patch)
        if share > 0.09 + 0.017 * len(name):
            plate = {"facecolor": LIGHT["paper"], "lw": 0, "pad": 1.2} if hatch else None
            ink = LIGHT["ink" if name == "right" else colour]
            ax.text(left + 0.02, y, name, va="center", color=ink, bbox=plate, zorder=4)
        left += share

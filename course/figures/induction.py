"""Figures of chapter 12: repeated text is learned at once, when two heads have found each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter, NullLocator

from course.figures.palette import LIGHT
from course.figures.style import BAND_OPACITY, BASELINE, OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from course.experiments import Records

_LABELS = {"one-layer": "one layer", "two-layers": "two layers"}


def draw_repeated_loss(ax: Axes, records: Records) -> None:
    """Loss on the part that repeats against the step, of one and of two layers of attention.

    Args:
        ax: where to draw.
        records: ``load_records("induction")``; a row without a record is named and not drawn.
    """
    missing = []
    for name, style in (("one-layer", BASELINE), ("two-layers", OURS)):
        if not records[name].n:
            missing.append(_LABELS[name])
            continue
        curve = records[name].curve("heads", y="loss_repeated")
        ax.fill_between(
            curve.x, curve.low, curve.high, color=style["color"], alpha=BAND_OPACITY, lw=0
        )
        ax.plot(curve.x, curve.mean, **style)
        _name(ax, curve.x[-1], curve.mean[-1], _LABELS[name], str(style["color"]))
    _say_missing(ax, missing)
    _steps(ax)
    ax.set(ylabel="loss, repeated part")
    ax.set_ylim(bottom=0)


def draw_two_heads(ax: Axes, records: Records) -> None:
    """How much the best previous-token head and the best induction head look there, by step.

    Args:
        ax: where to draw.
        records: ``load_records("induction")``, of which the two layers are drawn.
    """
    row = records["two-layers"]
    if not row.n:
        _say_missing(ax, [_LABELS["two-layers"]])
    else:
        heads = (
            ("previous_layer1", "previous", "average"),
            ("induction_last", "induction", "attention"),
        )
        for metric, name, colour in heads:
            curve = row.curve("heads", y=metric)
            ax.fill_between(
                curve.x, curve.low, curve.high, color=LIGHT[colour], alpha=BAND_OPACITY, lw=0
            )
            dash = "--" if colour == "average" else "-"
            ax.plot(curve.x, curve.mean, dash, color=LIGHT[colour])
            _name(ax, curve.x[-1], curve.mean[-1], name, LIGHT[colour])
    _steps(ax)
    ax.set(ylabel="weight, best head", ylim=(0, 1), yticks=[0, 0.5, 1])


def _name(ax: Axes, x: float, y: float, text: str, colour: str) -> None:
    ax.annotate(
        text, (x, y), xytext=(6, 0), textcoords="offset points", va="center", color=colour,
        annotation_clip=False,
    )  # fmt: skip


def _say_missing(ax: Axes, missing: list[str]) -> None:
    if missing:
        text = f"{', '.join(missing)}: not yet measured"
        place = {"xy": (0.03, 0.5), "xycoords": "axes fraction", "va": "center"}
        ax.annotate(text, **place, color=LIGHT["muted"])  # type: ignore[arg-type]


def _steps(ax: Axes) -> None:
    """Steps on a scale that shows both the long wait and the drop."""
    ax.set(xscale="symlog", xlabel="training step (log scale)")
    ax.set_xlim(0, 3000)
    ax.set_xticks([0, 10, 100, 1000])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0f}"))

"""Chapter 7: norms before or after, with and without warm-up, from the recorded runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets

from course.experiments import Records, load_records
from course.widgets.base import CourseWidget, Strings, measured


def rows_of(records: Records) -> list[dict[str, Any]]:
    """What the widget needs of the table: one dict a measured variant."""
    rows = []
    for r in records:
        if not r.n:
            continue
        loss, gradient = r.curve("loss"), r.curve("gradients", y="output", x="block")
        rows.append(
            {
                "norm": r.row.config["norm"],
                "warmup": bool(r.row.config["warmup"]),
                "mean": r.mean,
                "sd": r.sd,
                "n": r.n,
                "published": r.published,
                "loss": [[x, round(y, 4)] for x, y in zip(loss.x, loss.mean, strict=True)],
                "gradient": [float(f"{g:.4g}") for g in gradient.mean],
            }
        )
    return rows


class NormsAndWarmup(CourseWidget):
    """Training losses of the four variants and, before any step, the gradient in each block.

    Args:
        rows: the variants, see :func:`rows_of`; by default from the course's records.
        norm: "pre" or "post".
        warmup: whether the learning rate rises over the first 200 steps.
    """

    PARTS = ("chart.js",)
    HEIGHTS = (892, 513)

    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    norm = traitlets.Enum(["pre", "post"], "post").tag(sync=True)
    warmup = traitlets.Bool(False).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Where the norm stands decides whether you need warm-up",
        "look_for": (
            "the one run of four that never gets going: norms after the addition, full learning "
            "rate from the first step. Its gradients, before any step, are the larger ones."
        ),
        "picture": "Training losses against steps, and gradient norms block by block.",
        "norm": "LayerNorm",
        "pre": "before (pre)",
        "post": "after (post)",
        "warmup": "warm-up of 200 steps",
        "loss": "training loss, nats a token",
        "gradient": "gradient of Wₒ before any step",
        "block": "block",
        "readout": (
            "{label}: held-out perplexity {measured}, published {published:.1f}. Before any step "
            "the last block’s gradient is {ratio:.2f} times the first’s."
        ),
        "readout_none": "{label}: not yet measured.",
        "label_warmup": "{norm}-norm with warm-up",
        "label_plain": "{norm}-norm without warm-up",
    }

    def __init__(self, rows: Sequence[dict[str, Any]] | None = None, **traits: Any) -> None:
        found = rows_of(load_records("norms")) if rows is None else list(rows)
        missing = "" if found else self.not_measured("norms")
        super().__init__(rows=found, missing=missing, **traits)

    def numbers(self) -> dict[str, Any]:
        """The chosen variant's perplexity, its spread, and how the gradient grows."""
        chosen = [r for r in self.rows if (r["norm"], r["warmup"]) == (self.norm, self.warmup)]
        label = self.strings["label_warmup" if self.warmup else "label_plain"]
        label = label.replace("{norm}", self.norm)
        label = label[:1].upper() + label[1:]
        if not chosen:
            return {"say": "none", "label": label}
        r = chosen[0]
        return {
            "say": "",
            "label": label,
            "mean": r["mean"],
            "published": r["published"],
            "measured": measured(r, self.strings),
            "ratio": r["gradient"][-1] / r["gradient"][0],
        }

"""Chapters 0 and 7: the ladder, rung by rung, with what each one measured."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets

from course.experiments import Records, load_records
from course.widgets.base import CourseWidget, Strings, measured


class LadderMap(CourseWidget):
    """Held-out perplexity of the ten rungs, built up one rung at a time.

    Args:
        records: the ladder's table; by default the course's own records.
        rung: how many rungs are shown, 1 to 10.
    """

    PARTS = ("chart.js",)
    HEIGHTS = (880, 675)

    rung = traitlets.Int(10, min=1, max=10).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "The ladder: ten models, one idea each",
        "look_for": (
            "the two steps to the right, where a model loses its token or gains capacity it cannot "
            "use; the long step left is the token coming back. Grey: without attention; blue: with "
            "it. Filled, and its number: measured here, with the spread as a band where there are "
            "several seeds; open: published."
        ),
        "picture": "Ten rows, one a model, with its held-out perplexity as a point.",
        "rung": "up to rung",
        "perplexity": "perplexity, held out (logarithmic)",
        "not_measured": "not yet measured",
        "stale": "stale",
        "names": [
            "the token alone",
            "average instead",
            "average, with positions",
            "token + average",
            "one head instead",
            "token + one head",
            "token + four heads",
            "+ feed-forward",
            "+ LayerNorms: one block",
            "two blocks",
        ],
        "readout": ("Rung {rung:d}, {name}: perplexity {measured}, published {published:.1f}."),
        "readout_step": (
            "Rung {rung:d}, {name}: perplexity {measured}, published {published:.1f}; {step:.1f} "
            "points {direction} rung {before:d}."
        ),
        "readout_none": "Rung {rung:d}, {name}: not yet measured (published {published:.1f}).",
        "better": "better than",
        "worse": "worse than",
    }

    def __init__(self, records: Records | None = None, **traits: Any) -> None:
        table = records if records is not None else load_records("ladder")
        rows = [
            {"mean": r.mean, "sd": r.sd, "n": r.n, "published": r.published, "stale": r.stale}
            for r in table
        ]
        super().__init__(rows=rows, **traits)

    def numbers(self) -> dict[str, Any]:
        """The last shown rung and how far it is from the one before it."""
        row = self.rows[self.rung - 1]
        before = self.rows[self.rung - 2] if self.rung > 1 else {"mean": None}
        step = None
        if row["mean"] is not None and before["mean"] is not None:
            step = row["mean"] - before["mean"]
        return {
            "say": "none" if row["mean"] is None else "" if step is None else "step",
            "rung": self.rung,
            "before": self.rung - 1,
            "name": self.strings["names"][self.rung - 1],
            "mean": row["mean"],
            "published": row["published"],
            "measured": "" if row["mean"] is None else measured(row, self.strings),
            "step": None if step is None else abs(step),
            "direction": self.strings["better" if step is not None and step < 0 else "worse"],
        }

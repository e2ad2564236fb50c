"""Chapter 9: the two n × n tensors, the card they no longer fit, and the tiles that avoid them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets

from course.widgets.base import CourseWidget, Strings
from course.widgets.recorded import peaks

MIB = 2**20
WIDTH, HEADS = 512, 8
CARDS = (8, 24, 80)  # GB of a laptop's, a workstation's and a data centre's GPU


class QuadraticCost(CourseWidget):
    """Memory of one attention layer against n: scores, weights, and the same result in tiles.

    Width 512, 8 heads, batch 1. Scores and weights are (8, n, n) each. A kernel that works in
    tiles (Dao et al. 2022) keeps q, k, v, out and one number a row: linear in n.

    Args:
        n: sequence length, 128 to 1,048,576.
        dtype: "float32" or "float16".
        measured, measured_tiles: peaks as ``(n, MB)``, drawn as open marks; by default the
            recorded ones of the plain layer and of PyTorch's memory-efficient kernel.
    """

    PARTS = ("chart.js",)
    HEIGHTS = (777, 611)

    n = traitlets.Int(4096, min=16, max=2**20).tag(sync=True)
    dtype = traitlets.Enum(["float32", "float16"], "float32").tag(sync=True)
    measured = traitlets.List(traitlets.List(traitlets.Float(), minlen=2, maxlen=2)).tag(sync=True)
    measured_tiles = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Twice the text, four times the memory",
        "look_for": (
            "the slopes. Every doubling of n takes the blue line up by four and the dashed one by "
            "two. Half the precision moves the blue line down once; it does not change its slope."
        ),
        "picture": "Memory against sequence length on logarithmic scales, with three cards’ sizes.",
        "n": "sequence length n",
        "dtype": "dtype",
        "quadratic": "scores and weights",
        "linear": "in tiles",
        "measured": "measured peak",
        "memory": "megabytes of one layer",
        "card": "{gb} GB",
        "readout": (
            "n = {n:,d}: the scores alone take {scores:,.1f} MB, with the weights {both:,.1f} MB. "
            "In tiles the layer keeps {tiles:,.1f} MB. {fits}"
        ),
        "fits_all": "It fits every card drawn.",
        "fits_not": "It no longer fits the card of {gb} GB.",
        "fits_none": "It fits no card drawn.",
    }

    def __init__(
        self,
        measured: Sequence[Sequence[float]] | None = None,
        measured_tiles: Sequence[Sequence[float]] | None = None,
        **traits: Any,
    ) -> None:
        plain = peaks("plain") if measured is None else measured
        tiles = peaks("efficient") if measured_tiles is None else measured_tiles
        super().__init__(
            measured=[[float(v) for v in pair] for pair in plain],
            measured_tiles=[[float(v) for v in pair] for pair in tiles],
            **traits,
        )

    def numbers(self) -> dict[str, Any]:
        """Megabytes (2²⁰ bytes) of the scores, of both n × n tensors, and of the tiled way."""
        size = 4 if self.dtype == "float32" else 2
        scores = HEADS * self.n * self.n * size / MIB
        tiles = (4 * self.n * WIDTH * size + self.n * HEADS * 4) / MIB
        full = [gb for gb in CARDS if 2 * scores > gb * 1024]
        key = "fits_all" if not full else "fits_none" if len(full) == len(CARDS) else "fits_not"
        fits = self.strings[key].replace("{gb}", str(full[-1]) if full else "")
        return {"n": self.n, "scores": scores, "both": 2 * scores, "tiles": tiles, "fits": fits}

"""Chapter 8: what a rotation and a slope say about distance, and how far each scheme reaches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from course.widgets.base import CourseWidget, Strings
from course.widgets.recorded import perplexity_by_length

D_HEAD, HEADS, BASE = 32, 8, 10000.0
DISTANCES = 256


class PositionReach(CourseWidget):
    """One rotary pair and one ALiBi head at a chosen distance, and perplexity against length.

    RoPE turns pair i of a head by distance · base^(−2i/D) (Su et al. 2021), here D = 32 and base
    10,000; ALiBi subtracts slope · distance from the score, slopes 2^(−8h/H) for H = 8 heads
    (Press et al. 2021).

    Args:
        distance: how far apart query and key stand, 0 to 256.
        pair: which rotary pair, 1 to 16.
        head: which ALiBi head, 1 to 8.
        perplexity: scheme → pairs ``(length, perplexity)``; by default the recorded ones. Empty:
            not yet measured, and the widget says so.
    """

    PARTS = ("chart.js",)
    HEIGHTS = (1199, 619)

    distance = traitlets.Int(16, min=0, max=DISTANCES).tag(sync=True)
    pair = traitlets.Int(4, min=1, max=D_HEAD // 2).tag(sync=True)
    head = traitlets.Int(4, min=1, max=HEADS).tag(sync=True)
    perplexity = traitlets.Dict().tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Two ways to say how far",
        "look_for": (
            "what happens beyond the lengths seen in training. A rotation keeps turning: fast "
            "pairs have seen every angle, slow pairs meet new ones. A slope goes on falling, so "
            "what is far counts less, at any length."
        ),
        "picture": (
            "A dial with the angle between query and key, its cosine against distance, ALiBi’s "
            "factor against distance for eight heads, and perplexity against length."
        ),
        "distance": "distance q to k",
        "pair": "rotary pair i",
        "head": "ALiBi head",
        "rotation": "RoPE: cos(ωᵢ · distance)",
        "slope": "ALiBi: exp(−m · distance)",
        "reach": "perplexity against length",
        "not_measured": "not yet measured",
        "trained": "trained",
        "readout": (
            "At distance {distance:d}, pair {pair:d} is turned by {angle:.1f}° (one full turn "
            "takes {period:,.1f} tokens). ALiBi’s head {head:d}, slope {slope:.4f}, has taken "
            "{bias:.2f} off the score: a factor of {factor:.3f}."
        ),
    }

    def __init__(
        self, perplexity: Mapping[str, Sequence[Sequence[float]]] | None = None, **traits: Any
    ) -> None:
        given = perplexity_by_length() if perplexity is None else perplexity
        rows = {k: [[float(v) for v in p] for p in ps] for k, ps in given.items()}
        super().__init__(perplexity=rows, **traits)

    def numbers(self) -> dict[str, Any]:
        """Angle (degrees, 0 to 360) and period of the pair; slope, bias and factor of the head."""
        theta = BASE ** (-2 * (self.pair - 1) / D_HEAD)
        slope = 2.0 ** (-8 * self.head / HEADS)
        bias = slope * self.distance
        return {
            "distance": self.distance,
            "pair": self.pair,
            "head": self.head,
            "theta": theta,
            "angle": math.degrees(math.fmod(self.distance * theta, 2 * math.pi)),
            "cosine": math.cos(self.distance * theta),
            "period": 2 * math.pi / theta,
            "slope": slope,
            "bias": bias,
            "factor": math.exp(-bias),
        }

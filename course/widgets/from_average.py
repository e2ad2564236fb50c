"""The front page: the averaging matrix on the left turning into a learned map on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets

from course.widgets.arithmetic import Floats, entropy, softmax
from course.widgets.base import Array, CourseWidget, Strings
from course.widgets.recorded import arrays_of

SMALLEST = 2.0**-24  # a weight that float16 rounds to 0 counts as this


class FromAverage(CourseWidget):
    """A trained map beside the average, and everything between the two.

    The right-hand weights are softmax(strength · ln w) over the past: w is the trained map,
    strength 1 shows it, strength 0 is the average.

    Args:
        weights: causal weights (T, T); by default block 2 of the recorded model that knows what
            "it" refers to, averaged over heads.
        tokens: the T tokens.
        strength: 0 to 2.
        query: the framed row, from 1.

    Raises:
        ValueError: the weights are not (T, T) for T tokens, or look ahead.
    """

    PARTS = ("heat.js",)
    HEIGHTS = (609, 621)

    weights = Array("float32", 2)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    strength = traitlets.Float(1.0, min=0.0, max=2.0).tag(sync=True)
    query = traitlets.Int(1, min=1).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "From an average to attention",
        "look_for": (
            "the framed row. On the left it must listen to all alike; on the right it may choose. "
            "At strength 0 nothing is left of the choice, and the two pictures are one."
        ),
        "picture": "Two triangular maps of weights: the average, and a trained attention.",
        "strength": "how much the choice counts",
        "query": "row",
        "query_text": "{at}: {token}",
        "average": "the average",
        "trained": "attention, trained",
        "readout": (
            "“{token}” listens to {average:d} tokens alike on the left; on the right to "
            "{effective:.1f}, most of all to “{most}” ({weight:.2f})."
        ),
    }

    def __init__(self, weights: Any = None, tokens: Sequence[str] = (), **traits: Any) -> None:
        if weights is None:
            found = arrays_of("pronouns", "two-blocks")
            if found is None:
                super().__init__(missing=self.not_measured("pronouns"), **traits)
                return
            T = 15  # up to the place that must name the referent
            weights = np.asarray(found["maps"], dtype=np.float64)[0, 1, :, :T, :T].mean(axis=0)
            tokens = [str(word) for word in found["words"][0][:T]]
        w = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights)
        if w.shape != (len(tokens), len(tokens)):
            raise ValueError(f"weights of shape {w.shape} for {len(tokens)} tokens: (T, T) needed")
        if np.triu(w, k=1).any():
            raise ValueError("these weights look ahead: the map must be causal")
        traits.setdefault("query", len(tokens))
        super().__init__(weights=w, tokens=list(tokens), **traits)

    def blend(self) -> Floats:
        """The right-hand map, (T, T)."""
        logs = np.log(np.maximum(np.asarray(self.weights, dtype=np.float64), SMALLEST))
        past = np.tril(np.ones(logs.shape, dtype=bool))
        return softmax(np.where(past, self.strength * logs, -np.inf))

    def numbers(self) -> dict[str, Any]:
        """The framed row of the right-hand map, how wide it is, and what it looks at most."""
        i = self.query - 1
        row = self.blend()[i]
        return {
            "token": self.tokens[i],
            "average": i + 1,
            "row": row.tolist(),
            "effective": float(np.exp(entropy(row))),
            "most": self.tokens[int(np.argmax(row))],
            "weight": float(row.max()),
        }

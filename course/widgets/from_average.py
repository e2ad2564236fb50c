"""The front page's widget: the averaging matrix turns into a learned map of attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets

from course.widgets.arithmetic import Floats, entropy
from course.widgets.attention_map import recorded_arrays
from course.widgets.base import Array, CourseWidget, Strings
from course.widgets.next_token import shown_piece

SHOWN = 12  # tokens; more would be too small for a phone


def partly(weights: Floats, at: float) -> Floats:
    """Weights whose scores count by ``at``: 0 is the causal average, 1 the weights themselves.

    Scores are logarithms of weights but for a constant a row, so ``softmax(at · scores)`` is
    ``weights ** at`` over its sum; the future stays at 0. (T, T) → (T, T).
    """
    allowed = np.tril(np.ones(weights.shape, dtype=bool))
    powers = np.where(allowed, np.power(weights, at), 0.0)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


class FromAverage(CourseWidget):
    """The average's map beside an attention map whose scores the reader turns up from nothing.

    Args:
        weights: (T, T) causal attention weights; by default those of a recorded model, its first
            12 tokens.
        tokens: the T tokens as text.
        at: how much the scores count, 0 to 1.
        row, head: which recorded map, where no weights are given.

    Raises:
        ValueError: the weights are not (T, T) for T tokens, or look ahead.
    """

    PARTS = ("heat.js",)
    HEIGHTS = (525, 540)

    weights = Array("float32", 2)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    at = traitlets.Float(1.0, min=0.0, max=1.0).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "From an average to attention",
        "look_for": (
            "the rows. On the left every token shares its attention evenly among what came before. "
            "On the right it chooses, and the slider says how much: at 0 the two maps are one."
        ),
        "picture": "Two maps of weights: the causal average, and a trained attention head.",
        "average": "the average",
        "learned": "attention",
        "at": "how much the learned scores count",
        "readout": (
            "At {at:.0%} a row attends to {effective:.1f} effective tokens on average; the average "
            "would be {average:.1f}."
        ),
    }

    def __init__(
        self,
        weights: Any = None,
        tokens: Sequence[str] = (),
        *,
        row: str = "four-heads",
        head: int = 1,
        **traits: Any,
    ) -> None:
        if weights is None:
            found = recorded_arrays("ladder", row)
            if found is None or "maps" not in found:
                super().__init__(missing=self.not_measured("ladder"), **traits)
                return
            weights = found["maps"][0, head - 1, :SHOWN, :SHOWN]
            tokens = [str(piece) for piece in found["pieces"][:SHOWN]]
        w = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights)
        if w.shape != (len(tokens), len(tokens)):
            raise ValueError(f"weights of shape {w.shape} do not fit {len(tokens)} tokens")
        if np.triu(w, k=1).any():
            raise ValueError("these weights look ahead: the map must be causal")
        super().__init__(weights=w, tokens=[shown_piece(t) for t in tokens], **traits)

    def numbers(self) -> dict[str, Any]:
        """The map at ``at``, (T, T), and the effective tokens of its rows beside the average's."""
        w = partly(np.asarray(self.weights, dtype=np.float64), self.at)
        return {
            "at": self.at,
            "weights": w.tolist(),
            "effective": float(np.exp(entropy(w)).mean()),
            "average": (len(w) + 1) / 2,
        }

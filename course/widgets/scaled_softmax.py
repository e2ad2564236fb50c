"""The d_k slider of chapter 5: what dividing by √d_k does to a softmax."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import traitlets

from course.widgets.arithmetic import Floats, entropy, normals, softmax
from course.widgets.base import CourseWidget, Strings

SEQUENCES, TOKENS, WIDTH = 4, 64, 1024
ROWS = SEQUENCES * TOKENS
D_MIN, D_MAX = 4, WIDTH


@lru_cache(maxsize=4)
def queries_and_keys(seed: int) -> Floats:
    """The bank: q and k of four sequences of 64 tokens, unit-variance normal entries.

    Returns (2, 4, 64, 1024) float64, q first; drawn by :func:`course.widgets.arithmetic.normals`,
    so the page draws the same vectors itself.
    """
    shape = (2, SEQUENCES, TOKENS, WIDTH)
    return normals(seed, 0, int(np.prod(shape))).reshape(shape)


def scores(seed: int, d_k: int) -> Floats:
    """Undivided scores q · k over the first ``d_k`` entries: 256 rows of 64, (256, 64)."""
    q, k = queries_and_keys(seed)[..., :d_k]
    return np.asarray((q @ k.transpose(0, 2, 1)).reshape(ROWS, TOKENS))


def summary(weights: Floats) -> dict[str, Any]:
    """Entropy (nats), effective tokens exp(entropy), Σ w(1 − w) and the largest weight, per row."""
    h = entropy(weights)
    return {
        "entropy": h,
        "tokens": np.exp(h),
        "trace": (weights * (1 - weights)).sum(axis=-1),
        "top": weights.max(axis=-1),
    }


class ScaledSoftmax(CourseWidget):
    """One softmax over 64 scores q · k, divided by √d_k beside undivided, at any head width.

    The bank is 256 queries in four sequences of 64 keys; entries are standard normal, and
    narrower heads take the first ``d_k`` entries of the same vectors.

    Args:
        d_k: head width, 4 to 1024 (an ordinary ``IntSlider`` may be linked to it).
        row: which of the 256 queries is drawn, 0 to 255.
        seed: which bank.
    """

    PARTS = ("random.js", "chart.js")
    HEIGHTS = (1075, 786)

    d_k = traitlets.Int(64, min=D_MIN, max=D_MAX).tag(sync=True)
    row = traitlets.Int(200, min=0, max=ROWS - 1).tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "The same 64 scores, divided by √dₖ and not",
        "look_for": (
            "the needle. Undivided scores spread like √dₖ until one token takes everything and "
            "Σ w(1 − w), the gradient a softmax lets through, is gone. Divided, dₖ changes nothing."
        ),
        "picture": (
            "Two bar charts of one row of 64 attention weights, divided and undivided, and two "
            "curves against dₖ: effective tokens and the gradient’s trace."
        ),
        "d_k": "head width dₖ",
        "row": "query",
        "row_text": "{row} of 256",
        "divided": "weights, divided by √dₖ",
        "divided_short": "divided",
        "undivided": "undivided",
        "tokens_plot": "effective tokens",
        "trace_plot": "Σ w(1 − w)",
        "table": [
            ["", "divided", "undivided"],
            ["entropy of this row, nats", "{divided.entropy:.2f}", "{undivided.entropy:.2f}"],
            ["effective tokens, this row", "{divided.tokens:.1f}", "{undivided.tokens:.1f}"],
            ["mean of 256 rows", "{divided.mean_tokens:.1f}", "{undivided.mean_tokens:.1f}"],
            ["Σ w(1 − w), mean", "{divided.mean_trace:.2f}", "{undivided.mean_trace:.2f}"],
            ["frozen rows, Σ < 0.01", "{divided.frozen:.0%}", "{undivided.frozen:.0%}"],
        ],
        "readout": (
            "At dₖ = {d_k:d} a row attends to {divided.mean_tokens:.2f} of 64 tokens on average "
            "when its scores are divided by √dₖ, and to {undivided.mean_tokens:.2f} when not."
        ),
    }

    def numbers(self) -> dict[str, Any]:
        """Weights and statistics of the drawn row, and the means over the bank, both ways."""
        s = scores(self.seed, self.d_k)
        out: dict[str, Any] = {"d_k": self.d_k, "row": self.row}
        for name, divisor in (("divided", np.sqrt(self.d_k)), ("undivided", 1.0)):
            w = softmax(s / divisor)
            of = summary(w)
            out[name] = {key: float(value[self.row]) for key, value in of.items()}
            out[name]["weights"] = w[self.row].tolist()
            out[name]["mean_tokens"] = float(of["tokens"].mean())
            out[name]["mean_trace"] = float(of["trace"].mean())
            out[name]["frozen"] = float((of["trace"] < 0.01).mean())
        return out

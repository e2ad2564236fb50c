"""Chapter 4's widget: "The cat sat", attention with every number on the page, to type over."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import traitlets

from course.widgets.arithmetic import fill, fixed, softmax
from course.widgets.base import CourseWidget, Strings

TOKENS = ("The", "cat", "sat")
X = [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.2, 0.3, 0.4, 0.5]]
_ROW = traitlets.List(traitlets.Float(min=-9.0, max=9.0), minlen=4, maxlen=4)


class WorkedAttention(CourseWidget):
    """Three tokens of width 4 through one attention, step by step.

    Args:
        x: the tokens, (3, 4); queries, keys and values are read from it.
        masked: whether a token may look only at itself and what came before.
        projections: "same" (q = k = x, d_k = 4) or "own" (q reads entries 1 and 2, k entries 3
            and 4, d_k = 2). Values are x itself.
        row: the query followed step by step, 1 to 3.
    """

    PARTS = ("heat.js",)
    HEIGHTS = (991, 600)

    x = traitlets.List(_ROW, [list(r) for r in X], minlen=3, maxlen=3).tag(sync=True)
    masked = traitlets.Bool(False).tag(sync=True)
    projections = traitlets.Enum(["same", "own"], "same").tag(sync=True)
    row = traitlets.Int(1, min=1, max=3).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "“The cat sat”: every number of one attention",
        "look_for": (
            "the scores. With q = k = x they are symmetric: what The finds in cat, cat finds in "
            "The. With projections of their own a token can look for one thing and offer another."
        ),
        "picture": "Four matrices: scores, divided scores, weights and output.",
        "x": "x (3, 4): type other numbers",
        "scores": "q kᵀ",
        "scaled": "÷ √dₖ",
        "weights": "weights",
        "out": "out",
        "masked": "causal mask",
        "projections": "queries and keys",
        "same": "both x",
        "own": "each its own",
        "row": "follow the query",
        "readout": (
            "{token}: exp of its scores {exps}, sum {sum:.3f}, weights {weights_text}, out "
            "{out_text}. {symmetry}"
        ),
        "symmetric": "The scores are symmetric.",
        "asymmetric": "The scores differ from their mirror image by up to {asymmetry:.2f}.",
    }

    def numbers(self) -> dict[str, Any]:
        """Scores, divided scores, weights (3, 3) and out (3, 4); the followed row as text."""
        x = np.array(self.x)
        q, k = (x, x) if self.projections == "same" else (x[:, :2], x[:, 2:])
        scores = q @ k.T
        scaled = scores / np.sqrt(q.shape[1])
        allowed = np.tril(np.ones((3, 3), dtype=bool)) | (not self.masked)
        weights = softmax(np.where(allowed, scaled, -np.inf))
        out = weights @ x
        i = self.row - 1
        exps = np.where(allowed[i], np.exp(scaled[i]), 0.0)
        asymmetry = float(np.abs(scores - scores.T).max())
        key = "symmetric" if asymmetry < 5e-3 else "asymmetric"
        line = " ".join
        return {
            "token": TOKENS[i],
            "d_k": q.shape[1],
            "scores": scores.tolist(),
            "scaled": scaled.tolist(),
            "weights": weights.tolist(),
            "out": out.tolist(),
            "sum": float(exps.sum()),
            "exps": line(fixed(e, 3) for e in exps[allowed[i]]),
            "weights_text": line(fixed(w, 3) for w in weights[i]),
            "out_text": line(fixed(o, 3) for o in out[i]),
            "asymmetry": asymmetry,
            "symmetry": fill(self.strings[key], {"asymmetry": asymmetry}),
        }

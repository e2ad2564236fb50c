"""Chapter 3's widget: one masked row, its scores under the reader's hand, and masks that leak."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import traitlets

from course.widgets.arithmetic import fixed, softmax
from course.widgets.base import CourseWidget, Strings

TOKENS = ("the", "cat", "sat", "on", "the", "mat")
ALLOWED = 4  # the query is the fourth token
MASKS: dict[str, float] = {"−∞": -math.inf, "−1e9": -1e9, "−1e4": -1e4}
# significant bits after the first, smallest normal exponent, largest number (IEEE 754; bfloat16)
DTYPES: dict[str, tuple[int, int, float]] = {
    "float32": (23, -126, (2 - 2.0**-23) * 2.0**127),
    "bfloat16": (7, -126, (2 - 2.0**-7) * 2.0**127),
    "float16": (10, -14, 65504.0),
}


def round_to(x: float, dtype: str) -> float:
    """``x`` as the nearest number of a dtype (ties to even), ±∞ where it overflows.

    >>> round_to(-1e9, "float16"), round_to(0.1, "bfloat16")
    (-inf, 0.10009765625)
    """
    bits, lowest, largest = DTYPES[dtype]
    if not math.isfinite(x) or x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, lowest)
    unit = 2.0 ** (exponent - bits)
    rounded = round(x / unit) * unit
    return math.copysign(math.inf, x) if abs(rounded) > largest else rounded


class MaskedSoftmaxRow(CourseWidget):
    """Six scores of one query, two of them in its future, through a softmax with a chosen mask.

    The scores are moved by ``shift`` together, which a softmax does not notice; the mask's number
    stands in the two future places and does not move along. Everything is rounded to ``dtype``.

    Args:
        scores: the six scores, −4 to 4.
        shift: added to every allowed score, 0 down to −1e10.
        mask: "−∞", "−1e9" or "−1e4".
        dtype: "float32", "bfloat16" or "float16".
    """

    PARTS = ("chart.js",)
    HEIGHTS = (1104, 818)

    scores = traitlets.List(
        traitlets.Float(min=-4.0, max=4.0), [1.0, 2.5, -0.5, 0.5, 1.5, 2.0], minlen=6, maxlen=6
    ).tag(sync=True)
    shift = traitlets.Float(0.0, min=-1e10, max=0.0).tag(sync=True)
    mask = traitlets.Enum(list(MASKS), "−∞").tag(sync=True)
    dtype = traitlets.Enum(list(DTYPES), "float32").tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Scores are free; the future is not",
        "look_for": (
            "the two hatched places. With −∞ they get exactly 0, whatever you do. Choose a finite "
            "mask and push all scores down: a softmax looks at differences only, so nothing "
            "should change, yet at some point the future takes everything."
        ),
        "picture": "Six bars, one a key: the weights of the row; two masked places are hatched.",
        "weights": "weights of the query “on”",
        "scores": "score of",
        "shift": "add to every score",
        "mask": "mask",
        "dtype": "dtype",
        "table": [
            ["weight of the future", "−∞", "−1e9", "−1e4"],
            *[
                [d, f"{{leaks.{d}.0:.1%}}", f"{{leaks.{d}.1:.1%}}", f"{{leaks.{d}.2:.1%}}"]
                for d in DTYPES
            ],
        ],
        "readout": (
            "Allowed {open}; masked {closed}. In {dtype} with mask {mask} the future gets "
            "{leak:.3f} of the weight."
        ),
        "readout_empty": (
            "{dtype}, mask {mask}: every score has overflowed to −∞; nothing is left to divide by."
        ),
    }

    def _weights(self, dtype: str, mask: str) -> Any:
        allowed = [round_to(s + self.shift, dtype) for s in self.scores[:ALLOWED]]
        masked = [round_to(MASKS[mask], dtype)] * (len(TOKENS) - ALLOWED)
        w = softmax(np.array(allowed + masked))
        return np.array([round_to(float(x), dtype) for x in w])

    def numbers(self) -> dict[str, Any]:
        """The weights (6,), what the masked keys get, and the same for every mask and dtype."""
        w = self._weights(self.dtype, self.mask)
        leaks = {d: [float(self._weights(d, m)[ALLOWED:].sum()) for m in MASKS] for d in DTYPES}
        return {
            "say": "" if w.sum() else "empty",
            "dtype": self.dtype,
            "mask": self.mask,
            "weights": w.tolist(),
            "open": ", ".join(fixed(x, 3) for x in w[:ALLOWED].tolist()),
            "closed": ", ".join(fixed(x, 3) for x in w[ALLOWED:].tolist()),
            "allowed": float(w[:ALLOWED].sum()),
            "leak": float(w[ALLOWED:].sum()),
            "leaks": leaks,
        }

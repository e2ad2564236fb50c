"""Chapter 1's widget: shuffle the window, and see which summary notices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import traitlets

from course.widgets.arithmetic import normals, permutation, softmax
from course.widgets.base import CourseWidget, Strings

WORDS = ("a", "cat", "sat", "on", "the", "mat", "because", "it", "was", "tired")


class ShuffledAverage(CourseWidget):
    """Ten tokens in the plane, their average, and a summary whose weights favour late places.

    The points are the tokens' vectors (C = 2, normal entries); shuffling changes the order in
    which they stand, not where they lie.

    Args:
        shuffle: 0 leaves the window in order, every other number is a shuffle of its own.
        slope: score of place t is slope · t; 0 makes the weighted summary the average.
        words: the tokens, at most 12.
        seed: which vectors.
    """

    PARTS = ("random.js", "chart.js")
    HEIGHTS = (914, 661)

    shuffle = traitlets.Int(0, min=0, max=200).tag(sync=True)
    slope = traitlets.Float(0.5, min=0.0, max=1.5).tag(sync=True)
    words = traitlets.List(traitlets.Unicode(), list(WORDS), minlen=2, maxlen=12).tag(sync=True)
    seed = traitlets.Int(1842, min=0).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Shuffle the window: one summary stays, one moves",
        "look_for": (
            "the grey square. It stays, whatever the order: a sum does not know in which order it "
            "was added. The blue point gives each place its own weight, and so it sees order. "
            "With equal weights (slope 0) it too is blind."
        ),
        "picture": (
            "The window as a row of words with a weight under each place, and a plane with one "
            "point a word, the average as a grey square and the weighted summary as a blue point."
        ),
        "shuffle": "shuffle",
        "shuffle_none": "in order",
        "shuffle_again": "Shuffle",
        "slope": "slope of the scores",
        "average": "average",
        "weighted": "weighted",
        "weights": "weights of the places: average and softmax",
        "window": "the window, first token left",
        "readout": (
            "Shuffle {shuffle:d}, last word “{last}”: the average moved by {moved.average:.2f}, "
            "the weighted summary by {moved.weighted:.2f}."
        ),
        "readout_order": (
            "In order, last word “{last}”. The average lies at ({average.0:.2f}, {average.1:.2f}), "
            "the weighted summary at ({weighted.0:.2f}, {weighted.1:.2f}). Now shuffle."
        ),
    }

    def numbers(self) -> dict[str, Any]:
        """Order, weights, both summaries (2,), and how far each is from the unshuffled one."""
        n = len(self.words)
        x = normals(self.seed, 0, 2 * n).reshape(n, 2)  # (T, 2)
        order = permutation(self.shuffle, n)
        weights = softmax(self.slope * np.arange(n))  # (T,)
        summaries = {"average": x[order].mean(axis=0), "weighted": weights @ x[order]}
        before = {"average": x.mean(axis=0), "weighted": weights @ x}
        moved = {k: float(np.hypot(*(summaries[k] - before[k]))) for k in before}
        return {
            "say": "" if self.shuffle else "order",
            "shuffle": self.shuffle,
            "order": order,
            "last": self.words[order[-1]],
            "weights": weights.tolist(),
            **{k: v.tolist() for k, v in summaries.items()},
            "moved": {k: round(v, 9) for k, v in moved.items()},
        }

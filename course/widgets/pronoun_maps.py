"""Chapter 12: change one adjective; block 1 cannot turn, block 2 does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets

from course.widgets.base import Array, CourseWidget, Strings
from course.widgets.recorded import arrays_of, asking_rows


class PronounMaps(CourseWidget):
    """What the position that must name the referent looks at, for each of eight adjectives.

    Args:
        weights: (A, L, S): for each adjective and block, the weights of that one position over the
            S tokens up to it, averaged over heads; by default the recorded two blocks'.
        sentences: the A sentences, S tokens each; they differ in the adjective alone.
        adjectives: the A adjectives.
        referents: the noun each sentence is about.
        scores: (A, S) scores of block 1, averaged over heads, to compare outside the adjective's
            own column; optional.
        adjective: which one is shown, 0 to A − 1; ``against`` the one drawn as an outline.

    Raises:
        ValueError: shapes that do not fit.
    """

    PARTS = ("chart.js",)
    HEIGHTS = (817, 687)

    weights = Array("float32", 3)
    scores = Array("float32", 2)
    sentences = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    adjectives = traitlets.List(traitlets.Unicode()).tag(sync=True)
    referents = traitlets.List(traitlets.Unicode()).tag(sync=True)
    adjective = traitlets.Int(0, min=0).tag(sync=True)
    against = traitlets.Int(4, min=0).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Switch one adjective",
        "look_for": (
            "block 1: its query has not read the adjective, so outside the adjective’s own column "
            "its scores are the same for all eight, and the weights only make room for it. Block "
            "2’s query has read it, and turns."
        ),
        "picture": "Bars over the tokens of the sentence for each block, two adjectives compared.",
        "adjective": "adjective (filled)",
        "against": "compared with (outline)",
        "block": "block {number}",
        "readout": (
            "{adjective} → {referent}: block 1 looks at “{looks.0.token}” "
            "({looks.0.weight:.2f}), the last block at “{last.token}” ({last.weight:.2f}). Against "
            "{against}, weights differ by up to {moved_first:.2f} in block 1 outside the "
            "adjective’s column, and by up to {moved_last:.2f} in the last."
        ),
    }

    def __init__(
        self,
        weights: Any = None,
        sentences: Sequence[Sequence[str]] = (),
        adjectives: Sequence[str] = (),
        referents: Sequence[str] = (),
        scores: Any = None,
        **traits: Any,
    ) -> None:
        if weights is None:
            found = arrays_of("pronouns", "two-blocks")
            if found is None:
                super().__init__(missing=self.not_measured("pronouns"), **traits)
                return
            weights, sentences, adjectives, referents = asking_rows(found)
        w = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights)
        lengths = {len(s) for s in sentences}
        fits = w.ndim == 3 and len(sentences) == len(adjectives) == len(referents) == w.shape[0]
        if not fits or lengths != {w.shape[2]}:
            raise ValueError(
                f"weights of shape {w.shape} do not fit {len(sentences)} sentences of lengths "
                f"{sorted(lengths)}: (A, L, S) is needed"
            )
        traits.setdefault("against", len(adjectives) // 2)
        super().__init__(
            weights=w, sentences=[list(s) for s in sentences], adjectives=list(adjectives),
            referents=list(referents), scores=scores, **traits,
        )  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        """Where each block looks most, and how far the two adjectives' rows are apart."""
        a, b = self.adjective, self.against
        w = np.asarray(self.weights, dtype=np.float64)
        looks = [
            {"token": self.sentences[a][int(row.argmax())], "weight": float(row.max())}
            for row in w[a]
        ]
        same = np.array([x == y for x, y in zip(self.sentences[a], self.sentences[b], strict=True)])
        apart = np.abs(w[a] - w[b])
        out: dict[str, Any] = {
            "adjective": self.adjectives[a],
            "against": self.adjectives[b],
            "referent": self.referents[a],
            "looks": looks,
            "last": looks[-1],
            "moved_first": float(apart[0][same].max()),
            "moved_last": float(apart[-1].max()),
        }
        if self.scores is not None:
            s = np.abs(np.asarray(self.scores[a] - self.scores[b], dtype=np.float64))
            out["scores_moved"] = float(s[same].max())
        return out

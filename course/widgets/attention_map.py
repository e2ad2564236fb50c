"""Maps of attention weights with a head picker: the reader's own tensors, or recorded ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import traitlets

from course.widgets.arithmetic import entropy
from course.widgets.base import Array, CourseWidget, Strings
from course.widgets.next_token import shown_piece
from course.widgets.recorded import arrays_of


def _heights(
    shape: tuple[int, ...],
    queries: Sequence[str],
    keys: Sequence[str],
    strip: bool,
    strings: Strings,
) -> list[int]:
    """About how many px the widget takes at 360 and at 700 px, as ``attention_map.js`` lays out."""
    layers, heads, T, S = shape
    longest = max(map(len, keys))
    labels = min(88, 14 + 7 * max(map(len, queries)))
    found = []
    for width, rest, choice, column in ((302, 245, 78, 44), (654, 202, 0, 95)):
        size = max(5, min(46, (min(width, 560) - labels - 24) // S))
        slant = size >= 12 and longest * 7.5 > size
        top = min(76, 16 + 5.6 * longest) if slant else 22
        lines = 27 * math.ceil(sum(8 * len(k) + 10 for k in keys) / width)
        choices = choice * ((layers > 1) + (heads > 1))
        extra = 48 if strip and heads > 1 else 0
        extra += 20 * math.ceil(len(strings["look_for"]) / column)
        extra += 22 * (len(strings["title"]) * 1.3 > column)
        found.append(round(top + T * size + 6 + extra + lines + choices + rest))
    return found


class AttentionMap(CourseWidget):
    """Attention weights as a map: pick a layer, a head and a query.

    Args:
        weights: (T, S), (H, T, S) or (L, H, T, S), a tensor or an array; rows sum to one.
        tokens: the T queries as text; ``key_tokens`` the S keys, where they differ.
        causal: hatch the future. By default: where queries are keys and nothing lies above the
            diagonal.
        layer, head, query: what is shown, from 1; head 0 is the mean over heads.
        d_model: the width, to show which part of it a head has.

    Raises:
        ValueError: shapes that do not fit, or rows that do not sum to one (a map of scores, or
            one taken without its mask).
    """

    PARTS = ("heat.js",)
    HEIGHTS = (725, 690)

    weights = Array("float16", 4)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    key_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    d_model = traitlets.Int(0, min=0).tag(sync=True)
    layer = traitlets.Int(1, min=1).tag(sync=True)
    head = traitlets.Int(1, min=0).tag(sync=True)
    query = traitlets.Int(1, min=1).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Where each token looks",
        "look_for": "one row at a time: a query spreads a weight of 1 over the keys it may see.",
        "picture": "A map of attention weights: rows are queries, columns keys.",
        "layer": "layer",
        "head": "head",
        "mean": "mean",
        "query": "query (row)",
        "query_text": "{at}: {token}",
        "width": "this head’s part of the width C",
        "row": "the row of “{token}”",
        "readout": (
            "“{token}” looks most at “{first.token}” ({first.weight:.2f}), then at "
            "“{second.token}” ({second.weight:.2f}); {effective:.1f} effective tokens."
        ),
    }

    def __init__(
        self,
        weights: Any = None,
        tokens: Sequence[str] = (),
        key_tokens: Sequence[str] | None = None,
        *,
        causal: bool | None = None,
        missing: str = "",
        **traits: Any,
    ) -> None:
        if weights is None:
            if not missing:
                raise ValueError("weights (T, S), (H, T, S) or (L, H, T, S) are needed")
            super().__init__(missing=missing, **traits)
            return
        w = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights)
        w = w.astype(np.float32).reshape((1,) * (4 - w.ndim) + w.shape)
        keys = list(tokens if key_tokens is None else key_tokens)
        if w.ndim != 4 or w.shape[2:] != (len(tokens), len(keys)):
            raise ValueError(
                f"weights of shape {w.shape} do not fit {len(tokens)} queries and {len(keys)} keys"
            )
        sums = w.sum(axis=-1)
        if np.abs(sums - 1).max() > 0.02:
            raise ValueError(f"rows of attention weights sum to 1, not to {sums.flat[0]:.3f}")
        square = key_tokens is None
        if causal is None:
            causal = square and not np.triu(w, k=1).any()
        traits.setdefault("query", len(tokens))
        place = _heights(w.shape, tokens, keys, bool(traits.get("d_model")), self.STRINGS)
        traits.setdefault("reserve", place)
        super().__init__(
            weights=w,
            tokens=[shown_piece(t) for t in tokens],
            key_tokens=[shown_piece(t) for t in keys],
            causal=causal,
            **traits,
        )

    def _map(self) -> npt.NDArray[np.float64]:
        layer = np.asarray(self.weights[self.layer - 1], dtype=np.float64)  # (H, T, S)
        return np.asarray(layer.mean(axis=0) if self.head == 0 else layer[self.head - 1])

    def numbers(self) -> dict[str, Any]:
        """The chosen row, the two keys it looks at most, and its effective tokens."""
        i = self.query - 1
        row = self._map()[i]  # (S,)
        order = np.lexsort((np.arange(len(row)), -row))
        most = [{"token": self.key_tokens[j], "weight": float(row[j])} for j in order[:2]]
        return {
            "layer": self.layer,
            "head": self.head,
            "token": self.tokens[i],
            "row": row.tolist(),
            "first": most[0],
            "second": most[-1],
            "effective": float(np.exp(entropy(row))),
        }


class HeadMaps(AttentionMap):
    """The maps of a recorded model: four heads of the ladder, each in its part of the width.

    Args:
        arrays: ``maps`` (L, H, T, T) and ``pieces`` (T,), as ``course.experiments`` stores them;
            by default those of the ladder's rung ``row``.
    """

    FILE = "attention_map"
    PARTS = ("heat.js",)
    HEIGHTS = (883, 897)

    STRINGS: ClassVar[Strings] = {
        **AttentionMap.STRINGS,
        "title": "Four heads of a trained model, one sentence",
        "look_for": (
            "how different the heads are, and how few of them you can name. A model of half a "
            "million parameters on Shakespeare is mostly not readable, and that is the finding."
        ),
    }

    def __init__(
        self, arrays: dict[str, Any] | None = None, *, row: str = "four-heads", **traits: Any
    ) -> None:
        found = arrays_of("ladder", row) if arrays is None else arrays
        if found is None or "maps" not in found:
            super().__init__(missing=self.not_measured("ladder"), **traits)
            return
        pieces = [str(p) for p in found["pieces"]]
        super().__init__(found["maps"], pieces, causal=True, d_model=128, **traits)


class CrossAttentionMap(AttentionMap):
    """Cross-attention: rows are the decoder's tokens, columns the encoder's.

    Args:
        weights: (T, S), (H, T, S) or (L, H, T, S); by default those recorded of ``task``.
        target, source: the T tokens being written and the S tokens being read.
        task: "numbers" (number words into digits) or "reversal" (letters in reverse).
    """

    FILE = "attention_map"
    PARTS = ("heat.js",)
    HEIGHTS = (650, 572)

    STRINGS: ClassVar[Strings] = {
        **AttentionMap.STRINGS,
        "title": "What the decoder reads while it writes",
        "look_for": (
            "the line the bright cells draw. No one told the model which token answers which; for "
            "a task that copies in another order, the order can be read off the map."
        ),
        "query": "token being written",
    }

    def __init__(
        self,
        weights: Any = None,
        target: Sequence[str] = (),
        source: Sequence[str] = (),
        *,
        task: str = "numbers",
        **traits: Any,
    ) -> None:
        if weights is None:
            found = arrays_of("seq2seq", task)
            if found is None or "cross" not in found:
                super().__init__(missing=self.not_measured("seq2seq"), **traits)
                return
            weights = found["cross"]
            target = [str(token) for token in found["target"]]
            source = [str(token) for token in found["source"]]
            traits = {"layer": len(weights), "head": 0, "query": 1, **traits}
        super().__init__(weights, list(target), list(source), causal=False, **traits)

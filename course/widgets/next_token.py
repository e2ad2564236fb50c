"""Chapter 10: temperature, top-k and top-p over a trained model's own logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import traitlets

from course.widgets.arithmetic import entropy, softmax
from course.widgets.base import Array, CourseWidget, Strings
from course.widgets.recorded import arrays_of

SHOWN = 14


def shown_piece(piece: str) -> str:
    """A token as a reader can see it: blanks as ·, line ends as ⏎."""
    return piece.replace(" ", "·").replace("\n", "⏎").replace("\t", "⇥")


class NextToken(CourseWidget):
    """The distribution the next token is drawn from, after temperature, top-k, then top-p.

    Ties go to the lower id, and top-p keeps the smallest set whose mass is at least p, as in
    ``course.sampling.filter_logits``.

    Args:
        logits: (n, V), one row a context, as the model gave them (kept as float16).
        pieces: the V tokens as text.
        contexts: the n texts.
        context: which one is shown, 0 to n − 1.
        temperature: 0 (the argmax alone) to 2.
        top_k: 1 to V; 0 keeps all.
        top_p: above 0, up to 1.
    """

    PARTS = ("chart.js",)
    HEIGHTS = (943, 692)

    logits = Array("float16", 2)
    pieces = traitlets.List(traitlets.Unicode()).tag(sync=True)
    contexts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    context = traitlets.Int(0, min=0).tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.0, max=2.0).tag(sync=True)
    top_k = traitlets.Int(0, min=0).tag(sync=True)
    top_p = traitlets.Float(1.0, min=0.01, max=1.0).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "From logits to a token",
        "look_for": (
            "the tail. Temperature reshapes the whole distribution and leaves a thousand unlikely "
            "tokens possible; top-k and top-p cut them off, top-p more where the model is sure. "
            "Outlines: before the cuts."
        ),
        "picture": "The likeliest tokens as bars: before and after the cuts.",
        "context": "text so far",
        "temperature": "temperature",
        "top_k": "top-k",
        "top_p": "top-p",
        "all": "all",
        "candidates": "the likeliest tokens",
        "cut": "cut",
        "readout": (
            "{kept:,d} of {total:,d} tokens can be drawn; “{piece}” has {best:.3f}. The "
            "distribution is as wide as {tokens:.1f} equally likely tokens, and what was cut had "
            "{lost:.1%}."
        ),
    }

    def __init__(
        self,
        logits: npt.ArrayLike | None = None,
        pieces: Sequence[str] = (),
        contexts: Sequence[str] = (),
        **traits: Any,
    ) -> None:
        if logits is None:
            super().__init__(missing=self.not_measured("ladder"), **traits)
            return
        array = np.asarray(logits.detach().cpu() if hasattr(logits, "detach") else logits)
        if array.ndim != 2 or array.shape != (len(contexts), len(pieces)):
            raise ValueError(
                f"logits of shape {array.shape} for {len(contexts)} contexts and {len(pieces)} "
                "pieces: (n, V) is needed"
            )
        words = [shown_piece(p) for p in pieces]
        super().__init__(logits=array, pieces=words, contexts=list(contexts), **traits)

    @classmethod
    def from_record(cls, prompts: Sequence[str], **traits: Any) -> NextToken:
        """Logits of the ladder's recorded one-block model after each prompt (needs PyTorch)."""
        found = arrays_of("ladder", "one-block")
        if found is None or "merges" not in found:
            return cls(**traits)
        import torch

        from course.experiments.arrays import restore_weights
        from course.models import build_rung
        from course.tokenizer import Tokenizer

        merges = [(int(a), int(b)) for a, b in found["merges"]]
        tokenizer = Tokenizer(merges)
        model = build_rung("one-block", vocab_size=tokenizer.vocab_size)
        restore_weights(model, found)
        model.eval()
        with torch.no_grad():
            rows = [model(torch.tensor([tokenizer.encode(p)]))[0, -1] for p in prompts]
        ids = range(tokenizer.vocab_size)
        pieces = [tokenizer.token_bytes(i).decode("utf-8", "replace") for i in ids]
        return cls(torch.stack(rows), pieces, prompts, **traits)

    def numbers(self) -> dict[str, Any]:
        """How many tokens are left, the likeliest, exp(entropy), and the mass that was cut."""
        row = np.asarray(self.logits[self.context], dtype=np.float64)  # (V,)
        order = np.lexsort((np.arange(len(row)), -row))
        greedy = self.temperature == 0
        ranked = row[order] / (1.0 if greedy else self.temperature)
        before = softmax(ranked)
        k = 1 if greedy else self.top_k or len(row)
        kept = softmax(np.where(np.arange(len(row)) < k, ranked, -np.inf))
        above = np.cumsum(kept) - kept  # the mass of what ranks higher
        enough = above >= self.top_p - 1e-12 if self.top_p < 1 else np.zeros(len(row), dtype=bool)
        keep = (np.arange(len(row)) < k) & (~enough | (np.arange(len(row)) == 0))
        after = softmax(np.where(keep, ranked, -np.inf))
        return {
            "kept": int(keep.sum()),
            "total": len(row),
            "piece": self.pieces[int(order[0])],
            "best": float(after[0]),
            "tokens": float(np.exp(entropy(after))),
            "lost": float(before[~keep].sum()),
            "order": order[:SHOWN].tolist(),
            "before": before[:SHOWN].tolist(),
            "after": after[:SHOWN].tolist(),
        }

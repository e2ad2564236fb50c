"""Chapters 7 and 10: where a GPT's parameters sit, at any width and depth."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import traitlets

from course.widgets.base import CourseWidget, Strings


class Shape(NamedTuple):
    """A published model: C, L, V, context length, and the size its authors state."""

    d_model: int
    n_layers: int
    vocab_size: int
    context_length: int
    published: str


# Radford et al. 2019, table 2, and Brown et al. 2020, table 2.1.
PRESETS: dict[str, Shape] = {
    "GPT-2 small": Shape(768, 12, 50257, 1024, "117 M"),
    "GPT-2 medium": Shape(1024, 24, 50257, 1024, "345 M"),
    "GPT-2 large": Shape(1280, 36, 50257, 1024, "762 M"),
    "GPT-2 XL": Shape(1600, 48, 50257, 1024, "1542 M"),
    "GPT-3": Shape(12288, 96, 50257, 2048, "175 B"),
}
CUSTOM = "—"
WIDTHS = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1600, 2048, 3072, 4096, 8192, 12288]


def counts(d_model: int, n_layers: int, vocab_size: int, context_length: int) -> dict[str, int]:
    """Exact parameters of a GPT with tied embeddings: each part over all layers, and the total.

    Per block 4C² + 4C for attention, 8C² + 5C for the feed-forward network, 4C for the norms;
    a last norm of 2C. Equal to ``course.models.gpt_parameters``, which needs PyTorch.
    """
    c = d_model
    parts = {
        "tokens": vocab_size * c,
        "positions": context_length * c,
        "attention": n_layers * (4 * c * c + 4 * c),
        "feed_forward": n_layers * (8 * c * c + 5 * c),
        "norms": n_layers * 4 * c + 2 * c,
    }
    return {**parts, "total": sum(parts.values())}


class ParameterCount(CourseWidget):
    """Sliders for a GPT's shape, published sizes as presets, and where the parameters are.

    Args:
        d_model, n_layers, vocab_size, context_length: the shape; starts at GPT-2 small.
    """

    PARTS = ("chart.js",)
    HEIGHTS = (1018, 722)

    d_model = traitlets.Int(768, min=8, max=16384).tag(sync=True)
    n_layers = traitlets.Int(12, min=1, max=128).tag(sync=True)
    vocab_size = traitlets.Int(50257, min=2, max=1_000_000).tag(sync=True)
    context_length = traitlets.Int(1024, min=1, max=1_000_000).tag(sync=True)
    presets = traitlets.Dict({k: list(v) for k, v in PRESETS.items()}).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Size is arithmetic",
        "look_for": (
            "the feed-forward bar, always twice the attention bar: two thirds of every block, at "
            "any width. Embeddings grow with C, blocks with C²: make the model narrow and it "
            "is nearly all vocabulary."
        ),
        "picture": "Bars for the five parts of the model, and their shares against the width.",
        "preset": "published",
        "custom": "—",
        "d_model": "width C",
        "n_layers": "layers L",
        "vocab_size": "vocabulary V",
        "context_length": "context",
        "tokens": "token embedding",
        "positions": "positions",
        "attention": "attention",
        "feed_forward": "feed-forward",
        "norms": "norms",
        "embedding": "embeddings",
        "shares": "share of the parameters, against C",
        "readout": (
            "{total:,d} parameters: {share.embedding:.1%} embeddings, {share.attention:.1%} "
            "attention, {share.feed_forward:.1%} feed-forward ({mlp:.1%} of a block)."
        ),
        "readout_preset": (
            "{preset}: {total:,d} parameters (published: {published}): {share.embedding:.1%} "
            "embeddings, {share.attention:.1%} attention, {share.feed_forward:.1%} feed-forward "
            "({mlp:.1%} of a block)."
        ),
    }

    def numbers(self) -> dict[str, Any]:
        """The exact counts, their shares, and the preset that has this shape, if one does."""
        shape = [self.d_model, self.n_layers, self.vocab_size, self.context_length]
        n = counts(*shape)
        found = next((k for k, v in self.presets.items() if list(v[:4]) == shape), None)
        block = n["attention"] + n["feed_forward"] + self.n_layers * 4 * self.d_model
        share = {k: n[k] / n["total"] for k in ("attention", "feed_forward", "norms")}
        share["embedding"] = (n["tokens"] + n["positions"]) / n["total"]
        return {
            **n,
            "say": "preset" if found else "",
            "preset": found or CUSTOM,
            "published": self.presets[found][4] if found else "",
            "share": share,
            "mlp": n["feed_forward"] / block,
        }

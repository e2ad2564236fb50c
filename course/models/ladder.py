"""The ladder: ten language models, each one idea away from the one before.

All read token ids (B, T) and give the scores of the next token, (B, T, V). Embeddings and linear
layers start as PyTorch initialises them; the output layer is untied and has a bias; queries, keys
and values have none, the output projection has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course.attention import Head, MultiHeadAttention
from course.averaging import CausalAverage
from course.block import Block
from course.checked import require_positive, require_tokens


class Residual(nn.Module):
    """``x + f(x)``: keep the token, add what ``f`` found (He et al. 2015)."""

    def __init__(self, branch: nn.Module) -> None:
        super().__init__()
        self.branch = branch

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) → (B, T, C)."""
        out: Tensor = x + self.branch(x)
        return out


class LadderModel(nn.Module):
    """Embedding → the rung's layers → linear output over the vocabulary.

    Args:
        vocab_size: ``V``.
        d_model: ``C``.
        context_length: the longest T.
        layers: what stands between embedding and output, each (B, T, C) → (B, T, C).
        positions: whether a learned position is added to each token.

    Raises:
        ValueError: a size below 1.
    """

    def __init__(
        self, vocab_size: int, d_model: int, context_length: int, layers: nn.Module, positions: bool
    ) -> None:
        super().__init__()
        require_positive(vocab_size=vocab_size, d_model=d_model, context_length=context_length)
        self.vocab_size, self.context_length = vocab_size, context_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(context_length, d_model) if positions else None
        self.layers = layers
        self.output = nn.Linear(d_model, vocab_size)

    def embed(self, idx: Tensor) -> Tensor:
        """Token plus position: ids (B, T) → (B, T, C)."""
        require_tokens(idx, self.vocab_size, self.context_length)
        x: Tensor = self.token_embedding(idx)  # (B, T, C)
        if self.position_embedding is None:
            return x
        return x + self.position_embedding(torch.arange(idx.shape[1], device=idx.device))

    def forward(self, idx: Tensor) -> Tensor:
        """Token ids (B, T) → logits (B, T, V).

        Raises:
            ValueError: ids that are no (B, T) integers below V, or T over the context length.
        """
        logits: Tensor = self.output(self.layers(self.embed(idx)))
        return logits


@dataclass(frozen=True)
class Rung:
    """One rung: its name, what the reference measured, and what it adds.

    ``published`` is the reference's held-out perplexity; ``approximate`` where the reference
    states only a difference it can be derived from.
    """

    slug: str
    label: str
    published: float
    adds: str
    positions: bool
    layers: Callable[[int, int, int], nn.Module]  # d_model, n_heads, context_length
    approximate: bool = False


def _four_heads(C: int, H: int, T: int) -> nn.Module:
    return Residual(MultiHeadAttention(C, H, T))


def _blocks(n: int, norm: str) -> Callable[[int, int, int], nn.Module]:
    def build(C: int, H: int, T: int) -> nn.Module:
        blocks: list[nn.Module] = [Block(C, H, T, norm=norm) for _ in range(n)]
        return nn.Sequential(*blocks, *([nn.LayerNorm(C)] if norm == "pre" else []))

    return build


_LADDER = (
    Rung(
        "no-context",
        "no context: token → linear",
        59.71,
        "the token alone",
        False,
        lambda C, H, T: nn.Identity(),
    ),
    Rung(
        "average",
        "the causal average instead of the token",
        248.0,
        "the average",
        False,
        lambda C, H, T: CausalAverage(T),
        approximate=True,
    ),
    Rung(
        "average-positions",
        "the same with positions added before averaging",
        246.0,
        "learned positions",
        True,
        lambda C, H, T: CausalAverage(T),
        approximate=True,
    ),
    Rung(
        "token-plus-average",
        "token (with positions) plus the average",
        60.45,
        "the residual",
        True,
        lambda C, H, T: Residual(CausalAverage(T)),
    ),
    Rung(
        "head-instead",
        "one head instead of the token",
        55.5,
        "learned weights",
        True,
        lambda C, H, T: Head(C, C, T),
        approximate=True,
    ),
    Rung(
        "head",
        "one head plus the token",
        46.5,
        "the residual",
        True,
        lambda C, H, T: Residual(Head(C, C, T)),
        approximate=True,
    ),
    Rung(
        "four-heads",
        "four heads with an output projection, plus the token",
        43.5,
        "heads and W_o",
        True,
        _four_heads,
        approximate=True,
    ),
    Rung(
        "feed-forward",
        "plus a feed-forward network, no norms",
        39.9,
        "the MLP",
        True,
        _blocks(1, "none"),
        approximate=True,
    ),
    Rung(
        "one-block",
        "plus LayerNorms: one block",
        38.07,
        "three LayerNorms",
        True,
        _blocks(1, "pre"),
    ),
    Rung("two-blocks", "two blocks", 40.57, "a second block", True, _blocks(2, "pre")),
)
RUNGS: dict[str, Rung] = {rung.slug: rung for rung in _LADDER}


def build_rung(
    slug: str,
    vocab_size: int = 1024,
    d_model: int = 128,
    n_heads: int = 4,
    context_length: int = 128,
) -> LadderModel:
    """The model of one rung, freshly initialised from torch's current random state.

    Raises:
        ValueError: a rung that does not exist, or sizes its layers refuse.
    """
    if slug not in RUNGS:
        raise ValueError(f"no rung {slug!r}; the rungs are {', '.join(RUNGS)}")
    rung = RUNGS[slug]
    require_positive(vocab_size=vocab_size, d_model=d_model, context_length=context_length)
    layers = rung.layers(d_model, n_heads, context_length)
    return LadderModel(vocab_size, d_model, context_length, layers, rung.positions)

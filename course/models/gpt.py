"""A GPT: embeddings, a stack of causal blocks, one linear map back to the vocabulary."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from course.attention import KVCache
from course.block import Block
from course.checked import require_length, require_positive, require_rate, require_tokens
from course.positions import sinusoidal

POSITIONS = ("learned", "sinusoidal", "rope", "alibi", "none")


class GPT(nn.Module):
    """A decoder-only transformer (Radford et al. 2018, 2019).

    With the defaults, the shape of GPT-2: pre-norm, GELU, all biases, learned positions, and an
    output layer that shares the token embedding's matrix. GPT-2 small is ``GPT(50257, 1024, 768,
    12, 12)``: 124,439,808 parameters.

    Args:
        vocab_size, context_length, d_model, n_heads, n_layers: ``V``, the longest T, ``C``,
            ``H``, ``L``.
        dropout: on the embedding sum, the weights, and each sub-layer's output.
        qkv_bias: biases on queries, keys and values.
        tied: share the token embedding with the output layer (then without a bias). Untied, the
            output layer has a bias and all layers start as PyTorch initialises them.
        positions: "learned", "sinusoidal" (added), "rope", "alibi" (in attention) or "none".
        norm: "pre" or "post".
        activation: "gelu" or "relu".
        rope_scale: as in :class:`course.attention.MultiHeadAttention`.

    Raises:
        ValueError: a size below 1, or an unknown word.
    """

    encoding: Tensor  # (context_length, C), with positions="sinusoidal"

    def __init__(
        self,
        vocab_size: int,
        context_length: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        dropout: float = 0.0,
        *,
        qkv_bias: bool = True,
        tied: bool = True,
        positions: str = "learned",
        norm: str = "pre",
        activation: str = "gelu",
        rope_scale: float = 1.0,
    ) -> None:
        super().__init__()
        require_positive(vocab_size=vocab_size, context_length=context_length, n_layers=n_layers)
        require_rate(dropout)
        if positions not in POSITIONS or norm not in ("pre", "post"):
            raise ValueError(
                f"positions must be one of {POSITIONS} and norm pre or post, got "
                f"{positions!r} and {norm!r}"
            )
        self.vocab_size, self.context_length = vocab_size, context_length
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = None
        if positions == "learned":
            self.position_embedding = nn.Embedding(context_length, d_model)
        elif positions == "sinusoidal":
            self.register_buffer("encoding", sinusoidal(context_length, d_model), persistent=False)
        self.positions = positions
        inside = positions if positions in ("rope", "alibi") else "none"
        self.blocks = nn.ModuleList(
            Block(
                d_model,
                n_heads,
                context_length,
                dropout,
                norm=norm,
                activation=activation,
                qkv_bias=qkv_bias,
                positions=inside,
                rope_scale=rope_scale,
            )
            for _ in range(n_layers)
        )
        self.dropout = nn.Dropout(dropout)
        # A post-norm stack ends in a norm already.
        self.final_norm = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()
        self.output = nn.Linear(d_model, vocab_size, bias=not tied)
        if tied:
            self.output.weight = self.token_embedding.weight
            self._initialise_as_gpt2(n_layers)

    def _initialise_as_gpt2(self, n_layers: int) -> None:
        """Normal with sd 0.02; what is added to the residual stream, divided by √(2L)."""
        for name, parameter in self.named_parameters():
            if name.endswith("weight") and parameter.dim() == 2:
                added = name.endswith(("o_proj.weight", "down.weight"))
                sd = 0.02 / (2 * n_layers) ** 0.5 if added else 0.02
                nn.init.normal_(parameter, std=sd)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def new_cache(self, batch: int) -> list[KVCache]:
        """An empty key–value cache, one part a block, for ``batch`` rows."""
        weight = self.token_embedding.weight
        attentions = [cast(Block, block).attention for block in self.blocks]
        return [
            KVCache(
                batch,
                a.n_heads,
                self.context_length,
                a.d_head,
                device=weight.device,
                dtype=weight.dtype,
            )
            for a in attentions
        ]

    def embed(self, idx: Tensor, start: int = 0) -> Tensor:
        """Token plus position, ids (B, T) → (B, T, C); the first token stands at ``start``."""
        x: Tensor = self.token_embedding(idx)  # (B, T, C)
        places = torch.arange(start, start + idx.shape[1], device=idx.device)
        if self.position_embedding is not None:
            x = x + self.position_embedding(places)
        elif self.positions == "sinusoidal":
            x = x + self.encoding[places].to(x.dtype)
        return cast(Tensor, self.dropout(x))

    def forward(
        self, idx: Tensor, cache: list[KVCache] | None = None, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Token ids (B, T) → logits (B, T, V), and each block's weights (B, H, T, S) on request.

        Args:
            idx: ids; with a cache, only the new ones.
            cache: from :meth:`new_cache`; it grows by T.

        Raises:
            ValueError: ids that are no (B, T) integers below V, or more tokens than the context
                holds.
        """
        require_tokens(idx, self.vocab_size, self.context_length)
        start = cache[0].length if cache else 0
        require_length(start + idx.shape[1], self.context_length)
        x = self.embed(idx, start)
        maps: list[Tensor] = []
        for i, block in enumerate(self.blocks):
            x = block(x, return_weights, cache[i] if cache else None)
            if return_weights:
                x, weights = x
                maps.append(weights)
        logits = self.output(self.final_norm(x))  # (B, T, V)
        return (logits, maps) if return_weights else logits

"""The transformer of 2017, whole: an encoder that reads, a decoder that writes."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from course.attention import KVCache
from course.block import Block, DecoderLayer
from course.checked import require_length, require_positive, require_tokens
from course.positions import sinusoidal


class EncoderDecoder(nn.Module):
    """The model of Vaswani et al. 2017; the defaults are its base model.

    6 + 6 layers, d_model 512, 8 heads of 64, d_ff 2048, post-norm, ReLU, sinusoidal positions
    (section 3 and table 3). One matrix serves both embeddings and the layer before the softmax
    (section 3.4), so that layer has no bias. Embeddings start with sd ``C^-½`` and are multiplied
    by ``√C``, which makes them about as large as the encoding added to them.

    Args:
        vocab_size: ``V``, of one vocabulary for source and target.
        d_model, n_heads, n_layers, d_ff: ``C``, ``H``, ``L`` (of each stack), ``F``.
        context_length: the longest source and target.
        dropout: on embedding sums, weights and sub-layer outputs.
        shared: False gives source, target and output a matrix each, the output with a bias.
        norm: "post" as in the paper, or "pre" (then each stack ends in a norm).
        activation: "relu" as in the paper, or "gelu".

    Raises:
        ValueError: a size below 1, C not divisible by H, or C odd.
    """

    encoding: Tensor  # (context_length, C)

    def __init__(
        self,
        vocab_size: int,
        d_model: int = 512,
        n_heads: int = 8,
        n_layers: int = 6,
        d_ff: int = 2048,
        context_length: int = 512,
        dropout: float = 0.1,
        shared: bool = True,
        *,
        norm: str = "post",
        activation: str = "relu",
    ) -> None:
        super().__init__()
        require_positive(vocab_size=vocab_size, n_layers=n_layers, context_length=context_length)
        self.vocab_size, self.d_model, self.context_length = vocab_size, d_model, context_length
        self.encoder = nn.ModuleList(
            Block(
                d_model,
                n_heads,
                context_length,
                dropout,
                norm=norm,
                d_ff=d_ff,
                activation=activation,
                qkv_bias=True,
                causal=False,
            )
            for _ in range(n_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(
                d_model,
                n_heads,
                context_length,
                dropout,
                norm=norm,
                d_ff=d_ff,
                activation=activation,
            )
            for _ in range(n_layers)
        )
        final = nn.LayerNorm if norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = final(d_model), final(d_model)
        self.source_embedding = nn.Embedding(vocab_size, d_model)
        self.target_embedding = (
            self.source_embedding if shared else nn.Embedding(vocab_size, d_model)
        )
        self.output = nn.Linear(d_model, vocab_size, bias=not shared)
        for embedding in {self.source_embedding, self.target_embedding}:
            nn.init.normal_(embedding.weight, std=d_model**-0.5)
        for p in (*self.encoder.parameters(), *self.decoder.parameters()):
            if p.dim() == 2:
                nn.init.xavier_uniform_(p)
        if shared:
            self.output.weight = self.source_embedding.weight
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("encoding", sinusoidal(context_length, d_model), persistent=False)

    def _embed(self, table: nn.Embedding, idx: Tensor, start: int = 0) -> Tensor:
        require_tokens(idx, self.vocab_size, self.context_length)
        end = start + idx.shape[1]
        require_length(end, self.context_length)
        x = table(idx) * math.sqrt(self.d_model) + self.encoding[start:end]  # (B, T, C)
        return cast(Tensor, self.dropout(x))

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Source ids (B, S) → memory (B, S, C); ``source_mask`` (B, S), True = a real token."""
        x = self._embed(self.source_embedding, source)
        mask = None if source_mask is None else source_mask[:, None, None, :]
        for block in self.encoder:
            x = block(x, mask=mask)
        return cast(Tensor, self.encoder_norm(x))

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        return_weights: bool = False,
        cache: list[KVCache] | None = None,
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Target ids (B, T) and memory (B, S, C) → logits (B, T, V), and the cross weights.

        Args:
            target: what has been written so far, beginning with the start token; with a cache,
                only the new ids.
            memory_mask: ``(B, S)``, True = a real token.
            return_weights: also return each layer's cross-attention weights (B, H, T, S).
            cache: of the decoder's own keys and values, from :meth:`new_cache`.
        """
        x, maps = self._embed(self.target_embedding, target, cache[0].length if cache else 0), []
        for i, layer in enumerate(self.decoder):
            x, weights = layer(x, memory, memory_mask, True, cache[i] if cache else None)
            maps.append(weights)
        logits = self.output(self.decoder_norm(x))  # (B, T, V)
        return (logits, maps) if return_weights else logits

    def new_cache(self, batch: int) -> list[KVCache]:
        """An empty key–value cache of the decoder's self-attention, one part a layer."""
        weight = self.source_embedding.weight
        attentions = [cast(DecoderLayer, layer).attention for layer in self.decoder]
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

    def forward(self, source: Tensor, target: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Teacher forcing: source (B, S), target so far (B, T) → logits (B, T, V)."""
        memory = self.encode(source, source_mask)
        return cast(Tensor, self.decode(target, memory, source_mask))


def sequence_mask(lengths: Tensor, S: int) -> Tensor:
    """Which of S places hold a real token: lengths (B,) → (B, S) boolean."""
    return torch.arange(S, device=lengths.device)[None, :] < lengths[:, None]

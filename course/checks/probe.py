"""Two instruments on the learner's side: a model with known logits, and a watch on tensor sizes."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


class ProbeModel(nn.Module):
    """A small language model whose logits a check can compute too, and that remembers its calls.

    logits_t = Σ_{s ≤ t} decay^(t − s) · table[idx_s]: with decay 0 only the last token counts.
    It refuses more than ``max_length`` tokens, as a model with a position table does.
    """

    def __init__(self, table: torch.Tensor, decay: float = 0.0, max_length: int | None = None):
        super().__init__()
        self.table = nn.Parameter(table.clone())
        self.decay, self.max_length = decay, max_length
        self.dropout = nn.Dropout(0.5)  # has a mode; is not applied
        self.seen: list[dict[str, Any]] = []

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        """Return logits (B, T, V) for token numbers ``idx`` (B, T)."""
        self.seen.append(
            {
                "idx": idx.detach().clone(),
                "training": self.training,
                "grad": torch.is_grad_enabled(),
            }
        )
        T = idx.shape[-1]
        if self.max_length is not None and T > self.max_length:
            raise IndexError(f"the model has {self.max_length} positions and was given {T} tokens")
        t = torch.arange(T)
        gap = (t[:, None] - t[None, :]).to(self.table.dtype)
        mix = torch.where(gap >= 0, self.decay ** gap.clamp(min=0), 0.0).to(self.table.dtype)
        return mix @ self.table[idx]


class Watch(TorchDispatchMode):
    """Records the largest tensor made and the most entries alive at once (views count once)."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = self.alive = self.peak = 0
        self._known: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for t in torch.utils._pytree.tree_leaves(out):
            if isinstance(t, torch.Tensor):
                self._note(t)
        return out

    def _note(self, t: torch.Tensor) -> None:
        storage = t.untyped_storage()
        size = storage.nbytes() // max(1, t.element_size())
        # An expanded view is counted by its shape too: what follows from it is that large.
        self.largest = max(self.largest, size)
        key = storage.data_ptr()
        if key not in self._known:
            self.alive += size
            self.peak = max(self.peak, self.alive)
        self._known[key] = self._known.get(key, 0) + 1

        def gone(key: int = key, size: int = size) -> None:
            self._known[key] -= 1
            if not self._known[key]:
                del self._known[key]
                self.alive -= size

        weakref.finalize(t, gone)

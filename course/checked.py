"""Errors that name the value: the few checks of arguments that many modules share."""

from __future__ import annotations

import torch
from torch import Tensor


def require_sequence(
    x: Tensor, d_model: int | None = None, context_length: int | None = None
) -> None:
    """Raise ``ValueError`` unless ``x`` is (B, T, C) with C = d_model and T ≤ context_length."""
    if x.dim() != 3:
        raise ValueError(f"expected x of shape (B, T, C), got {tuple(x.shape)}")
    if d_model is not None and x.shape[2] != d_model:
        raise ValueError(f"expected width d_model={d_model}, got x of shape {tuple(x.shape)}")
    require_length(x.shape[1], context_length)


def require_tokens(idx: Tensor, vocab_size: int, context_length: int | None = None) -> None:
    """Raise ``ValueError`` unless ``idx`` is ``(B, T)`` of integers, with T ≤ context_length.

    Ids outside the vocabulary are named only on the CPU: on a GPU the look would stall the device,
    and there the embedding raises by itself.
    """
    if idx.dim() != 2 or idx.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"expected token ids (B, T) of integers, got {tuple(idx.shape)} {idx.dtype}"
        )
    require_length(idx.shape[1], context_length)
    if idx.device.type == "cpu" and idx.numel():
        low, high = int(idx.min()), int(idx.max())
        if low < 0 or high >= vocab_size:
            raise ValueError(f"token ids must lie in 0…{vocab_size - 1}, got {low}…{high}")


def require_length(T: int, context_length: int | None) -> None:
    """Raise ``ValueError`` where ``T`` tokens do not fit in the context."""
    if context_length is not None and context_length < T:
        raise ValueError(
            f"T={T} tokens do not fit in context_length={context_length}; crop the "
            "input to its last tokens"
        )


def require_positive(**sizes: int) -> None:
    """Raise ``ValueError`` for the first size that is not a positive whole number."""
    for name, value in sizes.items():
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def require_rate(dropout: float) -> None:
    """Raise ``ValueError`` unless ``0 ≤ dropout < 1``."""
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"dropout must lie in 0 ≤ p < 1, got {dropout}")


def require_heads(d_model: int, n_heads: int) -> int:
    """The width of one head, ``d_model / n_heads``; ``ValueError`` where it is not whole."""
    require_positive(d_model=d_model, n_heads=n_heads)
    if d_model % n_heads:
        raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
    return d_model // n_heads


def require_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise unless ``mask`` is boolean and broadcasts to ``shape`` (the shape of the scores).

    Raises:
        ValueError: it is not boolean (a 0/1 or additive mask is refused, not guessed at), or it
            does not broadcast.
    """
    if mask.dtype != torch.bool:
        raise ValueError(
            f"expected a boolean mask (True = may attend), got {mask.dtype}; "
            "use mask.bool(), or pass what is to be added as scores_bias"
        )
    try:
        fits = torch.broadcast_shapes(mask.shape, shape) == torch.Size(shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"mask of shape {tuple(mask.shape)} does not fit scores {tuple(shape)}")

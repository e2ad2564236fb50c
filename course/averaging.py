"""The average of everything so far, written three ways that give the same numbers.

Chapter 1 writes the loop, chapter 2 turns it into one product with a lower-triangular matrix,
chapter 3 makes the same matrix by a softmax over masked zeros; those zeros are what attention
replaces with scores.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from course.checked import require_sequence


def average_loop(x: Tensor) -> Tensor:
    """Row t of the result is the mean of rows 0…t of ``x``: two loops, as the sentence says.

    Args:
        x: ``(B, T, C)``.

    Returns:
        ``(B, T, C)``.

    Raises:
        ValueError: ``x`` does not have three dimensions.
    """
    require_sequence(x)
    B, T, _ = x.shape
    out = torch.empty_like(x)
    for b in range(B):
        for t in range(T):
            out[b, t] = x[b, : t + 1].mean(dim=0)  # (C,)
    return out


def averaging_matrix(T: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """The ``(T, T)`` matrix whose row t holds ``1/(t+1)`` up to the diagonal and 0 after it.

    Raises:
        ValueError: ``T`` is below 1.
    """
    if T < 1:
        raise ValueError(f"T must be 1 or more, got {T}")
    ones = torch.tril(torch.ones(T, T, dtype=dtype))
    return ones / ones.sum(dim=1, keepdim=True)


def average_matmul(x: Tensor) -> Tensor:
    """The same average as one product: ``averaging_matrix(T) @ x``; (B, T, C) → (B, T, C).

    Raises:
        ValueError: ``x`` does not have three dimensions.
    """
    require_sequence(x)
    return averaging_matrix(x.shape[1], x.dtype).to(x.device) @ x  # (T, T) @ (B, T, C)


def average_softmax(x: Tensor) -> Tensor:
    """The same average as a softmax over zeros whose future is −∞; (B, T, C) → (B, T, C).

    Raises:
        ValueError: ``x`` does not have three dimensions.
    """
    require_sequence(x)
    T = x.shape[1]
    scores = torch.zeros(T, T, dtype=x.dtype, device=x.device)
    future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
    weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)  # (T, T)
    return weights @ x


class CausalAverage(nn.Module):
    """The causal average as a layer without parameters; (B, T, C) → (B, T, C)."""

    matrix: Tensor

    def __init__(self, context_length: int) -> None:
        super().__init__()
        # A buffer moves with the model; it is arithmetic, so it need not be stored with it.
        self.register_buffer("matrix", averaging_matrix(context_length), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Average ``x`` (B, T, C) over its past.

        Raises:
            ValueError: ``x`` is not (B, T, C), or T is over the context length.
        """
        require_sequence(x, context_length=self.matrix.shape[0])
        T = x.shape[1]
        return self.matrix[:T, :T].to(x.dtype) @ x

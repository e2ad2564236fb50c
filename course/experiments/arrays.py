"""Small arrays stored beside a record: trained weights, attention maps, the tokenizer's merges.

Weights are kept as float16 (three digits are enough for a page; the metrics of the record are of
the float32 model), never as pickles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from course.models.ladder import LadderModel
    from course.tokenizer import Tokenizer

__all__ = ["half", "restore_weights", "sample_maps", "stored_weights"]

_PREFIX = "weight/"


def half(x: Tensor) -> np.ndarray:
    """A tensor as a float16 array on the CPU, of the same shape."""
    array: np.ndarray = x.detach().float().cpu().numpy().astype(np.float16)
    return array


def stored_weights(model: nn.Module, tokenizer: Tokenizer | None = None) -> dict[str, np.ndarray]:
    """Every parameter of ``model`` as float16, and the tokenizer's merges (n, 2)."""
    arrays = {_PREFIX + name: half(parameter) for name, parameter in model.named_parameters()}
    if tokenizer is not None:
        arrays["merges"] = np.array(tokenizer.merges, dtype=np.uint16)
    return arrays


def restore_weights(model: nn.Module, arrays: dict[str, Any]) -> None:
    """Copy what :func:`stored_weights` kept into a model of the same shape.

    Raises:
        ValueError: a parameter is missing among the arrays or has another shape.
    """
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            stored = arrays.get(_PREFIX + name)
            if stored is None or tuple(stored.shape) != tuple(parameter.shape):
                found = "nothing" if stored is None else f"shape {tuple(stored.shape)}"
                raise ValueError(
                    f"parameter {name} has shape {tuple(parameter.shape)}, the record holds {found}"
                )
            parameter.copy_(torch.from_numpy(stored.astype(np.float32)))


def sample_maps(model: LadderModel, tokenizer: Tokenizer, text: str) -> dict[str, np.ndarray]:
    """Attention weights of a ladder model over ``text``.

    Returns:
        ``maps`` (L, H, T, T) float16, ``ids`` (T,), and ``pieces`` (T,): each token as text.
    """
    ids = tokenizer.encode(text)[: model.context_length]
    device = next(model.parameters()).device
    maps: list[Tensor] = []

    def keep(module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        # The maps are those of the very layer that computes: same input, weights asked for.
        _, weights = module.forward(arguments[0], return_weights=True)
        maps.append(weights[0])

    from course.attention import MultiHeadAttention

    was_training = model.training
    model.eval()
    hooks = [
        module.register_forward_pre_hook(keep)
        for module in model.modules()
        if isinstance(module, MultiHeadAttention)
    ]
    try:
        with torch.no_grad():
            model(torch.tensor([ids], device=device))
    finally:
        for hook in hooks:
            hook.remove()
        model.train(was_training)
    pieces = [tokenizer.token_bytes(i).decode("utf-8", "replace") for i in ids]
    return {
        "maps": half(torch.stack(maps)),
        "ids": np.array(ids, dtype=np.uint16),
        "pieces": np.array(pieces),
    }

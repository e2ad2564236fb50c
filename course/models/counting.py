"""Model size is arithmetic: exact counts, and the formula they come from."""

from __future__ import annotations

from torch import nn

from course.checked import require_positive


def count_parameters(model: nn.Module) -> int:
    """How many trainable numbers a model has; a shared matrix counts once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def gpt_parameters(
    d_model: int, n_layers: int, vocab_size: int, context_length: int
) -> dict[str, int]:
    """The exact counts of a GPT-2 shaped model: all biases, tied output, a final norm.

    A block has ``4C² + 4C`` in attention, ``8C² + 5C`` in its MLP and ``4C`` in its two norms:
    ``12C² + 13C`` (Radford et al. 2019 for the shape).

    Returns:
        "token_embedding", "position_embedding", "attention", "feed_forward", "norms" (each of
        the last three for one block), "block", "blocks" (all of them), "final_norm", "total".

    Raises:
        ValueError: a size below 1.
    """
    require_positive(
        d_model=d_model, n_layers=n_layers, vocab_size=vocab_size, context_length=context_length
    )
    C = d_model
    counts = {
        "token_embedding": vocab_size * C,
        "position_embedding": context_length * C,
        "attention": 4 * C * C + 4 * C,
        "feed_forward": 8 * C * C + 5 * C,
        "norms": 4 * C,
    }
    counts["block"] = counts["attention"] + counts["feed_forward"] + counts["norms"]
    counts["blocks"] = n_layers * counts["block"]
    counts["final_norm"] = 2 * C
    counts["total"] = (
        counts["token_embedding"]
        + counts["position_embedding"]
        + counts["blocks"]
        + counts["final_norm"]
    )
    return counts

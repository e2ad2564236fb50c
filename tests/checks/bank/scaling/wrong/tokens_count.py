# mistake: count
# of: effective_tokens
import torch


def effective_tokens(weights):
    return (weights > 0).sum(dim=-1).to(weights.dtype)

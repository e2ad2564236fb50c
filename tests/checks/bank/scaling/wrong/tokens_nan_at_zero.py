# mistake: zero-weights
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = -(weights * weights.log()).sum(dim=-1)
    return entropy.exp()

# mistake: leaking-epsilon
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = -(weights * (weights + 1e-3).log()).sum(dim=-1)
    return entropy.exp()

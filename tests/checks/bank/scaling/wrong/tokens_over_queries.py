# mistake: over-queries
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = -torch.xlogy(weights, weights).sum(dim=-2)
    return entropy.exp()

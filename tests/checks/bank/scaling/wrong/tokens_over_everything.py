# mistake: over-all
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = -torch.xlogy(weights, weights).sum()
    return entropy.exp()

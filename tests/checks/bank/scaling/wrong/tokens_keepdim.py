# mistake: kept-dimension
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = -torch.xlogy(weights, weights).sum(dim=-1, keepdim=True)
    return entropy.exp()

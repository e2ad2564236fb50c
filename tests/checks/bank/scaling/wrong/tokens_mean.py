# mistake: averaged
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = -torch.xlogy(weights, weights).mean(dim=-1)
    return entropy.exp()

# mistake: sign
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = torch.xlogy(weights, weights).sum(dim=-1)
    return entropy.exp()

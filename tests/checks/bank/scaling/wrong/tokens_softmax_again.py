# mistake: softmax-again
# of: effective_tokens
import torch


def effective_tokens(weights):
    weights = weights.softmax(dim=-1)
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)
    return entropy.exp()

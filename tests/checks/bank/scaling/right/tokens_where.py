# style: zero weights replaced by one
# of: effective_tokens
import torch


def effective_tokens(weights):
    safe = torch.where(weights > 0, weights, torch.ones_like(weights))
    entropy = -(weights * safe.log()).sum(dim=-1)
    return entropy.exp()

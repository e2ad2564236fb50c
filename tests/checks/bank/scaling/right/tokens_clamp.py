# style: clamped logarithm
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = -(weights * weights.clamp(min=torch.finfo(weights.dtype).tiny).log()).sum(dim=-1)
    return entropy.exp()

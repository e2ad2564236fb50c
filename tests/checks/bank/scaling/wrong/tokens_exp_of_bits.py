# mistake: e-to-the-bits
# of: effective_tokens
import torch


def effective_tokens(weights):
    entropy = -(weights * weights.clamp(min=1e-12).log2()).sum(dim=-1)
    return entropy.exp()

# style: bits and powers of two
# of: effective_tokens
import torch


def effective_tokens(weights):
    bits = -(weights * weights.clamp(min=1e-7).log2()).sum(dim=-1)
    return 2**bits

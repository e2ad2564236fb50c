# style: a product of powers
# of: effective_tokens
import torch


def effective_tokens(weights):
    return weights.pow(-weights).prod(dim=-1)

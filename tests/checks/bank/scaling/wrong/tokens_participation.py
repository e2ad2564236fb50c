# mistake: participation
# of: effective_tokens
import torch


def effective_tokens(weights):
    return 1 / weights.square().sum(dim=-1)

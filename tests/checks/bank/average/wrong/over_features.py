# mistake: over-features
import torch


def causal_average(x):
    return x.cumsum(dim=-1) / torch.arange(1, x.shape[-1] + 1, device=x.device)

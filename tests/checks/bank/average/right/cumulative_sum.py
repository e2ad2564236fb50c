# style: a cumulative sum
import torch


def causal_average(x):
    n = torch.arange(1, x.shape[1] + 1, device=x.device, dtype=x.dtype)
    return x.cumsum(dim=1) / n[:, None]

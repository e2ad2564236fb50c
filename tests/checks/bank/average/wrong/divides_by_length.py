# mistake: divided-by-length
import torch


def causal_average(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] = x[:, : t + 1].sum(dim=1) / x.shape[1]
    return out

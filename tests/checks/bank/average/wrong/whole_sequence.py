# mistake: sees-the-future
import torch


def causal_average(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] = x.mean(dim=1)
    return out

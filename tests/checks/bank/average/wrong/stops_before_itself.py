# mistake: excludes-itself
import torch


def causal_average(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] = x[:, :t].mean(dim=1)
    return out

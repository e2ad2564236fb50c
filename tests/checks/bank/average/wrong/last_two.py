# mistake: last-two
import torch


def causal_average(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] = x[:, max(0, t - 1) : t + 1].mean(dim=1)
    return out

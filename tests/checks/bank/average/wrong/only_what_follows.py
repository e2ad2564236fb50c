# mistake: only-what-follows
import torch


def causal_average(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1] - 1):
        out[:, t] = x[:, t + 1 :].mean(dim=1)
    return out

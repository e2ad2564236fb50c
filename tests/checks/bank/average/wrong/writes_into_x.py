# mistake: edits-input
import torch


def causal_average(x):
    out = x
    for t in range(x.shape[1]):
        out[:, t] = x[:, : t + 1].mean(dim=1)
    return out

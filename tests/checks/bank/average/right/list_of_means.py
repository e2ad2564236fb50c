# style: a list of means, stacked
import torch


def causal_average(x):
    return torch.stack([x[:, :n].mean(1) for n in range(1, x.size(1) + 1)], dim=1)

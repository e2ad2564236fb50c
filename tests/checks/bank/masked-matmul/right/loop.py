# style: a loop over rows
import torch


def averaging_matrix(T):
    weights = torch.zeros(T, T)
    for t in range(T):
        weights[t, : t + 1] = 1 / (t + 1)
    return weights

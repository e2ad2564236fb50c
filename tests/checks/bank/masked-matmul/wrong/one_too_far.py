# mistake: one-too-far
import torch


def averaging_matrix(T):
    weights = torch.tril(torch.ones(T, T), diagonal=1)
    return weights / weights.sum(dim=1, keepdim=True)

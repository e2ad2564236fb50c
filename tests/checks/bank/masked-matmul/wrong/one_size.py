# mistake: one-size
import torch


def averaging_matrix(T):
    weights = torch.tril(torch.ones(8, 8))
    return weights / weights.sum(dim=1, keepdim=True)

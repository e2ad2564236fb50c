# mistake: upside-down
import torch


def averaging_matrix(T):
    weights = torch.triu(torch.ones(T, T))
    return weights / weights.sum(dim=1, keepdim=True)

# mistake: divided-by-length
import torch


def averaging_matrix(T):
    weights = torch.tril(torch.ones(T, T))
    return weights / T

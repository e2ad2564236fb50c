# mistake: softmax-of-zeros
import torch


def averaging_matrix(T):
    weights = torch.tril(torch.ones(T, T))
    return weights.softmax(dim=1)

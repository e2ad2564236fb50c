# mistake: softmax-of-zeros | no-mask
import torch


def averaging_matrix(T):
    weights = torch.tril(torch.zeros(T, T))
    return weights.softmax(dim=1)

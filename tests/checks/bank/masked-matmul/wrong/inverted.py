# mistake: inverted
import torch


def averaging_matrix(T):
    weights = torch.zeros(T, T).masked_fill(torch.tril(torch.ones(T, T)) == 1, float("-inf"))
    return torch.softmax(weights, dim=-1)

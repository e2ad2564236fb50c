# mistake: inverted
import torch


def averaging_matrix(T):
    may = torch.tril(torch.ones(T, T, dtype=torch.bool))
    return torch.zeros(T, T).masked_fill(may, -1e9).softmax(dim=-1)

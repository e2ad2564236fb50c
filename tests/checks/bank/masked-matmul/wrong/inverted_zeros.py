# mistake: inverted
import torch


def averaging_matrix(T):
    later = torch.triu(torch.ones(T, T), diagonal=1)
    return later / later.sum(dim=1, keepdim=True).clamp(min=1)

# mistake: powers
import torch


def averaging_matrix(T):
    age = torch.arange(T)[:, None] - torch.arange(T)[None, :]
    weights = torch.where(age >= 0, 0.5 ** age.float(), torch.zeros(()))
    return weights / weights.sum(dim=1, keepdim=True)

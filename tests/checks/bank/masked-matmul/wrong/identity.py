# mistake: identity
import torch


def averaging_matrix(T):
    return torch.eye(T)

# style: nested lists, made a tensor
import torch


def averaging_matrix(T):
    return torch.tensor([[1 / (t + 1) if s <= t else 0.0 for s in range(T)] for t in range(T)])

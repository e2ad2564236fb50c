# style: a product with a diagonal matrix
import torch


def averaging_matrix(T):
    return torch.diag(1 / torch.arange(1.0, T + 1)) @ torch.ones(T, T).tril()

# style: the comparison of two counts
import torch


def averaging_matrix(T):
    i = torch.arange(T)
    return (i[None, :] <= i[:, None]).double() / (i[:, None] + 1)

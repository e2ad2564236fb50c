# style: one lower-triangular product
import torch


def causal_average(x):
    T = x.shape[1]
    w = torch.ones(T, T, dtype=x.dtype, device=x.device).tril()
    return (w / w.sum(1, keepdim=True)) @ x

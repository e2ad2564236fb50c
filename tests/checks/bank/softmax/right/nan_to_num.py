# style: nan_to_num on fully masked rows
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return torch.nan_to_num(weights, nan=0.0)

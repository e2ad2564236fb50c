# style: an additive mask of zeros and −∞
import torch


def masked_softmax(scores, mask):
    bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(mask.logical_not(), -torch.inf)
    weights = (scores + bias).softmax(dim=-1)
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)

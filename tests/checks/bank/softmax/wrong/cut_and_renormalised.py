# mistake: renormalised
import torch


def masked_softmax(scores, mask):
    weights = scores.softmax(dim=-1) * mask
    weights = weights / weights.sum(-1, keepdim=True)
    return weights.nan_to_num(0.0)

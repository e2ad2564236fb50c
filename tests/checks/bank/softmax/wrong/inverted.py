# mistake: inverted
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(mask, float("-inf")).softmax(dim=-1)
    return weights.nan_to_num(0.0)

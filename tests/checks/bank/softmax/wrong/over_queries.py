# mistake: over-queries
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-2)
    return weights.nan_to_num(0.0)

# mistake: hides-zero-scores
import torch


def masked_softmax(scores, mask):
    s = scores * mask
    weights = s.masked_fill(s == 0, float("-inf")).softmax(dim=-1)
    return weights.nan_to_num(0.0)

# mistake: not-normalised
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).exp()
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)

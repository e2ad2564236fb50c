# mistake: finite-fill
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, -1e4).softmax(dim=-1)
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)

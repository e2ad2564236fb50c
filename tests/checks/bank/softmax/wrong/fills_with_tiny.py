# mistake: tiny-fill | zero-fill
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, 1e-9).softmax(dim=-1)
    return weights

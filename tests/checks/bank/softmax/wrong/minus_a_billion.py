# mistake: finite-fill | empty-row-uniform
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
    return weights

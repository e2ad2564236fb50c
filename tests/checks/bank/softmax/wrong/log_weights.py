# mistake: log
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).log_softmax(dim=-1)
    return weights

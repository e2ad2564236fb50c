# mistake: no-broadcast
import torch


def masked_softmax(scores, mask):
    s = scores.clone()
    s[~mask] = float("-inf")
    weights = s.softmax(dim=-1)
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)

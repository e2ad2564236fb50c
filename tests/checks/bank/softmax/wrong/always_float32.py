# mistake: fixed-dtype
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1, dtype=torch.float32)
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)

# mistake: hidden-maximum
import torch


def masked_softmax(scores, mask):
    e = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return (e / e.sum(-1, keepdim=True)).nan_to_num(0.0)

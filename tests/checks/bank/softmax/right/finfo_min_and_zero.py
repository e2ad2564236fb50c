# style: finfo.min, cut again afterwards
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights * mask

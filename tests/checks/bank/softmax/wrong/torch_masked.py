# mistake: imported-answer
import torch


def masked_softmax(scores, mask):
    out = torch.masked.softmax(scores, -1, mask=mask.expand(scores.shape))
    return out.masked_fill(~mask, 0.0)

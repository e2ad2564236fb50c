# style: a stable softmax by hand
import torch


def masked_softmax(scores, mask):
    scores = scores.masked_fill(~mask, -torch.inf)
    top = scores.amax(dim=-1, keepdim=True)
    top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
    e = torch.exp(scores - top)
    total = e.sum(dim=-1, keepdim=True)
    return e / torch.where(total > 0, total, torch.ones_like(total))

# style: torch.where throughout
import torch


def masked_softmax(scores, mask):
    weights = torch.where(mask, scores, -torch.inf).softmax(-1)
    return torch.where(mask, weights, torch.zeros_like(weights))

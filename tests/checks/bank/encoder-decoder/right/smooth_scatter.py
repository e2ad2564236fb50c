# style: filled and scattered
# of: label_smoothed_targets
import torch


def label_smoothed_targets(targets, n_classes, eps=0.1):
    share = eps / n_classes
    out = torch.full((*targets.shape, n_classes), share)
    return out.scatter(-1, targets.unsqueeze(-1), 1 - eps + share)

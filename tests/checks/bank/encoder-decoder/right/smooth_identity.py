# style: rows of the identity
# of: label_smoothed_targets
import torch


def label_smoothed_targets(targets, n_classes, eps=0.1):
    uniform = torch.ones(n_classes, n_classes) / n_classes
    return torch.lerp(torch.eye(n_classes), uniform, eps)[targets]

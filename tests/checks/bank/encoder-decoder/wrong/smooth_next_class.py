# mistake: smooth-wrong-class
# of: label_smoothed_targets
import torch


def label_smoothed_targets(targets, n_classes, eps=0.1):
    one_hot = torch.nn.functional.one_hot((targets + 1) % n_classes, n_classes).float()
    return (1 - eps) * one_hot + eps / n_classes

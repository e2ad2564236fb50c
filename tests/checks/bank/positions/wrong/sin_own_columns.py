# mistake: sin-each-column-its-own
# of: sinusoidal
import torch


def sinusoidal(T, d_model):
    j = torch.arange(d_model)
    angle = torch.arange(T)[:, None] / 10000 ** (j / d_model)
    return torch.where(j % 2 == 0, angle.sin(), angle.cos())

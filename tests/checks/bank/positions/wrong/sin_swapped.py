# mistake: sin-cos-swapped
# of: sinusoidal
import torch


def sinusoidal(T, d_model):
    pos = torch.arange(T)[:, None]
    i = torch.arange(0, d_model, 2)
    angle = pos / 10000 ** (i / d_model)
    out = torch.zeros(T, d_model)
    out[:, 0::2] = torch.cos(angle)
    out[:, 1::2] = torch.sin(angle)
    return out

# mistake: sin-exponent-not-doubled
# of: sinusoidal
import torch


def sinusoidal(T, d_model):
    pos = torch.arange(T)[:, None]
    i = torch.arange(d_model // 2)
    angle = pos / 10000 ** (i / d_model)
    out = torch.zeros(T, d_model)
    out[:, 0::2] = torch.sin(angle)
    out[:, 1::2] = torch.cos(angle)
    return out

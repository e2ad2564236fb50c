# mistake: sin-halves
# of: sinusoidal
import torch


def sinusoidal(T, d_model):
    pos = torch.arange(T)[:, None]
    i = torch.arange(0, d_model, 2)
    angle = pos / 10000 ** (i / d_model)
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)

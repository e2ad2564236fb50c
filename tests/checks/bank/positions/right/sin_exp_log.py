# style: exponential of a logarithm
# of: sinusoidal
import math

import torch


def sinusoidal(T, d_model):
    rate = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    angle = torch.arange(T).float().unsqueeze(1) * rate
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)

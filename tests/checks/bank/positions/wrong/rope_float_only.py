# mistake: fixed-dtype
# of: apply_rope
import torch


def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rate = base ** (-torch.arange(0, D, 2, dtype=torch.float32) / D)
    angle = positions.float()[:, None] * rate
    cos, sin = angle.cos(), angle.sin()
    a, b = x.float()[..., 0::2], x.float()[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)

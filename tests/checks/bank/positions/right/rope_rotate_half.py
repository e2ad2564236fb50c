# style: rotate_half, as in most released models
# of: apply_rope
import torch


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rate = 1.0 / (base ** (torch.arange(0, D, 2, device=x.device) / D))
    angle = torch.outer(positions.to(rate.dtype), rate)
    angle = torch.cat((angle, angle), dim=-1)
    return x * angle.cos().to(x.dtype) + rotate_half(x) * angle.sin().to(x.dtype)

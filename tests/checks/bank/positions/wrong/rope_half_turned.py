# mistake: rope-half-only
# of: apply_rope
import torch


def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rate = base ** (-torch.arange(0, D, 2, dtype=torch.float32) / D)
    angle = positions.float()[:, None] * rate
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, b], dim=-1).flatten(-2)

# mistake: rope-mixed-pairs
# of: apply_rope
import torch


def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rate = base ** (-torch.arange(0, D, 2, dtype=torch.float32) / D)
    angle = positions.float()[:, None] * rate
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return x * cos + torch.stack([-b, a], dim=-1).flatten(-2) * sin

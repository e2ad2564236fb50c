# style: multiplication of complex numbers
# of: apply_rope
import torch


def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    rate = base ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    turn = torch.polar(torch.ones(len(positions), D // 2, dtype=torch.float64),
                       positions.double()[:, None] * rate)
    z = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * turn).flatten(-2).to(x.dtype)

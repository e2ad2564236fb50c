# mistake: keeps-all-tiles
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    strips = []
    for a in range(0, T, tile):
        scores = q[..., a : a + tile, :] @ k.transpose(-2, -1) / D**0.5
        i, j = torch.arange(a, min(a + tile, T))[:, None], torch.arange(T)[None, :]
        strips.append(scores.masked_fill(j > i, float("-inf")).softmax(dim=-1))
    return torch.cat([strip @ v for strip in strips], dim=-2)

# mistake: holds-a-square
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    rows = []
    for a in range(0, T, tile):
        scores = q[..., a : a + tile, :] @ k.transpose(-2, -1) / D**0.5
        scores = scores.masked_fill(hidden[a : a + tile], float("-inf"))
        rows.append(scores.softmax(dim=-1) @ v)
    return torch.cat(rows, dim=-2)

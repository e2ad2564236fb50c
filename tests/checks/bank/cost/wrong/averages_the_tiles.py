# mistake: tile-softmax-averaged
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    i = torch.arange(T)[:, None]
    total = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for b in range(0, T, tile):
        keys, values = k[..., b : b + tile, :], v[..., b : b + tile, :]
        j = torch.arange(b, b + keys.shape[-2])[None, :]
        scores = (q @ keys.transpose(-2, -1) / D**0.5).masked_fill(j > i, float("-inf"))
        total = total + scores.softmax(dim=-1).nan_to_num(0.0) @ values
    return total / (i // tile + 1)

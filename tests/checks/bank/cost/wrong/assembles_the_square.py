# mistake: holds-a-square
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    scores = q.new_full((*q.shape[:-1], T), float("-inf"))
    for a in range(0, T, tile):
        for b in range(0, a + tile, tile):
            part = q[..., a : a + tile, :] @ k[..., b : b + tile, :].transpose(-2, -1) / D**0.5
            scores[..., a : a + tile, b : b + tile] = part
    i = torch.arange(T)
    return scores.masked_fill(i[None, :] > i[:, None], float("-inf")).softmax(dim=-1) @ v

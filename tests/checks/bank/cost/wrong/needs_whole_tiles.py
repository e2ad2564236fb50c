# mistake: tile-must-divide
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    tiles = T // tile
    blocks = q.reshape(*q.shape[:-2], tiles, tile, D)
    rows = []
    for n in range(tiles):
        scores = blocks[..., n, :, :] @ k.transpose(-2, -1) / D**0.5
        i = torch.arange(n * tile, (n + 1) * tile)[:, None]
        scores = scores.masked_fill(torch.arange(T)[None, :] > i, float("-inf"))
        rows.append(scores.softmax(dim=-1) @ v)
    return torch.cat(rows, dim=-2)

# mistake: holds-a-square
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    may = torch.ones(T, T, dtype=torch.bool).tril()
    scores = (q @ k.transpose(-2, -1) / D**0.5).masked_fill(~may, float("-inf"))
    return scores.softmax(dim=-1) @ v

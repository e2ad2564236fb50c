# mistake: mask-upside-down
import math

import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    rows = []
    for a in range(0, T, tile):
        queries = q[..., a : a + tile, :] / math.sqrt(D)
        i = torch.arange(a, a + queries.shape[-2])[:, None]
        top = torch.full_like(queries[..., :1], -math.inf)
        mass = torch.zeros_like(top)
        out = torch.zeros(*queries.shape[:-1], v.shape[-1], dtype=v.dtype)
        for b in range(0, T, tile):
            keys, values = k[..., b : b + tile, :], v[..., b : b + tile, :]
            j = torch.arange(b, b + keys.shape[-2])[None, :]
            scores = (queries @ keys.transpose(-2, -1))
            scores = scores.masked_fill(j < i, -math.inf)
            new = torch.maximum(top, scores.amax(dim=-1, keepdim=True)).clamp(min=-1e30)
            shrink, weights = (top - new).exp(), (scores - new).exp()
            mass = mass * shrink + weights.sum(dim=-1, keepdim=True)
            out = out * shrink + weights @ values
            top = new
        rows.append(out / mass)
    return torch.cat(rows, dim=-2)

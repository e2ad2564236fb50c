# style: strips of queries against all earlier keys
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    rows = []
    for a in range(0, T, tile):
        end = min(a + tile, T)
        scores = q[..., a:end, :] @ k[..., :end, :].transpose(-2, -1) * D**-0.5
        i, j = torch.arange(a, end)[:, None], torch.arange(end)[None, :]
        weights = scores.masked_fill(j > i, float("-inf")).softmax(dim=-1)
        rows.append(weights @ v[..., :end, :])
    return torch.cat(rows, dim=-2)

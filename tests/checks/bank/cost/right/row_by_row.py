# style: one query at a time
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    out = torch.empty(*q.shape[:-1], v.shape[-1], dtype=v.dtype)
    for t in range(T):
        scores = torch.einsum("...d,...sd->...s", q[..., t, :], k[..., : t + 1, :]) / D**0.5
        out[..., t, :] = torch.einsum("...s,...sd->...d", scores.softmax(-1), v[..., : t + 1, :])
    return out

# style: all queries against one tile of keys at a time
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    i = torch.arange(T)[:, None]
    top = q.new_full((*q.shape[:-1], 1), float("-inf"))
    mass = torch.zeros_like(top)
    out = q.new_zeros(*q.shape[:-1], v.shape[-1])
    for b in range(0, T, tile):
        keys, values = k[..., b : b + tile, :], v[..., b : b + tile, :]
        j = torch.arange(b, b + keys.shape[-2])[None, :]
        s = (q @ keys.mT / D**0.5).masked_fill(j > i, float("-inf"))
        new = torch.maximum(top, s.max(-1, keepdim=True).values)
        shrink, e = torch.exp(top - new), torch.exp(s - new)
        mass, out, top = mass * shrink + e.sum(-1, keepdim=True), out * shrink + e @ values, new
    return out / mass

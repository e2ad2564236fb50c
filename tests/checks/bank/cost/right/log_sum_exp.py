# style: merging tiles by logsumexp
import torch


def tiled_attention(q, k, v, tile):
    T, D = q.shape[-2:]
    rows = []
    for a in range(0, T, tile):
        part = q[..., a : a + tile, :]
        i = torch.arange(a, a + part.shape[-2])[:, None]
        out, lse = None, None
        for b in range(0, a + tile, tile):
            keys, values = k[..., b : b + tile, :], v[..., b : b + tile, :]
            j = torch.arange(b, b + keys.shape[-2])
            s = (part @ keys.transpose(-2, -1)) / D**0.5
            s = torch.where(j <= i, s, torch.full_like(s, -torch.inf))
            new = s.logsumexp(dim=-1, keepdim=True)
            mine = torch.exp(s - new).nan_to_num(0.0) @ values
            if out is None:
                out, lse = mine, new
            else:
                both = torch.logaddexp(lse, new)
                out = out * torch.exp(lse - both) + mine * torch.exp(new - both)
                lse = both
        rows.append(out)
    return torch.cat(rows, dim=-2)

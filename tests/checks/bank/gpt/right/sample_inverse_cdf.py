# style: inverting the cumulative distribution, row by row
# of: sample_next
import torch


def sample_next(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature == 0:
        return torch.argmax(logits, dim=1)
    p, ids = torch.softmax(logits.double() / temperature, dim=1).sort(dim=1, descending=True)
    rank = torch.arange(p.shape[1])[None, :].expand(p.shape)
    if top_k is not None:
        p = torch.where(rank < top_k, p, 0.0)
        p = p / p.sum(dim=1, keepdim=True)
    if top_p is not None:
        p = torch.where(p.cumsum(dim=1) - p < top_p, p, 0.0)
        p = p / p.sum(dim=1, keepdim=True)
    u = torch.rand(len(p), 1, generator=generator, dtype=torch.float64)
    place = (p.cumsum(dim=1) < u * (1 - 1e-12)).sum(dim=1, keepdim=True)
    return ids.gather(1, place)[:, 0]

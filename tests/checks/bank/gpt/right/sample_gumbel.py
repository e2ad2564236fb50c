# style: the Gumbel-max trick
# of: sample_next
import torch


def sample_next(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    if not temperature:
        return logits.argmax(-1)
    scores = logits.double() / temperature
    if top_k:
        k = min(top_k, scores.size(-1))
        kept = torch.full_like(scores, -torch.inf)
        scores = kept.scatter(1, scores.topk(k).indices, scores.topk(k).values)
    if top_p is not None:
        value, order = torch.sort(scores, descending=True)
        before = value.softmax(-1).cumsum(-1) - value.softmax(-1)
        value = value.masked_fill(before >= top_p, -torch.inf)
        scores = torch.empty_like(scores).scatter(1, order, value)
    u = torch.rand(scores.shape, generator=generator, dtype=scores.dtype).clamp(min=1e-300)
    return (scores - torch.log(-torch.log(u))).argmax(-1)

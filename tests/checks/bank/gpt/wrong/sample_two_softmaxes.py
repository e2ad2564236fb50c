# mistake: softmax-twice
# of: sample_next
import torch


def sample_next(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature == 0:
        return logits.argmax(dim=-1)
    logits = (logits / temperature).softmax(dim=-1)
    if top_k is not None:
        smallest = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < smallest, float("-inf"))
    probs = logits.softmax(dim=-1)
    if top_p is not None:
        ranked, order = probs.sort(dim=-1, descending=True)
        drop = ranked.cumsum(dim=-1) - ranked >= top_p
        probs = probs.masked_fill(drop.scatter(1, order, drop), 0.0)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)

# style: drawing in sorted order, mapped back
# of: sample_next
import torch


def sample_next(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    greedy = temperature == 0
    ranked, order = (logits if greedy else logits / temperature).sort(dim=-1, descending=True)
    if greedy:
        return order[:, 0]
    if top_k is not None:
        ranked, order = ranked[:, :top_k], order[:, :top_k]
    probs = ranked.softmax(-1)
    if top_p is not None:
        reached = probs.cumsum(-1).roll(1, dims=-1)
        reached[:, 0] = 0.0
        probs = probs * (reached < top_p)
    return order.gather(1, torch.multinomial(probs, 1, generator=generator)).flatten()

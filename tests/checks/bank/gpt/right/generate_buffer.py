# style: a buffer filled in place
# of: generate
import torch

from torch.nn import functional as F


def generate(model, idx, max_new_tokens, context_length, temperature=1.0, top_k=None):
    B, T = idx.shape
    text = torch.zeros(B, T + max_new_tokens, dtype=idx.dtype)
    text[:, :T] = idx
    for t in range(T, T + max_new_tokens):
        scores = model(text[:, max(0, t - context_length) : t])[:, -1, :].detach()
        if temperature > 0:
            scores = scores / temperature
            if top_k is not None:
                order = scores.argsort(dim=-1, descending=True)
                scores = scores.scatter(1, order[:, top_k:], -torch.inf)
            scores = F.softmax(scores, dim=-1)
            text[:, t] = torch.multinomial(scores, num_samples=1)[:, 0]
        else:
            text[:, t] = scores.argmax(dim=-1)
    return text

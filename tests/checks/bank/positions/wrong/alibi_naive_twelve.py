# mistake: alibi-twelve
# of: alibi_bias
import torch


def slopes(n_heads):
    return torch.tensor([2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])


def alibi_bias(n_heads, T):
    i = torch.arange(T)
    distance = (i[:, None] - i[None, :]).clamp(min=0)
    return -slopes(n_heads)[:, None, None] * distance

# mistake: alibi-not-eight
# of: alibi_bias
import torch


def slopes(n_heads):
    return 0.5 ** torch.arange(1, n_heads + 1)


def alibi_bias(n_heads, T):
    i = torch.arange(T)
    distance = (i[:, None] - i[None, :]).clamp(min=0)
    return -slopes(n_heads)[:, None, None] * distance

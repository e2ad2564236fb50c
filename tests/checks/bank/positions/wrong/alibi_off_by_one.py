# mistake: alibi-off-by-one
# of: alibi_bias
import math

import torch


def slopes(n_heads):
    below = 2 ** math.floor(math.log2(n_heads))
    first = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    second = [2 ** (-4 * (h + 1) / below) for h in range(0, 2 * below, 2)]
    return torch.tensor(first + second)[:n_heads]


def alibi_bias(n_heads, T):
    i = torch.arange(T)
    distance = (i[:, None] - i[None, :] + 1).clamp(min=0)
    return -slopes(n_heads)[:, None, None] * distance

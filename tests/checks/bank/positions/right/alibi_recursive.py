# style: slopes by recursion, a loop over heads
# of: alibi_bias
import math

import torch


def get_slopes(n):
    if math.log2(n).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]
    below = 2 ** math.floor(math.log2(n))
    return get_slopes(below) + get_slopes(2 * below)[0::2][: n - below]


def alibi_bias(n_heads, T):
    out = torch.zeros(n_heads, T, T)
    for h, slope in enumerate(get_slopes(n_heads)):
        for t in range(T):
            out[h, t, :t] = -slope * torch.arange(t, 0, -1)
    return out

# style: two loops
# of: sinusoidal
import math

import torch


def sinusoidal(T, d_model):
    rows = []
    for pos in range(T):
        row = []
        for j in range(d_model):
            angle = pos / 10000 ** ((j - j % 2) / d_model)
            row.append(math.cos(angle) if j % 2 else math.sin(angle))
        rows.append(row)
    return torch.tensor(rows)

# mistake: running-halves
import torch


def causal_average(x):
    rows = [x[:, 0]]
    for t in range(1, x.shape[1]):
        rows.append((rows[-1] + x[:, t]) / 2)
    return torch.stack(rows, dim=1)

# style: the running mean, updated
import torch


def causal_average(x):
    mean = torch.zeros_like(x[:, 0])
    out = []
    for t, token in enumerate(x.unbind(1)):
        mean = mean + (token - mean) / (t + 1)
        out.append(mean)
    return torch.stack(out, 1)

# mistake: detached
import numpy as np
import torch


def causal_average(x):
    a = np.cumsum(x.detach().to(torch.float64).numpy(), axis=1)
    a = a / np.arange(1, x.shape[1] + 1)[:, None]
    return torch.from_numpy(a).to(x.dtype)

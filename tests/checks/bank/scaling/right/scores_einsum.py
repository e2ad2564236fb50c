# style: einsum
# of: scaled_scores
import torch


def scaled_scores(q, k):
    return torch.einsum("...td,...sd->...ts", q, k) * (1.0 / q.size(-1) ** 0.5)

# style: a loop over the queries
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.to_q = nn.Linear(d_model, d_head, bias=False)
        self.to_k = nn.Linear(d_model, d_head, bias=False)
        self.to_v = nn.Linear(d_model, d_head, bias=True)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        rows = []
        for t in range(x.shape[1]):
            scores = (k[:, : t + 1] * q[:, t : t + 1]).sum(-1) / k.shape[-1] ** 0.5
            weights = self.drop(torch.softmax(scores, dim=1))
            rows.append((weights[..., None] * v[:, : t + 1]).sum(1))
        return torch.stack(rows, dim=1)

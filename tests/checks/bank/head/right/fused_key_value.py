# style: query apart, keys and values fused
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.q = nn.Linear(d_model, d_head)
        self.kv = nn.Linear(d_model, 2 * d_head)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q = self.q(x)
        k, v = self.kv(x).split(q.shape[-1], dim=-1)
        T = x.shape[1]
        hidden = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT) / q.shape[-1] ** 0.5
        return self.drop(scores.masked_fill(hidden, -torch.inf).softmax(-1)) @ v

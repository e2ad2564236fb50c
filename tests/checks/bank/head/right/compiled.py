# style: torch.compile with the eager backend
import torch
from torch import nn


class _Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.q = nn.Linear(d_model, d_head, bias=False)
        self.k = nn.Linear(d_model, d_head, bias=False)
        self.v = nn.Linear(d_model, d_head, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        T = x.shape[1]
        may = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        scores = (q @ k.mT) / k.shape[-1] ** 0.5
        return self.drop(scores.masked_fill(~may, -torch.inf).softmax(-1)) @ v


def Head(d_model, d_head, context_length, dropout=0.0):
    return torch.compile(_Head(d_model, d_head, context_length, dropout), backend="eager")

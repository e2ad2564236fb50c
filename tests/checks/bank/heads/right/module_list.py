# style: a ModuleList of heads
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head, dropout):
        super().__init__()
        self.query = nn.Linear(d_model, d_head, bias=False)
        self.key = nn.Linear(d_model, d_head, bias=False)
        self.value = nn.Linear(d_model, d_head, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        T = x.shape[1]
        hidden = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        return self.drop(scores.masked_fill(hidden, -torch.inf).softmax(-1)) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, context_length, dropout=0.0):
        super().__init__()
        d_head = d_model // n_heads
        self.heads = nn.ModuleList(Head(d_model, d_head, dropout) for _ in range(n_heads))
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        return self.out(torch.cat([head(x) for head in self.heads], dim=-1))

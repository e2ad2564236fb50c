# style: a list of heads, each fused
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, context_length, dropout=0.0):
        super().__init__()
        self.width = d_model // n_heads
        self.qkv = nn.ModuleList(nn.Linear(d_model, 3 * self.width) for _ in range(n_heads))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        T, parts = x.size(1), []
        may = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        for layer in self.qkv:
            q, k, v = layer(x).chunk(3, -1)
            scores = torch.where(may, q @ k.mT / self.width**0.5, -torch.inf)
            parts.append(self.drop(scores.softmax(-1)) @ v)
        return self.mix(torch.cat(parts, -1))

# mistake: mask-inverted
# of: CrossAttention
import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.out = nn.Linear(d_model, d_model)

    def split(self, y):
        return y.view(y.shape[0], y.shape[1], self.n_heads, self.d_head).transpose(1, 2)

    def forward(self, x, memory, memory_mask=None):
        B, T, C = x.shape
        q, k, v = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        if memory_mask is not None:
            scores = scores.masked_fill(memory_mask[:, None, None, :], -1e9)
        weights = scores.softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(B, T, C))

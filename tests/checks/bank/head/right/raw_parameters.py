# style: raw nn.Parameter matrices
import math

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.a = nn.Parameter(torch.randn(d_model, d_head) / math.sqrt(d_model))
        self.b = nn.Parameter(torch.randn(d_model, d_head) / math.sqrt(d_model))
        self.c = nn.Parameter(torch.randn(d_model, d_head) / math.sqrt(d_model))
        self.p = dropout

    def forward(self, x):
        T = x.size(1)
        scores = (x @ self.a) @ (x @ self.b).transpose(1, 2)
        scores = scores * (1.0 / math.sqrt(self.a.size(1)))
        scores = scores + torch.triu(torch.full((T, T), -math.inf, dtype=x.dtype), diagonal=1)
        weights = torch.nn.functional.dropout(scores.softmax(-1), self.p, self.training)
        return weights @ (x @ self.c)

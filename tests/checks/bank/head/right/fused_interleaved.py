# style: one fused projection, interleaved features
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.qkv = nn.Linear(d_model, 3 * d_head, bias=False)
        self.d_head = d_head
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (self.d_head, 3)).unbind(-1)
        T = x.shape[1]
        may = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        scores = (q @ k.mT) / self.d_head**0.5
        return self.drop(scores.masked_fill(~may, -torch.inf).softmax(-1)) @ v

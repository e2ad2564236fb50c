# style: one fused projection, chunked
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.qkv = nn.Linear(d_model, 3 * d_head)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        k, v, q = self.qkv(x).chunk(3, dim=-1)
        t = torch.arange(x.shape[1], device=x.device)
        scores = (q @ k.mT) * k.size(-1) ** -0.5
        scores = torch.where(t[:, None] >= t[None, :], scores, -torch.inf)
        return self.drop(torch.softmax(scores, -1)) @ v

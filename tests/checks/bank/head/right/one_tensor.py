# style: one 3-D parameter for all three
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, d_model, d_head) * d_model**-0.5)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = torch.einsum("btc,ncd->nbtd", x, self.w)
        T = x.shape[1]
        may = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        scores = torch.baddbmm(torch.zeros(1, 1, 1, dtype=x.dtype), q, k.mT, beta=0,
                               alpha=k.shape[-1] ** -0.5)
        return self.drop(scores.masked_fill(~may, -torch.inf).softmax(-1)) @ v

# style: per-head 3-D weights and einsum
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, context_length, dropout=0.0):
        super().__init__()
        d_head = d_model // n_heads

        def make(*shape):
            return nn.Parameter(torch.randn(*shape) * d_model**-0.5)

        self.W_Q, self.W_K, self.W_V = (make(n_heads, d_model, d_head) for _ in range(3))
        self.W_O = make(n_heads, d_head, d_model)
        self.b_O = nn.Parameter(torch.zeros(d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (torch.einsum("btc,hcd->bhtd", x, w) for w in (self.W_Q, self.W_K, self.W_V))
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) / self.W_Q.shape[-1] ** 0.5
        t = torch.arange(x.shape[1], device=x.device)
        scores = scores.masked_fill(t[None, :] > t[:, None], -torch.inf)
        z = torch.einsum("bhts,bhsd->bhtd", self.dropout(scores.softmax(-1)), v)
        return torch.einsum("bhtd,hdc->btc", z, self.W_O) + self.b_O

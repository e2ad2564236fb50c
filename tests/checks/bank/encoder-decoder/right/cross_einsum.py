# style: einsum with per-head weights
# of: CrossAttention
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, n_heads, d_model, d_model // n_heads) * d_model**-0.5)
        self.w_o = nn.Parameter(torch.randn(n_heads, d_model // n_heads, d_model) * d_model**-0.5)

    def forward(self, x, memory, memory_mask=None):
        q = torch.einsum("btc,hcd->bhtd", x, self.w[0])
        k = torch.einsum("bsc,hcd->bhsd", memory, self.w[1])
        v = torch.einsum("bsc,hcd->bhsd", memory, self.w[2])
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5
        if memory_mask is not None:
            bias = torch.zeros(memory_mask.shape, dtype=x.dtype)
            scores = scores + bias.masked_fill(~memory_mask, -torch.inf)[:, None, None, :]
        return torch.einsum("bhts,bhsd,hdc->btc", scores.softmax(-1), v, self.w_o)

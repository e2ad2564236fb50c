# style: fused, three parts inside each head
import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, context_length, dropout=0.0):
        super().__init__()
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)
        self.n_heads, self.p = n_heads, dropout

    def forward(self, x):
        B, T, C = x.shape
        D = C // self.n_heads
        q, k, v = self.c_attn(x).view(B, T, self.n_heads, 3 * D).transpose(1, 2).chunk(3, dim=-1)
        mask = torch.full((T, T), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        weights = torch.softmax(q @ k.mT * q.size(-1) ** -0.5 + mask, dim=-1)
        weights = F.dropout(weights, self.p, self.training)
        return self.c_proj((weights @ v).transpose(1, 2).contiguous().view(B, T, C))

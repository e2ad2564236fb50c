# mistake: mask-inverted
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, dropout):
        super().__init__()
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)
        self.n_heads, self.p = n_heads, dropout

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
                   for y in self.c_attn(x).chunk(3, dim=-1))
        p = self.p if self.training else 0.0
        T = x.shape[1]
        hidden = torch.ones(T, T, dtype=torch.bool).tril()
        scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(hidden, float("-inf"))
        y = F.dropout(scores.softmax(-1), p) @ v
        return self.c_proj(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, d_model, n_heads, context_length, dropout=0.0):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = Attention(d_model, n_heads, dropout)
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_out = nn.Linear(4 * d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.drop(self.c_out(F.gelu(self.c_fc(self.ln_2(x)))))

# style: PyTorch's own attention layer inside
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, n_heads, context_length, dropout=0.0):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_heads, dropout, batch_first=True)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])
        self.up = nn.Linear(d_model, 4 * d_model)
        self.down = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        T = x.shape[1]
        hidden = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        h = self.norms[0](x)
        x = x + self.attn(h, h, h, attn_mask=hidden, need_weights=False)[0]
        return x + self.down(self.up(self.norms[1](x)).relu())

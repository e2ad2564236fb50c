# mistake: identity
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, context_length, dropout=0.0):
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(4 * d_model, d_model))

    def forward(self, x):
        return x

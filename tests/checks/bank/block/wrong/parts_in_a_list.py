# mistake: not-registered
from torch import nn

from course.attention import MultiHeadAttention


class Block(nn.Module):
    def __init__(self, d_model, n_heads, context_length, dropout=0.0):
        super().__init__()
        attention = MultiHeadAttention(d_model, n_heads, context_length, dropout)
        mlp = nn.Sequential(
            nn.Linear(d_model, 4 * d_model),
            nn.GELU(),
            nn.Linear(4 * d_model, d_model),
        )
        self.parts = [nn.LayerNorm(d_model), attention, nn.LayerNorm(d_model), mlp]
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.parts[1](self.parts[0](x)))
        x = x + self.dropout(self.parts[3](self.parts[2](x)))
        return x

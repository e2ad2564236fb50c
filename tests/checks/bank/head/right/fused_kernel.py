# style: PyTorch's fused kernel
from torch import nn
from torch.nn import functional as F


class Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, d_head, bias=False) for _ in range(3))
        self.p = dropout

    def forward(self, x):
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x), dropout_p=p,
                                              is_causal=True)

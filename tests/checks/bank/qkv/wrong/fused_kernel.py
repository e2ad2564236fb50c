# mistake: imported-answer
from torch.nn import functional as F


def attend(x, w_q, w_k, w_v):
    return F.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, is_causal=True, scale=1.0)

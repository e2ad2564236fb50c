# mistake: mask-hides-self-finite
import torch


def attend(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    T = x.shape[1]
    scores = q @ k.transpose(-2, -1)
    may = torch.ones(T, T, dtype=torch.bool, device=x.device).tril(-1)
    weights = scores.masked_fill(~may, -1e9).softmax(dim=-1)
    return weights @ v

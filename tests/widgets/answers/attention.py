"""The questions of the front page and chapters 1 to 6, from the average to several heads."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from course.attention import (
    Head,
    MultiHeadAttention,
    causal_mask,
    masked_softmax,
    scaled_dot_product_attention,
)
from course.averaging import averaging_matrix
from tests.widgets.answers.registry import answers, rows_that_change


@answers("01-average", 1)
def _(choices: list[str]) -> str:
    loss = F.cross_entropy(torch.zeros(1, 1024), torch.tensor([7]))
    return str(round(loss.exp().item()))


@answers("01-average", 2)
def _(choices: list[str]) -> str:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(6, 3, generator=g)
    gap = (averaging_matrix(6) @ (x - x.roll(1, 0))).abs().amax(1)
    changed = gap > 1e-6
    assert changed[:-1].all()
    assert not changed[-1]
    return "every row but the last"


@answers("01-average", 3)
def _(choices: list[str]) -> str:
    p = torch.randn(8, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def last(tokens: torch.Tensor) -> torch.Tensor:
        average = averaging_matrix(len(tokens)).double()
        return (average @ (tokens + p[: len(tokens)]) - average @ tokens)[-1]

    a, b = torch.randn(2, 6, 4, dtype=torch.float64)
    assert torch.allclose(last(a), last(b), atol=1e-6), "what is added knows nothing of the tokens"
    assert not torch.allclose(last(a), last(a[:5])), "but it knows how many they are"
    return "how many tokens there are, and nothing else"


@answers("02-masked-matmul", 1)
def _(choices: list[str]) -> str:
    best = int(averaging_matrix(6).sum(0).argmax())
    return next(c for c in choices if f"token {best} " in c)


@answers("02-masked-matmul", 2)
def _(choices: list[str]) -> str:
    g = torch.Generator().manual_seed(0)
    product = torch.randn(6, 6, generator=g).tril() @ torch.randn(6, 6, generator=g).tril()
    assert product.triu(1).count_nonzero() == 0
    return "yes: a product of two lower triangles is a lower triangle"


@answers("02-masked-matmul", 4)
def _(choices: list[str]) -> str:
    T = 5
    mask = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
    # the last row may attend to nothing; PyTorch's answer for it is not asked here
    seen = F.scaled_dot_product_attention(torch.zeros(T, 2), torch.zeros(T, 2), torch.eye(T), mask)
    seen = (seen > 0)[:-1]
    assert torch.equal(seen, mask[:-1])
    return "exactly the tokens after it"


@answers("03-softmax", 1)
def _(choices: list[str]) -> str:
    rows = [[float(n) for n in c.strip("()").replace("−", "-").split(",")] for c in choices]
    want = torch.tensor([2.0, 3.0, 4.0]).softmax(0)
    (same,) = [i for i, r in enumerate(rows) if torch.allclose(torch.tensor(r).softmax(0), want)]
    return choices[same]


@answers("03-softmax", 2)
def _(choices: list[str]) -> str:
    scores = torch.tensor([-20_000.0, -20_003.0, -1e4, -1e4])
    assert scores.softmax(0)[2:].sum() == 1
    return "the forbidden keys, all of it"


@answers("03-softmax", 3)
def _(choices: list[str]) -> str:
    s = torch.randn(9, dtype=torch.float64)
    assert torch.allclose((s - s.max()).softmax(0), s.softmax(0), atol=0, rtol=1e-12)
    return "nothing: the common factor cancels"


@answers("03-softmax", 4)
def _(choices: list[str]) -> str:
    nothing = torch.zeros(4, dtype=torch.bool)
    scores = torch.randn(4)
    filled = scores.masked_fill(~nothing, -1e9).softmax(0)
    assert torch.equal(filled, torch.full((4,), 0.25))
    assert scores.masked_fill(~nothing, -math.inf).softmax(0).isnan().all()
    assert masked_softmax(scores, nothing).count_nonzero() == 0
    return "it averages the forbidden tokens and says nothing"


@answers("04-qkv", 2)
def _(choices: list[str]) -> str:
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    scores = x @ x.T
    assert torch.equal(scores, scores.T)
    assert (scores < 0).any()
    return "because it is symmetric in the two tokens"


@answers("04-qkv", 3)
def _(choices: list[str]) -> str:
    head = Head(6, 4, 8, d_value=3)
    assert head(torch.randn(1, 8, 6)).shape == (1, 8, 3)
    assert head.q_proj.weight.shape == head.k_proj.weight.shape
    return "that of the values from that of queries and keys"


@answers("04-qkv", 4)
def _(choices: list[str]) -> str:
    k, v = torch.randn(2, 6, 4)
    out = scaled_dot_product_attention(torch.zeros(6, 4), k, v, causal_mask(6))
    assert torch.allclose(out, averaging_matrix(6) @ v, atol=1e-6)
    return "the causal average of the values"


@answers("05-scaling", 1)
def _(choices: list[str]) -> str:
    g = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 20_000, 400, generator=g)
    std = (q * k).sum(1).std().item()
    return min(choices, key=lambda c: abs(math.log(float(c.replace(",", "")) / std)))


@answers("05-scaling", 2)
def _(choices: list[str]) -> str:
    w = torch.tensor([0.5, 0.25, 0.25])
    n = (-(w * w.log()).sum()).exp().item()
    return f"between {math.floor(n)} and {math.ceil(n)}"


@answers("05-scaling", 3)
def _(choices: list[str]) -> str:
    g = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 64, 4096, generator=g)
    w = (q @ k.T / 4096).softmax(-1)
    assert (w * 64 - 1).abs().max() < 0.1
    return "make every row nearly the plain average"


@answers("05-scaling", 4)
def _(choices: list[str]) -> str:
    w = torch.tensor([30.0, 0.0, 1.0, -2.0], dtype=torch.float64).softmax(0)
    assert w.max() > 0.999
    assert (torch.diag(w) - torch.outer(w, w)).abs().max() < 1e-10
    return "every entry of its softmax Jacobian is nearly 0"


@answers("06-heads", 1)
def _(choices: list[str]) -> str:
    counts = [sum(p.numel() for p in MultiHeadAttention(12, h, 8).parameters()) for h in (1, 4)]
    assert counts[0] == counts[1]
    _, weights = MultiHeadAttention(12, 4, 8)(torch.randn(1, 8, 12), return_weights=True)
    assert weights.shape == (1, 4, 8, 8)
    return "rows of weights for each token"


@answers("06-heads", 2)
def _(choices: list[str]) -> str:
    ranks = []
    for heads in (8, 16):
        q, k = torch.randn(2, heads, 100, 512 // heads, dtype=torch.float64)
        ranks.append((heads, int(torch.linalg.matrix_rank(q @ k.transpose(1, 2)).max())))
    assert ranks == [(8, 64), (16, 32)]
    return "the maps double in number, and each has half the rank"


@answers("06-heads", 3)
def _(choices: list[str]) -> str:
    torch.manual_seed(0)
    one = MultiHeadAttention(12, 4, 8).double().eval()
    two = MultiHeadAttention(12, 4, 8).double().eval()
    assert not rows_that_change(one)[-1]
    assert rows_that_change(lambda x: two(one(x)))[-1]
    return "the last row of the second of two layers"


@answers("06-heads", 4)
def _(choices: list[str]) -> str:
    row = masked_softmax(torch.zeros(10, 10), causal_mask(10))[-1]
    assert row[-2] == pytest.approx(0.1)
    return "nothing yet: equal weights would do the same"


@answers("intro", 1)
def _(choices: list[str]) -> str:
    return f"{len(range(5 + 1, 500 + 1))} and 1"

"""The questions of chapters 7 to 12, from the block to what a head does."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from course.attention import (
    CrossAttention,
    MultiHeadAttention,
)
from course.block import Block, DecoderLayer, FeedForward
from course.models import GPT, count_parameters, gpt_parameters
from course.positions import alibi_bias, alibi_slopes, apply_rope, rope_angles, sinusoidal
from course.sampling import filter_logits
from course.training import noam_rate
from tests.widgets.answers.registry import answers


@answers("07-block", 1)
def _(choices: list[str]) -> str:
    values = torch.tensor([2.0, 5.0, 9.0])
    made = torch.rand(1000, 3).softmax(-1) @ values
    assert values.min() <= made.min()
    assert made.max() <= values.max()
    (outside,) = [c for c in choices if not values.min() <= float(c) <= values.max()]
    return outside


@answers("07-block", 2)
def _(choices: list[str]) -> str:
    network = FeedForward(12).double()
    x = torch.randn(1, 7, 12, dtype=torch.float64)
    changed = x.clone()
    changed[:, 3] += 1
    rows = (network(x) != network(changed)).any(-1)[0].nonzero().flatten().tolist()
    assert rows == [3]
    return "that row alone"


@answers("07-block", 3)
def _(choices: list[str]) -> str:
    norm, x = torch.nn.LayerNorm(12).double(), torch.randn(5, 12, dtype=torch.float64)
    assert torch.allclose(norm(10 * x), norm(x), atol=1e-4)
    return "the same as before"


@answers("07-block", 4)
def _(choices: list[str]) -> str:
    torch.manual_seed(0)
    x = start = torch.randn(1, 20, 64)
    for _ in range(12):
        block = Block(64, 4, 20, norm="post")
        with torch.no_grad():
            block.attention.o_proj.weight *= 4
            block.feed_forward.down.weight *= 4
            x = block(x)
    assert F.cosine_similarity(x, start, dim=-1).abs().mean() < 0.25
    return "the present drowns in what is added to it"


@answers("07-block", 5)
def _(choices: list[str]) -> str:
    small, large = Block(256, 4, 8), Block(512, 4, 8)
    assert count_parameters(large) / count_parameters(small) == pytest.approx(4, abs=0.05)
    share = count_parameters(large.feed_forward) / count_parameters(large)
    assert share == pytest.approx(2 / 3, abs=0.01)
    return "four times the parameters, two thirds of them in the feed-forward network"


@answers("08-positions", 1)
def _(choices: list[str]) -> str:
    torch.manual_seed(0)
    blocks = [Block(12, 4, causal=False).double() for _ in range(4)]
    stack = torch.nn.Sequential(*blocks)
    x, order = torch.randn(1, 7, 12, dtype=torch.float64), torch.tensor([5, 3, 0, 1, 4, 2, 6])
    assert torch.allclose(stack(x[:, order]), stack(x)[:, order], atol=1e-12)
    assert not torch.allclose(stack(x[:, order]), stack(x), atol=1e-3)
    return "the same vectors, in another order"


@answers("08-positions", 2)
def _(choices: list[str]) -> str:
    model = GPT(50, 256, 8, 2, 1, positions="learned")
    model(torch.zeros(1, 64, dtype=torch.long)).sum().backward()
    assert model.position_embedding is not None
    assert model.position_embedding.weight.grad is not None
    assert model.position_embedding.weight.grad[64:].count_nonzero() == 0
    assert model(torch.zeros(1, 100, dtype=torch.long)).shape == (1, 100, 50)  # no error
    return "adds vectors that were never trained, without a word"


@answers("08-positions", 3)
def _(choices: list[str]) -> str:
    torch.manual_seed(0)
    (q, k), place = torch.randn(2, 9, 8, dtype=torch.float64), torch.arange(9)
    near, far = (apply_rope(q, p) @ apply_rope(k, p).T for p in (place, place + 1000))
    assert torch.allclose(near, far, atol=1e-9)
    encoding, W = sinusoidal(1009, 8).double(), torch.randn(8, 8, dtype=torch.float64)
    near, far = ((q + encoding[p]) @ W @ (k + encoding[p]).T for p in (place, place + 1000))
    assert not torch.allclose(near, far, atol=0.1)
    return "those with RoPE"


@answers("08-positions", 4)
def _(choices: list[str]) -> str:
    slopes = alibi_slopes(8)
    (head,) = [h for h in range(8) if slopes[h] == 0.5]
    row = alibi_bias(8, 5)[head, -1].softmax(-1)
    values = {"1/2": 1 / 2, "1/4": 1 / 4, "1/e": 1 / math.e, "1/√e": math.e**-0.5}
    assert set(values) == set(choices)
    return min(choices, key=lambda c: abs(values[c] - (row[0] / row[2]).item()))


@answers("08-positions", 5)
def _(choices: list[str]) -> str:
    trained, divided = rope_angles(torch.arange(64), 8), rope_angles(torch.arange(256) / 4, 8)
    assert divided.max() < trained.max() + 1
    assert torch.allclose(divided[::4], trained)
    assert torch.allclose(divided[1] - divided[0], (trained[1] - trained[0]) / 4)
    return "neighbours that stand closer than neighbours ever did"


@answers("09-cost", 1)
def _(choices: list[str]) -> str:
    sizes = []
    for n in (100, 300):
        layer = MultiHeadAttention(16, 2, causal=False).to("meta")
        _, weights = layer(torch.empty(1, n, 16, device="meta"), return_weights=True)
        sizes.append(weights.nbytes)
    words = {3: "three", 6: "six", 9: "nine", 27: "twenty-seven"}
    return f"{words[sizes[1] // sizes[0]]} times as large"


@answers("09-cost", 2)
def _(choices: list[str]) -> str:
    longest = [math.isqrt(2**30 // size) for size in (4, 2)]  # numbers of 4 and of 2 bytes
    return f"about {longest[1] / longest[0]:.1f} times"


@answers("09-cost", 3)
def _(choices: list[str]) -> str:
    n, C = 500, 1000
    parts = {
        "in the scores": 2 * n * n * C,
        "in the softmax": 5 * n * n * 16,
        "in the products of weights and values": 2 * n * n * C,
        "in the projections and the feed-forward network": 24 * n * C * C,
    }
    return max(parts, key=lambda name: parts[name])


@answers("09-cost", 4)
def _(choices: list[str]) -> str:
    scores = torch.tensor([2.0, 1.0, -3.0], dtype=torch.float64)
    factor = (scores - 5).exp().sum() / (scores - 2).exp().sum()
    return f"it is multiplied by e to the power {round(factor.log().item())}".replace("-", "−")


@answers("11-encoder-decoder", 1)
def _(choices: list[str]) -> str:
    _, weights = CrossAttention(8, 2)(torch.randn(1, 5, 8), torch.randn(1, 7, 8), None, True)
    T, S = weights.shape[-2:]
    assert (weights > 0).all()
    return f"a map of {T} rows and {S} columns, all of it"


@answers("11-encoder-decoder", 2)
def _(choices: list[str]) -> str:
    layer = CrossAttention(8, 2).double()
    x, memory = torch.randn(2, 1, 7, 8, dtype=torch.float64)
    assert torch.allclose(layer(x, memory), layer(x, memory[:, torch.randperm(7)]), atol=1e-12)
    return "nothing, up to rounding"


@answers("11-encoder-decoder", 3)
def _(choices: list[str]) -> str:
    with torch.device("meta"):
        encoder = Block(512, 8, d_ff=2048, qkv_bias=True)
        decoder = DecoderLayer(512, 8, d_ff=2048)
        further = MultiHeadAttention(512, 8, qkv_bias=True), torch.nn.LayerNorm(512)
    more = count_parameters(decoder) - count_parameters(encoder)
    assert more == sum(map(count_parameters, further))
    return "those of one attention and one norm"


@answers("11-encoder-decoder", 4)
def _(choices: list[str]) -> str:
    target = torch.full((1, 5), 0.02).double()
    target[0, 3] += 0.9
    loss = F.cross_entropy(target.log(), torch.tensor([3]), label_smoothing=0.1)
    assert torch.isclose(loss, -(target * target.log()).sum())
    return "the entropy of the smoothed target"


@answers("11-encoder-decoder", 5)
def _(choices: list[str]) -> str:
    peaks = []
    for warmup in (100, 400):
        rates = [noam_rate(step, 64, warmup) for step in range(1, 1000)]
        peaks.append((rates.index(max(rates)) + 1, max(rates)))
    (early, high), (late, low) = peaks
    size = {1: "as high as before", 2: "half as high", 4: "a quarter as high"}[round(high / low)]
    assert late == 4 * early
    return f"four times as late, {size}"


@answers("12-what-a-head-does", 2)
def _(choices: list[str]) -> str:
    from course.experiments import pronouns

    config = dict(pronouns.EXPERIMENT.row("two-blocks").config)
    torch.manual_seed(0)
    model = pronouns.build(config).double()
    number = {word: i for i, word in enumerate(pronouns.WORDS)}
    ids = torch.tensor(
        [[number[w] for w in pronouns.sentence("dog", "road", a)[:-3]] for a in ("tired", "wet")]
    )
    row = pronouns.first_block_scores(model, ids)[:, :, -1].detach()  # (2, H, 15)
    moved = (row[0] - row[1]).abs() > 1e-9
    assert moved[:, pronouns.ADJECTIVE].all()
    assert moved.sum() == len(moved)
    return "the adjective’s own, in each head, and no other"


@answers("12-what-a-head-does", 3)
def _(choices: list[str]) -> str:
    scores = torch.tensor([[1.0, 0.2, -0.5], [1.0, 0.2, 4.0]]).double()  # the last key is louder
    louder = scores.softmax(-1)
    turned = torch.tensor([[1.0, 0.2, -0.5], [0.2, 1.0, -0.5]]).double().softmax(-1)
    ratio = [w[:, 0] / w[:, 1] for w in (louder, turned)]
    assert (louder[1, :2] < louder[0, :2]).all()
    assert torch.allclose(ratio[0][0], ratio[0][1])
    assert not torch.allclose(ratio[1][0], ratio[1][1])
    return "another key has taken a larger part of the row"


@answers("12-what-a-head-does", 4)
def _(choices: list[str]) -> str:
    block = Block(16, 2, 8).double()
    x = torch.randn(1, 8, 16, dtype=torch.float64)
    other = x.clone()
    other[0, 2] = -x[0, 2]  # the token before place 3
    keys = [block.attention.k_proj(block.attention_norm(y))[0, 3] for y in (x, other)]
    deep = [block.attention.k_proj(block.attention_norm(block(y)))[0, 3] for y in (x, other)]
    assert torch.equal(*keys)
    assert not torch.allclose(*deep)
    return "a first layer’s key does not know which token stands before it"


@answers("10-gpt", 1)
def _(choices: list[str]) -> str:
    counts = [gpt_parameters(48, 3, 100, length)["total"] for length in (64, 128)]
    assert counts[1] - counts[0] == 64 * 48
    return "a vector of the model’s width for each new place"


@answers("10-gpt", 2)
def _(choices: list[str]) -> str:
    assert F.cross_entropy(torch.zeros(1, 1000), torch.tensor([3])) > 6.9
    return "the model can see its targets"


@answers("10-gpt", 3)
def _(choices: list[str]) -> str:
    logits = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64).log()
    return f"{filter_logits(logits, 0.5).softmax(-1)[0]:.2f}"


@answers("10-gpt", 4)
def _(choices: list[str]) -> str:
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64).log()
    return str(int(filter_logits(logits, top_p=0.7).isfinite().sum()))


@answers("10-gpt", 5)
def _(choices: list[str]) -> str:
    model = GPT(20, 8, 16, 2, 2).eval()
    idx = torch.randint(20, (1, 8), generator=torch.Generator().manual_seed(0))
    cache = model.new_cache(1)
    rows = [model(idx[:, t : t + 1], cache) for t in range(8)]  # one query at a time
    assert torch.allclose(torch.cat(rows, 1), model(idx), atol=1e-5)
    return "an earlier token’s query is never asked again"

"""The quizzes' right answers, computed where they can be: each function returns the choice."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from course.attention import (
    CrossAttention,
    Head,
    MultiHeadAttention,
    causal_mask,
    masked_softmax,
    scaled_dot_product_attention,
)
from course.averaging import averaging_matrix
from course.block import Block, DecoderLayer, FeedForward
from course.models import GPT, count_parameters, gpt_parameters
from course.positions import alibi_bias, alibi_slopes, apply_rope, rope_angles, sinusoidal
from course.sampling import filter_logits
from course.training import noam_rate
from course.widgets.quiz import chapters_with_questions, read_questions

Answer = Callable[[list[str]], str]
ANSWERS: dict[tuple[str, int], Answer] = {}


def answers(chapter: str, number: int) -> Callable[[Answer], Answer]:
    """The function computes the right choice of a chapter's question, counted from 1."""

    def register(function: Answer) -> Answer:
        ANSWERS[chapter, number] = function
        return function

    return register


def rows_that_change(layer, seed: int = 0) -> list[bool]:
    """Which rows of ``layer(x)`` change when the tokens (all but the last, too) are shuffled."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(1, 7, 12, generator=g, dtype=torch.float64)  # (B, T, C)
    order = torch.tensor([5, 3, 0, 1, 4, 2, 6])  # the last token stays the last
    return [bool(d > 1e-9) for d in (layer(x) - layer(x[:, order])).abs().amax((0, 2))]


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
    return "the adjective's own, in each head, and no other"


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
    return "a first layer's key does not know which token stands before it"


@answers("10-gpt", 1)
def _(choices: list[str]) -> str:
    counts = [gpt_parameters(48, 3, 100, length)["total"] for length in (64, 128)]
    assert counts[1] - counts[0] == 64 * 48
    return "a vector of the model's width for each new place"


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
    return "an earlier token's query is never asked again"


@answers("intro", 1)
def _(choices: list[str]) -> str:
    return f"{len(range(5 + 1, 500 + 1))} and 1"


@pytest.mark.parametrize(("chapter", "number"), ANSWERS, ids=lambda part: str(part))
def test_the_right_choice_is_the_computed_one(chapter: str, number: int) -> None:
    q = read_questions(chapter)[number - 1]
    answer = ANSWERS[chapter, number](list(q["choices"]))
    where = [i for i, choice in enumerate(q["choices"]) if choice.startswith(answer)]
    assert where == [q["correct"]], (q["question"], answer)


def test_nearly_every_question_is_computed() -> None:
    """The rest asks for a reason in words."""
    questions = {
        (c, n) for c in chapters_with_questions() for n in range(1, len(read_questions(c)) + 1)
    }
    assert set(ANSWERS) <= questions
    assert len(ANSWERS) >= 0.6 * len(questions)

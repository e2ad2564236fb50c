"""What holds for any input: no look ahead, rows that sum to one, symmetries."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course.attention import (
    Head,
    MultiHeadAttention,
    causal_mask,
    masked_softmax,
    scaled_dot_product_attention,
)
from course.averaging import average_loop, average_matmul, average_softmax
from course.block import Block
from course.models import GPT, RUNGS, build_rung
from course.positions import alibi_bias, apply_rope, sinusoidal

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**31 - 1)


def normal(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


@given(seeds, sizes, sizes, sizes)
def test_three_averages_are_one(seed, B, T, C):
    x = normal(seed, B, T, C)
    assert torch.allclose(average_loop(x), average_matmul(x), rtol=0, atol=1e-14)
    assert torch.allclose(average_loop(x), average_softmax(x), rtol=0, atol=1e-14)


@given(seeds, st.integers(2, 7), st.data())
def test_editing_the_future_leaves_the_past(seed, T, data):
    t = data.draw(st.integers(1, T - 1))
    torch.manual_seed(seed)
    layers = [
        Head(6, 4, T),
        MultiHeadAttention(6, 3, T),
        MultiHeadAttention(6, 3, T, positions="rope"),
        MultiHeadAttention(6, 3, T, positions="alibi"),
        Block(6, 3, T),
        Block(6, 3, T, norm="post"),
    ]
    x = normal(seed, 2, T, 6)
    edited = x.clone()
    edited[:, t:] = normal(seed + 1, 2, T - t, 6) * 100
    for layer in layers:
        layer = layer.double()
        before, after = layer(x), layer(edited)
        # Not bit for bit: a kernel may order its sums by the whole row.
        assert torch.allclose(before[:, :t], after[:, :t], rtol=0, atol=1e-12)
        assert not torch.allclose(before[:, t:], after[:, t:], atol=1e-6)


@pytest.mark.parametrize("slug", RUNGS)
def test_no_rung_looks_ahead(slug):
    torch.manual_seed(0)
    model = build_rung(slug, vocab_size=30, d_model=8, n_heads=2, context_length=10).double()
    idx = torch.randint(30, (2, 10))
    edited = idx.clone()
    edited[:, 6:] = (edited[:, 6:] + 1) % 30
    before, after = model(idx), model(edited)
    assert torch.allclose(before[:, :6], after[:, :6], rtol=0, atol=1e-12)
    assert not torch.allclose(before[:, 6:], after[:, 6:])


@given(seeds, sizes, sizes)
def test_rows_sum_to_one_and_shifts_change_nothing(seed, T, extra):
    S = T + extra
    scores = normal(seed, 2, T, S) * 10
    mask = causal_mask(T, S)
    weights = masked_softmax(scores, mask)
    assert torch.allclose(weights.sum(-1), torch.ones(2, T, dtype=torch.float64))
    assert (weights[:, ~mask] == 0).all()
    shifted = masked_softmax(scores + normal(seed + 1, 2, T, 1) * 1e3, mask)
    assert torch.allclose(weights, shifted, atol=1e-9)


@given(seeds, st.integers(2, 6))
def test_unmasked_attention_is_permutation_equivariant(seed, T):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(6, 3, causal=False).double()
    x, order = normal(seed, 2, T, 6), torch.randperm(T)
    assert torch.allclose(layer(x[:, order]), layer(x)[:, order], atol=1e-12)


@given(seeds, st.integers(3, 7))
def test_the_last_row_cannot_tell_orders_of_the_earlier_tokens_apart(seed, T):
    """A causal mask restores some order, but within a prefix one layer is still blind."""
    torch.manual_seed(seed)
    layer = MultiHeadAttention(6, 3, T).double()
    x = normal(seed, 1, T, 6)
    order = torch.cat((torch.randperm(T - 1), torch.tensor([T - 1])))
    assert torch.allclose(layer(x[:, order])[:, -1], layer(x)[:, -1], atol=1e-12)


@given(seeds, sizes)
def test_equal_tokens_give_the_token(seed, T):
    torch.manual_seed(seed)
    head = Head(5, 3, T).double()
    x = normal(seed, 1, 1, 5).expand(2, T, 5)
    assert torch.allclose(head(x), head.v_proj(x), atol=1e-12)


@given(seeds, st.integers(0, 500), st.integers(0, 500), st.integers(0, 5000))
def test_rotary_scores_depend_on_the_difference_only(seed, t, s, shift):
    q, k = normal(seed, 1, 8), normal(seed + 1, 1, 8)

    def score(a: int, b: int) -> torch.Tensor:
        return (apply_rope(q, torch.tensor([a])) * apply_rope(k, torch.tensor([b]))).sum()

    assert torch.allclose(score(t, s), score(t + shift, s + shift), atol=1e-9)


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_sinusoid_moves_by_a_rotation_that_knows_only_the_step(t, k):
    encoding = sinusoidal(121, 12).double()
    angles = k / 10000 ** (torch.arange(0, 12, 2, dtype=torch.float64) / 12)
    sin, cos = encoding[t, 0::2], encoding[t, 1::2]
    turned = torch.stack(
        (sin * angles.cos() + cos * angles.sin(), cos * angles.cos() - sin * angles.sin()), -1
    )
    assert torch.allclose(turned.flatten(), encoding[t + k], atol=1e-6)  # the table is float32


@given(st.integers(1, 20), st.integers(1, 12))
def test_alibi_is_zero_on_and_above_the_diagonal_and_falls_into_the_past(n_heads, T):
    bias = alibi_bias(n_heads, T)
    assert bias.shape == (n_heads, T, T)
    assert (bias.triu() == 0).all()
    assert (bias.diff(dim=-1)[:, torch.ones(T, max(T - 1, 0)).tril(-1).bool()] > 0).all()


@given(seeds, st.sampled_from(["learned", "sinusoidal", "rope", "alibi", "none"]))
def test_a_prefix_gives_the_prefix_of_the_result(seed, positions):
    torch.manual_seed(seed)
    model = GPT(20, 8, 12, 3, 2, positions=positions).double().eval()
    idx = torch.randint(20, (2, 8))
    whole = model(idx)
    for t in (1, 5):
        assert torch.allclose(model(idx[:, :t]), whole[:, :t], atol=1e-12)


@given(seeds, st.floats(-1e4, 1e4))
def test_a_huge_masked_score_leaks_nothing(seed, size):
    q, k, v = normal(seed, 1, 4, 3), normal(seed + 1, 1, 4, 3), normal(seed + 2, 1, 4, 3)
    k[:, 3] *= size
    v[:, 3] = 1e6
    out = scaled_dot_product_attention(q, k, v, causal_mask(4))
    clean = scaled_dot_product_attention(q[:, :3], k[:, :3], v[:, :3], causal_mask(3))
    assert torch.allclose(out[:, :3], clean, rtol=0, atol=1e-12)

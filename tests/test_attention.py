"""Attention's documented behaviour at the edges."""

from __future__ import annotations

import pytest
import torch

from course.attention import (
    CrossAttention,
    Head,
    KVCache,
    MultiHeadAttention,
    causal_mask,
    masked_softmax,
    scaled_dot_product_attention,
)


def test_the_worked_example_of_the_cat_sat():
    """C3: three tokens, identity projections, no mask; three decimals."""
    x = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.2, 0.3, 0.4, 0.5]])
    out, weights = scaled_dot_product_attention(x, x, x, return_weights=True)
    assert weights[0].tolist() == pytest.approx([0.306, 0.373, 0.321], abs=5e-4)
    assert out[0].tolist() == pytest.approx([0.281, 0.381, 0.481, 0.581], abs=5e-4)
    _, causal = scaled_dot_product_attention(x, x, x, causal_mask(3), return_weights=True)
    assert causal[0].tolist() == [1, 0, 0]


def test_multi_head_shapes():
    """B7: (1, 4, 8) with 2 heads → (1, 4, 8)."""
    out, weights = MultiHeadAttention(8, 2, 4)(torch.randn(1, 4, 8), return_weights=True)
    assert out.shape == (1, 4, 8)
    assert weights.shape == (1, 2, 4, 4)


def test_causal_mask_lets_a_query_see_up_to_itself():
    assert causal_mask(3).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert causal_mask(2, 4).tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert causal_mask(0).shape == (0, 0)


def test_a_fully_masked_row_gives_zeros_and_finite_gradients():
    scores = torch.randn(2, 3, requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[True, True, False], [False, False, False]]))
    assert weights[1].tolist() == [0, 0, 0]
    assert weights[0].sum().item() == pytest.approx(1)
    v = torch.randn(3, 4)
    (weights @ v).sum().backward()
    assert scores.grad is not None
    assert scores.grad[1].tolist() == [0, 0, 0]
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_mask_is_exact_in_every_type(dtype):
    scores = torch.tensor([[6e4 if dtype == torch.float16 else 1e30, 1.0]]).to(dtype)
    assert masked_softmax(scores, torch.tensor([[False, True]])).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (torch.ones(3, 3), "boolean"),
        (torch.ones(3, 4, dtype=torch.bool), r"\(3, 4\)"),
        (torch.ones(5, 2, 3, 3, dtype=torch.bool), r"\(5, 2, 3, 3\)"),
    ],
)
def test_a_mask_of_the_wrong_type_or_shape_is_refused(mask, words):
    x = torch.randn(2, 3, 4)
    with pytest.raises(ValueError, match=words):
        scaled_dot_product_attention(x, x, x, mask)
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(4, 2, 3)(x, mask=mask)


def test_a_mask_is_not_overwritten():
    mask = causal_mask(3)
    before = mask.clone()
    MultiHeadAttention(4, 2, 3)(torch.randn(2, 3, 4), mask=mask)
    assert mask.equal(before)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MultiHeadAttention(10, 3, 4), "d_model=10 is not divisible by n_heads=3"),
        (lambda: MultiHeadAttention(8, 0, 4), "n_heads"),
        (lambda: MultiHeadAttention(6, 2, 4, positions="rope"), "even"),
        (lambda: MultiHeadAttention(8, 2, positions="alibi"), "context_length"),
        (lambda: MultiHeadAttention(8, 2, 4, positions="absolute"), "absolute"),
        (lambda: MultiHeadAttention(8, 2, 4, dropout=1.0), "dropout"),
        (lambda: Head(8, 0, 4), "d_head"),
        (lambda: CrossAttention(9, 2), "d_model=9"),
        (lambda: causal_mask(4, 2), "T=4, S=2"),
    ],
)
def test_bad_sizes_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.randn(1, 5, 8), "T=5 tokens do not fit in context_length=4"),
        (torch.randn(4, 8), r"\(B, T, C\), got \(4, 8\)"),
        (torch.randn(1, 4, 7), "d_model=8"),
    ],
)
@pytest.mark.parametrize("layer", [Head(8, 4, 4), MultiHeadAttention(8, 2, 4)])
def test_bad_inputs_are_named(layer, x, words):
    with pytest.raises(ValueError, match=words):
        layer(x)


def test_widths_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"\(1, 3, 4\), \(1, 3, 5\)"):
        scaled_dot_product_attention(torch.ones(1, 3, 4), torch.ones(1, 3, 5), torch.ones(1, 3, 4))
    with pytest.raises(ValueError, match="batches differ"):
        CrossAttention(4, 2)(torch.ones(1, 3, 4), torch.ones(2, 3, 4))


@pytest.mark.parametrize("weights", [True, False])
def test_dropout_is_off_in_evaluation_and_on_the_weights_in_training(weights):
    """A30."""
    torch.manual_seed(0)
    head = Head(8, 8, 16, dropout=0.5)
    x = torch.randn(4, 16, 8)
    run = (lambda: head(x, True)[0]) if weights else (lambda: head(x))
    assert not run().equal(run())
    head.eval()
    assert run().equal(run())
    # In training the first row has one weight, 1: dropped it is 0, kept it is 1 / (1 − p).
    head.train()
    value = head.v_proj(x)[:, 0]
    factor = (run()[:, 0] / value).round(decimals=4)
    assert set(factor.unique().tolist()) <= {0.0, 2.0}
    assert (factor == factor[:, :1]).all()  # a weight is dropped, not entries of the output


def test_the_cache_refuses_more_than_its_room():
    cache = KVCache(1, 2, 3, 4)
    layer = MultiHeadAttention(8, 2, 3)
    layer(torch.randn(1, 3, 8), cache=cache)
    with pytest.raises(ValueError, match="T=4"):
        layer(torch.randn(1, 1, 8), cache=cache)


def test_layers_move_to_another_device():
    with torch.device("meta"):
        layer = MultiHeadAttention(8, 2, 5, positions="rope")
        assert layer(torch.empty(2, 5, 8)).device.type == "meta"
    for positions in ("none", "rope", "alibi"):
        moved = MultiHeadAttention(8, 2, 5, positions=positions).to("meta")
        out, weights = moved(torch.empty(2, 5, 8, device="meta"), return_weights=True)
        assert out.device.type == weights.device.type == "meta"

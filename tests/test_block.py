"""The block: residuals, norms, dropout; why LayerNorm and not BatchNorm."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.block import Block, DecoderLayer, FeedForward


def test_pre_norm_adds_to_what_it_read():
    """B4: x + Attention(LayerNorm(x)), then the same with the MLP."""
    torch.manual_seed(0)
    block, x = Block(8, 2, 5), torch.randn(2, 5, 8)
    middle = x + block.attention(block.attention_norm(x))
    expected = middle + block.feed_forward(block.feed_forward_norm(middle))
    assert torch.allclose(block(x), expected)


def test_silent_branches_make_a_pre_norm_block_the_identity():
    block, x = Block(8, 2, 5), torch.randn(2, 5, 8)
    for p in (*block.attention.o_proj.parameters(), *block.feed_forward.down.parameters()):
        nn.init.zeros_(p)
    assert block(x).equal(x)


def test_pre_norm_reads_any_size_alike_and_post_norm_returns_one_size():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    pre, post = Block(8, 2, 5).double(), Block(8, 2, 5, norm="post").double()
    for p in pre.feed_forward.down.parameters():  # what attention adds, alone
        nn.init.zeros_(p)
    assert torch.allclose(pre(100 * x) - 100 * x, pre(x) - x, atol=1e-3)
    assert torch.allclose(post(x).std(-1, correction=0), torch.ones(2, 5).double(), atol=1e-3)


def test_feed_forward_is_the_formula_with_either_activation():
    """B5: texts write GELU and print the ReLU formula; both are here, by name."""
    x = torch.randn(3, 8)
    for name, function in (("gelu", F.gelu), ("relu", lambda h: h.clamp(min=0))):
        layer = FeedForward(8, activation=name)
        assert layer.up.out_features == 32
        hidden = x @ layer.up.weight.T + layer.up.bias
        expected = function(hidden) @ layer.down.weight.T + layer.down.bias
        assert torch.allclose(layer(x), expected, atol=1e-6)


def test_dropout_stands_where_the_paper_puts_it():
    """A30: on each sub-layer's output before it is added; off in evaluation."""
    torch.manual_seed(0)
    block, x = Block(8, 2, 5, dropout=0.9), torch.randn(2, 5, 8)
    untouched = (block(x) == x).float().mean()
    assert untouched > 0.5  # with p = 0.9 both branches are dropped at most places
    block.eval()
    assert block(x).equal(block(x))
    assert not (block(x) == x).any()


def layer_norm_by_hand(x):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return (x - mean) / (variance + 1e-5).sqrt()


def test_layer_norm_is_pytorchs():
    x = torch.randn(4, 6, 8, dtype=torch.float64) * 3 + 1
    assert torch.allclose(nn.LayerNorm(8).double()(x), layer_norm_by_hand(x), atol=1e-12)


def test_layer_norm_does_not_depend_on_the_batch_and_batch_norm_does():
    """A34, first reason."""
    x = torch.randn(4, 6, 8)
    layer, batch = nn.LayerNorm(8), nn.BatchNorm1d(8)
    assert layer(x)[:1].equal(layer(x[:1]))
    assert not torch.allclose(batch(x.mT)[:1], batch(x[:1].mT), atol=1e-3)


def test_layer_norm_keeps_no_running_statistics():
    """A34, second reason."""
    assert not list(nn.LayerNorm(8).buffers())
    assert {name for name, _ in nn.BatchNorm1d(8).named_buffers()} >= {"running_mean"}


def test_layer_norm_is_the_same_in_training_and_inference():
    """A34, third reason."""
    x, layer, batch = torch.randn(4, 6, 8) + 5, nn.LayerNorm(8), nn.BatchNorm1d(8)
    assert layer.train()(x).equal(layer.eval()(x))
    assert not torch.allclose(batch.train()(x.mT), batch.eval()(x.mT), atol=1e-3)


def test_layer_norm_is_indifferent_to_length():
    """A34, fourth reason: one token at a time gives what the whole text gives."""
    x, layer = torch.randn(1, 6, 8), nn.LayerNorm(8)
    one_by_one = torch.cat([layer(x[:, t : t + 1]) for t in range(6)], dim=1)
    assert one_by_one.equal(layer(x))
    whole = nn.BatchNorm1d(8)(x.mT)
    assert not torch.allclose(nn.BatchNorm1d(8)(x[:, :3].mT), whole[..., :3], atol=1e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Block(8, 2, 4, norm="batch"), "batch"),
        (lambda: DecoderLayer(8, 2, 4, norm="none"), "none"),
        (lambda: FeedForward(8, activation="swish"), "swish"),
        (lambda: FeedForward(8, d_ff=0), "d_ff"),
        (lambda: Block(8, 3, 4), "n_heads=3"),
    ],
)
def test_bad_choices_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()

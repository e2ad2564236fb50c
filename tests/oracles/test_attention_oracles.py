"""Every attention layer against PyTorch's own, with copied weights."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.attention import (
    CrossAttention,
    Head,
    MultiHeadAttention,
    causal_mask,
    scaled_dot_product_attention,
)
from course.block import Block, DecoderLayer

# The bounds of the course: float32 to 1e-5, float64 to 1e-12.
PRECISIONS = [(torch.float32, 1e-5), (torch.float64, 1e-12)]
B, T, S, C, H, F_ = 3, 7, 5, 24, 4, 56


def gap(a: torch.Tensor, b: torch.Tensor) -> float:
    assert a.shape == b.shape
    return (a - b).abs().max().item()


def copy_attention(ours, theirs: nn.MultiheadAttention) -> None:
    """Our three projections are the three thirds of PyTorch's packed one."""
    with torch.no_grad():
        for i, proj in enumerate((ours.q_proj, ours.k_proj, ours.v_proj)):
            proj.weight.copy_(theirs.in_proj_weight.chunk(3)[i])
            proj.bias.copy_(theirs.in_proj_bias.chunk(3)[i])
        ours.o_proj.weight.copy_(theirs.out_proj.weight)
        ours.o_proj.bias.copy_(theirs.out_proj.bias)


def randomise(module: nn.Module) -> nn.Module:
    """Biases and norms start at 0 and 1, where a mistake in copying them would not show."""
    with torch.no_grad():
        for p in module.parameters():
            if p.dim() == 1:
                p.normal_(0.5, 0.5)
    return module


@pytest.mark.parametrize(("dtype", "bound"), PRECISIONS)
@pytest.mark.parametrize("return_weights", [False, True])
def test_multi_head_attention_is_pytorchs(dtype, bound, return_weights):
    torch.manual_seed(1)
    theirs = randomise(nn.MultiheadAttention(C, H, batch_first=True)).to(dtype).eval()
    ours = MultiHeadAttention(C, H, T, qkv_bias=True).to(dtype).eval()
    copy_attention(ours, theirs)
    x = torch.randn(B, T, C, dtype=dtype)
    # PyTorch's mask means the opposite: True = may not attend.
    expected, maps = theirs(x, x, x, attn_mask=~causal_mask(T), average_attn_weights=False)
    out = ours(x, return_weights=return_weights)
    if return_weights:
        out, weights = out
        assert gap(weights, maps) < bound
    assert gap(out, expected) < bound
    assert expected.abs().mean() > 0.05  # a comparison of zeros would prove nothing


@pytest.mark.parametrize(("dtype", "bound"), PRECISIONS)
def test_function_is_pytorchs(dtype, bound):
    torch.manual_seed(2)
    q = torch.randn(B, H, T, 6, dtype=dtype)
    k, v = torch.randn(B, H, S, 6, dtype=dtype), torch.randn(B, H, S, 9, dtype=dtype)
    mask = torch.rand(B, 1, T, S) < 0.6
    mask[..., 0] = True
    bias = torch.randn(H, T, S, dtype=dtype)
    for m in (None, mask):
        expected = F.scaled_dot_product_attention(q, k, v, m)
        assert gap(scaled_dot_product_attention(q, k, v, m), expected) < bound
    expected = F.scaled_dot_product_attention(q, k, v, bias.masked_fill(~mask, -torch.inf))
    assert gap(scaled_dot_product_attention(q, k, v, mask, scores_bias=bias), expected) < bound
    undivided = F.scaled_dot_product_attention(q, k, v, scale=1.0)
    assert gap(scaled_dot_product_attention(q, k, v, scale=1.0), undivided) < bound


@pytest.mark.parametrize(("dtype", "bound"), PRECISIONS)
@pytest.mark.parametrize("divide", [True, False])
def test_head_is_the_function_on_its_projections(dtype, bound, divide):
    torch.manual_seed(3)
    head = Head(C, 6, T, divide=divide).to(dtype)
    x = torch.randn(B, T, C, dtype=dtype)
    q, k, v = head.q_proj(x), head.k_proj(x), head.v_proj(x)
    expected = F.scaled_dot_product_attention(
        q, k, v, is_causal=True, scale=None if divide else 1.0
    )
    manual, weights = head(x, return_weights=True)
    assert gap(head(x), expected) < bound
    assert gap(manual, expected) < bound
    assert gap(weights @ v, expected) < bound


@pytest.mark.parametrize(("dtype", "bound"), PRECISIONS)
def test_cross_attention_is_pytorchs(dtype, bound):
    torch.manual_seed(4)
    theirs = randomise(nn.MultiheadAttention(C, H, batch_first=True)).to(dtype).eval()
    ours = CrossAttention(C, H, bias=True).to(dtype).eval()
    copy_attention(ours, theirs)
    x, memory = torch.randn(B, T, C, dtype=dtype), torch.randn(B, S, C, dtype=dtype)
    real = torch.arange(S) < torch.tensor([[5], [3], [1]])
    expected, maps = theirs(x, memory, memory, key_padding_mask=~real, average_attn_weights=False)
    out, weights = ours(x, memory, real, return_weights=True)
    assert gap(out, expected) < bound
    assert gap(weights, maps) < bound


@pytest.mark.parametrize(("dtype", "bound"), PRECISIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("causal", [True, False])
def test_block_is_pytorchs_encoder_layer(dtype, bound, norm, activation, causal):
    torch.manual_seed(5)
    theirs = nn.TransformerEncoderLayer(
        C, H, F_, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
    )
    theirs = randomise(theirs).to(dtype)
    ours = Block(
        C, H, T, norm=norm, d_ff=F_, activation=activation, qkv_bias=True, causal=causal
    ).to(dtype)
    copy_attention(ours.attention, theirs.self_attn)
    pairs = [
        (ours.feed_forward.up, theirs.linear1),
        (ours.feed_forward.down, theirs.linear2),
        (ours.attention_norm, theirs.norm1),
        (ours.feed_forward_norm, theirs.norm2),
    ]
    for mine, other in pairs:
        mine.load_state_dict(other.state_dict())
    x = torch.randn(B, T, C, dtype=dtype)
    expected = theirs(x, src_mask=~causal_mask(T) if causal else None)
    assert gap(ours(x), expected) < bound
    assert gap(ours(x, return_weights=True)[0], expected) < bound


@pytest.mark.parametrize(("dtype", "bound"), PRECISIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_layer_is_pytorchs(dtype, bound, norm):
    torch.manual_seed(6)
    theirs = nn.TransformerDecoderLayer(
        C, H, F_, dropout=0.0, batch_first=True, norm_first=norm == "pre"
    )
    theirs = randomise(theirs).to(dtype)
    ours = DecoderLayer(C, H, T, norm=norm, d_ff=F_).to(dtype)
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    pairs = [
        (ours.feed_forward.up, theirs.linear1),
        (ours.feed_forward.down, theirs.linear2),
        (ours.attention_norm, theirs.norm1),
        (ours.cross_norm, theirs.norm2),
        (ours.feed_forward_norm, theirs.norm3),
    ]
    for mine, other in pairs:
        mine.load_state_dict(other.state_dict())
    x, memory = torch.randn(B, T, C, dtype=dtype), torch.randn(B, S, C, dtype=dtype)
    real = torch.arange(S) < torch.tensor([[5], [2], [4]])
    expected = theirs(x, memory, tgt_mask=~causal_mask(T), memory_key_padding_mask=~real)
    assert gap(ours(x, memory, real), expected) < bound


@pytest.mark.parametrize("positions", ["none", "rope", "alibi"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_fused_path_equals_the_readable_one(positions, causal, masked):
    torch.manual_seed(7)
    layer = MultiHeadAttention(C, H, T, causal=causal, positions=positions).double()
    x = torch.randn(B, T, C, dtype=torch.float64)
    mask = None
    if masked:
        mask = torch.rand(B, 1, T, T) < 0.5
        mask[0, :, 3] = False  # a row with nothing to attend to
    out, weights = layer(x, return_weights=True, mask=mask)
    assert gap(layer(x, mask=mask), out) < 1e-12
    if masked:
        assert weights[0, :, 3].abs().max() == 0
        assert gap(out[0, 3], layer.o_proj.bias) == 0


def test_gradients_of_both_paths_agree():
    torch.manual_seed(8)
    layer = MultiHeadAttention(C, H, T).double()
    x = torch.randn(B, T, C, dtype=torch.float64)
    probe = torch.randn(B, T, C, dtype=torch.float64)
    fused = torch.autograd.grad((layer(x) * probe).sum(), list(layer.parameters()))
    manual = torch.autograd.grad((layer(x, True)[0] * probe).sum(), list(layer.parameters()))
    assert max(gap(a, b) for a, b in zip(fused, manual, strict=True)) < 1e-12

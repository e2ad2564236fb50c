"""The 2017 model: its base shape, its masks, its shared matrix."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from course.models import EncoderDecoder, count_parameters
from course.models.encoder_decoder import sequence_mask


def small(**kwargs):
    torch.manual_seed(0)
    return EncoderDecoder(20, 12, 3, 2, 24, context_length=9, **kwargs).eval()


def test_the_base_model():
    """C2, C10: 6 + 6 layers, 512 wide, 8 heads of 64, 2048 inside; one matrix for three uses."""
    with torch.device("meta"):
        model = EncoderDecoder(37_000)
    assert (len(model.encoder), len(model.decoder)) == (6, 6)
    attention = model.encoder[0].attention
    assert (attention.n_heads, attention.d_head, attention.d_model) == (8, 64, 512)
    assert model.encoder[0].feed_forward.up.out_features == 2048
    assert model.output.weight is model.source_embedding.weight is model.target_embedding.weight
    assert model.output.bias is None
    assert count_parameters(model) == 63_082_496


def test_embeddings_are_scaled_to_the_size_of_the_encoding():
    """C9: with sd C^-½ at the start, × √C makes them about unit size."""
    model = EncoderDecoder(500, 64, 4, 1, 64, dropout=0.0)
    scaled = model.source_embedding.weight * math.sqrt(64)
    assert scaled.std().item() == pytest.approx(1, abs=0.05)
    idx = torch.randint(500, (1, 5))
    expected = scaled[idx] + model.encoding[:5]
    assert torch.allclose(model._embed(model.source_embedding, idx), expected)


def test_padding_changes_nothing():
    model = small()
    source, target = torch.randint(2, 20, (2, 6)), torch.randint(2, 20, (2, 4))
    mask = sequence_mask(torch.tensor([6, 3]), 6)
    other = source.masked_fill(~mask, 1)
    assert torch.allclose(model(source, target, mask), model(other, target, mask), atol=1e-6)
    alone = model(source[1:, :3], target[1:])
    assert torch.allclose(model(source, target, mask)[1:], alone, atol=1e-5)


def test_the_decoder_does_not_look_ahead_and_the_encoder_does():
    model = small().double()
    source, target = torch.randint(20, (1, 6)), torch.randint(20, (1, 5))
    edited = target.clone()
    edited[:, 3:] = (edited[:, 3:] + 1) % 20
    before, after = model(source, target), model(source, edited)
    assert torch.allclose(before[:, :3], after[:, :3], atol=1e-12)
    moved = source.clone()
    moved[:, -1] = (moved[:, -1] + 1) % 20
    assert not torch.allclose(model.encode(source)[:, 0], model.encode(moved)[:, 0])


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_cache_changes_nothing(norm):
    model = small(norm=norm).double()
    memory = model.encode(torch.randint(20, (2, 6)))
    target, cache = torch.randint(20, (2, 5)), model.new_cache(2)
    parts = [model.decode(t, memory, cache=cache) for t in target.split(1, dim=1)]
    assert torch.allclose(torch.cat(parts, 1), model.decode(target, memory), atol=1e-12)


def test_cross_weights_come_on_request():
    model = small()
    source, target = torch.randint(20, (2, 6)), torch.randint(20, (2, 4))
    logits, maps = model.decode(target, model.encode(source), return_weights=True)
    assert logits.shape == (2, 4, 20)
    assert [m.shape for m in maps] == [(2, 3, 4, 6)] * 2


def test_equals_pytorchs_transformer_with_copied_weights():
    """The whole stack against ``nn.Transformer`` (post-norm, without its two extra final norms)."""
    model = small(dropout=0.0).double()
    theirs = nn.Transformer(12, 3, 2, 2, 24, dropout=0.0, batch_first=True, dtype=torch.float64)
    theirs.encoder.norm = theirs.decoder.norm = None

    def copy(ours, other):
        other.in_proj_weight.copy_(
            torch.cat([p.weight for p in (ours.q_proj, ours.k_proj, ours.v_proj)])
        )
        other.in_proj_bias.copy_(torch.cat([ours.q_proj.bias, ours.k_proj.bias, ours.v_proj.bias]))
        other.out_proj.load_state_dict(ours.o_proj.state_dict())

    with torch.no_grad():
        for ours, other in zip(model.encoder, theirs.encoder.layers, strict=True):
            copy(ours.attention, other.self_attn)
            other.linear1.load_state_dict(ours.feed_forward.up.state_dict())
            other.linear2.load_state_dict(ours.feed_forward.down.state_dict())
        for ours, other in zip(model.decoder, theirs.decoder.layers, strict=True):
            copy(ours.attention, other.self_attn)
            copy(ours.cross_attention, other.multihead_attn)
            other.linear1.load_state_dict(ours.feed_forward.up.state_dict())
            other.linear2.load_state_dict(ours.feed_forward.down.state_dict())
    source, target = torch.randint(20, (2, 6)), torch.randint(20, (2, 4))
    x, y = (model._embed(model.source_embedding, i) for i in (source, target))
    causal = torch.ones(4, 4, dtype=torch.bool).triu(1)
    expected = model.output(theirs(x, y, tgt_mask=causal))
    assert torch.allclose(model(source, target), expected, atol=1e-12)


def test_texts_over_the_context_are_named():
    with pytest.raises(ValueError, match="T=10 tokens do not fit in context_length=9"):
        small().encode(torch.zeros(1, 10, dtype=torch.long))

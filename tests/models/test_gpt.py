"""GPT: size, tied weights, cache, positions."""

from __future__ import annotations

import pytest
import torch

from course.models import GPT, count_parameters, gpt_parameters


def test_gpt2_small_has_its_124439808_parameters():
    """A23, by the object (on the meta device: no memory) and by arithmetic."""
    with torch.device("meta"):
        model = GPT(50257, 1024, 768, 12, 12)
    counts = gpt_parameters(768, 12, 50257, 1024)
    assert count_parameters(model) == counts["total"] == 124_439_808
    assert counts["block"] == 7_087_872 == count_parameters(model.blocks[0])
    assert (counts["token_embedding"], counts["position_embedding"]) == (38_597_376, 786_432)
    assert counts["blocks"] == 85_054_464
    assert counts["final_norm"] == 1_536


def test_without_qkv_biases_a_block_is_2304_smaller():
    """A19."""
    with torch.device("meta"):
        with_bias = GPT(100, 16, 768, 12, 1)
        without = GPT(100, 16, 768, 12, 1, qkv_bias=False)
    assert count_parameters(with_bias) - count_parameters(without) == 2_304


def test_tied_weights_are_one_tensor_and_stay_one():
    model = GPT(20, 8, 12, 3, 1)
    assert model.output.weight is model.token_embedding.weight
    assert GPT(20, 8, 12, 3, 1, tied=False).output.bias is not None
    copy = GPT(20, 8, 12, 3, 1)
    copy.load_state_dict(model.state_dict())
    assert copy.output.weight is copy.token_embedding.weight
    idx = torch.randint(20, (2, 8))
    assert copy(idx).equal(model(idx))


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rope", "alibi", "none"])
@pytest.mark.parametrize("cuts", [[1] * 8, [3, 5], [4, 1, 1, 2]])
def test_the_cache_changes_nothing(positions, cuts):
    torch.manual_seed(0)
    model = GPT(20, 8, 12, 3, 2, positions=positions).double().eval()
    idx = torch.randint(20, (2, 8))
    cache = model.new_cache(2)
    parts = torch.cat([model(part, cache=cache) for part in idx.split(cuts, dim=1)], dim=1)
    assert torch.allclose(parts, model(idx), atol=1e-12)
    with pytest.raises(ValueError, match="T=9"):
        model(idx[:, :1], cache=cache)


def test_asking_for_weights_changes_nothing():
    model = GPT(20, 8, 12, 3, 2).double().eval()
    idx = torch.randint(20, (2, 8))
    logits, maps = model(idx, return_weights=True)
    assert torch.allclose(logits, model(idx), atol=1e-12)
    assert [m.shape for m in maps] == [(2, 3, 8, 8)] * 2


def test_embedding_is_token_plus_position():
    """B3."""
    model = GPT(20, 8, 12, 3, 1).eval()
    idx = torch.randint(20, (2, 5))
    expected = model.token_embedding.weight[idx] + model.position_embedding.weight[:5]
    assert torch.allclose(model.embed(idx), expected)


def test_evaluating_twice_gives_the_same():
    model = GPT(20, 8, 12, 3, 2, dropout=0.3)
    idx = torch.randint(20, (2, 8))
    assert not model(idx).equal(model(idx))
    model.eval()
    assert model(idx).equal(model(idx))


@pytest.mark.parametrize("kwargs", [{"positions": "polar"}, {"norm": "none"}])
def test_unknown_words_are_named(kwargs):
    with pytest.raises(ValueError, match=next(iter(kwargs.values()))):
        GPT(20, 8, 12, 3, 1, **kwargs)


@pytest.mark.parametrize("name", ["d_model", "n_layers", "vocab_size", "context_length"])
def test_counts_need_positive_sizes(name):
    sizes = {"d_model": 8, "n_layers": 1, "vocab_size": 9, "context_length": 4, name: 0}
    with pytest.raises(ValueError, match=f"{name} must be"):
        gpt_parameters(**sizes)

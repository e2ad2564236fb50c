"""The position schemes against their formulas, and their errors."""

from __future__ import annotations

import math

import pytest
import torch

from course.attention import MultiHeadAttention
from course.positions import alibi_bias, alibi_slopes, apply_rope, sinusoidal


@pytest.mark.parametrize(("t", "i"), [(0, 0), (1, 0), (3, 1), (50, 5), (99, 15)])
def test_sinusoids_follow_the_formula(t, i):
    encoding = sinusoidal(100, 32)
    angle = t / 10000 ** (2 * i / 32)
    assert encoding[t, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert encoding[t, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_rope_turns_the_first_pair_by_one_radian_a_position():
    x = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).repeat(3, 1)
    turned = apply_rope(x, torch.arange(3))
    assert turned[:, 0].tolist() == pytest.approx([1, math.cos(1), math.cos(2)])
    assert turned[:, 1].tolist() == pytest.approx([0, math.sin(1), math.sin(2)])
    assert turned.norm(dim=-1).tolist() == pytest.approx([1, 1, 1])


def test_rescaled_rope_gives_a_longer_text_the_angles_of_a_shorter_one():
    torch.manual_seed(0)
    short = MultiHeadAttention(8, 2, 4, positions="rope")
    long = MultiHeadAttention(8, 2, 8, positions="rope", rope_scale=2.0)
    long.load_state_dict(short.state_dict())
    assert long.cos[::2].equal(short.cos)


def test_alibi_slopes_of_the_paper():
    assert alibi_slopes(8).tolist() == [2**-i for i in range(1, 9)]
    twelve = [2**-i for i in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(12).tolist() == pytest.approx(twelve)


def test_alibi_bias_grows_with_distance():
    assert alibi_bias(8, 3)[0].tolist() == [[0, 0, 0], [-0.5, 0, 0], [-1, -0.5, 0]]
    assert alibi_bias(8, 1, 3)[0].tolist() == [[-1, -0.5, 0]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sinusoidal(4, 7), "even and positive.*7"),
        (lambda: sinusoidal(-1, 8), "-1"),
        (lambda: apply_rope(torch.ones(2, 3), torch.arange(2)), "got 3"),
        (lambda: apply_rope(torch.ones(2, 4), torch.arange(3)), r"\(2,\)"),
        (lambda: sinusoidal(4, 8, base=0), "base"),
        (lambda: alibi_slopes(0), "n_heads"),
        (lambda: alibi_bias(2, 4, 3), "T=4, S=3"),
    ],
)
def test_bad_values_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()

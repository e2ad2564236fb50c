"""From logits to tokens: what is kept, with what probability, and every edge."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course.sampling import filter_logits, sample_next

logits_lists = st.lists(st.floats(-20, 20), min_size=1, max_size=12)


def kept(logits: torch.Tensor) -> list[int]:
    return [i for i, value in enumerate(logits.tolist()) if value > -math.inf]


def test_temperature_sharpens_below_one_and_flattens_above():
    """B6."""
    logits = torch.tensor([[2.0, 1.0, 0.0]])
    top = [filter_logits(logits, t).softmax(-1)[0, 0].item() for t in (0.2, 0.8, 1, 2, 1e9)]
    assert top == sorted(top, reverse=True)
    assert top[0] > 0.99
    assert top[-1] == pytest.approx(1 / 3)


@given(logits_lists)
def test_temperature_zero_is_argmax(values):
    logits = torch.tensor([values])
    assert sample_next(logits, 0).item() == logits.argmax().item()
    assert kept(filter_logits(logits, 0)[0]) == [logits.argmax().item()]


@given(logits_lists, st.integers(1, 15))
def test_top_k_keeps_k_and_ties_go_to_the_lower_id(values, k):
    chosen = kept(filter_logits(torch.tensor(values), top_k=k))
    order = sorted(range(len(values)), key=lambda i: (-torch.tensor(values)[i].item(), i))
    assert chosen == sorted(order[:k])


@given(logits_lists, st.floats(0.01, 1))
def test_top_p_keeps_the_smallest_set_that_reaches_p(values, p):
    logits = torch.tensor(values, dtype=torch.float64)
    probabilities = logits.softmax(-1)
    chosen = kept(filter_logits(logits, top_p=p))
    mass = probabilities[chosen].sum().item()
    assert mass >= p - 1e-9
    assert mass - probabilities[chosen].min().item() < p + 1e-12  # the sum of all may exceed 1
    assert probabilities[chosen].min() >= max(
        (probabilities[i] for i in range(len(values)) if i not in chosen), default=0
    )


def test_a_mass_exactly_equal_to_p_is_enough():
    logits = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64).log()
    assert kept(filter_logits(logits, top_p=0.75)) == [0, 1]
    assert kept(filter_logits(logits, top_p=0.7500001)) == [0, 1, 2]
    assert kept(filter_logits(logits, top_p=1.0)) == [0, 1, 2, 3]
    tenths = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64).log()
    assert kept(filter_logits(tenths, top_p=0.9)) == [0, 1]


def test_top_p_counts_what_temperature_and_top_k_left():
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    assert kept(filter_logits(logits, top_k=2, top_p=0.5)) == [0]  # 0.4 / 0.7 reaches 0.5
    assert kept(filter_logits(logits, temperature=0.2, top_p=0.7)) == [0]


def test_frequencies_follow_the_filtered_distribution():
    torch.manual_seed(0)
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().expand(20_000, -1)
    drawn = sample_next(logits, top_k=3)
    share = torch.bincount(drawn, minlength=4) / 20_000
    expected = torch.tensor([0.5, 0.3, 0.15, 0.0]) / 0.95
    assert (share - expected).abs().max() < 0.012
    assert share[3] == 0


def test_a_generator_makes_the_draw_repeatable_and_the_input_is_not_changed():
    logits = torch.randn(5, 30)
    before = logits.clone()
    draws = [sample_next(logits, generator=torch.Generator().manual_seed(7)) for _ in range(2)]
    assert draws[0].equal(draws[1])
    sample_next(logits, 0.7, top_k=3, top_p=0.5)
    assert logits.equal(before)


def test_top_k_over_the_vocabulary_keeps_everything():
    logits = torch.randn(2, 5)
    assert filter_logits(logits, top_k=50).equal(logits)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"temperature": -0.1}, "-0.1"),
        ({"temperature": math.inf}, "inf"),
        ({"temperature": math.nan}, "nan"),
        ({"top_k": 0}, "top_k must be at least 1 .* got 0"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.5}, "1.5"),
    ],
)
def test_bad_values_are_named(kwargs, words):
    with pytest.raises(ValueError, match=words):
        filter_logits(torch.zeros(1, 4), **kwargs)


def test_logits_of_another_shape_are_named():
    with pytest.raises(ValueError, match=r"\(B, V\), got \(4,\)"):
        sample_next(torch.zeros(4))

"""The average: its matrix, its blindness to order, its edges."""

from __future__ import annotations

import pytest
import torch

from course.averaging import (
    CausalAverage,
    average_loop,
    average_matmul,
    average_softmax,
    averaging_matrix,
)


def test_the_six_by_six_matrix():
    """A12: rows 1, ½, ⅓, …"""
    matrix = averaging_matrix(6)
    for t in range(6):
        assert matrix[t].tolist() == pytest.approx([1 / (t + 1)] * (t + 1) + [0] * (5 - t))
    assert (matrix.triu(1) == 0).all()


def test_the_average_cannot_see_order():
    """A11: shuffle the window, the last row's summary stays."""
    torch.manual_seed(0)
    x = torch.randn(4, 64, 128)
    shuffled = x[:, torch.randperm(64)]
    assert (average_matmul(x)[:, -1] - average_matmul(shuffled)[:, -1]).abs().max() < 1e-6
    assert (average_matmul(x)[:, 10] - average_matmul(shuffled)[:, 10]).abs().max() > 1e-2


def test_the_layer_is_the_function_at_any_length():
    x = torch.randn(2, 5, 3)
    assert torch.allclose(CausalAverage(9)(x), average_loop(x))
    assert list(CausalAverage(9).state_dict()) == []
    assert not list(CausalAverage(9).parameters())


@pytest.mark.parametrize("function", [average_loop, average_matmul, average_softmax])
def test_shapes_that_do_not_fit_are_named(function):
    with pytest.raises(ValueError, match=r"\(B, T, C\), got \(5, 3\)"):
        function(torch.randn(5, 3))


def test_lengths_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="T must be 1 or more, got 0"):
        averaging_matrix(0)
    with pytest.raises(ValueError, match="T=5 tokens do not fit in context_length=4"):
        CausalAverage(4)(torch.randn(1, 5, 2))

"""Figures of the average: the lines drawn are the data given."""

from __future__ import annotations

import numpy as np
import pytest

from course.figures.averaging import draw_channel, draw_present
from course.figures.palette import LIGHT


def test_channel_draws_token_and_average_with_direct_labels(ax):
    x = np.array([1.0, -2.0, 0.5, 3.0])
    a = np.cumsum(x) / np.arange(1, 5)
    draw_channel(ax, x, a)
    drawn = [line.get_ydata() for line in ax.lines]
    assert any(np.array_equal(y, x) for y in drawn)
    assert any(np.array_equal(y, a) for y in drawn)
    assert {t.get_text() for t in ax.texts} == {"the token", "its average"}
    assert (ax.get_xlabel(), ax.lines[1].get_xdata()[0]) == ("tokens so far", 1)


def test_the_average_is_grey_and_dashed(ax):
    draw_channel(ax, [1.0, 2.0], [1.0, 1.5])
    average = next(line for line in ax.lines if line.get_color() == LIGHT["average"])
    assert average.is_dashed()


def test_channel_refuses_two_lengths(ax):
    with pytest.raises(ValueError, match=r"\(3,\) and \(2,\)"):
        draw_channel(ax, [1, 2, 3], [1, 2])


def test_present_draws_the_shares(ax):
    t = np.arange(1, 33)
    draw_present(ax, {"average": 1 / t, "token + average": (1 + 1 / t) / 2})
    assert np.allclose(ax.lines[0].get_ydata(), 1 / t)
    assert ax.lines[1].get_ydata().min() > 0.5
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize("shares", [{}, {"a": [0.5], "b": [0.5], "c": [0.5]}, {"a": [1.5, 0.2]}])
def test_present_refuses_what_is_no_share(ax, shares):
    with pytest.raises(ValueError, match=r"series|shares"):
        draw_present(ax, shares)

"""Figures of chapter 10: levels beside the loss, and the rank at which p is reached."""

from __future__ import annotations

import numpy as np
import pytest

from course.figures.gpt import draw_mass_by_rank, draw_training


def test_a_loss_stands_between_named_levels(ax):
    draw_training(ax, [3.0, 2.0, 1.0], {"all alike": 3.0, "frequencies": 2.5}, width=1)
    curve, *levels = ax.lines
    assert curve.get_ydata().tolist() == [3.0, 2.0, 1.0]
    assert [line.get_ydata()[0] for line in levels] == [3.0, 2.5]
    assert all(line.is_dashed() for line in levels)
    assert [t.get_text() for t in ax.texts] == ["this model", "all alike", "frequencies"]


def test_no_loss_is_refused(ax):
    with pytest.raises(ValueError, match="no loss"):
        draw_training(ax, [], {})


def test_the_ring_stands_where_the_mass_first_reaches_p(ax):
    draw_mass_by_rank(ax, {"sure": [0.05, 0.5, 0.4, 0.05], "unsure": np.full(4, 0.25)}, 2, 0.9)
    rings = [line for line in ax.lines if line.get_marker() == "o"]
    assert [ring.get_xdata()[0] for ring in rings] == [2, 4]  # 0.5 + 0.4 is enough
    names = {t.get_text() for t in ax.texts}
    assert names == {"sure", "unsure", "top-k, 2", "top-p, 0.9"}


@pytest.mark.parametrize(
    "places", [{}, {name: [1.0] for name in "abc"}, {"a": [0.5, 0.6]}, {"a": [[1.0]]}]
)
def test_what_is_no_distribution_is_refused(ax, places):
    with pytest.raises(ValueError, match=r"told apart|sum to 1"):
        draw_mass_by_rank(ax, places, 2, 0.9)

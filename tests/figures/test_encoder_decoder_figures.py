"""Who sees whom, the schedule, and a training above its floor."""

from __future__ import annotations

import numpy as np
import pytest

from course.figures.encoder_decoder import draw_schedule, draw_training, draw_who_sees_whom


def test_a_cell_that_may_not_be_seen_is_hatched(ax):
    lower = np.tri(3, dtype=bool)
    draw_who_sees_whom([ax], {"decoder": lower}, {"decoder": ("target", "target")})
    hatched = [bool(p.get_hatch()) for p in ax.patches]
    assert hatched == [not cell for cell in lower.flatten()]
    assert ax.get_title(loc="left") == "decoder"
    assert ax.get_ylabel() == "target"


@pytest.mark.parametrize("values", [np.ones((2, 2)), np.ones(3, dtype=bool)])
def test_a_map_that_says_not_yes_or_no_is_refused(ax, values):
    with pytest.raises(ValueError, match="a boolean"):
        draw_who_sees_whom([ax], {"decoder": values}, {"decoder": ("t", "s")})


def test_maps_need_as_many_axes(ax):
    with pytest.raises(ValueError, match="1 maps need as many axes, got 2"):
        draw_who_sees_whom([ax, ax], {"a": np.ones((1, 1), bool)}, {"a": ("", "")})


def test_schedules_are_drawn_from_step_one_and_named(ax):
    draw_schedule(ax, {"first": [0.1, 0.2, 0.1], "second": [0.1, 0.1]}, warmup=2)
    first, second, rise = ax.lines
    assert first.get_xdata().tolist() == [1, 2, 3]
    assert second.get_ydata() == pytest.approx([1000, 1000])  # in units of 10⁻⁴
    assert list(rise.get_xdata()) == [2, 2]
    assert [t.get_text() for t in ax.texts] == ["first", "second", "warm-up ends"]


def test_a_training_is_smoothed_over_ten_steps_above_its_floor(ax):
    draw_training(ax, {"ours": list(range(40)), "mistake": [1.0] * 20}, floor=0.5)
    ours, mistake, floor = ax.lines
    assert ours.get_xdata().tolist() == [10, 20, 30, 40]
    assert ours.get_ydata() == pytest.approx([4.5, 14.5, 24.5, 34.5])
    assert mistake.get_marker() == "x"
    assert set(floor.get_ydata()) == {0.5}


@pytest.mark.parametrize(
    "draw", [lambda ax: draw_schedule(ax, {}, 1), lambda ax: draw_training(ax, {}, 0)]
)
def test_nothing_to_draw_is_said(ax, draw):
    with pytest.raises(ValueError, match="there is no"):
        draw(ax)

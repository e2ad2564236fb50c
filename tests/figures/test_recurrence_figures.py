"""Figures of the front page: every network is drawn, cut where it leaves the picture, and named."""

from __future__ import annotations

import numpy as np
import pytest

from course.experiments import load_records
from course.figures.recurrence import NETWORKS, draw_gradients, draw_paths


def test_every_row_of_the_experiment_can_be_drawn():
    assert {row.name for row in load_records("recurrence")} == set(NETWORKS)
    assert all(len(name.split()) <= 6 for name, _ in NETWORKS.values())


def test_gradients_below_the_floor_are_cut_and_named_where_they_leave(ax):
    draw_gradients(ax, {"tanh-0.9": ([1, 2, 3], [1.0, 1e-3, 1e-9])}, floor=1e-6)
    drawn = ax.lines[0].get_ydata()
    assert drawn[:2].tolist() == [1.0, 1e-3]
    assert np.isnan(drawn[2])
    (name,) = ax.texts
    assert name.get_text() == NETWORKS["tanh-0.9"][0]
    assert name.xy == (2, 1e-3)


def test_the_vanishing_lines_are_dashed_and_attention_is_solid(ax):
    draw_gradients(ax, {s: ([1, 2], [1.0, 0.5]) for s in ("tanh-0.9", "attention")})
    assert ax.lines[0].is_dashed()
    assert not ax.lines[1].is_dashed()


def test_no_gradient_is_refused(ax):
    with pytest.raises(ValueError, match="no gradient"):
        draw_gradients(ax, {})


def test_paths_have_one_arrow_a_step_and_one_a_token(ax):
    draw_paths(ax, 5)
    arrows = [t for t in ax.texts if getattr(t, "arrow_patch", None) is not None]
    assert len(arrows) == 4 + 4
    to_last = [t for t in arrows if t.xy == (4, 0)]
    assert len(to_last) == 4


def test_two_tokens_have_no_path_to_show(ax):
    with pytest.raises(ValueError, match="T=2"):
        draw_paths(ax, 2)

"""Masks say what they are given, ratios stand where they belong, a leak ends in a cross."""

from __future__ import annotations

import numpy as np
import pytest

from course.figures.masking import draw_leak, draw_mask, draw_ratios
from course.figures.palette import LIGHT
from course.figures.scores import draw_scores

ALLOWED = np.tril(np.ones((3, 3), bool))


def words(ax):
    """What stands in each cell, by (row, column)."""
    return {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in ax.texts}


def test_a_mask_writes_its_booleans(ax):
    draw_mask(ax, ALLOWED, title="T = may attend")
    shown = words(ax)
    assert all(shown[t, s] == ("T" if s <= t else "F") for t in range(3) for s in range(3))
    assert ax.get_title(loc="left") == "T = may attend"


def test_the_hatching_follows_the_meaning_and_not_the_value(ax):
    draw_mask(ax, ALLOWED, ~ALLOWED)
    shown = words(ax)
    assert (shown[2, 0], shown[0, 2]) == ("F", "T")
    hatched = [p for p in ax.patches if p.get_hatch()]
    (x0, y0), (x1, y1) = hatched[0].get_path().get_extents().get_points()
    assert (x0, y0, x1, y1) == (1, 0, 3, 2)


def test_added_masks_show_a_real_minus_and_infinity(ax):
    draw_mask(ax, ALLOWED, np.where(ALLOWED, 0.0, -np.inf))
    assert set(words(ax).values()) == {"0", "−∞"}


@pytest.mark.parametrize(
    ("allowed", "values"),
    [(np.ones((2, 2)), None), (np.ones(2, bool), None), (np.ones((2, 2), bool), np.ones((2, 3)))],
)
def test_what_is_no_mask_is_refused(ax, allowed, values):
    with pytest.raises(ValueError, match="boolean mask"):
        draw_mask(ax, allowed, values)


def test_ratios_are_drawn_against_the_product_at_one(ax):
    draw_ratios(ax, [8, 16], {"loop": [30, 60], "running sum": [2, 0.5]})
    drawn = [line.get_ydata().tolist() for line in ax.lines]
    assert drawn == [[1, 1], [30, 60], [2, 0.5]]
    assert ax.lines[1].is_dashed()
    assert {t.get_text() for t in ax.texts} == {"one product", "loop", "running sum"}
    assert ax.get_yscale() == "log"


@pytest.mark.parametrize("ratios", [{}, {"loop": [1.0]}, {"loop": [1.0, 0.0]}])
def test_ratios_that_cannot_be_are_refused(ax, ratios):
    with pytest.raises(ValueError, match="ratio"):
        draw_ratios(ax, [8, 16], ratios)


def test_a_mask_that_leaks_is_red_with_a_cross_and_one_that_does_not_is_blue(ax):
    draw_leak(ax, [10, 100, 1000], {"−∞": [0, 0, np.nan], "−100": [0, 0.6, 1]})
    colours = {line.get_color() for line in ax.lines}
    assert colours == {LIGHT["attention"], LIGHT["wrong"]}
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [line.get_xdata()[0] for line in crosses] == [100]
    assert {t.get_text() for t in ax.texts} == {"−∞", "−100"}
    ax.figure.canvas.draw()
    assert {"10²", "10³"} <= {t.get_text() for t in ax.get_xticklabels()}


@pytest.mark.parametrize("leaks", [{}, {"m": [0.0, 1.5]}, {"m": [0.0]}])
def test_leaks_that_are_no_weights_are_refused(ax, leaks):
    with pytest.raises(ValueError, match=r"no mask|weights from 0 to 1"):
        draw_leak(ax, [1, 10], leaks)


def test_masked_scores_are_hatched_and_a_small_negative_is_no_minus_zero(ax):
    draw_scores(ax, [[-0.01, 9.0], [1.0, 2.0]], ["a", "b"], mask=np.tril(np.ones((2, 2), bool)))
    assert words(ax) == {(0, 0): "0", (1, 0): "1", (1, 1): "2"}
    assert sum(1 for p in ax.patches if p.get_hatch()) == 1

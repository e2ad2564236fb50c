"""Maps of scores and the picture of a head: every cell shows its number, no shape slips through."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, Rectangle

from course.figures.palette import LIGHT, rgb
from course.figures.scores import draw_head, draw_scores


def cells(ax):
    return [p for p in ax.patches if isinstance(p, Rectangle) and p.get_facecolor()[3] > 0]


def test_scores_write_each_number_at_its_place(ax):
    draw_scores(ax, [[1.0, -2.0], [0.0, 3.0]], ["a", "b"], digits=1)
    shown = {(t.get_position()[1] - 0.5, t.get_position()[0] - 0.5): t.get_text() for t in ax.texts}
    assert shown == {(0, 0): "1.0", (0, 1): "−2.0", (1, 0): "0.0", (1, 1): "3.0"}


def test_positive_scores_are_blue_and_negative_grey(ax):
    draw_scores(ax, [[4.0, -2.0], [0.0, 0.0]], ["a", "b"])
    blue, grey = (p.get_facecolor() for p in cells(ax)[:2])
    assert blue[:3] == pytest.approx(rgb(LIGHT["attention"]))
    assert grey[:3] == pytest.approx(rgb(LIGHT["average"]))
    assert blue[3] == pytest.approx(2 * grey[3])


def test_a_mark_frames_a_cell_and_its_mirror(ax):
    draw_scores(ax, np.eye(3), ["a", "b", "c"], mark=(2, 1))
    framed = {p.get_xy() for p in ax.patches if p.get_linewidth() > 1}
    assert framed == {(1, 2), (2, 1)}


@pytest.mark.parametrize(
    ("scores", "names"),
    [([[1.0, 2.0]], ["a"]), ([[1.0]], ["a", "b"]), ([[-np.inf]], ["a"]), ([1.0], ["a"])],
)
def test_scores_that_cannot_be_drawn_are_refused(ax, scores, names):
    with pytest.raises(ValueError, match="score"):
        draw_scores(ax, scores, names)


def test_a_head_shows_its_six_matrices_with_their_shapes_by_letter(ax):
    rng = np.random.default_rng(0)
    x, (q, k), v = rng.normal(size=(3, 5)), rng.normal(size=(2, 3, 2)), rng.normal(size=(3, 4))
    mask = np.tril(np.ones((3, 3), bool))
    weights = mask / mask.sum(1, keepdims=True)
    draw_head(ax, x, q, k, v, weights, mask=mask)
    names = {t.get_text() for t in ax.texts}
    assert names == {"x (T, C)", "q (T, D)", "k (T, D)", "v (T, E)", "weights (T, T)", "out (T, E)"}
    assert sum(isinstance(p, FancyArrowPatch) for p in ax.patches) == 7
    assert sum(bool(p.get_hatch()) for p in ax.patches) == 3


def test_a_head_whose_shapes_do_not_fit_is_refused(ax):
    with pytest.raises(ValueError, match="do not fit"):
        draw_head(ax, np.ones((3, 5)), np.ones((3, 2)), np.ones((3, 3)), np.ones((3, 2)), np.eye(3))

"""The block's diagram: a stream that only post-norm interrupts; and lines over a stack's blocks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from matplotlib.patches import Rectangle

from course.figures.block import draw_activations, draw_block, draw_by_block


def boxes(ax) -> list[Rectangle]:
    return [p for p in ax.patches if isinstance(p, Rectangle)]


def on_the_stream(ax) -> int:
    return sum(box.get_x() < 0 < box.get_x() + box.get_width() for box in boxes(ax))


@pytest.mark.parametrize(("norm", "norms", "on"), [("pre", 2, 0), ("post", 2, 2), ("none", 0, 0)])
def test_norms_stand_on_the_branches_or_on_the_stream(ax, norm, norms, on):
    draw_block(ax, norm)
    labels = [t.get_text() for t in ax.texts]
    assert labels.count("LayerNorm") == norms
    assert labels.count("+") == 2
    assert {"attention", "feed-forward"} <= set(labels)
    assert on_the_stream(ax) == on
    assert len(boxes(ax)) == norms + 2


def test_another_place_for_the_norm_is_refused(ax):
    with pytest.raises(ValueError, match="'between'"):
        draw_block(ax, "between")


def test_activations_are_those_of_torch(ax):
    draw_activations(ax)
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    for line, function in zip(curves, (F.relu, F.gelu), strict=True):
        x = torch.tensor(line.get_xdata())
        assert np.allclose(line.get_ydata(), function(x), atol=1e-9)
    assert {t.get_text() for t in ax.texts} == {"ReLU", "GELU"}


def test_a_line_is_the_mean_over_models_and_its_band_their_extremes(ax):
    draw_by_block(ax, {"pre": [[1, 2, 3], [3, 4, 5]], "post": [[6, 7, 8]]}, "gradient")
    assert ax.lines[0].get_ydata().tolist() == [2, 3, 4]
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3]
    box = ax.collections[0].get_datalim(ax.transData)
    assert (box.y0, box.y1) == (1, 5)
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()
    assert [t.get_text() for t in ax.texts] == ["pre", "post"]


def test_a_logarithmic_scale_says_so(ax):
    draw_by_block(ax, {"residuals": [[1e-9, 1.0]]}, "gradient", log=True, xlabel="layer")
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "gradient (log scale)"
    assert ax.get_xlabel() == "layer"
    ax.figure.canvas.draw()
    assert "10⁻⁸" in {t.get_text() for t in ax.get_yticklabels()}  # no formula: its words are small


@pytest.mark.parametrize("series", [{}, {"a": [1, 2]}, {name: [[1, 2]] for name in "abc"}])
def test_by_block_refuses_what_it_cannot_draw(ax, series):
    with pytest.raises(ValueError, match=r"one or two|\(models, blocks\)"):
        draw_by_block(ax, series, "gradient")

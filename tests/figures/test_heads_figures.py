"""The width in parts, and maps side by side: as many as there are heads, future hatched."""

from __future__ import annotations

import numpy as np
import pytest

from course.figures.heads import draw_head_maps, draw_partition
from course.figures.palette import LIGHT, rgb


def causal(H: int, T: int = 4) -> np.ndarray:
    equal = np.tril(np.ones((T, T)))
    return np.repeat((equal / equal.sum(axis=1, keepdims=True))[None], H, axis=0)


@pytest.mark.parametrize("H", [2, 4, 8])
def test_queries_keys_and_values_are_cut_into_as_many_parts_as_heads(ax, H):
    draw_partition(ax, causal(H))
    for name in ("query", "key"):
        parts = [p for p in ax.patches if p.get_edgecolor()[:3] == pytest.approx(rgb(LIGHT[name]))]
        assert len(parts) == H
        assert sum(p.get_width() for p in parts) == pytest.approx(4, rel=0.25)
    value = [p for p in ax.patches if p.get_edgecolor()[:3] == pytest.approx(rgb(LIGHT["value"]))]
    assert len(value) == 2 * H  # the values, and the results joined


def test_every_head_reads_all_of_x_and_is_mixed_into_every_part(ax):
    draw_partition(ax, causal(3))
    assert len(ax.lines) == 3 * 3 + 3 * 2 + 3 * 3
    fan = [line.get_xdata() for line in ax.lines if line.get_ydata()[0] == 0.5]  # from x
    assert len({tuple(x) for x in fan}) == 9
    assert {t.get_text() for t in ax.texts} == {
        *("x", "q", "k", "v", "joined", "mixed"),
        *("3 parts of C/3", "one map each", "C wide again"),
    }


@pytest.mark.parametrize("maps", [causal(1), causal(9), causal(2)[0], np.ones((2, 3, 4))])
def test_what_is_no_set_of_heads_is_refused(ax, maps):
    with pytest.raises(ValueError, match=r"heads|\(H, T, T\)"):
        draw_partition(ax, maps)


def test_maps_are_named_and_their_future_is_hatched(ax):
    axes = ax.figure.subplots(1, 2)
    draw_head_maps(axes, causal(2), ["one", "other"])
    assert [a.get_title(loc="left") for a in axes] == ["one", "other"]
    assert all(any(p.get_hatch() for p in a.patches) for a in axes)
    draw_head_maps(axes, causal(2))
    assert axes[1].get_title(loc="left") == "head 2"


def test_maps_need_as_many_axes(ax):
    with pytest.raises(ValueError, match="2 maps"):
        draw_head_maps([ax], causal(2))
